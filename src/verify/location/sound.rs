//! Expressions without a fault. Compilers write the same few for most variables, in all units; what was found once
//! need not be found again.

use foldhash::HashMap;
use smallvec::SmallVec;

use crate::debug_info::UnitId;
use crate::expr::Encoding;
use crate::verify::expression::{Entry, FrameBase, Role};

/// In how many settings one expression is remembered. Objects of several sizes may be in the same place.
const SETTINGS: usize = 16;
/// How many expressions are remembered; then all are forgotten. Some objects have no two that are alike.
const EXPRESSIONS: usize = 1 << 14;

/// What an expression is for, and all that stands elsewhere on which its faults depend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Setting {
    pub(super) role: Role,
    pub(super) encoding: Encoding,
    /// Whether each lane is a thread of the source language.
    pub(super) simt: bool,
    /// Nothing if it does not count from the frame base.
    pub(super) frame_base: Option<FrameBase>,
    /// Nothing if it asks nothing of its unit.
    pub(super) unit: Option<UnitId>,
}

impl Setting {
    /// Whether what was found in this setting holds in `other`, which is a whole one.
    fn covers(&self, other: &Setting) -> bool {
        self.role == other.role
            && self.encoding == other.encoding
            && self.simt == other.simt
            && (self.frame_base.is_none() || self.frame_base == other.frame_base)
            && (self.unit.is_none() || self.unit == other.unit)
    }
}

/// What was found of an expression that has no fault.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// What it depended on.
    pub(super) setting: Setting,
    /// Whether it is legacy.
    pub(super) legacy: bool,
    /// What it leaves on the stack.
    pub(super) result: Option<Entry>,
}

/// Expressions without a fault, by their bytes.
#[derive(Debug, Default)]
pub(super) struct Sound<'a> {
    known: HashMap<&'a [u8], SmallVec<[Found; 1]>>,
}

impl<'a> Sound<'a> {
    /// What is known of an expression in this setting; nothing unless it has no fault.
    pub(super) fn get(&self, bytes: &[u8], wanted: &Setting) -> Option<&Found> {
        let mut found = self.known.get(bytes)?.iter();
        found.find(|found| found.setting.covers(wanted))
    }

    /// Notes an expression that has no fault.
    pub(super) fn insert(&mut self, bytes: &'a [u8], new: Found) {
        if self.known.len() >= EXPRESSIONS {
            self.known.clear();
        }
        let found = self.known.entry(bytes).or_default();
        if found.len() >= SETTINGS {
            found.clear();
        }
        found.push(new);
    }
}
