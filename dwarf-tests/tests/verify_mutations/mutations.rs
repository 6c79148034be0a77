//! Defines the kinds of damage, each with the rules that should find it.

use dwarf_tests::simulator::Random;
use hetdwarf::frame::{Fde, Instruction as I};

use super::subject::{Subject, instructions};

/// A kind of damage.
pub struct Mutation {
    pub what: &'static str,
    /// The rules, at least one of which must find the damage.
    pub rules: &'static [&'static str],
    /// Returns the damaged file. Returns None if the chosen entry has nothing of this kind to damage.
    pub apply: fn(&Subject, &mut Random) -> Option<Vec<u8>>,
}

const PC: u64 = 16;
/// The numbers of s4, and the number that s64 would have if there were no gap.
const S4: u64 = 36;
const RESERVED: u64 = 96;

/// Returns a random element of a list, or `None` if the list is empty.
pub fn any<'t, T>(list: &'t [T], random: &mut Random) -> Option<&'t T> {
    match list.len() {
        0 => None,
        length => list.get(random.below(length)),
    }
}

/// Puts bytes into any frame description entry, `at` bytes after its start.
fn in_fde(
    subject: &Subject,
    random: &mut Random,
    at: u64,
    bytes: impl Fn(&Fde<'_>) -> Vec<u8>,
) -> Option<Vec<u8>> {
    let fdes = subject.fdes();
    let fde = any(&fdes, random)?;
    Some(subject.put(fde.offset + at, &bytes(fde)))
}

/// Puts bytes into any common information entry, `at` bytes after its start.
fn in_cie(subject: &Subject, random: &mut Random, at: u64, bytes: &[u8]) -> Option<Vec<u8>> {
    let cies = subject.cies();
    Some(subject.put(any(&cies, random)?.offset + at, bytes))
}

fn word(number: u64) -> Vec<u8> {
    u32::try_from(number).unwrap().to_le_bytes().to_vec()
}

/// Changes one instruction of an entry, among those that `change` accepts.
fn change_one(
    subject: &Subject,
    random: &mut Random,
    change: impl Fn(I<'_>) -> Option<I<'_>>,
) -> Option<Vec<u8>> {
    let fdes = subject.fdes();
    let fde = any(&fdes, random)?;
    let mut list = instructions(fde);
    let places: Vec<usize> = (0..list.len())
        .filter(|place| change(list[*place]).is_some())
        .collect();
    let place = *any(&places, random)?;
    list[place] = change(list[place])?;
    subject.rewrite(fde, &list)
}

/// Appends an instruction to an entry.
fn append(subject: &Subject, random: &mut Random, more: &[I<'_>]) -> Option<Vec<u8>> {
    let fdes = subject.fdes();
    let fde = any(&fdes, random)?;
    let mut list = instructions(fde);
    list.extend_from_slice(more);
    subject.rewrite(fde, &list)
}

/// Changes the bytes of the first expression that `change` can change.
pub fn change_expression(
    subject: &Subject,
    random: &mut Random,
    change: impl Fn(&mut Vec<u8>) -> bool,
) -> Option<Vec<u8>> {
    let fdes = subject.fdes();
    let fde = any(&fdes, random)?;
    for instruction in instructions(fde) {
        let (I::Expression { expression, .. } | I::DefCfaExpression { expression }) = instruction
        else {
            continue;
        };
        let mut bytes = expression.to_vec();
        if change(&mut bytes) {
            assert_eq!(bytes.len(), expression.len());
            let section = subject.frame().bytes().as_ptr().addr();
            let offset = (expression.as_ptr().addr() - section) as u64;
            return Some(subject.put(offset, &bytes));
        }
    }
    None
}

/// Replaces the first occurrence of some bytes.
fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) -> bool {
    let Some(at) = bytes.windows(old.len()).position(|window| window == old) else {
        return false;
    };
    bytes[at..at + new.len()].copy_from_slice(new);
    true
}

/// Kinds of damage to the entries themselves.
pub const ENTRIES: &[Mutation] = &[
    Mutation {
        what: "the section is cut within its last entry",
        rules: &["cfi-entry-length"],
        apply: |subject, random| {
            let fdes = subject.fdes();
            let last = fdes.last()?.length + 4;
            let cut = 1 + random.number() % (last - 1);
            let size = subject.section.len() as u64 - cut;
            let mut data = subject.data.clone();
            data[subject.size_at..subject.size_at + 8].copy_from_slice(&size.to_le_bytes());
            Some(data)
        },
    },
    Mutation {
        what: "a length goes past the end of the section",
        rules: &["cfi-entry-length"],
        apply: |subject, random| in_fde(subject, random, 0, |_| word(0x7fff_0000)),
    },
    Mutation {
        what: "a length is reserved",
        rules: &["cfi-entry-length"],
        apply: |subject, random| in_fde(subject, random, 0, |_| word(0xffff_fff3)),
    },
    Mutation {
        what: "a length is four bytes too small",
        rules: &["cfi-entry-alignment"],
        apply: |subject, random| in_fde(subject, random, 0, |fde| word(fde.length - 4)),
    },
    Mutation {
        what: "a length is four bytes too large",
        rules: &["cfi-entry-alignment", "cfi-entry-length"],
        apply: |subject, random| in_fde(subject, random, 0, |fde| word(fde.length + 4)),
    },
    Mutation {
        what: "an entry points at no common information entry",
        rules: &["cfi-cie-pointer"],
        apply: |subject, random| in_fde(subject, random, 4, |fde| word(fde.cie.offset + 8)),
    },
    Mutation {
        what: "the version is unknown",
        rules: &["cfi-version"],
        apply: |subject, random| in_cie(subject, random, 8, &[6]),
    },
    Mutation {
        what: "the augmentation is unknown",
        rules: &["cfi-augmentation"],
        // The following fields are then read from other bytes, which does not matter.
        apply: |subject, random| in_cie(subject, random, 9, b"x\0"),
    },
    Mutation {
        what: "addresses have four bytes",
        rules: &["cfi-address-size"],
        apply: |subject, random| in_cie(subject, random, 10, &[4]),
    },
    Mutation {
        what: "the code alignment factor is zero",
        rules: &["cfi-alignment-factor"],
        apply: |subject, random| in_cie(subject, random, 12, &[0]),
    },
    Mutation {
        what: "the return address is in EXEC",
        rules: &["cfi-return-address-column"],
        apply: |subject, random| in_cie(subject, random, 14, &[17]),
    },
];

/// Kinds of damage to the code ranges of entries.
pub const RANGES: &[Mutation] = &[
    Mutation {
        what: "an entry starts a word too late",
        rules: &["cfi-range-not-function"],
        apply: |subject, random| {
            in_fde(subject, random, 8, |fde| {
                (fde.initial_location + 4).to_le_bytes().to_vec()
            })
        },
    },
    Mutation {
        what: "an entry is a word too short",
        rules: &["cfi-range-not-function"],
        apply: |subject, random| {
            in_fde(subject, random, 16, |fde| {
                (fde.address_range - 4).to_le_bytes().to_vec()
            })
        },
    },
    Mutation {
        what: "an entry is for no code",
        rules: &["cfi-range-empty"],
        apply: |subject, random| in_fde(subject, random, 16, |_| vec![0; 8]),
    },
    Mutation {
        what: "an entry is for addresses without code",
        rules: &["cfi-range-outside-code"],
        apply: |subject, random| {
            in_fde(subject, random, 8, |fde| {
                (fde.initial_location ^ 0x4000_0000).to_le_bytes().to_vec()
            })
        },
    },
    Mutation {
        what: "an entry is for the code of another",
        rules: &["cfi-range-overlap"],
        apply: |subject, random| {
            let fdes = subject.fdes();
            let (one, other) = (any(&fdes, random)?, any(&fdes, random)?);
            let start = one.initial_location.to_le_bytes();
            (one.offset != other.offset).then(|| subject.put(other.offset + 8, &start))
        },
    },
];

/// Kinds of damage to single instructions.
pub const INSTRUCTIONS: &[Mutation] = &[
    Mutation {
        what: "an instruction has a code that means nothing",
        rules: &["cfi-instruction"],
        apply: |subject, random| {
            let fdes = subject.fdes();
            let fde = any(&fdes, random)?;
            (!fde.instructions.is_empty()).then(|| subject.put(fde.instructions_offset, &[0x3b]))
        },
    },
    Mutation {
        what: "a register is reserved",
        rules: &["register-reserved"],
        apply: |subject, random| {
            change_one(subject, random, |instruction| match instruction {
                I::Undefined { .. } => Some(I::Undefined { register: RESERVED }),
                _ => None,
            })
        },
    },
    Mutation {
        what: "a register belongs to the other wave size",
        rules: &["register-wave-size"],
        apply: |subject, random| {
            change_one(subject, random, |instruction| match instruction {
                I::Undefined { register } if (2560..2816).contains(&register) => {
                    Some(I::Undefined {
                        register: register - 1024,
                    })
                }
                I::Undefined { register } if (1536..1792).contains(&register) => {
                    Some(I::Undefined {
                        register: register + 1024,
                    })
                }
                _ => None,
            })
        },
    },
    Mutation {
        what: "a row starts after the function",
        rules: &["cfi-row-outside-range"],
        apply: |subject, random| {
            change_one(subject, random, |instruction| match instruction {
                I::AdvanceLoc { .. } => Some(I::AdvanceLoc1 { delta: 0xff }),
                _ => None,
            })
        },
    },
    Mutation {
        what: "a row has no code",
        rules: &["cfi-row-empty"],
        apply: |subject, random| {
            change_one(subject, random, |instruction| match instruction {
                I::AdvanceLoc { .. } => Some(I::AdvanceLoc { delta: 0 }),
                _ => None,
            })
        },
    },
    Mutation {
        what: "the register of the CFA is changed where it is an expression",
        rules: &["cfi-cfa-change-without-register"],
        apply: |subject, random| {
            change_one(subject, random, |instruction| match instruction {
                I::LlvmDefAspaceCfa { .. } | I::DefCfaExpression { .. } => {
                    Some(I::DefCfaOffset { offset: 16 })
                }
                _ => None,
            })
        },
    },
    Mutation {
        what: "the address space of the CFA is reserved",
        rules: &["cfi-address-space"],
        apply: |subject, random| {
            change_one(subject, random, |instruction| match instruction {
                I::LlvmDefAspaceCfa {
                    register, offset, ..
                } => Some(I::LlvmDefAspaceCfa {
                    register,
                    offset,
                    space: 4,
                }),
                _ => None,
            })
        },
    },
    Mutation {
        what: "the CFA is not scaled",
        rules: &["cfi-cfa-unscaled"],
        apply: |subject, random| {
            change_one(subject, random, |instruction| match instruction {
                // regx s32, on processors that access scratch by scratch_*.
                I::DefCfaExpression {
                    expression: [0x90, 64, ..],
                } => Some(I::LlvmDefAspaceCfa {
                    register: 64,
                    offset: 0,
                    space: 6,
                }),
                _ => None,
            })
        },
    },
    Mutation {
        what: "the return address is in a register of half its size",
        rules: &["cfi-register-size"],
        apply: |subject, random| {
            change_one(subject, random, |instruction| match instruction {
                I::Expression { register: PC, .. } => Some(I::Register {
                    register: PC,
                    saved_in: S4,
                }),
                _ => None,
            })
        },
    },
    Mutation {
        what: "two registers are in each other",
        rules: &["cfi-circular"],
        apply: |subject, random| {
            let swapped = [
                I::Register {
                    register: S4,
                    saved_in: S4 + 1,
                },
                I::Register {
                    register: S4 + 1,
                    saved_in: S4,
                },
            ];
            append(subject, random, &swapped)
        },
    },
    Mutation {
        what: "rules are restored without having been remembered",
        rules: &["cfi-restore-state"],
        apply: |subject, random| append(subject, random, &[I::RestoreState]),
    },
    Mutation {
        what: "rules are remembered and never restored",
        rules: &["cfi-remember-state"],
        apply: |subject, random| append(subject, random, &[I::RememberState]),
    },
    Mutation {
        what: "a register without a rule is restored",
        rules: &["cfi-restore-without-rule"],
        apply: |subject, random| append(subject, random, &[I::RestoreExtended { register: 1129 }]),
    },
];

/// Kinds of damage to expressions.
pub const EXPRESSIONS: &[Mutation] = &[
    Mutation {
        what: "an expression asks for the lane",
        rules: &["expr-cfi-operation"],
        apply: |subject, random| {
            // form_aspace_address or offset_uconst becomes push_lane.
            change_expression(subject, random, |bytes| {
                replace(bytes, &[0xe9, 0x02], &[0xe9, 0x03])
            })
        },
    },
    Mutation {
        what: "a register in an expression is reserved",
        rules: &["register-reserved"],
        apply: |subject, random| {
            change_expression(subject, random, |bytes| {
                replace(bytes, &[0x90, 62], &[0x90, 100])
                    || replace(bytes, &[0x90, 64], &[0x90, 100])
            })
        },
    },
    Mutation {
        what: "a piece is half as large",
        rules: &["expr-short-location", "expr-short-composite"],
        apply: |subject, random| {
            change_expression(subject, random, |bytes| {
                replace(bytes, &[0x93, 4], &[0x93, 2]) || replace(bytes, &[0x9d, 32], &[0x9d, 16])
            })
        },
    },
    Mutation {
        what: "an address space in an expression is reserved",
        rules: &["expr-address-space"],
        apply: |subject, random| {
            // lit6 before form_aspace_address becomes lit4.
            change_expression(subject, random, |bytes| {
                replace(bytes, &[0x36, 0xe9, 0x02], &[0x34, 0xe9, 0x02])
            })
        },
    },
    Mutation {
        what: "an operand is lost, so that the expression ends within it",
        rules: &["expr-decode"],
        apply: |subject, random| {
            change_expression(subject, random, |bytes| {
                let last = bytes.len() - 1;
                bytes[last] |= 0x80;
                bytes[last - 1] = 0x90;
                true
            })
        },
    },
];
