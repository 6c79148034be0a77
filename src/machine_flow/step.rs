//! The transfer functions that all analyses share: copies between registers, lanes and scratch.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not followed is overwritten, whatever it is"
)]

use core::ops::DerefMut;

use smallvec::SmallVec;

use super::machine::{Lanes, Machine, Row};
use super::scalars::Scalar;
use crate::arch::{ScratchAddressing, WaveSize};
use crate::isa::{Access, Effect, Instruction, MachineRegister, Operand, ScalarOp, Span};

/// The target of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached<R> {
    /// Rows of scratch, from this one on.
    Row(R),
    /// Variables of the program in scratch, whose contents are unknown.
    Variables,
    /// An unknown place in scratch.
    Scratch,
    /// An unknown place in scratch, at this row or above.
    Above(R),
    /// Other memory.
    Elsewhere,
}

/// An operation of the scalar ALU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScalarOperation {
    pub(crate) op: ScalarOp,
    pub(crate) dst: Operand,
    pub(crate) a: Operand,
    pub(crate) b: Operand,
}

/// The known facts about a dword.
type ScalarOf<T> = <<T as Transfer>::Lanes as Lanes>::Scalar;
/// The rows of scratch.
type RowOf<T> = <<T as Transfer>::Lanes as Lanes>::Row;

/// The transfer function of an analysis. It supplies arithmetic, EXEC and calls; the other instructions are provided.
pub(crate) trait Transfer {
    /// The known contents of a vector register or a row of scratch.
    type Lanes: Lanes;
    /// The known contents of the machine at one place of the code.
    type State: DerefMut<Target = Machine<Self::Lanes>>;
    /// The identification of an instruction.
    type Place: Copy;

    fn wave_size(&self) -> WaveSize;

    /// Returns dword `n` of an operand, which may be EXEC.
    fn operand(&self, state: &Self::State, operand: Operand, n: u8) -> ScalarOf<Self>;

    /// Returns the target of an access.
    fn reached(&self, state: &Self::State, access: &Access) -> Reached<RowOf<Self>>;

    /// Writes a register other than a vector register.
    fn write_scalar(
        &self,
        state: &mut Self::State,
        at: Self::Place,
        register: MachineRegister,
        value: ScalarOf<Self>,
    );

    /// Writes one lane of a followed vector register, independent of EXEC.
    fn write_lane(
        &self,
        state: &mut Self::State,
        at: Self::Place,
        register: MachineRegister,
        lane: u8,
        value: ScalarOf<Self>,
    );

    /// Returns the contents of a vector register or a row of scratch after the active lanes were written, if there are any.
    fn overwritten(
        &self,
        state: &Self::State,
        at: Self::Place,
        known: &Self::Lanes,
        new: &Self::Lanes,
    ) -> Option<Self::Lanes>;

    /// Returns true if the contents of a vector register are kept.
    fn is_followed(&self, _: MachineRegister) -> bool {
        true
    }

    /// Returns true if the contents of a row of scratch are kept.
    fn is_kept(&self, _: RowOf<Self>) -> bool {
        true
    }

    /// Returns a vector register.
    fn vector(&self, state: &Self::State, register: MachineRegister) -> Self::Lanes {
        match register {
            MachineRegister::Vgpr(_) | MachineRegister::Agpr(_) if self.is_followed(register) => {
                state.vector(register).into_owned()
            }
            _ => Self::Lanes::COMPUTED,
        }
    }

    /// Writes the active lanes of a vector register.
    fn write_vector(
        &self,
        state: &mut Self::State,
        at: Self::Place,
        register: MachineRegister,
        new: &Self::Lanes,
    ) {
        if self.is_followed(register)
            && let Some(lanes) = self.overwritten(state, at, &state.vector(register), new)
        {
            state.set_vector(register, lanes);
        }
    }

    /// Applies an instruction that does not affect masks. The registers that an unknown instruction writes become unknown.
    fn step_rest(&self, state: &mut Self::State, at: Self::Place, instruction: &Instruction) {
        match instruction.effect {
            Effect::WriteLane { dst, src, lane } if self.is_followed(dst) => {
                let value = self.operand(state, src, 0);
                match self.lane_number(state, lane) {
                    Some(lane) => self.write_lane(state, at, dst, lane, value),
                    None => state.set_vector(dst, Self::Lanes::UNKNOWN),
                }
            }
            Effect::WriteLane { .. } => {}
            Effect::ReadLane { dst, src, lane } => {
                let value = match (src.register(), self.lane_number(state, lane)) {
                    (Some(register), Some(lane)) if self.is_followed(register) => {
                        state.vector(register).lane(lane)
                    }
                    _ => Scalar::UNKNOWN,
                };
                self.write_scalars(state, at, dst, value);
            }
            Effect::ReadFirstLane { dst, .. } => {
                self.write_scalars(state, at, dst, Scalar::UNKNOWN);
            }
            Effect::VectorMove { dst, src } => self.vector_move(state, at, dst, src),
            Effect::Store(access) => self.store(state, at, &access),
            Effect::Load(access) if access.data.is_some() => self.load(state, at, &access),
            // From here on, other state selects the registers of vector instructions.
            Effect::GprIndex => state.lose_vectors(),
            Effect::VgprMsb { bits } if bits != 0 => state.lose_vectors(),
            _ => self.overwrite(state, at, instruction),
        }
    }

    /// Writes each register of an operand.
    fn write_scalars(
        &self,
        state: &mut Self::State,
        at: Self::Place,
        dst: Operand,
        value: ScalarOf<Self>,
    ) {
        for register in dst.registers().into_iter().flat_map(Span::registers) {
            self.write_scalar(state, at, register, value);
        }
    }

    /// Returns the lane that an operand names. The hardware uses only the bits that a lane number needs.
    fn lane_number(&self, state: &Self::State, lane: Operand) -> Option<u8> {
        let lane = self.operand(state, lane, 0).word()?;
        let lane = lane.checked_rem(self.wave_size().lanes())?;
        u8::try_from(lane).ok()
    }

    fn vector_move(&self, state: &mut Self::State, at: Self::Place, dst: Span, src: Operand) {
        // The registers that are written may overlap those that are read.
        let sources: SmallVec<[Self::Lanes; 2]> = (0..dst.count)
            .map(|n| {
                let register = src.registers().and_then(|span| span.first.plus(n));
                register.map_or(Self::Lanes::COMPUTED, |one| self.vector(state, one))
            })
            .collect();
        for (register, lanes) in dst.registers().zip(&sources) {
            self.write_vector(state, at, register, lanes);
        }
    }

    /// Applies a store. Per-lane and flat stores access variables, and not save areas of registers, as every compiler guarantees.
    fn store(&self, state: &mut Self::State, at: Self::Place, access: &Access) {
        let first = match self.reached(state, access) {
            Reached::Row(first) => first,
            Reached::Above(first) => return state.give_to_callee(first),
            Reached::Scratch => return state.lose_rows(),
            Reached::Variables | Reached::Elsewhere => return,
        };
        let is_whole = is_whole(access, first);
        let mut registers = access.data.into_iter().flat_map(Span::registers);
        for row in rows(access, first) {
            // A dword that is only partly written has unknown contents.
            let register = registers.next().filter(|_| is_whole);
            let lanes = register.map_or(Self::Lanes::COMPUTED, |one| self.vector(state, one));
            if self.is_kept(row)
                && let Some(lanes) = self.overwritten(state, at, &state.row(row), &lanes)
            {
                state.set_row(row, lanes);
            }
        }
    }

    fn load(&self, state: &mut Self::State, at: Self::Place, access: &Access) {
        let reached = self.reached(state, access);
        let registers = access.data.into_iter().flat_map(Span::registers);
        for (n, register) in (0_i64..).zip(registers) {
            let row = |first: RowOf<Self>| first.at(first.offset().saturating_add(n * 4));
            let lanes = match reached {
                _ if !self.is_followed(register) => continue,
                Reached::Row(first) if is_whole(access, first) && self.is_kept(row(first)) => {
                    state.row(row(first)).into_owned()
                }
                Reached::Row(_) | Reached::Elsewhere => Self::Lanes::COMPUTED,
                Reached::Variables | Reached::Scratch | Reached::Above(_) => Self::Lanes::UNKNOWN,
            };
            self.write_vector(state, at, register, &lanes);
        }
    }

    /// Applies an instruction of which only the written registers are known.
    fn overwrite(&self, state: &mut Self::State, at: Self::Place, instruction: &Instruction) {
        let writes = &instruction.writes;
        for span in writes.spans() {
            match span.first {
                MachineRegister::Vgpr(_) | MachineRegister::Agpr(_) if writes.is_indirect() => {
                    state.lose_vectors();
                }
                MachineRegister::Vgpr(_) | MachineRegister::Agpr(_) => {
                    self.overwrite_vectors(state, at, *span);
                }
                _ if writes.is_indirect() => {
                    for register in MachineRegister::scalars() {
                        self.write_scalar(state, at, register, Scalar::UNKNOWN);
                    }
                }
                _ => {
                    for register in span.registers() {
                        self.write_scalar(state, at, register, Scalar::COMPUTED);
                    }
                }
            }
        }
    }

    fn overwrite_vectors(&self, state: &mut Self::State, at: Self::Place, span: Span) {
        for register in span.registers() {
            self.write_vector(state, at, register, &Self::Lanes::COMPUTED);
        }
    }
}

/// Converts a distance to bytes of each lane, if the result is a whole number.
///
/// * `addressing`: the unit of the distance.
pub(crate) fn in_lane(
    distance: i64,
    addressing: ScratchAddressing,
    wave_size: WaveSize,
) -> Option<i64> {
    let lanes = i64::from(wave_size.lanes());
    match addressing {
        ScratchAddressing::Flat => Some(distance),
        ScratchAddressing::Buffer if distance.checked_rem(lanes)? == 0 => {
            distance.checked_div(lanes)
        }
        ScratchAddressing::Buffer => None,
    }
}

/// Returns true if the dwords of an access coincide with rows.
fn is_whole(access: &Access, first: impl Row) -> bool {
    access.bytes >= 4 && first.offset().rem_euclid(4) == 0
}

/// Returns the rows of scratch that an access touches.
///
/// * `first`: the place at which the access begins.
pub(crate) fn rows<R: Row>(access: &Access, first: R) -> impl Iterator<Item = R> {
    let dword = first.offset().rem_euclid(4);
    let bytes = i64::from(access.bytes);
    let count = if is_whole(access, first) {
        access.data.map_or(0, |data| i64::from(data.count))
    } else {
        (dword + bytes + 3).div_euclid(4)
    };
    let first = first.at(first.offset().saturating_sub(dword));
    (0..count).map(move |n| first.at(first.offset().saturating_add(n * 4)))
}
