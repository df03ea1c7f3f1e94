//! Little-endian integers, varints and tagged fields, bounds-checked.
//!
//! A varint is LEB128: seven bits a byte, least significant first, the high bit
//! set on every byte but the last, at most ten bytes.
//!
//! Tagged fields describe what may grow from one format version to the next:
//!
//! ```text
//! tag     u16   bit 15 set: a reader that does not know the tag must refuse the file
//! length  u32   of the value in bytes
//! value   [u8; length]
//! ```

/// The bit of a tag that says: who does not know this field must not go on.
pub(crate) const MUST_UNDERSTAND: u16 = 1 << 15;

/// A read past the end, or a number that is not one: where, and what was wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// Offset in the bytes that were being read.
    pub(crate) at: usize,
    /// What should have been there.
    pub(crate) expected: &'static str,
}

/// A cursor over bytes that came from a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    /// The offset of the next byte to be read.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    #[inline]
    pub(crate) fn take(
        &mut self,
        count: usize,
        expected: &'static str,
    ) -> Result<&'a [u8], Malformed> {
        let malformed = Malformed {
            at: self.at,
            expected,
        };
        let end = self.at.checked_add(count).ok_or(malformed)?;
        let taken = self.bytes.get(self.at..end).ok_or(malformed)?;
        self.at = end;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(
        &mut self,
        expected: &'static str,
    ) -> Result<[u8; N], Malformed> {
        let at = self.at;
        self.take(N, expected)?
            .try_into()
            .map_err(|_| Malformed { at, expected })
    }

    pub(crate) fn u8(&mut self, expected: &'static str) -> Result<u8, Malformed> {
        Ok(u8::from_le_bytes(self.array(expected)?))
    }

    pub(crate) fn u16(&mut self, expected: &'static str) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array(expected)?))
    }

    pub(crate) fn u32(&mut self, expected: &'static str) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array(expected)?))
    }

    pub(crate) fn u64(&mut self, expected: &'static str) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array(expected)?))
    }

    /// A `u32` that counts bytes or things in memory.
    pub(crate) fn length_u32(&mut self, expected: &'static str) -> Result<usize, Malformed> {
        let at = self.at;
        usize::try_from(self.u32(expected)?).map_err(|_| Malformed { at, expected })
    }

    #[inline]
    pub(crate) fn varint(&mut self, expected: &'static str) -> Result<u64, Malformed> {
        let malformed = Malformed {
            at: self.at,
            expected,
        };
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or(malformed)?;
            self.at += 1;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for one bit only.
            if shift == 63 && bits > 1 {
                return Err(malformed);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(malformed)
    }

    /// A varint that counts bytes or things in memory.
    #[inline]
    pub(crate) fn length(&mut self, expected: &'static str) -> Result<usize, Malformed> {
        let at = self.at;
        usize::try_from(self.varint(expected)?).map_err(|_| Malformed { at, expected })
    }

    /// The next tagged field: its tag and a reader over its value.
    pub(crate) fn field(&mut self) -> Result<(u16, &'a [u8]), Malformed> {
        let tag = self.u16("the tag of a field")?;
        let length = self.u32("the length of a field")?;
        let at = self.at;
        let length = usize::try_from(length).map_err(|_| Malformed {
            at,
            expected: "the length of a field",
        })?;
        Ok((tag, self.take(length, "the value of a field")?))
    }
}

/// Appends a varint.
#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a tagged field.
///
/// Values are small; one of 4 GiB or more cannot be written and is a bug.
pub(crate) fn put_field(out: &mut Vec<u8>, tag: u16, value: &[u8]) {
    debug_assert!(u32::try_from(value.len()).is_ok());
    out.extend_from_slice(&tag.to_le_bytes());
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_come_back() {
        for value in [0, 1, 127, 128, 300, 1 << 32, u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.varint("v"), Ok(value));
            assert!(reader.is_empty());
        }
    }

    #[test]
    fn a_varint_without_an_end_or_over_64_bits_is_malformed() {
        for bytes in [
            &[][..],
            &[0x80],
            &[0xff; 10],
            &[0xff; 11],
            &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02],
        ] {
            assert!(Reader::new(bytes).varint("v").is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_field_longer_than_its_bytes_is_malformed() {
        let mut bytes = Vec::new();
        put_field(&mut bytes, 7, b"abc");
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.field(), Ok((7, &b"abc"[..])));
        assert_eq!(reader.offset(), bytes.len());
        for cut in 0..bytes.len() {
            assert!(Reader::new(&bytes[..cut]).field().is_err());
        }
    }
}
