//! `hetdwarf-lane-pc/1`: where each lane is.

use std::collections::BTreeMap;

use serde::Serialize;

use super::completeness::Completeness;
use super::frame::{FrameDocument, path};
use super::number::Hex;
use crate::arch::{Lane, ProcessAddress};
use crate::error::Result;
use crate::inspect::{
    FrameDescription, LaneInCaller, LaneOrigin, LanePlace, Recovery, StopFrame, UnknownLane,
};
use crate::untrusted::Untrusted;

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct LanePcDocument {
    /// `hetdwarf-lane-pc/1`.
    pub format: &'static str,
    /// The function, or the inlined one that the wave is in.
    pub function: Option<Untrusted<'static>>,
    /// The frame's number; 0 is the innermost.
    pub frame: usize,
    /// Whether inactive lanes were looked for: by `DW_AT_LLVM_lane_pc`, or in the machine code.
    pub known: bool,
    /// What is to be said besides, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Untrusted<'static>>,
    /// Whether a limit was reached; its fields are the document's.
    #[serde(flatten)]
    pub completeness: Completeness,
    /// Each lane; none where a limit was reached before anything was known of them.
    pub lanes: Vec<LanePcLane>,
}

/// What is known of a lane.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LaneStateKind {
    /// It executes.
    Active,
    /// It is switched off, and will go on in this function.
    Waiting,
    /// It was not active on entry to the function, or the dispatch did not start it.
    Elsewhere,
    /// It is switched off, and where it is is not known.
    Unknown,
}

impl LaneStateKind {
    /// `active`, `waiting`, `elsewhere` or `unknown`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LaneStateKind::Active => "active",
            LaneStateKind::Waiting => "waiting",
            LaneStateKind::Elsewhere => "elsewhere",
            LaneStateKind::Unknown => "unknown",
        }
    }
}

/// A lane.
#[non_exhaustive]
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
    /// What is known of it.
    pub state: LaneStateKind,
    /// Of a waiting lane who says where it is: `dwarf` or `recovered`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<&'static str>,
    /// Where that was recovered, the instruction that switched the lane off; null if it cannot be told which of
    /// several did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<Option<Hex>>,
    /// And the first instruction that executes with the lane on again; null if the wave ends before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumes: Option<Option<Hex>>,
    /// Why it is not known where it is, or `not-dispatched` of a lane that the dispatch did not start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Why it is not known, for people.
    #[serde(skip)]
    pub why: Option<UnknownLane>,
    /// The path of the source file, as the line table gives it.
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
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct LanePcCaller {
    /// The number of the call frame.
    pub frame: usize,
    /// The function of that frame.
    pub function: Option<Untrusted<'static>>,
    /// The lane's program location in it, in the process.
    pub pc: Hex,
    /// The path of the source file, as the line table gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Untrusted<'static>>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

impl LanePcDocument {
    /// Describes the lanes of a frame, as `DW_AT_LLVM_lane_pc` says or else the machine code.
    ///
    /// # Errors
    /// If the expressions of the function cannot be evaluated, or its line table is malformed.
    pub fn new(frame: &StopFrame<'_, '_, '_>) -> Result<LanePcDocument> {
        LanePcDocument::by(frame, Recovery::default())
    }

    /// The same; `recovery` says whether the machine code is asked.
    ///
    /// # Errors
    /// If the expressions of the function cannot be evaluated, or its line table is malformed.
    pub fn by(frame: &StopFrame<'_, '_, '_>, recovery: Recovery) -> Result<LanePcDocument> {
        frame.stop().reset_meter();
        LanePcDocument::within(frame, recovery)
    }

    /// [`LanePcDocument::by`] as a part of a question.
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
                completeness,
                lanes: Vec::new(),
            });
        };
        let callers = frame.lanes_in_callers(&found);
        let message = match function {
            Some(_) if found.is_known => None,
            Some(_) => Some(
                "the function has no DW_AT_LLVM_lane_pc: where inactive lanes are is not known"
                    .into(),
            ),
            None => {
                let reason = completeness.accept(frame.undescribed())?.flatten();
                reason.map(|reason| reason.to_string().into())
            }
        };
        let mut lanes = Vec::with_capacity(found.pcs.len());
        // Many lanes are in the same place.
        let mut lines = Lines::default();
        let places = found.pcs.iter().zip(&found.places).zip(&callers);
        for (lane, ((pc, place), caller)) in self::lanes(frame).zip(places) {
            let line = match pc {
                Some(pc) => completeness.accept(lines.of(frame, *pc))?,
                None => None,
            };
            let caller = match caller {
                Some(place) => completeness.accept(LanePcCaller::new(frame, *place, &mut lines))?,
                None => None,
            };
            lanes.push(LanePcLane {
                work_item: frame.stop().wave().work_item(lane),
                pc: pc.map(Hex::from),
                active: found.is_active(lane),
                file: line.as_ref().and_then(|line| line.file.as_ref()).map(path),
                line: line.as_ref().and_then(|line| line.line),
                caller,
                ..LanePcLane::at(lane, *place)
            });
        }
        if let Some(refused) = frame.stop().meter().refused() {
            completeness.note(&refused);
        }
        Ok(LanePcDocument {
            format: "hetdwarf-lane-pc/1",
            function,
            frame: index,
            known: found.is_known,
            message,
            completeness,
            lanes,
        })
    }
}

impl LanePcDocument {
    /// Whether it says of every lane where it is.
    #[must_use]
    pub fn tells_all(&self) -> bool {
        self.lanes
            .iter()
            .all(|lane| lane.state != LaneStateKind::Unknown)
    }
}

fn lanes(frame: &StopFrame<'_, '_, '_>) -> impl Iterator<Item = Lane> + use<> {
    frame.wave_size().all_lanes()
}

impl LanePcLane {
    /// What its place says.
    fn at(lane: Lane, place: LanePlace) -> LanePcLane {
        let mut document = LanePcLane {
            lane: lane.0.into(),
            work_item: None,
            pc: None,
            active: false,
            state: LaneStateKind::Active,
            origin: None,
            left: None,
            resumes: None,
            reason: None,
            why: None,
            file: None,
            line: None,
            caller: None,
        };
        match place {
            LanePlace::Active => {}
            LanePlace::Waiting { origin, .. } => {
                document.state = LaneStateKind::Waiting;
                document.origin = Some(match origin {
                    LaneOrigin::Dwarf => "dwarf",
                    LaneOrigin::Recovered { left, resumes } => {
                        document.left = Some(left.map(Hex::from));
                        document.resumes = Some(resumes.map(Hex::from));
                        "recovered"
                    }
                });
            }
            LanePlace::Elsewhere => document.state = LaneStateKind::Elsewhere,
            LanePlace::NotDispatched => {
                document.state = LaneStateKind::Elsewhere;
                document.reason = Some("not-dispatched");
            }
            LanePlace::Unknown(why) => {
                document.state = LaneStateKind::Unknown;
                document.reason = Some(why.name());
                document.why = Some(why);
            }
        }
        document
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
        // The call frame information and the machine code need not agree on the caller: the function is that of the place.
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

/// Where program locations are in the source, each looked up once for each call frame.
#[derive(Default)]
pub(super) struct Lines(BTreeMap<(usize, ProcessAddress), FrameDescription>);

impl Lines {
    /// Returns where a lane is in the source that is at `pc` in a call frame.
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
