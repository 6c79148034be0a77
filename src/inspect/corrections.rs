//! Corrects call frame information that contradicts the machine code.
//!
//! Compilers write wrong rows, mostly in prologues and epilogues (`spec-notes/cfi-check.md`). [`cfi_check`](crate::cfi_check) proves that a rule is wrong,
//! and finds the value. A stack that follows the wrong rule has wrong callers, or wrong values in them.
//!
//! A rule is replaced if the value was found. It becomes undefined if the value is certainly not where the row says, and was not found. A rule that is wrong
//! only under a condition, such as switched-off lanes, is kept if the value was not found.

use std::sync::{Arc, Mutex};

use foldhash::HashMap;

use crate::arch::{Register, WaveSize};
use crate::cfi_check::{Condition, Contradiction, FunctionCode, Machine, RowRule, Subject};
use crate::error::{Error, Result};
use crate::expr::{Dialect, Encoding};
use crate::frame::write::{Common, FunctionFrame, Start};
use crate::frame::{Cie, CorrectedRule, Correction, FrameIndex};
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
    known: Mutex<HashMap<u64, Option<Arc<Correction>>>>,
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
            known: Mutex::default(),
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
        let found = lock(&self.known).get(&address).cloned();
        if let Some(found) = found {
            meter.work(1)?;
            return Ok(found);
        }
        let found = self.find(address, cie, checked, meter);
        if let Some(refused) = meter.refused() {
            return Err(refused);
        }
        let found = found.map(Arc::new);
        let known = &mut *lock(&self.known);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(address, found.clone());
        Ok(found)
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
            self.add(one, &common, &mut correction);
        }
        correction.lost.sort_unstable();
        let is_empty = correction.lost.is_empty() && correction.rules.is_empty();
        (!is_empty).then_some(correction)
    }

    /// Adds the correction of a rule, if one is certain.
    fn add(&self, wrong: &Contradiction, common: &Common, correction: &mut Correction) {
        let is_found = wrong.expected != RowRule::Other;
        if !is_found && wrong.condition != Condition::Always {
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
                // Functions need not preserve the register.
                if wrong.expected == RowRule::Undefined {
                    return correction.lost.push(register.number().into());
                }
                register.to_string()
            }
            Subject::Register(register) => register.to_string(),
        };
        match (is_found, wrong.subject) {
            (false, Subject::Cfa) => correction.without_cfa = true,
            (false, Subject::ReturnAddress) => {
                let error = Error::malformed("call frame information", wrong.to_string());
                correction.without_caller = Some(error);
            }
            (_, _) => match self.instructions(wrong, common) {
                Some(instructions) => correction.instructions.extend(instructions),
                None => return,
            },
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
