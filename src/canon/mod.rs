//! URL to key.
use crate::error::InvalidUrl;
use std::borrow::Cow;
/// A policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canon;
