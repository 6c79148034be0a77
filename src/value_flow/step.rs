//! The transfer functions: the effects of an instruction on the known state.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not followed is unknown, whatever it is"
)]

use smallvec::SmallVec;

use super::contents::Contents;
use super::expression::Expressions;
use super::number::{Cell, Number, Origin};
use super::recipe::ARGUMENTS;
use super::state::{Given, State};
use super::watched::{Dword, KernelEntry, LastGiven, Schedule, Watched};
use crate::abi::Callees;
use crate::arch::{ScratchAddressing, WaveSize};
use crate::isa::{
    Access, AccessKind, DualOp, Effect, Instruction, MachineRegister, Operand, ScalarOp, Span,
};
use crate::lane_flow::{Companion, LaneStep, Slot};
use crate::machine_flow::{Code, Lanes as _, Reached, Transfer, in_lane};

/// The context that all steps through a function share.
#[derive(Debug)]
pub(super) struct Context<'c> {
    pub(super) code: &'c Code,
    pub(super) callees: &'c Callees<'c>,
    pub(super) wave_size: WaveSize,
    /// The unit of the stack pointer; `None` if the code does not show it.
    pub(super) addressing: Option<ScratchAddressing>,
    pub(super) watched: &'c [Watched],
    pub(super) schedule: Schedule,
    pub(super) expressions: Expressions,
    /// The known registers on entry, for a kernel.
    pub(super) kernel: Option<&'c KernelEntry>,
}

impl Context<'_> {
    /// Returns the row of scratch at the address in a scalar operand.
    fn row_at(&self, state: &State, base: Operand, addressing: ScratchAddressing) -> Option<Slot> {
        let (base, plus) = match state.operand(base, 0) {
            Number::Word(word) => (None, word),
            Number::Known {
                origin: Origin::Entry(Cell::Scalar(register)),
                plus,
            } => (Some(register), plus),
            Number::Unknown | Number::Known { .. } => return None,
        };
        let plus = i64::from(plus.cast_signed());
        Some(Slot {
            base,
            addressing,
            offset: in_lane(plus, addressing, self.wave_size)?,
        })
    }
}

impl Context<'_> {
    /// Returns true for a register that passes nothing to the function.
    fn is_fresh(&self, cell: Cell) -> bool {
        /// The most vector registers that the hardware initializes when a kernel starts.
        const WORK_ITEM: u16 = 3;
        let passed = match self.kernel.is_some() {
            true => WORK_ITEM,
            false => ARGUMENTS,
        };
        match cell {
            Cell::Own(MachineRegister::Vgpr(number)) => number >= passed,
            Cell::Own(MachineRegister::Agpr(_)) => true,
            _ => false,
        }
    }
}

/// The contents that a range refers to, if it begins with an instruction that writes the place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meant {
    Before,
    After,
    Unknown,
}

/// An instruction whose transfer function is applied.
struct Step<'s, 'c> {
    context: &'s Context<'c>,
    at: u32,
    executes: Option<bool>,
    /// The number of places to which it has assigned a number.
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
        let last = context.schedule.given.get(&step.index);
        let last = || last.into_iter().flatten().filter(|_| step.is_on);
        if step.is_on {
            let entered = context.schedule.entered.get(&step.index);
            for variable in entered.into_iter().flatten() {
                self.set_given(*variable, None);
            }
        }
        let mut defined: SmallVec<[&LastGiven; 2]> = SmallVec::new();
        for last in last() {
            if one.give(self, *last, instruction) == Meant::After {
                defined.push(last);
            }
        }
        one.step(self, instruction);
        for last in defined {
            one.take(self, last.variable, one.dwords(*last));
        }
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
    /// Returns the dwords in the range that ends with an instruction.
    fn dwords(&self, last: LastGiven) -> &[Dword] {
        let watched = self.context.watched.get(last.variable);
        let covered = watched.and_then(|watched| watched.covered.get(last.range));
        covered.map_or(&[], |covered| covered.dwords.as_slice())
    }

    /// Records the value of a variable at the last instruction that describes it. Returns [`Meant::After`] if the caller has to record the
    /// result of the instruction instead.
    fn give(&self, state: &mut State, last: LastGiven, instruction: &Instruction) -> Meant {
        let dwords = self.dwords(last);
        let is_written = |dword: &&Dword| match dword {
            Dword::In(Cell::Own(register) | Cell::Scalar(register)) => {
                instruction.writes.contains(*register)
            }
            Dword::In(Cell::Lane { .. } | Cell::Row(_))
            | Dword::Word(_)
            | Dword::Kernarg(_)
            | Dword::Other => false,
        };
        let mut written = dwords.iter().filter(is_written).peekable();
        if !last.is_first || written.peek().is_none() {
            self.take(state, last.variable, dwords);
            return Meant::Before;
        }
        // It may be a dual instruction whose other half ends the variable. However, a register holds no variable of the function before its
        // first write.
        state.set_given(last.variable, None);
        let is_fresh = written.all(|dword| match dword {
            Dword::In(cell) => {
                self.context.is_fresh(*cell) && state.number(*cell) == Number::at_entry(*cell)
            }
            Dword::Word(_) | Dword::Kernarg(_) | Dword::Other => false,
        });
        match is_fresh && self.executes == Some(true) {
            true => Meant::After,
            false => Meant::Unknown,
        }
    }

    /// Records the value of a variable in these dwords.
    fn take(&self, state: &mut State, variable: usize, dwords: &[Dword]) {
        let sources = dwords.iter().map(|dword| match dword {
            Dword::In(cell) => Source::Place(*cell),
            Dword::Word(word) => Source::Number(Number::Word(*word)),
            Dword::Kernarg(offset) => Source::Number(Number::argument(*offset)),
            Dword::Other => Source::Number(Number::Unknown),
        });
        let dwords: SmallVec<[Number; 2]> = self.look_at(state, sources);
        let is_known = dwords.iter().all(|number| *number != Number::Unknown);
        let given = Given {
            dwords,
            as_of: self.at,
        };
        state.set_given(variable, is_known.then_some(given));
    }

    /// Returns the numbers of places, and assigns new ones to unknown places.
    fn look_at<N: FromIterator<Number>>(
        &self,
        state: &mut State,
        sources: impl Iterator<Item = Source> + Clone,
    ) -> N {
        let is_unknown = |source: Source| match source {
            Source::Place(cell) => state.number(cell) == Number::Unknown,
            Source::Number(_) => false,
        };
        if self.numbered.get() == 0 && sources.clone().any(is_unknown) {
            // Numbers of this instruction are from an earlier execution. They are forgotten before any place is read here, since the new
            // numbers would be forgotten, too.
            let expressions = &self.context.expressions;
            state.forget(|number| expressions.is_of(number, self.at));
        }
        let number = |source| match source {
            Source::Place(cell) => self.look_at_place(state, cell),
            Source::Number(number) => number,
        };
        sources.map(number).collect()
    }

    fn look_at_place(&self, state: &mut State, cell: Cell) -> Number {
        let known = state.number(cell);
        if known != Number::Unknown {
            return known;
        }
        let place = self.numbered.get();
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

    fn step(&self, state: &mut State, instruction: &Instruction) {
        match instruction.effect {
            Effect::Scalar { op, dst, a, b } => self.scalar(state, op, dst, [a, b]),
            Effect::ScalarLoad { .. } => {
                let arguments = self.arguments(state, instruction);
                self.step_rest(state, (), instruction);
                for (register, number) in arguments {
                    self.write_scalar(state, (), register, number);
                }
            }
            Effect::Call { .. } => self.call(state),
            Effect::WriteLane { src, .. } => {
                let source = Source::of(state, src, 0);
                let _: SmallVec<[Number; 1]> = self.look_at(state, [source].into_iter());
                self.step_rest(state, (), instruction);
            }
            Effect::VectorMove { dst, src } => {
                let sources: SmallVec<[Source; 2]> =
                    (0..dst.count).map(|n| Source::of(state, src, n)).collect();
                let numbers: SmallVec<[Number; 2]> = self.look_at(state, sources.into_iter());
                for (register, number) in dst.registers().zip(numbers) {
                    self.write_vector(state, (), register, &Contents::of(number));
                }
            }
            Effect::Vector { op, dst, sources } => {
                let sources = sources.map(|one| Source::of(state, one, 0));
                let numbers: SmallVec<[Number; 3]> = self.look_at(state, sources.into_iter());
                let number = self.context.expressions.vector(op, &numbers);
                self.step_rest(state, (), instruction);
                self.write_vector(state, (), dst, &Contents::of(number));
            }
            Effect::Dual(parts) => {
                let of_part = |part: DualOp| [part.a, part.b];
                let sources = parts.into_iter().flatten().flat_map(of_part);
                let sources: SmallVec<[Source; 4]> =
                    sources.map(|one| Source::of(state, one, 0)).collect();
                let numbers: SmallVec<[Number; 4]> = self.look_at(state, sources.into_iter());
                self.step_rest(state, (), instruction);
                for (part, numbers) in parts.into_iter().flatten().zip(numbers.chunks(2)) {
                    let number = self.context.expressions.vector(part.op, numbers);
                    self.write_vector(state, (), part.dst, &Contents::of(number));
                }
            }
            Effect::Store(access) => {
                if self.reached(state, &access) == Reached::Variables {
                    return state.lose_rows();
                }
                let registers = access.data.into_iter().flat_map(Span::registers);
                let cells: SmallVec<[Cell; 4]> = registers.filter_map(cell_of).collect();
                let sources = cells.into_iter().map(Source::Place);
                let _: SmallVec<[Number; 4]> = self.look_at(state, sources);
                self.step_rest(state, (), instruction);
            }
            _ => self.step_rest(state, (), instruction),
        }
    }

    /// Returns the registers into which an instruction loads arguments of the kernel, with their numbers.
    fn arguments(
        &self,
        state: &State,
        instruction: &Instruction,
    ) -> SmallVec<[(MachineRegister, Number); 4]> {
        let (
            Effect::ScalarLoad {
                bytes,
                dst: Operand::Registers(dst),
                base: Operand::Registers(base),
                index,
                offset,
            },
            Some(pointer),
        ) = (
            instruction.effect,
            self.context
                .kernel
                .and_then(|kernel| kernel.kernarg_pointer),
        )
        else {
            return SmallVec::new();
        };
        let is_pointer = pointer
            .into_iter()
            .zip(base.registers())
            .all(|(one, base)| {
                state.number(Cell::Scalar(base)) == Number::at_entry(Cell::Scalar(one))
            });
        let more = match state.operand(index, 0) {
            Number::Word(more) => Some(more),
            Number::Unknown | Number::Known { .. } => None,
        };
        let offset = more.and_then(|more| more.checked_add_signed(offset));
        let is_whole = usize::from(bytes) == usize::from(dst.count) * 4;
        let Some(first) = offset.filter(|_| is_pointer && is_whole) else {
            return SmallVec::new();
        };
        let offsets = (first..).step_by(4);
        let numbers = offsets.map(Number::argument);
        dst.registers().zip(numbers).collect()
    }

    fn scalar(&self, state: &mut State, op: ScalarOp, dst: Operand, operands: [Operand; 2]) {
        let count = dst.registers().map_or(0, |span| span.count);
        let numbers: SmallVec<[Number; 2]> = match (op, count) {
            (ScalarOp::Mov, _) => {
                let [a, _] = operands;
                let sources: SmallVec<[Source; 2]> =
                    (0..count).map(|n| Source::of(state, a, n)).collect();
                self.look_at(state, sources.into_iter())
            }
            (_, 1) => {
                let sources = operands.map(|one| Source::of(state, one, 0));
                let numbers: SmallVec<[Number; 2]> = self.look_at(state, sources.into_iter());
                let operands = [0, 1].map(|n| numbers.get(n).copied().unwrap_or(Number::Unknown));
                let number = self.context.expressions.scalar(op, operands);
                number.into_iter().collect()
            }
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

    /// Applies a call. It preserves the registers that the convention preserves, and the registers that the callee is known not to write.
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
        // The callee may have the address of a variable.
        state.lose_rows();
    }
}

/// A dword that an instruction reads.
#[derive(Clone, Copy, Debug)]
enum Source {
    Place(Cell),
    Number(Number),
}

impl Source {
    /// Returns dword `n` of an operand.
    fn of(state: &State, operand: Operand, n: u8) -> Source {
        let register = operand.registers().and_then(|span| span.first.plus(n));
        match register.map(cell_of) {
            Some(Some(cell)) => Source::Place(cell),
            Some(None) => Source::Number(Number::Unknown),
            None => Source::Number(state.operand(operand, n)),
        }
    }
}

/// Returns the place of the followed lane in a register.
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
            // Descriptors of scratch and of other memory are not distinguished.
            AccessKind::Buffer if self.context.addressing == Some(ScratchAddressing::Buffer) => {
                ScratchAddressing::Buffer
            }
            AccessKind::Buffer => return Reached::Elsewhere,
        };
        if access.address.is_some() {
            return Reached::Variables;
        }
        match self.context.row_at(state, access.base, addressing) {
            Some(row) => Reached::Row(Slot {
                offset: row.offset.saturating_add(access.offset.into()),
                ..row
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
