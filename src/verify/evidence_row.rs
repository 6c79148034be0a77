//! Writes the rules of a contradicted row as directives.

use super::evidence::{PlacedDirective, directives, instruction_at};
use super::subject::Subject;
use crate::arch::{Register, ScratchAddressing, WaveSize};
use crate::cfi_check::{Contradiction, Subject as About};
use crate::frame::write::{Assembler, Target};
use crate::frame::{CfaRule, RegisterRule, Row};

/// The maximum size of a shown expression in bytes.
const LONGEST: usize = 256;

/// Looks up the rows of an object, and keeps the most recent row. The contradictions of a cause start at the same few addresses.
pub(super) struct Rows<'s, 'p, 'a> {
    subject: &'s Subject<'p, 'a>,
    target: Target,
    assembler: Assembler,
    last: Option<(u64, Row<'a>)>,
}

impl<'s, 'p, 'a> Rows<'s, 'p, 'a> {
    pub(super) fn new(
        subject: &'s Subject<'p, 'a>,
        wave_size: WaveSize,
        assembler: Assembler,
    ) -> Rows<'s, 'p, 'a> {
        let target = Target {
            wave_size,
            // The results do not depend on this value.
            scratch: ScratchAddressing::Buffer,
        };
        Rows {
            subject,
            target,
            assembler,
            last: None,
        }
    }

    fn row(&mut self, pc: u64) -> Option<&Row<'a>> {
        if self.last.as_ref().is_none_or(|(known, _)| *known != pc) {
            let cfi = self.subject.program.cfi();
            let (_, row) = cfi.row_at(pc, Some(self.subject.meter())).ok()??;
            self.last = Some((pc, row));
        }
        self.last.as_ref().map(|(_, row)| row)
    }

    /// Returns the contradicted rule at the first address of the contradiction. Returns `None` if the whole row is contradicted.
    pub(super) fn rule(&mut self, contradiction: &Contradiction) -> Option<PlacedDirective> {
        let pc = contradiction.ranges.first()?.start;
        let mut frame = instruction_at(self.target, self.subject.facts().dialect)?;
        let row = self.row(pc)?;
        let register = match contradiction.subject {
            About::Cfa => {
                match row.cfa {
                    CfaRule::None => return Some(nothing(pc, "the CFA")),
                    CfaRule::Expression(expression) if expression.bytes.len() > LONGEST => {
                        return None;
                    }
                    CfaRule::Register { .. } | CfaRule::Expression(_) => {}
                }
                frame.cfa_rule(row.cfa).ok()?;
                return directives(frame, pc, self.assembler)?.pop();
            }
            About::ReturnAddress => Register::pc(),
            About::Register(register) => register,
            About::Row => return None,
        };
        let number = register.number().into();
        let rule = match row.rule(number) {
            None => return Some(nothing(pc, register)),
            Some(
                RegisterRule::Expression(expression) | RegisterRule::ValExpression(expression),
            ) if expression.bytes.len() > LONGEST => {
                return None;
            }
            Some(rule) => rule,
        };
        frame.register_rule(number, rule).ok()?;
        directives(frame, pc, self.assembler)?.pop()
    }
}

fn nothing(pc: u64, what: impl core::fmt::Display) -> PlacedDirective {
    PlacedDirective {
        pc,
        text: String::new(),
        meaning: format!("no rule of {what}"),
    }
}
