//! Robots.txt, as RFC 9309 has it: groups of rules for user agents, `Allow` and `Disallow`,
//! `*` and `$` in paths; the longest rule that matches decides. Other lines, such as
//! `Crawl-delay` and `Sitemap`, say nothing here.

use std::time::{Duration, Instant};

/// As much of a file as is read.
pub(crate) const MAX_ROBOTS: u64 = 500 * 1024;

/// How long a site's rules are believed.
const FRESH: Duration = Duration::from_secs(24 * 60 * 60);

/// The rules of a site, and when they were read.
#[derive(Debug)]
pub(crate) struct Robots {
    rules: Rules,
    read_at: Instant,
}

impl Robots {
    pub(crate) fn new(rules: Rules) -> Robots {
        let read_at = Instant::now();
        Robots { rules, read_at }
    }

    pub(crate) fn is_fresh(&self) -> bool {
        self.read_at.elapsed() < FRESH
    }

    pub(crate) fn allow(&self, path: &str) -> bool {
        self.rules.allow(path)
    }
}

/// What one user agent may fetch.
#[derive(Debug, Default)]
pub(crate) struct Rules(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    allow: bool,
    pattern: String,
}

impl Rules {
    /// The rules for `agent`: of all groups that name it, or else of those for `*`.
    pub(crate) fn parse(text: &str, agent: &str) -> Rules {
        // A product token, without a version.
        let token = agent.split(['/', ' ']).next().unwrap_or_default();
        let (mut own, mut general) = (None, Rules::default());
        let (mut for_own, mut for_all, mut in_rules) = (false, false, false);
        // Editors of some systems begin a file with a byte order mark.
        for line in text.trim_start_matches('\u{feff}').lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((name, value)) = line.split_once(':') else {
                continue;
            };
            let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
            match name.as_str() {
                "user-agent" => {
                    // Lines that follow each other begin one group; one after rules, another.
                    if in_rules {
                        (for_own, for_all, in_rules) = (false, false, false);
                    }
                    for_all |= value == "*";
                    if value.eq_ignore_ascii_case(token) {
                        for_own = true;
                        own.get_or_insert_with(Rules::default);
                    }
                }
                "allow" | "disallow" => {
                    in_rules = true;
                    let allow = name == "allow";
                    // An empty `Disallow` forbids nothing.
                    if !value.is_empty() {
                        let own = own.as_mut().filter(|_| for_own);
                        for rules in own.into_iter().chain(for_all.then_some(&mut general)) {
                            let pattern = value.to_owned();
                            rules.0.push(Rule { allow, pattern });
                        }
                    }
                }
                _ => {}
            }
        }
        own.unwrap_or(general)
    }

    /// Whether a path, with its query, may be fetched. Of two rules of one length the one
    /// that allows counts.
    pub(crate) fn allow(&self, path: &str) -> bool {
        let matching = self.0.iter().filter(|rule| matches(&rule.pattern, path));
        let longest = matching.max_by_key(|rule| (rule.pattern.len(), rule.allow));
        longest.is_none_or(|rule| rule.allow)
    }
}

/// Whether a path begins as a pattern says, where `*` is anything, and a `$` at the end is
/// the path's end.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, to_the_end) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return !to_the_end || rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if to_the_end && parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}
