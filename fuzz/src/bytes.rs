//! An input as a script: numbers and choices taken from its bytes, one after the other.

/// What is left of an input. At its end all numbers are 0, so that every input is a
/// script, and a shorter one is a simpler one.
pub struct Source<'a> {
    bytes: &'a [u8],
}

impl<'a> Source<'a> {
    pub fn new(bytes: &'a [u8]) -> Source<'a> {
        Source { bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn u8(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.u8(), self.u8()])
    }

    pub fn u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        for (byte, &given) in bytes.iter_mut().zip(self.take(8)) {
            *byte = given;
        }
        u64::from_le_bytes(bytes)
    }

    pub fn flag(&mut self) -> bool {
        self.u8() & 1 == 1
    }

    /// True about once in `times`; at the end of the input it is false.
    pub fn rarely(&mut self, times: u8) -> bool {
        self.u8() % times == 1
    }

    /// A number below `bound`, or 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let number = if bound <= 256 {
            usize::from(self.u8())
        } else {
            usize::from(self.u16())
        };
        number % bound.max(1)
    }

    /// At most `count` bytes as they are.
    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.bytes.split_at(count.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }

    /// A number of the kind at which arithmetic goes wrong; `near` is one that would
    /// be right.
    pub fn number(&mut self, near: u64) -> u64 {
        match self.below(12) {
            0 | 1 => near,
            2 => near.wrapping_add(1),
            3 => near.wrapping_sub(1),
            4 => near.wrapping_add(u64::from(self.u8())),
            5 => u64::from(self.u8()),
            6 => 0,
            7 => u64::MAX - u64::from(self.u8() % 4),
            8 => (1 << 63) + u64::from(self.u8() % 4),
            9 => u64::from(u32::MAX) + u64::from(self.u8() % 4),
            10 => 1 << (self.u8() % 64),
            _ => self.u64(),
        }
    }
}

/// A number that is now and then another one.
pub fn seldom(script: &mut Source<'_>, near: u64) -> u64 {
    if script.rarely(20) {
        script.number(near)
    } else {
        near
    }
}

/// Damage as disks and crashes do it. None of the input's own bytes get into the
/// file: a fuzzer that sees checksums compared would put the right ones there.
pub fn damage(script: &mut Source<'_>, bytes: &mut Vec<u8>) {
    let at = script.below(bytes.len());
    match script.below(8) {
        0 => bytes.truncate(at),
        1 => {
            let end = (at + script.below(128)).min(bytes.len());
            bytes[at..end].fill(0);
        }
        2 => bytes.resize(bytes.len() + script.below(300), 0),
        3 => bytes.resize(bytes.len() + 1 + script.below(100), 0xa5),
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= script.u8().max(1);
            }
        }
    }
}

/// A change that may put anything anywhere, for bytes whose checksum is made anew.
pub fn edit(script: &mut Source<'_>, bytes: &mut Vec<u8>) {
    let at = script.below(bytes.len() + 1);
    let len = script.below(20);
    let end = (at + len).min(bytes.len());
    match script.below(8) {
        0 => {
            bytes.drain(at..end);
        }
        1 => {
            let given = script.take(len);
            bytes.splice(at..at, given.iter().copied());
        }
        2 => {
            // Once more, in another place.
            let again = bytes[at..end].to_vec();
            let to = script.below(bytes.len() + 1);
            bytes.splice(to..to, again);
        }
        3 => {
            let number = script.number(len as u64).to_le_bytes();
            let width = [1, 2, 4, 8][script.below(4)];
            let end = (at + width).min(bytes.len());
            bytes.splice(at..end, number[..width].iter().copied());
        }
        4 => {
            let mut varint = Vec::new();
            super::files::put_varint(&mut varint, script.number(len as u64));
            let end = (at + 1).min(bytes.len());
            bytes.splice(at..end, varint);
        }
        5 => bytes.truncate(at),
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = script.u8();
            }
        }
    }
}
