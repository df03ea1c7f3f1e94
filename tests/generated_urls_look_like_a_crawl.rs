//! What tests and benches rely on in the generator of URLs.

#[allow(dead_code, reason = "each user takes what it needs")]
#[path = "support/urls.rs"]
mod urls;

use std::collections::{HashMap, HashSet};

const COUNT: u64 = 100_000;

#[test]
fn every_index_has_its_own_url_and_always_the_same() {
    let all: HashSet<String> = (0..COUNT).map(|i| urls::url(1, i)).collect();
    assert_eq!(all.len() as u64, COUNT);
    assert_eq!(urls::url(1, 77), urls::url(1, 77));
    assert_ne!(urls::url(1, 77), urls::url(2, 77));
    assert_ne!(urls::url(1, 77), urls::url(1, 77 + (1 << 32)));
    for i in 0..COUNT {
        assert!(!all.contains(&urls::near_miss(1, i)));
    }
}

#[test]
fn lengths_hosts_and_names_are_those_of_a_crawl() {
    let all: Vec<String> = (0..COUNT).map(|i| urls::url(3, i)).collect();
    let mean = all.iter().map(String::len).sum::<usize>() as f64 / COUNT as f64;
    assert!((70.0..80.0).contains(&mean), "mean length {mean}");

    let mut hosts: HashMap<&str, u64> = HashMap::new();
    for url in &all {
        let host = url.split('/').nth(2).unwrap();
        let reserved = ["example.com", "example.org", "example.net"];
        assert!(reserved.iter().any(|name| host.ends_with(name)), "{url}");
        *hosts.entry(host).or_default() += 1;
    }
    assert!(hosts.len() > 5_000, "{} hosts", hosts.len());
    let most = hosts.values().max().unwrap();
    assert!((COUNT / 50..COUNT / 8).contains(most), "{most} on one host");

    let queries = all.iter().filter(|url| url.contains('?')).count() as u64;
    assert!((COUNT / 10..COUNT / 4).contains(&queries), "{queries}");

    // Neighbours in order share most of what they are made of.
    let mut sorted = all.clone();
    sorted.sort();
    let shared: usize = sorted
        .windows(2)
        .map(|pair| {
            let equal = |(a, b): &(u8, u8)| a == b;
            pair[0]
                .bytes()
                .zip(pair[1].bytes())
                .take_while(equal)
                .count()
        })
        .sum();
    assert!(shared as f64 / COUNT as f64 > mean / 3.0);
}
