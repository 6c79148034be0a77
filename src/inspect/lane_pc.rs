//! Where each lane of a frame is: also the lanes that EXEC has switched off.
//!
//! Sources: HET A.3.3.5, items 4 to 6; USAGE `DW_AT_LLVM_lane_pc`, `DW_AT_LLVM_active_lane`.

use super::stop::{StopFrame, is_active};
use crate::arch::{Lane, Register};
use crate::debug_info::{DebugInfo, SourceLine};
use crate::error::{Error, ErrorKind, Resource, Result, SpecRule};
use crate::eval::{Context, LaneFocus, LocationAttribute, Subprogram, locate};
use crate::location::{Access, Location, read, read_value};

/// Where the lanes of a frame are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanePcs {
    /// The program location of each lane, an address of the process; nothing where a lane was not active
    /// on entry to the function, or where it cannot be told.
    pub pcs: Vec<Option<u64>>,
    /// The lanes that are active: by `DW_AT_LLVM_active_lane`, else by EXEC.
    pub active: u64,
    /// Whether the function has a `DW_AT_LLVM_lane_pc`: without one, inactive lanes may be anywhere.
    pub is_known: bool,
}

/// Where a lane is that was not active on entry to a function: in a frame that called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneInCaller {
    /// The frame's level.
    pub level: usize,
    /// The lane's program location there, an address of the process.
    pub pc: u64,
}

impl LanePcs {
    /// Whether a lane is active.
    #[must_use]
    pub fn is_active(&self, lane: Lane) -> bool {
        is_active(Some(self.active), lane)
    }
}

impl<'p> StopFrame<'_, 'p, '_> {
    /// Where each lane of this frame is.
    ///
    /// # Errors
    /// If an expression cannot be evaluated, or the mask of active lanes is not available.
    pub fn lane_pcs(&self) -> Result<LanePcs> {
        self.stop.begin_question();
        let function = self.function()?;
        let simt = function
            .as_ref()
            .map(|function| function.simt)
            .unwrap_or_default();
        let wave = self.stop.wave();
        let lanes = wave.wave_size().lanes();
        let subprogram = function.as_ref().map(|function| Subprogram {
            frame_base: function.frame_base,
            lanes: function.simt.lanes,
            iterations: None,
        });
        let access = Access {
            wave,
            lane: None,
            max_bits: self.stop.limits().bits,
        };
        let active = match simt.active_lane {
            Some(attribute) => {
                let location = self.locate_whole(&attribute, subprogram)?;
                u64::try_from(read_value(&location, lanes, &access)?).unwrap_or(u64::MAX)
            }
            None => {
                let exec = Register::exec(wave.wave_size());
                let missing = || Error::from(ErrorKind::Unavailable(Resource::Register(exec)));
                self.exec().ok_or_else(missing)?
            }
        };
        let Some(attribute) = simt.lane_pc else {
            let pc = self.frame.pc();
            let pcs = wave
                .wave_size()
                .all_lanes()
                .map(|lane| is_active(Some(active), lane).then_some(pc));
            return Ok(LanePcs {
                pcs: pcs.collect(),
                active,
                is_known: false,
            });
        };
        let location = self.locate_whole(&attribute, subprogram)?;
        if location.single().is_none() {
            return Err(SpecRule::LanePcKind.into());
        }
        Ok(LanePcs {
            pcs: read_addresses(&location, lanes, &access)?,
            active,
            is_known: true,
        })
    }

    /// Where lanes are that were not active on entry to the function of this frame, by lane: in the nearest
    /// caller where their location is not undefined. Nothing for lanes that are somewhere in this frame, and for those
    /// that no caller knows: one without `DW_AT_LLVM_lane_pc`, or whose expression cannot be evaluated, ends
    /// the search.
    ///
    /// * `found`: what [`lane_pcs`](Self::lane_pcs) found of this frame.
    ///
    /// Source: USAGE `DW_AT_LLVM_lane_pc`; a lane only has the frames in which its location is not undefined.
    #[must_use]
    pub fn lanes_in_callers(&self, found: &LanePcs) -> Vec<Option<LaneInCaller>> {
        let mut places = vec![None; found.pcs.len()];
        if !found.is_known {
            return places;
        }
        let mut level = self.frame.level();
        loop {
            let mut missing = found.pcs.iter().zip(&places);
            if !missing.any(|(pc, place)| pc.is_none() && place.is_none()) {
                return places;
            }
            level = level.saturating_add(1);
            let caller = self.stop.frame(level);
            let Some(Ok(pcs)) = caller.map(|caller| caller.lane_pcs()) else {
                return places;
            };
            if !pcs.is_known {
                return places;
            }
            for ((here, place), pc) in found.pcs.iter().zip(&mut places).zip(&pcs.pcs) {
                if let (None, None, Some(pc)) = (here, &place, pc) {
                    *place = Some(LaneInCaller { level, pc: *pc });
                }
            }
        }
    }

    /// The location of an attribute that is about the whole wave.
    fn locate_whole(
        &self,
        attribute: &LocationAttribute<'p>,
        subprogram: Option<Subprogram<'p>>,
    ) -> Result<Location<'p>> {
        let stop = self.stop;
        let info: &'p DebugInfo<'_> = stop.program().info();
        let call_frame = self.frame;
        let context = Context {
            wave: Some(stop.wave()),
            processor: Some(stop.program().processor()),
            lane: LaneFocus::None,
            frame: Some(&call_frame),
            pc: Some(call_frame.lookup_address()),
            load_address: stop.options().load_address,
            resolver: Some(&info),
            subprogram,
            reading: stop.options().reading,
            limits: *stop.limits(),
            meter: Some(stop.meter()),
            ..Context::new(stop.arena())
        };
        locate(attribute, &context)
    }

    /// The source line of a lane that is at `pc`, an address of the process.
    ///
    /// # Errors
    /// If the line table is malformed.
    pub fn line_of_lane(&self, pc: u64) -> Result<Option<SourceLine>> {
        let pc = pc.wrapping_sub(self.stop.options().load_address);
        // The lanes of a caller wait behind the call.
        let lookup = if self.frame.level() == 0 {
            pc
        } else {
            pc.wrapping_sub(1)
        };
        self.stop.program().info().line_at(lookup)
    }
}

/// Reads an address for each lane; nothing where it is undefined.
fn read_addresses(
    location: &Location<'_>,
    lanes: u32,
    access: &Access<'_>,
) -> Result<Vec<Option<u64>>> {
    /// Of an address, in bits: the generic type's.
    const SIZE: u64 = 64;
    let bits = read(location, SIZE.saturating_mul(lanes.into()), access)?;
    let lanes = bits.bytes.chunks_exact(8).zip((0u64..).step_by(64));
    Ok(lanes
        .map(|(bytes, start)| {
            let missing = start..start.saturating_add(SIZE);
            let known =
                !bits.undefined.overlaps(missing.clone()) && !bits.unavailable.overlaps(missing);
            let address = bytes.try_into().map(u64::from_le_bytes).ok();
            address.filter(|_| known)
        })
        .collect())
}
