//! The tables by themselves: what the search in them relies on.

use super::*;

const ALL: [&Tables; 8] = [
    &GFX9, &GFX90A, &GFX94X, &GFX950, &GFX10, &GFX11, &GFX12, &GFX125X,
];

/// The number of an encoding, and a table of it.
fn every_table(tables: &Tables) -> impl Iterator<Item = (usize, &'static [Row])> {
    let lists = tables.opcodes.iter().enumerate();
    lists
        .flat_map(|(encoding, lists)| lists.map(|table| (encoding, table.rows)))
        .filter(|(_, rows)| !rows.is_empty())
}

#[test]
fn rows_are_ascending_and_opcodes_fit_their_field() {
    for tables in ALL {
        for (encoding, rows) in every_table(tables) {
            let mut layouts = tables.layouts.iter();
            let layout = layouts.find(|l| l.encoding as usize == encoding);
            let width: u32 = layout.unwrap().opcode.iter().map(|b| u32::from(b.2)).sum();
            let mut next = 0;
            for row in rows {
                assert!(
                    row.first >= next && row.last >= row.first,
                    "encoding {encoding} {row:?}"
                );
                next = row.last + 1;
            }
            assert!(u32::from(next) <= 1 << width, "encoding {encoding}");
        }
    }
}

#[test]
fn rows_with_an_effect_have_one_opcode_and_a_name() {
    for tables in ALL {
        for (encoding, rows) in every_table(tables) {
            for row in rows {
                let named = !row.name.is_empty();
                assert_eq!(named, row.op != Op::Other, "encoding {encoding} {row:?}");
                assert!(
                    !named || row.first == row.last,
                    "encoding {encoding} {row:?}"
                );
            }
        }
    }
}
