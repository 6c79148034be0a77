//! Numbers the frames of a stop. Every inlined call is a separate frame.
//!
//! 0 is the innermost frame. gdb, lldb and llvm-symbolizer number them in the same way. Source: DWARF 5 §3.3.8.2.

use super::stop::{Stop, StopFrame};
use crate::debug_info::{DieId, NameScopes};
use crate::error::{Error, Result};
use crate::meter::Meter;

/// The steps charged for a frame.
const PER_FRAME: u64 = 8;

/// The number of frames in each call frame.
#[derive(Debug, Default)]
pub(super) struct FrameList {
    /// For each call frame, innermost first, the number of the frame after its last.
    ends: Vec<usize>,
    /// The limit reached before all were numbered.
    pub(super) limit: Option<Error>,
}

/// The selected frames of a call frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All frames.
    Whole,
    /// One frame: 0 for the innermost.
    One(usize),
}

impl FrameList {
    fn new(stop: &Stop<'_, '_>, meter: &Meter) -> FrameList {
        let mut list = FrameList::default();
        let mut end = 0_usize;
        for frame in stop.call_frames() {
            match frame.count_parts(meter) {
                Ok(count) => end += count,
                // An error in the inlined calls does not hide the call frame.
                Err(error) => {
                    end += 1;
                    list.limit = Some(error).filter(Error::is_limit);
                }
            }
            list.ends.push(end);
            if list.limit.is_some() {
                break;
            }
        }
        list
    }

    fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Returns the number of the innermost frame of a call frame.
    fn first(&self, level: usize) -> usize {
        let before = level.checked_sub(1).and_then(|level| self.ends.get(level));
        before.copied().unwrap_or(0)
    }

    /// Returns the level of the call frame that contains a frame, and the frame's part in it.
    fn place(&self, index: usize) -> Option<(usize, usize)> {
        let level = self.ends.partition_point(|end| *end <= index);
        self.ends.get(level)?;
        Some((level, index.checked_sub(self.first(level))?))
    }
}

impl<'p, 'a> Stop<'p, 'a> {
    /// Returns the frames, innermost first. Every inlined call is a separate frame.
    #[must_use]
    pub fn frames(&self) -> Vec<StopFrame<'_, 'p, 'a>> {
        let count = self.frame_list().len();
        (0..count).filter_map(|index| self.frame(index)).collect()
    }

    /// Returns a frame by its number; 0 is the innermost.
    #[must_use]
    pub fn frame(&self, index: usize) -> Option<StopFrame<'_, 'p, 'a>> {
        let (level, part) = self.frame_list().place(index)?;
        Some(self.call_frame(level)?.part(part))
    }

    /// Returns the number of a call frame by its level. Frames found only in the machine code, beyond the call frame information, continue the
    /// numbering.
    #[must_use]
    pub fn number_of_call(&self, level: usize) -> usize {
        let list = self.frame_list();
        match list.ends.get(level) {
            // Each call frame has at least one frame.
            Some(end) => end - 1,
            None => list.len().saturating_add(level - list.ends.len()),
        }
    }

    /// Returns the limit reached before all frames were numbered.
    #[cfg(feature = "serde")]
    pub(crate) fn frames_limit(&self) -> Option<&Error> {
        self.frame_list().limit.as_ref()
    }

    /// Numbers the frames once, with a separate budget, so that the numbers do not depend on queries.
    fn frame_list(&self) -> &FrameList {
        let core = self.core();
        core.frames.get_or_init(|| {
            let meter = self.program().object().meter().for_query();
            FrameList::new(self, &meter)
        })
    }
}

impl<'s, 'p, 'a> StopFrame<'s, 'p, 'a> {
    /// Returns the frame's number in [`Stop::frames`]. For waiting lanes, it is numbered as if the wave were there. A call frame has the number of
    /// its function.
    #[must_use]
    pub fn index(&self) -> usize {
        let first = self.stop.frame_list().first(self.frame.level());
        match self.part {
            Part::One(part) => first + part,
            Part::Whole => self.call_index(),
        }
    }

    /// Returns the number of the call frame that contains the frame.
    #[must_use]
    pub fn call_index(&self) -> usize {
        let list = self.stop.frame_list();
        let level = self.frame.level();
        let last = || self.depth_of_call().unwrap_or(0);
        match self.waiting {
            None => self.stop.number_of_call(level),
            Some(_) => list.first(level) + last(),
        }
    }

    /// Returns the parts of the frame's call frame, innermost first and the function last.
    ///
    /// # Errors
    /// If the debugging information is malformed.
    pub fn parts(&self) -> Result<impl ExactSizeIterator<Item = StopFrame<'s, 'p, 'a>>> {
        let frame = *self;
        let count = self.count_parts(self.stop.meter())?;
        Ok((0..count).map(move |part| frame.part(part)))
    }

    /// Returns one of the parts of a call frame.
    pub(crate) fn part(self, part: usize) -> StopFrame<'s, 'p, 'a> {
        StopFrame {
            part: Part::One(part),
            ..self
        }
    }

    /// Returns the innermost part of the call frame.
    #[must_use]
    pub fn innermost(self) -> StopFrame<'s, 'p, 'a> {
        self.part(0)
    }

    /// Returns true if it is a call frame with all its inlined calls, and not only one part of it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.part == Part::Whole
    }

    /// Returns the call frame with all its inlined calls.
    #[must_use]
    pub fn whole(self) -> StopFrame<'s, 'p, 'a> {
        StopFrame {
            part: Part::Whole,
            ..self
        }
    }

    /// Returns true if variables that are this many inlined calls outside the innermost belong to the frame.
    pub(super) fn has_depth(&self, depth: usize) -> bool {
        self.part == Part::Whole || self.part == Part::One(depth)
    }

    /// Returns the scopes in which names of the frame are looked up: the blocks and the function of the frame.
    ///
    /// # Errors
    /// If the debugging information of the function is malformed.
    pub(crate) fn name_scopes(&self, function: DieId) -> Result<NameScopes> {
        let call = match self.part {
            Part::Whole => None,
            Part::One(part) => Some(part),
        };
        let (info, meter) = (self.stop.program().info(), self.stop.meter());
        info.name_scopes(function, self.lookup_address(), call, meter)
    }

    /// Returns the number of frames in the call frame: one for each inlined call at the program location, and one for the function.
    fn count_parts(&self, meter: &Meter) -> Result<usize> {
        let mut count = 0_usize;
        for _ in self.source_frames(meter)? {
            meter.work(PER_FRAME)?;
            count += 1;
        }
        Ok(count.max(1))
    }

    /// Returns the number of inlined calls around the program location.
    pub(super) fn depth_of_call(&self) -> Result<usize> {
        Ok(self.count_parts(self.stop.meter())? - 1)
    }
}
