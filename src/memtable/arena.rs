//! Memory with one writer at its end and any number of readers before it.
//!
//! The arena hands out bytes once and never moves them. Its one [`Tail`] appends
//! behind the published length; readers get a slice up to the published length
//! only. So they need no lock.
#![allow(
    unsafe_code,
    reason = "one writer appends behind the bytes that readers share"
)]

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::vfs::HugeBytes;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The shared side.
#[derive(Debug)]
pub(crate) struct Arena {
    // Keeps the mapping alive; `base` points into it.
    _memory: HugeBytes,
    base: *mut u8,
    capacity: usize,
    /// Bytes that the tail has appended.
    appended: AtomicUsize,
    /// Bytes that readers may see: never more than are appended. Only grows.
    published: AtomicUsize,
}

// SAFETY: `base` points to memory that `_memory` owns. Bytes below `published`
// are never written again, and bytes above it are touched by the one `Tail` only.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

/// The writing side. There is one for each arena.
#[derive(Debug)]
pub(crate) struct Tail {
    arena: Arc<Arena>,
    /// Bytes appended; those behind the published length are this tail's alone.
    len: usize,
}

impl Arena {
    /// An arena of `capacity` bytes and its writing side.
    pub(crate) fn new(capacity: usize) -> io::Result<(Arc<Arena>, Tail)> {
        let mut memory = HugeBytes::zeroed(capacity)?;
        let base = memory.as_mut_ptr();
        let arena = Arc::new(Arena {
            _memory: memory,
            base,
            capacity,
            appended: AtomicUsize::new(0),
            published: AtomicUsize::new(0),
        });
        let tail = Tail {
            arena: arena.clone(),
            len: 0,
        };
        Ok((arena, tail))
    }

    /// The published bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        let len = self.published.load(Ordering::Acquire);
        // SAFETY: `len` was published with `Release` after the bytes below it were
        // written, it is at most the capacity, and they are never written again.
        unsafe { std::slice::from_raw_parts(self.base, len) }
    }

    /// The address of a byte, for prefetching.
    #[inline]
    pub(crate) fn address(&self, offset: usize) -> *const u8 {
        self.base.wrapping_add(offset)
    }
}

impl Tail {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn room(&self) -> usize {
        self.arena.capacity - self.len
    }

    /// Appends the parts one after the other. The caller has made sure of room.
    #[inline]
    pub(crate) fn append(&mut self, parts: [&[u8]; 3]) {
        let total = parts.iter().map(|part| part.len()).sum::<usize>();
        assert!(total <= self.room(), "the caller checks for room first");
        for part in parts {
            // SAFETY: the assertion leaves room for all parts behind `len`. Bytes
            // behind the published length belong to this tail alone, and `part`
            // cannot overlap them: no reference to them exists.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    part.as_ptr(),
                    self.arena.base.add(self.len),
                    part.len(),
                );
            }
            self.len += part.len();
        }
        self.arena.appended.store(self.len, Ordering::Release);
    }

    /// All bytes appended so far, published or not.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: bytes below `len` were written by this tail, which is borrowed
        // for as long as the slice lives, so that nothing is appended meanwhile.
        unsafe { std::slice::from_raw_parts(self.arena.base, self.len) }
    }

    /// Takes back what was appended behind `len`, which must not be published.
    pub(crate) fn truncate(&mut self, len: usize) {
        assert!(len >= self.arena.published.load(Ordering::Relaxed) && len <= self.len);
        self.len = len;
        self.arena.appended.store(len, Ordering::Release);
    }
}

/// Makes the bytes up to `len` visible to readers; `len` must have been appended.
/// Publishing less than before changes nothing.
pub(crate) fn publish(arena: &Arena, len: usize) {
    // Readers share what is published, so that the tail must be done with it.
    assert!(len <= arena.appended.load(Ordering::Acquire));
    arena.published.fetch_max(len, Ordering::AcqRel);
}

/// A table of 64-bit slots in huge pages; zero at first.
#[derive(Debug)]
pub(crate) struct Slots {
    // Keeps the mapping alive; `base` points into it.
    _memory: HugeBytes,
    base: *const AtomicU64,
    count: usize,
}

// SAFETY: the slots are atomic, and `_memory` owns them.
unsafe impl Send for Slots {}
// SAFETY: as above.
unsafe impl Sync for Slots {}

impl Slots {
    pub(crate) fn new(count: usize) -> io::Result<Slots> {
        let mut memory = HugeBytes::zeroed(count * size_of::<AtomicU64>())?;
        let base = memory.as_mut_ptr().cast_const().cast::<AtomicU64>();
        Ok(Slots {
            _memory: memory,
            base,
            count,
        })
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has `count` zeroed slots, is aligned to a page, is
        // never moved, and is accessed through these atomics only.
        unsafe { std::slice::from_raw_parts(self.base, self.count) }
    }
}
