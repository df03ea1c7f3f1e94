//! Looks at a report of `seen bench` in a real browser, at the widths of a telephone and of a
//! desk, light and dark. Run by hand, with `chromium` on the path; docs/testing.md says how.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

#[path = "support/program.rs"]
mod support;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::Place;

/// Shows a page in a frame of this width, and measures it. The page's own policy forbids
/// scripts; the frame around it has one.
fn frame(page: &str, width: u32, height: u32) -> String {
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        r#"<!DOCTYPE html><html style="color-scheme: light dark"><meta charset="utf-8"><style>body {{ margin: 0 }} iframe {{ border: 0; display: block }}</style>
<iframe id="f" width="{width}" height="{height}" srcdoc="{page}"></iframe><pre id="found" hidden></pre>
<script>
onload = () => {{
  const w = document.getElementById("f").contentWindow, d = w.document;
  d.querySelectorAll("details").forEach(e => e.open = true);
  const style = (what, name) => w.getComputedStyle(d.querySelector(what))[name];
  const box = e => e.getBoundingClientRect();
  const letters = [...d.querySelectorAll("svg text")];
  const outside = letters.filter(t => {{
    const a = box(t), b = box(t.closest("svg"));
    return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1;
  }});
  const over = [];
  d.querySelectorAll("svg").forEach(svg => {{
    const all = [...svg.querySelectorAll("text")];
    all.forEach((t, i) => all.slice(i + 1).forEach(u => {{
      const a = box(t), b = box(u);
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      // Boxes of letters are higher than what is seen of them.
      if (across > 1 && down > (a.height + b.height) / 5) over.push(t.textContent + " / " + u.textContent);
    }}));
  }});
  document.getElementById("found").textContent = JSON.stringify({{
    dark: w.matchMedia("(prefers-color-scheme: dark)").matches,
    wide: d.documentElement.scrollWidth, room: d.documentElement.clientWidth,
    height: d.documentElement.scrollHeight,
    fetched: w.performance.getEntriesByType("resource").map(e => e.name),
    charts: d.querySelectorAll("svg").length,
    smallest: Math.min(...letters.map(t => box(t).height)),
    outside: outside.map(t => t.textContent), over,
    ink: style("h1", "color"), letters: style("svg text", "fill"),
    muted: style("section > p", "color"),
    paper: style("body", "backgroundColor"), card: style("section", "backgroundColor"),
  }});
}};
</script></html>"#
    )
}

/// What the browser answers, and what it wrote to its console.
struct Seen {
    found: Value,
    console: Vec<String>,
}

fn browser(dark: bool) -> Command {
    let mut command = Command::new("chromium");
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--enable-logging=stderr",
        "--window-size=1400,900",
    ]);
    if dark {
        command.args([
            "--blink-settings=preferredColorScheme=0",
            "--force-dark-mode",
        ]);
    }
    command
}

fn look(dir: &Path, page: &str, width: u32, dark: bool) -> Seen {
    let file = dir.join("frame.html");
    fs::write(&file, frame(page, width, 900)).unwrap();
    let output = browser(dark)
        .arg(format!("--user-data-dir={}", dir.join("profile").display()))
        .args(["--virtual-time-budget=3000", "--dump-dom"])
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let found = dom.split("<pre id=\"found\" hidden=\"\">").nth(1);
    let found = found.unwrap_or_else(|| panic!("nothing was measured: {errors}"));
    let found = found.split("</pre>").next().unwrap();
    let found = found
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    Seen {
        found: serde_json::from_str(&found).unwrap_or_else(|e| panic!("{e}: {found}: {errors}")),
        console: errors
            .lines()
            .filter(|l| l.contains("CONSOLE"))
            .map(str::to_owned)
            .collect(),
    }
}

fn screenshot(dir: &Path, page: &str, width: u32, height: u32, dark: bool, to: &Path) {
    let file = dir.join("frame.html");
    fs::write(&file, frame(page, width, height)).unwrap();
    let status = browser(dark)
        .arg(format!("--user-data-dir={}", dir.join("profile").display()))
        .arg(format!("--window-size={},{height}", width.max(500)))
        .arg(format!("--screenshot={}", to.display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    assert!(status.status.success() && to.exists(), "{status:?}");
}

/// The contrast of two colours such as `rgb(1, 2, 3)`, from 1 to 21 (WCAG 2).
fn contrast(a: &Value, b: &Value) -> f64 {
    let light = |colour: &Value| {
        let text = colour.as_str().unwrap();
        let numbers = text
            .trim_start_matches("rgb(")
            .trim_end_matches(')')
            .split(',');
        let parts: Vec<f64> = numbers
            .map(|n| n.trim().parse::<f64>().unwrap() / 255.0)
            .collect();
        let linear = |c: f64| {
            if c <= 0.040_45 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * linear(parts[0]) + 0.7152 * linear(parts[1]) + 0.0722 * linear(parts[2])
    };
    let (a, b) = (light(a), light(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
#[ignore = "needs chromium; docs/testing.md"]
fn it_is_legible_at_every_width_light_and_dark_and_fetches_nothing() {
    let place = Place::new();
    let dir = place.path(".");
    let shots = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    for (name, args) in [
        (
            "all",
            &[
                "--generate",
                "300k",
                "--lookups",
                "50k",
                "--fpr",
                "1%,0.1%",
                "--memtable",
                "4M",
            ][..],
        ),
        (
            "one",
            &[
                "--generate",
                "50k",
                "--lookups",
                "20k",
                "--filter",
                "blocked,none",
                "--hit-ratio",
                "0",
            ],
        ),
        (
            "none",
            &["--generate", "50k", "--lookups", "20k", "--filter", "none"],
        ),
    ] {
        let args = [&["bench", "--report", "r.html"], args].concat();
        place.seen(&args, "").quiet(0);
        let page = String::from_utf8(place.read("r.html")).unwrap();
        for (width, dark) in [
            (360, false),
            (360, true),
            (768, true),
            (1280, false),
            (1280, true),
        ] {
            let at = format!("{name}, {width} pixels, dark: {dark}");
            let Seen { found, console } = look(&dir, &page, width, dark);
            assert_eq!(found["dark"], dark, "{at}");
            assert!(console.is_empty(), "{at}: {console:?}");
            assert_eq!(
                found["fetched"].as_array().unwrap().len(),
                0,
                "{at}: {found}"
            );
            assert!(
                found["wide"].as_u64() <= found["room"].as_u64(),
                "{at}: it is too wide: {found}"
            );
            assert!(found["charts"].as_u64().unwrap() >= 2, "{at}");
            assert_eq!(
                found["outside"].as_array().unwrap().len(),
                0,
                "{at}: {found}"
            );
            assert_eq!(found["over"].as_array().unwrap().len(), 0, "{at}: {found}");
            assert!(found["smallest"].as_f64().unwrap() >= 11.0, "{at}: {found}");
            assert!(
                contrast(&found["ink"], &found["paper"]) >= 7.0,
                "{at}: {found}"
            );
            assert!(
                contrast(&found["letters"], &found["card"]) >= 4.5,
                "{at}: {found}"
            );
            assert!(
                contrast(&found["muted"], &found["card"]) >= 4.5,
                "{at}: {found}"
            );
            let to = shots.join(format!(
                "report-{name}-{width}-{}.png",
                if dark { "dark" } else { "light" }
            ));
            let height = u32::try_from(found["height"].as_u64().unwrap()).unwrap();
            screenshot(&dir, &page, width, height.min(6_000), dark, &to);
            println!("{}", to.display());
        }
    }
}

#[test]
#[ignore = "needs chromium; docs/testing.md"]
fn the_browser_tells_what_is_wrong() {
    let place = Place::new();
    let page = r##"<!DOCTYPE html><body style="background: rgb(250, 250, 250)"><h1>x</h1>
        <section style="background: #fff"><p>y</p><div style="width: 700px">z</div></section>
        <svg width="100" height="40"><text x="10" y="20">one</text><text x="12" y="22">two</text><text x="95" y="20">three</text></svg>
        <img src="http://127.0.0.1:9/nothing.png"><script>console.error("wrong")</script>"##;
    let Seen { found, console } = look(&place.path("."), page, 360, false);
    assert!(
        console.iter().any(|line| line.contains("wrong")),
        "{console:?}"
    );
    assert!(found["wide"].as_u64() > found["room"].as_u64(), "{found}");
    assert_eq!(
        found["fetched"][0], "http://127.0.0.1:9/nothing.png",
        "{found}"
    );
    assert_eq!(found["outside"][0], "three", "{found}");
    assert_eq!(found["over"][0], "one / two", "{found}");
}
