//! A small web site on this machine, under two names, that notes every request and can
//! hold still at a chosen one.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers: a failure is the test's"
)]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

/// Ordinary pages under each name.
pub const PAGES: usize = 24;

/// A request that was read.
#[derive(Debug, Clone)]
pub struct Request {
    pub url: String,
    /// The name and port that was asked.
    pub host: String,
    /// Which run of the crawler it came from.
    pub run: usize,
    pub read_at: Instant,
    /// When its answer began, and with what status.
    pub answered: Option<(Instant, u16)>,
}

/// When the site holds still: at a request for an ordinary page under the first name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// It was asked for, and gets no answer.
    Asked,
    /// It was answered, and nothing is any more.
    Answered,
    /// It was answered, and so is all that follows.
    After,
}

#[derive(Default)]
struct State {
    requests: Vec<Request>,
    run: usize,
    /// The moment to come, and how many pages are asked for before.
    plan: Option<(usize, Moment)>,
    reached: bool,
    holding: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

pub struct Site {
    pub port: u16,
    shared: Arc<Shared>,
}

struct Answer {
    status: &'static str,
    headers: String,
    body: String,
    /// Bytes of the body that are promised, and not sent.
    missing: usize,
}

impl Site {
    pub fn open() -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let site = Site {
            port,
            shared: Arc::clone(&shared),
        };
        // It ends with the process.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.serve(&stream.unwrap(), port));
            }
        });
        site
    }

    /// A URL under the first name.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// A URL under the second name.
    pub fn other(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.port)
    }

    /// Another run of the crawler begins, during which there will be a moment.
    pub fn begin_run(&self, plan: Option<(usize, Moment)>) {
        let mut state = self.shared.lock();
        state.run += 1;
        state.plan = plan;
        state.reached = false;
        state.holding = false;
        self.shared.changed.notify_all();
    }

    /// Waits until the moment has come.
    pub fn wait_for_the_moment(&self) {
        let mut state = self.shared.lock();
        let until = Instant::now() + Duration::from_secs(20);
        while !state.reached {
            assert!(Instant::now() < until, "not reached: {:?}", state.plan);
            let step = Duration::from_millis(100);
            state = self.shared.changed.wait_timeout(state, step).unwrap().0;
        }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// How often each URL was answered.
    pub fn answers(&self) -> HashMap<String, usize> {
        let mut answers = HashMap::new();
        for request in self.requests() {
            *answers.entry(request.url).or_default() += usize::from(request.answered.is_some());
        }
        answers
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// One request a connection.
    fn serve(&self, stream: &TcpStream, port: u16) {
        // A crawler that is killed may leave a part of one.
        let Some((host, path)) = read(stream) else {
            return;
        };
        let url = format!("http://{host}{path}");
        let run = self.lock().run;
        let (place, nth) = self.note(&url, &host, run);
        let is_counted = host.starts_with("127.") && path.starts_with("/pages/");
        if is_counted && self.is_the_moment(Moment::Asked) {
            self.reach(true);
        }
        if self.is_cut_off(run) {
            return;
        }
        let Some(answer) = answer(&path, nth, &host, port) else {
            return;
        };
        let status = answer.status.split(' ').next().unwrap().parse().unwrap();
        // Noted before it is sent: the crawler cannot act on it earlier.
        self.lock().requests[place].answered = Some((Instant::now(), status));
        send(stream, &answer);
        if is_counted {
            if self.is_the_moment(Moment::Answered) {
                self.reach(true);
            } else if self.is_the_moment(Moment::After) {
                self.reach(false);
            }
            self.count_down();
        }
    }

    /// Notes a request; its place, and how many of its URL were answered before.
    fn note(&self, url: &str, host: &str, run: usize) -> (usize, usize) {
        let mut state = self.lock();
        let before = state.requests.iter();
        let before = before.filter(|r| r.url == url && r.answered.is_some());
        let nth = before.count();
        state.requests.push(Request {
            url: url.to_owned(),
            host: host.to_owned(),
            run,
            read_at: Instant::now(),
            answered: None,
        });
        (state.requests.len() - 1, nth)
    }

    fn is_the_moment(&self, moment: Moment) -> bool {
        let state = self.lock();
        !state.reached && state.plan == Some((0, moment))
    }

    fn count_down(&self) {
        if let Some((left, _)) = &mut self.lock().plan {
            *left = left.saturating_sub(1);
        }
    }

    fn reach(&self, hold: bool) {
        let mut state = self.lock();
        state.reached = true;
        state.holding = hold;
        self.changed.notify_all();
    }

    /// Whether the site holds still; then it does until the run is over.
    fn is_cut_off(&self, run: usize) -> bool {
        let mut state = self.lock();
        let holding = state.holding;
        while state.holding && state.run == run {
            state = self.changed.wait(state).unwrap();
        }
        holding || state.run != run
    }
}

/// The host and the path that are asked for.
fn read(stream: &TcpStream) -> Option<(String, String)> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    let path = first.strip_prefix("GET ")?.split(' ').next()?.to_owned();
    let mut host = None;
    loop {
        let line = lines.next()?.ok()?;
        if line.is_empty() {
            return Some((host?, path));
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("host")
        {
            host = Some(value.trim().to_owned());
        }
    }
}

fn send(mut stream: &TcpStream, answer: &Answer) {
    let head = format!(
        "HTTP/1.1 {}\r\nConnection: close\r\nContent-Length: {}\r\n{}\r\n",
        answer.status,
        answer.body.len() + answer.missing,
        answer.headers
    );
    // Whoever asked may be gone.
    let _ = stream.write_all((head + &answer.body).as_bytes());
}

/// What is answered to the request for a path, of which `nth` were answered before.
fn answer(path: &str, nth: usize, host: &str, port: u16) -> Option<Answer> {
    let of = |status, headers: &str, body: &str| {
        Some(Answer {
            status,
            headers: headers.to_owned(),
            body: body.to_owned(),
            missing: usize::from(path == "/cut" && nth == 0),
        })
    };
    let html = |body: &str| of("200 OK", "Content-Type: text/html; charset=utf-8\r\n", body);
    let failing = |status| of(status, "", "");
    match path {
        "/robots.txt" => of("200 OK", "", "User-agent: *\nDisallow: /private/\n"),
        "/" => html(&front(port)),
        "/broken" => failing("500 Internal Server Error"),
        "/flaky" if nth < 2 => failing("503 Service Unavailable"),
        "/busy" if nth == 0 => of("429 Too Many Requests", "Retry-After: 3\r\n", ""),
        "/gone" => failing("410 Gone"),
        "/moved" => of("301 Moved Permanently", "Location: /pages/7#here\r\n", ""),
        "/moved/out" => {
            let target = format!("Location: http://LOCALHOST:{port}/landing\r\n");
            of("302 Found", &target, "")
        }
        "/picture" => of("200 OK", "Content-Type: image/png\r\n", "<a href=/hidden>"),
        "/huge" => html(&"x".repeat(200_000)),
        "/flaky" | "/busy" | "/cut" | "/landing" => html("fine"),
        _ => {
            if let Some(number) = path.strip_prefix("/pages/") {
                let number = number.parse().ok()?;
                return html(&page(number, host, port));
            }
            match path.strip_prefix("/trap/") {
                Some(step) => html(&format!(
                    "<a href='/trap/{step}1'> <a href='/trap/{step}2'>"
                )),
                None => failing("404 Not Found"),
            }
        }
    }
}

/// The front page leads to all there is but most of the ordinary pages.
fn front(port: u16) -> String {
    format!(
        "<a href=/broken> <a href=/flaky> <a href=/busy> <a href=/cut> <a href=/missing>
         <a href=/gone> <a href=/moved> <a href=/moved/out> <a href=/picture> <a href=/huge>
         <a href=/trap/1> <a href=/private/page> <a href=/pages/1> <a href='HTTPS://Example.com/'>
         <a href='mailto:someone@example.com'> <a href='http://%zz/'>
         <a href='http://LocalHost:{port}/pages/1'>"
    )
}

/// An ordinary page is the only one of its name that leads to the next, in several
/// spellings: if its links are lost, so is all that follows. It leads to the one before
/// as well, and under the first name to itself under the second.
fn page(number: usize, host: &str, port: u16) -> String {
    let name = host.split(':').next().unwrap_or_default().to_uppercase();
    let mut html = format!(
        "<title>A page</title><script>'<a href=/script>'</script>
         <a href='/pages/{}'> <A HREF='//LOCALHOST:{port}/pages/{number}'>",
        number.max(2) - 1,
    );
    if number < PAGES {
        let next = number + 1;
        html += &format!(
            "<a href='/pages/{next}'> <a href='{next}#part'> <a href='/./a/../pages/{next}#'>
             <a href='HTTP://{name}:0{port}/pages/{next}'>"
        );
    }
    html
}
