//! `hetdwarf-lane-pc/1`: where each lane is.

use std::collections::BTreeMap;

use serde::Serialize;

use super::number::Hex;
use super::vars::{VarsFrame, file_name};
use crate::arch::Lane;
use crate::debug_info::SourceLine;
use crate::error::Result;
use crate::inspect::{LaneInCaller, StopFrame};
use crate::untrusted::Untrusted;

/// The document.
#[derive(Clone, Debug, Serialize)]
pub struct LanePcDocument {
    /// `hetdwarf-lane-pc/1`.
    pub format: &'static str,
    /// The function.
    pub function: Option<Untrusted<'static>>,
    /// The frame's level; 0 is the innermost.
    pub frame: usize,
    /// Whether the function says where inactive lanes are (`DW_AT_LLVM_lane_pc`).
    pub known: bool,
    /// What that means, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Untrusted<'static>>,
    /// Each lane.
    pub lanes: Vec<LanePcLane>,
}

/// A lane.
#[derive(Clone, Debug, Serialize)]
pub struct LanePcLane {
    /// The lane.
    pub lane: usize,
    /// The work-item that it is, by its place in the grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_item: Option<[u32; 3]>,
    /// Its program location, in the process; null if it was not active on entry, or is not known.
    pub pc: Option<Hex>,
    /// Whether it is active.
    pub active: bool,
    /// The source file's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Untrusted<'static>>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Where it is instead, if it was not active on entry: in a frame further out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<LanePcCaller>,
}

/// Where a lane is that was not active on entry.
#[derive(Clone, Debug, Serialize)]
pub struct LanePcCaller {
    /// The level of the frame.
    pub frame: usize,
    /// The function of the frame.
    pub function: Option<Untrusted<'static>>,
    /// The lane's program location in it, in the process.
    pub pc: Hex,
    /// The source file's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Untrusted<'static>>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

impl LanePcDocument {
    /// Describes the lanes of a frame.
    ///
    /// # Errors
    /// If the expressions of the function cannot be evaluated, or its line table is malformed.
    pub fn new(frame: &StopFrame<'_, '_, '_>) -> Result<LanePcDocument> {
        let VarsFrame {
            index, function, ..
        } = VarsFrame::new(frame)?;
        let found = frame.lane_pcs()?;
        let callers = frame.lanes_in_callers(&found);
        let message = match function {
            Some(_) if found.is_known => None,
            Some(_) => Some(
                "the function has no DW_AT_LLVM_lane_pc: where inactive lanes are is not known"
                    .into(),
            ),
            None => frame.undescribed()?.map(|reason| reason.to_string().into()),
        };
        let mut lanes = Vec::with_capacity(found.pcs.len());
        // Many lanes are in the same place.
        let mut lines = Lines::default();
        let places = found.pcs.iter().zip(&callers).zip(0u8..).enumerate();
        for (lane, ((pc, caller), number)) in places {
            let line = match pc {
                Some(pc) => lines.of(frame, *pc)?,
                None => None,
            };
            let caller = match caller {
                Some(place) => LanePcCaller::new(frame, *place, &mut lines)?,
                None => None,
            };
            lanes.push(LanePcLane {
                lane,
                work_item: frame.stop().wave().work_item(Lane(number)),
                pc: pc.map(Hex::from),
                active: found.is_active(Lane(number)),
                file: line.as_ref().and_then(|line| file_name(line.file.as_ref())),
                line: line.as_ref().map(|line| line.line),
                caller,
            });
        }
        Ok(LanePcDocument {
            format: "hetdwarf-lane-pc/1",
            function,
            frame: index,
            known: found.is_known,
            message,
            lanes,
        })
    }
}

impl LanePcCaller {
    fn new(
        frame: &StopFrame<'_, '_, '_>,
        place: LaneInCaller,
        lines: &mut Lines,
    ) -> Result<Option<LanePcCaller>> {
        let Some(caller) = frame.stop().frame(place.level) else {
            return Ok(None);
        };
        let line = lines.of(&caller, place.pc)?;
        Ok(Some(LanePcCaller {
            frame: place.level,
            function: VarsFrame::new(&caller)?.function,
            pc: Hex::from(place.pc),
            file: line.as_ref().and_then(|line| file_name(line.file.as_ref())),
            line: line.map(|line| line.line),
        }))
    }
}

/// The source lines of program locations, each looked up once for each frame.
#[derive(Default)]
pub(super) struct Lines(BTreeMap<(usize, u64), Option<SourceLine>>);

impl Lines {
    /// The source line of a lane that is at `pc` in a frame.
    pub(super) fn of(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        pc: u64,
    ) -> Result<Option<SourceLine>> {
        let key = (frame.call_frame().level(), pc);
        if let Some(known) = self.0.get(&key) {
            return Ok(known.clone());
        }
        let line = frame.line_of_lane(pc)?;
        self.0.insert(key, line.clone());
        Ok(line)
    }
}
