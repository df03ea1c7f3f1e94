//! URLs like those that a crawler meets, made from numbers.
//!
//! [`url`] is a pure function of a seed and an index: the same URL every time,
//! another one for every other index of the same seed. So a test or a bench that
//! inserts the indices up to some number has absent URLs in all those above, on
//! the same hosts and in the same directories; [`near_miss`] gives one that
//! differs from a URL in its last byte only.
//!
//! Hosts follow a power law (the host of rank r has a share of about 1/r), each
//! host has a few directories that its pages share, and one page in six has a
//! query string. The mean length is about 75 bytes. All names are under example.com,
//! example.org and example.net, which are reserved.

/// Hosts of one seed.
const HOSTS: f64 = 50_000.0;
const SUFFIXES: [&str; 8] = [
    "example.com",
    "example.com",
    "example.org",
    "example.com",
    "example.net",
    "example.com",
    "example.org",
    "example.com",
];
const WORDS: [&str; 32] = [
    "news", "about", "research", "library", "health", "archive", "report", "media", "policy",
    "data", "press", "release", "state", "public", "water", "energy", "annual", "review",
    "program", "safety", "service", "market", "travel", "history", "science", "budget", "school",
    "notice", "product", "support", "events", "update",
];

/// The URL of an index.
pub(crate) fn url(seed: u64, index: u64) -> String {
    let mut dice = Dice(mix(seed) ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    // The logarithm of the rank is uniform: a share of about 1/r for rank r.
    let rank = HOSTS.powf(dice.share()) as u64;
    // What all pages of a host have in common comes from dice of its own.
    let mut host = Dice(mix(seed ^ rank.wrapping_mul(0xd6e8_feb8_6659_fd93)));
    let scheme = if host.below(8) == 0 { "http" } else { "https" };
    let name = ["www.", "www.", "", "www.", "blog.", "www."][host.below(6) as usize];
    let suffix = SUFFIXES[host.below(8) as usize];
    let mut text = format!("{scheme}://{name}n{rank}.{suffix}/");

    // A host has up to 64 directories, and prefers the first of them.
    let directory = host.below(64) * dice.below(1 << 16) / (1 << 16);
    let directory = directory * dice.below(1 << 16) / (1 << 16);
    let mut shared = Dice(host.0 ^ mix(directory));
    for _ in 0..=shared.below(3) {
        text += shared.word();
        text.push('/');
    }
    if shared.below(3) == 0 {
        text += &format!("{}/{:02}/", 1996 + dice.below(29), 1 + dice.below(12));
    }
    for _ in 0..=dice.below(4) {
        text += dice.word();
        text.push('-');
    }
    // The index, so that no two are the same; scattered, so that neighbours in
    // number are not neighbours in order.
    text += &format!("{:x}", (index as u32).wrapping_mul(0x9e37_79b1));
    if index >> 32 != 0 {
        text += &format!("-{:x}", index >> 32);
    }
    text += ["", ".html", "", "/", ".pdf", "/index.html"][shared.below(6) as usize];
    if dice.below(6) == 0 {
        text += &format!("?page={}&{}={}", dice.below(40), dice.word(), dice.word());
    }
    text
}

/// A URL that [`url`] never gives, and that differs from the one of the index in
/// its last byte only.
pub(crate) fn near_miss(seed: u64, index: u64) -> String {
    let mut text = url(seed, index);
    text.pop();
    text.push('~');
    text
}

/// A sequence of numbers (splitmix64).
#[derive(Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from 0 to 1.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len() as u64) as usize]
    }

    /// Puts `items` into another order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
