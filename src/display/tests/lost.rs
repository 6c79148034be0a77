#![expect(
    clippy::single_range_in_vec_init,
    reason = "a mask of one range is meant"
)]

use super::*;
impl Types {
    fn print_with(&self, ty: TypeId, bytes: &[u8], undefined: &Mask, missing: &Mask) -> String {
        let value = TypedBytes {
            bytes,
            undefined,
            unavailable: missing,
        };
        to_string(&self.table, ty, &value, &Options::default())
    }
}

/// Whole bytes as bits.
fn bytes(ranges: &[core::ops::Range<u64>]) -> Mask {
    ranges.iter().map(|r| r.start * 8..r.end * 8).collect()
}

#[test]
fn a_scalar_with_a_lost_bit_is_lost() {
    let mut types = Types::default();
    let int = types.int();
    let one = |bit| Mask::from_iter([bit..bit + 1]);
    let none = Mask::new();
    assert_eq!(
        types.print_with(int, &[0; 4], &one(31), &none),
        "<optimized out>"
    );
    assert_eq!(
        types.print_with(int, &[0; 4], &none, &one(0)),
        "<unavailable>"
    );
    assert_eq!(
        types.print_with(int, &[0; 4], &one(5), &one(0)),
        "<optimized out>"
    );
    assert_eq!(
        types.print_with(int, &[7, 0, 0, 0], &one(32), &one(33)),
        "7"
    );
    // Padding bits do not count as missing.
    let narrow = types.base("_BitInt(3)", BaseTypeEncoding::Signed, 3);
    assert_eq!(types.print_with(narrow, &[2], &one(3), &none), "2");
}

#[test]
fn a_part_that_is_lost_does_not_cost_the_rest() {
    let mut types = Types::default();
    let (int, char) = (types.int(), types.char());
    let short = types.base("short", BaseTypeEncoding::Signed, 16);
    // struct L { short h, z; int k; char s[4]; } l, of which gcc keeps h and k: gdb prints
    // {h = 3, z = <optimized out>, k = 1, s = {<optimized out>, <optimized out>, <optimized out>, <optimized out>}}
    let s = types.array(char, &[4]);
    let members = vec![
        member("h", short, 0),
        member("z", short, 2),
        member("k", int, 4),
        member("s", s, 8),
    ];
    let l = types.record("L", 12, members);
    let value = [3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    let none = Mask::new();
    let out = "<optimized out>";
    assert_eq!(
        types.print_with(l, &value, &bytes(&[2..4, 8..12]), &none),
        format!("{{h = 3, z = {out}, k = 1, s = {{{out}, {out}, {out}, {out}}}}}")
    );
    // struct { int a; struct { int b, c; } q; int d; } n, of which a and d are kept. The inner structure is completely lost, but gdb shows its
    // members.
    let q = types.record("", 8, vec![member("b", int, 0), member("c", int, 4)]);
    let members = vec![member("a", int, 0), member("q", q, 4), member("d", int, 12)];
    let n = types.record("", 16, members);
    assert_eq!(
        types.print_with(n, &ints([2, 0, 0, 4]), &bytes(&[4..12]), &none),
        format!("{{a = 2, q = {{b = {out}, c = {out}}}, d = 4}}")
    );
    assert_eq!(types.print_with(n, &[0; 16], &bytes(&[0..16]), &none), out);
    assert_eq!(
        types.print_with(n, &[0; 16], &none, &bytes(&[0..16])),
        "<unavailable>"
    );
}

#[test]
fn a_string_with_a_lost_character_prints_one_by_one() {
    let mut types = Types::default();
    let char = types.char();
    let ty = types.array(char, &[3]);
    let none = Mask::new();
    assert_eq!(
        types.print_with(ty, b"ab\0", &bytes(&[1..2]), &none),
        "{'a', <optimized out>, '\\000'}"
    );
    // The other row is still printed as a string.
    let ty = types.array(char, &[2, 3]);
    assert_eq!(
        types.print_with(ty, b"ab\0cd\0", &none, &bytes(&[0..1])),
        "{{<unavailable>, 'b', '\\000'}, \"cd\"}"
    );
}

#[test]
fn lost_elements_repeat_too_but_not_with_others() {
    let mut types = Types::default();
    let int = types.int();
    let ty = types.array(int, &[24]);
    let text = "{<optimized out> <repeats 11 times>, 0, <unavailable> <repeats 12 times>}";
    let (lost, missing) = (bytes(&[0..44]), bytes(&[48..96]));
    assert_eq!(types.print_with(ty, &[0; 96], &lost, &missing), text);
}

#[test]
fn bytes_that_were_not_given_are_unavailable() {
    let mut types = Types::default();
    let int = types.int();
    let p = types.record("P", 8, vec![member("x", int, 0), member("y", int, 4)]);
    assert_eq!(types.print(p, &ints([1])), "{x = 1, y = <unavailable>}");
    assert_eq!(
        types.print(p, &[1, 0, 0, 0, 2, 0, 0]),
        "{x = 1, y = <unavailable>}"
    );
    assert_eq!(types.print(p, &[]), "<unavailable>");
    let far = types.record("Far", 8, vec![bits("f", int, u64::MAX - 1, 32)]);
    assert_eq!(types.print(far, &[0; 8]), "{f = <unavailable>}");
}
