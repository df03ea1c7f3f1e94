//! What names one grant of a claim.

use std::fmt;
use std::str::FromStr;

/// Names one grant of a claim: no two grants of a store have the same.
///
/// Its text is the epoch, a `-`, and the counter, such as `3-17`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// Counts the openings for writing that granted anything.
    pub epoch: u64,
    /// Counts the grants of one opening.
    pub counter: u64,
}

/// The text is not that of a [`Token`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a token is two numbers with a - between them, such as 3-17")]
pub struct InvalidToken;

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.counter)
    }
}

impl FromStr for Token {
    type Err = InvalidToken;

    fn from_str(text: &str) -> Result<Token, InvalidToken> {
        let (epoch, counter) = text.split_once('-').ok_or(InvalidToken)?;
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            let parsed = plain.then(|| digits.parse().ok()).flatten();
            parsed.ok_or(InvalidToken)
        };
        Ok(Token {
            epoch: number(epoch)?,
            counter: number(counter)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_comes_back_from_its_text() {
        for token in [(0, 0), (3, 17), (u64::MAX, u64::MAX)] {
            let token = Token {
                epoch: token.0,
                counter: token.1,
            };
            assert_eq!(token.to_string().parse(), Ok(token));
        }
        for text in [
            "",
            "-",
            "3",
            "3-",
            "-17",
            "3-17-1",
            "+3-17",
            "3- 17",
            "99999999999999999999-1",
        ] {
            assert_eq!(text.parse::<Token>(), Err(InvalidToken), "{text}");
        }
    }
}
