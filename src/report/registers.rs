//! `hetdwarf-regs/1`: DWARF register numbers and their registers.
//!
//! Source: USAGE "Register Identifier". The table is in [`arch`](crate::arch).

use serde::Serialize;

use crate::arch::{Processor, Register, RegisterRange, WaveSize};

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct RegistersDocument {
    /// `hetdwarf-regs/1`.
    pub format: &'static str,
    /// The processor of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<&'static str>,
    /// The rows, by ascending number.
    pub registers: Vec<RegisterRow>,
}

/// A range of consecutive numbers with the same meaning, or a single number.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RegisterRow {
    /// The first number.
    pub first: u16,
    /// The last number, inclusive.
    pub last: u16,
    /// The register's name in assembly language, `v0` or `v0-v255`; absent if the numbers are reserved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The name in LLVM; absent if the numbers are reserved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llvm_name: Option<String>,
    /// The size of each register in bits. A vector register has 32 bits for each lane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bit_size: Option<u32>,
    /// The only wave size that has these registers: 32 or 64. Null if both wave sizes have them.
    pub wave_size: Option<u32>,
    /// True if no registers have these numbers.
    pub reserved: bool,
    /// The description of the registers, or the purpose for which the numbers are reserved.
    pub description: &'static str,
    /// The registers of the row that the processor has: `all`, `none`, or their names. Absent if no processor was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<String>,
}

impl RegistersDocument {
    /// Creates the part of the table with the numbers from `first` to `last`, inclusive.
    ///
    /// * `wave_size`: leaves out reserved numbers, and registers that waves of this size do not have.
    /// * `processor`: adds the registers of each row that this processor has.
    /// * `each`: makes a row for every register instead of one for every range of numbers.
    #[must_use]
    pub fn new(
        first: u16,
        last: u16,
        wave_size: Option<WaveSize>,
        processor: Option<&'static Processor>,
        each: bool,
    ) -> RegistersDocument {
        let mut registers = Vec::new();
        for range in Register::ranges() {
            let (first, last) = (range.first.max(first), range.last.min(last));
            let in_wave = wave_size.is_none_or(|size| {
                range
                    .kind
                    .is_some_and(|kind| kind.wave_size.is_none_or(|only| only == size))
            });
            if first > last || !in_wave {
                continue;
            }
            let row = |first, last| RegisterRow::new(range, first, last, processor);
            if each && !range.is_reserved() {
                registers.extend((first..=last).map(|number| row(number, number)));
            } else {
                registers.push(row(first, last));
            }
        }
        RegistersDocument {
            format: "hetdwarf-regs/1",
            target: processor.map(Processor::name),
            registers,
        }
    }
}

impl RegisterRow {
    /// Creates a row for a part of a range.
    fn new(
        range: &RegisterRange,
        first: u16,
        last: u16,
        processor: Option<&'static Processor>,
    ) -> RegisterRow {
        let kind = range.kind;
        let registers = Some((first, last)).filter(|_| kind.is_some());
        RegisterRow {
            first,
            last,
            name: registers.map(|(first, last)| names(first, last)),
            llvm_name: registers.map(|(first, last)| {
                let name = |number| Register(number).llvm_name().map(|name| name.to_string());
                span(name(first), name(last), first == last)
            }),
            bit_size: range.size_in_bits(),
            wave_size: kind.and_then(|kind| kind.wave_size).map(WaveSize::lanes),
            reserved: range.is_reserved(),
            description: range.description,
            available: processor.map(|processor| available(first, last, processor)),
        }
    }
}

/// Returns the names of registers in assembly language.
fn names(first: u16, last: u16) -> String {
    let name = |number| {
        Register(number)
            .assembler_name()
            .map(|name| name.to_string())
    };
    span(name(first), name(last), first == last)
}

fn span(first: Option<String>, last: Option<String>, one: bool) -> String {
    match (first, last) {
        (Some(first), Some(last)) if !one => format!("{first}-{last}"),
        (Some(first), _) => first,
        (None, _) => String::new(),
    }
}

/// Returns the registers of a range that a processor has. These are always at the start of the range.
fn available(first: u16, last: u16, processor: &Processor) -> String {
    let count = (first..=last)
        .take_while(|number| Register(*number).available_on(processor))
        .count();
    let all = usize::from(last - first) + 1;
    match u16::try_from(count.saturating_sub(1)) {
        _ if count == 0 => "none".to_owned(),
        _ if count == all => "all".to_owned(),
        Ok(more) => names(first, first + more),
        Err(_) => "all".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_has_the_first_registers_of_a_range() {
        // USAGE "Register Identifier": VGPRs of wave64 are 2560 to 2815, AGPRs 3072 to 3327. gfx1100 has no AGPRs, and gfx90a has no waves of 32
        // lanes.
        let row = |number, processor| {
            let processor = Processor::by_name(processor);
            let rows = RegistersDocument::new(number, number, None, processor, false).registers;
            (
                rows[0].name.clone().unwrap(),
                rows[0].available.clone().unwrap(),
            )
        };
        let pair = |name: &str, available: &str| (name.to_owned(), available.to_owned());
        assert_eq!(row(2815, "gfx90a"), pair("v255", "all"));
        assert_eq!(row(3072, "gfx1100"), pair("a0", "none"));
        assert_eq!(row(1536, "gfx90a"), pair("v0", "none"));
        let gfx900 = Processor::by_name("gfx900");
        let sgprs = RegistersDocument::new(1088, 1129, None, gfx900, false).registers;
        assert_eq!(sgprs[0].available.as_deref(), Some("s64-s101"));
    }

    #[test]
    fn the_whole_table_is_there() {
        let all = RegistersDocument::new(0, u16::MAX, None, None, false).registers;
        assert_eq!(all.len(), Register::ranges().len());
        let each = RegistersDocument::new(2560, 2815, None, None, true).registers;
        assert_eq!(each.len(), 256);
        assert_eq!(each[42].llvm_name.as_deref(), Some("VGPR42"));
        let wave32 = RegistersDocument::new(0, u16::MAX, Some(WaveSize::Wave32), None, false);
        assert!(
            wave32
                .registers
                .iter()
                .all(|row| !row.reserved && row.wave_size != Some(64))
        );
    }
}
