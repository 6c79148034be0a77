//! Corrects call frame information that contradicts the machine code.
//!
//! Compilers write wrong rows, mostly in prologues and epilogues (`spec-notes/cfi-check.md`). [`cfi_check`](crate::cfi_check) proves that a rule is wrong,
//! and finds the value. A stack that follows the wrong rule has wrong callers, or wrong values in them.
//!
//! A rule is replaced if the value was found. It becomes undefined if the value is certainly not where the row says, and was not found. A rule that is wrong
//! only under a condition, such as switched-off lanes, is kept if the value was not found.
//!
//! Some compilers write no rows at all. The rules for a place then are those that hold on entry to every function (USAGE "Calling Convention"), changed where
//! the machine code may have changed the values. They are used only if the code is known to have found the right return address.

use std::sync::{Arc, Mutex};

use foldhash::HashMap;

use crate::abi::Convention;
use crate::arch::{Processor, Register, WaveSize};
use crate::cfi_check::{
    Condition, Contradiction, FunctionCode, Machine, RowRule, SavedLanes, Subject,
};
use crate::error::{Error, Result};
use crate::expr::{Dialect, Encoding};
use crate::frame::write::{Common, FrameTable, FunctionFrame, ReturnAddress, Start, Target};
use crate::frame::{
    Cie, CorrectedRule, Correction, Derived, FrameIndex, FrameSection, LanesLeft, LostRegister,
};
use crate::lane_flow::Function;
use crate::meter::Meter;
use crate::object::CodeObject;
use crate::sync::lock;

/// The most addresses whose corrections are kept. The number of addresses is unbounded, so the cache is cleared when it becomes larger.
const MOST: usize = 1 << 13;

/// The corrections for waves of one size.
#[derive(Debug)]
pub(super) struct CodeChecks<'a> {
    machine: Machine<'a>,
    wave_size: WaveSize,
    processor: &'static Processor,
    known: Mutex<HashMap<u64, Option<Arc<Correction>>>>,
    derived: Mutex<HashMap<u64, Option<Arc<Derived>>>>,
}

/// The checked object.
pub(super) struct Checked<'p, 'a> {
    pub(super) object: &'a CodeObject<'a>,
    pub(super) cfi: &'p FrameIndex<'a>,
    pub(super) dialect: Dialect,
}

impl<'a> CodeChecks<'a> {
    pub(super) fn new(object: &'a CodeObject<'a>, wave_size: WaveSize) -> CodeChecks<'a> {
        // Without symbols, calls count as writing every register that they may.
        let functions = Function::all(object).unwrap_or_default();
        let functions = functions.into_iter().map(|one| (one.address, one.code));
        let processor = object.target().processor();
        CodeChecks {
            machine: Machine::new(processor, Some(wave_size), functions),
            wave_size,
            processor,
            known: Mutex::default(),
            derived: Mutex::default(),
        }
    }

    /// Implements [`Program::correction`](super::Program::correction).
    pub(super) fn correction(
        &self,
        address: u64,
        cie: &Cie<'_>,
        checked: &Checked<'_, '_>,
        meter: &Meter,
    ) -> Result<Option<Arc<Correction>>> {
        known_or(&self.known, address, meter, || {
            self.find(address, cie, checked, meter)
        })
    }

    /// Implements [`Program::derived`](super::Program::derived).
    pub(super) fn derived(
        &self,
        address: u64,
        function: &Function<'_>,
        dialect: Dialect,
        meter: &Meter,
    ) -> Result<Option<Arc<Derived>>> {
        known_or(&self.derived, address, meter, || {
            self.derive(address, function, dialect, meter)
        })
    }

    /// Finds the rules at an address of a function without call frame information.
    fn derive(
        &self,
        address: u64,
        function: &Function<'_>,
        dialect: Dialect,
        meter: &Meter,
    ) -> Option<Derived> {
        let common = Common::new().with_dialect(dialect);
        let size = u64::try_from(function.code.len()).ok()?;
        let of_function = self.rules_on_entry(&common, function.address, size)?;
        let section = FrameSection::debug_frame(&of_function);
        let fde = FrameIndex::new(section).find(address).ok()??;
        let code = FunctionCode {
            code: function.code,
            fde: &fde,
            section: section.name(),
            encoding: common.encoding(),
        };
        let mut changes = Correction::default();
        for change in self.machine.doubt_at(address, &code, meter)? {
            self.add(&change, &common, Given::OnEntry, &mut changes);
        }
        // Nothing of a compiler was corrected.
        changes.rules.clear();
        changes.lost.sort_unstable();
        if changes.without_caller.is_some() {
            return None;
        }
        Some(Derived {
            section: self.rules_on_entry(&common, address, 1)?,
            changes: Arc::new(changes),
        })
    }

    /// Returns a `.debug_frame` with the rules that hold on entry to a function.
    fn rules_on_entry(&self, common: &Common, start: u64, size: u64) -> Option<Vec<u8>> {
        let target = Target {
            wave_size: self.wave_size,
            scratch: self.processor.scratch_addressing()?,
        };
        let register = |number: u8| Register::sgpr(number.into());
        let stack_pointer = register(Convention::Llvm.stack_pointer())?;
        let return_address = register(Convention::Llvm.return_address())?;
        let mut frame = FunctionFrame::new(target, common, Start::Address(start), size).ok()?;
        frame.cfa_from_stack_pointer(stack_pointer).ok()?;
        let place = ReturnAddress::Pair(return_address);
        frame.return_address_in(place).ok()?;
        Some(FrameTable::new().add(frame).write().ok()?.bytes)
    }

    /// Checks the row at an address.
    fn find(
        &self,
        address: u64,
        cie: &Cie<'_>,
        checked: &Checked<'_, '_>,
        meter: &Meter,
    ) -> Option<Correction> {
        let fde = checked.cfi.find(address).ok()??;
        let size = usize::try_from(fde.address_range).ok()?;
        let function = FunctionCode {
            code: checked.object.read_image(fde.initial_location, size)?,
            fde: &fde,
            section: checked.cfi.section().name(),
            encoding: Encoding {
                address_size: cie.address_size,
                offset_size: 4,
                dialect: checked.dialect,
            },
        };
        let report = self.machine.check_at(address, &function, meter);
        let factors = (cie.code_alignment_factor, cie.data_alignment_factor);
        let common = Common::new().with_dialect(checked.dialect);
        let common = common.with_alignment_factors(factors.0, factors.1).ok()?;
        let mut correction = Correction::default();
        for one in &report.contradictions {
            self.add(one, &common, Given::ByCompiler, &mut correction);
        }
        correction.lost.sort_unstable();
        let is_empty = correction.lost.is_empty() && correction.rules.is_empty();
        (!is_empty).then_some(correction)
    }

    /// Adds the correction of a rule.
    fn add(
        &self,
        wrong: &Contradiction,
        common: &Common,
        given: Given,
        correction: &mut Correction,
    ) {
        let is_found = wrong.expected != RowRule::Other;
        let is_certain = is_found || wrong.condition == Condition::Always || wrong.intact.is_some();
        if given == Given::ByCompiler && !is_certain {
            return;
        }
        // The stack finds EXEC and the stack pointer without a rule.
        let is_implied = |register: Register| {
            register == Register::exec(self.wave_size) || Some(register) == Register::sgpr(32)
        };
        let name = match wrong.subject {
            Subject::Row => return,
            Subject::Cfa => "cfa".to_owned(),
            Subject::ReturnAddress => Register::pc().to_string(),
            Subject::Register(register) if wrong.actual == RowRule::None => {
                if is_implied(register) {
                    return;
                }
                register.to_string()
            }
            Subject::Register(register) => register.to_string(),
        };
        let is_lost = wrong.actual == RowRule::None && !is_usable(wrong);
        let instructions = match is_lost {
            true => None,
            false => self.instructions(wrong, common),
        };
        match (instructions, wrong.subject) {
            (Some(instructions), _) => correction.instructions.extend(instructions),
            // No event can express the place.
            (None, _) if is_found && !is_lost && given == Given::ByCompiler => return,
            (None, Subject::Cfa) => correction.without_cfa = true,
            (None, Subject::Register(register)) => {
                let left = match wrong.intact {
                    Some(SavedLanes::Active) => LanesLeft::Active,
                    Some(SavedLanes::Inactive) => LanesLeft::Inactive,
                    Some(SavedLanes::All) | None => LanesLeft::None,
                };
                let number = register.number().into();
                correction.lost.push(LostRegister { number, left });
                // Functions need not preserve the register.
                if wrong.expected == RowRule::Undefined {
                    return;
                }
            }
            (None, Subject::ReturnAddress | Subject::Row) => {
                let error = Error::malformed("call frame information", wrong.to_string());
                correction.without_caller = Some(error);
            }
        }
        let message = wrong.to_string();
        correction.rules.push(CorrectedRule { name, message });
    }

    /// Returns the instructions that set the expected rule. Returns `None` if there is nothing to correct.
    fn instructions(&self, wrong: &Contradiction, common: &Common) -> Option<Vec<u8>> {
        let target = wrong.target(self.wave_size);
        let mut frame = FunctionFrame::new(target, common, Start::Address(0), 4).ok()?;
        wrong.expect_in(&mut frame, self.wave_size).ok()??;
        Some(frame.instructions().to_vec())
    }
}

/// The rules that are corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    /// Those that a compiler wrote for the place. In doubt they are kept.
    ByCompiler,
    /// Those that hold on entry to every function. In doubt the value is lost.
    OnEntry,
}

/// Returns true if the expected place of a register without a rule has its values in all lanes, together with the register itself.
fn is_usable(wrong: &Contradiction) -> bool {
    match wrong.expected {
        RowRule::Vector(_, saved) | RowRule::Scratch(_, saved) => match saved {
            SavedLanes::All => true,
            SavedLanes::Active => wrong.intact == Some(SavedLanes::Inactive),
            SavedLanes::Inactive => wrong.intact == Some(SavedLanes::Active),
        },
        RowRule::Other | RowRule::Undefined => false,
        RowRule::None
        | RowRule::SameValue
        | RowRule::Dwords(_)
        | RowRule::Cfa { .. }
        | RowRule::CfaShiftedRight(_) => true,
    }
}

/// Returns the facts about an address from a cache, or finds them.
///
/// # Errors
/// If a limit is reached.
fn known_or<T>(
    known: &Mutex<HashMap<u64, Option<Arc<T>>>>,
    address: u64,
    meter: &Meter,
    find: impl FnOnce() -> Option<T>,
) -> Result<Option<Arc<T>>> {
    let found = lock(known).get(&address).cloned();
    if let Some(found) = found {
        meter.work(1)?;
        return Ok(found);
    }
    let found = find();
    if let Some(refused) = meter.refused() {
        return Err(refused);
    }
    let found = found.map(Arc::new);
    let known = &mut *lock(known);
    if known.len() >= MOST {
        known.clear();
    }
    known.insert(address, found.clone());
    Ok(found)
}
