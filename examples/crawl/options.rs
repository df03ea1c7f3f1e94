//! The command line.

use crate::Outcome;
use crate::sites::Sites;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use url::Url;

pub(crate) struct Options {
    pub(crate) store: PathBuf,
    pub(crate) start: Vec<String>,
    pub(crate) sites: Sites,
    pub(crate) workers: usize,
    pub(crate) delay: Duration,
    pub(crate) timeout: Duration,
    pub(crate) lease: Duration,
    pub(crate) retry: Duration,
    pub(crate) attempts: u32,
    pub(crate) max_pages: u64,
    pub(crate) max_section: u64,
    pub(crate) max_body: u64,
    pub(crate) agent: String,
}

const USAGE: &str = "usage: crawl STORE [URL]... [OPTION]...; \
                     the options are told at the top of examples/crawl/main.rs";

impl Options {
    fn new(store: PathBuf) -> Options {
        Options {
            store,
            start: Vec::new(),
            sites: Sites::default(),
            workers: 4,
            delay: Duration::from_secs(1),
            timeout: Duration::from_secs(30),
            lease: Duration::from_secs(120),
            retry: Duration::from_secs(60),
            attempts: 5,
            max_pages: 100_000,
            max_section: 10_000,
            max_body: 2_000_000,
            agent: "seendb-crawl".into(),
        }
    }

    pub(crate) fn from_args(mut args: impl Iterator<Item = String>) -> Outcome<Options> {
        let store = args.next().filter(|store| !store.starts_with("--"));
        let mut options = Options::new(store.ok_or(USAGE)?.into());
        while let Some(arg) = args.next() {
            if !arg.starts_with("--") {
                options.sites.add(&web_url(&arg)?);
                options.start.push(arg);
                continue;
            }
            let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
            match arg.as_str() {
                "--host" => options.sites.add(&web_url(&format!("http://{value}/"))?),
                "--workers" => options.workers = number(&arg, &value)?,
                "--delay" => options.delay = seconds(&arg, &value)?,
                "--timeout" => options.timeout = seconds(&arg, &value)?,
                "--lease" => options.lease = seconds(&arg, &value)?,
                "--retry" => options.retry = seconds(&arg, &value)?,
                "--attempts" => options.attempts = number(&arg, &value)?,
                "--max-pages" => options.max_pages = number(&arg, &value)?,
                "--max-section" => options.max_section = number(&arg, &value)?,
                "--max-body" => options.max_body = number(&arg, &value)?,
                "--agent" => options.agent = value,
                _ => return Err(format!("there is no option {arg}; {USAGE}").into()),
            }
        }
        options.check()?;
        Ok(options)
    }

    fn check(&self) -> Outcome<()> {
        if self.sites.is_empty() {
            return Err("no site to stay on: give a URL, or --host".into());
        }
        if self.workers == 0 || self.timeout.is_zero() {
            return Err("--workers and --timeout must be above 0".into());
        }
        // Else a page that takes long could be claimed twice.
        if self.lease <= self.timeout {
            return Err("--lease must be longer than --timeout".into());
        }
        Ok(())
    }
}

fn web_url(text: &str) -> Outcome<Url> {
    let url = Url::parse(text).map_err(|e| format!("{text}: {e}"))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        _ => Err(format!("{text}: not http or https").into()),
    }
}

fn number<T: FromStr>(name: &str, value: &str) -> Outcome<T> {
    let parsed = value.parse();
    parsed.map_err(|_| format!("{name} {value}: not a number that fits").into())
}

fn seconds(name: &str, value: &str) -> Outcome<Duration> {
    let parsed = Duration::try_from_secs_f64(number(name, value)?);
    parsed.map_err(|e| format!("{name} {value}: {e}").into())
}
