//! An allocator that notes the largest request of a thread.
#![allow(unsafe_code, reason = "an allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, watched.
pub struct Counting;

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }
}

fn note(size: usize) {
    // A thread that is ending has no place for it any more.
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(size)));
}

/// What reading ahead, and writing a segment, may take whatever a file says.
const BUFFERS: usize = 1 << 20;

/// Runs `work` on files of `bytes` bytes in all. A length in a file must be compared
/// with the file before anything is allocated for it, so that no request is much
/// larger than the files. Counts only if [`Counting`] is the program's allocator.
pub fn bounded<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    LARGEST.set(0);
    let done = work();
    let largest = LARGEST.get();
    let most = BUFFERS + 4 * bytes;
    assert!(
        largest <= most,
        "a request for {largest} bytes of memory for files of {bytes} bytes"
    );
    done
}
