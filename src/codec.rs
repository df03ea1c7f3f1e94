//! How the keys of segments are coded.

use std::fmt;
use std::str::FromStr;

/// How the keys of segments are coded, beside what each leaves out that the one before it
/// has.
///
/// A compacted store of three million URLs of 76.5 bytes each, without times, takes 16.3 bytes
/// a URL with [`Standard`](Codec::Standard), and 13.7 with [`Dense`](Codec::Dense)
/// (docs/performance.md). Whatever the codec, answers are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Codec {
    /// Not at all: for keys that have nothing in common but their beginnings, such as
    /// hashes.
    Plain,
    /// With a dictionary of up to 4,096 strings for each run, which takes 64 KiB of memory.
    #[default]
    Standard,
    /// In runs that are merged, with a dictionary of up to 65,536 strings, which takes 1 MiB
    /// of memory: smaller, and slower to write and to look up.
    Dense,
}

impl Codec {
    /// All of them.
    pub const ALL: [Codec; 3] = [Codec::Plain, Codec::Standard, Codec::Dense];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Codec::Plain => "plain",
            Codec::Standard => "standard",
            Codec::Dense => "dense",
        }
    }

    /// Its number in files.
    pub(crate) fn number(self) -> u8 {
        match self {
            Codec::Plain => 0,
            Codec::Standard => 1,
            Codec::Dense => 2,
        }
    }

    pub(crate) fn from_number(number: u8) -> Option<Codec> {
        Codec::ALL
            .into_iter()
            .find(|codec| codec.number() == number)
    }

    /// What a flush codes with: it is to be fast, and its run small and soon merged.
    pub(crate) fn of_flush(self) -> Codec {
        match self {
            Codec::Dense => Codec::Standard,
            other => other,
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text is the name of no codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no codec has this name: it is plain, standard or dense")]
#[non_exhaustive]
pub struct UnknownCodec;

impl FromStr for Codec {
    type Err = UnknownCodec;

    fn from_str(name: &str) -> Result<Codec, UnknownCodec> {
        let mut codecs = Codec::ALL.into_iter();
        codecs
            .find(|codec| codec.name() == name)
            .ok_or(UnknownCodec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_of_one_codec_each() {
        for codec in Codec::ALL {
            assert_eq!(codec.to_string().parse(), Ok(codec));
            assert_eq!(Codec::from_number(codec.number()), Some(codec));
        }
        assert_eq!("Dense".parse::<Codec>(), Err(UnknownCodec));
        assert_eq!(Codec::from_number(3), None);
    }
}
