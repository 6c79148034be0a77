//! Defines damage that keeps the tables well formed, so that only the machine code reveals the wrong row.

use std::ops::Range;

use dwarf_tests::simulator::Random;
use hetdwarf::frame::{Fde, Instruction as I};

use super::mutations::{Mutation, any};
use super::subject::{Subject, instructions};

const PC: u64 = 16;
/// s32 and s33, the stack pointer and the frame pointer.
const STACK: u64 = 64;
const FRAME: u64 = 65;
/// s34 to s39, which are callee-saved.
const PRESERVED: Range<u64> = 66..72;

/// Returns true if a register is one of v40 to v47, which are callee-saved, in either wave size.
fn is_preserved_vector(register: u64) -> bool {
    (2600..2608).contains(&register) || (1576..1584).contains(&register)
}

/// Returns true if the entry is of a function that has a caller.
fn has_caller(list: &[I<'_>]) -> bool {
    list.iter()
        .any(|one| matches!(one, I::Expression { register: PC, .. }))
}

/// Replaces the instructions of a function's entry. `change` returns None if there is nothing to change.
fn edit(
    subject: &Subject,
    random: &mut Random,
    change: impl Fn(&mut Vec<I<'_>>, &mut Random) -> Option<()>,
) -> Option<Vec<u8>> {
    let fdes: Vec<Fde<'_>> = subject
        .fdes()
        .into_iter()
        .filter(|fde| has_caller(&instructions(fde)))
        .collect();
    let fde = any(&fdes, random)?;
    let mut list = instructions(fde);
    change(&mut list, random)?;
    subject.rewrite(fde, &list)
}

/// Returns a random position at which `is_it` holds.
fn place(list: &[I<'_>], random: &mut Random, is_it: impl Fn(&I<'_>) -> bool) -> Option<usize> {
    let places: Vec<usize> = (0..list.len()).filter(|at| is_it(&list[*at])).collect();
    any(&places, random).copied()
}

fn drop_one(subject: &Subject, random: &mut Random, is_it: fn(&I<'_>) -> bool) -> Option<Vec<u8>> {
    edit(subject, random, |list, random| {
        let at = place(list, random, is_it)?;
        list.remove(at);
        Some(())
    })
}

fn is_advance(instruction: &I<'_>) -> bool {
    matches!(
        instruction,
        I::AdvanceLoc { .. } | I::AdvanceLoc1 { .. } | I::AdvanceLoc2 { .. }
    )
}

/// Returns the parts of a list between advances.
fn rows(list: &[I<'_>]) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let mut start = 0;
    for (at, instruction) in list.iter().enumerate() {
        if is_advance(instruction) {
            rows.push(start..at);
            start = at + 1;
        }
    }
    rows.push(start..list.len());
    rows
}

/// Kinds of damage that only the code reveals.
pub const CODE: &[Mutation] = &[
    Mutation {
        what: "the frame pointer does not become the register of the CFA",
        rules: &["cfi-cfa-wrong"],
        apply: |subject, random| {
            drop_one(subject, random, |one| {
                *one == I::DefCfaRegister { register: FRAME }
            })
        },
    },
    Mutation {
        what: "the CFA is counted from another register",
        rules: &["cfi-cfa-wrong"],
        apply: |subject, random| {
            edit(subject, random, |list, random| {
                let at = place(list, random, |one| {
                    *one == I::DefCfaRegister { register: FRAME }
                })?;
                list[at] = I::DefCfaRegister { register: 36 };
                Some(())
            })
        },
    },
    Mutation {
        what: "the stack pointer becomes the register of the CFA too late",
        rules: &["cfi-cfa-wrong", "cfi-cfa-after-epilogue"],
        apply: |subject, random| {
            drop_one(subject, random, |one| {
                *one == I::DefCfaRegister { register: STACK }
            })
        },
    },
    Mutation {
        what: "a saved vector register has no rule",
        rules: &["cfi-vector-without-rule"],
        apply: |subject, random| {
            drop_one(subject, random, |one| match one {
                I::Expression { register, .. } | I::OffsetExtended { register, .. } => {
                    is_preserved_vector(*register)
                }
                _ => false,
            })
        },
    },
    Mutation {
        what: "a saved scalar register has no rule",
        rules: &["cfi-scalar-without-rule"],
        apply: |subject, random| {
            drop_one(subject, random, |one| match one {
                I::Expression { register, .. } => PRESERVED.contains(register),
                _ => false,
            })
        },
    },
    Mutation {
        what: "a saved register is in another place of the stack",
        rules: &["cfi-wrong-place"],
        apply: |subject, random| {
            edit(subject, random, |list, random| {
                let at = place(list, random, |one| match one {
                    I::OffsetExtended { register, .. } => is_preserved_vector(*register),
                    _ => false,
                })?;
                if let I::OffsetExtended { register, offset } = list[at] {
                    // The slot moves by a dword of all lanes.
                    list[at] = I::OffsetExtended {
                        register,
                        offset: offset + 64,
                    };
                }
                Some(())
            })
        },
    },
    Mutation {
        what: "the return address is in another vector register",
        rules: &["cfi-wrong-place"],
        apply: |subject, random| {
            super::mutations::change_expression(subject, random, |bytes| {
                // regx VGPRn, bit_piece 32 0: the number has two bytes.
                let at = bytes
                    .windows(2)
                    .position(|pair| pair == [0x9d, 32])
                    .filter(|at| *at >= 3 && bytes[at - 3] == 0x90);
                let Some(at) = at else { return false };
                bytes[at - 2] ^= 0x10;
                true
            })
        },
    },
    Mutation {
        what: "two rows are exchanged",
        rules: &["cfi-wrong-place"],
        apply: |subject, random| {
            edit(subject, random, |list, _| {
                // The row that moves the return address to other registers, and the row before it.
                let rows = rows(list);
                let second = (2..rows.len()).find(|row| {
                    let mut row = list[rows[*row].clone()].iter();
                    row.any(|one| matches!(one, I::Expression { register: PC, .. }))
                })?;
                let (one, other) = (rows[second - 1].clone(), rows[second].clone());
                let moved: Vec<I<'_>> = list[other.clone()]
                    .iter()
                    .chain(&list[one.end..other.start])
                    .chain(&list[one.clone()])
                    .copied()
                    .collect();
                list.splice(one.start..other.end, moved);
                Some(())
            })
        },
    },
    Mutation {
        what: "a row starts in the middle of an instruction",
        rules: &["cfi-row-inside-instruction"],
        apply: |subject, random| {
            edit(subject, random, |list, random| {
                let at = place(list, random, |one| matches!(one, I::AdvanceLoc { .. }))?;
                if let I::AdvanceLoc { delta } = list[at] {
                    list[at] = I::AdvanceLoc {
                        delta: delta.checked_sub(1).filter(|d| *d > 0)?,
                    };
                }
                Some(())
            })
        },
    },
];
