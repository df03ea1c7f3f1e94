//! What the example crawler makes of a robots.txt.
#![allow(clippy::disallowed_methods, reason = "a test")]

#[allow(dead_code, reason = "the example uses all of it")]
#[path = "../examples/crawl/robots.rs"]
mod robots;

use robots::Rules;

#[track_caller]
fn check(text: &str, allowed: &[&str], forbidden: &[&str]) {
    let rules = Rules::parse(text, "seendb-crawl/1.0 (example.com)");
    for path in allowed {
        assert!(rules.allow(path), "{path} is allowed by {text:?}");
    }
    for path in forbidden {
        assert!(!rules.allow(path), "{path} is forbidden by {text:?}");
    }
}

#[test]
fn a_path_is_forbidden_by_its_beginning() {
    let text = "User-agent: *\nDisallow: /private\nDisallow: /a/ # and below\n";
    check(
        text,
        &["/", "/priv", "/a", "/b/private"],
        &["/private", "/private/x?y", "/privateer", "/a/b"],
    );
    check("user-agent:*\r\nDISALLOW:/\r\n", &[], &["/", "/x"]);
}

#[test]
fn what_says_nothing_forbids_nothing() {
    for text in [
        "",
        "User-agent: *\nDisallow:\n",
        "Disallow: /\n",
        "User-agent: other\nDisallow: /\n",
        "User-agent: *\nCrawl-delay: 5\nSitemap: https://example.com/\n",
        "<html><body>404: /</body></html>",
        "User-agent *\nDisallow /\n",
    ] {
        check(text, &["/", "/x"], &[]);
    }
}

#[test]
fn the_longest_rule_decides() {
    let text = "User-agent: *\nAllow: /a/b\nDisallow: /a\nDisallow: /a/b/c\n";
    check(text, &["/", "/a/b", "/a/bc"], &["/a", "/a/x", "/a/b/c"]);
    let text = "User-agent: *\nDisallow: /a\nAllow: /a\n";
    check(text, &["/a"], &[]);
}

#[test]
fn a_group_by_name_comes_before_that_for_all() {
    let text = "User-agent: *\nDisallow: /\n\nUser-agent: Other\nUser-agent: SeenDB-Crawl\n\
                Disallow: /x\n\nUser-agent: third\nDisallow: /y\n";
    check(text, &["/", "/y"], &["/x"]);
    // Groups of one name are one.
    let text = "User-agent: seendb-crawl\nDisallow: /x\nUser-agent: *\nDisallow: /z\n\
                User-agent: seendb-crawl\nDisallow: /y\n";
    check(text, &["/z"], &["/x", "/y"]);
    // One that says nothing is a group too.
    let text = "User-agent: seendb-crawl\nDisallow:\n\nUser-agent: *\nDisallow: /\n";
    check(text, &["/", "/x"], &[]);
}

#[test]
fn a_star_is_anything_and_a_dollar_the_end() {
    let text = "User-agent: *\nDisallow: /*.pdf$\nDisallow: /a*/c\nDisallow: /end$\n";
    check(
        text,
        &["/x.pdf?y", "/a/b", "/end/", "/c/a"],
        &["/x.pdf", "/y/.pdf.pdf", "/a/c", "/ab/b/cd", "/end"],
    );
    check("User-agent: *\nDisallow: *\n", &[], &["/", "/x"]);
    check("User-agent: *\nDisallow: /a*$\n", &["/b"], &["/a", "/ab"]);
}

#[test]
fn a_mark_at_the_beginning_hides_no_line() {
    check("\u{feff}User-agent: *\nDisallow: /x\n", &["/"], &["/x"]);
}
