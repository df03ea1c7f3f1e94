//! Memory that needs care: mapped files, huge pages.
#![allow(unsafe_code, reason = "mapping files is not expressible in safe code")]

use super::{Map, WriteMap};
use memmap2::{Advice, Mmap, MmapMut, MmapOptions};
use std::fs::File;
use std::io::{Error, ErrorKind, Result};

/// A sealed file, mapped for reading.
#[derive(Debug)]
pub(crate) struct FileMap {
    map: Mmap,
    file: File,
}

impl FileMap {
    pub(crate) fn new(file: &File) -> Result<FileMap> {
        let file = file.try_clone()?;
        // SAFETY: a sealed file is never written or cut by this crate, and the
        // store's lock keeps other writers of this crate away. A foreign program
        // that writes to the file can change bytes under the slice: every decoder
        // is bounds-checked at each access, so it would yield errors, not
        // unsoundness in practice; docs/durability.md states this assumption.
        let map = unsafe { Mmap::map(&file)? };
        // Lookups touch one block at a time: reading ahead would evict others.
        // Advice may be refused without harm.
        let _ = map.advise(Advice::Random);
        Ok(FileMap { map, file })
    }
}

impl Map for FileMap {
    fn bytes(&self) -> &[u8] {
        &self.map
    }

    fn populate(&self, offset: usize, len: usize) -> Result<()> {
        // Of a map that is read at random, populating alone reads page by page: this reads
        // all of a range that straddles pages in one request. It may be refused without
        // harm.
        let _ = self.map.advise_range(Advice::WillNeed, offset, len);
        #[cfg(target_os = "linux")]
        match self.map.advise_range(Advice::PopulateRead, offset, len) {
            Ok(()) => return Ok(()),
            // Kernels before 5.14 do not know this advice.
            Err(error) if error.kind() == ErrorKind::InvalidInput => {}
            Err(error) => return Err(error),
        }
        // Reading the range brings its pages into the page cache, and a failure
        // is an error here instead of a signal at the first touch.
        use std::os::unix::fs::FileExt;
        let mut scratch = [0; 16 * 1024];
        let mut at = offset;
        let end = offset.saturating_add(len);
        while at < end {
            let want = (end - at).min(scratch.len());
            let buf = scratch.get_mut(..want).unwrap_or_default();
            match self.file.read_at(buf, at as u64) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => at += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// A part of a log, mapped for writing.
#[derive(Debug)]
pub(crate) struct FileWriteMap {
    map: MmapMut,
}

impl FileWriteMap {
    pub(crate) fn new(file: &File, offset: u64, len: usize) -> Result<FileWriteMap> {
        if offset.checked_add(len as u64).is_none_or(|end| {
            file.metadata()
                .map_or(true, |metadata| metadata.len() < end)
        }) {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "the part to be mapped is not within the file",
            ));
        }
        // SAFETY: the mapped part lies within the file, which is never cut while
        // it is mapped: the store's lock keeps other writers away. No reference
        // into the map leaves this module; stores copy into it.
        let map = unsafe { MmapOptions::new().offset(offset).len(len).map_mut(file)? };
        Ok(FileWriteMap { map })
    }
}

impl WriteMap for FileWriteMap {
    fn store(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset.saturating_add(bytes.len());
        if let Some(room) = self.map.get_mut(offset..end) {
            room.copy_from_slice(bytes);
        } else {
            debug_assert!(false, "a store outside of the mapped part");
        }
    }
}

/// Zeroed memory for large tables, backed by huge pages where the kernel gives
/// them: a dependent access costs half as much as with small pages.
pub(crate) struct HugeBytes {
    map: MmapMut,
}

/// Below this size a huge page would be mostly empty.
const HUGE_FROM: usize = 1 << 20;

impl HugeBytes {
    /// `len` zeroed bytes, aligned to a page.
    pub(crate) fn zeroed(len: usize) -> Result<HugeBytes> {
        let map = MmapMut::map_anon(len.max(1))?;
        #[cfg(target_os = "linux")]
        if len >= HUGE_FROM {
            // Refused where huge pages are switched off, without harm.
            let _ = map.advise(Advice::HugePage);
        }
        Ok(HugeBytes { map })
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.map.as_mut_ptr()
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.map
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.map
    }
}

impl std::fmt::Debug for HugeBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HugeBytes")
            .field("len", &self.map.len())
            .finish()
    }
}
