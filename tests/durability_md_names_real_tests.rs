//! The table of what went wrong elsewhere names tests that exist.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::Path;

#[test]
fn each_of_35_rows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/durability.md")).unwrap();
    let (_, table) = text.split_once("### What went wrong elsewhere").unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| "));
    let rows = rows.filter(|row| row.starts_with(|c: char| c.is_ascii_digit()));
    let mut count = 0;
    for row in rows {
        count += 1;
        assert!(row.starts_with(&format!("{count} ")), "{row}");
        let (_, tests) = row.trim_end_matches(['|', ' ']).rsplit_once('|').unwrap();
        let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "{row}");
        for name in names {
            let (file, function) = name.split_once("::").unwrap_or((name, ""));
            let path = root.join(format!("tests/{file}.rs"));
            let source = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
            let there = source.contains(&format!("#[test]\nfn {function}"));
            assert!(
                there || source.contains("mod schedules"),
                "{name}: no such test"
            );
        }
    }
    assert_eq!(count, 35);
}

#[test]
fn each_file_that_the_docs_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for document in ["docs/durability.md", "docs/testing.md", "fuzz/README.md"] {
        let text = fs::read_to_string(root.join(document)).unwrap();
        // A place that was to be filled in.
        let is_left = |word: &&str| word.len() > 3 && word.chars().all(|c| c.is_ascii_uppercase());
        let left = text.lines().map(str::trim).find(is_left);
        assert_eq!(left, None, "{document}");
        for name in text.split('`').skip(1).step_by(2) {
            let is_test = name.matches('_').count() >= 3 && !name.contains([' ', '/', ':']);
            if is_test && !name.contains(char::is_uppercase) {
                let path = root.join(format!("tests/{name}.rs"));
                assert!(path.exists(), "{document}: {name}");
                count += 1;
            }
        }
    }
    assert!(count > 40, "{count}");
}
