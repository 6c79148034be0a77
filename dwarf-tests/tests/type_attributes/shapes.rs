//! Tests types as compilers write them, and combinations of attributes.

use gimli::*;
use hetdwarf::arch::Lane;
use hetdwarf::inspect::ValueState;

use super::cases::{byte, int, member, member_pointer, n, name, structure, ty};
use super::object::{
    ADDRESS, Part, Says as S, Seen, base, look_at, object, part, seen, value_of, variable,
    variable_at,
};

/// The offset of the first entry in the function. The header has 12 bytes. The unit has a code, two numbers of eight bytes and one for its
/// language, and the function has a code and two numbers.
pub const FIRST_IN_FUNCTION: u32 = 12 + (1 + 3 * 8) + (1 + 2 * 8);

const FORTRAN: u64 = 0x22;

fn text(parts: &[Part], bytes: &[u8]) -> String {
    let seen = value_of(parts, bytes);
    assert_eq!(seen.state, ValueState::Ok, "{seen:?}");
    seen.text
}

/// Returns the values of `v`, one of the parts, in lanes 0 to 3.
fn lanes(parts: &[Part], bytes: &[u8]) -> Vec<Seen> {
    look_at(&object(0x0c, parts), bytes, |v, types| {
        (0..4).map(|lane| seen(v, types, Lane(lane))).collect()
    })
}

/// The type is `struct __attribute__((scalar_storage_order("big-endian"))) { int a : 5; unsigned b : 11; short c; _Complex float z; }` with
/// the values -3, 0x123, 0x0102 and 1 - 2i. The entries and the first four bytes are gcc 12's for x86-64: bits are counted from the highest
/// bit of the first byte.
#[test]
fn bit_fields_in_big_endian_order_start_at_the_highest_bit() {
    let big = (DW_AT_endianity, n(1));
    let bits = |size, start| [(DW_AT_bit_size, n(size)), (DW_AT_data_bit_offset, n(start))];
    let at = |offset| [(DW_AT_data_member_location, n(offset))];
    let members = vec![
        member("a", "int", &bits(5, 0)),
        member("b", "unsigned", &bits(11, 5)),
        member("c", "short", &at(2)),
        member("z", "complex float", &at(4)),
    ];
    let types = vec![
        base("int", DW_ATE_signed, 4).with(big.0, big.1.clone()),
        base("unsigned", DW_ATE_unsigned, 4).with(big.0, big.1.clone()),
        base("short", DW_ATE_signed, 2).with(big.0, big.1.clone()),
        base("complex float", DW_ATE_complex_float, 8).with(big.0, big.1),
    ];
    // 1.0 is 0x3f800000, -2.0 is 0xc0000000.
    let bytes = [0xe9, 0x23, 1, 2, 0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0];
    let parts = structure(12, members, types);
    assert_eq!(
        text(&parts, &bytes),
        "{a = -3, b = 291, c = 258, z = 1 + -2i}"
    );
    assert_eq!(value_of(&parts, &bytes).bytes, bytes);
}

/// A missing bit of a big-endian number affects that number, and not its neighbour.
#[test]
fn what_is_missing_of_a_big_endian_number_is_the_right_part() {
    let members = vec![
        member("a", "u16", &[(DW_AT_bit_size, n(4))]),
        member(
            "b",
            "u16",
            &[(DW_AT_bit_size, n(4)), (DW_AT_data_bit_offset, n(4))],
        ),
    ];
    let big = base("u16", DW_ATE_unsigned, 2).with(DW_AT_endianity, n(1));
    let parts = structure(2, members, vec![big]);
    // The low four bits are from constu 0xa5, stack_value, and the next four are empty: a is in the high bits.
    let location = [0x10, 0xa5, 1, 0x9f, 0x9d, 4, 0, 0x9d, 12, 0];
    let all = [vec![variable_at(&location)], parts].concat();
    let seen = &lanes(&all, &[])[0];
    assert_eq!(seen.state, ValueState::Partial);
    assert_eq!(seen.text, "{a = <optimized out>, b = 5}");
}

fn rust_enum(tag: Part, variants: Vec<Part>, types: Vec<Part>) -> Vec<Part> {
    let shape = vec![
        part(
            1,
            "T",
            DW_TAG_structure_type,
            &[name("T"), (DW_AT_byte_size, n(8))],
        ),
        part(
            2,
            "part",
            DW_TAG_variant_part,
            &[(DW_AT_discr, S::Entry("tag"))],
        ),
        Part {
            depth: 3,
            label: "tag",
            ..tag
        },
    ];
    [shape, variants, types].concat()
}

fn variant(value: Option<u64>, payload: &'static str) -> [Part; 2] {
    let value = value.map(|value| (DW_AT_discr_value, n(value)));
    let attributes: Vec<_> = value.into_iter().collect();
    [
        part(3, "variant", DW_TAG_variant, &attributes),
        part(4, "payload", DW_TAG_member, &[name(payload), ty(payload)]),
    ]
}

fn payload(of: &'static str, fields: &[(&'static str, &'static str, u64)]) -> Vec<Part> {
    let ty_of = part(
        2,
        of,
        DW_TAG_structure_type,
        &[name(of), (DW_AT_byte_size, n(8))],
    );
    let field = |(label, of, at): &(&'static str, &'static str, u64)| Part {
        depth: 3,
        ..member(label, of, &[(DW_AT_data_member_location, n(*at))])
    };
    let fields: Vec<Part> = fields.iter().map(field).collect();
    [vec![ty_of], fields].concat()
}

/// The type is `enum Shape { Circle { r: f32 }, Rect(u8, i32), Empty }` with a tag of one byte.
#[test]
fn enumerations_of_rust_print_as_they_are_written() {
    let tag = member("", "u8", &[]);
    let variants = [
        variant(Some(0), "Circle"),
        variant(Some(1), "Rect"),
        variant(Some(2), "Empty"),
    ];
    let types = [
        payload("Circle", &[("r", "f32", 4)]),
        payload("Rect", &[("__0", "u8", 1), ("__1", "int", 4)]),
        payload("Empty", &[]),
        vec![byte(), int(), base("f32", DW_ATE_float, 4)],
    ];
    let shape = rust_enum(tag, variants.concat(), types.concat());
    // 1.5 is 0x3fc00000.
    assert_eq!(
        text(&shape, &[0, 0, 0, 0, 0, 0, 0xc0, 0x3f]),
        "Circle{r = 1.5}"
    );
    assert_eq!(
        text(&shape, &[1, 7, 0, 0, 0xfd, 0xff, 0xff, 0xff]),
        "Rect(7, -3)"
    );
    assert_eq!(text(&shape, &[2, 7, 0, 0, 0, 0, 0, 0]), "Empty");
    assert_eq!(
        text(&shape, &[3, 7, 0, 0, 0, 0, 0, 0]),
        "{<no variant for 3>}"
    );
}

/// The type is `Option<&u8>`: null is `None`, and every other value is a reference. rustc gives no number to the variant of all other
/// values.
#[test]
fn a_niche_is_a_default_variant() {
    let tag = member("", "u64", &[]);
    let variants = [variant(Some(0), "None"), variant(None, "Some")];
    let types = [
        payload("None", &[]),
        payload("Some", &[("__0", "&u8", 0)]),
        vec![
            part(1, "&u8", DW_TAG_pointer_type, &[name("&u8"), ty("u8")]),
            byte(),
            base("u64", DW_ATE_unsigned, 8),
        ],
    ];
    let option = rust_enum(tag, variants.concat(), types.concat());
    assert_eq!(text(&option, &[0; 8]), "None");
    assert_eq!(
        text(&option, &[0x10, 0x70, 0, 0, 0, 0, 0, 0]),
        "Some(0x7010)"
    );
}

/// A signed tag is stored as unsigned: -1 in a byte is 255.
#[test]
fn discriminants_count_as_their_type_says() {
    let tag = member("", "i8", &[]);
    let variants = [variant(Some(255), "Less"), variant(Some(0), "Equal")];
    let types = [
        payload("Less", &[]),
        payload("Equal", &[]),
        vec![base("i8", DW_ATE_signed, 1)],
    ];
    let ordering = rust_enum(tag, variants.concat(), types.concat());
    assert_eq!(text(&ordering, &[0xff, 0, 0, 0, 0, 0, 0, 0]), "Less");
    assert_eq!(text(&ordering, &[0; 8]), "Equal");
}

/// The type is `type R (D : Integer) is record X : Integer; case D is when 1 => A : Integer; when 2 | 5 .. 7 => case D is when others => B
/// : Integer; end case; when others => null; end case; end record`, as gcc describes it for Ada. The discriminant is a member of the
/// record, and the variants have plain members.
#[test]
fn variants_of_ada_are_members_of_the_record() {
    let at = |offset| (DW_AT_data_member_location, n(offset));
    let deep = |depth, part: Part| Part { depth, ..part };
    let list = S::Block(vec![0, 2, 1, 5, 7]);
    let parts = [
        vec![
            part(
                1,
                "T",
                DW_TAG_structure_type,
                &[name("T"), (DW_AT_byte_size, n(12))],
            ),
            part(2, "d", DW_TAG_member, &[name("d"), ty("int"), at(0)]),
            part(2, "x", DW_TAG_member, &[name("x"), ty("int"), at(4)]),
            part(
                2,
                "part",
                DW_TAG_variant_part,
                &[(DW_AT_discr, S::Entry("d"))],
            ),
            part(3, "one", DW_TAG_variant, &[(DW_AT_discr_value, n(1))]),
            deep(4, member("a", "int", &[at(8)])),
            part(3, "more", DW_TAG_variant, &[(DW_AT_discr_list, list)]),
            part(
                4,
                "inner",
                DW_TAG_variant_part,
                &[(DW_AT_discr, S::Entry("d"))],
            ),
            part(5, "others", DW_TAG_variant, &[]),
            deep(6, member("b", "int", &[at(8)])),
            part(3, "null", DW_TAG_variant, &[]),
        ],
        vec![int()],
    ]
    .concat();
    let bytes = |d| [d, 0, 0, 0, 4, 0, 0, 0, 9, 0, 0, 0];
    assert_eq!(text(&parts, &bytes(1)), "{d = 1, x = 4, a = 9}");
    assert_eq!(text(&parts, &bytes(2)), "{d = 2, x = 4, b = 9}");
    assert_eq!(text(&parts, &bytes(6)), "{d = 6, x = 4, b = 9}");
    assert_eq!(text(&parts, &bytes(8)), "{d = 8, x = 4}");
}

/// In `struct { int a : 3; int : 0; int b : 3; }`, an unnamed member without bits does not exist. A named one is a number without bits.
#[test]
fn bit_fields_of_no_bits_have_no_value() {
    let bits = |size, start| [(DW_AT_bit_size, n(size)), (DW_AT_data_bit_offset, n(start))];
    let unnamed = part(
        2,
        "",
        DW_TAG_member,
        &[vec![ty("int")], bits(0, 8).to_vec()].concat(),
    );
    let mut members = vec![
        member("a", "int", &bits(3, 0)),
        unnamed,
        member("b", "int", &bits(3, 8)),
    ];
    let parts = structure(4, members.clone(), vec![int()]);
    assert_eq!(text(&parts, &[2, 0xff, 0, 0]), "{a = 2, b = -1}");
    members[1] = member("z", "int", &bits(0, 8));
    let parts = structure(4, members, vec![int()]);
    assert_eq!(text(&parts, &[2, 0xff, 0, 0]), "{a = 2, z = 0, b = -1}");
}

/// The type is `type Arr is array (0 .. 9) of Boolean with Pack`, with a bit for each element. 0x2a5 = 0b10_1010_0101.
#[test]
fn truth_values_are_packed_into_bits() {
    let parts = [
        part(
            1,
            "T",
            DW_TAG_array_type,
            &[
                ty("bool"),
                (DW_AT_bit_stride, n(1)),
                (DW_AT_byte_size, n(2)),
            ],
        ),
        part(2, "", DW_TAG_subrange_type, &[(DW_AT_upper_bound, n(9))]),
        base("bool", DW_ATE_boolean, 1),
    ];
    assert_eq!(
        text(&parts, &[0xa5, 2]),
        "{true, false, true, false, false, true, false, true, false, true}"
    );
}

/// The array is a section of a larger array: two rows 32 bytes apart, of three columns 8 bytes apart.
#[test]
fn each_dimension_may_have_its_own_distance() {
    let stride = |bytes, count| [(DW_AT_byte_stride, n(bytes)), (DW_AT_count, n(count))];
    let parts = [
        part(1, "T", DW_TAG_array_type, &[ty("int")]),
        part(2, "", DW_TAG_subrange_type, &stride(32, 2)),
        part(2, "", DW_TAG_subrange_type, &stride(8, 3)),
        int(),
    ];
    let bytes: Vec<u8> = (0u32..14).flat_map(u32::to_le_bytes).collect();
    assert_eq!(text(&parts, &bytes), "{{0, 2, 4}, {8, 10, 12}}");
    // The value extends from the first byte of the first element to the last byte of the last: 32 + 2 * 8 + 4.
    assert_eq!(value_of(&parts, &bytes).bytes.len(), 52);
}

/// The section of the array runs from its end to its start.
#[test]
fn a_negative_distance_is_not_understood() {
    let parts = [
        part(1, "T", DW_TAG_array_type, &[ty("int")]),
        part(
            2,
            "",
            DW_TAG_subrange_type,
            &[(DW_AT_byte_stride, S::Signed(-4)), (DW_AT_count, n(3))],
        ),
        int(),
    ];
    let seen = value_of(&parts, &[0; 12]);
    let ValueState::Unsupported { what } = seen.state else {
        panic!("{seen:?}");
    };
    assert!(what.contains("DW_AT_byte_stride"), "{what}");
}

/// In `integer a(2, 3)` of Fortran, the first index varies fastest unless the entry states otherwise.
#[test]
fn arrays_of_fortran_are_in_column_major_order() {
    let parts = |order: &[(DwAt, S)]| {
        vec![
            variable(),
            part(1, "T", DW_TAG_array_type, &[&[ty("int")], order].concat()),
            part(2, "", DW_TAG_subrange_type, &[(DW_AT_upper_bound, n(2))]),
            part(2, "", DW_TAG_subrange_type, &[(DW_AT_upper_bound, n(3))]),
            int(),
        ]
    };
    let bytes: Vec<u8> = (1u32..7).flat_map(u32::to_le_bytes).collect();
    let text = |order: &[(DwAt, S)]| {
        look_at(&object(FORTRAN, &parts(order)), &bytes, |v, types| {
            seen(v, types, Lane(0)).text
        })
    };
    assert_eq!(text(&[]), "{{1, 2}, {3, 4}, {5, 6}}");
    assert_eq!(text(&[(DW_AT_ordering, n(0))]), "{{1, 2, 3}, {4, 5, 6}}");
}

/// In `array (Color) of Integer`, the subrange has no bounds, but its type is an enumeration.
#[test]
fn an_index_type_has_the_bounds() {
    let parts = [
        part(1, "T", DW_TAG_array_type, &[ty("int")]),
        part(2, "", DW_TAG_subrange_type, &[ty("Color")]),
        part(
            1,
            "Color",
            DW_TAG_enumeration_type,
            &[name("Color"), (DW_AT_byte_size, n(1))],
        ),
        part(
            2,
            "",
            DW_TAG_enumerator,
            &[name("Red"), (DW_AT_const_value, n(0))],
        ),
        part(
            2,
            "",
            DW_TAG_enumerator,
            &[name("Green"), (DW_AT_const_value, n(1))],
        ),
        int(),
    ];
    assert_eq!(text(&parts, &[1, 0, 0, 0, 2, 0, 0, 0]), "{1, 2}");
}

/// A subrange without a name, and with the size of its type, equals its type.
#[test]
fn a_variable_of_a_subrange_is_a_number() {
    let bounds = [(DW_AT_lower_bound, n(1)), (DW_AT_upper_bound, n(10))];
    let range = |more: &[(DwAt, S)]| {
        let attributes = [&[ty("int")], more, &bounds].concat();
        [part(1, "T", DW_TAG_subrange_type, &attributes), int()]
    };
    assert_eq!(text(&range(&[]), &[7, 0, 0, 0]), "7");
    let named = |parts: &[Part]| {
        let parts = [vec![variable()], parts.to_vec()].concat();
        look_at(&object(0x0c, &parts), &[7, 0, 0, 0], |v, _| {
            v.type_name.to_string()
        })
    };
    assert_eq!(named(&range(&[])), "int");
    assert_eq!(named(&range(&[name("Small")])), "Small");
    // The subrange is of an enumeration, in one byte instead of the enumeration's four.
    let color = [
        part(
            1,
            "T",
            DW_TAG_subrange_type,
            &[ty("Color"), (DW_AT_byte_size, n(1))],
        ),
        part(
            1,
            "Color",
            DW_TAG_enumeration_type,
            &[name("Color"), ty("int")],
        ),
        part(
            2,
            "",
            DW_TAG_enumerator,
            &[name("Red"), (DW_AT_const_value, n(3))],
        ),
        int(),
    ];
    assert_eq!(text(&color, &[3, 1, 1, 1]), "Red");
}

/// The length in a variable, as gfortran describes an argument of assumed length, differs from lane to lane: v0 holds 40 and more, and an
/// expression subtracts 38.
#[test]
fn a_string_is_as_long_as_its_lane_says() {
    // One expression gives the lane's dword of v0: regx 2560, push_lane, lit4, mul, offset. The other gives its value minus 38.
    let dword = [0x90, 0x80, 0x14, 0xe9, 3, 0x34, 0x1e, 0xe9, 4];
    let less = [&dword[..], &[0x94, 4, 0x08, 38, 0x1c, 0x9f]].concat();
    let length = part(
        2,
        "length",
        DW_TAG_variable,
        &[
            name("length"),
            ty("int"),
            (DW_AT_location, S::Expression(less.clone())),
        ],
    );
    let string = |attributes: &[(DwAt, S)]| {
        vec![
            variable(),
            length.clone(),
            part(1, "T", DW_TAG_string_type, attributes),
            int(),
        ]
    };
    let by_reference = string(&[(DW_AT_string_length, S::Entry("length"))]);
    let size = (DW_AT_string_length_byte_size, n(4));
    let by_location = string(&[(DW_AT_string_length, S::Expression(less)), size]);
    for parts in [by_reference, by_location] {
        let texts: Vec<String> = lanes(&parts, b"abcdefgh")
            .into_iter()
            .map(|lane| lane.text)
            .collect();
        assert_eq!(texts, ["\"ab\"", "\"abc\"", "\"abcd\"", "\"abcde\""]);
    }
}

#[test]
fn the_type_of_nullptr_has_one_value() {
    let parts = [part(
        1,
        "T",
        DW_TAG_unspecified_type,
        &[name("decltype(nullptr)")],
    )];
    assert_eq!(text(&parts, &[0; 8]), "nullptr");
    let other = [part(1, "T", DW_TAG_unspecified_type, &[name("opaque")])];
    let seen = value_of(&other, &[0; 8]);
    let ValueState::Unsupported { what } = seen.state else {
        panic!("{seen:?}");
    };
    assert!(what.contains("DW_TAG_unspecified_type"), "{what}");
}

/// 0x8000 is -32768. In units of 2^-3 it is -4096, of 2^3 -262144, of 10^2 -3276800, and of 2/7 -9362 and 2/7.
#[test]
fn fixed_point_numbers_have_all_their_digits() {
    let fixed = |scale: (DwAt, S)| vec![base("T", DW_ATE_signed_fixed, 2).with(scale.0, scale.1)];
    let binary = |exponent| fixed((DW_AT_binary_scale, S::Signed(exponent)));
    let bytes = [0, 0x80];
    assert_eq!(text(&binary(-3), &bytes), "-4096");
    assert_eq!(text(&binary(3), &bytes), "-262144");
    assert_eq!(text(&binary(-3), &[1, 0x80]), "-4095.875");
    assert_eq!(
        text(&fixed((DW_AT_decimal_scale, S::Signed(2))), &bytes),
        "-3276800"
    );
    assert_eq!(
        text(&fixed((DW_AT_decimal_scale, S::Signed(-4))), &[5, 0]),
        "0.0005"
    );
    let seventh = part(
        1,
        "s",
        DW_TAG_constant,
        &[(DW_AT_GNU_numerator, n(2)), (DW_AT_GNU_denominator, n(7))],
    );
    let parts = [fixed((DW_AT_small, S::Entry("s"))), vec![seventh]].concat();
    // 65536 / 7 = 9362.285714…
    assert_eq!(text(&parts, &bytes), "-9362.28571428571428571428...");
}

#[test]
fn pointers_to_members_are_added_to_the_object() {
    let bytes = [4, 0, 0, 0, 0, 0, 0, 0];
    // DW_OP_plus.
    let plus = member_pointer(&[(DW_AT_use_location, S::Expression(vec![0x22]))]);
    assert_eq!(text(&plus, &bytes), "&C::y");
    // DW_OP_plus_uconst 8, DW_OP_plus.
    let other = member_pointer(&[(DW_AT_use_location, S::Expression(vec![0x23, 8, 0x22]))]);
    let seen = value_of(&other, &bytes);
    assert!(
        matches!(&seen.state, ValueState::Unsupported { what } if what.contains("DW_AT_use_location"))
    );
}

/// A structure is shown without a member that is not understood, and with a note.
#[test]
fn one_member_costs_the_others_nothing() {
    let members = vec![
        member("a", "int", &[]),
        member("s", "set", &[(DW_AT_data_member_location, n(4))]),
    ];
    let set = part(
        1,
        "set",
        DW_TAG_set_type,
        &[ty("int"), (DW_AT_byte_size, n(4))],
    );
    let seen = value_of(
        &structure(8, members, vec![int(), set]),
        &[1, 0, 0, 0, 2, 0, 0, 0],
    );
    assert_eq!(seen.state, ValueState::Partial);
    assert_eq!(seen.text, "{a = 1, s = <unsupported: DW_TAG_set_type>}");
    assert!(seen.note.contains("DW_TAG_set_type"));
}

fn implicit_pointer(entry: u32, offset: u8) -> Vec<u8> {
    [&[0xa0][..], &entry.to_le_bytes(), &[offset]].concat()
}

fn pointer() -> Vec<Part> {
    vec![part(1, "T", DW_TAG_pointer_type, &[ty("int")]), int()]
}

/// `int x` is in v0, which holds 40 in lane 0, and `int *v` to it has no bits.
#[test]
fn a_pointer_without_bits_shows_its_target_in_each_lane() {
    let dword = [0x90, 0x80, 0x14, 0xe9, 3, 0x34, 0x1e, 0xe9, 4];
    let x = part(
        2,
        "x",
        DW_TAG_variable,
        &[
            name("x"),
            ty("int"),
            (DW_AT_location, S::Expression(dword.to_vec())),
        ],
    );
    let v = variable_at(&implicit_pointer(FIRST_IN_FUNCTION, 0));
    let seen = lanes(&[vec![x.clone(), v], pointer()].concat(), &[]);
    let texts: Vec<&str> = seen.iter().map(|lane| lane.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "(int *) → 40",
            "(int *) → 41",
            "(int *) → 42",
            "(int *) → 43"
        ]
    );
    assert!(seen.iter().all(|lane| lane.state == ValueState::Partial));
    // The pointer is the second of two parts of a structure: lit7, stack_value, piece 8, implicit_pointer, piece 8.
    let parts = [
        &[0x37, 0x9f, 0x93, 8][..],
        &implicit_pointer(FIRST_IN_FUNCTION, 0),
        &[0x93, 8],
    ]
    .concat();
    let at = |offset| [(DW_AT_data_member_location, n(offset))];
    let members = vec![member("n", "long", &at(0)), member("p", "pointer", &at(8))];
    let types = vec![
        part(1, "pointer", DW_TAG_pointer_type, &[ty("int")]),
        base("long", DW_ATE_signed, 8),
        int(),
    ];
    let all = [vec![x, variable_at(&parts)], structure(16, members, types)].concat();
    assert_eq!(lanes(&all, &[])[1].text, "{n = 7, p = (int *) → 41}");
}

/// One pointer points to the second element of an array in memory, and another to a value that no longer exists.
#[test]
fn a_pointer_without_bits_may_point_into_an_object() {
    let at = [&[0x03][..], &ADDRESS.to_le_bytes()].concat();
    let x = |location: &[(DwAt, S)]| {
        let attributes = [&[name("x"), ty("pair")], location].concat();
        part(2, "x", DW_TAG_variable, &attributes)
    };
    let pair = [
        part(1, "pair", DW_TAG_array_type, &[ty("int")]),
        part(2, "", DW_TAG_subrange_type, &[(DW_AT_count, n(2))]),
    ];
    let v = variable_at(&implicit_pointer(FIRST_IN_FUNCTION, 4));
    let text = |x: Part| {
        let parts = [vec![x, v.clone()], pointer(), pair.to_vec()].concat();
        lanes(&parts, &[1, 0, 0, 0, 2, 0, 0, 0])[0].text.clone()
    };
    assert_eq!(
        text(x(&[(DW_AT_location, S::Expression(at))])),
        "(int *) → 2"
    );
    assert_eq!(
        text(x(&[(DW_AT_location, S::Expression(vec![]))])),
        "(int *) → <optimized out>"
    );
    assert!(text(x(&[])).starts_with("(int *) → <"));
}

/// The variable is `T v`, where T is a pointer to T, and v points to itself. Following it ends.
#[test]
fn circles_of_pointers_without_bits_end() {
    let v = variable_at(&implicit_pointer(FIRST_IN_FUNCTION, 0));
    let circle = part(1, "T", DW_TAG_pointer_type, &[ty("T")]);
    let text = &lanes(&[v, circle], &[])[0].text;
    assert!(text.ends_with("→ ..."), "{text}");
    assert_eq!(text.matches('→').count(), 9, "{text}");
}
