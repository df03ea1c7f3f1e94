//! How much memory an input may take.

use super::allocation::peak;

/// What reading ahead, writing a segment, and the checks of a target may take, whatever
/// a file says.
const BUFFERS: usize = 2 << 20;

/// Runs `work` on files of `bytes` bytes in all. A length in a file must be compared
/// with the file before anything is allocated for it, so that what is taken is not much
/// more than the files have.
pub fn bounded<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let (done, peak) = peak(work);
    let most = BUFFERS + 8 * bytes;
    assert!(
        peak <= most,
        "{peak} bytes of memory for files of {bytes} bytes"
    );
    done
}
