//! The disk: nodes, names, and what happens to operations.

use super::Random;
use super::file::{Content, Tick};
use super::operation::{Fault, Kind, Operation};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Error, ErrorKind, Result};
use std::path::{Component, Path};
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

pub(super) type Rule = Arc<dyn Fn(&Operation) -> Option<Fault> + Send + Sync>;

/// A node's place in the table of nodes; the root's is 0.
pub(super) type Id = usize;

/// A file or directory.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// Shared between copies of a disk until one of them changes it.
    File(Arc<Content>),
    Directory(Names),
}

impl Node {
    pub(super) fn file(content: Content) -> Node {
        Node::File(Arc::new(content))
    }
}

/// The names in a directory.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    pub(super) current: BTreeMap<String, Id>,
    pub(super) durable: BTreeMap<String, Id>,
    /// Changes since the last sync.
    pub(super) pending: Vec<(Tick, Change)>,
}

/// One change of names, which survives whole or not at all.
#[derive(Debug, Clone)]
pub(super) struct Change {
    /// The name that is gone.
    pub(super) unbind: Option<String>,
    /// The name that is there.
    pub(super) bind: Option<(String, Id)>,
}

impl Change {
    pub(super) fn apply(&self, names: &mut BTreeMap<String, Id>) {
        if let Some(name) = &self.unbind {
            names.remove(name);
        }
        if let Some((name, id)) = &self.bind {
            names.insert(name.clone(), *id);
        }
    }
}

impl Names {
    fn change(&mut self, tick: Tick, change: Change) {
        change.apply(&mut self.current);
        self.pending.push((tick, change));
    }
}

pub(super) struct Disk {
    pub(super) nodes: Vec<Node>,
    pub(super) operations: u64,
    pub(super) trace: Option<Vec<Operation>>,
    pub(super) rule: Option<Rule>,
    random: Random,
    /// The process that holds each lock.
    holders: BTreeMap<Id, u64>,
    ticks: Tick,
    processes: u64,
    dead: BTreeSet<u64>,
    off: bool,
}

impl Disk {
    pub(super) fn new() -> Disk {
        Disk::with(vec![Node::Directory(Names::default())])
    }

    /// A disk with these nodes, the root first.
    pub(super) fn with(nodes: Vec<Node>) -> Disk {
        Disk {
            nodes,
            operations: 0,
            trace: None,
            rule: None,
            random: Random(1),
            holders: BTreeMap::new(),
            ticks: 0,
            processes: 0,
            dead: BTreeSet::new(),
            off: false,
        }
    }

    /// Counts an operation of a process, and says what happens to it.
    pub(super) fn begin(
        &mut self,
        process: u64,
        kind: Kind,
        path: &Path,
        bytes: usize,
    ) -> Result<Option<Fault>> {
        if self.off {
            return Err(Error::other("the power is off"));
        }
        if self.dead.contains(&process) {
            return Err(Error::other("the process is dead"));
        }
        let operation = Operation {
            number: self.operations,
            kind,
            path: path.to_path_buf(),
            bytes,
        };
        self.operations += 1;
        let fault = self.rule.clone().and_then(|rule| rule(&operation));
        if let Some(trace) = &mut self.trace {
            trace.push(operation);
        }
        if fault == Some(Fault::PowerCut) {
            self.off = true;
        }
        Ok(fault)
    }

    pub(super) fn tick(&mut self) -> Tick {
        self.ticks += 1;
        self.ticks
    }

    pub(super) fn has_power(&self) -> bool {
        !self.off
    }

    /// The present moment.
    pub(super) fn now(&self) -> Tick {
        self.ticks
    }

    /// A store to a map of a file.
    pub(super) fn store(&mut self, id: Id, offset: u64, bytes: &[u8]) {
        let ticks = [self.tick(), self.tick()];
        let mut random = Random(self.random.next());
        if let Ok(content) = self.file_mut(id) {
            content.store(bytes, offset, ticks, &mut random);
        }
    }

    /// A sync of a file that failed.
    pub(super) fn lose(&mut self, id: Id) -> Result<()> {
        let mut random = Random(self.random.next());
        self.file_mut(id)?.lose(&mut random);
        Ok(())
    }

    /// Whether the lock was free, and now is the process's.
    pub(super) fn take_lock(&mut self, id: Id, process: u64) -> bool {
        let free = !self.holders.contains_key(&id);
        if free {
            self.holders.insert(id, process);
        }
        free
    }

    pub(super) fn give_lock_back(&mut self, id: Id, process: u64) {
        if self.holders.get(&id) == Some(&process) {
            self.holders.remove(&id);
        }
    }

    pub(super) fn next_process(&mut self) -> u64 {
        self.processes += 1;
        self.processes
    }

    pub(super) fn replace_process(&mut self, process: u64) -> u64 {
        self.dead.insert(process);
        self.holders.retain(|_, holder| *holder != process);
        self.next_process()
    }

    /// The node at a path.
    pub(super) fn find(&self, path: &Path) -> Result<Id> {
        let mut id = 0;
        for component in path.components() {
            if let Component::Normal(name) = component {
                let names = self.directory(id)?;
                id = *names
                    .current
                    .get(&*name.to_string_lossy())
                    .ok_or(ErrorKind::NotFound)?;
            }
        }
        Ok(id)
    }

    /// The directory that holds a path's last name, and that name.
    fn parent(&self, path: &Path) -> Result<(Id, String)> {
        let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
        let dir = path.parent().unwrap_or(Path::new("/"));
        Ok((self.find(dir)?, name.to_string_lossy().into_owned()))
    }

    pub(super) fn directory(&self, id: Id) -> Result<&Names> {
        match self.nodes.get(id) {
            Some(Node::Directory(names)) => Ok(names),
            Some(Node::File(_)) => Err(ErrorKind::NotADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn directory_mut(&mut self, id: Id) -> Result<&mut Names> {
        match self.nodes.get_mut(id) {
            Some(Node::Directory(names)) => Ok(names),
            Some(Node::File(_)) => Err(ErrorKind::NotADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn file(&self, id: Id) -> Result<&Content> {
        match self.nodes.get(id) {
            Some(Node::File(content)) => Ok(content),
            Some(Node::Directory(_)) => Err(ErrorKind::IsADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn file_mut(&mut self, id: Id) -> Result<&mut Content> {
        match self.nodes.get_mut(id) {
            Some(Node::File(content)) => Ok(Arc::make_mut(content)),
            Some(Node::Directory(_)) => Err(ErrorKind::IsADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    /// A new node with a name that must be free.
    pub(super) fn create(&mut self, path: &Path, node: Node) -> Result<Id> {
        let (dir, name) = self.parent(path)?;
        if self.directory(dir)?.current.contains_key(&name) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let id = self.nodes.len();
        self.nodes.push(node);
        let bind = Some((name, id));
        self.change(dir, Change { unbind: None, bind })?;
        Ok(id)
    }

    pub(super) fn create_dir(&mut self, path: &Path) -> Result<()> {
        if self.find(path).is_ok() {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            self.create_dir(parent)?;
        }
        self.create(path, Node::Directory(Names::default()))
            .map(drop)
    }

    /// Within one directory, which is all that a store does.
    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> Result<()> {
        let id = self.find(from)?;
        let (dir, old) = self.parent(from)?;
        let (same, new) = self.parent(to)?;
        if dir != same {
            return Err(ErrorKind::CrossesDevices.into());
        }
        let (unbind, bind) = (Some(old), Some((new, id)));
        self.change(dir, Change { unbind, bind })
    }

    pub(super) fn remove(&mut self, path: &Path) -> Result<()> {
        self.file(self.find(path)?)?;
        let (dir, name) = self.parent(path)?;
        let unbind = Some(name);
        self.change(dir, Change { unbind, bind: None })
    }

    fn change(&mut self, dir: Id, change: Change) -> Result<()> {
        let tick = self.tick();
        self.directory_mut(dir)?.change(tick, change);
        Ok(())
    }

    pub(super) fn sync_dir(&mut self, path: &Path) -> Result<()> {
        let id = self.find(path)?;
        let names = self.directory_mut(id)?;
        for (_, change) in std::mem::take(&mut names.pending) {
            change.apply(&mut names.durable);
        }
        Ok(())
    }

    /// A sync of a directory that failed: each change is durable, or never will be.
    pub(super) fn lose_names(&mut self, path: &Path) -> Result<()> {
        let id = self.find(path)?;
        let mut random = Random(self.random.next());
        let names = self.directory_mut(id)?;
        for (_, change) in std::mem::take(&mut names.pending) {
            if random.below(2) == 1 {
                change.apply(&mut names.durable);
            }
        }
        Ok(())
    }

    pub(super) fn evict(&mut self) {
        for node in &mut self.nodes {
            if let Node::File(content) = node {
                Arc::make_mut(content).evict();
            }
        }
    }

    /// The same state, durable or not, and no process.
    pub(super) fn fork(&self) -> Disk {
        Disk {
            random: self.random.clone(),
            ticks: self.ticks,
            ..Disk::with(self.nodes.clone())
        }
    }

    /// As processes see it now, all of it durable.
    pub(super) fn copy(&self) -> Disk {
        let nodes = self.nodes.iter().map(|node| match node {
            Node::File(content) => Node::file(Content::durable(content.cache().to_vec())),
            Node::Directory(names) => Node::Directory(Names {
                current: names.current.clone(),
                durable: names.current.clone(),
                pending: Vec::new(),
            }),
        });
        Disk::with(nodes.collect())
    }

    pub(super) fn put(&mut self, path: &Path, bytes: &[u8]) -> Result<()> {
        let content = Content::durable(bytes.to_vec());
        match self.find(path) {
            Ok(id) => *self.file_mut(id)? = content,
            Err(_) => {
                self.create(path, Node::file(content))?;
                self.sync_dir(path.parent().unwrap_or(Path::new("/")))?;
            }
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, path: &Path) -> Result<()> {
        self.remove(path)?;
        self.sync_dir(path.parent().unwrap_or(Path::new("/")))
    }

    pub(super) fn names(&self, dir: &Path) -> Result<Vec<String>> {
        let names = self.directory(self.find(dir)?)?;
        Ok(names.current.keys().cloned().collect())
    }

    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = Xxh3::new();
        let mut todo = vec![0];
        while let Some(id) = todo.pop() {
            match self.nodes.get(id) {
                Some(Node::File(content)) => hasher.update(content.cache()),
                Some(Node::Directory(names)) => {
                    for (name, &id) in &names.current {
                        hasher.update(name.as_bytes());
                        hasher.update(&[0]);
                        todo.push(id);
                    }
                }
                None => {}
            }
            hasher.update(&[0xff, 0, 0xff]);
        }
        hasher.digest()
    }
}
