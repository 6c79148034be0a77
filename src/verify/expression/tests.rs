//! Tests each rule with an expression that violates it and a similar one that does not. The table of rules cites the decisive sentences of HET and
//! DWARF 5. Sizes are from USAGE "Register Identifier". A scalar register has 32 bits, EXEC and PC have 64, and a vector register of a wave with 64
//! lanes has 2048.

use std::collections::HashSet;

use fallible_iterator::FallibleIterator;

use super::entry::{Offset, Sources};
use super::*;
use crate::arch::AddressSpace;
use crate::expr::{Opcode, ParseOptions, ROWS, operations, parse};
use crate::verify::Severity;

/// The entries to which the examples refer.
struct Known;

/// `DW_OP_call2 0x300`, which calls itself.
const CYCLE: &[u8] = &[0x98, 0x00, 0x03];

impl Entries for Known {
    fn base_type(&self, offset: u64) -> Option<Type> {
        match offset {
            0x10 => Some(Type::Integral {
                bits: 64,
                entry: 0x10,
            }),
            0x20 => Some(Type::Integral {
                bits: 32,
                entry: 0x20,
            }),
            0x30 => Some(Type::Other {
                bits: 64,
                entry: 0x30,
            }),
            _ => None,
        }
    }

    fn callee(&self, offset: u64, _in_section: bool) -> Callee<'_> {
        let expression = |bytes| Callee::Expression {
            bytes,
            encoding: Encoding::AMDGPU,
            die: offset,
        };
        match offset {
            // DW_OP_lit1, DW_OP_plus: adds one to the value that the caller pushed.
            0x100 => expression(&[0x31, 0x22]),
            0x200 => Callee::Nothing,
            0x300 => expression(CYCLE),
            0x400 => Callee::List,
            _ => Callee::Missing,
        }
    }

    fn has_address(&self, index: u64) -> bool {
        index < 2
    }
}

/// The canonical frame address that register rules find on the stack.
const CFA: Entry = Entry::Place(Place {
    storage: Storage::Memory(Some(AddressSpace::PrivateWave)),
    offset: Offset::Unknown,
    sources: Sources::REGISTERS,
    moved: false,
});

const OBJECT: Role = Role::Location { bits: None };
const INT: Role = Role::Location { bits: Some(32) };
const LONG: Role = Role::Location { bits: Some(64) };
const SAVED: Role = Role::SavedRegister { bits: Some(32) };
const SAVED_VGPR: Role = Role::SavedRegister { bits: Some(2048) };

/// Encodes an example: operations without `DW_OP_`, or hexadecimal digits after `#`.
fn bytes_of(text: &str) -> Vec<u8> {
    if let Some(digits) = text.strip_prefix('#') {
        let pairs = digits.as_bytes().chunks(2);
        return pairs
            .map(|pair| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect();
    }
    let encoding = Encoding::AMDGPU.in_memory();
    let options = ParseOptions {
        encoding,
        ..ParseOptions::default()
    };
    let names: Vec<_> = text
        .split(", ")
        .filter(|operation| !operation.is_empty())
        .map(|operation| format!("DW_OP_{operation}").replace('(', "(DW_OP_"))
        .collect();
    parse(&names.join(", "), &options)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .encode(encoding)
        .unwrap()
}

fn run(text: &str, role: Role) -> Outcome {
    let cfi = matches!(
        role,
        Role::SavedRegister { .. } | Role::RegisterValue { .. }
    );
    let initial: &[Entry] = if cfi { &[CFA] } else { &[] };
    let env = Env {
        initial,
        simt: true,
        frame_base: FrameBase::Missing,
        entries: (!cfi).then_some(&Known),
        ..Env::new(Encoding::AMDGPU.in_memory(), role)
    };
    check(&bytes_of(text), &env)
}

/// Selects the dword of the lane in focus from a vector register.
macro_rules! lane_of {
    ($register:literal) => {
        concat!(
            "regx ",
            $register,
            ", LLVM_push_lane, lit4, mul, LLVM_offset"
        )
    };
}

/// The rules, each with a use, an expression that violates it, and one that does not.
#[rustfmt::skip]
const EXAMPLES: &[(&str, Role, &str, &str)] = &[
    ("expr-decode",               OBJECT,     "#31e9",                                                     "#3196"),
    ("expr-decode",               OBJECT,     "#ff",                                                       "#96"),
    ("expr-foreign-operation",    OBJECT,     "#e90d01",                                                   "#e908"),
    ("expr-stack-underflow",      Role::Value, "lit1, plus",                                               "lit1, lit2, plus"),
    ("expr-stack-underflow",      Role::Value, "call2 0x100",                                              "lit5, call2 0x100"),
    ("expr-leftover",             Role::Value, "lit1, lit2",                                               "lit1, lit2, drop"),
    ("expr-kind",                 Role::Value, "regx SGPR4, lit1, plus",                                   "regx SGPR4, deref_size 0x4, lit1, plus"),
    ("expr-kind",                 OBJECT,     "const_type 0x10 0x8 0 0 0 0 0 0 0 0, deref, stack_value",   "lit8, deref, stack_value"),
    ("expr-operand-types",        OBJECT,     "lit1, regval_type PC_REG 0x10, plus, stack_value",          "lit1, regval_type PC_REG 0x10, convert 0x0, plus, stack_value"),
    ("expr-divide-by-zero",       Role::Value, "lit4, lit0, div",                                          "lit4, lit2, div"),
    ("expr-result-kind",          Role::Value, "regx SGPR4",                                               "regx SGPR4, deref_size 0x4"),
    ("expr-result-kind",          OBJECT,     "regval_type PC_REG 0x10",                                   "regval_type PC_REG 0x10, stack_value"),
    ("expr-result-kind",          Role::Value, "",                                                         "lit0"),
    ("expr-constant-as-location", OBJECT,     "lit7",                                                      "lit7, stack_value"),
    ("expr-cfa-kind",             Role::Cfa,  "regx SGPR32",                                               "lit0, lit6, LLVM_form_aspace_address"),
    ("expr-cfa-kind",             Role::Cfa,  "lit0, lit6, LLVM_form_aspace_address, lit4, LLVM_bit_offset", "lit0, lit6, LLVM_form_aspace_address, lit8, LLVM_bit_offset"),
    ("expr-frame-base",           Role::FrameBase, "fbreg +8",                                             "call_frame_cfa"),
    ("expr-frame-base",           Role::FrameBase, "regx SGPR4, piece 0x4, regx SGPR5, piece 0x4",         "regx SGPR33"),
    ("expr-lane-pc",              Role::LanePc { lanes: Some(64) }, "regx PC_REG, LLVM_extend 0x40 0x20",  "regx PC_REG, LLVM_extend 0x40 0x40"),
    ("expr-active-lane",          Role::ActiveLane { lanes: Some(64) }, "regx SGPR4",                      "regx SGPR4, piece 0x4, regx SGPR5, piece 0x4"),
    ("expr-short-location",       LONG,       "regx SGPR4",                                                "regx SGPR4, piece 0x4, regx SGPR5, piece 0x4"),
    ("expr-short-location",       SAVED_VGPR, "regx VGPR1, LLVM_offset_uconst 0x4",                        "regx VGPR1"),
    ("expr-short-location",       SAVED,      "regx SGPR4, LLVM_offset_uconst 0x2",                        "regx VGPR4, LLVM_offset_uconst 0x14"),
    ("expr-short-composite",      LONG,       "regx SGPR4, piece 0x4",                                     "regx SGPR4, piece 0x4, piece 0x4"),
    ("expr-long-composite",       INT,        "regx SGPR4, piece 0x4, regx SGPR5, piece 0x1",              "regx SGPR4, piece 0x3, regx SGPR5, piece 0x1"),
    ("expr-lane-overrun",         LONG,       lane_of!("VGPR1"),                                           concat!(lane_of!("VGPR1"), ", piece 0x4, ", lane_of!("VGPR2"), ", piece 0x4")),
    ("expr-lane-overrun",         OBJECT,     concat!(lane_of!("VGPR1"), ", piece 0x8"),                   concat!(lane_of!("VGPR1"), ", piece 0x4")),
    ("expr-lane-overrun",         OBJECT,     concat!(lane_of!("VGPR1"), ", deref_size 0x8"),              concat!(lane_of!("VGPR1"), ", deref_size 0x4")),
    ("expr-lane-missing",         INT,        "regx VGPR1",                                                lane_of!("VGPR1")),
    ("expr-lane-missing",         INT,        "regx VGPR1, deref_size 0x4, stack_value",                   concat!(lane_of!("VGPR1"), ", deref_size 0x4, stack_value")),
    ("expr-lane-missing",         OBJECT,     "bregx VGPR1+0",                                             concat!(lane_of!("VGPR1"), ", deref_size 0x4")),
    ("expr-unreachable",          Role::Value, "lit1, skip +1, lit2",                                      "lit1, skip +0"),
    ("expr-constant-branch",      Role::Value, "lit1, lit1, bra +1, nop",                                  "lit1, LLVM_push_lane, bra +1, nop"),
    ("expr-branch-target",        Role::Value, "lit1, skip +1, const1u 0x5, drop",                         "lit1, skip +0, const1u 0x5, drop"),
    ("expr-branch-target",        Role::Value, "lit1, skip +9",                                            "lit1, skip +1, nop"),
    ("expr-endless",              Role::Value, "lit1, skip -3",                                            "lit1, skip +0"),
    ("expr-endless",              Role::Value, "lit1, lit1, bra -4",                                       "lit1, LLVM_push_lane, bra -5"),
    ("expr-mask-size",            SAVED_VGPR, "regx VGPR1, regx VGPR2, lit1, LLVM_select_bit_piece 0x20 0x41", "regx VGPR1, regx VGPR2, lit1, LLVM_select_bit_piece 0x20 0x40"),
    ("expr-mask-size",            OBJECT,     "regx VGPR1, regx VGPR2, const_type 0x20 0x4 1 0 0 0, LLVM_select_bit_piece 0x20 0x40", "regx VGPR1, regx VGPR2, const_type 0x10 0x8 1 0 0 0 0 0 0 0, LLVM_select_bit_piece 0x20 0x40"),
    ("expr-mask-short",           SAVED_VGPR, "regx VGPR1, regx VGPR2, LLVM_call_frame_entry_reg EXEC, deref_size 0x4, LLVM_select_bit_piece 0x20 0x40", "regx VGPR1, regx VGPR2, LLVM_call_frame_entry_reg EXEC, deref_size 0x8, LLVM_select_bit_piece 0x20 0x40"),
    ("expr-zero-size",            OBJECT,     "regx SGPR4, LLVM_extend 0x0 0x40",                          "regx SGPR4, LLVM_extend 0x20 0x40"),
    ("expr-zero-size",            OBJECT,     "regx SGPR4, regx SGPR5, lit0, LLVM_select_bit_piece 0x20 0x0", "regx SGPR4, regx SGPR5, lit0, LLVM_select_bit_piece 0x20 0x1"),
    ("expr-empty-part",           OBJECT,     "regx SGPR4, piece 0x0",                                     "regx SGPR4, piece 0x4"),
    ("expr-empty-part",           Role::Value, "regx SGPR4, deref_size 0x0",                               "regx SGPR4, deref_size 0x1"),
    ("expr-part-size",            OBJECT,     "regx SGPR4, piece 0x8",                                     "regx PC_REG, piece 0x8"),
    ("expr-part-size",            OBJECT,     "regx SGPR4, bit_piece 0x20 0x8",                            "regx SGPR4, bit_piece 0x18 0x8"),
    ("expr-part-size",            OBJECT,     "regx SGPR4, LLVM_extend 0x40 0x2",                          "regx PC_REG, LLVM_extend 0x40 0x2"),
    ("expr-part-size",            OBJECT,     "regx SGPR4, regx SGPR5, lit1, LLVM_select_bit_piece 0x20 0x2", "regx SGPR4, regx PC_REG, lit1, LLVM_select_bit_piece 0x20 0x2"),
    ("expr-out-of-bounds",        OBJECT,     "regx SGPR4, LLVM_offset_uconst 0x4",                        "regx SGPR4, LLVM_offset_uconst 0x3"),
    ("expr-out-of-bounds",        OBJECT,     "regx VGPR4, LLVM_push_lane, lit4, mul, lit4, plus, LLVM_offset", "regx VGPR4, LLVM_push_lane, lit4, mul, lit3, plus, LLVM_offset"),
    ("expr-out-of-bounds",        Role::Value, "regx SGPR4, deref",                                        "regx PC_REG, deref"),
    ("expr-out-of-bounds",        OBJECT,     "const4u 0xffffffff, lit5, LLVM_form_aspace_address, LLVM_offset_uconst 0x1", "const4u 0xffffffff, lit1, LLVM_form_aspace_address, LLVM_offset_uconst 0x1"),
    ("expr-out-of-bounds",        OBJECT,     "regx SGPR4, regx SGPR5, lit2, lit4, LLVM_overlay",          "regx SGPR4, regx SGPR5, lit2, lit2, LLVM_overlay"),
    ("expr-undefined-read",       Role::Value, "LLVM_undefined, deref",                                    "lit0, deref"),
    ("expr-composite-size",       OBJECT,     "LLVM_undefined, LLVM_extend 0xffffffffffffffff 0x10",       "LLVM_undefined, LLVM_extend 0xffffffffffffffff 0x8"),
    ("expr-incomplete-composite", OBJECT,     "regx SGPR4, piece 0x4, dup",                                "regx SGPR4, piece 0x4, LLVM_piece_end, dup, drop"),
    ("expr-incomplete-composite", Role::Value, "regx SGPR4, piece 0x4, deref_size 0x4",                    "regx SGPR4, piece 0x4, LLVM_piece_end, deref_size 0x4"),
    ("expr-piece-end",            OBJECT,     "regx SGPR4, LLVM_piece_end",                                "regx SGPR4, piece 0x4, LLVM_piece_end"),
    ("expr-piece-end",            OBJECT,     "LLVM_piece_end",                                            "piece 0x4, LLVM_piece_end"),
    ("expr-piece-kind",           OBJECT,     "regval_type PC_REG 0x10, piece 0x8",                        "regval_type PC_REG 0x10, stack_value, piece 0x8"),
    ("expr-address-space",        OBJECT,     "lit0, lit4, LLVM_form_aspace_address",                      "lit0, lit5, LLVM_form_aspace_address"),
    ("expr-address-space",        Role::Cfa,  "lit7, LLVM_aspace_bregx SGPR32+0",                          "lit6, LLVM_aspace_bregx SGPR32+0"),
    ("expr-cfi-operation",        SAVED,      "LLVM_push_lane, drop, regx SGPR4",                          "regx SGPR4"),
    ("expr-missing-context",      OBJECT,     "push_object_address",                                       "regx SGPR4"),
    ("expr-no-frame-base",        OBJECT,     "fbreg +8",                                                  "call_frame_cfa"),
    ("expr-narrow-register",      OBJECT,     "bregx SGPR32+0",                                            "bregx PC_REG+0"),
    ("expr-narrow-register",      OBJECT,     "lit1, LLVM_aspace_bregx SGPR32+0",                          "lit5, LLVM_aspace_bregx SGPR32+0"),
    ("expr-base-type",            OBJECT,     "regval_type PC_REG 0x44, stack_value",                      "regval_type PC_REG 0x10, stack_value"),
    ("expr-type-size",            Role::Value, "regx PC_REG, deref_type 0x40 0x10",                        "regx PC_REG, deref_type 0x8 0x10"),
    ("expr-type-size",            Role::Value, "const_type 0x10 0x4 0 0 0 0",                              "const_type 0x20 0x4 0 0 0 0"),
    ("expr-reinterpret-size",     Role::Value, "lit1, reinterpret 0x20",                                   "lit1, reinterpret 0x30"),
    ("expr-entry-value",          Role::Value, "entry_value(addr 0x1000)",                                 "entry_value(regx SGPR4)"),
    ("expr-call-target",          OBJECT,     "call2 0x999",                                               "call2 0x400"),
    ("expr-call-target",          OBJECT,     "implicit_pointer 0x999 +0",                                 "implicit_pointer 0x400 +0"),
    ("expr-implicit-pointer",     OBJECT,     "implicit_pointer 0x200 +0",                                 "implicit_pointer 0x400 +0"),
    ("expr-call-nothing",         OBJECT,     "LLVM_undefined, call2 0x200",                               "call2 0x400"),
    ("expr-call-cycle",           OBJECT,     "call2 0x300",                                               "call2 0x400"),
    ("expr-address-index",        OBJECT,     "addrx 0x2",                                                 "addrx 0x1"),
    ("expr-value-size",           Role::RegisterValue { bits: Some(32) }, "lit4",                          "LLVM_call_frame_entry_reg SGPR4"),
];

#[test]
fn every_rule_finds_its_failing_example_and_leaves_the_passing_one() {
    for (id, role, failing, passing) in EXAMPLES {
        let found = run(failing, *role);
        assert!(
            found.faults.iter().any(|fault| fault.rule.id == *id),
            "{id} does not find {failing}, only {:?}",
            found.faults
        );
        let found = run(passing, *role);
        assert!(
            !found.faults.iter().any(|fault| fault.rule.id == *id),
            "{id} finds {passing}"
        );
    }
}

#[test]
fn passing_examples_break_no_rule_of_severity_error() {
    for (id, role, _, passing) in EXAMPLES {
        let errors: Vec<_> = run(passing, *role)
            .faults
            .into_iter()
            .filter(|fault| fault.rule.severity == Severity::Error)
            .collect();
        assert!(errors.is_empty(), "{id}: {passing}: {errors:?}");
    }
}

#[test]
fn every_rule_has_examples() {
    for rule in RULES {
        assert!(
            EXAMPLES.iter().any(|(id, ..)| *id == rule.id),
            "{} has no example",
            rule.id
        );
    }
}

fn faults(text: &str, role: Role) -> Vec<(&'static str, Option<usize>)> {
    run(text, role)
        .faults
        .iter()
        .map(|fault| (fault.rule.id, fault.offset))
        .collect()
}

/// Uses expressions of LLVM and ROCm's compiler, and the example of lanes in the user guide. All of them are correct according to the specification.
#[test]
fn what_compilers_write_is_right() {
    let right: &[(Role, &str)] = &[
        (
            SAVED_VGPR,
            "regx VGPR40, swap, LLVM_offset_uconst 0x100, LLVM_call_frame_entry_reg EXEC, deref_size 0x8, LLVM_select_bit_piece 0x20 0x40",
        ),
        (
            Role::SavedRegister { bits: Some(64) },
            "regx SGPR30, piece 0x4, regx SGPR31, piece 0x4",
        ),
        (
            Role::SavedRegister { bits: Some(64) },
            "regx VGPR2, bit_piece 0x20 0x0, regx VGPR2, bit_piece 0x20 0x20",
        ),
        (
            Role::Cfa,
            "regx SGPR33, deref_size 0x4, lit6, shl, lit6, LLVM_form_aspace_address",
        ),
        (
            INT,
            "regx SGPR33, deref_size 0x4, lit6, shr, lit20, plus, lit5, LLVM_form_aspace_address",
        ),
        (
            Role::Location { bits: Some(16) },
            concat!(lane_of!("VGPR4"), ", LLVM_offset_uconst 0x2"),
        ),
        (
            LONG,
            "lit0, regx SGPR50, piece 0x4, regx SGPR51, piece 0x4, LLVM_piece_end, swap, drop, piece 0x8",
        ),
        (
            LONG,
            concat!(
                lane_of!("VGPR1"),
                ", piece 0x4, ",
                lane_of!("VGPR2"),
                ", piece 0x4, LLVM_piece_end, deref_size 0x8, lit1, LLVM_form_aspace_address"
            ),
        ),
        (
            LONG,
            "regx VGPR2, LLVM_offset_uconst 0x0, piece 0x4, regx VGPR2, LLVM_offset_uconst 0x4, piece 0x4, LLVM_piece_end",
        ),
        (
            Role::LanePc { lanes: Some(64) },
            "LLVM_undefined, LLVM_extend 0x40 0x40, regx PC_REG, LLVM_extend 0x40 0x40, regval_type EXEC 0x10, LLVM_select_bit_piece 0x40 0x40",
        ),
        (
            Role::Procedure,
            "regx PC_REG, LLVM_extend 0x40 0x40, regval_type EXEC 0x10, LLVM_select_bit_piece 0x40 0x40",
        ),
        (LONG, "addrx 0x0, lit0, LLVM_form_aspace_address"),
        (LONG, ""),
        (LONG, "entry_value(regx SGPR4), stack_value"),
    ];
    for (role, text) in right {
        assert_eq!(faults(text, *role), [], "{text}");
    }
}

/// According to the specification `xderef` loads a value, so no part has its intended meaning. This is reported once, for the whole expression.
#[test]
fn legacy_locations_are_told_and_not_taken_apart() {
    for text in [
        "bregx VGPR4+0, lit5, swap, xderef",
        "bregx SGPR32+16, lit5, swap, xderef",
        "consts +3, lit5, swap, xderef, stack_value",
    ] {
        let outcome = run(text, INT);
        assert!(outcome.legacy, "{text}");
        assert!(outcome.faults.is_empty(), "{text}: {:?}", outcome.faults);
    }
    assert!(!run("regx SGPR4", INT).legacy);
}

/// `regx SGPR4` has two bytes, `lit1` is the third byte, and the faulty `plus` is the fourth.
#[test]
fn the_operation_at_fault_is_marked() {
    let text = "regx SGPR4, lit1, plus";
    let outcome = run(text, Role::Value);
    let [fault] = outcome.faults.as_slice() else {
        panic!("{:?}", outcome.faults);
    };
    assert_eq!(fault.offset, Some(3));
    let finding = fault.finding("x", &bytes_of(text), Encoding::AMDGPU, ".debug_info", 0x40);
    assert_eq!(finding.offset, Some(0x43));
    let excerpt = finding.excerpt.unwrap();
    assert_eq!(excerpt.text, "DW_OP_regx SGPR4, DW_OP_lit1, DW_OP_plus");
    assert_eq!(excerpt.text.raw().get(excerpt.mark), Some("DW_OP_plus"));
    // The undecodable part is marked to the end.
    let excerpt = super::excerpt(&[0x31, 0xff], Encoding::AMDGPU, Some(1)).unwrap();
    assert_eq!(
        excerpt.text.raw().get(excerpt.mark),
        Some("<decoding error> ff")
    );
}

/// Both paths after a branch are followed. `bra` jumps over `lit1`, and only the other path underflows.
#[test]
fn every_way_is_followed() {
    assert_eq!(
        faults("LLVM_push_lane, bra +1, drop, lit1", Role::Value),
        [("expr-stack-underflow", Some(5))]
    );
    let joined = run("lit1, LLVM_push_lane, bra +2, drop, lit2", Role::Value);
    assert!(joined.faults.is_empty());
    assert!(matches!(joined.result, Some(Entry::Value(value)) if value.known().is_none()));
}

/// Uses of the operations that do not occur in the passing examples above.
const USES: &[&str] = &[
    "addr 0x1000, drop",
    "const1s +1, const2u 0x1, const2s +1, const4s +1, const8u 0x1, const8s +1, constu 0x1, consts +1, constx 0x1, drop, drop",
    "lit1, dup, over, pick 0x0, swap, rot",
    "lit1, lit2, and, lit2, or, lit2, xor, lit2, minus, lit2, mod, lit2, shl, lit2, shr, lit2, shra, abs, neg, not, plus_uconst 0x1",
    "lit1, lit2, eq, lit2, ge, lit2, gt, lit2, le, lit2, lt, lit2, ne",
    "reg17, drop, breg16 +0, drop",
    "regx SGPR4, piece 0x4, regx SGPR5, bit_piece 0x8 0x0, LLVM_piece_end, drop",
    "lit0, lit5, xderef, drop, lit0, lit5, xderef_size 0x4, drop, lit0, lit5, xderef_type 0x4 0x20, drop",
    "lit1, form_tls_address, drop",
    "implicit_value 0x2 1 2, drop",
    "GNU_uninit, LLVM_nop",
    "GNU_parameter_ref 0x40, drop, GNU_variable_value 0x40, drop",
    "lit1, LLVM_aspace_implicit_pointer 0x400 +0, drop",
    "LLVM_push_iteration, drop",
    "push_object_address, drop",
    "lit1, call4 0x100, call_ref 0x100, drop",
    "regx SGPR4, regx SGPR5, lit0, lit8, LLVM_bit_overlay, drop",
];

/// An operation that is not followed ends its path, and later faults are missed. This test names a new operation until the function of its family
/// handles it.
#[test]
fn every_operation_is_followed() {
    let passing = EXAMPLES.iter().map(|(_, _, _, passing)| *passing);
    let mut followed = HashSet::new();
    for text in passing.chain(USES.iter().copied()) {
        if text.starts_with('#') {
            continue;
        }
        let text = format!("{text}, lit4, lit0, div");
        if faults(&text, Role::Value)
            .iter()
            .any(|(id, _)| *id == "expr-divide-by-zero")
        {
            let bytes = bytes_of(&text);
            let operations = operations(&bytes, Encoding::AMDGPU.in_memory());
            let opcodes = operations.map(|item| Ok(item.operation.opcode()));
            followed.extend(opcodes.collect::<Vec<Opcode>>().unwrap());
        }
    }
    let missing: Vec<Opcode> = (ROWS.iter().map(|row| row.opcode))
        .filter(|opcode| !followed.contains(opcode))
        .collect();
    // Without a frame base, the first is a fault that ends the path (`expr-no-frame-base`). The effect of NVIDIA's operation is not known, and the
    // last belongs to another dialect.
    assert_eq!(
        missing,
        [Opcode::Fbreg, Opcode::NvidiaMux, Opcode::Composite]
    );
}

#[test]
fn loops_that_end_are_no_fault_and_take_a_bounded_time() {
    // while (i != 0) i -= 1, from 5 and from 4 billion.
    let counted = "lit5, dup, bra +3, skip +5, nop, lit1, minus, skip -12";
    let _ = run(counted, Role::Value);
    assert_eq!(
        faults("lit5, lit1, minus, dup, bra -6", Role::Value),
        [("expr-constant-branch", Some(4))]
    );
    let found = faults(
        "const8u 0xffffffffffff, lit1, minus, dup, bra -6",
        Role::Value,
    );
    assert!(
        !found.iter().any(|(id, _)| *id == "expr-endless"),
        "{found:?}"
    );
}

#[test]
fn results_say_what_an_address_was_computed_from() {
    // GCC 12 writes the return address as a location that is computed from two registers.
    let gcc = run(
        "bregx SGPR19+0, const1u 0x20, shl, bregx SGPR18+0, plus",
        SAVED,
    );
    let Some(Entry::Value(value)) = gcc.result else {
        panic!("{:?}", gcc.result);
    };
    assert_eq!(value.sources, Sources::REGISTERS);
    let slot = run("LLVM_offset_uconst 0x10", SAVED);
    let Some(Entry::Place(place)) = slot.result else {
        panic!("{:?}", slot.result);
    };
    assert_eq!(
        place.storage,
        Storage::Memory(Some(AddressSpace::PrivateWave))
    );
}

#[test]
fn register_numbers_are_listed_with_their_operations() {
    let bytes = bytes_of("lit5, reg4, bregx SGPR32+0, entry_value(regx SGPR5)");
    let outcome = check(&bytes, &Env::new(Encoding::AMDGPU, Role::Any));
    assert_eq!(outcome.registers[..], [(1, 4), (2, 64), (5, 37)]);
}

/// Random bytes neither panic nor take long.
#[test]
fn any_bytes_are_checked() {
    let mut state = 1_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as u8
    };
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..next() % 40).map(|_| next()).collect();
        for role in [LONG, Role::Procedure, SAVED, Role::Value] {
            let env = Env {
                entries: Some(&Known),
                ..Env::new(Encoding::AMDGPU, role)
            };
            for fault in check(&bytes, &env).faults {
                let finding = fault.finding("", &bytes, Encoding::AMDGPU, ".debug_info", 0);
                let excerpt = finding.excerpt.unwrap();
                assert!(excerpt.text.raw().get(excerpt.mark).is_some());
            }
        }
    }
}
