//! What a power cut can leave.

use super::disk::{Disk, Id, Names, Node};
use super::file::{Content, Tick, put_sector, sector};
use super::{Random, SECTOR, Sim};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The disk at the moment of a power cut: what is durable, and what may be.
#[derive(Debug, Clone)]
pub struct PowerCut {
    nodes: Vec<Node>,
    /// Nodes that a durable or pending name leads to.
    reachable: Vec<Id>,
    now: Tick,
}

/// A thing of which one state survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Sector(usize),
    Length,
    /// A change of a name, by its place among those pending.
    Name(usize),
}

/// What becomes of the pending changes of a file or directory.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// All up to a moment survive.
    UpTo(Tick),
    /// Each survives or not.
    Mixed,
    /// All survive but those of one place.
    AllBut(Place),
    /// Those of one place survive.
    Only(Place),
}

impl PowerCut {
    pub(super) fn new(disk: &Disk) -> PowerCut {
        let mut reachable = vec![0];
        let mut at = 0;
        while let Some(&id) = reachable.get(at) {
            at += 1;
            let Some(Node::Directory(names)) = disk.nodes.get(id) else {
                continue;
            };
            let pending = names.pending.iter();
            let bound = pending.filter_map(|(_, change)| change.bind.as_ref());
            for &id in names.durable.values().chain(bound.map(|(_, id)| id)) {
                if !reachable.contains(&id) {
                    reachable.push(id);
                }
            }
        }
        PowerCut {
            nodes: disk.nodes.clone(),
            reachable,
            now: disk.now(),
        }
    }

    /// In how many ways the pending changes can survive; stale bytes are not counted.
    /// Some may make the same disk.
    #[must_use]
    pub fn outcomes(&self) -> u64 {
        let mut count = 1u64;
        for &id in &self.reachable {
            for (_, states) in self.places(id) {
                count = count.saturating_mul(states.len() as u64 + 1);
            }
        }
        count
    }

    /// One of the disks that the power cut can leave, by its number below that of the
    /// [outcomes](PowerCut::outcomes).
    #[must_use]
    pub fn outcome(&self, number: u64) -> Arc<Sim> {
        let mut left = number;
        Sim::on(self.survivors(|_, _, states| {
            let of = states.len() as u64 + 1;
            let choice = left % of;
            left /= of;
            choice as usize
        }))
    }

    /// One of the disks that the power cut can leave. Those in which all survives, or
    /// nothing, or all before a moment, are as likely as arbitrary ones.
    #[must_use]
    pub fn disk(&self, seed: u64) -> Arc<Sim> {
        let mut random = Random(seed);
        // A file system that keeps everything in order, or each file by itself.
        let moment = (random.below(3) == 0).then(|| self.moment(&mut random));
        let fates: BTreeMap<Id, Fate> = self
            .reachable
            .iter()
            .map(|&id| (id, moment.unwrap_or_else(|| self.fate(id, &mut random))))
            .collect();
        let stale = random.below(6) == 0;
        let mut disk = self.survivors(|id, place, states| {
            let all = states.len();
            match fates.get(&id) {
                Some(Fate::UpTo(moment)) => states.partition_point(|tick| tick <= moment),
                Some(Fate::AllBut(one)) => all * usize::from(place != *one),
                Some(Fate::Only(one)) if place != Place::Length => all * usize::from(place == *one),
                _ => random.below(all + 1),
            }
        });
        if stale {
            self.add_stale_bytes(&mut disk, &mut random);
        }
        Sim::on(disk)
    }

    fn moment(&self, random: &mut Random) -> Fate {
        Fate::UpTo(random.next() % (self.now + 1))
    }

    fn fate(&self, id: Id, random: &mut Random) -> Fate {
        let places = self.places(id);
        let one = places
            .get(random.below(places.len()))
            .map(|(place, _)| *place);
        match (random.below(6), one) {
            (0, _) => Fate::UpTo(0),
            (1, _) => Fate::UpTo(self.now),
            (2, _) => self.moment(random),
            (3, Some(one)) => Fate::AllBut(one),
            (4, Some(one)) => Fate::Only(one),
            _ => Fate::Mixed,
        }
    }

    /// What of a node can survive in several states, and when it got into each but the
    /// durable one.
    fn places(&self, id: Id) -> Vec<(Place, Vec<Tick>)> {
        match self.nodes.get(id) {
            Some(Node::File(content)) => {
                let ticks = |states: &[(Tick, _)]| states.iter().map(|(tick, _)| *tick).collect();
                let sectors = content.sectors().iter();
                let mut places: Vec<_> = sectors
                    .map(|(&number, states)| (Place::Sector(number), ticks(states)))
                    .collect();
                if !content.lengths().is_empty() {
                    let ticks = content.lengths().iter().map(|(tick, _)| *tick).collect();
                    places.push((Place::Length, ticks));
                }
                places
            }
            Some(Node::Directory(names)) => {
                let pending = names.pending.iter().enumerate();
                pending
                    .map(|(at, (tick, _))| (Place::Name(at), vec![*tick]))
                    .collect()
            }
            None => Vec::new(),
        }
    }

    /// The disk of what survives: of each place the state that `choose` says, given
    /// when it got into each; 0 for the durable one.
    fn survivors(&self, mut choose: impl FnMut(Id, Place, &[Tick]) -> usize) -> Disk {
        let mut nodes: Vec<Node> = Vec::with_capacity(self.nodes.len());
        for (id, node) in self.nodes.iter().enumerate() {
            let reachable = self.reachable.contains(&id);
            nodes.push(match node {
                Node::File(content) if reachable && content.is_durable() => node.clone(),
                Node::File(content) if reachable => {
                    let choices: BTreeMap<usize, usize> = self
                        .places(id)
                        .into_iter()
                        .map(|(place, states)| (key(place), choose(id, place, &states)))
                        .collect();
                    let length = choices.get(&key(Place::Length)).copied().unwrap_or(0);
                    Node::file(Content::durable(content.surviving(length, |number, _| {
                        choices.get(&number).copied().unwrap_or(0)
                    })))
                }
                Node::Directory(names) if reachable => {
                    let mut left = names.durable.clone();
                    for (at, (tick, change)) in names.pending.iter().enumerate() {
                        if choose(id, Place::Name(at), &[*tick]) == 1 {
                            change.apply(&mut left);
                        }
                    }
                    Node::Directory(Names {
                        current: left.clone(),
                        durable: left,
                        pending: Vec::new(),
                    })
                }
                _ => Node::file(Content::default()),
            });
        }
        Disk::with(nodes)
    }

    /// Where a file grew and its bytes were lost, the disk may show what its blocks held
    /// before.
    fn add_stale_bytes(&self, disk: &mut Disk, random: &mut Random) {
        let files = self.nodes.iter().filter_map(|node| match node {
            Node::File(content) if !content.cache().is_empty() => Some(content.cache()),
            _ => None,
        });
        let files: Vec<&[u8]> = files.collect();
        let stale = |random: &mut Random| {
            let bytes = files.get(random.below(files.len())).copied();
            let bytes = bytes.unwrap_or_default();
            sector(bytes, random.below(bytes.len().div_ceil(SECTOR)))
        };
        for &id in &self.reachable {
            let (Some(Node::File(before)), Some(Node::File(content))) =
                (self.nodes.get(id), disk.nodes.get_mut(id))
            else {
                continue;
            };
            let mut bytes = content.cache().to_vec();
            let first_new = before.durable_len().div_ceil(SECTOR);
            for number in first_new..bytes.len().div_ceil(SECTOR) {
                let lost = sector(&bytes, number).iter().all(|&byte| byte == 0);
                if lost && random.below(2) == 0 {
                    put_sector(&mut bytes, number, &stale(random));
                }
            }
            *content = Arc::new(Content::durable(bytes));
        }
    }
}

/// A place of a file as a key: sectors by their number.
fn key(place: Place) -> usize {
    match place {
        Place::Sector(number) | Place::Name(number) => number,
        Place::Length => usize::MAX,
    }
}
