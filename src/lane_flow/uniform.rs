//! Determines whether scalar registers with a truth value hold one value for all lanes or a bit for each lane.
//!
//! It looks for the last writes on every path to a place (reaching definitions), also through masks that are combined, copied and kept in
//! lanes of vector registers. Any unknown write leaves the answer open.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "of most instructions it is not known what they write"
)]

use std::collections::BTreeSet;

use super::fuel::pay;
use super::function::FunctionFlow;
use super::state::HalfAt;
use super::stop::LaneFlow;
use crate::error::Result;
use crate::isa::{Effect, MachineRegister, Operand, ScalarOp, Span};
use crate::machine_flow::{Code, Edge};
use crate::meter::Meter;

/// The most dwords that are searched for, each before one instruction.
const MOST: usize = 1 << 14;

/// The kind of contents of scalar registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uniformity {
    /// One value for all lanes.
    Uniform,
    /// A bit for each lane, as comparisons write it.
    PerLane,
    /// Equal bits, so that a single value and a bit per lane cannot be distinguished.
    Same,
}

impl LaneFlow<'_> {
    /// Returns the kind of contents of scalar registers before the instruction at an address. `None` if the code does not determine it.
    ///
    /// * `registers`: one register for a wave of 32 lanes; two for a wave of 64 lanes, the lower half first.
    ///
    /// # Errors
    /// If the query costs more than its budget.
    pub(crate) fn uniformity(
        &self,
        pc: u64,
        registers: &[MachineRegister],
        meter: &Meter,
    ) -> Result<Option<Uniformity>> {
        let Ok(at) = self.find(pc, false, meter) else {
            return Ok(None);
        };
        let code = at.flow.code();
        let count = code.instructions.len();
        pay(meter, count)?;
        // A jump to an unknown place may lead here.
        let is_lost = |index: usize| code.edges(index).any(|edge| edge == Edge::Lost);
        if (0..count).any(is_lost) {
            return Ok(None);
        }
        let mut search = Search {
            flow: &at.flow,
            seen: BTreeSet::new(),
            work: Vec::new(),
            is_kernel: at.is_kernel,
            is_uniform: false,
            is_per_lane: false,
        };
        let is_known = search.run(at.index, registers);
        pay(meter, search.seen.len())?;
        Ok(match (search.is_uniform, search.is_per_lane) {
            _ if is_known.is_none() => None,
            (true, true) => None,
            (true, false) => Some(Uniformity::Uniform),
            (false, true) => Some(Uniformity::PerLane),
            (false, false) => Some(Uniformity::Same),
        })
    }
}

/// The location of a dword of scalar data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Home {
    Register(MachineRegister),
    /// A lane of a vector register.
    Lane(MachineRegister, u8),
}

impl Home {
    fn register(self) -> MachineRegister {
        match self {
            Home::Register(register) | Home::Lane(register, _) => register,
        }
    }
}

/// A dword before an instruction: the index of the instruction, the location, and the half of the wave whose mask the dword may be.
type Wanted = (usize, Home, u8);

struct Search<'s> {
    flow: &'s FunctionFlow<'s>,
    seen: BTreeSet<Wanted>,
    work: Vec<Wanted>,
    is_kernel: bool,
    is_uniform: bool,
    is_per_lane: bool,
}

impl Search<'_> {
    /// Searches for the last writes. Returns `None` if one is unknown.
    fn run(&mut self, index: usize, registers: &[MachineRegister]) -> Option<()> {
        for (half, register) in (0..).zip(registers) {
            self.want((index, Home::Register(*register), half));
        }
        while let Some((at, home, half)) = self.work.pop() {
            if at == 0 {
                // The registers of a kernel initially have the same values for all lanes. The initial values of other functions are
                // unknown.
                let is_value = matches!(home, Home::Register(MachineRegister::Sgpr(_)));
                if !self.is_kernel || !is_value {
                    return None;
                }
                self.is_uniform = true;
            } else if self.code().before(at).next().is_none() {
                return None;
            }
            if self.seen.len() > MOST {
                return None;
            }
            let flow = self.flow;
            for earlier in flow.code().before(at) {
                if self.is_kept(earlier, home)? {
                    self.want((earlier, home, half));
                } else {
                    self.written((earlier, home, half))?;
                }
            }
        }
        Some(())
    }

    fn want(&mut self, wanted: Wanted) {
        if self.seen.insert(wanted) {
            self.work.push(wanted);
        }
    }

    fn code(&self) -> &Code {
        self.flow.code()
    }

    /// Returns true if an instruction preserves a dword. `None` if that is unknown.
    fn is_kept(&self, index: usize, home: Home) -> Option<bool> {
        let code = self.code();
        let instruction = code.instructions.get(index)?;
        let register = home.register();
        if let Effect::Call { .. } = instruction.effect {
            return code.call_keeps(self.flow.callees(), code.callee(index))(register)
                .then_some(true);
        }
        if instruction.writes.is_indirect() && matches!(home, Home::Lane(..)) {
            return None;
        }
        Some(!instruction.writes.contains(register))
    }

    /// Records the kind of value that an instruction writes into a dword. Returns `None` if it is unknown.
    fn written(&mut self, (index, home, half): Wanted) -> Option<()> {
        let effect = self.code().instructions.get(index)?.effect;
        let place_in = |span: Span| span.registers().position(|one| one == home.register());
        let place_of = |dst: Operand| dst.registers().and_then(place_in);
        match (home, effect) {
            (Home::Register(_), Effect::Compare { dst, .. })
            | (Home::Register(_), Effect::SaveExec { dst, .. } | Effect::WriteExec { dst, .. }) => {
                self.is_per_lane |= place_of(dst) == Some(usize::from(half));
                (place_of(dst)? == usize::from(half)).then_some(())
            }
            (Home::Register(_), Effect::Scalar { op, dst, a, b }) => {
                let place = place_of(dst)?;
                // The operation extracts a flag or a byte from another value.
                let is_cut = |operand: Operand| matches!(operand.constant(), Some(1..=0xff));
                if op == ScalarOp::And && (is_cut(a) || is_cut(b)) {
                    self.is_uniform = true;
                    return Some(());
                }
                let operands = match kind_of(op) {
                    Kind::Copy => [Some(a), None],
                    Kind::Combine => [Some(a), Some(b)],
                    Kind::Number => {
                        self.is_uniform = true;
                        return Some(());
                    }
                };
                for operand in operands.into_iter().flatten() {
                    self.operand(HalfAt { index, half }, operand, place)?;
                }
                if op == ScalarOp::MovIfScc {
                    self.want((index, home, half));
                }
                Some(())
            }
            (Home::Register(_), Effect::ScalarLoad { .. } | Effect::ReadFirstLane { .. }) => {
                self.is_uniform = true;
                Some(())
            }
            (Home::Register(_), Effect::ReadLane { src, lane, .. }) => {
                let lane = u8::try_from(lane.constant()?).ok()?;
                self.want((index, Home::Lane(src.register()?, lane), half));
                Some(())
            }
            (Home::Lane(_, wanted), Effect::WriteLane { src, lane, .. }) => {
                if i64::from(wanted) == lane.constant()? {
                    self.operand(HalfAt { index, half }, src, 0)
                } else {
                    self.want((index, home, half));
                    Some(())
                }
            }
            (Home::Lane(_, lane), Effect::VectorMove { dst, src }) => {
                let source = src.registers()?.registers().nth(place_in(dst)?)?;
                if let MachineRegister::Vgpr(_) | MachineRegister::Agpr(_) = source {
                    self.want((index, Home::Lane(source, lane), half));
                    // If the lane was off, the old value remains.
                    self.want((index, home, half));
                    return Some(());
                }
                None
            }
            _ => None,
        }
    }

    /// Records the kind of value in a dword of an operand.
    fn operand(&mut self, at: HalfAt, operand: Operand, place: usize) -> Option<()> {
        let Operand::Registers(span) = operand else {
            // Masks of no lane and of all lanes are the same in both kinds.
            match operand.constant()? {
                0 | -1 => {}
                1 => self.is_uniform = true,
                _ => return None,
            }
            return Some(());
        };
        match (span.registers().nth(place)?, at.half) {
            (MachineRegister::ExecLo, 0) | (MachineRegister::ExecHi, 1) => self.is_per_lane = true,
            (MachineRegister::ExecLo | MachineRegister::ExecHi, _) => return None,
            (register, _) => self.want((at.index, Home::Register(register), at.half)),
        }
        Some(())
    }
}

/// The kind of result that an operation has for masks.
enum Kind {
    /// The first operand or its complement.
    Copy,
    /// A mask if the operands are masks.
    Combine,
    /// A number.
    Number,
}

fn kind_of(op: ScalarOp) -> Kind {
    match op {
        ScalarOp::Mov | ScalarOp::MovIfScc | ScalarOp::Not => Kind::Copy,
        ScalarOp::And
        | ScalarOp::Or
        | ScalarOp::Xor
        | ScalarOp::AndNot
        | ScalarOp::OrNot
        | ScalarOp::Nand
        | ScalarOp::Nor
        | ScalarOp::Xnor
        | ScalarOp::Select => Kind::Combine,
        _ => Kind::Number,
    }
}
