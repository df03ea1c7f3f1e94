//! The only door to the disk.
//!
//! Everything that the store does to files goes through [`Vfs`] and [`File`], so
//! that a test can put another file system in their place and cut the power
//! after any operation. [`Os`] is the real one.
//!
//! What the store relies on, and nothing more:
//!
//! - bytes written are readable at once, also by other processes;
//! - [`File::sync`] makes a file's bytes and length durable;
//! - [`Vfs::sync_dir`] makes created, renamed and removed names durable;
//! - [`Vfs::rename`] replaces a name in one step.

mod io;
mod mmap;
mod os;
#[cfg(feature = "sim")]
pub mod sim;
mod window;

use std::fmt::Debug;
use std::io::Result;
use std::path::Path;
use std::sync::Arc;

pub(crate) use io::{read_exact_at, write_all_at};
pub(crate) use mmap::HugeBytes;
pub use os::Os;
pub(crate) use window::Window;

/// What a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Anything else: a device, a socket, a pipe.
    Other,
}

/// A file system.
pub trait Vfs: Debug + Send + Sync {
    /// What is at `path`, or `None` if nothing is.
    fn kind(&self, path: &Path) -> Result<Option<Kind>>;
    /// The names in a directory, in any order. A name that is not UTF-8 is
    /// given with replacement characters: it is none of the store's.
    fn list(&self, dir: &Path) -> Result<Vec<String>>;
    /// Creates a directory and its missing parents.
    fn create_dir(&self, dir: &Path) -> Result<()>;
    /// Creates a file for reading and writing; it must not exist yet.
    fn create(&self, path: &Path) -> Result<Arc<dyn File>>;
    /// Opens a file for reading.
    fn open(&self, path: &Path) -> Result<Arc<dyn File>>;
    /// Opens a file for reading and writing.
    fn open_write(&self, path: &Path) -> Result<Arc<dyn File>>;
    /// Gives a file another name, replacing what had it.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;
    /// Removes a file's name.
    fn remove(&self, path: &Path) -> Result<()>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &Path) -> Result<()>;
    /// Takes the lock that belongs to a file, creating the file if it is absent.
    /// `None` if it is held, by this process or another. The lock ends when the
    /// returned value is dropped or the process dies.
    fn lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>>;
}

/// A lock that is held as long as this lives.
pub trait Lock: Debug + Send + Sync {
    /// Whether the file at the path that was locked is still the one that is locked:
    /// the directory may have been removed, and made anew by somebody else.
    fn is_current(&self) -> Result<bool> {
        Ok(true)
    }
}

/// An open file. All methods take positions; there is no cursor.
pub trait File: Debug + Send + Sync {
    /// Reads at most `buf.len()` bytes at `offset`; 0 at the end of the file.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize>;
    /// Writes at most `buf.len()` bytes at `offset`.
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize>;
    /// The length in bytes.
    fn len(&self) -> Result<u64>;
    /// Cuts or extends the file; what is added reads as zeros.
    fn set_len(&self, len: u64) -> Result<()>;
    /// Makes the bytes and the length durable.
    fn sync(&self) -> Result<()>;
    /// Maps the whole file for reading. It must not be written afterwards.
    /// `None` if this file system does not map.
    fn map(&self) -> Result<Option<Box<dyn Map>>>;
    /// Maps `len` bytes at `offset` for writing; they must be allocated, that is,
    /// written before. `None` if this file system cannot promise that a store to
    /// the map finds its block allocated.
    fn map_write(&self, offset: u64, len: usize) -> Result<Option<Box<dyn WriteMap>>>;
    /// Whether the file is empty.
    fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// A file mapped for reading.
pub trait Map: Debug + Send + Sync {
    /// The file's bytes. A page that was never populated is read from disk when
    /// it is touched, and if that fails the process gets a signal: populate first.
    fn bytes(&self) -> &[u8];
    /// Reads a range into memory in one request, or says why it cannot.
    fn populate(&self, offset: usize, len: usize) -> Result<()>;
}

/// A part of a file mapped for writing.
pub trait WriteMap: Debug + Send + Sync {
    /// Copies `bytes` to `offset` of the mapped part, which must have room.
    fn store(&mut self, offset: usize, bytes: &[u8]);
}
