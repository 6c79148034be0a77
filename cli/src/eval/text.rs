//! Prints the answers as text.

use std::io::Write;

use crate::failure::Failure;
use hetdwarf::report::{EvalDocument, EvalLane, PlaceDocument, ResultDocument, parse_hex_bytes};

/// Prints a document.
pub(super) fn print(document: &EvalDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let several = document.lanes.len() > 1;
    for lane in &document.lanes {
        if several && let Some(lane) = lane.lane {
            write!(out, "lane {lane:2}: ")?;
        }
        print_lane(lane, out)?;
    }
    Ok(())
}

fn print_lane(lane: &EvalLane, out: &mut dyn Write) -> Result<(), Failure> {
    match &lane.result {
        Some(ResultDocument::Value { ty, bytes }) => {
            let value = little_endian(bytes);
            write!(
                out,
                "value {value} ({} of {} bits)",
                ty.encoding, ty.bit_size
            )?;
        }
        Some(ResultDocument::Location { places }) => {
            let places: Vec<String> = places.iter().map(place_text).collect();
            write!(out, "{}", places.join(" and "))?;
        }
        None => {}
    }
    if let Some(read) = &lane.read {
        write!(out, ": {}", read.bytes)?;
        for (name, ranges) in [
            ("undefined", &read.undefined),
            ("unavailable", &read.unavailable),
        ] {
            for [start, end] in ranges {
                write!(out, ", bits {start} to {} {name}", end.saturating_sub(1))?;
            }
        }
    }
    if let Some(error) = &lane.error {
        let style = anstyle::AnsiColor::Red.on_default();
        let separator = if lane.result.is_some() { "; " } else { "" };
        write!(
            out,
            "{separator}{style}{}{style:#}: {}",
            error.kind, error.message
        )?;
    }
    writeln!(out)?;
    Ok(())
}

/// Returns the number that bytes in target order represent.
fn little_endian(hex: &str) -> String {
    let bytes = parse_hex_bytes(hex).unwrap_or_default();
    let value = bytes
        .iter()
        .rev()
        .fold(0u128, |value, byte| value << 8 | u128::from(*byte));
    format!("{value:#x}")
}

fn place_text(place: &PlaceDocument) -> String {
    let bits = |bit_offset: u128| {
        if bit_offset.is_multiple_of(8) {
            format!("{:#x}", bit_offset / 8)
        } else {
            format!("{:#x}+{} bits", bit_offset / 8, bit_offset % 8)
        }
    };
    match place {
        PlaceDocument::Undefined => "undefined".to_owned(),
        PlaceDocument::Memory {
            address_space,
            bit_offset,
            lane,
        } => match lane {
            Some(lane) => format!("{address_space}#{} of lane {lane}", bits(bit_offset.0)),
            None => format!("{address_space}#{}", bits(bit_offset.0)),
        },
        PlaceDocument::Register {
            register,
            bit_offset,
            ..
        } if *bit_offset == 0 => register.clone(),
        PlaceDocument::Register {
            register,
            bit_offset,
            ..
        } => format!("{register} from byte {}", bits((*bit_offset).into())),
        PlaceDocument::Implicit {
            bytes, bit_offset, ..
        } if *bit_offset == 0 => format!("the constant {}", little_endian(bytes)),
        PlaceDocument::Implicit {
            bytes, bit_offset, ..
        } => {
            format!(
                "the constant {} from byte {}",
                little_endian(bytes),
                bits((*bit_offset).into())
            )
        }
        PlaceDocument::ImplicitPointer {
            die, byte_offset, ..
        } => {
            format!(
                "a pointer that was optimized away, to {:#x}{byte_offset:+}",
                die.0
            )
        }
        PlaceDocument::Composite {
            bit_size,
            parts,
            bit_offset,
            ..
        } => {
            let start = if *bit_offset == 0 {
                String::new()
            } else {
                format!(" from byte {}", bits((*bit_offset).into()))
            };
            format!("{bit_size} bits in {} parts{start}", parts.len())
        }
    }
}
