//! Locates each lane of a frame, including those that EXEC has switched off.
//!
//! Sources: HET A.3.3.5, items 4 to 6; USAGE `DW_AT_LLVM_lane_pc`, `DW_AT_LLVM_active_lane`.

use super::stop::{StopFrame, is_active};
use crate::arch::{Lane, ProcessAddress, Register};
use crate::debug_info::Function;
use crate::error::{Error, ErrorKind, Resource, Result, SpecRule};
use crate::eval::{Context, LaneFocus, locate};
use crate::lane_flow::Reason;
use crate::location::{Access, Location, Storage, read, read_value};

/// The condition for locating inactive lanes with the machine code ([`lane_flow`](crate::lane_flow)).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// If `DW_AT_LLVM_lane_pc` does not locate them.
    #[default]
    WhereMissing,
    /// Never: a lane without an attribute value is unknown.
    Never,
    /// Always: attributes are not used.
    Always,
}

/// The origin of a waiting lane's position.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneOrigin {
    /// `DW_AT_LLVM_lane_pc`.
    Dwarf,
    /// The machine code, with the state of the wave.
    Recovered {
        /// The instruction that switched the lane off, an address of the process, or `None` if there are several candidates.
        left: Option<ProcessAddress>,
        /// The first instruction that executes with the lane on again, or `None` if the wave ends before.
        resumes: Option<ProcessAddress>,
    },
}

impl LaneOrigin {
    /// Returns `dwarf` or `recovered`: `origin` of the JSON documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LaneOrigin::Dwarf => "dwarf",
            LaneOrigin::Recovered { .. } => "recovered",
        }
    }

    /// Returns the instruction that switched the lane off, an address of the process, if it is known.
    #[must_use]
    pub const fn left(self) -> Option<ProcessAddress> {
        match self {
            LaneOrigin::Dwarf => None,
            LaneOrigin::Recovered { left, .. } => left,
        }
    }

    /// Returns the first instruction that executes with the lane on again, an address of the process, if it is known.
    #[must_use]
    pub const fn resumes(self) -> Option<ProcessAddress> {
        match self {
            LaneOrigin::Dwarf => None,
            LaneOrigin::Recovered { resumes, .. } => resumes,
        }
    }
}

/// The reason why the position of a lane is unknown.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownLane {
    /// There is no `DW_AT_LLVM_lane_pc`, and the machine code was not used.
    NoAttribute,
    /// The machine code does not determine it.
    Code(Reason),
}

impl UnknownLane {
    /// Returns the reason's stable name: `reason` of the JSON documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            UnknownLane::NoAttribute => "no-attribute",
            UnknownLane::Code(reason) => reason.name(),
        }
    }
}

/// Returns the reason as text.
impl core::fmt::Display for UnknownLane {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            UnknownLane::NoAttribute => f.write_str("the function has no DW_AT_LLVM_lane_pc"),
            UnknownLane::Code(reason) => reason.fmt(f),
        }
    }
}

/// The place of a lane in a frame.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LanePlace {
    /// At the frame's program location.
    Active,
    /// Switched off.
    Waiting {
        /// The lane's program location, an address of the process.
        pc: ProcessAddress,
        /// The source of the place.
        origin: LaneOrigin,
    },
    /// Inactive on entry to the function. It can only be in a caller ([`StopFrame::lanes_in_callers`]).
    Elsewhere,
    /// Not started by the dispatch.
    NotDispatched,
    /// The place is unknown.
    Unknown(UnknownLane),
}

impl LanePlace {
    /// Returns `active`, `waiting`, `elsewhere` or `unknown`: `state` of the JSON documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LanePlace::Active => "active",
            LanePlace::Waiting { .. } => "waiting",
            LanePlace::Elsewhere | LanePlace::NotDispatched => "elsewhere",
            LanePlace::Unknown(_) => "unknown",
        }
    }

    /// Returns the origin of a waiting lane's position, or `None` for other lanes.
    #[must_use]
    pub const fn origin(self) -> Option<LaneOrigin> {
        match self {
            LanePlace::Waiting { origin, .. } => Some(origin),
            LanePlace::Active
            | LanePlace::Elsewhere
            | LanePlace::NotDispatched
            | LanePlace::Unknown(_) => None,
        }
    }

    /// Returns the reason for an unknown position, or `not-dispatched`: `reason` of the JSON documents.
    #[must_use]
    pub const fn reason(self) -> Option<&'static str> {
        match self {
            LanePlace::NotDispatched => Some("not-dispatched"),
            LanePlace::Unknown(why) => Some(why.name()),
            LanePlace::Active | LanePlace::Waiting { .. } | LanePlace::Elsewhere => None,
        }
    }

    /// Returns the reason for an unknown position.
    #[must_use]
    pub const fn unknown(self) -> Option<UnknownLane> {
        match self {
            LanePlace::Unknown(why) => Some(why),
            LanePlace::Active
            | LanePlace::Waiting { .. }
            | LanePlace::Elsewhere
            | LanePlace::NotDispatched => None,
        }
    }
}

/// The places of a frame's lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanePcs {
    /// The frame's program location.
    pc: ProcessAddress,
    is_known: bool,
    places: Vec<LanePlace>,
    recovery: Recovery,
}

/// The position, in a calling frame, of a lane that was inactive on entry to a function.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneInCaller {
    /// The frame's level, which can be further out than the call frame information leads.
    pub level: usize,
    /// The lane's program location there, an address of the process.
    pub pc: ProcessAddress,
}

/// The lanes of a frame according to attributes.
pub(crate) struct SaidLanes {
    /// The mask of active lanes, from `DW_AT_LLVM_active_lane`, or else from EXEC.
    pub(crate) active: u64,
    /// True if it is from the attribute.
    pub(crate) says_active: bool,
    /// The element of `DW_AT_LLVM_lane_pc` for each lane, active or not, or `None` if it is undefined.
    pub(crate) pcs: Vec<Option<ProcessAddress>>,
}

impl LanePcs {
    /// Returns each lane, from lane 0.
    #[must_use]
    pub fn places(&self) -> &[LanePlace] {
        &self.places
    }

    /// Returns the program location of each lane from lane 0, an address of the process. It is `None` for a lane that was inactive on entry to the
    /// function, or whose position is unknown.
    pub fn pcs(&self) -> impl ExactSizeIterator<Item = Option<ProcessAddress>> {
        self.places.iter().map(|place| match *place {
            LanePlace::Active => Some(self.pc),
            LanePlace::Waiting { pc, .. } => Some(pc),
            LanePlace::Elsewhere | LanePlace::NotDispatched | LanePlace::Unknown(_) => None,
        })
    }

    /// Returns the mask of active lanes: from `DW_AT_LLVM_active_lane`, from the machine code, or from EXEC.
    #[must_use]
    pub fn active(&self) -> u64 {
        let lanes = (0..).map(Lane).zip(&self.places);
        let active = lanes.filter(|(_, place)| **place == LanePlace::Active);
        active.fold(0, |mask, (lane, _)| mask | lane.bit())
    }

    /// Returns true if inactive lanes were located, with `DW_AT_LLVM_lane_pc` or with the machine code. Otherwise they may be anywhere.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// Returns true if a lane is active.
    #[must_use]
    pub fn is_active(&self, lane: Lane) -> bool {
        self.places.get(usize::from(lane.0)) == Some(&LanePlace::Active)
    }
}

impl<'p, 'a> StopFrame<'_, 'p, 'a> {
    /// Locates each lane of this frame, by `DW_AT_LLVM_lane_pc` or else by the machine code.
    ///
    /// # Errors
    /// If an expression cannot be evaluated, or the mask of active lanes is not available.
    pub fn lane_pcs(&self) -> Result<LanePcs> {
        self.lane_pcs_by(Recovery::default())
    }

    /// Locates each lane. `recovery` is the condition for using the machine code.
    ///
    /// # Errors
    /// If an expression cannot be evaluated, or the mask of active lanes is not available.
    pub fn lane_pcs_by(&self, recovery: Recovery) -> Result<LanePcs> {
        self.stop.reset_meter();
        self.lane_pcs_within(recovery)
    }

    /// Locates each lane, as part of another query.
    pub(crate) fn lane_pcs_within(&self, recovery: Recovery) -> Result<LanePcs> {
        if self.is_of_waiting_lanes() {
            return self.for_wave().lane_pcs_within(recovery);
        }
        let said = match recovery {
            Recovery::Always => None,
            Recovery::WhereMissing | Recovery::Never => self.lane_pcs_said(recovery)?,
        };
        if let Some(said) = said {
            return Ok(said);
        }
        let lanes = self.wave_size().all_lanes();
        let places = if recovery == Recovery::Never {
            let unknown = LanePlace::Unknown(UnknownLane::NoAttribute);
            let function = self.function()?;
            let active = self.active_said(function.as_ref())?;
            self.with_active(active, lanes.map(|_| unknown))
        } else {
            // In sections where the compiler switches other lanes on, EXEC does not give the active lanes.
            let level = self.frame.level();
            let places = lanes.map(|lane| self.stop.recovered_place(level, lane));
            self.with_active(0, places.collect::<Result<Vec<_>>>()?)
        };
        Ok(LanePcs {
            pc: self.frame.pc(),
            is_known: recovery != Recovery::Never,
            places,
            recovery,
        })
    }

    /// Locates the lanes by attributes. Returns `None` if these do not locate inactive lanes at the frame's program location.
    fn lane_pcs_said(&self, recovery: Recovery) -> Result<Option<LanePcs>> {
        let Some(said) = self.said_lanes()? else {
            return Ok(None);
        };
        let active = match recovery {
            Recovery::WhereMissing if !said.says_active => self.recovered_active(said.active)?,
            Recovery::WhereMissing | Recovery::Always | Recovery::Never => said.active,
        };
        let origin = LaneOrigin::Dwarf;
        let places = said.pcs.into_iter().map(|pc| match pc {
            Some(pc) => LanePlace::Waiting { pc, origin },
            None => LanePlace::Elsewhere,
        });
        Ok(Some(LanePcs {
            pc: self.frame.pc(),
            is_known: true,
            places: self.with_active(active, places),
            recovery,
        }))
    }

    /// Returns the active lanes according to the machine code. In sections where the compiler switches others on, EXEC has more than these.
    ///
    /// * `otherwise`: the mask for lanes that the code does not determine.
    fn recovered_active(&self, otherwise: u64) -> Result<u64> {
        let level = self.frame.level();
        let mut active = 0;
        for lane in self.wave_size().all_lanes() {
            let is_active = match self.stop.recovered_place(level, lane)? {
                LanePlace::Active => true,
                LanePlace::Unknown(_) => otherwise & lane.bit() != 0,
                LanePlace::Waiting { .. } | LanePlace::Elsewhere | LanePlace::NotDispatched => {
                    false
                }
            };
            active |= if is_active { lane.bit() } else { 0 };
        }
        Ok(active)
    }

    /// Reads the lanes at the frame's program location from attributes. Returns `None` if these do not locate inactive lanes.
    pub(crate) fn said_lanes(&self) -> Result<Option<SaidLanes>> {
        let Some(function) = self.function()? else {
            return Ok(None);
        };
        let Some(attribute) = function.simt.lane_pc else {
            return Ok(None);
        };
        let wave = self.stop.wave();
        let lanes = wave.wave_size().lanes();
        let context = self.strict_context_of(&function);
        // These attributes apply to the whole wave.
        let context = Context {
            lane: LaneFocus::None,
            ..context.context()
        };
        // Nearly all reads here have one part, and `verify` makes thousands.
        let access = Access {
            meter: None,
            ..self.stop.access(None)
        };
        let location = locate(&attribute, &context)?;
        let Some(place) = location.single() else {
            return Err(SpecRule::LanePcKind.into());
        };
        // If no entry of a location list holds here, no lane is located.
        if place.storage == Storage::Undefined {
            return Ok(None);
        }
        let active = self.active_said(Some(&function))?;
        let pcs = read_addresses(&location, lanes, &access)?;
        Ok(Some(SaidLanes {
            active,
            says_active: function.simt.active_lane.is_some(),
            pcs,
        }))
    }

    /// Returns the active lanes of a function by `DW_AT_LLVM_active_lane`, or else by EXEC. If the attribute has no value at the frame's program
    /// location, EXEC may have other lanes, and the result is `None`.
    fn active_said(&self, function: Option<&Function<'a>>) -> Result<u64> {
        let said = function.and_then(|one| Some((one, one.simt.active_lane.as_ref()?)));
        let Some((function, attribute)) = said else {
            return self.exec_or_missing();
        };
        let context = self.strict_context_of(function);
        // The attribute applies to the whole wave.
        let context = Context {
            lane: LaneFocus::None,
            ..context.context()
        };
        let location = locate(attribute, &context)?;
        let place = location.single();
        if place.is_some_and(|place| place.storage == Storage::Undefined) {
            return Ok(0);
        }
        let wave = self.stop.wave();
        // Nearly all reads here have one part, and `verify` makes thousands.
        let access = Access {
            meter: None,
            ..self.stop.access(None)
        };
        let lanes = wave.wave_size().lanes();
        Ok(u64::try_from(read_value(&location, lanes, &access)?).unwrap_or(u64::MAX))
    }

    /// Marks the lanes of `active` as active, and lanes that were never started as not dispatched.
    fn with_active(
        &self,
        active: u64,
        places: impl IntoIterator<Item = LanePlace>,
    ) -> Vec<LanePlace> {
        let started = self.stop.dispatched();
        let lanes = self.wave_size().all_lanes().zip(places);
        let place = |(lane, place): (Lane, LanePlace)| match place {
            _ if active & lane.bit() != 0 => LanePlace::Active,
            LanePlace::Waiting { .. } | LanePlace::Elsewhere | LanePlace::Unknown(_)
                if !is_active(started, lane) =>
            {
                LanePlace::NotDispatched
            }
            place @ (LanePlace::Active
            | LanePlace::Waiting { .. }
            | LanePlace::Elsewhere
            | LanePlace::NotDispatched
            | LanePlace::Unknown(_)) => place,
        };
        lanes.map(place).collect()
    }

    /// Reads EXEC in this frame.
    fn exec_or_missing(&self) -> Result<u64> {
        let exec = Register::exec(self.wave_size());
        let missing = || Error::from(ErrorKind::Unavailable(Resource::Register(exec)));
        self.exec().ok_or_else(missing)
    }

    /// Returns the positions of lanes that were inactive on entry to the function of this frame, by lane: in the nearest caller that they entered. It
    /// is `None` for lanes in this frame, for lanes that the dispatch did not start, and for lanes that no caller locates. A caller whose lanes are
    /// unknown ends the search.
    ///
    /// * `found`: the result of [`lane_pcs`](Self::lane_pcs) for this frame.
    ///
    /// Source: USAGE `DW_AT_LLVM_lane_pc`. A lane has only the frames in which its location is not undefined.
    #[must_use]
    pub fn lanes_in_callers(&self, found: &LanePcs) -> Vec<Option<LaneInCaller>> {
        let mut places = vec![None; found.places.len()];
        let mut missing: Vec<(usize, Lane)> = (self.wave_size().all_lanes().enumerate())
            .filter(|(n, _)| found.places.get(*n) == Some(&LanePlace::Elsewhere))
            .collect();
        let mut level = self.frame.level();
        while !missing.is_empty() {
            level += 1;
            let caller = self.stop.call_frame(level);
            let said = caller.and_then(|caller| caller.lane_pcs_within(found.recovery).ok());
            let here = |n: usize, lane: Lane| {
                let said = said.as_ref().and_then(|said| said.places.get(n).copied());
                let said = said.filter(|place| !matches!(place, LanePlace::Unknown(_)));
                said.or_else(|| self.stop.recovered_in_caller(level, lane, found.recovery))
            };
            missing.retain(|(n, lane)| match here(*n, *lane) {
                Some(LanePlace::Elsewhere) => true,
                Some(LanePlace::Waiting { pc, .. }) => {
                    if let Some(place) = places.get_mut(*n) {
                        *place = Some(LaneInCaller { level, pc });
                    }
                    false
                }
                // A lane that is active at the call has entered.
                Some(LanePlace::Active | LanePlace::NotDispatched | LanePlace::Unknown(_))
                | None => false,
            });
        }
        places
    }
}

/// Reads an address for each lane, with `None` for an undefined one.
fn read_addresses(
    location: &Location<'_>,
    lanes: u32,
    access: &Access<'_>,
) -> Result<Vec<Option<ProcessAddress>>> {
    /// The size of an address in bits, which equals the generic type's.
    const SIZE: u64 = 64;
    let bits = read(location, SIZE * u64::from(lanes), access)?;
    let lanes = bits.bytes.chunks_exact(8).zip((0u64..).step_by(64));
    Ok(lanes
        .map(|(bytes, start)| {
            let missing = start..start + SIZE;
            let known =
                !bits.undefined.overlaps(missing.clone()) && !bits.unavailable.overlaps(missing);
            let address = bytes.try_into().map(u64::from_le_bytes).ok();
            address.filter(|_| known).map(ProcessAddress)
        })
        .collect())
}
