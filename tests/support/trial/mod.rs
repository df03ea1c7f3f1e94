//! Stores on disks that fail: what goes wrong, what is asked, what must be answered.

pub mod aftermath;
mod answers;
mod changes;
mod judge;
mod model;
pub mod plan;
pub mod world;
