//! What is left after something went wrong, and whether the store goes on.

use super::model::Left;
use super::world::{Name, World};
use crate::support::long;
use seendb::Durability;

/// Whether something is done in the trial with this number: each of several things
/// takes its turn, but in the long form all are done.
fn is_one_of(number: u64, several: u64, which: u64) -> bool {
    long() > 1 || number % several == which
}

impl World {
    /// What is left if the process is killed now, also if clean pages leave the cache,
    /// or if the power is cut: one of these by the seed, or all in the long form.
    pub fn check_what_is_left(&self, seed: u64) {
        if is_one_of(seed, 2, 0) {
            self.elsewhere(self.sim.fork(), Left::Accepted, "killed")
                .check_that_it_goes_on(seed / 2);
        }
        if is_one_of(seed, 2, 1) && self.may_have_lost() {
            let evicted = self.sim.fork();
            evicted.evict();
            self.elsewhere(evicted, Left::Durable, "killed and evicted")
                .check_that_it_goes_on(seed / 2);
        }
        if is_one_of(seed, 2, 1) {
            self.check_power_cuts(seed / 2);
        }
    }

    /// What power cuts leave: one, or several in the long form.
    fn check_power_cuts(&self, seed: u64) {
        if self.is_nameless() {
            return;
        }
        let cut = self.sim.power_cut();
        let count = if long() > 1 { 4 } else { 1 };
        for seed in seed..seed + count {
            let name = format!("the power cut (seed {seed})");
            let mut world = self.elsewhere(cut.disk(seed), Left::Durable, &name);
            assert!(world.ready());
            world.verify(false);
        }
    }

    /// A store that was left like this is opened, takes keys, keeps them, and is clean.
    fn check_that_it_goes_on(mut self, seed: u64) {
        assert!(self.ready());
        self.verify(false);
        if self.settings.durability == Durability::Immediate {
            self.insert_known();
        } else {
            self.insert();
        }
        self.check_power_cuts(seed);
        self.batch(2, 60, false);
        self.sync();
        if is_one_of(seed, 2, 0) {
            self.check_power_cuts(seed + 1);
        }
        if is_one_of(seed, 2, 1) {
            self.flush();
            self.insert();
            self.forget();
            self.compact();
            self.look_up();
        }
        self.claim();
        self.fetch();
        self.close();
        self.check_reopened();
    }

    fn check_reopened(&self) {
        let mut again = self.elsewhere(self.sim.fork(), Left::Accepted, "opened again");
        assert!(again.ready());
        again.verify(false);
    }

    /// All is well again: the handles that saw it go wrong answer right, and write if no
    /// sync failed.
    pub fn check_that_it_heals(mut self, seed: u64) {
        self.heal();
        self.now = Name(format!("{}, healed", self.now.0));
        assert!(self.ready());
        self.look_up();
        if self.is_poisoned() {
            self.insert();
            self.insert_known();
            self.sync();
            self.flush();
            self.compact();
            self.step();
            self.claim();
            self.forget();
            self.look_up();
        } else {
            let failed = self.model.failed();
            self.model.forget_failed();
            for key in failed {
                self.insert_key(key);
            }
            self.batch(2, 60, true);
            self.check_power_cuts(seed);
            self.insert();
            self.claim();
            self.flush();
            self.insert();
            self.fetch();
            self.compact();
            self.look_up();
            self.insert();
        }
        self.refresh();
        self.reader_looks_up();
        self.open_reader();
        self.reader_looks_up();
        self.verify(true);
        self.close();
        self.check_what_is_left(seed + 1);
        assert!(self.ready());
        self.verify(false);
        self.close();
    }
}
