//! `seen bench --report` writes one page that fetches nothing and is made for small screens,
//! dark rooms and screen readers. `cli_bench_report_shows_in_a_browser` looks at it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

#[path = "support/program.rs"]
mod support;

use support::{Place, lines, urls};

fn report(args: &[&str]) -> String {
    let place = Place::new();
    place.write("<img src=x>&.txt", lines(&urls(3_000)));
    let all = [&["bench", "--lookups", "500", "--report", "-"], args].concat();
    String::from_utf8(place.seen(&all, "").quiet(0).out).unwrap()
}

/// The pages of different runs: all kinds; no filters; one phase of hits only; a strange name.
fn reports() -> Vec<String> {
    vec![
        report(&["--generate", "3k", "--fpr", "5%,0.1%"]),
        report(&["--generate", "3k", "--filter", "none"]),
        report(&["--generate", "3k", "--hit-ratio", "1"]),
        report(&["--urls", "<img src=x>&.txt", "--filter", "fuse"]),
    ]
}

/// The tags of a page, without their angle brackets.
fn tags(page: &str) -> Vec<&str> {
    page.split('<')
        .skip(1)
        .map(|tag| tag.split('>').next().unwrap())
        .collect()
}

fn name(tag: &str) -> &str {
    tag.split_whitespace().next().unwrap()
}

#[test]
fn it_fetches_nothing_and_runs_nothing() {
    for page in reports() {
        for word in [
            "<script", "url(", "@import", "http://", "https://", "<img", "<iframe",
        ] {
            assert!(!page.contains(word), "{word}");
        }
        assert!(!tags(&page).iter().any(|tag| tag.contains("src=")));
        let links: Vec<_> = page.matches("href=").collect();
        assert_eq!(links.len(), page.matches("href=\"data:,\"").count());
        assert!(page.contains("default-src 'none'"));
    }
    assert!(reports()[3].contains("&lt;img src=x&gt;&amp;.txt"));
}

#[test]
fn a_screen_reader_finds_its_way() {
    for page in reports() {
        assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
        assert!(
            page.contains(
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
            )
        );
        let tags = tags(&page);
        let count = |wanted: &str| tags.iter().filter(|tag| name(tag) == wanted).count();
        assert_eq!(count("h1"), 1);
        let mut level = 0;
        for tag in &tags {
            if let Some(next) = tag
                .strip_prefix('h')
                .and_then(|l| l.get(..1)?.parse::<u32>().ok())
            {
                assert!(next <= level + 1, "h{level} is followed by h{next}");
                level = next;
            }
        }
        // Each figure has a name, a description, and its numbers.
        assert!(count("svg") > 0);
        assert_eq!(count("svg"), count("figure"));
        for tag in tags.iter().filter(|tag| name(tag) == "svg") {
            assert!(
                tag.contains("role=\"img\"")
                    && tag.contains("viewBox=")
                    && tag.contains("aria-labelledby="),
                "{tag}"
            );
        }
        assert_eq!(count("svg"), count("desc"));
        assert_eq!(count("svg"), count("details"));
        assert_eq!(count("table"), count("caption"));
        assert!(count("table") > count("details"));
        for tag in tags.iter().filter(|tag| name(tag) == "th") {
            assert!(tag.contains("scope="), "{tag}");
        }
        // Names are unique, and what is referred to is there.
        let ids: Vec<_> = page
            .split(" id=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap())
            .collect();
        for (place, id) in ids.iter().enumerate() {
            assert!(!ids[..place].contains(id), "{id} is there twice");
        }
        for refers in page.split("aria-labelledby=\"").skip(1) {
            for id in refers.split('"').next().unwrap().split(' ') {
                assert!(ids.contains(&id), "{id} is not there");
            }
        }
        for wanted in [
            "section", "main", "div", "svg", "table", "figure", "details",
        ] {
            let closed = page.matches(&format!("</{wanted}>")).count();
            assert_eq!(count(wanted), closed, "{wanted}");
        }
    }
}

#[test]
fn charts_have_no_colours_of_their_own() {
    for page in reports() {
        assert!(page.contains("prefers-color-scheme: dark"));
        for svg in page.split("<svg").skip(1) {
            let svg = svg.split("</svg>").next().unwrap();
            assert!(!svg.contains('#'), "{svg}");
            assert!(svg.contains("var(--"), "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}

#[test]
fn the_number_comes_first() {
    let place = Place::new();
    let args = [
        "bench",
        "--generate",
        "60k",
        "--lookups",
        "10k",
        "--memtable",
        "1M",
        "--report",
        "r.html",
        "--json",
        "j",
    ];
    place.seen(&args, "").quiet(0);
    let page = String::from_utf8(place.read("r.html")).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&place.read("j")).unwrap();
    let stores = json["stores"].as_array().unwrap();
    let shares = stores
        .iter()
        .filter_map(|s| s["phases"][0]["saved"]["share"].as_f64());
    let most = shares.fold(0.0, f64::max);
    let headline = format!(
        "<h1><strong>{:.1} %</strong> of block reads skipped</h1>",
        (most * 1_000.0).floor() / 10.0
    );
    assert!(page.contains(&headline), "{headline}");
    assert!(most > 0.98, "{most}");
    // What the JSON says of each store is in the page.
    for store in stores {
        let reads = store["phases"][0]["counters"]["blocks_read"]
            .as_u64()
            .unwrap();
        let digits = reads.to_string();
        let shown = match digits.len() {
            0..=3 => digits,
            n => format!("{},{}", &digits[..n - 3], &digits[n - 3..]),
        };
        assert!(page.contains(&format!("<td>{shown}</td>")), "{shown}");
    }
}
