//! Times as people and programs write them.

use super::units::parse_duration;
use crate::Env;
use serde_json::Value;
use std::fmt::Write;
use std::time::SystemTime;

/// The time of day.
pub(super) fn now() -> SystemTime {
    Env::default().clock.now()
}

/// A time in RFC 3339 to the second. Beyond the year 9999 that has no form for it.
pub(super) fn json(at: SystemTime) -> Value {
    let mut text = String::new();
    match write!(text, "{}", humantime::format_rfc3339_seconds(at)) {
        Ok(()) => Value::from(text),
        Err(_) => Value::Null,
    }
}

/// Reads a moment: a time, a date, or an age, which counts back from now.
pub(super) fn parse_moment(text: &str) -> Result<SystemTime, String> {
    let time = humantime::parse_rfc3339_weak(text)
        .or_else(|_| humantime::parse_rfc3339(&format!("{text}T00:00:00Z")));
    if let Ok(time) = time {
        return Ok(time);
    }
    let age = parse_duration(text).map_err(|_| {
        "it is a time in UTC such as 2026-01-31T12:00:00Z, a date, or an age such as 2h".to_owned()
    })?;
    // Longer ago than the clock can tell: since ever.
    Ok(now().checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_rfc_3339_in_whole_seconds() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_042);
        assert_eq!(json(at), Value::from("2023-11-14T22:13:20Z"));
        let far = SystemTime::UNIX_EPOCH + Duration::from_secs(crate::record::MAX_SECONDS);
        assert_eq!(json(far), Value::Null);
    }

    #[test]
    fn a_moment_is_a_time_a_date_or_an_age() {
        let at = |seconds| Ok(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(parse_moment("2023-11-14T22:13:20Z"), at(1_700_000_000));
        assert_eq!(parse_moment("2023-11-14 22:13:20"), at(1_700_000_000));
        assert_eq!(parse_moment("2023-11-14"), at(1_699_920_000));
        let two_hours = parse_moment("2h").map(|since| now().duration_since(since));
        assert!(matches!(two_hours, Ok(Ok(age)) if age.as_secs() / 60 == 120));
        assert!(parse_moment("20000000000years").is_ok(), "since ever");
        for wrong in ["", "now", "2023-13-01", "11-14", "2"] {
            assert!(parse_moment(wrong).is_err(), "{wrong}");
        }
    }
}
