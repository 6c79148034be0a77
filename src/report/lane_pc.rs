//! `hetdwarf-lane-pc/1`: the place of each lane.

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::completeness::Completeness;
use super::frame::{FrameDocument, line_warnings, path};
use super::number::Hex;
use crate::arch::{Lane, ProcessAddress};
use crate::error::Result;
use crate::inspect::{FrameDescription, LaneInCaller, LaneOrigin, LanePlace, Recovery, StopFrame};
use crate::untrusted::Untrusted;

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct LanePcDocument {
    /// `hetdwarf-lane-pc/1`.
    pub format: &'static str,
    /// The function, which may be the inlined function at the wave's program location.
    pub function: Option<Untrusted<'static>>,
    /// The number of the frame. The innermost frame is 0.
    pub frame: usize,
    /// True if the places of inactive lanes were determined, with `DW_AT_LLVM_lane_pc` or from the machine code.
    pub known: bool,
    /// Further explanation, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Untrusted<'static>>,
    /// Problems with the line tables that were needed. The lanes then lack files and lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Untrusted<'static>>,
    /// The completeness of the document, whose fields are flattened into it.
    #[serde(flatten)]
    pub completeness: Completeness,
    /// The lanes. Empty if a limit was reached before the place of any lane was known.
    pub lanes: Vec<LanePcLane>,
}

/// A lane.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct LanePcLane {
    /// The lane.
    pub lane: usize,
    /// The position of the work-item in the grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_item: Option<[u32; 3]>,
    /// The program location as an address of the process; null if the lane was not active on entry, or the location is not known.
    pub pc: Option<Hex>,
    /// The lane's place: `active`, `state`, `origin`, `left` and `resumes`, and `reason`.
    #[serde(flatten)]
    pub place: LanePlace,
    /// The path of the source file, as the line table gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Untrusted<'static>>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The place of the lane in an outer frame, if the lane was not active on entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<LanePcCaller>,
}

/// The place of a lane that was not active on entry.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct LanePcCaller {
    /// The number of the call frame.
    pub frame: usize,
    /// The function of that frame.
    pub function: Option<Untrusted<'static>>,
    /// The program location of the lane in this frame, as an address of the process.
    pub pc: Hex,
    /// The path of the source file, as the line table gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Untrusted<'static>>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

impl LanePcDocument {
    /// Describes the lanes of a frame, with `DW_AT_LLVM_lane_pc` or, if that is missing, from the machine code.
    ///
    /// # Errors
    /// If the expressions of the function cannot be evaluated, or its line table is malformed.
    pub fn new(frame: &StopFrame<'_, '_, '_>) -> Result<LanePcDocument> {
        LanePcDocument::by(frame, Recovery::default())
    }

    /// Describes the lanes of a frame. `recovery` determines whether the machine code is analysed.
    ///
    /// # Errors
    /// If the expressions of the function cannot be evaluated, or its line table is malformed.
    pub fn by(frame: &StopFrame<'_, '_, '_>, recovery: Recovery) -> Result<LanePcDocument> {
        frame.stop().reset_meter();
        LanePcDocument::within(frame, recovery)
    }

    /// Does the work of [`LanePcDocument::by`] as a part of a larger query, without a reset of the meter.
    pub(super) fn within(
        frame: &StopFrame<'_, '_, '_>,
        recovery: Recovery,
    ) -> Result<LanePcDocument> {
        let FrameDocument {
            index, function, ..
        } = FrameDocument::new(&frame.for_wave())?;
        let mut completeness = Completeness::default();
        let Some(found) = completeness.accept(frame.lane_pcs_within(recovery))? else {
            return Ok(LanePcDocument {
                format: "hetdwarf-lane-pc/1",
                function,
                frame: index,
                known: false,
                message: None,
                warnings: Vec::new(),
                completeness,
                lanes: Vec::new(),
            });
        };
        let callers = frame.lanes_in_callers(&found);
        let message = match function {
            Some(_) if found.is_known() => None,
            Some(_) => Some(
                "the function has no DW_AT_LLVM_lane_pc: the positions of inactive lanes are \
                 unknown"
                    .into(),
            ),
            None => {
                let reason = completeness.accept(frame.undescribed())?.flatten();
                reason.map(|reason| reason.to_string().into())
            }
        };
        let mut lanes = Vec::with_capacity(found.places().len());
        // The source lines are kept, because many lanes are at the same place.
        let mut lines = Lines::default();
        let places = found.pcs().zip(found.places()).zip(&callers);
        for (lane, ((pc, place), caller)) in self::lanes(frame).zip(places) {
            let line = match pc {
                Some(pc) => completeness.accept(lines.of(frame, pc))?,
                None => None,
            };
            let caller = match caller {
                Some(place) => completeness.accept(LanePcCaller::new(frame, *place, &mut lines))?,
                None => None,
            };
            lanes.push(LanePcLane {
                lane: lane.0.into(),
                work_item: frame.stop().wave().work_item(lane),
                pc: pc.map(Hex::from),
                place: *place,
                file: line.as_ref().and_then(|line| line.file.as_ref()).map(path),
                line: line.as_ref().and_then(|line| line.line),
                caller,
            });
        }
        if let Some(refused) = frame.stop().meter().refused() {
            completeness.note(&refused);
        }
        Ok(LanePcDocument {
            format: "hetdwarf-lane-pc/1",
            function,
            frame: index,
            known: found.is_known(),
            message,
            warnings: line_warnings(frame.stop().program().info()),
            completeness,
            lanes,
        })
    }
}

impl LanePcDocument {
    /// Returns true if the place of every lane is known.
    #[must_use]
    pub fn tells_all(&self) -> bool {
        self.lanes.iter().all(|lane| lane.place.unknown().is_none())
    }
}

fn lanes(frame: &StopFrame<'_, '_, '_>) -> impl Iterator<Item = Lane> + use<> {
    frame.wave_size().all_lanes()
}

/// Writes the fields of a lane's place. `left` and `resumes` are null if they are not known.
impl Serialize for LanePlace {
    fn serialize<S: Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("active", &(*self == LanePlace::Active))?;
        fields.serialize_entry("state", self.name())?;
        if let Some(origin) = self.origin() {
            fields.serialize_entry("origin", origin.name())?;
            if origin != LaneOrigin::Dwarf {
                fields.serialize_entry("left", &origin.left().map(Hex::from))?;
                fields.serialize_entry("resumes", &origin.resumes().map(Hex::from))?;
            }
        }
        if let Some(reason) = self.reason() {
            fields.serialize_entry("reason", reason)?;
        }
        fields.end()
    }
}

impl LanePcCaller {
    fn new(
        frame: &StopFrame<'_, '_, '_>,
        place: LaneInCaller,
        lines: &mut Lines,
    ) -> Result<LanePcCaller> {
        let stop = frame.stop();
        let caller = stop.call_frame(place.level);
        let found = lines.of(caller.as_ref().unwrap_or(frame), place.pc)?;
        // The call frame information and the machine code may disagree about the caller. The function is taken from the program location.
        let function = frame.for_waiting(place.pc, 0).description()?.function;
        Ok(LanePcCaller {
            frame: stop.number_of_call(place.level),
            function: function.map(Untrusted::from),
            pc: Hex::from(place.pc),
            file: found.file.as_ref().map(path),
            line: found.line,
        })
    }
}

/// The source lines of program locations. Each location is looked up once for each call frame.
#[derive(Default)]
pub(super) struct Lines(BTreeMap<(usize, ProcessAddress), FrameDescription>);

impl Lines {
    /// Returns the source place of a lane that is at `pc` in a call frame.
    pub(super) fn of(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        pc: ProcessAddress,
    ) -> Result<FrameDescription> {
        let key = (frame.call_frame().level(), pc);
        if let Some(known) = self.0.get(&key) {
            return Ok(known.clone());
        }
        let found = frame.description_of_lane(pc)?;
        self.0.insert(key, found.clone());
        Ok(found)
    }
}
