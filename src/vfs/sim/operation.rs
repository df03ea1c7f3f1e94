//! What is done to a disk, and what can happen to it.

use std::fmt;
use std::path::PathBuf;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// [`Vfs::kind`](crate::vfs::Vfs::kind)
    Look,
    /// [`Vfs::list`](crate::vfs::Vfs::list)
    List,
    /// [`Vfs::create_dir`](crate::vfs::Vfs::create_dir)
    CreateDir,
    /// [`Vfs::create`](crate::vfs::Vfs::create)
    Create,
    /// [`Vfs::open`](crate::vfs::Vfs::open) and `open_write`
    Open,
    /// [`File::len`](crate::vfs::File::len)
    Len,
    /// [`File::read_at`](crate::vfs::File::read_at)
    Read,
    /// [`File::write_at`](crate::vfs::File::write_at)
    Write,
    /// [`File::set_len`](crate::vfs::File::set_len)
    SetLen,
    /// [`File::sync`](crate::vfs::File::sync)
    Sync,
    /// [`File::map`](crate::vfs::File::map)
    Map,
    /// [`Map::populate`](crate::vfs::Map::populate)
    Populate,
    /// [`File::map_write`](crate::vfs::File::map_write)
    MapWrite,
    /// [`WriteMap::store`](crate::vfs::WriteMap::store): it cannot fail, only be cut.
    Store,
    /// [`Vfs::rename`](crate::vfs::Vfs::rename)
    Rename,
    /// [`Vfs::remove`](crate::vfs::Vfs::remove)
    Remove,
    /// [`Vfs::sync_dir`](crate::vfs::Vfs::sync_dir)
    SyncDir,
    /// [`Vfs::lock`](crate::vfs::Vfs::lock)
    Lock,
}

impl Kind {
    /// Whether it changes what is, or could be, on the disk.
    #[must_use]
    pub fn changes(self) -> bool {
        use Kind::{Create, CreateDir, Lock, Remove, Rename, SetLen, Store, Sync, SyncDir, Write};
        matches!(
            self,
            CreateDir | Create | Write | SetLen | Sync | Store | Rename | Remove | SyncDir | Lock
        )
    }
}

/// One operation on a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operation {
    /// Operations before it.
    pub number: u64,
    /// What it does.
    pub kind: Kind,
    /// The file or directory; the new name of a rename.
    pub path: PathBuf,
    /// Bytes of a read or write.
    pub bytes: usize,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Operation {
            number,
            kind,
            path,
            bytes,
        } = self;
        write!(f, "operation {number}, {kind:?} {}", path.display())?;
        if *bytes > 0 {
            write!(f, " ({bytes} bytes)")?;
        }
        Ok(())
    }
}

/// What happens to an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The power goes while it is under way, and everything fails from then on.
    PowerCut,
    /// It fails with this error number of the system and has no effect, but that a
    /// sync loses what it should have saved. (A directory that could not be opened, for
    /// want of descriptors or of permission, was not synced at all.)
    Error(i32),
    /// It takes place, a write by half, and this error number is answered.
    ErrorAfter(i32),
    /// A read or write moves half of its bytes.
    Short,
}
