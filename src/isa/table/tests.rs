//! The tables by themselves: what the search in them relies on.

use super::*;

const ALL: [&Tables; 8] = [
    &GFX9, &GFX90A, &GFX94X, &GFX950, &GFX10, &GFX11, &GFX12, &GFX125X,
];

#[test]
fn rows_are_ascending_and_opcodes_fit_their_field() {
    for tables in ALL {
        for (encoding, rows) in tables.opcodes.iter().flat_map(|tables| tables.iter()) {
            let layout = tables.layouts.iter().find(|l| l.encoding == *encoding);
            let width: u32 = layout.unwrap().opcode.iter().map(|b| u32::from(b.2)).sum();
            let mut next = 0;
            for row in *rows {
                assert!(
                    row.first >= next && row.last >= row.first,
                    "{encoding:?} {row:?}"
                );
                next = row.last + 1;
            }
            assert!(u32::from(next) <= 1 << width, "{encoding:?}");
        }
    }
}

#[test]
fn rows_with_an_effect_have_one_opcode_and_a_name() {
    for tables in ALL {
        for (encoding, rows) in tables.opcodes.iter().flat_map(|tables| tables.iter()) {
            for row in *rows {
                let named = !row.name.is_empty();
                assert_eq!(named, row.op != Op::Other, "{encoding:?} {row:?}");
                assert!(!named || row.first == row.last, "{encoding:?} {row:?}");
            }
        }
    }
}
