//! What handles answer: the writing one, and a reader beside it.

use super::judge::Call;
use super::model::{Entries, Left};
use super::plan::User;
use super::world::World;
use seendb::{Error, Seen};

/// A reader and what it knew when it was last brought up to date.
pub struct Reader {
    seen: Seen,
    entries: Entries,
    position: Option<u64>,
}

impl World {
    /// Asks for everything in every way.
    pub fn look_up(&mut self) {
        if !self.ready() {
            return;
        }
        let entries = self.model.entries();
        for (key, record) in &entries {
            if let Some(found) = self.call(Call::Read, |seen| seen.get(key)) {
                assert_eq!(
                    found,
                    Some(record.clone()),
                    "{}",
                    String::from_utf8_lossy(key)
                );
            }
        }
        let mut absent = self.model.failed();
        absent.extend(self.model.gone());
        absent.push(b"https://example.com/00000005".to_vec());
        for key in &absent {
            if let Some(found) = self.call(Call::Read, |seen| seen.contains(key)) {
                assert!(
                    !found,
                    "absent, and there: {}",
                    String::from_utf8_lossy(key)
                );
            }
        }
        let both: Vec<&Vec<u8>> = entries.keys().chain(&absent).collect();
        if let Some(found) = self.call(Call::Read, |seen| seen.get_many(&both)) {
            let expected = entries.values().map(|record| Some(record.clone()));
            let expected = expected.chain(absent.iter().map(|_| None));
            assert!(found.into_iter().eq(expected), "the answers of get_many");
        }
        if let Some(writer) = self.writer.clone() {
            if let Some(found) = self.scan(&writer, Some(&entries)) {
                assert!(found == entries, "the keys of a scan");
            }
            assert!(self.model.is_size(writer.len()), "{} keys", writer.len());
            assert_eq!(writer.position(), self.model.position());
        }
    }

    /// All that a handle knows; `None` if reading fails. What came before must then be
    /// the first of what is known.
    pub(super) fn scan(&mut self, seen: &Seen, known: Option<&Entries>) -> Option<Entries> {
        let before = self.hits();
        let mut scan = self.judge(Call::Read, before, seen.scan(""))?;
        let mut found = Entries::new();
        while let Some(entry) = scan.next() {
            let Some((key, record)) = self.judge(Call::Read, before, entry) else {
                assert!(scan.next().is_none(), "a scan goes on after an error");
                if let Some(known) = known {
                    assert!(
                        found.iter().zip(known).all(|(one, other)| one == other),
                        "a scan that failed passed something over"
                    );
                }
                return None;
            };
            let last = found.last_key_value().map(|(last, _)| last);
            assert!(last.is_none_or(|last| last < &key), "the order of a scan");
            found.insert(key, record);
        }
        Some(found)
    }

    /// Opens a reader.
    pub fn open_reader(&mut self) {
        self.reader = None;
        if self.writer.is_none() {
            return;
        }
        let sim = self.sim.beside();
        self.by_reader(|world| {
            world.watch.lock().unwrap().begin(User::Reader);
            let before = world.hits();
            let opened = world.builder(&sim).open_read_only();
            if let Some(seen) = world.judge(Call::Open, before, opened) {
                world.take_over(seen);
            }
        });
    }

    /// Brings the reader up to date; if that fails, it answers as before.
    pub fn refresh(&mut self) {
        let Some(Reader { seen, .. }) = &self.reader else {
            return;
        };
        let seen = seen.clone();
        self.by_reader(|world| {
            let before = world.hits();
            let refreshed = seen.refresh();
            if world.judge(Call::Read, before, refreshed).is_some() {
                world.take_over(seen);
            } else {
                world.reader_looks_up();
            }
        });
    }

    /// What the reader knows now is what was accepted, and perhaps attempts of which the
    /// writer could not say whether they were recorded.
    fn take_over(&mut self, seen: Seen) {
        self.reader = None;
        if let Some(entries) = self.scan(&seen, None) {
            let position = seen.position();
            let mut known = self.model.clone();
            known.settle(&entries, position, Left::Accepted);
            assert!(known.is_size(seen.len()), "{} keys", seen.len());
            self.reader = Some(Reader {
                seen,
                entries,
                position,
            });
        }
    }

    /// Asks the reader for everything.
    pub fn reader_looks_up(&mut self) {
        let Some(reader) = self.reader.take() else {
            return;
        };
        self.by_reader(|world| {
            for (key, record) in &reader.entries {
                let before = world.hits();
                if let Some(found) = world.judge(Call::Read, before, reader.seen.get(key)) {
                    assert_eq!(found, Some(record.clone()), "a reader forgot something");
                }
            }
            if let Some(found) = world.scan(&reader.seen, Some(&reader.entries)) {
                assert!(found == reader.entries, "a reader's scan");
            }
            assert_eq!(reader.seen.position(), reader.position);
            let refused = reader.seen.insert("https://example.com/");
            assert!(matches!(refused, Err(Error::ReadOnly { .. })));
        });
        self.reader = Some(reader);
    }

    fn by_reader(&mut self, work: impl FnOnce(&mut World)) {
        self.watch.lock().unwrap().user = User::Reader;
        work(self);
        self.watch.lock().unwrap().user = User::Writer;
    }

    /// Reads every file. Errors that went wrong are in the report.
    pub fn verify(&mut self, orphans: bool) {
        if !self.ready() {
            return;
        }
        let before = self.hits();
        if let Some(report) = self.call(Call::Read, |seen| seen.verify(&mut |_| {})) {
            for error in report.damage {
                self.judge(Call::Read, before, Err::<(), _>(error));
            }
            // A power loss can put other bytes into a file that was being created.
            let unknown = self.was_cut || report.unknown_files.is_empty();
            assert!(unknown, "{:?}", report.unknown_files);
            assert!(
                orphans || report.leftovers.is_empty(),
                "{:?}",
                report.leftovers
            );
        }
    }
}
