//! What the store counts: the reads it made, and those that a filter saved.
//!
//! Each thread counts in a place of its own, so that counting costs a plain
//! addition; [`Counters::sum`] adds the places up.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use thread_local::ThreadLocal;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Work done by lookups since the store was opened.
        ///
        /// `runs_considered = key_range_skips + filter_skips + blocks_read`: each
        /// run that a lookup comes to is skipped because the key lies outside of
        /// its ranges, skipped because its filter says no, or read.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        #[non_exhaustive]
        pub struct LookupStats {
            $($(#[$doc])* pub $name: u64,)*
        }

        #[derive(Debug, Default)]
        struct Slot {
            $($name: AtomicU64,)*
        }

        impl Counters {
            /// Adds what one lookup, or one batch of them, did.
            #[inline]
            pub(crate) fn add(&self, work: &LookupStats) {
                let slot = self.slots.get_or_default();
                // Only this thread writes to its slot: no atomic addition is needed.
                $(if work.$name != 0 {
                    slot.$name.store(
                        slot.$name.load(Relaxed).wrapping_add(work.$name),
                        Relaxed,
                    );
                })*
            }

            /// The sum over all threads.
            pub(crate) fn sum(&self) -> LookupStats {
                let mut sum = LookupStats::default();
                for slot in &self.slots {
                    $(sum.$name = sum.$name.wrapping_add(slot.$name.load(Relaxed));)*
                }
                sum
            }
        }

        impl LookupStats {
            /// The counters' names and values, in a fixed order.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }

            /// Lookups that found nothing.
            #[must_use]
            pub fn misses(&self) -> u64 {
                // Other threads may have counted a hit whose lookup was not counted yet.
                self.lookups.saturating_sub(self.hits)
            }

            /// What was counted between `earlier` and this.
            #[must_use]
            pub fn since(&self, earlier: &LookupStats) -> LookupStats {
                LookupStats {
                    $($name: self.$name.wrapping_sub(earlier.$name),)*
                }
            }
        }
    };
}

counters! {
    /// Keys looked up, by any call.
    lookups,
    /// Lookups that found the key.
    hits,
    /// Of them, those answered by a memtable, without any segment.
    memtable_hits,
    /// Runs that lookups came to.
    runs_considered,
    /// Runs skipped because no segment's key range holds the key.
    key_range_skips,
    /// Segment reads that the filter made unnecessary.
    filter_skips,
    /// Blocks read because a filter said maybe.
    blocks_read,
    /// Bytes of those blocks.
    bytes_read,
    /// Filter's "maybe" that the block read refuted.
    false_positives,
    /// Of them, those of lookups that found nothing in any run. For each such lookup, they
    /// are the measured rate; see [`LookupStats::misses`].
    wasted_reads,
}

/// The counters of one store.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    slots: ThreadLocal<Slot>,
}
