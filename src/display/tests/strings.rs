use super::*;

/// Returns an array of `char` of the size of its bytes.
fn text(bytes: &[u8]) -> String {
    let mut types = Types::default();
    let char = types.char();
    let ty = types.array(char, &[bytes.len() as u64]);
    types.print(ty, bytes)
}

/// Returns `bytes` padded with zeros to `size`.
fn padded(bytes: &[u8], size: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(size, 0);
    bytes
}

#[test]
fn one_zero_at_the_end_is_the_terminator() {
    // char s0[] = "abc", s1[8] = "abc", s2[100] = "abc", s3[3] = {'a', 'b', 'c'}, s13[1], s7[] = "\0011\377f";
    assert_eq!(text(b"abc\0"), r#""abc""#);
    assert_eq!(text(b"abc\0\0\0\0\0"), r#""abc\000\000\000\000""#);
    assert_eq!(
        text(&padded(b"abc", 100)),
        r#""abc", '\000' <repeats 96 times>"#
    );
    assert_eq!(text(b"abc"), r#""abc""#);
    assert_eq!(text(b"\0"), r#""""#);
    assert_eq!(text(b""), r#""""#);
    assert_eq!(text(b"\x011\xfff\0"), r#""\0011\377f""#);
    // char s11[5] = {0, 0, 'a', 0, 0}, s15[11], s12[12];
    assert_eq!(text(b"\0\0a\0\0"), r#""\000\000a\000""#);
    assert_eq!(text(&[0; 11]), format!("\"{}\"", "\\000".repeat(10)));
    assert_eq!(text(&[0; 12]), r"'\000' <repeats 11 times>");
}

#[test]
fn escapes_are_those_of_c() {
    // char s4[] = "a\nb\t\"q\"\\'\001\377z", oct[] = {1, '7', 0, '8', '\a', '\b', '\f', '\v', '\r', 127, 0};
    assert_eq!(
        text(b"a\nb\t\"q\"\\'\x01\xffz\0"),
        r#""a\nb\t\"q\"\\'\001\377z""#
    );
    assert_eq!(
        text(b"\x017\x008\x07\x08\x0c\x0b\r\x7f\0"),
        r#""\0017\0008\a\b\f\v\r\177""#
    );
}

#[test]
fn runs_of_one_character_are_counted() {
    // char s8[40] = "aaaaaaaaaaaaaaaaaaaabcd", s9[40] = "xyaaaaaaaaaaaaaaaaaaaab", s14[40] = "aaaaaaaaaaaaaaaaaaaa";
    let a = [b'a'; 20];
    assert_eq!(
        text(&padded(&[&a[..], b"bcd"].concat(), 40)),
        r#"'a' <repeats 20 times>, "bcd", '\000' <repeats 16 times>"#
    );
    assert_eq!(
        text(&padded(&[b"xy", &a[..], b"b"].concat(), 40)),
        r#""xy", 'a' <repeats 20 times>, "b", '\000' <repeats 16 times>"#
    );
    assert_eq!(
        text(&padded(&a, 40)),
        r"'a' <repeats 20 times>, '\000' <repeats 19 times>"
    );
    // Ten in a row are still written out.
    assert_eq!(text(&a[..10]), r#""aaaaaaaaaa""#);
    assert_eq!(text(&a[..11]), "'a' <repeats 11 times>");
    // gdb writes `''' <repeats 11 times>` and `'\"' <repeats 11 times>`, which are not C.
    assert_eq!(text(&[b'\''; 11]), r"'\'' <repeats 11 times>");
    assert_eq!(text(&[b'"'; 11]), r#"'"' <repeats 11 times>"#);
}

#[test]
fn a_long_string_is_cut_after_the_run_that_reaches_the_limit() {
    // char s10[250], filled with 'a' + j % 26; s5[300], filled with 'x'
    let letters: Vec<u8> = (0..250u8).map(|j| b'a' + j % 26).collect();
    let shown = String::from_utf8(letters[..200].to_vec()).unwrap();
    assert_eq!(text(&letters), format!("\"{shown}\"..."));
    assert_eq!(text(&letters[..200]), format!("\"{shown}\""));
    assert_eq!(text(&[b'x'; 300]), "'x' <repeats 300 times>");
    // char run[210], filled with 'a' + i % 3 and 'z' from 195 to 207
    let mut run: Vec<u8> = (0..210u8).map(|j| b'a' + j % 3).collect();
    run[195..208].fill(b'z');
    let shown = String::from_utf8(run[..195].to_vec()).unwrap();
    assert_eq!(
        text(&run),
        format!("\"{shown}\", 'z' <repeats 13 times>...")
    );
    // char run2[400], filled with 'a' + i % 3 and 'b' from 199 to 202: the run is not cut
    let mut run: Vec<u8> = (0..400u32).map(|j| b'a' + (j % 3) as u8).collect();
    run[199..203].fill(b'b');
    let shown = String::from_utf8(run[..203].to_vec()).unwrap();
    assert_eq!(text(&run), format!("\"{shown}\"..."));
    // char t[205], filled with "ab" and six zeros: their run begins before the limit
    let mut zeros: Vec<u8> = (0..205u8).map(|j| b'a' + j % 2).collect();
    zeros[199..].fill(0);
    let shown = String::from_utf8(zeros[..199].to_vec()).unwrap();
    assert_eq!(text(&zeros), format!("\"{shown}{}\"", "\\000".repeat(5)));
}

#[test]
fn rows_of_characters_are_strings() {
    // char ss[2][4] = {"ab", "cd"}; unsigned char and signed char are characters too:
    // uint8_t u8a[4] = {1, 2, 3, 4};
    let mut types = Types::default();
    let char = types.char();
    let ty = types.array(char, &[2, 4]);
    assert_eq!(types.print(ty, b"ab\0\0cd\0\0"), r#"{"ab\000", "cd\000"}"#);
    let byte = types.base("unsigned char", BaseTypeEncoding::UnsignedChar, 8);
    let byte = types.add(Some("uint8_t"), None, TypeKind::Typedef(byte));
    let ty = types.array(byte, &[4]);
    assert_eq!(types.print(ty, &[1, 2, 3, 4]), r#""\001\002\003\004""#);
}

#[test]
fn characters_in_a_vector_are_numbers() {
    // typedef char v4c __attribute__((vector_size(4))); v4c vc = {1, 'a', 3, 4};
    let mut types = Types::default();
    let char = types.char();
    let ty = types.sequence(char, &[4], true);
    assert_eq!(types.print(ty, &[1, b'a', 3, 4]), "{1, 97, 3, 4}");
}

#[test]
fn wide_strings_have_one_prefix() {
    let mut types = Types::default();
    let mut print = |name: &str, encoding, units: &[u32], size: u32| {
        let element = types.base(name, encoding, size);
        let ty = types.array(element, &[units.len() as u64]);
        let width = size as usize / 8;
        let bytes: Vec<u8> = units
            .iter()
            .flat_map(|u| u.to_le_bytes()[..width].to_vec())
            .collect();
        types.print(ty, &bytes)
    };
    // wchar_t ws[] = L"wide", ws[40] = L"abbbbbbbbbbbbbbbbc", wz[20];
    let wide: Vec<u32> = "wide\0".chars().map(u32::from).collect();
    assert_eq!(
        print("wchar_t", BaseTypeEncoding::Signed, &wide, 32),
        "L\"wide\""
    );
    let mut units = vec![u32::from('b'); 18];
    units[0] = u32::from('a');
    units[17] = u32::from('c');
    units.resize(40, 0);
    assert_eq!(
        print("wchar_t", BaseTypeEncoding::Signed, &units, 32),
        r#"L"a", 'b' <repeats 16 times>, "c", '\000' <repeats 21 times>"#
    );
    let zeros = [0; 20];
    let text = r"L'\000' <repeats 19 times>";
    assert_eq!(print("wchar_t", BaseTypeEncoding::Signed, &zeros, 32), text);
    // char16_t c16s[] = u"h\u00e9", cz[4] = {1, 0xd800, 'a', 0}; a pair of surrogates is one character
    let text = "u\"hé\"";
    assert_eq!(
        print("char16_t", BaseTypeEncoding::Utf, &[0x68, 0xe9, 0], 16),
        text
    );
    let text = r#"u"\001\xd800\141""#;
    assert_eq!(
        print("char16_t", BaseTypeEncoding::Utf, &[1, 0xd800, 0x61, 0], 16),
        text
    );
    assert_eq!(
        print("char16_t", BaseTypeEncoding::Utf, &[0xd83d, 0xde00, 0], 16),
        "u\"😀\""
    );
    // char32_t c32s[] = U"x\U0001F600", c32b[] = {0x110000, 'a', 0};
    assert_eq!(
        print("char32_t", BaseTypeEncoding::Utf, &[0x78, 0x1f600, 0], 32),
        "U\"x😀\""
    );
    let text = r#"U"\x110000\141""#;
    assert_eq!(
        print("char32_t", BaseTypeEncoding::Utf, &[0x11_0000, 0x61, 0], 32),
        text
    );
    // Invisible characters are escaped: a zero-width space.
    assert_eq!(
        print("char32_t", BaseTypeEncoding::Utf, &[0x200b, 0], 32),
        r#"U"\u200b""#
    );
}
