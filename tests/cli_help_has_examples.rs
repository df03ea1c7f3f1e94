//! The help fits a screen, starts with examples, and names the exit statuses.

#[path = "support/program.rs"]
mod support;

use support::Place;

#[test]
fn the_help_fits_a_screen_and_starts_with_three_examples() {
    let help = Place::new().seen(&["--help"], "").quiet(0).text();
    let lines: Vec<_> = help.lines().collect();
    assert!(lines.len() <= 24, "{help}");
    assert_eq!(lines[0], "Examples:");
    assert!(
        lines[1..4].iter().all(|l| l.starts_with("  seen ")),
        "{help}"
    );
}

#[test]
fn each_command_has_examples_and_exit_statuses() {
    let place = Place::new();
    for command in [
        "new", "has", "get", "list", "claim", "due", "fetched", "failed", "release", "forget",
        "stats", "verify", "compact", "repair", "plan", "bench",
    ] {
        let help = place.seen(&[command, "--help"], "").quiet(0).text();
        assert!(
            help.contains(&format!("Examples:\n  seen {command} ")),
            "{help}"
        );
        assert!(help.contains("Exit status: 0 "), "{help}");
    }
    let help = place.seen(&["new", "--help"], "").quiet(0).text();
    assert!(help.contains("counts as printed"), "{help}");
    let help = place.seen(&["failed", "--help"], "").quiet(0).text();
    assert!(
        help.contains("Without --retry a failure is final"),
        "{help}"
    );
    let help = place.seen(&["list", "--help"], "").quiet(0).text();
    assert!(help.contains("within an"), "{help}");
}
