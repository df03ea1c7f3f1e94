//! Every hostile file goes through `seen new` under both policies.

#[path = "support/program.rs"]
mod support;

use support::{Place, data, data_file, data_files};

#[test]
fn the_exit_status_is_0_or_1_and_a_second_run_prints_nothing() {
    let Some(dir) = data("hostile") else { return };
    for path in data_files(&dir) {
        let Some(bytes) = data_file(&path) else {
            continue;
        };
        for policy in ["raw", "standard"] {
            let place = Place::new();
            let shown = path.display();
            place.write("links", &bytes);
            let first = place.seen(&["new", "s", "--canon", policy, "links"], "");
            assert!((0..=1).contains(&first.status), "{shown}: {}", first.err);
            let second = place.seen(&["new", "s", "links"], "").status(first.status);
            assert!(second.out.is_empty(), "{shown}: {}", second.text());
            assert_eq!(first.err, second.err, "{shown}");
            let has = place.seen(&["has", "s", "--from", "links"], "");
            assert_eq!(has.status, 2 * first.status, "{shown}: {}", has.err);
            assert!(!has.text().contains("unseen\t"), "{shown}");
            place.seen(&["verify", "s"], "").status(0);
        }
    }
}

#[test]
fn the_cases_keep_their_bytes_under_the_policy_raw() {
    let Some(path) = data("hostile/stream_mixed.bin") else {
        return;
    };
    let Some(bytes) = data_file(&path) else {
        return;
    };
    let place = Place::new();
    let ran = place.seen(&["new", "s", "--canon", "raw"], &bytes);
    let mut seen = std::collections::HashSet::new();
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
    let expected: Vec<u8> = bytes
        .split_inclusive(|&b| b == b'\n')
        .filter(|line| {
            let text = line
                .strip_suffix(b"\n")
                .map_or(*line, |l| l.strip_suffix(b"\r").unwrap_or(l));
            !text.is_empty() && text != b"\r" && text.len() <= 65_535 && seen.insert(text)
        })
        .flatten()
        .copied()
        .collect();
    assert_eq!(
        String::from_utf8_lossy(&ran.out),
        String::from_utf8_lossy(&expected)
    );
}
