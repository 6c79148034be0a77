//! Tests every rule about call frame information with a violation and the most similar valid input.

use super::frame_rules;
use super::made::{GFX942, GFX1030, Made, cie, cie_with, code, entry, fde};
use crate::arch::Register;
use crate::expr::{Encoding, ParseOptions, parse};
use crate::frame::Instruction as I;

const S4: u64 = 36;
const S5: u64 = 37;
const S32: u64 = 64;
const PC: u64 = Register::PC_64.number() as u64;
/// The number of v40 in a wave of 64 lanes, and in a wave of 32 lanes.
const V40: u64 = 2600;
const V40_OF_32: u64 = 1576;
const A0: u64 = 3072;

fn bytes(text: &str) -> Vec<u8> {
    let expression = parse(text, &ParseOptions::default()).unwrap();
    expression.encode(Encoding::AMDGPU).unwrap()
}

/// The CFA that LLVM writes if scratch is accessed by `buffer_*`: s32 in `private_wave`.
const CFA: I<'static> = I::LlvmDefAspaceCfa {
    register: S32,
    offset: 0,
    space: 6,
};
/// Advances by one word of code.
const NEXT: I<'static> = I::AdvanceLoc { delta: 1 };

const fn undefined(register: u64) -> I<'static> {
    I::Undefined { register }
}

const fn saved(register: u64, offset: u64) -> I<'static> {
    I::OffsetExtended { register, offset }
}

const fn in_register(register: u64, saved_in: u64) -> I<'static> {
    I::Register { register, saved_in }
}

fn saying(instructions: &[I<'_>]) -> Made {
    Made::saying(instructions)
}

/// Returns the examples of `section`: a rule, a violation, and valid input.
fn of_sections() -> Vec<(&'static str, Made, Made)> {
    let good = || saying(&[CFA, undefined(PC)]);
    let entry_of = |fde: Vec<u8>| Made::with(&[cie(&[]), fde]);
    let common = |fields: &[u8]| {
        let cie = cie_with(fields, &[]);
        Made::with(&[cie, fde(0, 0, 0x40, &code(&[CFA]))])
    };
    let mut cut = good();
    cut.entries.truncate(cut.entries.len() - 8);
    let mut short = fde(0, 0, 0x40, &[]);
    short.truncate(8 + 12);
    short[0] = 16;
    let mut odd = fde(0, 0, 0x40, &code(&[CFA]));
    odd[0] += 4;
    odd.extend([0; 4]);
    let mut ended = good();
    ended.section = ".eh_frame";
    let eh_cie = entry(&[0, 0, 0, 0, 1, b'z', b'R', 0, 4, 4, 16, 1, 0]);
    let back = (eh_cie.len() + 4 + 4) as u32;
    let eh_fde = |back: u32| {
        let mut body = back.to_le_bytes().to_vec();
        body.extend(0_u64.to_le_bytes());
        body.extend(0x40_u64.to_le_bytes());
        body.push(0);
        entry(&body)
    };
    ended.entries = [eh_cie.clone(), vec![0; 4], eh_fde(back)].concat();
    let mut whole = ended.clone();
    whole.entries = [eh_cie, eh_fde(back - 4), vec![0; 4]].concat();
    vec![
        ("cfi-entry-length", cut, good()),
        ("cfi-entry", entry_of(short), good()),
        (
            "cfi-cie-pointer",
            entry_of(fde(8, 0, 0x40, &[])),
            entry_of(fde(0, 0, 0x40, &[])),
        ),
        (
            "cfi-version",
            common(&[5, 0, 8, 0, 4, 4, 16]),
            common(&[3, 0, 4, 4, 16]),
        ),
        (
            "cfi-augmentation",
            common(b"\x04[amd:v1.0]\0\x08\0\x04\x04\x10"),
            common(b"\x04[amd:v0.1]\0\x08\0\x04\x04\x10"),
        ),
        ("cfi-address-size", common(&[4, 0, 4, 0, 4, 4, 16]), good()),
        ("cfi-entry-alignment", entry_of(odd), good()),
        (
            "cfi-alignment-factor",
            common(&[4, 0, 8, 0, 0, 4, 16]),
            good(),
        ),
        (
            "cfi-return-address-column",
            common(&[4, 0, 8, 0, 4, 4, 17]),
            good(),
        ),
        ("cfi-terminator", ended, whole),
        (
            "cfi-unused-cie",
            Made::with(&[cie(&[]), cie(&[]), fde(0, 0, 0x40, &code(&[CFA]))]),
            good(),
        ),
    ]
}

/// Returns the examples of `coverage`.
fn of_coverage() -> Vec<(&'static str, Made, Made)> {
    let says = code(&[CFA]);
    let entries = |ranges: &[(u64, u64)]| {
        let mut all = vec![cie(&[])];
        all.extend(
            ranges
                .iter()
                .map(|(start, size)| fde(0, *start, *size, &says)),
        );
        let mut made = Made::with(&all);
        made.functions = vec![("f", 0, 0x20), ("g", 0x20, 0x20)];
        made
    };
    let good = || entries(&[(0, 0x20), (0x20, 0x20)]);
    vec![
        (
            "cfi-range-empty",
            entries(&[(0, 0x20), (0x20, 0), (0x20, 0x20)]),
            good(),
        ),
        (
            "cfi-range-outside-code",
            entries(&[(0, 0x20), (0x20, 0x24)]),
            good(),
        ),
        (
            "cfi-range-overlap",
            entries(&[(0, 0x24), (0x20, 0x20)]),
            good(),
        ),
        // The addresses that linkers write for dropped code, and two functions that the linker folded.
        (
            "cfi-dropped-code",
            entries(&[(0, 0x20), (0x20, 0x20), (u64::MAX, 0x20)]),
            entries(&[(0, 0x20), (0x20, 0x20), (u64::MAX - 2, 0x20)]),
        ),
        (
            "cfi-dropped-code",
            entries(&[(0, 0x20), (0x20, 0x20), (0x20, 0x20)]),
            entries(&[(0, 0x20), (0x20, 0x20), (0x20, 0x1c)]),
        ),
        ("cfi-function-without-fde", entries(&[(0, 0x20)]), good()),
        (
            "cfi-range-not-function",
            entries(&[(0, 0x20), (0x24, 0x1c)]),
            good(),
        ),
        (
            "cfi-empty",
            Made::with(&[cie(&[]), fde(0, 0, 0x40, &[])]),
            good(),
        ),
    ]
}

/// Returns an entry that remembers and restores thousands of rules `times` times.
fn remembering(times: usize) -> Made {
    let mut instructions = vec![CFA];
    instructions.extend((2560..2816).chain(3072..3328).chain(32..96).map(undefined));
    for _ in 0..times {
        instructions.extend([NEXT, I::RememberState, undefined(S4), I::RestoreState]);
    }
    saying(&instructions)
}

/// Returns an entry that remembers `rows` rows and restores them.
fn nested(rows: usize) -> Made {
    let both = [
        vec![I::RememberState; rows],
        vec![NEXT],
        vec![I::RestoreState; rows],
    ];
    saying(&[vec![CFA], both.concat()].concat())
}

/// Returns the examples of `instructions`.
fn of_instructions() -> Vec<(&'static str, Made, Made)> {
    let raw = |instructions: &[u8]| Made::with(&[cie(&[]), fde(0, 0, 0x40, instructions)]);
    let last = |delta| saying(&[CFA, I::AdvanceLoc { delta }, saved(S4, 0)]);
    let mut padded = code(&[CFA]);
    padded.resize(4 + 16, 0);
    vec![
        // The code 0x2d has no meaning.
        ("cfi-instruction", raw(&[0x2d]), raw(&[0x0c, 65, 0])),
        ("cfi-padding", raw(&padded), raw(&padded[..8])),
        (
            "cfi-row-order",
            saying(&[
                CFA,
                I::SetLoc { address: 8 },
                saved(S4, 0),
                I::SetLoc { address: 4 },
            ]),
            saying(&[
                CFA,
                I::SetLoc { address: 4 },
                saved(S4, 0),
                I::SetLoc { address: 8 },
            ]),
        ),
        // 0x40 bytes are 16 words.
        ("cfi-row-outside-range", last(17), last(16)),
        ("cfi-row-empty", last(16), last(15)),
        ("cfi-row-empty", last(0), last(1)),
        (
            "cfi-row-without-cfa",
            saying(&[undefined(PC), NEXT, CFA]),
            saying(&[CFA, NEXT, undefined(PC)]),
        ),
        ("cfi-too-large", nested(65), nested(64)),
        (
            "cfi-row-unchanged",
            saying(&[CFA, NEXT, NEXT, saved(S4, 0)]),
            saying(&[CFA, NEXT, saved(S4, 0)]),
        ),
    ]
}

/// Returns an entry of a CIE with initial instructions.
fn with_initial(instructions: &[I<'_>], then: &[I<'_>]) -> Made {
    Made::with(&[cie(instructions), fde(0, 0, 0x40, &code(then))])
}

/// Returns the examples of `instructions` for rules that are set up, remembered and restored.
fn of_states() -> Vec<(&'static str, Made, Made)> {
    let expression = bytes("DW_OP_lit0, DW_OP_lit6, DW_OP_LLVM_form_aspace_address");
    let by_expression = I::DefCfaExpression {
        expression: &expression,
    };
    let offset = I::DefCfaOffset { offset: 16 };
    vec![
        (
            "cfi-advance-in-cie",
            with_initial(&[NEXT], &[CFA]),
            with_initial(&[undefined(PC)], &[CFA]),
        ),
        (
            "cfi-restore-state",
            saying(&[CFA, NEXT, I::RestoreState]),
            saying(&[
                CFA,
                NEXT,
                I::RememberState,
                saved(S4, 0),
                NEXT,
                I::RestoreState,
            ]),
        ),
        (
            "cfi-remember-state",
            saying(&[CFA, I::RememberState]),
            saying(&[CFA, I::RememberState, NEXT, I::RestoreState]),
        ),
        (
            "cfi-restore-without-rule",
            saying(&[CFA, I::RestoreExtended { register: S4 }]),
            with_initial(
                &[undefined(S4)],
                &[
                    CFA,
                    NEXT,
                    saved(S4, 0),
                    NEXT,
                    I::RestoreExtended { register: S4 },
                ],
            ),
        ),
        (
            "cfi-cfa-change-without-register",
            saying(&[by_expression, NEXT, offset]),
            saying(&[CFA, NEXT, offset]),
        ),
        (
            "cfi-cfa-missing",
            saying(&[saved(S4, 0)]),
            saying(&[saved(S4, 0), CFA]),
        ),
        (
            "cfi-rule-overwritten",
            saying(&[CFA, saved(S4, 0), undefined(S4)]),
            saying(&[CFA, saved(S4, 0), NEXT, undefined(S4)]),
        ),
        ("cfi-too-large", remembering(1 << 12), remembering(1 << 4)),
        (
            "cfi-address-space",
            saying(&[I::LlvmDefAspaceCfa {
                register: S32,
                offset: 0,
                space: 4,
            }]),
            saying(&[CFA]),
        ),
    ]
}

/// Returns the examples of `dependency`.
fn of_dependency() -> Vec<(&'static str, Made, Made)> {
    // The CFA is where s4 was on entry, and another register is saved at the CFA. No register has the number in between.
    let entry = bytes("DW_OP_LLVM_call_frame_entry_reg SGPR4");
    let through_cfa = |register| {
        saying(&[
            I::DefCfaExpression { expression: &entry },
            I::SameValue { register: u64::MAX },
            saved(register, 0),
        ])
    };
    // s4 is in s5 according to the common entry, and then has another rule. s5 is in s4.
    let restored = |is_restored| {
        let last = if is_restored {
            I::RestoreExtended { register: S4 }
        } else {
            undefined(S32)
        };
        let function = code(&[undefined(S4), in_register(S5, S4), last]);
        Made::with(&[cie(&[CFA, in_register(S4, S5)]), fde(0, 0, 0x40, &function)])
    };
    vec![
        (
            "cfi-circular",
            saying(&[CFA, in_register(S4, S5), in_register(S5, S4)]),
            saying(&[CFA, in_register(S4, S5)]),
        ),
        ("cfi-circular", through_cfa(S4), through_cfa(S5)),
        ("cfi-circular", restored(true), restored(false)),
    ]
}

/// Returns the examples of `meaning` and `register`.
fn of_meaning() -> Vec<(&'static str, Made, Made)> {
    // The expression that GCC writes, and the location of the two registers.
    let value = bytes(
        "DW_OP_bregx SGPR19+0, DW_OP_const1u 0x20, DW_OP_shl, DW_OP_bregx SGPR18+0, DW_OP_plus",
    );
    let place = bytes("DW_OP_regx SGPR18, DW_OP_piece 0x4, DW_OP_regx SGPR19, DW_OP_piece 0x4");
    let returns_by = |expression| {
        saying(&[
            CFA,
            I::Expression {
                register: PC,
                expression,
            },
        ])
    };
    vec![
        (
            "cfi-return-address-value",
            returns_by(&value),
            returns_by(&place),
        ),
        (
            "cfi-register-size",
            saying(&[CFA, in_register(PC, S4)]),
            saying(&[CFA, in_register(S4, S5)]),
        ),
        // The same instruction on another processor.
        (
            "cfi-cfa-unscaled",
            saying(&[CFA]).on(GFX942),
            saying(&[CFA]),
        ),
        // 96 would be s64 if the numbers had no gap.
        (
            "register-reserved",
            saying(&[CFA, undefined(96)]),
            saying(&[CFA, undefined(1088)]),
        ),
        (
            "register-wave-size",
            saying(&[CFA, undefined(V40_OF_32)]),
            saying(&[CFA, undefined(V40)]),
        ),
        (
            "register-not-on-processor",
            saying(&[CFA, undefined(A0)]).on(GFX1030),
            saying(&[CFA, undefined(A0)]),
        ),
    ]
}

#[test]
fn every_rule_finds_what_breaks_it_and_nothing_else() {
    let mut examples = of_sections();
    examples.extend(of_coverage());
    examples.extend(of_instructions());
    examples.extend(of_states());
    examples.extend(of_dependency());
    examples.extend(of_meaning());
    for (rule, broken, good) in &examples {
        let found = broken.rules();
        assert!(found.contains(rule), "{rule} is not found: {found:?}");
        let found = good.rules();
        assert!(!found.contains(rule), "{rule}: {:?}", good.findings());
    }
    for rule in frame_rules() {
        // These rules need debugging information or a kernel: `dwarf-tests/tests/verify_cfi.rs`.
        let elsewhere = ["cfi-missing", "cfi-kernel-row"].contains(&rule.id);
        let known = elsewhere || examples.iter().any(|(id, _, _)| *id == rule.id);
        assert!(known, "{} has no example", rule.id);
    }
}
