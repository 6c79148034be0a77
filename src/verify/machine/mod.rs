//! Call frame information against the machine code it describes.
//!
//! A function is followed from its entry along every path, and at each instruction is known, as far as it
//! can be, where the values are that registers had on entry. Each row is held against that. Where the code
//! cannot be followed nothing is found: see [`Silence`] for whole functions; for single registers, paths that differ
//! make them unknown, and nothing is said about what is not known. `spec-notes/verify-machine.md` tells
//! what is assumed.
//!
//! What rows and expressions mean by themselves is checked elsewhere. Sources: HET A.6.4, USAGE
//! "Non-Kernel Functions", "Call Frame Information".

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "only some effects and registers matter to call frame information"
)]

pub(crate) mod callees;
mod claim;
mod compare;
mod contradiction;
pub(crate) mod convention;
mod findings;
mod flow;
mod holder;
mod map;
mod mask;
mod memory;
mod rows;
mod state;
mod step;
mod value;
mod vector;

pub use contradiction::{Contradiction, ContradictionKind, Dword, Rule, SavedLanes, Subject, When};

use crate::arch::{Processor, ScratchAddressing, WaveSize};
use crate::expr::Encoding;
use crate::frame::{Fde, RULES_PER_STEP, Rows};
use crate::isa::{AccessKind, Decoder, Effect, Instruction, MachineRegister, Operand, ScalarOp};
use crate::limits::Limits;
use crate::meter::Meter;
use callees::Callees;
use compare::Comparison;
use convention::Convention;

use findings::{Findings, Place};
use flow::Visitor;
use rows::{Claims, RowReader};
use state::State;
use step::Context;

/// One function with its call frame information.
#[derive(Clone, Copy, Debug)]
pub struct FunctionCode<'a> {
    /// The machine code that the FDE covers.
    pub code: &'a [u8],
    /// The FDE.
    pub fde: &'a Fde<'a>,
    /// The section that the FDE is from, `.debug_frame` or `.eh_frame`.
    pub section: &'static str,
    /// How the FDE's expressions are encoded.
    pub encoding: Encoding,
}

/// Why nothing is said about a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Silence {
    /// There is no decoder for the processor, or the code has what is no instruction.
    Undecodable,
    /// A jump goes to a place that is not known, or into the middle of an instruction.
    UnknownJump,
    /// It would take too long.
    Budget,
    /// The rows cannot be read; other rules say why.
    Rows,
    /// The rows say nothing about a caller: those of a kernel, and those that have no rules.
    NoCaller,
    /// The CFA is of a calling convention that is not known.
    Convention,
}

/// What a function came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The contradictions, by ascending first address.
    pub contradictions: Vec<Contradiction>,
    /// Why the function was not followed, if it was not. There can be contradictions all the same: those
    /// that a look at the instructions' boundaries shows.
    pub silence: Option<Silence>,
}

/// The machine code of an object.
#[derive(Debug)]
pub struct Machine<'a> {
    processor: &'static Processor,
    wave_size: Option<WaveSize>,
    callees: Callees<'a>,
}

impl<'a> Machine<'a> {
    /// The functions of an object, for what is to be known behind calls. Each is read when one that calls
    /// it is checked.
    ///
    /// * `wave_size`: how many lanes the waves have that run it; nothing for the processor's default.
    /// * `functions`: the address and the code of each. One that is missing is taken to write everything
    ///   that it may.
    #[must_use]
    pub fn new(
        processor: &'static Processor,
        wave_size: Option<WaveSize>,
        functions: impl IntoIterator<Item = (u64, &'a [u8])>,
    ) -> Machine<'a> {
        Machine {
            processor,
            wave_size,
            callees: Callees::new(Decoder::new(processor, wave_size), functions),
        }
    }

    /// Checks the rows of a function.
    #[must_use]
    pub fn check(&self, function: &FunctionCode<'_>) -> Report {
        let length = function
            .code
            .len()
            .saturating_add(function.fde.instructions.len());
        self.check_within(function, &Meter::new(&Limits::DEFAULT, length as u64))
    }

    /// The same; what is read and followed is paid for. A function that could not be paid for to the end has nothing
    /// said about it.
    pub(crate) fn check_within(&self, function: &FunctionCode<'_>, meter: &Meter) -> Report {
        let mut findings = Findings::default();
        let held = meter.bytes();
        let silence = self.check_into(function, meter, &mut findings).err();
        meter.release(meter.bytes().saturating_sub(held));
        Report {
            contradictions: findings.into_sorted(),
            silence,
        }
    }

    fn check_into(
        &self,
        function: &FunctionCode<'_>,
        meter: &Meter,
        findings: &mut Findings,
    ) -> Result<(), Silence> {
        let decoder = Decoder::new(self.processor, self.wave_size).ok_or(Silence::Undecodable)?;
        let wave_size = (self.wave_size)
            .or(self.processor.default_wave_size())
            .ok_or(Silence::Undecodable)?;
        let rows = read_rows(function, wave_size, meter)?;
        let start = function.fde.initial_location;
        // An instruction has four bytes or more.
        let most = function.code.len() / 4;
        let kept = meter.hold_all::<Instruction>(most);
        (meter.work(most as u64).and(kept)).map_err(|_| Silence::Budget)?;
        let instructions =
            (decoder.decode_all(function.code, start)).map_err(|_| Silence::Undecodable)?;
        check_boundaries(&rows, &instructions, findings);
        if rows.iter().all(|row| !row.has_caller || row.cfa.is_none()) {
            return Err(Silence::NoCaller);
        }
        let convention = rows.iter().find_map(Claims::convention);
        let context = Context {
            wave_size,
            convention: convention.ok_or(Silence::Convention)?,
            addressing: addressing(self.processor, &instructions),
            callees: &self.callees,
            start,
            meter,
        };
        compare_all(&context, &instructions, &rows, findings)
    }
}

/// The rows of a function.
///
/// Those that are for no code of it are left out: there can be any number of them in a few bytes.
fn read_rows(
    function: &FunctionCode<'_>,
    wave_size: WaveSize,
    meter: &Meter,
) -> Result<Vec<Claims>, Silence> {
    let return_address = function.fde.cie.return_address_register;
    let mut rows = Rows::new(function.fde, function.section).map_err(|_| Silence::Rows)?;
    let mut reader = RowReader::new(return_address, function.encoding, wave_size);
    let mut claims: Vec<Claims> = Vec::new();
    let end = (function.fde.initial_location).saturating_add(function.code.len() as u64);
    while let Some(row) = rows.next().map_err(|_| Silence::Rows)? {
        let (is_for_code, rules) = (row.start < row.end.min(end), row.rules().len());
        let next = is_for_code.then(|| reader.read(row));
        let kept = match next {
            Some(_) => meter
                .hold_all::<Claims>(1)
                .and(meter.hold_all::<[usize; 3]>(rules)),
            None => Ok(()),
        };
        let paid = rows
            .pay(meter)
            .and(meter.work(rules as u64 / RULES_PER_STEP))
            .and(kept);
        paid.map_err(|_| Silence::Budget)?;
        let Some(mut next) = next else { continue };
        if let Some(last) = claims.last().filter(|last| last.cfa == next.cfa) {
            next.cfa_since = last.cfa_since;
        }
        claims.push(next);
    }
    Ok(claims)
}

/// Rows start where instructions do.
fn check_boundaries(rows: &[Claims], instructions: &[Instruction], findings: &mut Findings) {
    for row in rows {
        let after = instructions.partition_point(|one| one.address <= row.start);
        let Some(instruction) = after.checked_sub(1).and_then(|n| instructions.get(n)) else {
            continue;
        };
        if instruction.address < row.start && row.start < instruction.end() {
            let place = Place {
                start: row.start,
                end: instruction.end(),
            };
            let key = (
                ContradictionKind::RowInsideInstruction,
                Subject::Row,
                When::Always,
            );
            findings.add(key, instruction.address, place, || {
                (Rule::Other, Rule::Other)
            });
        }
    }
}

/// What the stack pointer counts in this function. On processors that can reach scratch in two ways, the
/// instructions tell; if there are none, nothing does.
pub(crate) fn addressing(
    processor: &Processor,
    instructions: &[Instruction],
) -> Option<ScratchAddressing> {
    let default = processor.scratch_addressing()?;
    if default == ScratchAddressing::Flat {
        return Some(default);
    }
    instructions.iter().find_map(|instruction| {
        let (Effect::Load(access) | Effect::Store(access)) = instruction.effect else {
            return None;
        };
        let base = access.base.registers().map(|span| span.first);
        let by_stack = matches!(base, Some(MachineRegister::Sgpr(32..=34)));
        match access.kind {
            AccessKind::Scratch => Some(ScratchAddressing::Flat),
            AccessKind::Buffer if by_stack && has_first_descriptor(access.descriptor) => {
                Some(ScratchAddressing::Buffer)
            }
            AccessKind::Buffer | AccessKind::Flat | AccessKind::Global => None,
        }
    })
}

fn has_first_descriptor(descriptor: Option<Operand>) -> bool {
    let first = descriptor
        .and_then(Operand::registers)
        .map(|span| span.first);
    first == Some(MachineRegister::Sgpr(0))
}

/// Compares each instruction that is reached with its row.
struct Comparer<'c, 'x> {
    context: &'c Context<'x>,
    rows: core::iter::Peekable<core::slice::Iter<'c, Claims>>,
    returns: &'c [u64],
    /// The row that the state was last compared with, if nothing has changed since but `changed`.
    compared: Option<u64>,
    changed: Vec<MachineRegister>,
    findings: Findings,
}

/// Follows the function, and compares each instruction that is reached with its row.
fn compare_all(
    context: &Context<'_>,
    instructions: &[Instruction],
    rows: &[Claims],
    findings: &mut Findings,
) -> Result<(), Silence> {
    let returns: Vec<u64> = (instructions.iter())
        .filter(|one| matches!(one.effect, Effect::SetPc { .. }))
        .map(|one| one.address)
        .collect();
    let comparer = flow::visit(context, instructions, || Comparer {
        context,
        rows: rows.iter().peekable(),
        returns: &returns,
        compared: None,
        changed: Vec::new(),
        findings: findings.clone(),
    })?;
    *findings = comparer.findings;
    Ok(())
}

impl Visitor for Comparer<'_, '_> {
    fn begin_block(&mut self) {
        self.compared = None;
        self.changed.clear();
    }

    fn visit(&mut self, state: &State, instruction: &Instruction) {
        while (self.rows)
            .next_if(|row| row.end <= instruction.address)
            .is_some()
        {}
        let Some(claims) = self.rows.peek() else {
            return;
        };
        let place = Place {
            start: instruction.address,
            end: instruction.end(),
        };
        let comparison = Comparison {
            context: self.context,
            claims,
            state,
            place,
            returns: self.returns,
        };
        if self.compared == Some(claims.start) {
            if !self.changed.is_empty() {
                comparison.run_again(&self.changed, &mut self.findings);
            }
            self.findings.go_on(place);
        } else if claims.start <= instruction.address {
            self.findings.begin();
            comparison.run(&mut self.findings);
            self.compared = Some(claims.start);
        }
        self.changed.clear();
        if !is_limited(self.context, state, instruction, claims, &mut self.changed) {
            self.compared = None;
        }
    }
}

/// Whether what an instruction does makes no difference to a comparison with the row but for registers
/// that have no rule and that no rule names. Adds those to `changed`.
fn is_limited(
    context: &Context<'_>,
    state: &State,
    instruction: &Instruction,
    claims: &Claims,
    changed: &mut Vec<MachineRegister>,
) -> bool {
    let spans = instruction.writes.spans();
    let changes_more = match instruction.effect {
        Effect::Call { .. } | Effect::GprIndex | Effect::VgprMsb { .. } => true,
        Effect::Store(access) => {
            !memory::leaves_alone(state, &access, context.wave_size, &claims.saved)
        }
        _ => instruction.writes.is_indirect(),
    };
    // Of GCC's functions the CFA alone is compared, and nothing else is followed.
    if context.convention == Convention::Gcc {
        let mut written = spans.iter().flat_map(|span| span.registers());
        return !written.any(
            |register| matches!(register, MachineRegister::Sgpr(n) if claims.names_scalar(n)),
        );
    }
    if changes_more {
        return false;
    }
    // What depended on the condition that is found here before is told anew, wherever it is.
    let finds_condition = matches!(
        instruction.effect,
        Effect::Compare { .. }
            | Effect::SaveExec { .. }
            | Effect::WriteExec { .. }
            | Effect::Scalar {
                op: ScalarOp::And | ScalarOp::AndNot,
                ..
            }
    );
    for span in spans {
        for register in span.registers() {
            let (has_rule, is_named) = match register {
                MachineRegister::Vgpr(_) | MachineRegister::Agpr(_) => {
                    (claims.has_vector(register), claims.names_vector(register))
                }
                MachineRegister::Sgpr(n) => {
                    let is_named = claims.names_scalar(n) || finds_condition;
                    (claims.has_scalar(n), is_named)
                }
                MachineRegister::ExecLo | MachineRegister::ExecHi => return false,
                _ => continue,
            };
            if is_named {
                return false;
            }
            if !has_rule {
                changed.push(register);
            }
        }
    }
    true
}
