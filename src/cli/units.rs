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
    let (number, whole) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim_end(), 100.0),
        None => (text, 1.0),
    };
    number
        .parse::<f64>()
        .ok()
        .map(|rate| rate / whole)
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
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let size = number.checked_mul(factor).ok_or_else(wrong)?;
    usize::try_from(size).map_err(|_| wrong())
}

/// Reads a count: `100M`, `1.5k`, `2B` or `2G`, `1e9`, `1_000_000`.
pub(super) fn parse_count(text: &str) -> Result<u64, String> {
    const UNITS: [(&[char], u32); 4] = [
        (&['k', 'K'], 3),
        (&['m', 'M'], 6),
        (&['b', 'B', 'g', 'G'], 9),
        (&['t', 'T'], 12),
    ];
    let wrong = || "it is a whole number such as 1000000, 1_000_000, 1e6, 1.5M or 2B".to_owned();
    let (number, unit) = UNITS
        .iter()
        .find_map(|(names, power)| Some((text.strip_suffix(*names)?.trim_end(), *power)))
        .unwrap_or((text, 0));
    let (number, exponent) = match number.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<u8>().map_err(|_| wrong())?),
        None => (number, 0),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let (whole, part) = (digits(whole), digits(part));
    let (Some(whole), Some(part)) = (whole, part) else {
        return Err(wrong());
    };
    let part = part.trim_end_matches('0');
    let places = u32::try_from(part.len()).map_err(|_| wrong())?;
    let power = (unit + u32::from(exponent))
        .checked_sub(places)
        .ok_or_else(wrong)?;
    let digits = format!("{whole}{part}");
    let number = match digits.trim_start_matches('0') {
        "" => Some(0),
        digits => digits.parse::<u64>().ok().and_then(|number| {
            let factor = 10_u64.checked_pow(power)?;
            number.checked_mul(factor)
        }),
    };
    number.ok_or_else(|| format!("it is at most {}", u64::MAX))
}

/// The digits of a number that may be set apart by underscores, if it is one.
fn digits(text: &str) -> Option<String> {
    let apart = text.split('_');
    let are_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    apart
        .clone()
        .all(are_digits)
        .then(|| apart.collect::<String>())
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
        // What would be printed as 1024.0.
        if size < 1023.95 {
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

/// A length of time for people: `0 s`, `1.2 s`, `3.4 h`.
pub(super) fn seconds(time: f64) -> String {
    const UNITS: [(&str, f64); 4] = [("s", 60.0), ("min", 60.0), ("h", 48.0), ("days", f64::MAX)];
    let mut time = time;
    for (unit, next) in UNITS {
        // What would be printed as 60.0.
        if time < next - 0.05 {
            return match time {
                0.0 => format!("0 {unit}"),
                _ => format!("{time:.1} {unit}"),
            };
        }
        time /= if unit == "h" { 24.0 } else { next };
    }
    "for ever".to_owned()
}

/// A rate for people, in three digits: `15.7 %`.
pub(super) fn percent(rate: f64) -> String {
    // What is nearly all, or nearly nothing, is neither.
    match rate {
        0.0 => return "0 %".to_owned(),
        1.0 => return "100 %".to_owned(),
        _ if rate < 0.000_000_99 => return "under 0.0001 %".to_owned(),
        _ if rate > 0.999 && rate < 1.0 => return "over 99.9 %".to_owned(),
        _ => {}
    }
    let percent = rate * 100.0;
    let places = (2.0 - percent.log10().floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{percent:.places$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text} %")
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
    fn lengths_of_time_have_units() {
        for (time, text) in [
            (0.0, "0 s"),
            (0.24, "0.2 s"),
            (59.9, "59.9 s"),
            (59.96, "1.0 min"),
            (5400.0, "1.5 h"),
            (86_400.0, "24.0 h"),
            (1e6, "11.6 days"),
        ] {
            assert_eq!(seconds(time), text);
        }
    }

    #[test]
    fn rates_are_shares_or_percent() {
        assert_eq!(parse_rate("0.01"), Ok(0.01));
        assert_eq!(parse_rate("1%"), Ok(0.01));
        assert_eq!(parse_rate("0.1 %"), Ok(0.001));
        assert_eq!(parse_rate("7%"), Ok(0.07));
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
        assert_eq!(parse_size("1TiB"), Ok(1 << 40));
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
    fn counts_are_as_people_type_them() {
        for (text, count) in [
            ("0", 0),
            ("1", 1),
            ("007", 7),
            ("100M", 100_000_000),
            ("100 m", 100_000_000),
            ("1e9", 1_000_000_000),
            ("2.5E3", 2_500),
            ("1_000_000", 1_000_000),
            ("1.5k", 1_500),
            ("1.500k", 1_500),
            ("0.000001M", 1),
            ("2B", 2_000_000_000),
            ("2G", 2_000_000_000),
            ("1T", 1_000_000_000_000),
            ("10.0", 10),
            ("1e3k", 1_000_000),
            ("0e200", 0),
            ("18446744073709551615", u64::MAX),
            ("18446744073709.551615M", u64::MAX),
        ] {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
    }

    #[test]
    fn what_is_no_count_is_told_from_what_is_too_large() {
        for wrong in [
            "", " ", "k", "M", "e9", "1e", "1e+", "1e-3", "-1", "+1", "1.5", "1.2345k", ".5M",
            "5.M", "1.2.3", "_1", "1_", "1__0", "1,000", "1 000", "1KB", "1x", "0x10", "NaN",
            "inf", "١٢", "1é", "1e256", "M1", "1MM",
        ] {
            let error = parse_count(wrong).unwrap_err();
            assert!(error.contains("whole number"), "{wrong}: {error}");
        }
        for large in [
            "18446744073709551616",
            "1e20",
            "1e255",
            "99999999T",
            "20000000000B",
        ] {
            let error = parse_count(large).unwrap_err();
            assert!(
                error.contains("at most 18446744073709551615"),
                "{large}: {error}"
            );
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
        assert_eq!(bytes((1 << 30) - 1), "1.0 GiB");
        assert_eq!(bytes(u64::MAX), "16384.0 PiB");
        assert_eq!(share(99, 100), "99.0 %");
        assert_eq!(share(0, 0), "-");
        for (rate, text) in [
            (0.01, "1 %"),
            (0.001, "0.1 %"),
            (0.000_001, "0.0001 %"),
            (0.1577, "15.8 %"),
            (0.010_039, "1 %"),
            (0.5, "50 %"),
            (0.2, "20 %"),
            (0.679_3, "67.9 %"),
            (0.999_9, "over 99.9 %"),
            (1.0, "100 %"),
            (3.2, "320 %"),
            (1e-9, "under 0.0001 %"),
            (0.0, "0 %"),
        ] {
            assert_eq!(percent(rate), text);
        }
    }
}
