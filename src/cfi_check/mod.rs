//! Checks call frame information against the machine code that it describes. An abstract interpretation of each function computes the state
//! before each instruction, which is compared with the row there.
//!
//! Checks of rows and expressions without code, and reports, are elsewhere. Examples and figures: `spec-notes/cfi-check.md`. Sources:
//! [HET](crate) A.6.4, [USAGE](crate) "Non-Kernel Functions", "Call Frame Information".
//!
//! # The analysis
//!
//! A row gives the places of the values that registers had on entry. The analysis therefore expresses contents in terms of registers on
//! entry, and distinguishes other values only as far as it has to.
//!
//! **Lattice.** A state (`state`) has an abstract value for each scalar register, vector register and slot of scratch, and the execution
//! mask.
//! - A scalar (`value`) is a scalar register on entry plus a constant, half of a mask, the realigned stack pointer plus a constant, half of
//!   a code address, or a constant. Above these are two elements. `Other` is a value that no register had on entry; `Unknown`, above it, is
//!   any value.
//! - A vector register or slot (`vector`) has one abstract value each for lanes active and inactive on entry: a vector register on entry,
//!   `Other`, or `Unknown`. It also has the scalars in lanes that `v_writelane` wrote.
//! - A mask (`mask`) contains a known or unknown part of the lanes active on entry, and none, all, or an unknown part of the others. A
//!   known part is a truth table over at most four conditions, named by the instructions that compute them. For an unknown part, it is
//!   known if it can be smaller than all.
//! - A slot is named by its distance from the stack pointer on entry, or from the realigned one.
//!
//! **Join** (`State::join`), by component, where paths meet. Equal values stay. Different values become `Unknown`, or `Other` if neither
//! can be a value on entry. Different masks keep only the fact that they can be smaller than all.
//!
//! **Transfer functions** (`step`, `memory`). Values are moved by copies, sums with constants, bitwise operations on masks, lane reads and
//! writes, and loads and stores at constant distances from the stack or frame pointer. If an instruction that computes a condition is
//! executed again, the condition gets a new name, and values that depend on the old one become unknown. A call makes the registers that the
//! callee may write `Unknown`. The results of other instructions become `Other`.
//!
//! **Termination** (`flow`). Blocks are visited until the states at their starts are stable. A join only raises values, each value has few
//! steps to the top, and the number of tracked slots is bounded. Since conditions are renamed, not all transfer functions are monotone.
//! Therefore the number of visited instructions is bounded, too; a function that exceeds it is skipped.
//!
//! **Comparison** (`compare`). A row (`decode_row`, `decode_rule`) contradicts the code if its rule gives a value that is certainly not the
//! one on entry. `Unknown` contradicts nothing. The correct rule is looked up in the state (`find_value`). The rules are in `rule`.
//!
//! **Assumptions**:
//! 1. Accesses at per-lane addresses and flat addresses reach variables, and not saved registers.
//! 2. A stack pointer that is set to a computed value is not lower than before.
//! 3. A computed value does not equal a value on entry by chance, nor do two values on entry equal each other.
//! 4. At least one lane is active on entry.
//! 5. Callees follow the calling convention, and return.
//!
//! A function that cannot be followed is skipped: [`SkipReason`].
//!
//! The example checks two functions of `hetdwarf demo`. LLVM 24 describes one of them correctly:
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
mod remedy;
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
use compare_rows::Extent;
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

/// The reason why a function is skipped.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// There is no decoder for the processor, or the code contains an invalid instruction.
    Undecodable,
    /// A jump goes to an unknown place, or into the middle of an instruction.
    UnknownJump,
    /// The budget was exceeded.
    Budget,
    /// The rows cannot be read; other rules report why.
    Rows,
    /// The rows do not describe a caller: they belong to a kernel, or have no rules.
    NoCaller,
    /// The CFA belongs to an unknown calling convention.
    Convention,
}

/// The result of checking a function.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The contradictions, by ascending first address.
    pub contradictions: Vec<Contradiction>,
    /// The reason why the function was skipped, if it was. There can still be contradictions, which follow from the boundaries of
    /// instructions.
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
    /// Creates the checker from the functions of an object, which determine the state after calls. A function is read when one of its
    /// callers is checked.
    ///
    /// * `wave_size`: the size of the waves that run the object. `None` for the processor's default.
    /// * `functions`: the address and the code of each. A missing function is assumed to write everything that it may.
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

    /// Checks only the row at an address, within a budget. The expected rules hold at this address. If the budget is exceeded, there are no
    /// contradictions.
    pub(crate) fn check_at(
        &self,
        address: u64,
        function: &FunctionCode<'_>,
        meter: &Meter,
    ) -> Report {
        let known = &mut KnownInstructions::default();
        report(self.check_some(Extent::One(address), function, known, meter))
    }

    /// Checks the row at an address like [`check_at`](Machine::check_at). A rule also counts as wrong if its value is not known to be the one on
    /// entry. Returns the contradictions; all other rules are right. Returns `None` if the function is skipped, or the code does not reach the address.
    pub(crate) fn doubt_at(
        &self,
        address: u64,
        function: &FunctionCode<'_>,
        meter: &Meter,
    ) -> Option<Vec<Contradiction>> {
        let known = &mut KnownInstructions::default();
        let (findings, checked) = self.check_some(Extent::Doubted(address), function, known, meter);
        let is_known = checked.is_ok() && findings.has_compared();
        is_known.then(|| findings.into_sorted())
    }

    /// Checks as [`Machine::check`] does, within a budget. If the budget is exceeded, the function has no contradictions.
    ///
    /// * `known`: the decoded instructions of other functions of the machine.
    pub(crate) fn check_within(
        &self,
        function: &FunctionCode<'_>,
        known: &mut KnownInstructions,
        meter: &Meter,
    ) -> Report {
        report(self.check_some(Extent::All, function, known, meter))
    }

    fn check_some(
        &self,
        extent: Extent,
        function: &FunctionCode<'_>,
        known: &mut KnownInstructions,
        meter: &Meter,
    ) -> (Findings, Result<(), SkipReason>) {
        let mut findings = Findings::default();
        let held = meter.bytes();
        let checked = self.check_into(extent, function, known, meter, &mut findings);
        meter.release(meter.bytes().saturating_sub(held));
        (findings, checked)
    }

    fn check_into(
        &self,
        extent: Extent,
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
        if extent == Extent::All {
            check_boundaries(&rows, &instructions, findings);
        }
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
        compare_rows::compare(&context, &rows, extent, findings)
    }
}

fn report((findings, checked): (Findings, Result<(), SkipReason>)) -> Report {
    Report {
        contradictions: findings.into_sorted(),
        skip_reason: checked.err(),
    }
}

/// Returns the rows of a function.
///
/// Rows without code of the function are left out, because a few bytes can define any number of them.
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

/// Checks that rows start at instructions.
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
                intact: None,
            };
            findings.add(wrong, place, || (RowRule::Other, RowRule::Other));
        }
    }
}
