//! What whoever runs a store should hear of, told once for each handle, as events of the
//! crate `tracing` (feature `tracing`).

use super::core::Core;
#[cfg(feature = "tracing")]
use super::view::View;

#[cfg(feature = "tracing")]
mod warning {
    /// The filters let through more than was asked for.
    pub(super) const RATE: u8 = 1;
    /// The rate that was asked for does not fit the memory.
    pub(super) const FITS: u8 = 2;
    /// Memtables, filters and indexes take more than the memory.
    pub(super) const MEMORY: u8 = 4;
}

impl Core {
    /// Without the feature nobody is told.
    #[cfg(not(feature = "tracing"))]
    #[allow(clippy::unused_self, reason = "the feature's needs it")]
    pub(super) fn watch(&self) {}

    /// Looks at the filters that there are, after they changed.
    #[cfg(feature = "tracing")]
    pub(super) fn watch(&self) {
        let view = self.view.load();
        let asked = view.filters.rate;
        let store = self.dir.display();
        if let Some(memory) = self.options.memory {
            let budget = self.budget(&view);
            let fits = budget.fits.unwrap_or(asked);
            if fits > asked && self.is_first(warning::FITS) {
                tracing::warn!(
                    %store, memory, asked, fits, needed = budget.needed,
                    "filters for the rate asked for do not fit the memory: new ones are built for the rate that fits"
                );
            }
            let taken = self.taken(&view);
            if taken > memory && self.is_first(warning::MEMORY) {
                tracing::warn!(
                    %store, memory, taken,
                    "memtables, filters and indexes take more than the memory: give more, or compact"
                );
            }
            if fits > asked {
                return;
            }
        }
        // Near its end, a memory leaves new filters a little less than their share.
        let usual = if self.options.memory.is_some() {
            2.0
        } else {
            1.0
        };
        let expected: f64 = view.runs.iter().map(|run| run.rate).sum();
        // Sums of floats.
        if expected > asked * usual * (1.0 + 1e-9) && self.is_first(warning::RATE) {
            tracing::warn!(
                %store, asked, expected,
                "filters were built for a higher rate than is asked for: compacting builds them anew"
            );
        }
    }

    #[cfg(feature = "tracing")]
    fn is_first(&self, warning: u8) -> bool {
        use std::sync::atomic::Ordering;
        self.warned.fetch_or(warning, Ordering::Relaxed) & warning == 0
    }

    /// Bytes of memory that are taken.
    #[cfg(feature = "tracing")]
    fn taken(&self, view: &View) -> u64 {
        let memtables: u64 = view
            .memtables()
            .map(|memtable| memtable.bytes() as u64)
            .sum();
        let segments = view.segments();
        let segments: u64 = segments
            .map(|s| (s.filter().memory() + s.memory_index()) as u64)
            .sum();
        memtables + segments
    }
}
