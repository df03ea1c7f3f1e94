//! Sizes, rates and times as people write them.

use crate::Durability;
use crate::canon::Canon;
use std::time::Duration;

/// Reads a policy: its name, or its full text.
pub(super) fn parse_canon(text: &str) -> Result<Canon, String> {
    match text {
        "raw" => Ok(Canon::raw()),
        "standard" => Ok(Canon::standard()),
        _ => Canon::parse(text).ok_or_else(|| "it is either `standard` or `raw`".to_owned()),
    }
}

/// Reads a rate: `1%` or `0.01`.
pub(super) fn parse_rate(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim_end(), 0.01),
        None => (text, 1.0),
    };
    number
        .parse::<f64>()
        .ok()
        .map(|rate| rate * scale)
        .filter(|rate| (1e-6..=0.5).contains(rate))
        .ok_or_else(|| "it is a share such as 1% or 0.01, from 0.000001 to 0.5".to_owned())
}

/// Reads a duration: `10s`, `2min`, `500ms`.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|_| "it is a number with a unit, such as 500ms, 10s or 2min".to_owned())
}

/// Reads the name of a host, as URLs have it.
pub(super) fn parse_host(text: &str) -> Result<String, String> {
    match url::Host::parse(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => {
            Err("it is the name of a host, such as example.com or [::1], and nothing else".into())
        }
    }
}

/// Reads for how long a claim is granted.
pub(super) fn parse_lease(text: &str) -> Result<Duration, String> {
    let lease = parse_duration(text)?;
    if lease.is_zero() {
        return Err("a claim that is over at once is none".to_owned());
    }
    Ok(lease)
}

/// Reads when to sync: `immediate`, `manual`, or an interval.
pub(super) fn parse_durability(text: &str) -> Result<Durability, String> {
    match text {
        "immediate" => Ok(Durability::Immediate),
        "manual" => Ok(Durability::Manual),
        _ => match parse_duration(text) {
            Ok(interval) if !interval.is_zero() => Ok(Durability::Interval(interval)),
            _ => Err("it is `immediate`, `manual`, or an interval such as 1s".to_owned()),
        },
    }
}

/// Reads a size: `64MiB`, `64M`, `64MB`, or a number of bytes.
pub(super) fn parse_size(text: &str) -> Result<usize, String> {
    let wrong = || "it is a size such as 64MiB, or a number of bytes".to_owned();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor: usize = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return Err(wrong()),
    };
    let number: usize = number.parse().map_err(|_| wrong())?;
    number.checked_mul(factor).ok_or_else(wrong)
}

/// A number of bytes for people: `12.3 MiB`.
pub(super) fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut size = n as f64 / 1024.0;
    let mut unit = UNITS[0];
    for next in UNITS.iter().skip(1) {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        unit = next;
    }
    format!("{size:.1} {unit}")
}

/// A count for people: `1,234,567`.
pub(super) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count of things for people: `1 file`, `2 files`.
pub(super) fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A share of a whole for people: `99.0 %`, or `-` of nothing.
pub(super) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.1} %", part as f64 * 100.0 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_shares_or_percent() {
        assert_eq!(parse_rate("0.01"), Ok(0.01));
        assert_eq!(parse_rate("1%"), Ok(0.01));
        assert_eq!(parse_rate("0.1 %"), Ok(0.001));
        for wrong in ["", "%", "1", "0", "-1%", "NaN", "inf", "60%", "a"] {
            assert!(parse_rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("65536"), Ok(65_536));
        assert_eq!(parse_size("64MiB"), Ok(64 << 20));
        assert_eq!(parse_size("64 m"), Ok(64 << 20));
        assert_eq!(parse_size("2GB"), Ok(2_000_000_000));
        for wrong in [
            "",
            "MiB",
            "1.5M",
            "-1",
            "5X",
            "99999999999999999999",
            "99999999999G",
        ] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durability_is_a_word_or_an_interval() {
        assert_eq!(parse_durability("immediate"), Ok(Durability::Immediate));
        assert_eq!(parse_durability("manual"), Ok(Durability::Manual));
        let second = Durability::Interval(Duration::from_secs(1));
        assert_eq!(parse_durability("1s"), Ok(second));
        for wrong in ["", "0s", "now", "1"] {
            assert!(parse_durability(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_printed_for_people() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(count(n), text);
        }
        assert_eq!(bytes(1_023), "1023 B");
        assert_eq!(bytes(1_536), "1.5 KiB");
        assert_eq!(bytes(u64::MAX), "16384.0 PiB");
        assert_eq!(share(99, 100), "99.0 %");
        assert_eq!(share(0, 0), "-");
    }
}
