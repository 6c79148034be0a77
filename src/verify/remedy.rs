//! Collects the evidence of a contradiction: the instructions around its cause, and the correct directives.
//!
//! [`frame::write`](crate::frame::write) writes the directives from the events that a back end would report. No directive is guessed. There is none
//! if the correct value was not found, or if the row is wrong for a reason other than its own rule.

use std::collections::BTreeMap;

use fallible_iterator::FallibleIterator;

use super::evidence::{CodeLine, Evidence, PlacedDirective, directives, instruction_at};
use super::evidence_row::Rows;
use super::finding::Finding;
use super::subject::Subject;
use crate::arch::{Register, RegisterClass, WaveSize};
use crate::cfi_check::{Contradiction, Subject as About};
use crate::expr::Dialect;
use crate::frame::write::Assembler;
use crate::isa::Decoder;

/// The maximum number of causes of a kind that get evidence in an object.
const EACH: usize = 3;
/// The maximum number of directives for a cause.
const MOST_DIRECTIVES: usize = 64;
/// The number of instructions that are shown before the cause, and from the cause on.
const BEFORE: usize = 2;
const FROM: usize = 4;

/// Adds evidence to the first finding of each cause, for the first causes of each kind.
pub(super) fn add(subject: &Subject<'_, '_>, assembler: Assembler, findings: &mut [Finding]) {
    let (processor, wave_size) = (subject.processor(), subject.wave_size);
    let decoder = Decoder::new(processor, wave_size);
    let wave_size = wave_size.or(processor.default_wave_size());
    let (Some(decoder), Some(wave_size)) = (decoder, wave_size) else {
        return;
    };
    let dialect = subject.facts().dialect;
    let mut rows = Rows::new(subject, wave_size, assembler);
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    let mut first: BTreeMap<_, usize> = BTreeMap::new();
    let mut made: Vec<(usize, Evidence)> = Vec::new();
    for (index, finding) in findings.iter().enumerate() {
        let Some(contradiction) = finding.contradiction.as_deref() else {
            continue;
        };
        let kind = (
            finding.rule.id,
            finding.severity,
            class(contradiction.subject),
        );
        let cause = (finding.rule.id, finding.offset, contradiction.cause_pc);
        let number = match first.get(&cause) {
            Some(number) => *number,
            None => {
                let count = counts.entry(kind).or_default();
                if *count >= EACH {
                    continue;
                }
                *count += 1;
                let code = code(subject, &decoder, contradiction.cause_pc);
                let evidence = Evidence {
                    code: code.unwrap_or_default(),
                    row: Vec::new(),
                    directives: Vec::new(),
                };
                first.insert(cause, made.len());
                made.push((index, evidence));
                made.len() - 1
            }
        };
        let Some((_, evidence)) = made.get_mut(number) else {
            continue;
        };
        if evidence.directives.len() < MOST_DIRECTIVES {
            let more = remedy(contradiction, wave_size, dialect, assembler).unwrap_or_default();
            evidence.directives.extend(more);
        }
        if evidence.row.len() < MOST_DIRECTIVES {
            evidence.row.extend(rows.rule(contradiction));
        }
    }
    for (index, evidence) in made {
        if let Some(finding) = findings.get_mut(index) {
            if let (Some(pc), Some(source)) = (finding.pc, &mut finding.source) {
                source.text = subject.source_text_at(pc);
            }
            finding.evidence = Some(Box::new(evidence));
        }
    }
}

/// Returns the class of a contradiction's subject, by which causes are grouped.
fn class(subject: About) -> (u8, Option<RegisterClass>) {
    match subject {
        About::Cfa => (0, None),
        About::ReturnAddress => (1, None),
        About::Row => (2, None),
        About::Register(register) if Some(register) == Register::sgpr(32) => (3, None),
        About::Register(register) => (4, register.class()),
    }
}

/// Returns the instructions around an address. Returns `None` if the address is in no known function, or if the function cannot be decoded.
fn code(subject: &Subject<'_, '_>, decoder: &Decoder, cause: u64) -> Option<Vec<CodeLine>> {
    let function = subject.symbol_at(cause)?.range.clone();
    let size = function.end.checked_sub(function.start)?;
    let object = subject.program.object();
    let bytes = object.read_image(function.start, usize::try_from(size).ok()?)?;
    let before = cause.checked_sub(function.start)?;
    subject.meter().work(before / 4).ok()?;
    let mut window: Vec<(u64, usize)> = Vec::new();
    let mut after = 0;
    let mut instructions = decoder.instructions(bytes, function.start);
    while let Some(instruction) = instructions.next().ok()? {
        let at = usize::try_from(instruction.address.checked_sub(function.start)?).ok()?;
        if instruction.address >= cause {
            after += 1;
        } else if window.len() >= BEFORE {
            window.remove(0);
        }
        window.push((instruction.address, at));
        if after >= FROM {
            break;
        }
    }
    let lines = window.into_iter().map(|(pc, at)| {
        Some(CodeLine {
            pc,
            text: decoder.print(bytes.get(at..)?, pc).ok()?,
            is_cause: pc == cause,
        })
    });
    lines.collect()
}

/// Returns the correct directives for the first address at which the row is wrong.
fn remedy(
    contradiction: &Contradiction,
    wave_size: WaveSize,
    dialect: Dialect,
    assembler: Assembler,
) -> Option<Vec<PlacedDirective>> {
    let pc = contradiction.ranges.first()?.start;
    let mut frame = instruction_at(contradiction.target(wave_size), dialect)?;
    contradiction.expect_in(&mut frame, wave_size).ok()??;
    directives(frame, pc, assembler)
}
