//! Tests of the tables: the properties on which the lookup relies.

use super::*;
use crate::isa::Writes;

/// Returns the generations, each with its tables.
fn columns() -> [(Column, &'static Tables); Column::COUNT] {
    [
        (Column::Gfx9, &GFX9),
        (Column::Gfx90a, &GFX90A),
        (Column::Gfx942, &GFX94X),
        (Column::Gfx950, &GFX950),
        (Column::Gfx10, &GFX10),
        (Column::Gfx11, &GFX11),
        (Column::Gfx12, &GFX12),
        (Column::Gfx125x, &GFX125X),
    ]
}

/// Each opcode is unique in a generation, as the compiler asserts, and fits its field.
#[test]
fn opcodes_fit_their_field() {
    for (column, tables) in columns() {
        for entry in rows::ENTRIES {
            let opcode = entry.opcodes[column as usize];
            if opcode == ____ {
                continue;
            }
            let mut layouts = tables.layouts.iter();
            let layout = layouts.find(|layout| layout.encoding == entry.encoding);
            let width: u32 = layout.unwrap().opcode.iter().map(|b| u32::from(b.2)).sum();
            assert!(u32::from(opcode) < 1 << width, "{column:?} {entry:?}");
        }
    }
}

/// Compares the lookup by places with a linear search.
#[test]
fn every_row_is_found_with_its_text() {
    let lines: Vec<&str> = rows::TEXTS.lines().collect();
    assert_eq!(lines.len(), rows::ENTRIES.len());
    for (column, tables) in columns() {
        for encoding in rows::ENTRIES.chunk_by(|one, other| one.encoding == other.encoding) {
            let encoding = encoding[0].encoding;
            for opcode in (0..1024).chain([____]) {
                let expected = rows::ENTRIES.iter().position(|entry| {
                    entry.encoding == encoding
                        && opcode != ____
                        && entry.opcodes[column as usize] == opcode
                });
                let found = tables.row(encoding, opcode);
                assert_eq!(found.is_some(), expected.is_some());
                if let Some((found, place)) = found.zip(expected) {
                    let (name, operands) = found.text.parts();
                    assert_eq!(format!("{name} {operands}").trim_end(), lines[place]);
                    assert!(!name.is_empty());
                    let entry = &rows::ENTRIES[place];
                    assert_eq!(
                        (found.shape, found.flags, found.op),
                        (entry.shape, entry.flags, entry.op)
                    );
                }
            }
        }
    }
    assert_eq!(Row::NONE.text.parts(), ("", ""));
}

#[test]
fn no_row_writes_more_than_there_is_room_for() {
    for row in &index::ROWS {
        let by_shape = match row.shape {
            Shape::None | Shape::Store(_) => 0,
            Shape::Scalar(_)
            | Shape::ScalarAtomic(_)
            | Shape::Vector(_)
            | Shape::VectorByWave(_)
            | Shape::Half
            | Shape::Acc(_)
            | Shape::Matrix(_)
            | Shape::Mask
            | Shape::Load(_)
            | Shape::LoadByWave(_)
            | Shape::Atomic(_)
            | Shape::ImageLoad
            | Shape::Gather
            | Shape::ImageAtomic(_) => 1,
            Shape::VectorAndMask(_)
            | Shape::MaskAndExec
            | Shape::Swap(_)
            | Shape::SwapHalves
            | Shape::BvhStack(_) => 2,
            Shape::BvhDual => 3,
        };
        let flags = [flag::SCC, flag::EXEC, flag::M0];
        let by_flag = flags.iter().filter(|flag| row.has(**flag)).count();
        assert!(by_shape + by_flag <= Writes::MOST, "{row:?}");
    }
}
