//! `hetdwarf-lane-pc/1`: where each lane is.

use serde::Serialize;

use super::number::Hex;
use super::vars::{VarsFrame, file_name};
use crate::error::Result;
use crate::inspect::StopFrame;

/// The document.
#[derive(Clone, Debug, Serialize)]
pub struct LanePcDocument {
    /// `hetdwarf-lane-pc/1`.
    pub format: &'static str,
    /// The function.
    pub function: Option<String>,
    /// The frame's level; 0 is the innermost.
    pub frame: usize,
    /// Whether the function says where inactive lanes are (`DW_AT_LLVM_lane_pc`).
    pub known: bool,
    /// What that means, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Each lane.
    pub lanes: Vec<LanePcLane>,
}

/// A lane.
#[derive(Clone, Debug, Serialize)]
pub struct LanePcLane {
    /// The lane.
    pub lane: usize,
    /// Its program location, in the process; null if it was not active on entry, or is not known.
    pub pc: Option<Hex>,
    /// Whether it is active.
    pub active: bool,
    /// The source file's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
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
        let message = (!found.is_known).then(|| {
            "the function has no DW_AT_LLVM_lane_pc: where inactive lanes are is not known"
                .to_owned()
        });
        let mut lanes = Vec::with_capacity(found.pcs.len());
        let mut last = None;
        for (lane, (pc, number)) in found.pcs.iter().zip(0u8..).enumerate() {
            // Many lanes are in the same place.
            let place = match (pc, &last) {
                (None, _) => None,
                (Some(pc), Some((known, line))) if known == pc => Some(Clone::clone(line)),
                (Some(pc), _) => {
                    let line = frame.line_of_lane(*pc)?;
                    last = Some((*pc, line.clone()));
                    Some(line)
                }
            };
            let line = place.flatten();
            lanes.push(LanePcLane {
                lane,
                pc: pc.map(Hex::from),
                active: found.is_active(crate::arch::Lane(number)),
                file: line.as_ref().and_then(|line| file_name(line.file.as_ref())),
                line: line.as_ref().map(|line| line.line),
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
