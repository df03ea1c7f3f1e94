//! Every store of the default build takes the same URLs and answers right, and all of it is
//! measured.

mod program;

use program::{compare, stdout};
use serde_json::Value;

const NAMES: [&str; 7] = ["set", "seendb", "fjall", "redb", "lmdb", "sqlite", "fst"];
const ALWAYS: [&str; 14] = [
    "insert_time",
    "insert_cpu",
    "rest_time",
    "rest_cpu",
    "miss",
    "hit",
    "miss_waiting",
    "hit_waiting",
    "miss_many",
    "hit_many",
    "miss_two_threads",
    "hit_two_threads",
    "memory_load",
    "memory_rest",
];
const STORED: [&str; 3] = ["disk_allocated", "disk_apparent", "open"];

#[test]
fn all_stores_do_the_same_work() {
    let dir = tempfile::tempdir().unwrap();
    let (json, svg) = (dir.path().join("out.json"), dir.path().join("out.svg"));
    let mut command = compare(dir.path());
    command.args("--generate 2000 --rounds 2 --lookups 500 --cold 200 --cache 64".split(' '));
    command.arg("--json").arg(&json).arg("--svg").arg(&svg);
    let table = stdout(&mut command);
    for title in [
        "hash set", "seendb", "fjall", "redb", "LMDB", "SQLite", "fst",
    ] {
        assert!(table.contains(title), "{title}: {table}");
    }

    let report: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(report["count"], 2_000);
    let rivals = report["rivals"].as_array().unwrap();
    for name in NAMES {
        let found = rivals.iter().find(|rival| rival["name"] == name);
        let rounds = found.unwrap()["rounds"].as_array().unwrap();
        assert_eq!(rounds.len(), 2, "{name}");
        for round in rounds {
            let stored = STORED.iter().filter(|_| name != "set");
            for figure in ALWAYS.iter().chain(stored) {
                let value = round[figure]["value"].as_f64();
                assert!(value.is_some_and(|value| value >= 0.0), "{name} {figure}");
            }
            assert_eq!(round["hit"]["set"].is_number(), name != "set", "{name}");
        }
    }
    let drawing = std::fs::read_to_string(&svg).unwrap();
    assert!(drawing.contains("SQLite"), "{drawing}");
    // Neither stores nor anything else is left.
    assert_eq!(dir.path().read_dir().unwrap().count(), 2);

    // The same again, of the results alone.
    let mut command = compare(dir.path());
    command.arg("--redraw").arg(&json);
    assert_eq!(stdout(&mut command), table);
}

/// Those that can be compacted, and those that cannot.
#[test]
fn a_compacted_store_answers_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("out.json");
    let mut command = compare(dir.path());
    command.args("--generate 2000 --rounds 1 --lookups 500 --cold 200 --cache 64".split(' '));
    command.arg("--compact").arg("--json").arg(&json);
    let table = stdout(&mut command);
    assert!(table.contains("; compacted; "), "{table}");
    let report: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let rivals = report["rivals"].as_array().unwrap();
    for name in NAMES {
        let found = rivals.iter().find(|rival| rival["name"] == name);
        let time = &found.unwrap()["rounds"][0]["compact_time"]["value"];
        let can = !["set", "fst"].contains(&name);
        assert_eq!(time.is_number(), can, "{name}");
    }
}
