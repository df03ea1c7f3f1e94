//! Opening a segment: everything but the blocks is read and checked.
#![deny(clippy::indexing_slicing)]

use super::dictionary::Dictionary;
use super::footer::Footer;
use super::index::Index;
use super::part::{read_dictionary, read_part, read_stored_dictionary};
use super::reader::{Mapped, Range, Segment};
use super::{Form, Meta, Place, old};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::header::{self, FileKind, Header, StoreId, malformed, unknown_field};
use crate::options::Reads;
use crate::vfs::{File, HugeBytes, Vfs};
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
        let footer = Footer::read(&*file, path, size, header.len)?;
        if footer.content != expect.content {
            return Err(Error::corrupt(
                path,
                footer.footer_at(),
                format!(
                    "the content hash {:032x} that the manifest names",
                    expect.content
                ),
                format!("{:032x}", footer.content),
            ));
        }
        let form = form(path, &header, &footer)?;
        let (dictionary, blocks_at) = open_dictionary(&*file, path, form, &header, &footer)?;
        let index = open_index(&*file, path, &footer, form, blocks_at)?;

        let map = match reads {
            Reads::Map => file.map().map_err(|e| Error::io("map", path, e))?,
            Reads::Pread => None,
        };
        Ok(Segment {
            form,
            range: Range::new(&footer.first, &footer.last),
            own_dictionary: dictionary.memory(),
            dictionary: Arc::new(dictionary),
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

    /// Takes the dictionary of another segment, if that has the same: those of a run do.
    pub(crate) fn share_dictionary(&mut self, other: &Segment) {
        if self.dictionary == other.dictionary {
            self.dictionary = other.dictionary.clone();
            self.own_dictionary = 0;
        }
    }

    /// The same segment, opened again with its filter.
    pub(crate) fn with_filter(&self, vfs: &Arc<dyn Vfs>, reads: Reads) -> Result<Segment> {
        let named = self.meta.named();
        let mut again = Segment::open(vfs, &self.path, self.store, &named, reads)?;
        again.dictionary = self.dictionary.clone();
        again.own_dictionary = self.own_dictionary;
        Ok(again)
    }

    /// The bytes of the filter, be it loaded or not.
    pub(crate) fn filter_size(&self) -> u64 {
        self.footer.filter.place.len
    }
}

/// The form of blocks, if header and footer agree on it.
fn form(path: &Path, header: &Header, footer: &Footer) -> Result<Form> {
    let form = Form::of(header.version, footer.records);
    if matches!(form, Form::Packed { .. }) == footer.dictionary.is_some() {
        return Ok(form);
    }
    let version = header.version;
    Err(Error::corrupt(
        path,
        footer.footer_at(),
        format!("the footer of a segment of format version {version}"),
        "that of another version",
    ))
}

/// The dictionary, and where blocks begin: behind it.
fn open_dictionary(
    file: &dyn File,
    path: &Path,
    form: Form,
    header: &Header,
    footer: &Footer,
) -> Result<(Dictionary, u64)> {
    let (Form::Packed { .. }, Some(again)) = (form, footer.dictionary) else {
        return Ok((Dictionary::plain(), header.len));
    };
    let end = footer.index.place.offset;
    let (dictionary, len) = read_dictionary(file, path, header.len, end)?;
    // The second is for repairs alone, but whoever finds it damaged should hear of it while
    // the first is not. There is one way to store a dictionary.
    let mut stored = Vec::new();
    dictionary.encode(&mut stored);
    let second = read_stored_dictionary(file, path, again.offset, footer.footer_at())?;
    if second == stored && len == again.len {
        return Ok((dictionary, header.len + len));
    }
    Err(Error::corrupt(
        path,
        again.offset,
        "the same dictionary as behind the header",
        "another",
    ))
}

/// The index, in the form that is searched.
pub(super) fn open_index(
    file: &dyn File,
    path: &Path,
    footer: &Footer,
    form: Form,
    blocks_at: u64,
) -> Result<Index> {
    let place = footer.index.place;
    let bad = |m| malformed(path, place.offset, m);
    let mut bytes = read_part(file, path, footer.index, "an index")?;
    let mut len = usize::try_from(place.len).unwrap_or(usize::MAX);
    if let Form::Old(_) = form {
        let stored = bytes.as_slice().get(..len).unwrap_or_default();
        let converted = old::convert(stored).map_err(bad)?;
        len = converted.len();
        bytes = HugeBytes::zeroed(len)
            .map_err(|e| Error::io("allocate memory for the index of", path, e))?;
        let room = bytes.as_mut_slice().iter_mut();
        room.zip(&converted).for_each(|(to, byte)| *to = *byte);
    }
    let room = Place {
        offset: blocks_at,
        len: place.offset.saturating_sub(blocks_at),
    };
    Index::new(bytes, len, footer.blocks, room).map_err(bad)
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
