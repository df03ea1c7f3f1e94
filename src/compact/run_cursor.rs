//! Walks through the segments of one run in the order of keys.

use super::Source;
use crate::error::Result;
use crate::record::Stored;
use crate::segment::{Cursor, Segment};
use std::collections::VecDeque;
use std::sync::Arc;

/// The entries of a run from some key on.
#[derive(Debug)]
pub(crate) struct RunCursor {
    current: Option<Cursor>,
    rest: VecDeque<Arc<Segment>>,
}

impl RunCursor {
    /// All entries.
    pub(crate) fn new(segments: &[Arc<Segment>]) -> RunCursor {
        RunCursor {
            current: None,
            rest: segments.iter().cloned().collect(),
        }
    }

    /// The entries whose key is not below `key`.
    pub(crate) fn from_key(segments: &[Arc<Segment>], key: &[u8]) -> Result<RunCursor> {
        let first = segments.partition_point(|segment| segment.meta().last.as_slice() < key);
        let mut cursor = RunCursor::new(segments.get(first..).unwrap_or_default());
        if let Some(segment) = cursor.rest.pop_front() {
            let mut at = segment.cursor();
            at.seek(key)?;
            cursor.current = Some(at);
        }
        Ok(cursor)
    }
}

impl Source for RunCursor {
    fn advance(&mut self) -> Result<bool> {
        loop {
            if let Some(cursor) = &mut self.current
                && cursor.advance()?
            {
                return Ok(true);
            }
            match self.rest.pop_front() {
                Some(segment) => self.current = Some(segment.cursor()),
                None => return Ok(false),
            }
        }
    }

    fn key(&self) -> &[u8] {
        self.current.as_ref().map_or(&[], Cursor::key)
    }

    fn record(&self) -> Stored {
        match &self.current {
            Some(cursor) => cursor.record().clone(),
            None => Stored::Seen(None),
        }
    }
}
