//! Ages at which records expire, as people write them.

use super::units::parse_duration;
use crate::{Builder, StateKind};
use std::time::Duration;

/// The states that have an age.
const STATES: [StateKind; 3] = [StateKind::Seen, StateKind::Fetched, StateKind::Failed];

/// An age for some states; `None`: never.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ages(Vec<(StateKind, Option<Duration>)>);

/// When what is known of a URL no longer counts.
#[derive(Debug, clap::Args)]
pub(super) struct Expiring {
    /// The age at which what is known of a URL no longer counts, and the URL is new again:
    /// 30d, or by state as in fetched=30d,failed=1d; never ends it. Kept with the store
    #[arg(long, value_name = "AGE", value_parser = parse_ages)]
    expire_after: Option<Ages>,
}

impl Expiring {
    /// Sets what was asked for; the rest stays the store's.
    pub(super) fn set(&self, builder: Builder) -> Builder {
        let ages = self.expire_after.iter().flat_map(|ages| &ages.0);
        ages.fold(builder, |builder, (state, age)| {
            builder.expire_state_after(*state, *age)
        })
    }
}

fn parse_ages(text: &str) -> Result<Ages, String> {
    let mut ages = Vec::new();
    for part in text.split(',') {
        match part.split_once('=') {
            None => {
                let age = parse_age(part)?;
                ages.extend(STATES.map(|state| (state, age)));
            }
            Some((name, age)) => {
                let state = STATES.into_iter().find(|state| state.name() == name);
                let state = state.ok_or("the state is seen, fetched or failed: claims run out")?;
                ages.push((state, parse_age(age)?));
            }
        }
    }
    Ok(Ages(ages))
}

fn parse_age(text: &str) -> Result<Option<Duration>, String> {
    if text == "never" {
        return Ok(None);
    }
    parse_duration(text)
        .ok()
        .filter(|age| !age.is_zero())
        .map(Some)
        .ok_or_else(|| "an age is a number with a unit, such as 12h or 30d, or `never`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_for_all_states_or_for_those_that_are_named() {
        let day = Some(Duration::from_secs(24 * 60 * 60));
        let all = STATES.map(|state| (state, day)).to_vec();
        assert_eq!(parse_ages("1d"), Ok(Ages(all)));
        let some = vec![(StateKind::Fetched, day), (StateKind::Failed, None)];
        assert_eq!(parse_ages("fetched=1d,failed=never"), Ok(Ages(some)));
        for wrong in ["", "0s", "claimed=1d", "fetched", "fetched=", "1d,", "=1d"] {
            assert!(parse_ages(wrong).is_err(), "{wrong}");
        }
    }
}
