use super::*;

#[test]
fn integers_print_in_decimal() {
    let mut types = Types::default();
    // int i = -21; unsigned u = 4000000000u; long l = -5000000000; unsigned long ul = -1ul;
    let ty = types.int();
    assert_eq!(types.print(ty, &(-21i32).to_le_bytes()), "-21");
    let ty = types.base("unsigned int", BaseTypeEncoding::Unsigned, 32);
    assert_eq!(
        types.print(ty, &4_000_000_000u32.to_le_bytes()),
        "4000000000"
    );
    let ty = types.base("long", BaseTypeEncoding::Signed, 64);
    assert_eq!(
        types.print(ty, &(-5_000_000_000i64).to_le_bytes()),
        "-5000000000"
    );
    let ty = types.base("unsigned long", BaseTypeEncoding::Unsigned, 64);
    assert_eq!(types.print(ty, &[0xff; 8]), "18446744073709551615");
    // __int128 i128 = -((__int128)1 << 100); unsigned __int128 u128 = ~(unsigned __int128)0;
    let ty = types.base("__int128", BaseTypeEncoding::Signed, 128);
    let text = "-1267650600228229401496703205376";
    assert_eq!(types.print(ty, &(-(1i128 << 100)).to_le_bytes()), text);
    let ty = types.base("unsigned __int128", BaseTypeEncoding::Unsigned, 128);
    let text = "340282366920938463463374607431768211455";
    assert_eq!(types.print(ty, &[0xff; 16]), text);
}

#[test]
fn an_integer_has_as_many_bits_as_its_type_says() {
    let mut types = Types::default();
    // _BitInt(17): 0x1ffff is -1, 0x0ffff is 65535; the padding above bit 16 does not count.
    let ty = types.base("_BitInt(17)", BaseTypeEncoding::Signed, 17);
    assert_eq!(types.print(ty, &[0xff, 0xff, 0x01, 0x00]), "-1");
    assert_eq!(types.print(ty, &[0xff, 0xff, 0xfe, 0xff]), "65535");
    let ty = types.base("unsigned _BitInt(3)", BaseTypeEncoding::Unsigned, 3);
    assert_eq!(types.print(ty, &[0xfd]), "5");
    // Wider than any type of C: printed as bits.
    let ty = types.base("_BitInt(200)", BaseTypeEncoding::Signed, 200);
    let mut bytes = [0; 32];
    bytes[24] = 0x0a;
    assert_eq!(types.print(ty, &bytes), format!("0xa{}", "0".repeat(48)));
}

#[test]
fn truth_values_have_names_and_anything_else_is_invalid() {
    let mut types = Types::default();
    // bool bt = true, bf = false; union { unsigned char x; bool b; } b2 = { .x = 2 };
    let ty = types.base("_Bool", BaseTypeEncoding::Boolean, 8);
    assert_eq!(types.print(ty, &[1]), "true");
    assert_eq!(types.print(ty, &[0]), "false");
    assert_eq!(types.print(ty, &[2]), "<invalid bool 2>");
}

#[test]
fn values_without_bits_are_the_name_of_their_type() {
    let mut types = Types::default();
    let unit = types.base("()", BaseTypeEncoding::Unsigned, 0);
    assert_eq!(types.print(unit, &[]), "()");
    let unknown = types.base("unknown_type", BaseTypeEncoding::Float, 0);
    assert_eq!(types.print(unknown, &[]), "unknown_type");
}

#[test]
fn characters_print_as_c_writes_them() {
    let mut types = Types::default();
    let ty = types.char();
    let cases = [
        (b'a', "'a'"),
        (b'\n', "'\\n'"),
        (0, "'\\000'"),
        (b'\'', "'\\''"),
        (b'"', "'\"'"),
        (b'\\', "'\\\\'"),
        (27, "'\\033'"),
        (127, "'\\177'"),
        (0xff, "'\\377'"),
    ];
    for (byte, text) in cases {
        assert_eq!(types.print(ty, &[byte]), text);
    }
    // unsigned char uc = 200;
    let ty = types.base("unsigned char", BaseTypeEncoding::UnsignedChar, 8);
    assert_eq!(types.print(ty, &[200]), "'\\310'");
}

#[test]
fn wide_characters_have_a_prefix() {
    let mut types = Types::default();
    // char16_t c16 = u'\u00e9'; char32_t c32 = U'\U0001F600'; char8_t c8 = u8'a';
    let ty = types.base("char16_t", BaseTypeEncoding::Utf, 16);
    assert_eq!(types.print(ty, &0xe9u16.to_le_bytes()), "u'é'");
    let ty = types.base("char32_t", BaseTypeEncoding::Utf, 32);
    assert_eq!(types.print(ty, &0x1f600u32.to_le_bytes()), "U'😀'");
    let ty = types.base("char8_t", BaseTypeEncoding::Utf, 8);
    assert_eq!(types.print(ty, b"a"), "'a'");
    // In C `typedef int wchar_t; typedef unsigned short char16_t;`, here after a qualifier:
    // const wchar_t wc = L'a'; char16_t c1 = u'\'';
    for (name, encoding, bit_size, text) in [
        ("wchar_t", BaseTypeEncoding::Signed, 32, "L'a'"),
        ("char16_t", BaseTypeEncoding::Unsigned, 16, "u'a'"),
        ("char32_t", BaseTypeEncoding::Unsigned, 32, "U'a'"),
        ("size_t", BaseTypeEncoding::Unsigned, 32, "97"),
    ] {
        let integer = types.base("integer", encoding, bit_size);
        let ty = types.add(Some(name), None, TypeKind::Typedef(integer));
        let ty = types.add(None, None, TypeKind::Qualified(Qualifier::Const, ty));
        assert_eq!(types.print(ty, &[97, 0, 0, 0]), text);
    }
}

#[test]
fn floats_have_the_fewest_digits_and_the_exponent_of_gdb() {
    let mut types = Types::default();
    let ty = types.float();
    // gdb: 0.100000001, 1.5, -1.5, 1e+09, 123456792, 9.99999975e-06, 9.99999975e-05, -0, 16777216,
    // 1.00000002e+20, 300000000, 0.000123456775, 3.40282347e+38, 1.17549435e-38
    let cases = [
        (0.1f32, "0.1"),
        (1.5, "1.5"),
        (-1.5, "-1.5"),
        (1e9, "1e+09"),
        (123_456_789.0, "123456792"),
        (1e-5, "1e-05"),
        (0.0001, "0.0001"),
        (-0.0, "-0"),
        (16_777_216.0, "16777216"),
        (1e20, "1e+20"),
        (3e8, "300000000"),
        (0.000_123_456_78, "0.00012345678"),
        (f32::MAX, "3.4028235e+38"),
        (f32::MIN_POSITIVE, "1.1754944e-38"),
        (12345.678, "12345.678"),
    ];
    for (value, text) in cases {
        assert_eq!(types.print(ty, &value.to_le_bytes()), text);
    }
    let ty = types.base("double", BaseTypeEncoding::Float, 64);
    // gdb: 0.10000000000000001, 10000000000000000, 1e+17, 1.0000000000000001e-05,
    // 4.9406564584124654e-324, 9007199254740992, 1e+22, 2.5000000000000002e-10
    let cases = [
        (0.1f64, "0.1"),
        (1e16, "10000000000000000"),
        (1e17, "1e+17"),
        (1e-5, "1e-05"),
        (5e-324, "5e-324"),
        (9_007_199_254_740_993.0, "9007199254740992"),
        (1e22, "1e+22"),
        (2.5e-10, "2.5e-10"),
        (-1e300, "-1e+300"),
    ];
    for (value, text) in cases {
        assert_eq!(types.print(ty, &value.to_le_bytes()), text);
    }
}

#[test]
fn what_is_no_number_shows_its_mantissa() {
    let mut types = Types::default();
    // float f8 = 1.0f / 0, f9 = -1.0f / 0, n1 = nanf(""), n2 = -nanf(""), n3 = nansf(""); double n4 = nan("");
    let ty = types.float();
    for (bits, text) in [
        (0x7f80_0000u32, "inf"),
        (0xff80_0000, "-inf"),
        (0x7fc0_0000, "nan(0x400000)"),
        (0xffc0_0000, "-nan(0x400000)"),
        (0x7fa0_0000, "nan(0x200000)"),
    ] {
        assert_eq!(types.print(ty, &bits.to_le_bytes()), text);
    }
    let ty = types.base("double", BaseTypeEncoding::Float, 64);
    let nan = 0x7ff8_0000_0000_0000u64;
    assert_eq!(types.print(ty, &nan.to_le_bytes()), "nan(0x8000000000000)");
    let ty = types.base("half", BaseTypeEncoding::Float, 16);
    assert_eq!(types.print(ty, &0x7e11u16.to_le_bytes()), "nan(0x211)");
}

#[test]
fn floats_of_16_bits_are_told_apart_by_name() {
    let mut types = Types::default();
    // _Float16 h1 = 0.1f16 (gdb: 0.099976), 1.5f16, 65504.f16, 0.00006103515625f16 (gdb: 6.1035e-05);
    // the nearest binary16 to 0.1 is 0x2e66.
    let ty = types.base("_Float16", BaseTypeEncoding::Float, 16);
    for (bits, text) in [
        (0x2e66u16, "0.1"),
        (0x3e00, "1.5"),
        (0x7bff, "65504"),
        (0x0400, "6.104e-05"),
        (0x0001, "6e-08"),
        (0xfc00, "-inf"),
    ] {
        assert_eq!(types.print(ty, &bits.to_le_bytes()), text);
    }
    // bfloat16 is the upper half of a float: 0x3dcd is 0.10009765625; 0x4f6e is 238 * 2^24, and 4e9 is closer to it than to 239 * 2^24.
    let ty = types.base("__bf16", BaseTypeEncoding::Float, 16);
    for (bits, text) in [(0x3dcdu16, "0.1"), (0x3fc0, "1.5"), (0x4f6e, "4e+09")] {
        assert_eq!(types.print(ty, &bits.to_le_bytes()), text);
    }
}

/// Returns true if the number with these bits is the nearest of its format to the parsed one. Differences of such numbers are exact.
///
/// * `number`: returns the number for bits. Adjacent bit patterns must be adjacent numbers.
fn is_nearest(read: f64, bits: u16, number: impl Fn(u16) -> f64) -> bool {
    let value = number(bits);
    if value.is_infinite() {
        return read == value;
    }
    let neighbours = [bits.wrapping_sub(1), bits.wrapping_add(1)].map(number);
    let is_further =
        |other: &f64| !other.is_finite() || (read - other).abs() >= (read - value).abs();
    neighbours.iter().all(is_further)
}

#[test]
fn every_float_of_16_bits_reads_back() {
    type Number = fn(u16) -> f64;
    let formats: [(_, Number); 2] = [
        (None, |bits| half::f16::from_bits(bits).to_f64()),
        (Some("__bf16"), |bits| half::bf16::from_bits(bits).to_f64()),
    ];
    for (name, number) in formats {
        for bits in (0..=u16::MAX).filter(|bits| !number(*bits).is_nan()) {
            let mut text = String::new();
            float::print(&mut text, float::format(16, name).unwrap(), bits.into()).unwrap();
            let read = text.parse().unwrap();
            assert!(is_nearest(read, bits, number), "{bits:#x}: {text}");
            let sign = bits >> 15 == 1;
            assert_eq!(f64::is_sign_negative(read), sign, "{bits:#x}: {text}");
        }
    }
}

#[test]
fn other_floats_and_encodings_show_their_bits() {
    let mut types = Types::default();
    // long double ld = 1.5L: x87, whose padding gcc leaves zero.
    let ty = types.base("long double", BaseTypeEncoding::Float, 128);
    let mut bytes = [0; 16];
    bytes[7] = 0xc0;
    bytes[8..10].copy_from_slice(&[0xff, 0x3f]);
    assert_eq!(
        types.print(ty, &bytes),
        "<128-bit float 0x3fffc000000000000000>"
    );
    // DW_ATE_decimal_float
    let ty = types.base("_Decimal32", BaseTypeEncoding::Other(0x0f), 32);
    assert_eq!(types.print(ty, &[1, 2, 0, 0]), "0x201");
    // _Complex float cf = 1.5f - 2.5if;
    let ty = types.base("complex float", BaseTypeEncoding::Other(0x03), 64);
    let bytes = [1.5f32.to_le_bytes(), (-2.5f32).to_le_bytes()].concat();
    assert_eq!(types.print(ty, &bytes), "1.5 + -2.5i");
    let ty = types.base("generic", BaseTypeEncoding::Generic, 64);
    assert_eq!(types.print(ty, &[0xfe, 0xff, 0, 0, 0, 0, 0, 0]), "65534");
}

#[test]
fn pointers_name_every_space_but_the_default_one() {
    let mut types = Types::default();
    // int *np = 0; void *vp = (void *)0x7f0000001000;
    let ty = types.pointer(PointerKind::Pointer, AddressSpace::None, 8);
    assert_eq!(types.print(ty, &[0; 8]), "0x0");
    assert_eq!(
        types.print(ty, &0x7f00_0000_1000u64.to_le_bytes()),
        "0x7f0000001000"
    );
    for (space, bytes, text) in [
        (
            AddressSpace::PrivateLane,
            vec![0x10, 0, 0, 0],
            "private_lane#0x10",
        ),
        (AddressSpace::Local, vec![0xff; 4], "local#0xffffffff"),
        (AddressSpace::Generic, vec![0; 8], "generic#0x0"),
        (AddressSpace::Region, vec![1, 0, 0, 0], "region#0x1"),
    ] {
        let ty = types.pointer(PointerKind::Pointer, space, bytes.len() as u64);
        assert_eq!(types.print(ty, &bytes), text);
    }
}

#[test]
fn references_have_an_at_sign() {
    let mut types = Types::default();
    // struct RR { int &r; int &&rr; } prints {r = @0x555555558010, rr = @0x555555558010}
    for kind in [PointerKind::Reference, PointerKind::RvalueReference] {
        let ty = types.pointer(kind, AddressSpace::None, 8);
        assert_eq!(
            types.print(ty, &0x5555_5555_8010u64.to_le_bytes()),
            "@0x555555558010"
        );
        let ty = types.pointer(kind, AddressSpace::PrivateLane, 4);
        assert_eq!(types.print(ty, &[4, 0, 0, 0]), "@private_lane#0x4");
    }
}

#[test]
fn pointers_to_members_name_the_member() {
    let mut types = Types::default();
    let int = types.int();
    let class = types.record("D", 8, vec![member("b", int, 0), member("z", int, 4)]);
    // int D::*mp = &D::z, D::*mpn = nullptr; one that points into a base class of another: gdb 24
    let target = int;
    let data = types.add(None, Some(8), TypeKind::MemberPointer { class, target });
    assert_eq!(types.print(data, &4u64.to_le_bytes()), "&D::z");
    assert_eq!(types.print(data, &[0xff; 8]), "NULL");
    assert_eq!(types.print(data, &24u64.to_le_bytes()), "24");
    // int (MI::*mmi)() = (int (MI::*)())&G::g: gdb `0x55555555513e <G::g()>, this adjustment 16`
    let function = TypeKind::Function {
        result: int,
        parameters: Vec::new(),
    };
    let target = types.add(None, None, function);
    let method = types.add(None, Some(16), TypeKind::MemberPointer { class, target });
    let words = |a: u64, b: u64| [a.to_le_bytes(), b.to_le_bytes()].concat();
    assert_eq!(types.print(method, &words(0x40_1136, 0)), "0x401136");
    let text = "0x55555555513e, this adjustment 16";
    assert_eq!(types.print(method, &words(0x5555_5555_513e, 16)), text);
    let text = "&virtual table offset 0, this adjustment 16";
    assert_eq!(types.print(method, &words(1, 16)), text);
    assert_eq!(types.print(method, &words(0, 0)), "NULL");
}

#[test]
fn enumerations_print_names_sums_of_flags_or_numbers() {
    let mut types = Types::default();
    let int = types.int();
    let unsigned = types.base("unsigned int", BaseTypeEncoding::Unsigned, 32);
    let print = |types: &Types, ty, value: i32| types.print(ty, &value.to_le_bytes());
    // enum C { RED = 1, GREEN = 7, BLUE = -3 } e1 = RED, e2 = BLUE, e3 = 5;
    let color = types.enumeration(int, &[("RED", 1), ("GREEN", 7), ("BLUE", -3)]);
    assert_eq!(print(&types, color, 1), "RED");
    assert_eq!(print(&types, color, -3), "BLUE");
    assert_eq!(print(&types, color, 5), "5");
    assert_eq!(print(&types, color, -2), "-2");
    // enum F { A = 1, B = 2, D = 4 }
    let flags = types.enumeration(unsigned, &[("A", 1), ("B", 2), ("D", 4)]);
    for (value, text) in [
        (1, "A"),
        (3, "(A | B)"),
        (8, "(unknown: 0x8)"),
        (9, "(A | unknown: 0x8)"),
        (0, "0"),
        (0x37, "(A | B | D | unknown: 0x30)"),
    ] {
        assert_eq!(print(&types, flags, value), text);
    }
    // enum F0 { N = 0, X = 1, Y = 2 } k0 = 0, k3 = 3;
    let flags = types.enumeration(unsigned, &[("N", 0), ("X", 1), ("Y", 2)]);
    assert_eq!(print(&types, flags, 0), "N");
    assert_eq!(print(&types, flags, 3), "(X | Y)");
    // enum M { MA = 1, MB = 6, MC = 8 } m1 = 7; enum OV2 { VA = 1, VB = 2, VAB = 3 } w3 = 3, w7 = 7;
    let names = types.enumeration(unsigned, &[("MA", 1), ("MB", 6), ("MC", 8)]);
    assert_eq!(print(&types, names, 7), "7");
    let names = types.enumeration(unsigned, &[("VA", 1), ("VB", 2), ("VAB", 3)]);
    assert_eq!(print(&types, names, 3), "VAB");
    assert_eq!(print(&types, names, 7), "7");
}

#[test]
fn only_the_bits_of_an_enumeration_are_compared() {
    let mut types = Types::default();
    // enum SS { PA = 0x80000000u, PB = 1 } ssv = PA; enum LL { LA = 0x8000000000000000ul } ll = LA;
    let unsigned = types.base("unsigned int", BaseTypeEncoding::Unsigned, 32);
    for value in [0x8000_0000, i128::from(i32::MIN)] {
        let ty = types.enumeration(unsigned, &[("PA", value), ("PB", 1)]);
        assert_eq!(types.print(ty, &[0, 0, 0, 0x80]), "PA");
    }
    let long = types.base("unsigned long", BaseTypeEncoding::Unsigned, 64);
    let ty = types.enumeration(long, &[("LA", i64::MIN.into())]);
    assert_eq!(types.print(ty, &(1u64 << 63).to_le_bytes()), "LA");
    // enum EB : bool { FF, TT } eb = TT;
    let bool = types.base("bool", BaseTypeEncoding::Boolean, 8);
    let ty = types.enumeration(bool, &[("FF", 0), ("TT", 1)]);
    assert_eq!(types.print(ty, &[1]), "TT");
    // enum Em {} e5 = (Em)5, e0 = (Em)0;
    let ty = types.enumeration(unsigned, &[]);
    assert_eq!(types.print(ty, &[5, 0, 0, 0]), "(unknown: 0x5)");
    assert_eq!(types.print(ty, &[0; 4]), "0");
}

#[test]
fn what_has_no_value_says_so() {
    let mut types = Types::default();
    let void = types.add(None, None, TypeKind::Void);
    assert_eq!(types.print(void, &[]), "void");
    let nullptr = types.add(Some("decltype(nullptr)"), None, TypeKind::Unspecified);
    // C++ [basic.fundamental]: the type has one value, whatever its bytes.
    assert_eq!(types.print(nullptr, &[1; 8]), "nullptr");
    let other = types.add(Some("void_t"), None, TypeKind::Unspecified);
    assert_eq!(types.print(other, &[0; 8]), "<unspecified type void_t>");
    let incomplete = TypeKind::Record {
        kind: RecordKind::Class,
        members: Vec::new(),
    };
    let incomplete = types.add(Some("Hidden"), None, incomplete);
    assert_eq!(types.print(incomplete, &[1, 2, 3]), "<incomplete type>");
    let array = types.array(incomplete, &[3]);
    assert_eq!(types.print(array, &[1, 2, 3]), "<incomplete type>");
    assert_eq!(types.print(TypeId(999), &[]), "void");
}

/// Negative numbers are the two's complement of their size: -600 + 2^16 = 0xfda8, and -2 in a bit-field of 3 bits is 6.
#[test]
fn integers_are_hexadecimal_on_request() {
    let mut types = Types::default();
    let options = Options {
        hexadecimal: true,
        ..Options::default()
    };
    let short = types.base("short", BaseTypeEncoding::Signed, 16);
    let wide = types.base("__int128", BaseTypeEncoding::Signed, 128);
    let boolean = types.base("bool", BaseTypeEncoding::Boolean, 8);
    let (int, char, float) = (types.int(), types.char(), types.float());
    let color = types.enumeration(int, &[("RED", 1)]);
    let pair = types.array(int, &[2]);
    let fields = vec![bits("f", int, 0, 3), member("s", short, 4)];
    let record = types.record("R", 8, fields);
    for (ty, bytes, expected) in [
        (short, (-600_i16).to_le_bytes().to_vec(), "0xfda8"),
        (int, ints([-1]), "0xffffffff"),
        (int, ints([0]), "0x0"),
        (
            wide,
            (1_u128 << 100).to_le_bytes().to_vec(),
            "0x10000000000000000000000000",
        ),
        (pair, ints([10, -1]), "{0xa, 0xffffffff}"),
        (
            record,
            vec![6, 0, 0, 0, 0xa8, 0xfd, 0, 0],
            "{f = 0x6, s = 0xfda8}",
        ),
        (char, vec![65], "'A'"),
        (boolean, vec![1], "true"),
        (color, ints([1]), "RED"),
        (float, 1.5_f32.to_le_bytes().to_vec(), "1.5"),
    ] {
        let value = TypedBytes::known(&bytes);
        assert_eq!(to_string(&types.table, ty, &value, &options), expected);
    }
}
