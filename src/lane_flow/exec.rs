//! EXEC in the transfer functions: the active lanes, and the sections in which EXEC has other lanes.

use super::Reason;
use super::state::{Exec, Section, SectionLanes, State};
use super::step::{Context, Follow, Outcome, Pair, all_lanes, is_exec};
use super::value::{Bitwise, Decisions, Undecided, Value};
use crate::arch::WaveSize;
use crate::isa::{Effect, ExecOp, MachineRegister, Operand, ScalarOp, Span};
use crate::machine_flow::ScalarOperation;

/// A new value of EXEC.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewExec {
    pub(super) value: Pair,
    /// The lanes, if EXEC is known to get other lanes than the active ones of the program.
    pub(super) section: Option<SectionLanes>,
    /// The register that saves the old value.
    pub(super) saved: Option<MachineRegister>,
    /// The register that the new value is copied from, if any.
    pub(super) source: Option<MachineRegister>,
    /// The destination that the instruction also writes, and the value.
    pub(super) also_written: Option<(Operand, Pair)>,
}

impl NewExec {
    pub(super) const fn of(value: Pair) -> NewExec {
        NewExec {
            value,
            section: None,
            saved: None,
            source: None,
            also_written: None,
        }
    }
}

impl Context<'_> {
    /// Returns true if an exclusive or inverts EXEC: the operands are EXEC, which it also writes, and a mask with every bit set. A mask with
    /// the lane's bit of EXEC need not be EXEC.
    ///
    /// * `values`: the values of the operands.
    pub(super) fn inverts(&self, operation: ScalarOperation, values: [Pair; 2]) -> bool {
        let ScalarOperation { op, dst, a, b } = operation;
        let is_dst = |operand: Operand| operand.registers() == dst.registers();
        let [first, second] = values;
        is_exec(dst)
            && op == ScalarOp::Xor
            && (is_dst(a) && self.is_all_ones(second) || is_dst(b) && self.is_all_ones(first))
    }

    /// Returns the new dwords of EXEC after an instruction that writes only some of them.
    pub(super) fn whole_exec(&self, state: &State, span: Span, result: Pair) -> Pair {
        let ([low, high], [first, _]) = (self.exec(state), result);
        match (span.first, span.count) {
            (MachineRegister::ExecLo, 1) => [first, high],
            (MachineRegister::ExecHi, 1) => [low, first],
            _ => result,
        }
    }

    /// Returns the dwords of EXEC.
    pub(super) fn exec(&self, state: &State) -> Pair {
        let is_on = matches!(self.follow, Follow::ActiveLane(_));
        let own = match state.exec {
            Exec::Active => Value::Bit(is_on),
            Exec::Section(section) => match section.lanes {
                SectionLanes::All => return [Value::Word(u32::MAX); 2],
                SectionLanes::Inactive => Value::Bit(!is_on),
                SectionLanes::Mask(mask) => {
                    let halves = [mask & u64::from(u32::MAX), mask >> 32];
                    let word = |half| u32::try_from(half).map_or(Value::Unknown, Value::Word);
                    return halves.map(word);
                }
            },
            Exec::Unknown => Value::Unknown,
        };
        [0, 1].map(|n| {
            if self.half() == Some(n) {
                own
            } else {
                Value::Unknown
            }
        })
    }

    /// Returns the half of the wave that contains the followed lane.
    pub(super) const fn half(&self) -> Option<u8> {
        match self.follow {
            Follow::Lane(half) | Follow::ActiveLane(half) => Some(half),
            Follow::Dwords | Follow::Scalars => None,
        }
    }

    /// Returns true if a mask has the bit of every lane.
    pub(super) fn is_all_ones(&self, value: Pair) -> bool {
        let dwords = usize::from(self.mask_dwords());
        let mut dwords = value.iter().take(dwords);
        dwords.all(|dword| *dword == Value::Word(u32::MAX))
    }

    pub(super) const fn mask_dwords(&self) -> u8 {
        match self.wave_size {
            WaveSize::Wave32 => 1,
            WaveSize::Wave64 => 2,
        }
    }

    pub(super) fn exec_op(
        &self,
        op: ExecOp,
        source: Pair,
        exec: Pair,
        decisions: &Decisions,
    ) -> Result<Pair, Undecided> {
        self.bitwise(bitwise_of(op), source, exec, decisions)
    }

    /// Sets EXEC to a new value.
    ///
    /// # Errors
    /// A place whose bit decides whether the lane is on. The state is then unchanged.
    pub(super) fn set_exec(
        &self,
        state: &mut State,
        index: usize,
        new: NewExec,
        decisions: &Decisions,
    ) -> Result<Outcome, Undecided> {
        let section = self.new_section(state, index, new);
        let outcome = match (state.exec, section, self.half()) {
            (Exec::Unknown, ..) => Outcome::Lost(Reason::WholeWave),
            (_, Some(_), _) | (_, None, None) => Outcome::Same,
            (_, None, Some(half)) => {
                let own = new.value.get(usize::from(half)).copied();
                match own.unwrap_or(Value::Unknown).bit(decisions)? {
                    Some(true) => Outcome::On,
                    Some(false) => Outcome::Off,
                    None => Outcome::Lost(Reason::Mask),
                }
            }
        };
        if let Some((dst, value)) = new.also_written {
            self.assign(state, dst, value);
        }
        let (saved, source) = match state.exec {
            Exec::Active => (new.saved, None),
            // The instruction changes the lanes of the section, or ends it.
            Exec::Section(section) => (section.saved, new.source),
            Exec::Unknown => return Ok(outcome),
        };
        if let Some(lanes) = section {
            state.exec = Exec::Section(Section { lanes, saved });
            return Ok(outcome);
        }
        // If EXEC gets the saved value, the section ends with the lanes that were active before it.
        if saved.is_none() || saved != source {
            state.is_whole = false;
        }
        state.exec = Exec::Active;
        Ok(outcome)
    }

    /// Returns the lanes of the section that a new value of EXEC begins or continues. `None` if EXEC gets the active lanes.
    fn new_section(&self, state: &State, index: usize, new: NewExec) -> Option<SectionLanes> {
        // Masks of the program are not constants. A constant selects lanes that execute regardless of the active lanes.
        let of_constant = || match self.constant(new.value)? {
            0 => None,
            mask if mask == all_lanes(self.wave_size) => Some(SectionLanes::All),
            mask => Some(SectionLanes::Mask(mask)),
        };
        // A mask that was made before the stop is not in the state, but may be known from the entry on.
        let of_facts = || match (state.exec, self.facts) {
            (Exec::Section(_), Some(facts)) => match facts.exec(index.saturating_add(1)) {
                Exec::Section(known) => Some(known.lanes),
                Exec::Active | Exec::Unknown => None,
            },
            (_, _) => None,
        };
        new.section.or_else(of_constant).or_else(of_facts)
    }

    /// Returns the value of a mask that is a constant.
    pub(super) fn constant(&self, value: Pair) -> Option<u64> {
        let mut mask = 0_u64;
        for (n, dword) in (0_u32..self.mask_dwords().into()).zip(value) {
            let Value::Word(word) = dword else {
                return None;
            };
            mask |= u64::from(word).checked_shl(n.saturating_mul(32))?;
        }
        Some(mask)
    }

    /// Applies a comparison: the bit of an inactive lane becomes 0.
    pub(super) fn compare(
        &self,
        state: &mut State,
        index: usize,
        dst: Operand,
        to_exec: bool,
    ) -> Outcome {
        let result = match (state.exec, self.follow) {
            (Exec::Active, Follow::Lane(0)) => [Value::Bit(false), Value::Unknown],
            (Exec::Active, Follow::Lane(_)) => [Value::Unknown, Value::Bit(false)],
            _ => [Value::Unknown; 2],
        };
        let result = self.number(state, index, result);
        self.assign(state, dst, result);
        match (state.exec, self.follow) {
            (_, _) if !to_exec => Outcome::Same,
            (Exec::Active, follow) => {
                state.is_whole = false;
                if matches!(follow, Follow::ActiveLane(_)) {
                    Outcome::Lost(Reason::Mask)
                } else {
                    Outcome::Same
                }
            }
            _ => Outcome::Lost(Reason::WholeWave),
        }
    }

    /// Assigns a number, the index of the instruction, to a result in which the bit of the lane is unknown. Copies of the mask are then
    /// known to be equal.
    pub(super) fn number(&self, state: &mut State, index: usize, mut value: Pair) -> Pair {
        let (Follow::ActiveLane(half), Ok(number)) = (self.follow, u32::try_from(index)) else {
            return value;
        };
        if let Some(own) = value.get_mut(usize::from(half))
            && *own == Value::Unknown
        {
            // The instruction's result of the previous iteration differs, even where it is an operand.
            state.replace(Value::Made(number), Value::Unknown);
            *own = Value::Made(number);
            let other = value.get_mut(usize::from(half ^ 1));
            if let Some(other) = other.filter(|other| **other == Value::Made(number)) {
                *other = Value::Unknown;
            }
        }
        value
    }

    /// Takes into account the bit that EXEC got for the followed lane. It determines the lane's bit in the source mask, if the source is
    /// still there.
    pub(super) fn assume(&self, state: &mut State, index: usize, bit: bool) {
        let is_on = matches!(self.follow, Follow::ActiveLane(_));
        // The lane's bit of the other half's dword belongs to another lane.
        let is_exec = |operand: Operand| {
            let own = match self.half() {
                Some(0) => MachineRegister::ExecLo,
                Some(_) => MachineRegister::ExecHi,
                None => return false,
            };
            let span = operand.registers();
            let dword = |span: Span| span.registers().nth(usize::from(self.half()?));
            is_exec(operand) && span.and_then(dword) == Some(own)
        };
        let overlaps = |one: Operand, other: Operand| {
            let registers =
                |operand: Operand| operand.registers().into_iter().flat_map(Span::registers);
            registers(one).any(|register| registers(other).any(|other| other == register))
        };
        let effect = self.code.instructions.get(index).map(|one| one.effect);
        let (source, expected) = match effect {
            Some(Effect::Scalar {
                op: ScalarOp::Mov,
                a,
                ..
            }) => (a, Some(bit)),
            Some(Effect::Scalar { op, a, b, .. }) => match Bitwise::of(op) {
                Some(op) if is_exec(a) => (b, op.operand(is_on, bit)),
                Some(op) if is_exec(b) => (a, op.exchanged().operand(is_on, bit)),
                _ => return,
            },
            Some(Effect::SaveExec { op, dst, src }) if !overlaps(dst, src) => {
                (src, bitwise_of(op).exchanged().operand(is_on, bit))
            }
            _ => return,
        };
        let register = source.registers().and_then(|span| match self.half()? {
            half if half < span.count => span.first.plus(half),
            _ => None,
        });
        if let (Some(register), Some(expected)) = (register, expected) {
            let known = state.scalar(register);
            if known == Value::Unknown {
                state.set_scalar(register, Value::Bit(expected));
            } else if let Value::Made(_) = known {
                state.replace(known, Value::Bit(expected));
            }
        }
    }
}

/// Returns the operation on the source and EXEC, in this order.
const fn bitwise_of(op: ExecOp) -> Bitwise {
    match op {
        ExecOp::And => Bitwise::AND,
        ExecOp::Or => Bitwise::OR,
        ExecOp::Xor => Bitwise::XOR,
        ExecOp::Nand => Bitwise::AND.inverted(),
        ExecOp::Nor => Bitwise::OR.inverted(),
        ExecOp::Xnor => Bitwise::XOR.inverted(),
        ExecOp::SourceAndNotExec => Bitwise::AND_NOT,
        ExecOp::SourceOrNotExec => Bitwise::OR_NOT,
        ExecOp::ExecAndNotSource => Bitwise::NOT_AND,
        ExecOp::ExecOrNotSource => Bitwise::NOT_OR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Callees;
    use crate::arch::Processor;
    use crate::isa::Decoder;
    use crate::machine_flow::Code;

    /// Decodes instructions of gfx90a, for a lane of the low half that executes.
    fn with<T>(dwords: &[u32], each: impl FnOnce(&Context<'_>) -> T) -> T {
        let processor = Processor::by_name("gfx90a").unwrap();
        let decoder = Decoder::new(processor, Some(WaveSize::Wave64)).unwrap();
        let callees = Callees::new(None, []);
        let bytes: Vec<u8> = dwords.iter().flat_map(|one| one.to_le_bytes()).collect();
        let code = Code::new(&decoder, &callees, 0x1000, &bytes).unwrap();
        each(&Context {
            code: &code,
            callees: &callees,
            wave_size: WaveSize::Wave64,
            addressing: None,
            facts: None,
            rows: &[],
            follow: Follow::ActiveLane(0),
        })
    }

    /// Copies of an earlier result of an instruction differ from its new result, wherever they are.
    #[test]
    fn what_an_instruction_makes_is_in_no_other_place() {
        // s_and_b64 s[4:5], s[6:7], s[8:9]
        with(&[0x8684_0806], |context| {
            let s = MachineRegister::Sgpr;
            let mut state = State::at_entry();
            state.set_scalar(s(7), Value::Made(0));
            state.set_scalar(s(9), Value::Word(u32::MAX));
            state.set_scalar(s(20), Value::Made(0));
            let outcome = context.step(&mut state, 0, &Decisions::closed());
            assert_eq!(outcome, Ok(Outcome::Same));
            let has = |n| state.scalar(s(n));
            assert_eq!(has(4), Value::Made(0));
            assert_eq!([5, 7, 20].map(has), [Value::Unknown; 3]);
        });
    }

    /// The new EXEC determines a mask's bit only if the mask was combined with the lane's own dword of EXEC.
    #[test]
    fn the_other_half_of_exec_tells_nothing_of_the_lane() {
        let s4 = MachineRegister::Sgpr(4);
        let found = |dword: u32| {
            with(&[dword], |context| {
                let mut state = State::at_entry();
                context.assume(&mut state, 0, false);
                state.scalar(s4)
            })
        };
        // s_and_b32 exec_lo, exec_lo, s4
        assert_eq!(found(0x867e_047e), Value::Bit(false));
        // s_and_b32 exec_lo, exec_hi, s4
        assert_eq!(found(0x867e_047f), Value::Unknown);
    }
}
