//! What stands before a frame's body.

use super::{FRAME, MAX_BODY, frame_size};
use crate::wire::Reader;

/// What is where a frame should begin.
pub(super) enum Next {
    Frame {
        size: usize,
        sequence: u64,
        synced: u64,
    },
    Nothing,
    Bad {
        reason: String,
    },
}

/// What the head of a frame at `offset` says, in a log that ends at `end`; `rest` may
/// end too early. The checksum is not looked at.
pub(super) fn read(rest: &[u8], offset: u64, end: u64) -> Next {
    if rest.iter().take(FRAME).all(|&byte| byte == 0) {
        return Next::Nothing;
    }
    let mut head = Reader::new(rest);
    let parsed = (|| {
        head.u32("a checksum")?;
        let length = head.length_u32("a length")?;
        let sequence = head.u64("a sequence number")?;
        let synced = head.u64("a synced offset")?;
        Ok::<_, crate::wire::Malformed>((length, sequence, synced))
    })();
    let Ok((length, sequence, synced)) = parsed else {
        return Next::Bad {
            reason: format!("the first {} bytes of a frame", rest.len()),
        };
    };
    let size = frame_size(length);
    if length > MAX_BODY {
        return Next::Bad {
            reason: format!("a frame of {size} bytes, more than any can have"),
        };
    }
    if size as u64 > end.saturating_sub(offset) {
        return Next::Bad {
            reason: format!("a frame of {size} bytes where {} are left", end - offset),
        };
    }
    if synced > offset {
        return Next::Bad {
            reason: format!("a frame that calls {synced} bytes synced before it"),
        };
    }
    Next::Frame {
        size,
        sequence,
        synced,
    }
}

/// The length of a whole frame's body.
pub(super) fn body_len(frame: &[u8]) -> usize {
    Reader::new(frame.get(4..).unwrap_or_default())
        .length_u32("a length")
        .unwrap_or(0)
}
