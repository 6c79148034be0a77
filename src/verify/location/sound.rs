//! Expressions without a fault. Compilers write the same few for most variables, in all units; what was found once
//! need not be found again.

use foldhash::HashMap;
use smallvec::SmallVec;

use crate::debug_info::UnitId;
use crate::expr::Encoding;
use crate::verify::expression::{FrameBase, Place, Role};

/// In how many settings one expression is remembered. Objects of several sizes may be in the same place.
const SETTINGS: usize = 16;
/// How many expressions are remembered; then all are forgotten. Some objects have no two that are alike.
const EXPRESSIONS: usize = 1 << 14;

/// The use of an expression, and everything outside of it on which its faults depend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Setting {
    pub(super) role: Role,
    pub(super) encoding: Encoding,
    /// True if each lane is a thread of the source language.
    pub(super) simt: bool,
    /// Nothing if it does not count from the frame base.
    pub(super) frame_base: Option<FrameBaseNumber>,
    /// Nothing if it asks nothing of its unit.
    pub(super) unit: Option<UnitId>,
}

impl Setting {
    /// Returns true if what was found in this setting holds in `other`, which is a whole one.
    fn covers(&self, other: &Setting) -> bool {
        self.role == other.role
            && self.encoding == other.encoding
            && self.simt == other.simt
            && (self.frame_base.is_none() || self.frame_base == other.frame_base)
            && (self.unit.is_none() || self.unit == other.unit)
    }
}

/// Stands for a frame base: hundreds of functions have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameBaseNumber(usize);

impl FrameBaseNumber {
    /// One that is not known.
    pub(super) const UNKNOWN: FrameBaseNumber = FrameBaseNumber(0);
}

/// The result of checking an expression without a fault.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// The setting on which it depended.
    setting: Setting,
    legacy: bool,
}

/// Expressions without a fault, by their bytes.
#[derive(Debug, Default)]
pub(super) struct Sound<'a> {
    known: HashMap<&'a [u8], SmallVec<[Found; 1]>>,
    /// What is found by the expressions of frame bases, and the setting in which it is; of each that of the last function.
    frame_bases: HashMap<&'a [u8], (Setting, Option<Place>)>,
    numbers: HashMap<FrameBase, FrameBaseNumber>,
    /// The number given last. None is given twice.
    last: usize,
}

impl<'a> Sound<'a> {
    /// Returns true if the expression is legacy; nothing unless it is known to have no fault in this setting.
    pub(super) fn legacy(&self, bytes: &[u8], wanted: &Setting) -> Option<bool> {
        let mut found = self.known.get(bytes)?.iter();
        let found = found.find(|found| found.setting.covers(wanted))?;
        Some(found.legacy)
    }

    /// Notes an expression that has no fault in this setting.
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

    /// Returns the number that stands for a frame base.
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

    /// Returns the place that the expression of a frame base finds in this setting, if it is known: there may be none.
    pub(super) fn frame_base(&self, bytes: &[u8], wanted: &Setting) -> Option<Option<Place>> {
        let (setting, place) = self.frame_bases.get(bytes)?;
        setting.covers(wanted).then_some(*place)
    }

    /// Notes the place that the expression of a frame base finds in this setting.
    pub(super) fn insert_frame_base(
        &mut self,
        bytes: &'a [u8],
        setting: Setting,
        place: Option<Place>,
    ) {
        if self.frame_bases.len() >= EXPRESSIONS {
            self.frame_bases.clear();
        }
        self.frame_bases.insert(bytes, (setting, place));
    }
}
