//! `seen new` prints first occurrences, in input order, across runs.

#[path = "support/program.rs"]
mod support;

use support::{Place, lines, urls};

#[test]
fn a_line_is_printed_the_first_time_only() {
    let place = Place::new();
    let input = "http://a.example/\nhttp://b.example/\nhttp://a.example/\nhttp://c.example/\n";
    let ran = place.seen(&["new", "s"], input).quiet(0);
    assert_eq!(
        ran.text(),
        "http://a.example/\nhttp://b.example/\nhttp://c.example/\n"
    );
    let ran = place.seen(&["new", "s"], input).quiet(0);
    assert_eq!(ran.text(), "");
    let ran = place
        .seen(&["new", "s"], "http://d.example/\nhttp://a.example/\n")
        .quiet(0);
    assert_eq!(ran.text(), "http://d.example/\n");
}

#[test]
fn the_line_itself_is_printed_and_not_its_canonical_form() {
    let place = Place::new();
    let input = "HTTP://A.example:80#top\nhttp://a.example/\n  http://B.example/ \n";
    let ran = place.seen(&["new", "s"], input).quiet(0);
    assert_eq!(
        ran.text(),
        "HTTP://A.example:80#top\n  http://B.example/ \n"
    );
    assert_eq!(place.keys("s"), ["http://a.example/", "http://b.example/"]);
}

#[test]
fn many_lines_come_out_in_order_across_batches() {
    let place = Place::new();
    let all = urls(25_000);
    // Every third line again, some of them far behind.
    let mut input = Vec::new();
    for (i, url) in all.iter().enumerate() {
        input.push(url.clone());
        if i % 3 == 0 {
            input.push(all[i / 2].clone());
        }
    }
    let ran = place
        .seen(&["new", "s", "--canon", "raw"], lines(&input))
        .quiet(0);
    assert!(
        ran.text() == lines(&all),
        "first occurrences, in their order"
    );
    let ran = place.seen(&["new", "s"], lines(&input)).quiet(0);
    assert!(ran.out.is_empty());
}

#[test]
fn several_files_and_standard_input_are_read_in_their_order() {
    let place = Place::new();
    place.write("one", "http://1.example/\nhttp://2.example/\n");
    place.write("two", "http://3.example/\nhttp://1.example/\n");
    let ran = place
        .seen(&["new", "s", "two", "-", "one"], "http://2.example/\n")
        .quiet(0);
    assert_eq!(
        ran.text(),
        "http://3.example/\nhttp://1.example/\nhttp://2.example/\n"
    );
}

#[test]
fn an_empty_input_is_fine() {
    let place = Place::new();
    let ran = place.seen(&["new", "s"], "").quiet(0);
    assert!(ran.out.is_empty());
    assert!(place.keys("s").is_empty());
}
