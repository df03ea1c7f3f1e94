//! `seen plan` reckons sizes that are known, for people and for programs, in whatever way
//! round it is asked, and says what it cannot reckon.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "support/program.rs"]
mod support;

use serde_json::Value;
use support::{Place, Ran};

fn plan(args: &[&str]) -> Ran {
    let args: Vec<_> = ["plan"].iter().chain(args).copied().collect();
    Place::new().seen(&args, "")
}

/// What `--json` prints, an object a line.
#[track_caller]
fn json(args: &[&str]) -> Vec<Value> {
    let args: Vec<_> = args.iter().chain(&["--json"]).copied().collect();
    let ran = plan(&args).quiet(0);
    let lines = ran.text();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[track_caller]
fn near(value: &Value, wanted: f64) {
    let is = value.as_f64().unwrap();
    assert!(
        (is - wanted).abs() <= wanted.abs() / 1000.0,
        "{is}, not {wanted}"
    );
}

/// The cells of a row of the table.
#[track_caller]
fn row(text: &str, name: &str) -> Vec<String> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix("  "))
        .unwrap_or_else(|| panic!("no row {name:?} in\n{text}"));
    let cells = line.split("  ").map(str::trim);
    cells.filter(|c| !c.is_empty()).map(Into::into).collect()
}

#[test]
fn the_values_that_everybody_knows() {
    let plans = json(&["--urls", "50M,1B", "--fpr", "1%,0.1%"]);
    let of = |plan: &Value| {
        (
            plan["urls"].as_u64().unwrap(),
            plan["rate"].as_f64().unwrap(),
        )
    };
    let cases: Vec<_> = plans.iter().map(of).collect();
    assert_eq!(
        cases,
        [
            (50_000_000, 0.01),
            (50_000_000, 0.001),
            (1_000_000_000, 0.01),
            (1_000_000_000, 0.001)
        ]
    );
    for (plan, bits, per_url, hashes, bytes) in [
        (&plans[0], 479.253e6, 9.585, 7, 59.9066e6),
        (&plans[1], 718.879e6, 14.378, 10, 89.8599e6),
        (&plans[2], 9.58506e9, 9.585, 7, 1.19813e9),
        (&plans[3], 14.3776e9, 14.378, 10, 1.7972e9),
    ] {
        let classic = &plan["classic"];
        near(&classic["bits"], bits);
        near(&classic["bits_per_url"], per_url);
        assert_eq!(classic["hashes"], hashes);
        near(&classic["bytes"], bytes);
        assert!(plan["memory"].is_null());
    }
    let over_filled = plans[0]["classic"]["rate_with_twice_the_urls"].as_f64();
    assert!(
        (0.15..0.16).contains(&over_filled.unwrap()),
        "{over_filled:?}"
    );
}

#[test]
fn people_get_a_column_for_each_case() {
    let text = plan(&["--urls", "50M", "--fpr", "0.01,0.001"])
        .quiet(0)
        .text();
    assert_eq!(row(&text, "URLs"), ["50,000,000", "50,000,000"]);
    assert_eq!(row(&text, "rate"), ["1 %", "0.1 %"]);
    assert_eq!(row(&text, "  bits a URL"), ["9.6", "14.4"]);
    assert_eq!(row(&text, "  hashes"), ["7", "10"]);
    assert_eq!(row(&text, "  bits"), ["479,252,919", "718,879,379"]);
    assert_eq!(row(&text, "  memory"), ["57.1 MiB", "85.7 MiB"]);
    assert_eq!(
        row(&text, "  rate if twice as many come"),
        ["15.7 %", "5.72 %"]
    );
    assert!(
        text.contains("own filters do not over-fill: each is built for exactly the keys of"),
        "{text}"
    );
    // The longest columns that fit and many of them: all below each other, none too wide.
    let text = plan(&["--urls", "1e15,1e14,1e13,1e12,10", "--fpr", "1%,0.0001%"])
        .quiet(0)
        .text();
    assert!(
        text.lines().all(|line| line.chars().count() <= 96),
        "{text}"
    );
    let rates = text.lines().filter(|line| line.starts_with("rate "));
    assert_eq!(
        rates.map(|line| line.matches('%').count()).sum::<usize>(),
        10
    );
}

#[test]
fn what_a_store_takes_is_the_sum_of_its_parts() {
    let plans = json(&["--urls", "1000,100M"]);
    for plan in &plans {
        let (disk, memory) = (&plan["store"]["disk"], &plan["store"]["memory"]);
        let of = |name: &str| memory[name].as_u64().unwrap();
        assert_eq!(of("reading"), of("filters") + of("indexes"));
        assert_eq!(of("writing"), of("reading") + of("memtables") + of("merge"));
        let urls = plan["urls"].as_f64().unwrap();
        near(&disk["with_stamps"], urls * 18.4);
        near(&disk["without_stamps"], urls * 16.1);
        near(&disk["while_all_is_merged"], urls * 36.8);
    }
    let memtables = |plan: &Value| plan["store"]["memory"]["memtables"].as_u64().unwrap();
    assert!(memtables(&plans[0]) < 1 << 20);
    assert_eq!(memtables(&plans[1]), 216 << 20);
}

/// A plan must not promise less than a store takes: here is one.
#[test]
fn a_real_store_fits_its_plan() {
    let place = Place::new();
    let url = |i: u64| {
        let mixed = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 17;
        format!("https://www{}.example/{mixed:x}/page-{i}.html", mixed % 97)
    };
    let urls: Vec<String> = (0..20_000).map(url).collect();
    place.seen(&["new", "s"], support::lines(&urls)).quiet(0);
    place.seen(&["compact", "s", "-q"], "").quiet(0);
    let stats = place.seen(&["stats", "s", "--json"], "").quiet(0);
    let stats: Value = serde_json::from_slice(&stats.out).unwrap();
    let plan = &json(&["--urls", "20k"])[0]["store"];
    for (is, planned, at_least) in [
        // These URLs are shorter than those of the list.
        (&stats["disk_bytes"], &plan["disk"]["with_stamps"], 0.3),
        (&stats["memory"]["indexes"], &plan["memory"]["indexes"], 0.3),
        (&stats["memory"]["filters"], &plan["memory"]["filters"], 0.8),
    ] {
        let share = is.as_f64().unwrap() / planned.as_f64().unwrap();
        assert!((at_least..1.3).contains(&share), "{is} of {planned}");
    }
}

#[test]
fn the_rate_that_fits_is_told() {
    let rate = &json(&["--urls", "1B", "--memory", "1GiB"])[0];
    near(&rate["rate"], 0.016_13);
    assert_eq!(rate["classic"]["hashes"], 6);
    assert_eq!(rate["memory"], 1 << 30);
    assert_eq!(rate["classic"]["bytes"], 1 << 30);
    // What the rate takes gives the rate.
    let bytes = json(&["--urls", "50M", "--fpr", "1%"])[0]["classic"]["bytes"].to_string();
    near(
        &json(&["--urls", "50M", "--memory", &bytes])[0]["rate"],
        0.01004,
    );
}

#[test]
fn the_urls_that_fit_are_told() {
    let plans = json(&["--memory", "60MB,1GiB", "--fpr", "1%,0.1%"]);
    for (plan, urls) in plans.iter().zip([50.078e6, 33.385e6, 896.18e6, 597.45e6]) {
        near(&plan["urls"], urls);
        assert!(plan["classic"]["bytes"].as_u64() <= plan["memory"].as_u64());
    }
    // Without a rate it is the store's own.
    near(&json(&["--memory", "60MB"])[0]["urls"], 50.078e6);
    near(&json(&["--urls", "50M"])[0]["rate"], 0.01);
}

#[test]
fn too_much_and_too_little_memory_have_an_answer() {
    let ran = plan(&["--urls", "1000", "--memory", "1TiB"]).quiet(0);
    let text = ran.text();
    assert_eq!(row(&text, "rate"), ["0.0001 %"]);
    assert_eq!(row(&text, "  memory"), ["3.5 KiB"]);
    assert!(
        text.contains("0.0001 %, takes of the memory is all"),
        "{text}"
    );
    let text = plan(&["--urls", "1e15", "--memory", "1"]).quiet(0).text();
    assert_eq!(row(&text, "rate"), ["100 %"]);
    assert!(text.contains("largest rate of a store is 50 %"), "{text}");
    let most = json(&["--urls", "1e15", "--fpr", "0.0001%"]);
    near(&most[0]["store"]["disk"]["while_all_is_merged"], 3.68e16);
    let one = json(&["--urls", "1", "--fpr", "50%"]);
    assert_eq!(one[0]["classic"]["bits"], 2);
}

#[test]
fn counts_are_as_people_type_them() {
    for (text, urls) in [
        ("100M", 100_000_000),
        ("100m", 100_000_000),
        ("1e9", 1_000_000_000),
        ("1_000_000", 1_000_000),
        ("1.5k", 1_500),
        ("2B", 2_000_000_000),
        ("2G", 2_000_000_000),
        ("7", 7),
    ] {
        assert_eq!(json(&["--urls", text])[0]["urls"], urls as u64, "{text}");
    }
    let spaced: Vec<_> = json(&["--urls", "1k, 2M"]);
    assert_eq!(
        (&spaced[0]["urls"], &spaced[1]["urls"]),
        (&1_000.into(), &2_000_000.into())
    );
    for rate in ["1%", "0.01", "1 %", "1e-2"] {
        near(&json(&["--urls", "1M", "--fpr", rate])[0]["rate"], 0.01);
    }
}

#[test]
fn what_is_wrong_is_told_with_status_2() {
    for (args, words) in [
        (&["--urls", "many"][..], "whole number such as 1000000"),
        (&["--urls", "1.5"], "whole number such as 1000000"),
        (&["--urls=-5"], "whole number"),
        (&["--urls", ""], "whole number"),
        (&["--urls", "1M,"], "\"\" is none of them"),
        (&["--urls", "1M,x"], "\"x\" is none of them"),
        (&["--urls", "1,000,000"], "write 1_000_000"),
        (&["--urls", "1,500"], "write 1_500"),
        (&["--urls", "0"], "from 1 to"),
        (&["--urls", "1e16"], "from 1 to 1000000000000000"),
        (&["--urls", "1e99"], "at most 18446744073709551615"),
        (&["--urls", "1M", "--fpr", "0"], "from 0.000001 to 0.5"),
        (&["--urls", "1M", "--fpr", "60%"], "from 0.000001 to 0.5"),
        (&["--urls", "1M", "--fpr", "1"], "from 0.000001 to 0.5"),
        (&["--urls", "1M", "--fpr", "NaN"], "from 0.000001 to 0.5"),
        (&["--urls", "1M", "--fpr", "1%,"], "from 0.000001 to 0.5"),
        (&["--urls", "1M", "--memory", "big"], "a size such as 64MiB"),
        (
            &["--urls", "1M", "--memory", "0"],
            "the option memory cannot be 0",
        ),
        (&["--memory", "0"], "the option memory cannot be 0"),
        (&["--memory", "1"], "1 B holds 0 URLs"),
        (
            &["--memory", "2000000TiB", "--fpr", "50%"],
            "a plan is for 1 to",
        ),
        (
            &["--urls", "1M", "--fpr", "1%", "--memory", "1M"],
            "leave one of them out",
        ),
        (&["--fpr", "1%"], "give --urls"),
        (&[], "give --urls"),
        (&["--urls", "1M", "STORE"], "unexpected argument"),
        (&["--urls", "1M", "--rate", "1k"], "--merges"),
        (
            &["--merges", "--urls", "1M", "--fpr", "1%"],
            "cannot be used",
        ),
        (&["--merges", "--merge-speed", "0"], "never end"),
        (&["--merges", "--merge-threads", "0"], "from 1 to 1024"),
        (&["--merges", "--rate", "0"], "from 1 to"),
        (&["--merges", "--nodes", "1,2"], "one number of --nodes"),
        (&["--merges", "--disk-bytes", "NaN"], "bytes such as 18.5"),
        (&["--merges", "--url-bytes", "0"], "bytes such as 18.5"),
        (&["--merges", "--urls", "1e15"], "a plan is for 10,000,000"),
        (
            &[
                "--merges",
                "--urls",
                "1e15",
                "--disk-bytes",
                "65536",
                "--memtable",
                "1TiB",
            ],
            "64.0 PiB at most",
        ),
    ] {
        let ran = plan(args).status(2);
        assert!(ran.out.is_empty(), "{args:?}");
        assert!(ran.err.contains(words), "{args:?}: {}", ran.err);
    }
}

/// The sizes that the policy was chosen for, and what it was chosen by.
#[test]
fn merging_stays_within_what_the_policy_is_for() {
    let plans = json(&["--merges", "--rate", "20k"]);
    let cases = plans.iter().map(|plan| {
        let of = |name: &str| plan[name].as_u64().unwrap();
        (of("urls"), of("nodes"))
    });
    let wanted = [(10, 1), (100, 1), (1_000, 1), (10_000, 1), (100_000, 64)];
    let wanted = wanted.map(|(millions, nodes)| (millions * 1_000_000, nodes));
    assert_eq!(cases.collect::<Vec<_>>(), wanted);
    for (plan, most) in plans.iter().zip([2.0, 4.0, 6.0, 9.5, 6.5]) {
        let written = &plan["written"];
        let amplification = written["amplification"].as_f64().unwrap();
        assert!((1.0..=most).contains(&amplification), "{plan}");
        let all = written["flushes"].as_f64().unwrap() + written["merges"].as_f64().unwrap();
        near(
            &written["amplification"],
            all / written["flushes"].as_f64().unwrap(),
        );
        // All that was flushed is there, once.
        assert_eq!(plan["disk"]["live"], written["flushes"]);
        near(
            &plan["disk"]["live"],
            plan["urls"].as_f64().unwrap() / plan["nodes"].as_f64().unwrap() * 18.4,
        );
        assert!(
            plan["disk"]["most_share"].as_f64().unwrap() <= 2.0,
            "{plan}"
        );
        assert!(plan["runs"]["most"].as_u64().unwrap() <= 24, "{plan}");
        assert!(plan["runs"]["mean"].as_f64().unwrap() <= 9.0, "{plan}");
    }
}

#[test]
fn a_plan_for_merges_follows_the_load() {
    let one = |args: &[&str]| {
        let args: Vec<_> = ["--merges", "--urls", "200M"]
            .iter()
            .chain(args)
            .copied()
            .collect();
        json(&args).remove(0)
    };
    assert_eq!(one(&["--rate", "300k"]), one(&["--rate", "300k"]));
    let usual = one(&[]);
    let flushes = |plan: &Value| plan["flushes"].as_u64().unwrap();
    assert_eq!(
        flushes(&one(&["--nodes", "4"])),
        flushes(&usual).div_ceil(4)
    );
    assert!(flushes(&one(&["--memtable", "16MiB"])) > 3 * flushes(&usual));
    assert!(flushes(&one(&["--url-bytes", "200"])) > 2 * flushes(&usual));
    near(&one(&["--disk-bytes", "20"])["disk"]["live"], 4e9);
    near(&one(&["--rate", "1k"])["seconds"], 200_000.0);
    // Too slow for the load: writers wait, the less the more threads merge.
    let waits = |args: &[&str]| one(args)["waits"]["seconds"].as_f64().unwrap();
    let slow = waits(&["--rate", "1M", "--merge-speed", "20MB"]);
    let threads = waits(&[
        "--rate",
        "1M",
        "--merge-speed",
        "20MB",
        "--merge-threads",
        "4",
    ]);
    assert!(
        threads < slow && waits(&["--rate", "10k"]) < threads,
        "{slow} {threads}"
    );
}

/// The examples of the manual are real. `| head -N` is understood.
#[test]
fn the_manual_shows_what_is_printed() {
    for (manual, examples) in [("docs/cli.md", 4), ("docs/tuning.md", 1)] {
        let path = format!("{}/{manual}", env!("CARGO_MANIFEST_DIR"));
        let text = String::from_utf8(Place::new().read(&path)).unwrap();
        let mut shown = 0;
        for (place, _) in text.match_indices("    $ seen plan ") {
            is_printed(&text[place..]);
            shown += 1;
        }
        assert_eq!(shown, examples, "{manual}");
    }
}

/// What follows a command is what it prints.
fn is_printed(manual: &str) {
    let mut lines = manual.lines();
    let command = lines.next().unwrap().trim_start_matches("    $ seen ");
    let (args, head) = command.split_once(" | head -").unwrap_or((command, "1000"));
    let args: Vec<_> = args.split(' ').collect();
    let text = Place::new().seen(&args, "").quiet(0).text();
    for line in text.lines().take(head.parse().unwrap()) {
        let in_manual = lines.next().unwrap_or_default();
        assert_eq!(
            in_manual.strip_prefix("    ").unwrap_or(in_manual),
            line,
            "{command}"
        );
    }
}

#[test]
fn it_leaves_nothing_behind() {
    let place = Place::new();
    place.seen(&["plan", "--urls", "1B"], "").quiet(0);
    assert!(place.files(".").is_empty());
}
