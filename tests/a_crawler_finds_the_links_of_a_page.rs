//! What the example crawler takes for links.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "../examples/crawl/links.rs"]
mod links;

use url::Url;

#[track_caller]
fn check(html: &str, expected: &[&str]) {
    let base = Url::parse("https://example.com/dir/page?q").unwrap();
    let found = links::links_of(html.as_bytes(), &base);
    let found: Vec<&str> = found.iter().map(Url::as_str).collect();
    assert_eq!(found, expected, "{html}");
}

#[test]
fn however_they_are_written() {
    check("<a href=\"/a\">", &["https://example.com/a"]);
    check("<A class=x HREF='b' id=y>", &["https://example.com/dir/b"]);
    check("<area href=../c>", &["https://example.com/c"]);
    check(
        "<a\n href = \"/a?x=1&amp;y=2\">",
        &["https://example.com/a?x=1&y=2"],
    );
    check("<a href='//example.org'>", &["https://example.org/"]);
    check("<a href='#top'>", &["https://example.com/dir/page?q#top"]);
    check("<a href=' /a\n'>", &["https://example.com/a"]);
    check(
        "<b><a href=/a><p></b><a href=/b",
        &["https://example.com/a"],
    );
}

#[test]
fn and_nothing_else() {
    for html in [
        "",
        "text",
        "<a>",
        "<a name=x>",
        "<link href=/style>",
        "<p href=/a>",
        "</a href=/a>",
        "<!-- <a href=/a> -->",
        "<script>'<a href=/a>'</script>",
        "<style>/* <a href=/a> */</style>",
        "<title><a href=/a></title>",
        "<textarea><a href=/a></textarea>",
        "<img alt='<a href=/a>'>",
        "<a href='https://%zz/'>",
    ] {
        check(html, &[]);
    }
}

#[test]
fn they_are_seen_from_the_base() {
    check(
        "<base href='/other/'><a href=a><base href='/third/'><a href=b>",
        &["https://example.com/other/a", "https://example.com/other/b"],
    );
    check("<base target=x><a href=a>", &["https://example.com/dir/a"]);
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    let base = Url::parse("https://example.com/").unwrap();
    let found = links::links_of(b"\xff\x00<a href='/\xe9'>\xfe<a href=/b>", &base);
    assert_eq!(found.len(), 2);
}
