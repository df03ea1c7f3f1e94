//! The name under which a process claims.

use crate::record::MAX_WORKER;

/// The host's name and the process id.
pub(super) fn of_this_process() -> String {
    let id = format!("-{}", std::process::id());
    let mut name = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    while name.len() + id.len() > MAX_WORKER {
        name.pop();
    }
    name + &id
}

/// Reads a name.
pub(super) fn parse_worker(text: &str) -> Result<String, String> {
    if (1..=MAX_WORKER).contains(&text.len()) {
        return Ok(text.to_owned());
    }
    Err(format!("it is a name of 1 to {MAX_WORKER} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_a_name_that_claims_can_have() {
        let name = of_this_process();
        assert_eq!(parse_worker(&name), Ok(name.clone()));
        assert!(name.ends_with(&format!("-{}", std::process::id())));
        assert!(parse_worker("").is_err());
        assert!(parse_worker(&"w".repeat(65)).is_err());
    }
}
