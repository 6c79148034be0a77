//! Remembers expressions without a fault. Compilers write the same few expressions for most variables in all units, so that each needs to be checked
//! only once.

use foldhash::HashMap;
use smallvec::SmallVec;

use crate::debug_info::UnitId;
use crate::expr::Encoding;
use crate::verify::expression::{FrameBase, Place, Role};

/// The number of settings that are remembered for an expression. Objects of several sizes may be at the same place.
const SETTINGS: usize = 16;
/// The number of expressions that are remembered before all are dropped. In some objects, no two expressions are equal.
const EXPRESSIONS: usize = 1 << 14;

/// The use of an expression, and all outside facts on which its faults depend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Setting {
    pub(super) role: Role,
    pub(super) encoding: Encoding,
    /// True if each lane is a thread of the source language.
    pub(super) simt: bool,
    /// The frame base. None if the result does not depend on it.
    pub(super) frame_base: Option<FrameBaseNumber>,
    /// The unit. None if the result does not depend on it.
    pub(super) unit: Option<UnitId>,
}

impl Setting {
    /// Returns true if a result for this setting is valid for `other`, which has all its parts.
    fn covers(&self, other: &Setting) -> bool {
        self.role == other.role
            && self.encoding == other.encoding
            && self.simt == other.simt
            && (self.frame_base.is_none() || self.frame_base == other.frame_base)
            && (self.unit.is_none() || self.unit == other.unit)
    }
}

/// A number that identifies a frame base. Hundreds of functions have the same frame base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameBaseNumber(usize);

impl FrameBaseNumber {
    /// The number of an unknown frame base.
    pub(super) const UNKNOWN: FrameBaseNumber = FrameBaseNumber(0);
}

/// The result of checking an expression without a fault.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// The setting on which the result depended.
    setting: Setting,
    legacy: bool,
}

/// The result of a frame base expression.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownBase {
    /// The setting on which the result depended.
    pub(super) setting: Setting,
    /// `None` if the result is no place.
    pub(super) place: Option<Place>,
}

/// The expressions without a fault, by their bytes.
#[derive(Debug, Default)]
pub(super) struct Sound<'a> {
    known: HashMap<&'a [u8], SmallVec<[Found; 1]>>,
    /// The results of frame base expressions. Only the last result for each expression is kept.
    frame_bases: HashMap<&'a [u8], KnownBase>,
    numbers: HashMap<FrameBase, FrameBaseNumber>,
    /// The last assigned number. Numbers are never reused.
    last: usize,
}

impl<'a> Sound<'a> {
    /// Returns true if the expression is legacy. Returns None unless it is known to have no fault in this setting.
    pub(super) fn legacy(&self, bytes: &[u8], wanted: &Setting) -> Option<bool> {
        let mut found = self.known.get(bytes)?.iter();
        let found = found.find(|found| found.setting.covers(wanted))?;
        Some(found.legacy)
    }

    /// Records an expression without a fault in this setting.
    pub(super) fn insert(&mut self, bytes: &'a [u8], setting: Setting, legacy: bool) {
        if self.known.len() >= EXPRESSIONS {
            self.known.clear();
        }
        let found = self.known.entry(bytes).or_default();
        if found.len() >= SETTINGS {
            found.clear();
        }
        found.push(Found { setting, legacy });
    }

    /// Returns the number of a frame base.
    pub(super) fn number(&mut self, frame_base: FrameBase) -> FrameBaseNumber {
        if frame_base == FrameBase::Unknown {
            return FrameBaseNumber::UNKNOWN;
        }
        if self.numbers.len() >= EXPRESSIONS {
            self.numbers.clear();
        }
        let last = &mut self.last;
        *self.numbers.entry(frame_base).or_insert_with(|| {
            *last += 1;
            FrameBaseNumber(*last)
        })
    }

    /// Returns the result of a frame base expression, if it is known in this setting.
    pub(super) fn frame_base(&self, bytes: &[u8], wanted: &Setting) -> Option<&KnownBase> {
        let known = self.frame_bases.get(bytes)?;
        known.setting.covers(wanted).then_some(known)
    }

    /// Records the result of a frame base expression.
    pub(super) fn insert_frame_base(&mut self, bytes: &'a [u8], known: KnownBase) {
        if self.frame_bases.len() >= EXPRESSIONS {
            self.frame_bases.clear();
        }
        self.frame_bases.insert(bytes, known);
    }
}
