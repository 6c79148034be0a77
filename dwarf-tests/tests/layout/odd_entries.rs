//! Tests expressions with types and scopes that DWARF allows, and that the compilers of the fixtures do not write.

use super::*;

const LEXICAL_BLOCK: u64 = 0x0b;
const POINTER: u64 = 0x0f;
const REFERENCE: u64 = 0x10;
const INHERITANCE: u64 = 0x1c;
const NAMESPACE: u64 = 0x39;

const BIT_STRIDE: u64 = 0x2e;
const DECLARATION: u64 = 0x3c;
const EXTERNAL: u64 = 0x3f;
const SPECIFICATION: u64 = 0x47;
const BYTE_STRIDE: u64 = 0x51;
const GNU_VECTOR: u64 = 0x2107;

/// `DW_ATE_float`, `DW_ATE_signed_char` and `DW_ATE_unsigned_char`.
const FLOAT: u64 = 4;
const SIGNED_CHAR: u64 = 6;
const UNSIGNED_CHAR: u64 = 8;

/// The first entry of the types.
const OWN: usize = FIRST + 1;

fn count(number: u64) -> Vec<(u64, A)> {
    vec![(COUNT, A::number(number))]
}

/// Returns an array with an attribute.
fn array_with(attribute: u64, value: A, bound: Vec<(u64, A)>) -> Vec<Entry> {
    let mut entries = array(INT, vec![bound]);
    entries[0].attributes.push((attribute, value));
    entries
}

fn small_base(name: &str, encoding: u64, bytes: u64) -> Entry {
    let attributes = vec![
        (NAME, A::name(name)),
        (BYTE_SIZE, A::number(bytes)),
        (ENCODING, A::number(encoding)),
    ];
    entry(1, BASE_TYPE, attributes)
}

/// Returns `struct s { int x; int y; }`.
fn structure() -> Vec<Entry> {
    let member = |name: &str, offset| {
        let attributes = vec![
            (NAME, A::name(name)),
            (TYPE, A::Entry(INT)),
            (MEMBER_LOCATION, A::number(offset)),
        ];
        entry(2, MEMBER, attributes)
    };
    let head = vec![(NAME, A::name("s")), (BYTE_SIZE, A::number(8))];
    vec![entry(1, STRUCTURE, head), member("x", 0), member("y", 4)]
}

/// DWARF 5 §5.5: elements are as far apart as `DW_AT_byte_stride` says. Dword D of lane L holds 100 L + D.
#[test]
fn elements_are_apart_by_the_stride_of_their_array() {
    let types = || array_with(BYTE_STRIDE, A::number(8), count(3));
    assert_eq!(printed(types(), "v[1]").1, ["2", "102", "202", "302"]);
    let whole = ["{0, 2, 4}", "{100, 102, 104}", "{200, 202, 204}"];
    assert_eq!(printed(types(), "v").1[..3], whole);
    // From the start of the first element to the end of the last.
    assert_eq!(printed(types(), "sizeof v").1[0], "20");
    let n = vec![(COUNT, A::Entry(N))];
    let types = array_with(BYTE_STRIDE, A::number(8), n);
    assert_eq!(printed(types, "sizeof v").1, ["0", "4", "12", "20"]);
}

/// With a stride of 4 bits, n elements take n / 2 bytes, rounded up.
#[test]
fn a_size_is_rounded_up_to_bytes() {
    let n = vec![(COUNT, A::Entry(N))];
    let types = array_with(BIT_STRIDE, A::number(4), n);
    assert_eq!(printed(types, "sizeof v").1, ["0", "1", "1", "2"]);
}

/// The OpenCL C Specification, *Vector Components*: `s0` to `s9`, and `sa` to `sf` or `sA` to `sF`.
#[test]
fn components_have_hexadecimal_digits() {
    let vector = || A::Bytes(0x19, Vec::new());
    for (text, dword) in [("v.s9", 9), ("v.sa", 10), ("v.sB", 11), ("v.Sb", 11)] {
        let types = array_with(GNU_VECTOR, vector(), count(12));
        let expected = [0, 100, 200, 300].map(|lane| (lane + dword).to_string());
        assert_eq!(printed(types, text).1, expected, "{text}");
    }
    let types = array_with(GNU_VECTOR, vector(), count(12));
    let error = printed_at(&PRIVATE, types, "v.sc").unwrap_err();
    assert!(error.contains("has no member `sc`"), "{error}");
}

/// No address has more than 64 bits, so the contents of a pointer of 9 or 16 bytes are not known.
#[test]
fn a_pointer_of_more_than_64_bits_is_not_computed_with() {
    for bytes in [9, 16] {
        let attributes = vec![(TYPE, A::Entry(INT)), (BYTE_SIZE, A::number(bytes))];
        let types = vec![entry(1, POINTER, attributes)];
        let error = printed_at(&PRIVATE, types, "*v").unwrap_err();
        assert!(error.contains("not a pointer"), "{error}");
    }
}

/// C++20 [expr.sizeof]: a reference type has the size of its target.
#[test]
fn the_size_of_a_reference_is_that_of_its_target() {
    let reference = vec![(TYPE, A::Entry(OWN)), (BYTE_SIZE, A::number(4))];
    let alias = vec![(NAME, A::name("T")), (TYPE, A::Entry(OWN + 3))];
    let more = vec![entry(1, REFERENCE, reference), entry(1, TYPEDEF, alias)];
    let types = [structure(), more].concat();
    assert_eq!(printed(types, "sizeof(T)").1[0], "8");
}

/// C17 §6.2.5: `char` and `signed char` are two types. Here the program's `char` has no sign.
#[test]
fn a_signed_character_has_a_sign_whatever_a_character_has() {
    let types = || {
        vec![
            small_base("char", UNSIGNED_CHAR, 1),
            small_base("signed char", SIGNED_CHAR, 1),
        ]
    };
    assert_eq!(printed(types(), "(char)200 + 0").1[0], "200");
    // 200 - 256
    assert_eq!(printed(types(), "(signed char)200 + 0").1[0], "-56");
}

/// A format of 16 bits has several names. A sum has the program's own. Dword 1 holds 100 L + 1, so the numbers are tiny.
#[test]
fn a_sum_of_16_bits_has_the_type_of_the_program() {
    let types = vec![small_base("my_half", FLOAT, 2)];
    assert_eq!(printed(types, "v + v").0, "my_half");
}

/// The first half of the structure is nowhere (`DW_OP_piece` 4 after no location), and the second is at address 0.
#[test]
fn a_member_in_a_part_that_is_nowhere_has_no_value() {
    let location = [&[0x93, 4], &PRIVATE[..], &[0x93, 4]].concat();
    let line = |text| printed_at(&location, structure(), text).unwrap().1;
    assert_eq!(line("v.y"), ["0", "100", "200", "300"]);
    assert_eq!(line("v.y + 1"), ["1", "101", "201", "301"]);
    assert_eq!(
        line("v.x + 1"),
        ["it needs bits that were optimized out"; 4]
    );
}

/// gdb's manual, *Arrays*: `@` takes the number of adjacent objects in memory.
#[test]
fn what_is_repeated_is_in_memory_and_there_at_least_once() {
    let types = || array(INT, vec![count(3)]);
    for (text, said) in [
        ("v[0]@0", "an array of 0 elements"),
        ("v[0]@-n", "an array of 0 elements"),
        ("v[0]@-1", "an array of -1 elements"),
        // 2^40 numbers of 4 bytes.
        ("(v[0]@(1l << 40))[0]", "it has 4398046511104 bytes"),
    ] {
        let found = printed(types(), text).1;
        assert!(found[0].contains(said), "{text}: {}", found[0]);
    }
    let int = vec![base("int", 5)];
    let found = printed_at(&dword_of_vgpr(0), int, "v@2").unwrap().1;
    assert_eq!(found, ["it has no address: it is in the register v0"; 4]);
}

fn alias(depth: usize, name: &str, ty: usize) -> Entry {
    let attributes = vec![(NAME, A::name(name)), (TYPE, A::Entry(ty))];
    entry(depth, TYPEDEF, attributes)
}

/// The function has a type in a block that does not contain the pc. It has no other with this name, so the name is clear.
#[test]
fn a_type_of_another_block_of_the_function_is_found() {
    let range = vec![(LOW_PC, A::address(0x1030)), (HIGH_PC, A::number(8))];
    let types = vec![
        alias(2, "Own", INT),
        entry(2, LEXICAL_BLOCK, range),
        alias(3, "Inner", INT),
    ];
    assert_eq!(printed(types, "sizeof(Inner)").1[0], "4");
}

/// A scope whose name has two parts can be named by the last, but not by a part of a part.
#[test]
fn a_scope_may_have_a_name_of_several_parts() {
    let types = || {
        vec![
            alias(1, "Own", INT),
            entry(1, NAMESPACE, vec![(NAME, A::name("out::part"))]),
            alias(2, "Deep", INT),
        ]
    };
    for text in ["sizeof(out::part::Deep)", "sizeof(part::Deep)"] {
        assert_eq!(printed(types(), text).1[0], "4", "{text}");
    }
    let error = printed_at(&PRIVATE, types(), "sizeof(rt::Deep)").unwrap_err();
    assert!(error.contains("there is no `rt::Deep` here"), "{error}");
}

/// C++20 [class.derived]: a base class is no member, even if its entry has a name. Its members are members of the derived class.
#[test]
fn a_base_class_is_no_member() {
    let derived = vec![(NAME, A::name("d")), (BYTE_SIZE, A::number(8))];
    let base = vec![
        (NAME, A::name("part")),
        (TYPE, A::Entry(OWN + 2)),
        (MEMBER_LOCATION, A::number(0)),
    ];
    let types = || {
        let head = vec![
            entry(1, STRUCTURE, derived.clone()),
            entry(2, INHERITANCE, base.clone()),
        ];
        [head, structure()].concat()
    };
    assert_eq!(printed(types(), "v.y").1, ["1", "101", "201", "301"]);
    let error = printed_at(&PRIVATE, types(), "v.part").unwrap_err();
    assert!(error.contains("has no member `part`"), "{error}");
}

/// DWARF 5 §5.7.7: the definition of a static member completes its declaration in the class. The name is in the class only.
#[test]
fn a_static_member_is_found_in_its_class_only() {
    let flag = || A::Bytes(0x19, Vec::new());
    let declared = vec![
        (NAME, A::name("total")),
        (TYPE, A::Entry(INT)),
        (EXTERNAL, flag()),
        (DECLARATION, flag()),
    ];
    let defined = vec![
        (NAME, A::name("total")),
        (SPECIFICATION, A::Entry(OWN + 3)),
        (CONST_VALUE, A::number(7)),
    ];
    let more = vec![entry(2, VARIABLE, declared), entry(1, VARIABLE, defined)];
    let types = || [structure(), more.clone()].concat();
    assert_eq!(printed(types(), "s::total").1[0], "7");
    let error = printed_at(&PRIVATE, types(), "::total").unwrap_err();
    assert!(error.contains("there is no `::total` here"), "{error}");
}

/// n is 0 in the first lane, and no array has 0 elements. All other lanes have an array of two, so this is the type of the answer.
#[test]
fn an_answer_has_the_type_of_the_lanes_with_a_value() {
    let types = array(INT, vec![count(3)]);
    let (ty, lanes) = printed(types, "v[0]@(n ? 2 : 0)");
    assert_eq!(ty, "int[2]");
    assert_eq!(lanes[..2], ["an array of 0 elements", "{100, 101}"]);
}

/// A data model other than LP64: the program's `long` has 4 bytes, and so has the type in an expression.
#[test]
fn the_size_of_long_is_up_to_the_program() {
    let types = || vec![small_base("long", 5, 4)];
    assert_eq!(printed(types(), "sizeof(long)").1[0], "4");
    // 2^32 + 5, cut to 32 bits.
    assert_eq!(printed(types(), "(long)4294967301 + 0").1[0], "5");
}
