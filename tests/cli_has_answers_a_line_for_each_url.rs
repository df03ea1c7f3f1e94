//! `seen has` says seen, unseen or invalid, and changes nothing.

#[path = "support/program.rs"]
mod support;

use std::io::{BufRead, BufReader, Write};
use support::{Place, end, lines, urls};

fn place() -> Place {
    let place = Place::new();
    place
        .seen(&["new", "s"], "http://a.example/\nhttp://b.example/\n")
        .quiet(0);
    place
}

#[test]
fn the_exit_status_is_0_if_all_were_seen_and_1_if_not() {
    let place = place();
    let before = place.files("s");
    let ran = place
        .seen(&["has", "s", "http://b.example/", "HTTP://A.EXAMPLE"], "")
        .quiet(0);
    assert_eq!(
        ran.text(),
        "seen\thttp://b.example/\nseen\tHTTP://A.EXAMPLE\n"
    );
    let ran = place
        .seen(&["has", "s", "http://c.example/", "http://a.example/"], "")
        .quiet(1);
    assert_eq!(
        ran.text(),
        "unseen\thttp://c.example/\nseen\thttp://a.example/\n"
    );
    assert!(before == place.files("s"), "nothing changed");
}

#[test]
fn what_the_policy_rejects_is_invalid_and_the_exit_status_2() {
    let place = place();
    let ran = place
        .seen(&["has", "s", "nope", "http://a.example/", ""], "")
        .fails_with("rejected");
    assert!(
        ran.text()
            .starts_with("invalid\tnope\nseen\thttp://a.example/\n")
    );
}

#[test]
fn urls_come_from_a_file_or_standard_input() {
    let place = place();
    let input = "http://a.example/\r\n\nhttp://c.example/\nhttp://b.example/";
    let expected = "seen\thttp://a.example/\nunseen\thttp://c.example/\nseen\thttp://b.example/\n";
    place.write("links", input);
    for args in [
        &["has", "s", "--from", "links"][..],
        &["has", "s", "--from", "-"],
        &["has", "s"],
    ] {
        assert_eq!(
            place.seen(args, input).quiet(1).text(),
            expected,
            "{args:?}"
        );
    }
    let both = place
        .seen(&["has", "s", "http://d.example/", "--from", "links"], "")
        .quiet(1);
    assert_eq!(
        both.text(),
        format!("unseen\thttp://d.example/\n{expected}")
    );
}

#[test]
fn answers_come_while_the_input_is_open() {
    let place = place();
    let mut child = place.start(&["has", "s"]);
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for (url, answer) in [
        ("http://a.example/", "seen"),
        ("http://x.example/", "unseen"),
    ] {
        writeln!(stdin, "{url}").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, format!("{answer}\t{url}\n"));
    }
    drop(stdin);
    end(child).quiet(1);
}

#[test]
fn many_urls_are_answered_in_their_order() {
    let place = Place::new();
    let all = urls(10_000);
    let (known, unknown) = all.split_at(5_000);
    place.seen(&["new", "s"], lines(known)).quiet(0);
    let ran = place
        .seen(&["has", "s", "--from", "-"], lines(known))
        .quiet(0);
    assert!(
        ran.text()
            == known
                .iter()
                .map(|u| format!("seen\t{u}\n"))
                .collect::<String>()
    );
    let ran = place
        .seen(&["has", "s", "--from", "-"], lines(unknown))
        .quiet(1);
    assert!(
        ran.text()
            == unknown
                .iter()
                .map(|u| format!("unseen\t{u}\n"))
                .collect::<String>()
    );
}

#[test]
fn a_line_too_long_to_keep_is_shown_by_its_beginning() {
    let place = place();
    let mut input = b"http://a.example/\n".to_vec();
    input.extend_from_slice(&vec![b'x'; 3 << 20]);
    input.extend_from_slice(b"\nhttp://c.example/\n");
    let ran = place.seen(&["has", "s"], input).fails_with("3145728 bytes");
    let lines: Vec<_> = ran.out.split(|&b| b == b'\n').collect();
    assert_eq!(lines[0], b"seen\thttp://a.example/");
    assert!(lines[1].starts_with(b"invalid\txxx") && lines[1].ends_with(b"..."));
    assert!(lines[1].len() < 100);
    assert_eq!(lines[2], b"unseen\thttp://c.example/");
}

#[test]
fn without_a_store_it_fails_and_creates_none() {
    let place = Place::new();
    place
        .seen(&["has", "s", "http://a.example/"], "")
        .fails_with("there is no store at s");
    assert!(!place.exists("s"));
}
