//! Writes blocks.

use super::super::coder::Coder;
use super::super::packed::{self, Coded, common, put_codes};
use super::super::{CRC, checksum};
use super::{HEAD, RECORDS_HEAD, WIDE, covered, records};
use crate::record::Stored;
use std::sync::Arc;

/// The most bytes that a block's payloads take.
const MOST_PAYLOADS: usize = (1 << 24) - 1;

/// An entry that waits for its block. Places are those of its end.
#[derive(Debug)]
struct Pending {
    key: usize,
    codes: usize,
    /// What the block has up to here, about.
    size: usize,
    shared: usize,
    record: Stored,
}

/// Collects entries, and cuts them into blocks of about a size, where keys share least
/// with the one before: the index is the smaller for it.
#[derive(Debug)]
pub(in crate::segment) struct Builder {
    coder: Arc<Coder>,
    records: bool,
    /// About how many bytes a block has.
    block_size: usize,
    keys: Vec<u8>,
    codes: Vec<u16>,
    pending: Vec<Pending>,
    /// The earliest time of those.
    earliest: u64,
    list: packed::Builder,
    payloads: Vec<u8>,
}

impl Builder {
    pub(in crate::segment) fn new(coder: Arc<Coder>, records: bool, block_size: usize) -> Builder {
        Builder {
            coder,
            records,
            block_size,
            keys: Vec::new(),
            codes: Vec::new(),
            pending: Vec::new(),
            earliest: u64::MAX,
            list: packed::Builder::default(),
            payloads: Vec::new(),
        }
    }

    /// About how many bytes the entries take that wait.
    pub(in crate::segment) fn size(&self) -> usize {
        self.pending.last().map_or(0, |last| last.size)
    }

    /// Adds a key, which is above the last one.
    pub(in crate::segment) fn push(&mut self, key: &[u8], record: Stored) {
        let before = match &*self.pending {
            [.., one, _] => one.key,
            _ => 0,
        };
        let last = self.keys.get(before..).unwrap_or_default();
        let shared = common(last, key);
        self.keys.extend_from_slice(key);
        let codes = self.codes.len();
        let suffix = key.get(shared + 1..).unwrap_or_default();
        self.coder.encode(suffix, &mut self.codes);
        let codes = self.codes.len() - codes;
        let mut size = self
            .pending
            .last()
            .map_or(head(self.records), |last| last.size);
        size += packed::Rows::size(1, false) + packed::stream_len(codes, self.coder.bits());
        if let Some(first) = record.first() {
            self.earliest = self.earliest.min(first);
        }
        if self.records {
            size += match &record {
                Stored::Seen(None) | Stored::Forgotten => 1,
                Stored::Seen(Some(at)) => (at - self.earliest + 1).ilog2() as usize / 8 + 1,
                Stored::Full(_) => {
                    self.payloads.clear();
                    records::encode(&record, self.earliest, &mut self.payloads);
                    2 + self.payloads.len()
                }
            };
        }
        self.pending.push(Pending {
            key: self.keys.len(),
            codes: self.codes.len(),
            size,
            shared,
            record,
        });
    }

    /// The entries that the next block has, if there are enough to tell where it is best
    /// to end it.
    pub(in crate::segment) fn cut(&self) -> Option<usize> {
        let (least, most) = (self.block_size * 3 / 4, self.block_size * 5 / 4);
        if self.size() < most && self.pending.len() < usize::from(u16::MAX) {
            return None;
        }
        let all = 1..self.pending.len();
        let size = |&cut: &usize| self.pending.get(cut - 1).map_or(0, |before| before.size);
        let shared = |&cut: &usize| self.pending.get(cut).map_or(0, |entry| entry.shared);
        let good = all
            .clone()
            .filter(|cut| (least..=most).contains(&size(cut)));
        // Where several are as good, the one nearest to the size that is wanted.
        let best = good.min_by_key(|cut| (shared(cut), size(cut).abs_diff(self.block_size)));
        // A very long key is around which there is no good place.
        best.or_else(|| all.clone().find(|cut| size(cut) >= least))
            .or(Some(self.pending.len()).filter(|&all| all > 0))
    }

    /// All entries that wait.
    pub(in crate::segment) fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// The key of an entry that waits.
    pub(in crate::segment) fn key(&self, entry: usize) -> &[u8] {
        let end = |entry: usize| self.pending.get(entry).map_or(0, |entry| entry.key);
        let start = entry.checked_sub(1).map_or(0, end);
        self.keys.get(start..end(entry)).unwrap_or_default()
    }

    /// Appends the block of the first `entries` entries, which will lie at `offset` of the
    /// file, to `out`. The first key begins with `separator` bytes that the index has. False
    /// if the payloads are too large.
    #[must_use]
    pub(in crate::segment) fn finish(
        &mut self,
        entries: usize,
        separator: usize,
        offset: u64,
        out: &mut Vec<u8>,
    ) -> bool {
        let start = out.len();
        let rest = self.pending.split_off(entries.min(self.pending.len()));
        let taken = std::mem::replace(&mut self.pending, rest);
        let Some(last) = taken.last() else {
            return true;
        };
        let times = taken.iter().filter_map(|entry| entry.record.first());
        let base = times.min().unwrap_or(0);

        self.payloads.clear();
        let mut values = Vec::new();
        if self.records {
            let encode = |entry: &Pending| records::encode(&entry.record, base, &mut self.payloads);
            values.extend(taken.iter().map(encode));
        }
        let width = values.iter().fold(0, |all, value| all | value);
        let width = u64::BITS - width.leading_zeros();

        let (mut key, mut code) = (0, 0);
        for entry in &taken {
            let first = self.keys.get(key + entry.shared).copied().unwrap_or(0);
            self.list.push(entry.shared, first, entry.codes - code);
            (key, code) = (entry.key, entry.codes);
        }
        let mut stream = Vec::new();
        let codes = self.codes.get(..last.codes).unwrap_or_default();
        put_codes(&mut stream, codes, self.coder.bits());
        let stream_len = stream.len();
        stream.extend_from_slice(&[0; packed::BEHIND]);
        let strings = Coded::new(self.coder.dictionary(), &stream);
        let first = taken.first().map_or(0, |first| first.codes);
        let (bytes, skipped) = covered(&strings, first, separator);
        // A separator is as long as a key at most.
        let head = [taken.len(), bytes, skipped].map(|number| (number as u16).to_le_bytes());
        let [count, bytes, skipped] = head;
        out.extend_from_slice(&count);
        out.push(if self.list.is_wide() { WIDE } else { 0 });
        out.push(width as u8);
        out.extend_from_slice(&bytes);
        out.extend_from_slice(&skipped);
        let fits = self.payloads.len() <= MOST_PAYLOADS;
        if self.records {
            let more = base | (self.payloads.len() as u64) << 40;
            out.extend_from_slice(&more.to_le_bytes());
        }
        put_values(out, &values, width);
        self.list.finish(out);
        out.extend_from_slice(stream.get(..stream_len).unwrap_or_default());
        out.extend_from_slice(&self.payloads);
        let crc = checksum(offset, out.get(start..).unwrap_or_default());
        out.extend_from_slice(&crc.to_le_bytes());
        self.begin_next(last);
        fits
    }

    /// What still waits begins the next block: its first key is stored whole there.
    fn begin_next(&mut self, before: &Pending) {
        self.keys.drain(..before.key);
        self.codes.drain(..before.codes);
        let times = self.pending.iter().filter_map(|entry| entry.record.first());
        self.earliest = times.min().unwrap_or(u64::MAX);
        let Some(first) = self.pending.first_mut() else {
            return;
        };
        first.shared = 0;
        let key = self.keys.get(1..first.key - before.key).unwrap_or_default();
        let mut whole = Vec::new();
        self.coder.encode(key, &mut whole);
        let suffix = first.codes - before.codes;
        let bits = self.coder.bits();
        let added = head(self.records) + packed::stream_len(whole.len(), bits);
        let gone = before.size + packed::stream_len(suffix, bits);
        for entry in &mut self.pending {
            entry.key -= before.key;
            entry.codes = entry.codes - before.codes - suffix + whole.len();
            entry.size = entry.size + added - gone.min(entry.size + added);
        }
        self.codes.splice(..suffix, whole);
    }
}

/// Bytes of a block beside its entries.
fn head(records: bool) -> usize {
    HEAD + CRC + if records { RECORDS_HEAD } else { 0 }
}

/// Appends numbers of `width` bits each.
fn put_values(out: &mut Vec<u8>, values: &[u64], width: u32) {
    let (mut held, mut filled) = (0u128, 0);
    for value in values {
        held |= u128::from(*value) << filled;
        filled += width;
        while filled >= 8 {
            out.push(held as u8);
            held >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        out.push(held as u8);
    }
}
