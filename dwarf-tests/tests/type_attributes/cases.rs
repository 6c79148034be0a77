//! Has one case for each attribute that is read, on each tag that it is valid for.
//!
//! Comments derive the values. Bytes are in address order; numbers are little-endian unless an attribute says otherwise.

use gimli::*;

use super::object::{ADDRESS, Part, Says as S, base, part, variable, variable_at};

/// A type, the bytes of a value, and its expected text.
pub struct Case {
    pub attribute: DwAt,
    /// The tag of the entry that has the attribute.
    pub tag: DwTag,
    /// The entries of the variable and of its type `T`.
    pub parts: Vec<Part>,
    pub bytes: Vec<u8>,
    /// The text with the attribute.
    pub with: &'static str,
    /// The text without the attribute. `None` if there is then no complete value.
    pub without: Option<&'static str>,
}

fn case(
    (attribute, tag): (DwAt, DwTag),
    parts: Vec<Part>,
    bytes: &[u8],
    with: &'static str,
    without: impl Into<Option<&'static str>>,
) -> Case {
    Case {
        attribute,
        tag,
        parts: [vec![variable()], parts].concat(),
        bytes: bytes.to_vec(),
        with,
        without: without.into(),
    }
}

pub fn n(number: u64) -> S {
    S::Number(number)
}

pub fn ty(label: &'static str) -> (DwAt, S) {
    (DW_AT_type, S::Entry(label))
}

pub fn name(text: &'static str) -> (DwAt, S) {
    (DW_AT_name, S::Text(text))
}

pub fn int() -> Part {
    base("int", DW_ATE_signed, 4)
}

pub fn byte() -> Part {
    base("u8", DW_ATE_unsigned, 1)
}

/// Returns a structure `T` of this size in bytes with these members.
pub fn structure(bytes: u64, members: Vec<Part>, more: Vec<Part>) -> Vec<Part> {
    let size = (DW_AT_byte_size, n(bytes));
    let ty = part(1, "T", DW_TAG_structure_type, &[name("T"), size]);
    [vec![ty], members, more].concat()
}

pub fn member(label: &'static str, of: &'static str, more: &[(DwAt, S)]) -> Part {
    let attributes = [&[name(label), ty(of)], more].concat();
    part(2, label, DW_TAG_member, &attributes)
}

/// Returns an array `T` of `of`, with a dimension.
fn array(of: &'static str, array: &[(DwAt, S)], dimension: &[(DwAt, S)], more: Part) -> Vec<Part> {
    let attributes = [&[ty(of)], array].concat();
    vec![
        part(1, "T", DW_TAG_array_type, &attributes),
        part(2, "dimension", DW_TAG_subrange_type, dimension),
        more,
    ]
}

const POINTERS: [(DwTag, bool); 3] = [
    (DW_TAG_pointer_type, false),
    (DW_TAG_reference_type, true),
    (DW_TAG_rvalue_reference_type, true),
];

const RECORDS: [DwTag; 4] = [
    DW_TAG_structure_type,
    DW_TAG_class_type,
    DW_TAG_union_type,
    DW_TAG_interface_type,
];

pub fn cases() -> Vec<Case> {
    [
        base_types(),
        fixed_point(),
        subranges_and_enumerations(),
        pointers(),
        arrays(),
        records(),
        bit_fields(),
        variants(),
        strings(),
        objects(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn base_types() -> Vec<Case> {
    let on = |attribute| (attribute, DW_TAG_base_type);
    let small = |bits, more: &[(DwAt, S)]| {
        let attributes = [
            &[
                (DW_AT_encoding, n(7)),
                (DW_AT_byte_size, n(1)),
                (DW_AT_bit_size, n(bits)),
            ],
            more,
        ];
        vec![part(1, "T", DW_TAG_base_type, &attributes.concat())]
    };
    let signed = |more: Part| vec![more];
    vec![
        // As a signed number, all ones are -1. Bits without a meaning are shown as bits.
        case(
            on(DW_AT_encoding),
            signed(base("T", DW_ATE_signed, 4)),
            &[0xff; 4],
            "-1",
            "0xffffffff",
        ),
        // 0x0102 = 258.
        case(
            on(DW_AT_byte_size),
            signed(base("T", DW_ATE_signed, 2)),
            &[2, 1, 9, 9],
            "258",
            None,
        ),
        // 0xe3 = 0b111_00011: the low five bits are 3.
        case(on(DW_AT_bit_size), small(5, &[]), &[0xe3], "3", "227"),
        // 0xb6 = 0b101_101_10: bits 2 to 4 are 0b101 = 5; bits 0 to 2 are 0b110 = 6.
        case(
            on(DW_AT_data_bit_offset),
            small(3, &[(DW_AT_data_bit_offset, n(2))]),
            &[0xb6],
            "5",
            "6",
        ),
        // Counted from the highest bit of the byte, the offset is 8 - 3 - 3 = 2, so the bits are the same.
        case(
            on(DW_AT_bit_offset),
            small(3, &[(DW_AT_bit_offset, n(3))]),
            &[0xb6],
            "5",
            "6",
        ),
        // 0x01020304 and 0x04030201.
        case(
            on(DW_AT_endianity),
            signed(base("T", DW_ATE_signed, 4).with(DW_AT_endianity, n(1))),
            &[1, 2, 3, 4],
            "16909060",
            "67305985",
        ),
        // The value is 5 + 10.
        case(
            on(DW_AT_GNU_bias),
            signed(base("T", DW_ATE_unsigned, 1).with(DW_AT_GNU_bias, n(10))),
            &[5],
            "15",
            "5",
        ),
        // Two elements of four bytes (HET A.5.1).
        case(
            on(DwAt(0x3e13)),
            signed(base("T", DW_ATE_signed, 4).with(DwAt(0x3e13), n(2))),
            &[1, 0, 0, 0, 2, 0, 0, 0],
            "{1, 2}",
            "1",
        ),
    ]
}

/// Returns the cases of fixed-point numbers. 0x0180 = 384 is 1.5 in units of 2^-8, 3.84 in units of 10^-2, and 128 in units of 1/3.
fn fixed_point() -> Vec<Case> {
    let on = |attribute| (attribute, DW_TAG_base_type);
    let fixed = |scale: (DwAt, S)| base("T", DW_ATE_signed_fixed, 2).with(scale.0, scale.1);
    let small = part(
        1,
        "small",
        DW_TAG_constant,
        &[(DW_AT_GNU_numerator, n(1)), (DW_AT_GNU_denominator, n(3))],
    );
    let bytes = [0x80, 1];
    vec![
        case(
            on(DW_AT_binary_scale),
            vec![fixed((DW_AT_binary_scale, S::Signed(-8)))],
            &bytes,
            "1.5",
            "384",
        ),
        case(
            on(DW_AT_decimal_scale),
            vec![fixed((DW_AT_decimal_scale, S::Signed(-2)))],
            &bytes,
            "3.84",
            "384",
        ),
        case(
            on(DW_AT_small),
            vec![fixed((DW_AT_small, S::Entry("small"))), small],
            &bytes,
            "128",
            "384",
        ),
    ]
}

fn subranges_and_enumerations() -> Vec<Case> {
    let range = |more: &[(DwAt, S)]| part(1, "T", DW_TAG_subrange_type, more);
    let in_subrange = |attribute| (attribute, DW_TAG_subrange_type);
    let size = (DW_AT_byte_size, n(1));
    let unsigned = base("unsigned", DW_ATE_unsigned, 4);
    let named = |attributes: &[(DwAt, S)]| {
        let ty = part(1, "T", DW_TAG_enumeration_type, attributes);
        let five = [name("FIVE"), (DW_AT_const_value, n(5))];
        let three = [name("THREE"), (DW_AT_const_value, n(3))];
        vec![
            ty,
            part(2, "FIVE", DW_TAG_enumerator, &five),
            part(2, "THREE", DW_TAG_enumerator, &three),
            base("signed char", DW_ATE_signed, 1),
            int(),
        ]
    };
    vec![
        // One byte of the type's four is 5. All four are 0x105 = 261.
        case(
            in_subrange(DW_AT_byte_size),
            vec![range(&[ty("unsigned"), size.clone()]), unsigned.clone()],
            &[5, 1, 0, 0],
            "5",
            "261",
        ),
        case(
            in_subrange(DW_AT_bit_size),
            vec![range(&[ty("u8"), (DW_AT_bit_size, n(5))]), byte()],
            &[0xe3],
            "3",
            "227",
        ),
        // gcc's output for `type T is range 100 .. 110` with `for T'Size use 4`: 100 is stored as 0.
        case(
            in_subrange(DW_AT_GNU_bias),
            vec![range(&[ty("u8"), (DW_AT_GNU_bias, n(100))]), byte()],
            &[5],
            "105",
            "5",
        ),
        // Without a type it is a signed integer (DWARF 5 §5.13).
        case(
            in_subrange(DW_AT_type),
            vec![range(&[ty("u8"), size.clone()]), byte()],
            &[0xff],
            "255",
            "-1",
        ),
        // One byte is 5. Four bytes are 0x105, which is no enumerator.
        case(
            (DW_AT_byte_size, DW_TAG_enumeration_type),
            named(&[ty("int"), size.clone()]),
            &[5, 1, 0, 0],
            "FIVE",
            "261",
        ),
        case(
            (DW_AT_type, DW_TAG_enumeration_type),
            named(&[ty("signed char"), size]),
            &[0xff],
            "-1",
            "255",
        ),
        // Without numbers there are no names. gdb treats an empty enumeration as flags.
        case(
            (DW_AT_const_value, DW_TAG_enumerator),
            named(&[ty("int")]),
            &[5, 0, 0, 0],
            "FIVE",
            "(unknown: 0x5)",
        ),
    ]
}

fn pointers() -> Vec<Case> {
    let mut cases = Vec::new();
    for (tag, is_reference) in POINTERS {
        let pointer = |more: &[(DwAt, S)]| {
            let attributes = [&[ty("int")], more].concat();
            vec![part(1, "T", tag, &attributes), int()]
        };
        let texts = |[plain, reference]: [&'static str; 2]| match is_reference {
            true => reference,
            false => plain,
        };
        let bytes = [0x10, 0, 0, 0, 1, 0, 0, 0];
        let default = texts(["0x100000010", "@0x100000010"]);
        // The pointer has four of the eight bytes.
        cases.push(case(
            (DW_AT_byte_size, tag),
            pointer(&[(DW_AT_byte_size, n(4))]),
            &bytes,
            texts(["0x10", "@0x10"]),
            default,
        ));
        // Space 3 is local, whose addresses have 32 bits (USAGE "Address Space Identifier").
        for attribute in [DW_AT_address_class, DwAt(0x3e10)] {
            cases.push(case(
                (attribute, tag),
                pointer(&[(attribute, n(3))]),
                &bytes,
                texts(["local#0x10", "@local#0x10"]),
                default,
            ));
        }
        // The pointer was optimized away, and points to a constant that was optimized away too.
        let constant = part(
            2,
            "x",
            DW_TAG_variable,
            &[name("x"), ty("int"), (DW_AT_const_value, n(42))],
        );
        let parts = [
            vec![constant],
            vec![variable_at(&implicit_pointer())],
            pointer(&[]),
        ]
        .concat();
        cases.push(Case {
            attribute: DW_AT_type,
            tag,
            parts,
            bytes: bytes.to_vec(),
            with: texts(["(int *) → 42", "(int &) → 42"]),
            without: Some(texts(["(void *) → void", "(void &) → void"])),
        });
    }
    for case in &mut cases {
        let is_rvalue = case.tag == DW_TAG_rvalue_reference_type;
        if is_rvalue && case.attribute == DW_AT_type {
            (case.with, case.without) = ("(int &&) → 42", Some("(void &&) → void"));
        }
    }
    // The member y is 4 bytes into C.
    cases.push(case(
        (DW_AT_containing_type, DW_TAG_ptr_to_member_type),
        member_pointer(&[]),
        &[4, 0, 0, 0, 0, 0, 0, 0],
        "&C::y",
        "4",
    ));
    cases
}

/// Returns the type `int C::*`, where y is 4 bytes into C.
pub fn member_pointer(more: &[(DwAt, S)]) -> Vec<Part> {
    let attributes = [
        ty("int"),
        (DW_AT_byte_size, n(8)),
        (DW_AT_containing_type, S::Entry("C")),
    ];
    vec![
        part(
            1,
            "T",
            DW_TAG_ptr_to_member_type,
            &[&attributes, more].concat(),
        ),
        part(
            1,
            "C",
            DW_TAG_class_type,
            &[name("C"), (DW_AT_byte_size, n(8))],
        ),
        member("x", "int", &[]),
        member("y", "int", &[(DW_AT_data_member_location, n(4))]),
        int(),
    ]
}

/// Returns `DW_OP_implicit_pointer` to the first entry in the function, at offset 0.
fn implicit_pointer() -> Vec<u8> {
    let mut expression = vec![0xa0];
    expression.extend(super::shapes::FIRST_IN_FUNCTION.to_le_bytes());
    expression.push(0);
    expression
}

fn arrays() -> Vec<Case> {
    let count = |count| (DW_AT_count, n(count));
    let on_array = |attribute| (attribute, DW_TAG_array_type);
    let on_range = |attribute| (attribute, DW_TAG_subrange_type);
    let words = |values: &[u32]| -> Vec<u8> {
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect()
    };
    let two = |more: &[(DwAt, S)], dimension: &[(DwAt, S)]| {
        let dimension = [&[count(2)], dimension].concat();
        array("int", more, &dimension, int())
    };
    let nibbles = |more: &[(DwAt, S)], dimension: &[(DwAt, S)]| {
        let dimension = [&[count(2)], dimension].concat();
        array("u8", more, &dimension, byte())
    };
    // The index type of the array is an enumeration of two.
    let by_name = |more: (DwAt, S), of: &'static str, element: Part| {
        vec![
            part(1, "T", DW_TAG_array_type, &[ty(of)]),
            part(2, "index", DW_TAG_enumeration_type, &[more]),
            part(
                3,
                "A",
                DW_TAG_enumerator,
                &[name("A"), (DW_AT_const_value, n(0))],
            ),
            part(
                3,
                "B",
                DW_TAG_enumerator,
                &[name("B"), (DW_AT_const_value, n(1))],
            ),
            element,
        ]
    };
    let mut matrix = array("int", &[(DW_AT_ordering, n(1))], &[count(2)], int());
    matrix.insert(2, part(2, "columns", DW_TAG_subrange_type, &[count(3)]));
    let apart = words(&[1, 9, 2, 9]);
    let bounds = |bounds: &[(DwAt, S)]| array("int", &[], bounds, int());
    let characters = array(
        "char",
        &[(DW_AT_GNU_vector, S::Flag)],
        &[count(2)],
        base("char", DW_ATE_signed_char, 1),
    );
    let (byte_stride, bit_stride) = ((DW_AT_byte_stride, n(8)), (DW_AT_bit_stride, n(4)));
    vec![
        case(
            on_array(DW_AT_type),
            two(&[], &[]),
            &words(&[1, 2]),
            "{1, 2}",
            None,
        ),
        // The elements are every second word, and every half byte: 0x21 is 1 and 2.
        case(
            on_array(DW_AT_byte_stride),
            two(std::slice::from_ref(&byte_stride), &[]),
            &apart,
            "{1, 2}",
            "{1, 9}",
        ),
        case(
            on_array(DW_AT_bit_stride),
            nibbles(std::slice::from_ref(&bit_stride), &[]),
            &[0x21, 0x43],
            "{1, 2}",
            "{33, 67}",
        ),
        case(
            on_range(DW_AT_byte_stride),
            two(&[], std::slice::from_ref(&byte_stride)),
            &apart,
            "{1, 2}",
            "{1, 9}",
        ),
        case(
            on_range(DW_AT_bit_stride),
            nibbles(&[], std::slice::from_ref(&bit_stride)),
            &[0x21, 0x43],
            "{1, 2}",
            "{33, 67}",
        ),
        case(
            (DW_AT_byte_stride, DW_TAG_enumeration_type),
            by_name(byte_stride, "int", int()),
            &apart,
            "{1, 2}",
            "{1, 9}",
        ),
        case(
            (DW_AT_bit_stride, DW_TAG_enumeration_type),
            by_name(bit_stride, "u8", byte()),
            &[0x21, 0x43],
            "{1, 2}",
            "{33, 67}",
        ),
        // The first index of A[2][3] varies fastest, so there are three columns of two.
        case(
            on_array(DW_AT_ordering),
            matrix,
            &words(&[1, 2, 3, 4, 5, 6]),
            "{{1, 2}, {3, 4}, {5, 6}}",
            "{{1, 2, 3}, {4, 5, 6}}",
        ),
        case(
            on_array(DW_AT_GNU_vector),
            characters,
            b"ab",
            "{97, 98}",
            "\"ab\"",
        ),
        // The bytes after the elements also belong to the object.
        case(
            on_array(DW_AT_byte_size),
            two(&[(DW_AT_byte_size, n(12))], &[]),
            &words(&[1, 2, 3]),
            "{1, 2}",
            "{1, 2}",
        ),
        case(
            on_array(DW_AT_bit_size),
            two(&[(DW_AT_bit_size, n(96))], &[]),
            &words(&[1, 2, 3]),
            "{1, 2}",
            "{1, 2}",
        ),
        // The indices are 1 to 3 with the attribute, and 0 to 3 without.
        case(
            on_range(DW_AT_lower_bound),
            bounds(&[(DW_AT_lower_bound, n(1)), (DW_AT_upper_bound, n(3))]),
            &words(&[1, 2, 3, 4]),
            "{1, 2, 3}",
            "{1, 2, 3, 4}",
        ),
        case(
            on_range(DW_AT_upper_bound),
            bounds(&[(DW_AT_upper_bound, n(1))]),
            &words(&[1, 2]),
            "{1, 2}",
            None,
        ),
        case(
            on_range(DW_AT_count),
            bounds(&[count(2)]),
            &words(&[1, 2]),
            "{1, 2}",
            None,
        ),
    ]
}

fn records() -> Vec<Case> {
    let mut cases = Vec::new();
    for tag in RECORDS {
        for (attribute, size) in [(DW_AT_byte_size, 4), (DW_AT_bit_size, 32)] {
            let parts = vec![
                part(1, "T", tag, &[name("T"), (attribute, n(size))]),
                member("a", "int", &[]),
                int(),
            ];
            cases.push(case(
                (attribute, tag),
                parts,
                &[1, 0, 0, 0],
                "{a = 1}",
                None,
            ));
        }
    }
    let at_4 = [(DW_AT_data_member_location, n(4))];
    let bytes = [1, 0, 0, 0, 2, 0, 0, 0];
    // The base class has one member, and is at offset 4.
    let class = |more: &[(DwAt, S)]| {
        let base = part(2, "base", DW_TAG_inheritance, &[&[ty("B")], more].concat());
        let class = part(
            1,
            "B",
            DW_TAG_structure_type,
            &[name("B"), (DW_AT_byte_size, n(4))],
        );
        structure(8, vec![base], vec![class, member("x", "int", &[]), int()])
    };
    cases.extend([
        case(
            (DW_AT_data_member_location, DW_TAG_member),
            structure(8, vec![member("b", "int", &at_4)], vec![int()]),
            &bytes,
            "{b = 2}",
            "{b = 1}",
        ),
        case(
            (DW_AT_data_member_location, DW_TAG_inheritance),
            class(&at_4),
            &bytes,
            "{<B> = {x = 2}, <No data fields>}",
            "{<B> = {x = 1}, <No data fields>}",
        ),
        case(
            (DW_AT_type, DW_TAG_inheritance),
            class(&[]),
            &bytes,
            "{<B> = {x = 1}, <No data fields>}",
            "{<(anonymous)> = void, <No data fields>}",
        ),
        case(
            (DW_AT_type, DW_TAG_member),
            structure(4, vec![member("a", "int", &[])], vec![int()]),
            &bytes,
            "{a = 1}",
            "{a = void}",
        ),
    ]);
    cases
}

fn bit_fields() -> Vec<Case> {
    let on = |attribute| (attribute, DW_TAG_member);
    let field = |of: &'static str, more: &[(DwAt, S)], ty: Part| {
        structure(4, vec![member("f", of, more)], vec![ty])
    };
    let size = (DW_AT_bit_size, n(3));
    let wide = [
        (DW_AT_byte_size, n(2)),
        (DW_AT_bit_size, n(4)),
        (DW_AT_bit_offset, n(8)),
    ];
    vec![
        // 0xfd = 0b11111_101.
        case(
            on(DW_AT_bit_size),
            field("u8", std::slice::from_ref(&size), byte()),
            &[0xfd, 0, 0, 0],
            "{f = 5}",
            "{f = 253}",
        ),
        // 0xb6 = 0b101_101_10, as above.
        case(
            on(DW_AT_data_bit_offset),
            field("u8", &[size.clone(), (DW_AT_data_bit_offset, n(2))], byte()),
            &[0xb6, 0, 0, 0],
            "{f = 5}",
            "{f = 6}",
        ),
        case(
            on(DW_AT_bit_offset),
            field("u8", &[size, (DW_AT_bit_offset, n(3))], byte()),
            &[0xb6, 0, 0, 0],
            "{f = 5}",
            "{f = 6}",
        ),
        // Counted from the top of two bytes, the four bits start at the eighth: bits 4 to 7 of 0xcdab, which are 0xa. In four bytes, they
        // are bits 20 to 23 of 0x0012cdab, which are 1.
        case(
            on(DW_AT_byte_size),
            field("unsigned", &wide, base("unsigned", DW_ATE_unsigned, 4)),
            &[0xab, 0xcd, 0x12, 0],
            "{f = 10}",
            "{f = 1}",
        ),
    ]
}

/// Returns the cases of `enum { None, Some(int) }` as rustc describes it: a tag of 0 or 1, and the number at offset 4.
fn variants() -> Vec<Case> {
    let shape = |some: (DwAt, S)| {
        let size = (DW_AT_byte_size, n(8));
        let tag = [ty("u8"), (DW_AT_artificial, S::Flag)];
        vec![
            part(1, "T", DW_TAG_structure_type, &[name("T"), size.clone()]),
            part(
                2,
                "part",
                DW_TAG_variant_part,
                &[(DW_AT_discr, S::Entry("tag"))],
            ),
            part(3, "tag", DW_TAG_member, &tag),
            part(3, "none", DW_TAG_variant, &[]),
            part(4, "n", DW_TAG_member, &[name("None"), ty("None")]),
            part(3, "some", DW_TAG_variant, &[some]),
            part(4, "s", DW_TAG_member, &[name("Some"), ty("Some")]),
            part(
                2,
                "None",
                DW_TAG_structure_type,
                &[name("None"), size.clone()],
            ),
            part(2, "Some", DW_TAG_structure_type, &[name("Some"), size]),
            part(
                3,
                "0",
                DW_TAG_member,
                &[name("__0"), ty("int"), (DW_AT_data_member_location, n(4))],
            ),
            byte(),
            int(),
        ]
    };
    let bytes = [1, 0, 0, 0, 5, 0, 0, 0];
    vec![
        case(
            (DW_AT_discr_value, DW_TAG_variant),
            shape((DW_AT_discr_value, n(1))),
            &bytes,
            "Some(5)",
            "None",
        ),
        // The discriminants are the label 7 and the range 1 to 3 (DWARF 5 §5.7.10).
        case(
            (DW_AT_discr_list, DW_TAG_variant),
            shape((DW_AT_discr_list, S::Block(vec![0, 7, 1, 1, 3]))),
            &bytes,
            "Some(5)",
            "None",
        ),
        case(
            (DW_AT_discr, DW_TAG_variant_part),
            shape((DW_AT_discr_value, n(1))),
            &bytes,
            "Some(5)",
            None,
        ),
    ]
}

fn strings() -> Vec<Case> {
    let on = |attribute| (attribute, DW_TAG_string_type);
    let string = |attributes: &[(DwAt, S)]| part(1, "T", DW_TAG_string_type, attributes);
    // The length is stored 8 bytes after the start of the characters.
    let length = |size: &[(DwAt, S)]| {
        let at = [&[0x03][..], &(ADDRESS + 8).to_le_bytes()].concat();
        let length = (DW_AT_string_length, S::Expression(at));
        vec![string(&[&[length], size].concat())]
    };
    let wide = base("char16_t", DW_ATE_UTF, 2);
    vec![
        case(
            on(DW_AT_byte_size),
            vec![string(&[(DW_AT_byte_size, n(3))])],
            b"abcd",
            "\"abc\"",
            None,
        ),
        case(
            on(DW_AT_bit_size),
            vec![string(&[(DW_AT_bit_size, n(24))])],
            b"abcd",
            "\"abc\"",
            None,
        ),
        // The text has two characters of two bytes, or four of one byte. Zeros at the end are not shown.
        case(
            on(DW_AT_type),
            vec![string(&[(DW_AT_byte_size, n(4)), ty("char16_t")]), wide],
            &[b'a', 0, b'b', 0],
            "u\"ab\"",
            "\"a\\000b\"",
        ),
        // Without a size, the length is as wide as an address.
        case(
            on(DW_AT_string_length),
            length(&[]),
            &[b'a', b'b', b'c', b'd', 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0],
            "\"abc\"",
            None,
        ),
        // One byte of the length is 2. Eight bytes are far more than the number of characters.
        case(
            on(DW_AT_string_length_byte_size),
            length(&[(DW_AT_string_length_byte_size, n(1))]),
            &[b'a', b'b', b'c', b'd', 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0],
            "\"ab\"",
            None,
        ),
        case(
            on(DW_AT_string_length_bit_size),
            length(&[(DW_AT_string_length_bit_size, n(8))]),
            &[b'a', b'b', b'c', b'd', 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0],
            "\"ab\"",
            None,
        ),
    ]
}

/// Returns the cases of variables whose own entries give the byte order.
fn objects() -> Vec<Case> {
    [DW_TAG_variable, DW_TAG_formal_parameter, DW_TAG_constant]
        .into_iter()
        .map(|tag| Case {
            attribute: DW_AT_endianity,
            tag,
            parts: vec![
                Part {
                    tag,
                    ..variable().with(DW_AT_endianity, n(1))
                },
                base("T", DW_ATE_signed, 4),
            ],
            bytes: vec![1, 2, 3, 4],
            with: "16909060",
            without: Some("67305985"),
        })
        .collect()
}
