//! Call frame information against the machine code that it describes: an abstract interpretation of each function,
//! and a comparison of what is known before each instruction with the row that holds there.
//!
//! What rows and expressions mean by themselves is checked elsewhere, and findings are made elsewhere. Examples and
//! figures: `spec-notes/cfi-check.md`. Sources: [HET](crate) A.6.4, [USAGE](crate) "Non-Kernel Functions", "Call Frame Information".
//!
//! # The analysis
//!
//! A row says where the values are that registers had on entry. So what a register has is expressed by what registers
//! had on entry, and all else is told apart only as far as it is needed to follow that.
//!
//! **Lattice.** A state (`state`) has an abstract value for each scalar register, vector register and slot of scratch, and
//! the execution mask.
//! - A scalar (`value`): what a scalar register had on entry, plus a constant; half of a mask; the realigned stack pointer
//!   plus a constant; half of a code address; a constant. Above these are two elements: `Other`, some value that is not
//!   one of the entry, and above that `Unknown`, any value.
//! - A vector register or slot (`vector`): one abstract value each for the lanes active and inactive on entry
//!   (what a vector register had there on entry, `Other`, `Unknown`), and scalars in lanes that `v_writelane` wrote.
//! - A mask (`mask`): of the lanes active on entry a truth table over at most four conditions, named by the instructions
//!   that found them, or some of them, with whether they can be fewer than all; of the others none, all or unknown.
//! - A slot is named by its distance from the stack pointer on entry, or from the realigned one.
//!
//! **Join** (`State::join`), by component, where paths meet: equal values stay; what differs becomes `Unknown`, or `Other` if
//! neither can be a value of the entry; masks that differ keep only whether they can be less.
//!
//! **Transfer functions** (`step`, `memory`). Copies, sums with constants, bitwise operations on masks, lane reads and
//! writes, and loads and stores at constant distances from the stack or frame pointer move values. When an
//! instruction that makes a condition is executed again, the condition gets a new name, and values that depend on the old one
//! become unknown. A call makes the registers that the callee
//! may write `Unknown`. What any other instruction writes becomes `Other`.
//!
//! **Why it ends** (`flow`). Blocks are gone through until the states at their starts are stable. Values only rise by joining,
//! and each has few steps to the top; the number of tracked slots is bounded. The transfer functions are not all monotone
//! (conditions are renamed), so that there is a bound on instructions as well: a function beyond it is skipped.
//!
//! **Comparison** (`compare`). A row (`decode_row`, `decode_rule`) contradicts the code where its rule gives a value
//! that is surely not the one of the entry. `Unknown` contradicts nothing. What the row should say is looked up in the state
//! (`find_value`). The rules: `rule`.
//!
//! **Assumed**:
//! 1. Accesses at addresses of each lane's own, and flat ones, reach variables and not saved registers.
//! 2. A stack pointer that is set to a computed value is not lower than it was.
//! 3. A computed value is not by chance one of the entry, nor are two values of the entry equal by chance.
//! 4. Some lane is active on entry.
//! 5. Callees keep to the calling convention, and return.
//!
//! A function that cannot be followed is skipped: [`SkipReason`].
//!
//! Two functions of the example of `hetdwarf demo`, of which LLVM 24 describes one as it is:
//!
//! ```
//! use fallible_iterator::FallibleIterator;
//! use hetdwarf::cfi_check::{FunctionCode, Machine};
//! use hetdwarf::{expr::Encoding, frame::{Entry, FrameSection}, object::CodeObject};
//!
//! let file = std::fs::read("examples/demo/calls-O2.rocm.hsaco").unwrap();
//! let object = CodeObject::parse(&file)?;
//! let machine = Machine::new(object.target().processor(), None, []);
//! let section = FrameSection::debug_frame(object.section(".debug_frame")?.unwrap());
//! let check = |function: u64| -> hetdwarf::Result<_> {
//!     let mut entries = section.entries();
//!     while let Some(entry) = entries.next()? {
//!         let Entry::Fde(fde) = entry else { continue };
//!         if fde.initial_location == function {
//!             let code = object.read_image(function, fde.address_range as usize).unwrap();
//!             let of_function = FunctionCode { code, fde: &fde, section: ".debug_frame", encoding: Encoding::AMDGPU };
//!             return Ok(machine.check(&of_function).contradictions);
//!         }
//!     }
//!     panic!("there is an entry for each function");
//! };
//! let (leaf, mid) = (check(0x1600)?, check(0x1680)?);
//! assert!(leaf.is_empty());
//! assert_eq!(
//!     mid[1].to_string(),
//!     "at 0x1690 exec has no rule, so a debugger assumes it is unchanged, but the instruction at 0x168c changes exec. \
//!      The caller's value is in s0"
//! );
//! # Ok::<(), hetdwarf::Error>(())
//! ```

mod compare;
mod compare_rows;
mod contradiction;
mod decode_row;
mod decode_rule;
mod find_value;
mod findings;
mod flow;
mod mask;
mod memory;
mod rule;
mod slot;
mod state;
mod step;
#[cfg(test)]
mod tests;
mod value;
mod vector;

pub use contradiction::{Condition, Contradiction, Dword, RowRule, SavedLanes, Subject};
pub(crate) use rule::RULES;

use crate::abi::{Callees, addressing};
use crate::arch::{Processor, WaveSize};
use crate::expr::Encoding;
use crate::frame::{Fde, RULES_PER_STEP, Rows};
use crate::isa::{Decoder, Instruction, KnownInstructions};
use crate::limits::Limits;
use crate::machine_flow::Code;
use crate::meter::Meter;
use decode_row::{DecodedRow, RowReader};
use findings::{Findings, Place, Wrong};
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
    /// The encoding of the FDE's expressions.
    pub encoding: Encoding,
}

/// Why a function is skipped.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
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

/// The result of checking a function.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The contradictions, by ascending first address.
    pub contradictions: Vec<Contradiction>,
    /// Why the function was skipped, if it was. There can be contradictions all the same: those
    /// that the instructions' boundaries show.
    pub skip_reason: Option<SkipReason>,
}

/// The machine code of an object.
#[derive(Debug)]
pub struct Machine<'a> {
    processor: &'static Processor,
    wave_size: Option<WaveSize>,
    callees: Callees<'a>,
}

impl<'a> Machine<'a> {
    /// Creates the functions of an object, for what is known after calls. Each is read when one that calls
    /// it is checked.
    ///
    /// * `wave_size`: the size of the waves that run it. `None` for the processor's default.
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
        let meter = &Meter::new(&Limits::DEFAULT, length as u64);
        self.check_within(function, &mut KnownInstructions::default(), meter)
    }

    /// [`Machine::check`], where what is read and followed is paid for. A function that could not be paid for to the end
    /// has nothing said about it.
    ///
    /// * `known`: what was decoded of other functions of the machine.
    pub(crate) fn check_within(
        &self,
        function: &FunctionCode<'_>,
        known: &mut KnownInstructions,
        meter: &Meter,
    ) -> Report {
        let mut findings = Findings::default();
        let held = meter.bytes();
        let skip_reason = self.check_into(function, known, meter, &mut findings).err();
        meter.release(meter.bytes().saturating_sub(held));
        Report {
            contradictions: findings.into_sorted(),
            skip_reason,
        }
    }

    fn check_into(
        &self,
        function: &FunctionCode<'_>,
        known: &mut KnownInstructions,
        meter: &Meter,
        findings: &mut Findings,
    ) -> Result<(), SkipReason> {
        let decoder =
            Decoder::new(self.processor, self.wave_size).ok_or(SkipReason::Undecodable)?;
        let wave_size = (self.wave_size)
            .or(self.processor.default_wave_size())
            .ok_or(SkipReason::Undecodable)?;
        let rows = read_rows(function, wave_size, meter)?;
        let start = function.fde.initial_location;
        // An instruction has four bytes or more.
        let most = function.code.len() / 4;
        let kept = meter
            .hold_all::<Instruction>(most)
            .and(meter.hold_all::<[u8; Code::GRAPH_BYTES]>(most));
        (meter.work(most as u64).and(kept)).map_err(|_| SkipReason::Budget)?;
        let instructions = (decoder.decode_all_known(function.code, start, known))
            .map_err(|_| SkipReason::Undecodable)?;
        check_boundaries(&rows, &instructions, findings);
        if rows.iter().all(|row| !row.has_caller || row.cfa.is_none()) {
            return Err(SkipReason::NoCaller);
        }
        let convention = rows.iter().find_map(DecodedRow::convention);
        let convention = convention.ok_or(SkipReason::Convention)?;
        let mut code = Code::of(instructions, &self.callees, decoder.family());
        code.convention = convention;
        let context = Context {
            wave_size,
            convention,
            code: &code,
            addressing: addressing(self.processor, &code.instructions),
            callees: &self.callees,
            start,
            meter,
        };
        compare_rows::compare_all(&context, &rows, findings)
    }
}

/// Returns the rows of a function.
///
/// Those that are for no code of it are left out: there can be any number of them in a few bytes.
fn read_rows(
    function: &FunctionCode<'_>,
    wave_size: WaveSize,
    meter: &Meter,
) -> Result<Vec<DecodedRow>, SkipReason> {
    let return_address = function.fde.cie.return_address_register;
    let mut rows = Rows::new(function.fde, function.section).map_err(|_| SkipReason::Rows)?;
    let mut reader = RowReader::new(return_address, function.encoding, wave_size);
    let mut decoded: Vec<DecodedRow> = Vec::new();
    let end = (function.fde.initial_location).saturating_add(function.code.len() as u64);
    while let Some(row) = rows.next().map_err(|_| SkipReason::Rows)? {
        let (is_for_code, rules) = (row.start < row.end.min(end), row.rules().len());
        let next = is_for_code.then(|| reader.read(row));
        let kept = match next {
            Some(_) => meter
                .hold_all::<DecodedRow>(1)
                .and(meter.hold_all::<[usize; 3]>(rules)),
            None => Ok(()),
        };
        let paid = rows
            .pay(meter)
            .and(meter.work(rules as u64 / RULES_PER_STEP))
            .and(kept);
        paid.map_err(|_| SkipReason::Budget)?;
        let Some(mut next) = next else { continue };
        if let Some(last) = decoded.last().filter(|last| last.cfa == next.cfa) {
            next.cfa_since = last.cfa_since;
        }
        decoded.push(next);
    }
    Ok(decoded)
}

/// Rows start where instructions do.
fn check_boundaries(rows: &[DecodedRow], instructions: &[Instruction], findings: &mut Findings) {
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
            let wrong = Wrong {
                rule: &rule::ROW_INSIDE_INSTRUCTION,
                subject: Subject::Row,
                condition: Condition::Always,
                cause_pc: instruction.address,
            };
            findings.add(wrong, place, || (RowRule::Other, RowRule::Other));
        }
    }
}
