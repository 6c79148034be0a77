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
use crate::arch::{AddressSpace, Lane, Register, RegisterClass, ScratchAddressing, WaveSize};
use crate::cfi_check::{Contradiction, Dword, RowRule, SavedLanes, Subject as About};
use crate::error::Result;
use crate::expr::{Dialect, write_sleb, write_uleb};
use crate::frame::Instruction;
use crate::frame::write::{Assembler, FunctionFrame, Mask, ReturnAddress, Target};
use crate::isa::{Decoder, MachineRegister};

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
    let is_known = contradiction.expected != RowRule::Other;
    if is_known && contradiction.expected == contradiction.actual {
        // The rule of EXEC in the row is wrong instead.
        return None;
    }
    let pc = contradiction.ranges.first()?.start;
    let is_buffer = matches!(contradiction.expected, RowRule::Cfa { shift: 0, .. });
    let scratch = if is_buffer {
        ScratchAddressing::Buffer
    } else {
        ScratchAddressing::Flat
    };
    let target = Target { wave_size, scratch };
    let mut frame = instruction_at(target, dialect)?;
    let is_said = say(&mut frame, contradiction, wave_size).ok()?;
    is_said?;
    directives(frame, pc, assembler)
}

/// Reports the expected rule to `frame`. Returns `None` if no event can express it.
fn say(
    frame: &mut FunctionFrame,
    contradiction: &Contradiction,
    wave_size: WaveSize,
) -> Result<Option<()>> {
    let number = |register: MachineRegister| register.dwarf(wave_size).map(|(number, _)| number);
    let lanes = i64::from(wave_size.lanes());
    let in_lane = |offset: i64| match offset.checked_rem(lanes) {
        Some(0) => offset
            .checked_div(lanes)
            .and_then(|offset| u32::try_from(offset).ok()),
        Some(_) | None => None,
    };
    let place = if let RowRule::Dwords(dwords) = &contradiction.expected {
        find_value(dwords, wave_size)
    } else {
        None
    };
    let register = match contradiction.subject {
        About::Register(register) => register,
        About::ReturnAddress => {
            let Some(place) = place else { return Ok(None) };
            return frame
                .return_address_in(match place {
                    Holder::Register(low) => ReturnAddress::Pair(low),
                    Holder::Lane(register, low) => ReturnAddress::Lanes {
                        register,
                        low,
                        high: Lane(low.0.saturating_add(1)),
                    },
                })
                .map(|_| Some(()));
        }
        About::Cfa => return cfa(frame, &contradiction.expected, wave_size),
        About::Row => return Ok(None),
    };
    let said = match contradiction.expected {
        RowRule::SameValue | RowRule::None => frame.restored(register),
        // If the value was not found, the register is at least known to be overwritten.
        RowRule::Undefined | RowRule::Other => frame.clobbered(register),
        RowRule::Dwords(_) => match place {
            Some(Holder::Register(holder)) => frame.saved_in_register(register, holder),
            Some(Holder::Lane(vector, lane)) => frame.saved_in_lane(register, vector, lane),
            None => return Ok(None),
        },
        RowRule::Vector(holder, saved) => {
            let Some(holder) = number(holder) else {
                return Ok(None);
            };
            match saved {
                SavedLanes::All => frame.saved_in_register(register, holder),
                SavedLanes::Active => frame.saved_in_vector(register, holder, Mask::ExecOnEntry),
                SavedLanes::Inactive => return Ok(None),
            }
        }
        RowRule::Scratch(offset, saved) => {
            let Some(offset) = in_lane(offset) else {
                return Ok(None);
            };
            match saved {
                SavedLanes::All => frame.saved_to_scratch_whole(register, offset),
                SavedLanes::Active => frame.saved_to_scratch(register, offset, Mask::ExecOnEntry),
                SavedLanes::Inactive => {
                    frame.inactive_saved_to_scratch(register, offset, Mask::ExecOnEntry)
                }
            }
        }
        RowRule::Cfa { .. } | RowRule::CfaShiftedRight(_) => return Ok(None),
    };
    said.map(|_| Some(()))
}

/// The holder of one or two dwords: one register, or two adjacent registers.
enum Holder {
    Register(Register),
    Lane(Register, Lane),
}

fn find_value(dwords: &[Dword], wave_size: WaveSize) -> Option<Holder> {
    let number = |register: MachineRegister| register.dwarf(wave_size).map(|(number, _)| number);
    let (first, second) = match dwords {
        [first] => (first, None),
        [first, second] => (first, Some(second)),
        _ => return None,
    };
    match (first, second) {
        (Dword::Scalar(low), None) => Some(Holder::Register(number(*low)?)),
        (Dword::Scalar(low), Some(Dword::Scalar(high))) if low.plus(1) == Some(*high) => {
            Some(Holder::Register(number(*low)?))
        }
        (Dword::Lane(vector, lane), None) => Some(Holder::Lane(number(*vector)?, Lane(*lane))),
        (Dword::Lane(vector, low), Some(Dword::Lane(other, high)))
            if vector == other && low.checked_add(1) == Some(*high) =>
        {
            Some(Holder::Lane(number(*vector)?, Lane(*low)))
        }
        _ => None,
    }
}

fn cfa(frame: &mut FunctionFrame, expected: &RowRule, wave_size: WaveSize) -> Result<Option<()>> {
    let RowRule::Cfa {
        register,
        shift,
        plus,
        space,
    } = *expected
    else {
        return Ok(None);
    };
    let Some((number, _)) = register.dwarf(wave_size) else {
        return Ok(None);
    };
    let offset = plus.checked_shr(shift.unsigned_abs().into()).unwrap_or(0);
    let said = match space {
        AddressSpace::PrivateWave => frame.cfa_from_register(number, offset),
        AddressSpace::None => {
            let expression = pair_plus(number, plus);
            frame.raw(Instruction::DefCfaExpression {
                expression: &expression,
            })
        }
        AddressSpace::Generic
        | AddressSpace::Region
        | AddressSpace::Local
        | AddressSpace::PrivateLane => return Ok(None),
    };
    said.map(|_| Some(()))
}

/// Returns the expression for an address in two scalar registers plus an offset. It has the form that GCC writes for its CFA: `bregx high, const1u
/// 32, shl, bregx low, plus, consts, plus`.
fn pair_plus(low: Register, plus: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let number = u64::from(low.number());
    for (register, rest) in [
        (number.saturating_add(1), &[0x08, 0x20, 0x24][..]),
        (number, &[0x22]),
    ] {
        bytes.push(0x92);
        write_uleb(register, &mut bytes);
        bytes.push(0);
        bytes.extend(rest);
    }
    if plus != 0 {
        bytes.push(0x11);
        write_sleb(plus, &mut bytes);
        bytes.push(0x22);
    }
    bytes
}
