//! What must be in a store whose writers were killed, as far as they reported.

use crate::script::{self, Ends, LANES, Script};
use crate::support::{Seeded, at};
use seendb::Seen;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The model. Readers use it while a writer lives.
pub(crate) struct Model {
    script: Script,
    /// Operations of each lane that were reported, or found after a kill.
    reported: [AtomicU64; LANES],
    /// The shared URLs that somebody was told are new.
    told_new: Mutex<BTreeSet<u64>>,
    /// Where the writer of each life began.
    begins: Mutex<Vec<Ends>>,
}

/// What was found after a kill.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) ends: Ends,
    pub(crate) entries: u64,
    /// Operations that are there and were not reported.
    pub(crate) unreported: u64,
}

impl Model {
    pub(crate) fn new(script: Script) -> Model {
        Model {
            script,
            reported: Default::default(),
            told_new: Mutex::default(),
            begins: Mutex::default(),
        }
    }

    /// Where the lanes stand, by what was reported so far.
    pub(crate) fn reported(&self) -> Ends {
        std::array::from_fn(|lane| self.reported[lane].load(Ordering::SeqCst))
    }

    /// Another writer begins, where the one before ended.
    pub(crate) fn begin(&self, ends: Ends) {
        self.begins.lock().unwrap().push(ends);
        for (reported, end) in self.reported.iter().zip(ends) {
            reported.store(end, Ordering::SeqCst);
        }
    }

    /// Takes in a writer's report of operation `i`, and checks its answers.
    pub(crate) fn answered(&self, lane: usize, i: u64, answers: &str) {
        let operation = self.script.operation(lane, i);
        let again = operation.again.iter().map(|_| '0');
        let own = operation.own.iter().map(|_| '1');
        let mut answers = answers.chars();
        for expected in again.chain(own) {
            assert_eq!(answers.next(), Some(expected), "{operation:?}");
        }
        if let Some(number) = script::shared(i)
            && answers.next().unwrap() == '1'
        {
            let told = self.told_new.lock().unwrap().insert(number);
            assert!(told, "new twice: {operation:?}");
        }
        assert_eq!(answers.next(), None);
        let before = self.reported[lane].swap(i + 1, Ordering::SeqCst);
        assert_eq!(before, i);
    }

    /// Checks all that a store holds.
    pub(crate) fn check(&self, seen: &Seen) -> Found {
        let begins = self.begins.lock().unwrap();
        let mut counts: [Vec<u64>; LANES] = Default::default();
        let mut shared = BTreeSet::new();
        let mut entries = 0;
        for entry in seen.scan("").unwrap() {
            let (key, record) = entry.unwrap();
            let parsed = self.script.parse(&key);
            let (lane, i, _) = parsed.unwrap_or_else(|| panic!("never inserted: {key:?}"));
            entries += 1;
            let Some(counts) = counts.get_mut(lane) else {
                shared.insert(i);
                continue;
            };
            if counts.len() as u64 <= i {
                counts.resize(i as usize + 1, 0);
            }
            counts[i as usize] += 1;
            // The number of its life, if it has no time of its own.
            let life = begins.partition_point(|begin| begin[lane] <= i) as u64;
            let time = Some(at(script::time(i).unwrap_or(life)));
            assert_eq!(record.first_seen, time, "{i} of lane {lane}");
        }
        assert_eq!(seen.len(), entries);

        let reported = self.reported();
        let ends: Ends = std::array::from_fn(|lane| {
            // A hole counts as an operation that is not whole.
            for (i, &count) in counts[lane].iter().enumerate() {
                assert_eq!(count, script::own(i as u64), "{i} of lane {lane}");
            }
            let end = counts[lane].len() as u64;
            let least = reported[lane];
            // Each lane has at most one operation on its way.
            assert!(
                end == least || end == least + 1,
                "lane {lane}: {end} operations, {least} reported"
            );
            end
        });
        let in_batches = (0..*ends.iter().max().unwrap()).filter_map(script::shared);
        assert!(shared.iter().copied().eq(in_batches));
        assert!(self.told_new.lock().unwrap().is_subset(&shared));
        assert_eq!(seen.position(), script::last_position(ends));

        // Lookups find the same as the scan.
        let begin = begins.last().copied().unwrap_or_default();
        for (lane, end) in ends.into_iter().enumerate() {
            for i in begin[lane]..end {
                self.must_find(seen, lane, i);
            }
        }
        let unreported = ends.iter().sum::<u64>() - reported.iter().sum::<u64>();
        Found {
            ends,
            entries,
            unreported,
        }
    }

    /// Checks a reader, which was opened or refreshed after `ends` was reported.
    pub(crate) fn check_reader(&self, reader: &Seen, ends: Ends, random: &Seeded) {
        for (lane, end) in ends.into_iter().enumerate().filter(|(_, end)| *end > 0) {
            for i in [end - 1, random.below(end)] {
                self.must_find(reader, lane, i);
            }
        }
        assert!(reader.position() >= script::last_position(ends));
    }

    fn must_find(&self, seen: &Seen, lane: usize, i: u64) {
        let operation = self.script.operation(lane, i);
        let urls: Vec<&String> = operation.own.iter().chain(&operation.shared).collect();
        let found = seen.get_many(&urls).unwrap();
        assert!(found.iter().all(Option::is_some), "{operation:?}");
    }

    /// What was recorded in any life is not new in another.
    pub(crate) fn insert_again(&self, seen: &Seen, random: &Seeded) {
        for (lane, end) in self.reported().into_iter().enumerate() {
            for back in (0..end.min(3)).chain((0..end.min(20)).map(|_| random.below(end))) {
                let operation = self.script.operation(lane, end - 1 - back);
                let urls: Vec<&String> = operation.own.iter().chain(&operation.shared).collect();
                let new = seen.insert_many(&urls).unwrap();
                assert!(new.iter().all(|new| !new), "{urls:?}");
            }
        }
    }
}
