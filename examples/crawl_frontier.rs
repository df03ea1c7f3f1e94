//! A crawler's bookkeeping: fetch each page once, however often it is linked.
//!
//! ```sh
//! cargo run --example crawl_frontier -- /tmp/frontier.seen
//! ```
//!
//! The pages here are made up; a real crawler fetches them. Note what a store does
//! not know yet: a URL is recorded when it is found, not when it was fetched. This
//! program keeps the pages that it still has to fetch in memory, so that a kill
//! loses those; a crawler that runs for long writes its frontier to disk before it
//! records the URLs in it. Run it twice: the second time, every page is known.

use seendb::Seen;
use std::collections::VecDeque;

/// The links of a page, as a fetch and a parser would give them.
fn links(page: &str) -> Vec<String> {
    let depth = page.matches('/').count();
    if depth > 5 {
        return Vec::new();
    }
    // Spelled in different ways, and often the same pages: as links are.
    vec![
        format!("{page}a/"),
        format!("{page}b/#section"),
        format!("{page}./a/"),
        "HTTPS://Example.COM/".to_string(),
        "http://%zz/".to_string(),
    ]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("usage: crawl_frontier STORE")?;
    let seen = Seen::open(&path)?;

    let mut frontier = VecDeque::new();
    let start = "https://example.com/";
    if seen.insert(start)? {
        frontier.push_back(start.to_string());
    }
    let mut fetched = 0;
    while let Some(page) = frontier.pop_front() {
        fetched += 1;
        // One atomic batch for a page's links. A URL that occurs twice in it, in
        // whatever spelling, is new once. Pages link to things that are no URLs:
        // those are left out, one by one.
        let mut batch = seen.batch();
        let mut links = links(&page);
        links.retain(|link| batch.insert(link).is_ok());
        let new = seen.apply(batch)?.new;
        for (link, _) in links.into_iter().zip(new).filter(|(_, new)| *new) {
            // What is fetched keeps its own spelling; only the key is canonical.
            frontier.push_back(link);
        }
    }
    println!("{fetched} pages fetched, {} URLs recorded", seen.len());
    for entry in seen.scan("https://example.com/a/")?.take(3) {
        let (url, record) = entry?;
        println!("{} {:?}", String::from_utf8_lossy(&url), record.first_seen);
    }
    // Tells what went wrong, if anything did; dropping would close it as well.
    seen.close()?;
    Ok(())
}
