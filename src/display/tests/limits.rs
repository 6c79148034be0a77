use super::*;

#[test]
fn an_array_shows_two_hundred_elements() {
    let mut types = Types::default();
    let int = types.int();
    // int seq[250], onebig[201]: 0 to 199 and `...`; int imix[400]: a run counts as ten
    let ty = types.array(int, &[201]);
    let shown: Vec<String> = (0..200).map(|i| i.to_string()).collect();
    assert_eq!(
        types.print(ty, &ints(0..201)),
        format!("{{{}...}}", shown.join(", "))
    );
    let ty = types.array(int, &[400]);
    let imix = |j| if j / 15 % 2 == 1 { j } else { 77 };
    let text = types.print(ty, &ints((0..400).map(imix)));
    assert!(text.ends_with(", 77 <repeats 15 times>, 225, 226, 227, 228, 229, 230, 231, 232, 233, 234, 235, 236, 237, 238, 239...}"), "{text}");
    // int mat[50][50], two[300][2]: each dimension has a limit of its own
    let ty = types.array(int, &[50, 50]);
    assert!(types.print(ty, &ints(0..2500)).ends_with("2498, 2499}}"));
    let ty = types.array(int, &[300, 2]);
    let two = (0..300).flat_map(|i| [i, 0]);
    assert!(types.print(ty, &ints(two)).ends_with(", {199, 0}...}"));
}

#[test]
fn options_change_the_limits() {
    let mut types = Types::default();
    let (int, char) = (types.int(), types.char());
    let options = Options {
        max_elements: 3,
        repeats: 2,
        max_depth: 1,
        max_chars: 100,
        hexadecimal: false,
    };
    let print = |types: &Types, ty, bytes: &[u8]| {
        to_string(&types.table, ty, &TypedBytes::known(bytes), &options)
    };
    let ty = types.array(int, &[5]);
    assert_eq!(print(&types, ty, &ints(1..=5)), "{1, 2, 3...}");
    assert_eq!(
        print(&types, ty, &ints([1, 1, 1, 4, 5])),
        "{1 <repeats 3 times>, 4...}"
    );
    let ty = types.array(char, &[5]);
    assert_eq!(print(&types, ty, b"abcde"), "\"abc\"...");
    let ty = types.array(int, &[2, 2]);
    assert_eq!(print(&types, ty, &ints(1..=4)), "{{...}, {...}}");
    let ty = types.array(char, &[2, 2]);
    assert_eq!(print(&types, ty, b"abcd"), "{\"ab\", \"cd\"}");
}

#[test]
fn the_twenty_first_level_is_not_opened() {
    let mut types = Types::default();
    // struct Dp, 23 structures of one member called x: gdb opens 20
    let mut ty = types.int();
    for _ in 0..23 {
        ty = types.record("", 4, vec![member("x", ty, 0)]);
    }
    let text = format!("{}{{...}}{}", "{x = ".repeat(20), "}".repeat(20));
    assert_eq!(types.print(ty, &[0; 4]), text);
    // int dd[1]...[1], 23 dimensions
    let int = types.int();
    let ty = types.array(int, &[1; 23]);
    let text = format!("{}{{...}}{}", "{".repeat(20), "}".repeat(20));
    assert_eq!(types.print(ty, &[0; 4]), text);
}

#[test]
fn text_that_is_too_long_is_cut_between_characters() {
    let mut types = Types::default();
    let wide = types.base("char32_t", BaseTypeEncoding::Utf, 32);
    let ty = types.array(wide, &[3]);
    let bytes: Vec<u8> = "éèê"
        .chars()
        .flat_map(|c| u32::from(c).to_le_bytes())
        .collect();
    let print = |max_chars| {
        let options = Options {
            max_chars,
            ..Options::default()
        };
        to_string(&types.table, ty, &TypedBytes::known(&bytes), &options)
    };
    assert_eq!(print(6), "U\"éèê\"");
    assert_eq!(print(5), "U\"éèê...");
    assert_eq!(print(3), "U\"é...");
    assert_eq!(print(0), "...");
}

#[test]
fn types_that_contain_themselves_come_to_an_end() {
    let mut types = Types::default();
    let void = types.add(None, None, TypeKind::Void);
    // Eight members of its own type: 8^20 members without a limit on the text.
    let members = (0..8).map(|i| member(&format!("m{i}"), void, 0)).collect();
    let kind = RecordKind::Structure;
    let record = Type {
        name: None,
        byte_size: Some(4),
        kind: TypeKind::Record { kind, members },
    };
    types.table.set(void, record);
    let text = types.print(void, &[0; 4]);
    assert!(text.starts_with("{m0 = {m0 = {") && text.ends_with("..."));
    assert!(text.len() <= Options::default().max_chars + 3);

    let circle = types.add(None, None, TypeKind::Void);
    let other = types.add(None, None, TypeKind::Qualified(Qualifier::Const, circle));
    let name = Some("T".to_owned());
    let kind = TypeKind::Typedef(other);
    types.table.set(
        circle,
        Type {
            name,
            byte_size: None,
            kind,
        },
    );
    assert_eq!(types.print(circle, &[0; 4]), "<incomplete type>");
    let array = types.array(circle, &[3]);
    assert_eq!(types.print(array, &[0; 4]), "<incomplete type>");
    let kind = types.table.get(array).kind.clone();
    types.table.set(
        circle,
        Type {
            name: None,
            byte_size: None,
            kind,
        },
    );
    assert_eq!(types.print(array, &[0; 4]), "<incomplete type>");
}

#[test]
fn sizes_that_no_memory_has_do_no_harm() {
    let mut types = Types::default();
    let int = types.int();
    let char = types.char();
    let ty = types.array(int, &[u64::MAX]);
    let text = format!("{{1, 2, <unavailable> <repeats {} times>}}", u64::MAX - 2);
    assert_eq!(types.print(ty, &ints([1, 2])), text);
    let ty = types.array(int, &[1 << 40, 1 << 40, 1 << 40]);
    assert!(
        types
            .print(ty, &ints([1, 2]))
            .starts_with("{{{1, 2, <unavailable> <repeats ")
    );
    let ty = types.array(char, &[u64::MAX]);
    assert!(
        types
            .print(ty, b"ab")
            .starts_with("{'a', 'b', <unavailable> <repeats ")
    );
    let empty = types.record("E", 0, vec![]);
    let ty = types.array(empty, &[u64::MAX]);
    let text = format!("{{{{<No data fields>}} <repeats {} times>}}", u64::MAX);
    assert_eq!(types.print(ty, &[]), text);
    for (bit_size, elements) in [
        (u32::MAX, u32::MAX),
        (u32::MAX, 7),
        (32, 64),
        (0, 4),
        (0, 0),
    ] {
        for encoding in [
            BaseTypeEncoding::Float,
            BaseTypeEncoding::Signed,
            BaseTypeEncoding::Boolean,
            BaseTypeEncoding::Address,
        ] {
            let base = BaseType {
                encoding,
                bit_size,
                elements,
                address_space: AddressSpace::None,
            };
            let ty = types.add(None, Some(u64::MAX), TypeKind::Base(base));
            assert!(types.print(ty, &[0xff; 9]).len() < 10000);
        }
    }
    let void = TypeId(u32::MAX);
    let kind = TypeKind::MemberPointer {
        class: void,
        target: void,
    };
    for size in [0, 1, 17, u64::MAX] {
        let ty = types.add(None, Some(size), kind.clone());
        types.print(ty, &[1; 64]);
        let ty = types.pointer(PointerKind::Pointer, AddressSpace::Local, size);
        types.print(ty, &[1; 64]);
        let ty = types.add(None, Some(size), TypeKind::Unspecified);
        types.print(ty, &[1; 64]);
    }
}
