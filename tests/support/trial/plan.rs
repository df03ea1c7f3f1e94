//! Which operations go wrong, and how.

use crate::support::{EINTR, EIO, ENOSPC};
use seendb::vfs::sim::{Fault, Operation, OperationKind as Kind, Sim};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub const EMFILE: i32 = 24;
pub const EACCES: i32 = 13;

/// The operations that go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// One.
    Once,
    /// From one on, all of its kind.
    Kind,
    /// From one on, all on its file.
    File,
    /// From one on, all that need room on the disk.
    Room,
    /// From one on, all that need a descriptor.
    Descriptors,
    /// From one on, all.
    Disk,
}

/// One way for things to go wrong.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The first operation that goes wrong.
    pub first: Operation,
    pub fault: Fault,
    pub reach: Reach,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?} at {}", self.fault, self.reach, self.first)
    }
}

impl Plan {
    /// All that can go wrong at an operation.
    pub fn all(first: &Operation) -> Vec<Plan> {
        let kind = first.kind;
        if kind == Kind::Store {
            return Vec::new();
        }
        let transfer = matches!(kind, Kind::Read | Kind::Write);
        let mut ways: Vec<(Fault, Reach)> = [EIO, ENOSPC, EINTR]
            .map(|code| (Fault::Error(code), Reach::Once))
            .into();
        if needs_descriptor(kind) {
            ways.extend([EMFILE].map(|code| (Fault::Error(code), Reach::Once)));
            ways.push((Fault::Error(EMFILE), Reach::Descriptors));
        }
        if matches!(kind, Kind::Open | Kind::Create | Kind::Lock) {
            ways.push((Fault::Error(EACCES), Reach::Once));
        }
        if kind.changes() {
            ways.push((Fault::ErrorAfter(EIO), Reach::Once));
        }
        if kind == Kind::Write {
            ways.extend([ENOSPC, EINTR].map(|code| (Fault::ErrorAfter(code), Reach::Once)));
        }
        if needs_room(kind) {
            ways.push((Fault::ErrorAfter(ENOSPC), Reach::Room));
            ways.push((Fault::Error(ENOSPC), Reach::Room));
        }
        if transfer {
            ways.extend([Reach::Once, Reach::Kind].map(|reach| (Fault::Short, reach)));
        }
        ways.extend(
            [Reach::Kind, Reach::File, Reach::Disk].map(|reach| (Fault::Error(EIO), reach)),
        );
        ways.into_iter()
            .map(|(fault, reach)| Plan {
                first: first.clone(),
                fault,
                reach,
            })
            .collect()
    }

    fn hits(&self, operation: &Operation) -> bool {
        let first = &self.first;
        if operation.number < first.number || operation.kind == Kind::Store {
            return false;
        }
        match self.reach {
            Reach::Once => operation.number == first.number,
            Reach::Kind => operation.kind == first.kind,
            Reach::File => operation.path == first.path,
            Reach::Room => needs_room(operation.kind),
            Reach::Descriptors => needs_descriptor(operation.kind),
            Reach::Disk => true,
        }
    }

    /// Whether no caller may notice.
    pub fn is_invisible(&self) -> bool {
        let interrupts = matches!(self.fault, Fault::Error(EINTR) | Fault::ErrorAfter(EINTR));
        let transfer = matches!(self.first.kind, Kind::Read | Kind::Write);
        self.fault == Fault::Short || (interrupts && transfer && self.reach == Reach::Once)
    }

    /// The error number that is answered.
    pub fn code(&self) -> Option<i32> {
        match self.fault {
            Fault::Error(code) | Fault::ErrorAfter(code) => Some(code),
            _ => None,
        }
    }
}

fn needs_descriptor(kind: Kind) -> bool {
    use Kind::{Create, List, Lock, Open, SyncDir};
    matches!(kind, Create | List | Lock | Open | SyncDir)
}

fn needs_room(kind: Kind) -> bool {
    matches!(kind, Kind::Write | Kind::Create | Kind::CreateDir)
}

/// Who uses the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum User {
    Writer,
    Reader,
}

/// An operation that went wrong.
#[derive(Debug, Clone)]
pub struct Hit {
    pub operation: Operation,
    /// The file was not synced since it was created.
    pub is_new: bool,
}

/// What a disk did.
#[derive(Debug)]
pub struct Watch {
    pub user: User,
    pub hits: Vec<Hit>,
    /// Syncs of what could not be synced before, by the same user.
    pub retried: Vec<Operation>,
    plan: Option<Plan>,
    failed: BTreeSet<(User, PathBuf)>,
    new: BTreeSet<PathBuf>,
}

impl Watch {
    /// Watches a disk, and lets go wrong what is planned.
    pub fn over(sim: &Sim, plan: Option<&Plan>) -> Arc<Mutex<Watch>> {
        let watch = Arc::new(Mutex::new(Watch {
            user: User::Writer,
            hits: Vec::new(),
            retried: Vec::new(),
            plan: plan.cloned(),
            failed: BTreeSet::new(),
            new: BTreeSet::new(),
        }));
        let seen = watch.clone();
        sim.rule(move |operation| seen.lock().unwrap().judge(operation));
        watch
    }

    /// Another handle begins: what happened to the one before does not concern it.
    pub fn begin(&mut self, user: User) {
        self.failed.retain(|(failed, _)| *failed != user);
    }

    /// Nothing goes wrong any more.
    pub fn heal(&mut self) {
        self.plan = None;
    }

    fn judge(&mut self, operation: &Operation) -> Option<Fault> {
        let plan = self.plan.clone().filter(|plan| plan.hits(operation));
        if let Some(plan) = &plan
            && operation.number == plan.first.number
        {
            assert_eq!(operation, &plan.first, "another run than was planned for");
        }
        let path = operation.path.clone();
        let mut is_new = false;
        match operation.kind {
            Kind::Create => {
                self.failed.retain(|(_, failed)| *failed != path);
                self.new.insert(path);
            }
            Kind::Sync | Kind::SyncDir => {
                is_new = self.new.remove(&path);
                let synced = (self.user, path);
                if self.failed.contains(&synced) {
                    self.retried.push(operation.clone());
                }
                // A directory that could not be opened was not synced.
                if plan
                    .as_ref()
                    .is_some_and(|plan| plan.code() != Some(EMFILE))
                {
                    self.failed.insert(synced);
                }
            }
            _ => {}
        }
        let plan = plan?;
        self.hits.push(Hit {
            operation: operation.clone(),
            is_new,
        });
        Some(plan.fault)
    }
}

impl Hit {
    /// Whether an error says of this operation what was done and to which file.
    pub fn is_named(&self, operation: &str, path: &Path) -> bool {
        let words: &[&str] = match self.operation.kind {
            Kind::Look => &["look at", "look at the lock of"],
            Kind::List => &["list"],
            Kind::CreateDir | Kind::Create => &["create"],
            Kind::Open => &["open"],
            Kind::Len => &["find the length of"],
            Kind::Read | Kind::Populate => &["read"],
            Kind::Write => &["write", "write to", "append to", "allocate room in"],
            Kind::SetLen => &["cut"],
            Kind::Sync | Kind::SyncDir => &["sync"],
            Kind::Map => &["map"],
            Kind::MapWrite => &["allocate room in"],
            Kind::Rename => &["rename to"],
            Kind::Remove => &["remove"],
            Kind::Lock => &["lock"],
            _ => &[],
        };
        let is_lock = operation == "look at the lock of";
        let same =
            self.operation.path == path || (is_lock && self.operation.path.parent() == Some(path));
        words.contains(&operation) && same
    }
}
