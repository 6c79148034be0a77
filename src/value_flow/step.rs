//! The transfer functions: what an instruction does to what is known.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not followed is unknown, whatever it is"
)]

use smallvec::SmallVec;

use super::contents::Contents;
use super::number::{Cell, Number, Origin};
use super::state::{Given, State};
use super::watched::{Covered, Dword, LastGiven, Schedule, Watched};
use crate::abi::Callees;
use crate::arch::{ScratchAddressing, WaveSize};
use crate::isa::{
    Access, AccessKind, Effect, Instruction, MachineRegister, Operand, ScalarOp, Span,
};
use crate::lane_flow::{Companion, LaneStep, Slot};
use crate::machine_flow::{Code, Lanes as _, Reached, Transfer, in_lane};

/// What the steps through a function have in common.
#[derive(Debug)]
pub(super) struct Context<'c> {
    pub(super) code: &'c Code,
    pub(super) callees: &'c Callees<'c>,
    pub(super) wave_size: WaveSize,
    /// What the stack pointer counts; `None` if the code does not tell.
    pub(super) addressing: Option<ScratchAddressing>,
    pub(super) watched: &'c [Watched],
    pub(super) schedule: Schedule,
}

/// An instruction that is stepped over.
struct Step<'s, 'c> {
    context: &'s Context<'c>,
    at: u32,
    executes: Option<bool>,
    /// How many places it has given a number.
    numbered: core::cell::Cell<u16>,
}

impl Companion<Context<'_>> for State {
    fn step(&mut self, context: &Context<'_>, step: LaneStep) {
        let Some(instruction) = context.code.instructions.get(step.index) else {
            return;
        };
        let one = Step {
            context,
            at: u32::try_from(step.index).unwrap_or(u32::MAX),
            executes: step.executes,
            numbered: core::cell::Cell::new(0),
        };
        if step.is_on {
            let entered = context.schedule.entered.get(&step.index);
            for variable in entered.into_iter().flatten() {
                self.set_given(*variable, None);
            }
            let given = context.schedule.given.get(&step.index);
            for last in given.into_iter().flatten() {
                one.give(self, *last, instruction);
            }
        }
        one.step(self, instruction);
    }

    fn join(&mut self, other: &State) -> bool {
        State::join(self, other)
    }

    fn size(&self) -> usize {
        State::size(self)
    }

    fn bytes(&self) -> u64 {
        State::bytes(self)
    }
}

impl Step<'_, '_> {
    /// Takes note of a variable that is given for the last time.
    fn give(&self, state: &mut State, last: LastGiven, instruction: &Instruction) {
        let watched = self.context.watched.get(last.variable);
        let covered = watched.and_then(|watched| watched.covered.get(last.range));
        let Some(Covered { dwords, .. }) = covered else {
            return;
        };
        let is_written = |dword: &Dword| match dword {
            Dword::In(Cell::Own(register) | Cell::Scalar(register)) => {
                instruction.writes.contains(*register)
            }
            Dword::In(Cell::Lane { .. } | Cell::Row(_)) | Dword::Word(_) | Dword::Other => false,
        };
        let is_sure = !last.is_first || !dwords.iter().any(is_written);
        let numbers = dwords.iter().map(|dword| match dword {
            Dword::In(cell) => self.look_at(state, *cell),
            Dword::Word(word) => Number::Word(*word),
            Dword::Other => Number::Unknown,
        });
        let dwords: SmallVec<[Number; 2]> = numbers.collect();
        let is_known = is_sure && dwords.iter().all(|number| *number != Number::Unknown);
        let given = Given {
            dwords,
            as_of: self.at,
        };
        state.set_given(last.variable, is_known.then_some(given));
    }

    /// Returns the number of a place; one that is unknown gets a new one.
    fn look_at(&self, state: &mut State, cell: Cell) -> Number {
        let known = state.number(cell);
        if known != Number::Unknown {
            return known;
        }
        let place = self.numbered.get();
        if place == 0 {
            // What has numbers of the instruction has them since it was executed before.
            state.forget(self.at);
        }
        let Some(next) = place.checked_add(1) else {
            return Number::Unknown;
        };
        self.numbered.set(next);
        let origin = Origin::At {
            index: self.at,
            place,
        };
        let number = Number::Known { origin, plus: 0 };
        state.set_number(cell, number);
        number
    }

    /// The number of dword `n` of an operand, as [`look_at`](Step::look_at).
    fn look_at_operand(&self, state: &mut State, operand: Operand, n: u8) -> Number {
        let register = operand.registers().and_then(|span| span.first.plus(n));
        match register {
            Some(register) => match cell_of(register) {
                Some(cell) => self.look_at(state, cell),
                None => Number::Unknown,
            },
            None => state.operand(operand, n),
        }
    }

    fn step(&self, state: &mut State, instruction: &Instruction) {
        match instruction.effect {
            Effect::Scalar { op, dst, a, b } => self.scalar(state, op, dst, [a, b]),
            Effect::Call { .. } => self.call(state),
            Effect::WriteLane { src, .. } => {
                self.look_at_operand(state, src, 0);
                self.step_rest(state, (), instruction);
            }
            Effect::VectorMove { dst, src } => {
                let numbers: SmallVec<[Number; 2]> = (0..dst.count)
                    .map(|n| self.look_at_operand(state, src, n))
                    .collect();
                for (register, number) in dst.registers().zip(numbers) {
                    self.write_vector(state, (), register, &Contents::of(number));
                }
            }
            Effect::VectorAdd {
                dst,
                a,
                b,
                subtracts,
            } => {
                let number = match (state.operand(a, 0), state.operand(b, 0)) {
                    (_, Number::Word(b)) if subtracts => {
                        self.look_at_operand(state, a, 0).plus(b.wrapping_neg())
                    }
                    (_, Number::Word(b)) => self.look_at_operand(state, a, 0).plus(b),
                    (Number::Word(a), _) if !subtracts => self.look_at_operand(state, b, 0).plus(a),
                    (_, _) => Number::Unknown,
                };
                self.write_vector(state, (), dst, &Contents::of(number));
            }
            Effect::Dual(moves) => {
                let numbers = moves.map(|one| {
                    let number = one.map(|one| self.look_at_operand(state, one.src, 0));
                    (one, number)
                });
                self.step_rest(state, (), instruction);
                for (one, number) in numbers {
                    if let (Some(one), Some(number)) = (one, number) {
                        self.write_vector(state, (), one.dst, &Contents::of(number));
                    }
                }
            }
            Effect::Store(access) => {
                if self.reached(state, &access) == Reached::Variables {
                    return state.lose_rows();
                }
                for register in access.data.into_iter().flat_map(Span::registers) {
                    if let Some(cell) = cell_of(register) {
                        self.look_at(state, cell);
                    }
                }
                self.step_rest(state, (), instruction);
            }
            _ => self.step_rest(state, (), instruction),
        }
    }

    fn scalar(&self, state: &mut State, op: ScalarOp, dst: Operand, [a, b]: [Operand; 2]) {
        let count = dst.registers().map_or(0, |span| span.count);
        let numbers: SmallVec<[Number; 2]> = match (op, count) {
            (ScalarOp::Mov, _) => (0..count)
                .map(|n| self.look_at_operand(state, a, n))
                .collect(),
            (ScalarOp::Add, 1) => match (state.operand(a, 0), state.operand(b, 0)) {
                (_, Number::Word(b)) => {
                    smallvec::smallvec![self.look_at_operand(state, a, 0).plus(b)]
                }
                (Number::Word(a), _) => {
                    smallvec::smallvec![self.look_at_operand(state, b, 0).plus(a)]
                }
                (_, _) => SmallVec::new(),
            },
            (ScalarOp::Sub, 1) => match state.operand(b, 0) {
                Number::Word(b) => {
                    smallvec::smallvec![self.look_at_operand(state, a, 0).plus(b.wrapping_neg())]
                }
                Number::Unknown | Number::Known { .. } => SmallVec::new(),
            },
            (_, _) => SmallVec::new(),
        };
        self.assign(state, dst, &numbers);
    }

    /// Writes scalar registers; those without a number become unknown.
    fn assign(&self, state: &mut State, dst: Operand, numbers: &[Number]) {
        let registers = dst.registers().into_iter().flat_map(Span::registers);
        let numbers = numbers
            .iter()
            .copied()
            .chain(core::iter::repeat(Number::Unknown));
        for (register, number) in registers.zip(numbers) {
            self.write_scalar(state, (), register, number);
        }
    }

    /// A call leaves what the convention preserves, and what the callee is known not to write.
    fn call(&self, state: &mut State) {
        let code = self.context.code;
        let callee = code.callee(self.at as usize);
        let is_kept = code.call_keeps(self.context.callees, callee);
        state.scalars.forget(|register| !is_kept(register));
        for number in 0..256 {
            for register in [MachineRegister::Vgpr(number), MachineRegister::Agpr(number)] {
                if !is_kept(register) {
                    state.set_vector(register, Contents::UNKNOWN);
                }
            }
        }
        // It may have been given the address of a variable.
        state.lose_rows();
    }
}

/// The place that a register is to the lane that is followed.
fn cell_of(register: MachineRegister) -> Option<Cell> {
    match register {
        MachineRegister::Vgpr(_) | MachineRegister::Agpr(_) => Some(Cell::Own(register)),
        MachineRegister::ExecLo | MachineRegister::ExecHi | MachineRegister::Scc => None,
        register => Some(Cell::Scalar(register)),
    }
}

impl Transfer for Step<'_, '_> {
    type Lanes = Contents;
    type State = State;
    type Place = ();

    fn wave_size(&self) -> WaveSize {
        self.context.wave_size
    }

    fn operand(&self, state: &State, operand: Operand, n: u8) -> Number {
        state.operand(operand, n)
    }

    fn reached(&self, state: &State, access: &Access) -> Reached<Slot> {
        let addressing = match access.kind {
            AccessKind::Flat => return Reached::Variables,
            AccessKind::Global => return Reached::Elsewhere,
            AccessKind::Scratch => ScratchAddressing::Flat,
            // A descriptor of other memory is not told from that of scratch.
            AccessKind::Buffer if self.context.addressing == Some(ScratchAddressing::Buffer) => {
                ScratchAddressing::Buffer
            }
            AccessKind::Buffer => return Reached::Elsewhere,
        };
        if access.address.is_some() {
            return Reached::Variables;
        }
        let (base, plus) = match state.operand(access.base, 0) {
            Number::Word(word) => (None, word),
            Number::Known {
                origin: Origin::Entry(Cell::Scalar(register)),
                plus,
            } => (Some(register), plus),
            _ => return Reached::Scratch,
        };
        let plus = i64::from(plus.cast_signed());
        match in_lane(plus, addressing, self.context.wave_size) {
            Some(in_lane) => Reached::Row(Slot {
                base,
                addressing,
                offset: in_lane.saturating_add(access.offset.into()),
            }),
            None => Reached::Scratch,
        }
    }

    fn write_scalar(&self, state: &mut State, (): (), register: MachineRegister, value: Number) {
        state.scalars.set(register, value);
    }

    fn write_lane(
        &self,
        state: &mut State,
        (): (),
        register: MachineRegister,
        lane: u8,
        value: Number,
    ) {
        state.change_vector(register, |vector| vector.set_lane(lane, value));
    }

    fn overwritten(&self, _: &State, (): (), known: &Contents, new: &Contents) -> Option<Contents> {
        let own = match self.executes {
            Some(true) => new.own,
            Some(false) => known.own,
            None if known.own == new.own => known.own,
            None => Number::Unknown,
        };
        Some(Contents::of(own))
    }
}
