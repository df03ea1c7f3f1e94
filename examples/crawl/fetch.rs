//! One request, and what came of it.

use crate::links::links_of;
use crate::options::Options;
use crate::robots::{MAX_ROBOTS, Robots, Rules};
use std::io::Read;
use std::time::Duration;
use ureq::http::StatusCode;
use ureq::http::header::{LOCATION, RETRY_AFTER};
use ureq::{Agent, Body, http};
use url::Url;
use xxhash_rust::xxh3::xxh3_128;

type Response = http::Response<Body>;

/// Redirects that are followed to a robots.txt, and to nothing else.
const ROBOTS_REDIRECTS: u32 = 5;

pub(crate) struct Fetcher {
    agent: Agent,
    name: String,
    max_body: u64,
}

/// A page that was fetched.
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) hash: Option<[u8; 16]>,
    pub(crate) links: Vec<Url>,
}

/// Why one was not.
pub(crate) struct Failure {
    pub(crate) reason: String,
    /// Whether to try again, and then after what time at least.
    pub(crate) again: Option<Duration>,
}

impl Failure {
    pub(crate) fn for_good(reason: impl Into<String>) -> Failure {
        Failure {
            reason: reason.into(),
            again: None,
        }
    }
}

impl From<ureq::Error> for Failure {
    fn from(error: ureq::Error) -> Failure {
        let again = match &error {
            // These come of what was asked, and not of what happened.
            ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::BodyExceedsLimit(_) => {
                None
            }
            _ => Some(Duration::ZERO),
        };
        let reason = match error {
            ureq::Error::BodyExceedsLimit(limit) => format!("a page of more than {limit} bytes"),
            other => other.to_string(),
        };
        Failure { reason, again }
    }
}

impl Fetcher {
    pub(crate) fn new(options: &Options) -> Fetcher {
        let config = Agent::config_builder()
            .timeout_global(Some(options.timeout))
            .user_agent(&options.agent)
            .http_status_as_error(false)
            // The target of a redirect is a page of its own, and claimed like any other.
            .max_redirects(0)
            .build();
        Fetcher {
            agent: config.into(),
            name: options.agent.clone(),
            max_body: options.max_body,
        }
    }

    pub(crate) fn page(&self, url: &Url) -> Result<Page, Failure> {
        let mut response = self.agent.get(url.as_str()).call()?;
        let status = response.status();
        if status.is_client_error() || status.is_server_error() {
            return Err(failure(&response));
        }
        if status.is_redirection() {
            let target = response.headers().get(LOCATION);
            let target = target.and_then(|target| url.join(target.to_str().ok()?).ok());
            return Ok(Page {
                status: status.as_u16(),
                hash: None,
                links: target.into_iter().collect(),
            });
        }
        let body = response.body_mut();
        let is_html = body
            .mime_type()
            .is_some_and(|mime| mime.eq_ignore_ascii_case("text/html"));
        let bytes = body.with_config().limit(self.max_body).read_to_vec()?;
        let links = if is_html {
            links_of(&bytes, url)
        } else {
            Vec::new()
        };
        Ok(Page {
            status: status.as_u16(),
            hash: Some(xxh3_128(&bytes).to_be_bytes()),
            links,
        })
    }

    /// The rules of a page's site. A site that has none allows everything; of one that
    /// cannot tell nothing is fetched.
    pub(crate) fn robots(&self, page: &Url) -> Result<Robots, Failure> {
        let told = self.robots_txt(page);
        let rules = told.map_err(|failure| Failure {
            reason: format!("robots.txt: {}", failure.reason),
            again: Some(failure.again.unwrap_or_default()),
        })?;
        Ok(Robots::new(rules))
    }

    fn robots_txt(&self, page: &Url) -> Result<Rules, Failure> {
        let url = page.join("/robots.txt");
        let url = url.map_err(|e| Failure::for_good(e.to_string()))?;
        let request = self.agent.get(url.as_str()).config();
        let request = request.max_redirects(ROBOTS_REDIRECTS).build();
        let mut response = request.call()?;
        if is_worth_another_try(response.status()) {
            return Err(failure(&response));
        }
        if !response.status().is_success() {
            return Ok(Rules::default());
        }
        let mut text = Vec::new();
        let mut body = response.body_mut().as_reader().take(MAX_ROBOTS);
        body.read_to_end(&mut text).map_err(ureq::Error::Io)?;
        Ok(Rules::parse(&String::from_utf8_lossy(&text), &self.name))
    }
}

/// What an error status says.
fn failure(response: &Response) -> Failure {
    let again = is_worth_another_try(response.status()).then(|| {
        let after = response.headers().get(RETRY_AFTER);
        let after = after.and_then(|after| after.to_str().ok()?.trim().parse().ok());
        Duration::from_secs(after.unwrap_or_default())
    });
    Failure {
        reason: response.status().to_string(),
        again,
    }
}

/// The server may well answer otherwise later.
fn is_worth_another_try(status: StatusCode) -> bool {
    let passing = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS];
    status.is_server_error() || passing.contains(&status)
}
