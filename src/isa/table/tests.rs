//! The tables by themselves: what the search in them relies on.

use super::*;
use crate::isa::Writes;

/// The tables of all families, those that share them once for each.
fn all() -> impl Iterator<Item = &'static Tables> {
    let families = Family::ALL.iter().copied();
    families.filter_map(Tables::of_family)
}

/// The number of an encoding, and a table of it.
fn every_table(tables: &Tables) -> impl Iterator<Item = (usize, &'static [Row])> {
    let lists = tables.opcodes.iter().enumerate();
    lists
        .flat_map(|(encoding, lists)| lists.map(|table| (encoding, table.rows.rows)))
        .filter(|(_, rows)| !rows.is_empty())
}

#[test]
fn rows_are_ascending_and_opcodes_fit_their_field() {
    for tables in all() {
        for (encoding, rows) in every_table(tables) {
            let mut layouts = tables.layouts.iter();
            let layout = layouts.find(|l| l.encoding as usize == encoding);
            let width: u32 = layout.unwrap().opcode.iter().map(|b| u32::from(b.2)).sum();
            let mut next = 0;
            for row in rows {
                assert!(row.opcode >= next, "encoding {encoding} {row:?}");
                next = row.opcode + 1;
            }
            assert!(u32::from(next) <= 1 << width, "encoding {encoding}");
        }
    }
}

/// And nothing else is found: the search by groups against a plain one.
#[test]
fn every_row_is_found_with_its_text() {
    for tables in all() {
        for lists in &tables.opcodes {
            for table in lists {
                let mut lines = table.rows.texts.lines();
                for opcode in 0..1024 {
                    let expected = table.rows.rows.iter().find(|row| row.opcode == opcode);
                    let found = table.row(opcode);
                    assert_eq!(
                        found.map(|found| found.0.opcode),
                        expected.map(|row| row.opcode)
                    );
                    if let Some((_, text)) = found {
                        let line = lines.next().unwrap();
                        let (name, operands) = text.parts();
                        assert_eq!(format!("{name} {operands}").trim_end(), line);
                        assert!(!name.is_empty());
                    }
                }
                assert_eq!(lines.next(), None);
            }
        }
    }
}

#[test]
fn no_row_writes_more_than_there_is_room_for() {
    for tables in all() {
        for (encoding, rows) in every_table(tables) {
            for row in rows {
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
                assert!(
                    by_shape + by_flag <= Writes::MOST,
                    "encoding {encoding} {row:?}"
                );
            }
        }
    }
}
