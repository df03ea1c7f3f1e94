//! Opening a segment: everything but the blocks is read and checked.
#![deny(clippy::indexing_slicing)]

use super::footer::{Footer, Part};
use super::index::Index;
use super::reader::{Mapped, Segment};
use super::{Form, Meta, Place, bad_checksum, checksum};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::header::{self, FileKind, Header, StoreId, malformed, unknown_field};
use crate::options::Reads;
use crate::vfs::{File, HugeBytes, Vfs, read_exact_at};
use crate::wire::Reader;
use std::path::Path;
use std::sync::Arc;

/// What the manifest says of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentRef {
    pub(crate) number: u64,
    pub(crate) size: u64,
    pub(crate) content: u128,
}

impl Segment {
    /// Opens a segment and reads all of it but the blocks.
    pub(crate) fn open(
        vfs: &Arc<dyn Vfs>,
        path: &Path,
        store: StoreId,
        expect: &SegmentRef,
        reads: Reads,
    ) -> Result<Segment> {
        let mut segment = Segment::open_without_filter(vfs, path, store, expect, reads)?;
        segment.load_filter()?;
        Ok(segment)
    }

    /// As [`open`](Segment::open), but for the filter: until it is loaded, every key may be
    /// there.
    pub(crate) fn open_without_filter(
        vfs: &Arc<dyn Vfs>,
        path: &Path,
        store: StoreId,
        expect: &SegmentRef,
        reads: Reads,
    ) -> Result<Segment> {
        let file = vfs.open(path).map_err(|e| Error::io("open", path, e))?;
        let size = file
            .len()
            .map_err(|e| Error::io("find the length of", path, e))?;
        if size != expect.size {
            return Err(Error::corrupt(
                path,
                size.min(expect.size),
                format!("a file of {} bytes, as the manifest says", expect.size),
                format!("{size} bytes"),
            ));
        }
        let header = read_header(&*file, path, store, expect.number)?;
        let blocks_at = header.len;
        let footer = Footer::read(&*file, path, size, blocks_at)?;
        if footer.content != expect.content {
            return Err(Error::corrupt(
                path,
                footer.filter.place.end().unwrap_or(size),
                format!(
                    "the content hash {:032x} that the manifest names",
                    expect.content
                ),
                format!("{:032x}", footer.content),
            ));
        }

        let part = footer.index;
        let room = Place {
            offset: blocks_at,
            len: part.place.offset.saturating_sub(blocks_at),
        };
        let bytes = read_part(&*file, path, part, "an index")?;
        let index = Index::new(bytes, footer.blocks, room)
            .map_err(|m| malformed(path, part.place.offset, m))?;

        let map = match reads {
            Reads::Map => file.map().map_err(|e| Error::io("map", path, e))?,
            Reads::Pread => None,
        };
        Ok(Segment {
            form: Form::of(header.version, footer.records),
            map: map.map(|map| Mapped::new(map, index.blocks())),
            meta: Meta {
                number: expect.number,
                size,
                content: footer.content,
                keys: footer.keys,
                first: footer.first.clone(),
                last: footer.last.clone(),
                sequences: footer.sequences,
                position: footer.position,
            },
            file,
            path: path.to_path_buf(),
            store,
            footer,
            index,
            blocks_at,
            filter: Filter::absent(),
        })
    }

    /// Reads and checks the filter.
    pub(crate) fn load_filter(&mut self) -> Result<()> {
        let Footer {
            filter: part,
            parameters,
            keys,
            ..
        } = self.footer;
        let bits = read_part(&*self.file, &self.path, part, "a filter")?;
        let len = usize::try_from(part.place.len).unwrap_or(usize::MAX);
        self.filter = Filter::decode(parameters, keys, bits, len).ok_or_else(|| {
            Error::corrupt(
                &self.path,
                part.place.offset,
                format!("a filter for {keys} keys"),
                format!("{parameters:?} and {len} bytes"),
            )
        })?;
        Ok(())
    }

    /// The bytes of the filter, be it loaded or not.
    pub(crate) fn filter_size(&self) -> u64 {
        self.footer.filter.place.len
    }
}

/// Where the entries of a segment come from.
#[derive(Debug)]
pub(crate) struct Origin {
    /// The first and the last sequence number.
    pub(crate) sequences: (u64, u64),
    /// The numbers of the segments that were merged.
    pub(crate) inputs: Vec<u64>,
}

/// Where the entries of a segment come from that need not be in any manifest; `None` if
/// it is not a whole segment of this store and number.
pub(crate) fn origin(
    vfs: &dyn Vfs,
    path: &Path,
    store: StoreId,
    number: u64,
) -> Result<Option<Origin>> {
    let file = vfs.open(path).map_err(|e| Error::io("open", path, e))?;
    let size = file
        .len()
        .map_err(|e| Error::io("find the length of", path, e))?;
    let footer = read_header(&*file, path, store, number)
        .and_then(|header| Footer::read(&*file, path, size, header.len));
    match footer {
        Ok(footer) => Ok(Some(Origin {
            sequences: footer.sequences,
            inputs: footer.inputs,
        })),
        Err(Error::Corrupt(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads and checks the header; the blocks begin where it ends.
pub(super) fn read_header(
    file: &dyn File,
    path: &Path,
    store: StoreId,
    number: u64,
) -> Result<Header> {
    let header = read_any_header(file, path)?;
    header.check_identity(path, store, number)?;
    Ok(header)
}

/// Reads and checks the header of whatever segment it is.
pub(super) fn read_any_header(file: &dyn File, path: &Path) -> Result<Header> {
    let header = header::read(file, path, FileKind::Segment)?;
    let mut fields = Reader::new(&header.fields);
    while !fields.is_empty() {
        let (tag, _) = fields.field().map_err(|m| malformed(path, 48, m))?;
        unknown_field(path, tag, "no fields in the header of a segment")?;
    }
    Ok(header)
}

/// Reads the index or the filter, which lies within the file.
pub(super) fn read_part(file: &dyn File, path: &Path, part: Part, name: &str) -> Result<HugeBytes> {
    let memory = |e| Error::io("allocate memory for a part of", path, e);
    let len = usize::try_from(part.place.len)
        .map_err(|_| memory(std::io::ErrorKind::OutOfMemory.into()))?;
    let mut bytes = HugeBytes::zeroed(len).map_err(memory)?;
    let buffer = bytes.as_mut_slice().get_mut(..len).unwrap_or_default();
    read_exact_at(file, buffer, part.place.offset).map_err(|e| Error::io("read", path, e))?;
    let computed = checksum(part.place.offset, buffer);
    if computed != part.crc {
        return Err(bad_checksum(
            path,
            part.place.offset,
            name,
            part.crc,
            computed,
        ));
    }
    Ok(bytes)
}
