//! Lists expressions with their values in each lane.

use serde_json::Value;

use crate::{expressions, truth};

/// A lane of a stopped wave, and its true values.
struct Lane<'t> {
    id: i128,
    truth: &'t Value,
}

impl Lane<'_> {
    fn entry(&self, name: &str) -> &Value {
        let variables = self.truth["variables"].as_array().unwrap();
        let variable = variables.iter().find(|v| v["name"] == name).unwrap();
        let lanes = variable["lanes"].as_array().unwrap();
        lanes
            .iter()
            .find(|lane| lane["lane"] == u64::try_from(self.id).unwrap())
            .unwrap()
    }

    /// Returns an integer variable. If its value is unknown, its bytes are read as unsigned.
    fn int(&self, name: &str) -> i128 {
        let entry = self.entry(name);
        if let Some(text) = entry["value"].as_str() {
            return text.parse().unwrap();
        }
        let digits = entry["bytes"].as_str().unwrap();
        (0..digits.len()).step_by(2).rev().fold(0, |value, at| {
            value << 8 | i128::from(u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        })
    }

    /// Returns a floating-point variable.
    fn real(&self, name: &str) -> f64 {
        self.entry(name)["number"].as_f64().unwrap()
    }
}

/// An expression: its text, its type, its value in a lane, and the derivation of the value.
type Row = (
    &'static str,
    &'static str,
    fn(&Lane<'_>) -> String,
    &'static str,
);

fn text(value: impl ToString) -> String {
    value.to_string()
}

/// The argument `g` of the kernels of `structs`.
const G: [i128; 12] = [11, -3, 1_234_567, 99, 5, -77, 31, 8, 1000, -1, 4, 6];

fn g(index: i128) -> i128 {
    G[usize::try_from(index).unwrap()]
}

/// The argument `g` of the kernel of `pointers`.
fn longs(index: i128) -> i128 {
    [3, -4, 10 << 32, 6][usize::try_from(index).unwrap()]
}

/// The rows for `area(&recs[0], GREEN)` of structs.cl, after the loop. `fill(…, id, g)` makes `recs[0]`.
#[rustfmt::skip]
const AREA: &[Row] = &[
    ("r->x", "int", |l| text(g(l.id & 7)), "r->x = g[id & 7]"),
    ("(*r).x", "int", |l| text(g(l.id & 7)), "the same"),
    ("r->y[2] * 2", "float", |l| text(g(l.id & 7) * 2), "y[2] = (float)r->x"),
    ("r->y[0] + sum", "float", |l| text(l.id as f32 - 1.25 + g(l.id & 7) as f32), "id * 0.5 + (id * 0.5 - 1.25 + r->x)"),
    ("sum == r->y[0] + r->y[1] + r->y[2]", "int", |_| text(1), "that is what the loop adds"),
    ("r->y", "float[3]", |l| format!("{{{}, -1.25, {}}}", l.id as f64 * 0.5, g(l.id & 7)), "id * 0.5, -1.25, r->x"),
    ("r->y[0]@2", "float[2]", |l| format!("{{{}, -1.25}}", l.id as f64 * 0.5), "the first two"),
    ("*r->y", "float", |l| text(l.id as f64 * 0.5), "an array is a pointer to its first element"),
    ("r->col == want", "int", |l| text(l.id & 1), "GREEN where id is odd, and want is GREEN"),
    ("(int)r->col", "int", |l| text(if l.id & 1 == 1 { 7 } else { -3 }), "GREEN is 7, BLUE -3"),
    ("r->col", "Color", |l| text(if l.id & 1 == 1 { "GREEN" } else { "BLUE" }), "an enumeration has names"),
    ("GREEN - BLUE", "int", |_| text(10), "7 - -3, both promoted to int"),
    ("(Color)1", "Color", |_| text("RED"), "RED is 1"),
    ("r->big >> 33", "long", |l| text(l.id - 1), "(id << 33) - 5, and 0xff00 is below the bits that are left"),
    ("r->big & 0xffff", "long", |l| text(if l.id & 4 == 0 { 0xfffb } else { 0x00fb }), "-5 is …fffb; id & 4 flips 0xff00"),
    ("r->in.s / 7", "int", |l| text(l.id * -300 / 7), "s = id * -300; the quotient goes toward zero"),
    ("r->in.s % 7", "int", |l| text(l.id * -300 % 7), "and the remainder has the sign of s"),
    ("-r->in.u", "int", |l| text(-((250 + l.id) % 256)), "an unsigned char is an int before it is negated"),
    ("~r->in.u", "int", |l| text(!((250 + l.id) % 256)), "and before its bits are flipped"),
    ("r->in.c + 1", "int", |l| text(66 + (l.id & 15)), "c = 65 + (id & 15)"),
    ("r->in.c", "char", |l| format!("'{}'", char::from(u8::try_from(65 + (l.id & 15)).unwrap())), "a character"),
    ("sizeof(Rec)", "unsigned long", |_| text(32), "int 4, float[3] 12, Small 4, Color 4, long 8; long starts at 24"),
    ("sizeof r->y", "unsigned long", |_| text(12), "three floats"),
    ("sizeof(r->in) * 2 + sizeof(char)", "unsigned long", |_| text(9), "short, char, uchar are 4 bytes"),
    ("sizeof(Rec *)", "unsigned long", |_| text(8), "a pointer without an address space has 64 bits"),
    ("sizeof r", "unsigned long", |_| text(4), "r is a pointer to private memory, of 32 bits"),
    ("&r->big - (long *)r", "long", |_| text(3), "24 bytes are 3 longs"),
    ("(char *)&r->col - (char *)r", "long", |_| text(20), "after 4 + 12 + 4 bytes"),
    ("match ? r->x : -r->x", "int", |l| text(if l.id & 1 == 1 { g(l.id & 7) } else { -g(l.id & 7) }), "match = r->col == want"),
    ("r->col == RED || want == GREEN", "int", |_| text(1), "want is GREEN"),
    ("r->x > 0 && r->x < 100", "int", |l| text(i128::from((1..100).contains(&g(l.id & 7)))), "as it says"),
    ("r->x << 2 | 1", "int", |l| text(g(l.id & 7) << 2 | 1), "<< binds more tightly than |"),
    ("r->x & 1 == 1", "int", |l| text(g(l.id & 7) & 1), "== binds more tightly than &: x & (1 == 1)"),
    ("1 + r->x * 2 - 3", "int", |l| text(g(l.id & 7) * 2 - 2), "* binds more tightly than + and -"),
    ("r->x - 1 - 1", "int", |l| text(g(l.id & 7) - 2), "- goes from the left"),
    ("(unsigned)r->x > 5u", "int", |l| text(i128::from((g(l.id & 7) as u32) > 5)), "a negative number is a large one without its sign"),
    ("r->x < 6u", "int", |l| text(i128::from((g(l.id & 7) as u32) < 6)), "int and unsigned are compared as unsigned"),
    ("(short)r->x", "short", |l| text(g(l.id & 7) as i16), "the low 16 bits: 1234567 is 0x12d687, and 0xd687 -10617"),
    ("$_lane & 1 ? -1 : 1u", "unsigned int", |l| text(if l.id & 1 == 1 { u32::MAX } else { 1 }), "either operand has the common type (C17 §6.5.15)"),
    ("($_lane & 1 ? -1 : 1u) / 2", "unsigned int", |l| text(if l.id & 1 == 1 { u32::MAX / 2 } else { 0 }), "and is an operand of that type"),
    ("($_lane & 1 ? 1 : 2.5f) / 2", "float", |l| text(if l.id & 1 == 1 { 0.5 } else { 1.25 }), "the same with float"),
    ("$_lane", "int", |l| text(l.id), "work-item id is lane id here"),
];

/// The rows for the kernel of structs.cl, after both records are filled and `copy = recs[1].in`.
#[rustfmt::skip]
const RECORDS: &[Row] = &[
    ("recs[1].x", "int", |l| text(g(2 + ((l.id + 3) & 7))), "fill(&recs[1], id + 3, g + 2)"),
    ("recs[id & 1].x", "int", |l| text(if l.id & 1 == 1 { g(2 + ((l.id + 3) & 7)) } else { g(l.id & 7) }), "each lane takes its own element"),
    ("recs->x", "int", |l| text(g(l.id & 7)), "an array is a pointer to its first element"),
    ("(*(recs + 1)).y[0]", "float", |l| text((l.id + 3) as f64 * 0.5), "y[0] = (id + 3) * 0.5"),
    ("copy.s", "short", |l| text((l.id + 3) * -300), "recs[1].in.s = (id + 3) * -300"),
    ("recs[1].in.s == copy.s && recs[1].in.c == copy.c", "int", |_| text(1), "copy = recs[1].in"),
    ("&recs[1] - &recs[0]", "long", |_| text(1), "neighbours"),
    ("(char *)&recs[1] - (char *)recs", "long", |_| text(32), "a Rec has 32 bytes"),
    ("(char *)(&recs[1] - 1) - (char *)recs", "long", |_| text(0), "back by the 32 bytes of a Rec"),
    ("(long)((int *)64 - 3)", "long", |_| text(52), "64 - 3 * 4"),
    ("(long)((void *)64 + 3)", "long", |_| text(67), "GNU C: bytes"),
    ("(long)((int *)64 + 3)", "long", |_| text(76), "64 + 3 * 4"),
    ("(long)((int *)64 + (id < 99 ? -1 : 1u))", "long", |_| text(64 + 4 * i64::from(u32::MAX)), "-1 becomes unsigned before it is an index"),
    ("(char *)4 - (char *)0xfffffffffffffffc", "long", |_| text(8), "addresses go round at 64 bits"),
    ("(int *)4 - (int *)0xfffffffffffffffc", "long", |_| text(2), "two ints of 4 bytes"),
    ("(char *)0xfffffffffffffffc - (char *)4", "long", |_| text(-8), "and back"),
    ("(__local char *)4 - (__local char *)0xfffffffc", "long", |_| text(8), "in local memory at 32 bits"),
    ("(__local char *)4 - (__local char *)8", "long", |_| text(-4), "and back, with a sign"),
    ("(int *)(0x2000000000000 + (long)&recs[0].x) == &recs[0].x", "int", |_| text(1), "private memory begins there among flat addresses"),
    ("(int *)(long)&recs[0].x == &recs[0].x", "int", |_| text(0), "the same number in another space"),
    ("sizeof recs", "unsigned long", |_| text(64), "two of 32 bytes"),
    ("sizeof(__local char *)", "unsigned long", |_| text(4), "a pointer into local memory has 32 bits"),
    ("sizeof(__local char **)", "unsigned long", |_| text(8), "an ordinary pointer to such a pointer"),
    ("(unsigned __int128)-2 / 2 == (unsigned __int128)-1 / 2", "int", |_| text(1), "both are 2^127 - 1; with a sign, they would be -1 and 0"),
    ("(int)((unsigned __int128)-2 % 3)", "int", |_| text(2), "2^128 is 1 more than a multiple of 3"),
    ("0.0 / 0.0 != 0.0 / 0.0", "int", |_| text(1), "what is no number is not equal to itself"),
    ("(long)(float)1152921573326323713", "long", |_| text((1_i64 << 60) + (1_i64 << 37)), "2^60 + 2^36 + 1: floats are 2^37 apart there, and it is past the middle; as a double, it would be in the middle"),
    ("sizeof(((int (*)[2][3])0)[0][0])", "unsigned long", |_| text(12), "three ints: the last length is of the inner array"),
    ("sizeof(\"\\1234\")", "unsigned long", |_| text(3), "an octal escape has up to three digits, and a 4 and a zero follow"),
    ("(int)(bool)0.5", "int", |_| text(1), "0.5 is not 0"),
    ("1 ? 2 : 0 ? 3 : 4", "int", |_| text(2), "the second choice is the last operand of the first"),
    ("sizeof(id ? recs : recs)", "unsigned long", |_| text(4), "both are pointers to private memory there, of 32 bits"),
    ("sizeof *(char **)recs", "unsigned long", |_| text(8), "the inner pointer is an ordinary one, whatever the outer points to"),
    ("recs[0].in.s@2", "short[2]", |l| {
        let c = 65 + (l.id & 15);
        let u = (250 + l.id) % 256;
        format!("{{{}, {}}}", l.id * -300, (u << 8 | c) as u16 as i16)
    }, "after s come c and u, as one short"),
    ("g[id & 7] == recs[0].x", "int", |_| text(1), "r->x = g[id & 7], in global memory"),
    ("*(g + 8)", "const int", |_| text(1000), "g[8]"),
    ("((const short *)g)[4]", "short", |_| text(1_234_567_i128 as i16), "g[2] is 1234567, its low half comes first; const is not kept"),
];

/// The rows for `walk(arr, &cur, g, l, 1 + (id & 3))` of pointers.cl in its first iteration. `arr[i]` is `id + i * i`.
#[rustfmt::skip]
const WALK: &[Row] = &[
    ("p[1]", "int", |l| text(l.id + 1), "arr[1]"),
    ("*(p + 2)", "int", |l| text(l.id + 4), "arr[2]"),
    ("3[p] - *q", "int", |_| text(9), "arr[3] - arr[0]: q is still p"),
    ("q - p", "long", |_| text(0), "the first iteration"),
    ("end - p", "long", |l| text(1 + (l.id & 3)), "end = p + n"),
    ("q < end", "int", |_| text(1), "n is at least 1"),
    ("g[n & 3]", "long", |l| text(longs((1 + (l.id & 3)) & 3)), "n = 1 + (id & 3); n & 3 is 0 where n is 4"),
    ("acc == (long)*q * g[n & 3]", "int", |_| text(1), "that is what was added to 0"),
    ("-acc", "long", |l| text(-l.int("acc")), "truth.json has acc"),
    ("(int)acc", "int", |l| text(l.int("acc") as i32), "the low 32 bits; none of id * 10 << 32"),
    ("**pp", "int", |l| text(l.id + 1), "pp is generic, *pp private: cur = &arr[1]"),
    ("*pp - p", "long", |_| text(1), "cur = &arr[1], p = arr"),
    ("*pp == p + 1", "int", |_| text(1), "the same"),
    ("!p", "int", |_| text(0), "p is not null"),
    ("p && *p > 3", "int", |l| text(i128::from(l.id > 3)), "*p is id"),
    ("*p@4", "int[4]", |l| format!("{{{}, {}, {}, {}}}", l.id, l.id + 1, l.id + 4, l.id + 9), "id + i * i"),
    ("*p@n", "int[]", |l| {
        let all: Vec<String> = (0..1 + (l.id & 3)).map(|i| (l.id + i * i).to_string()).collect();
        format!("{{{}}}", all.join(", "))
    }, "as many as n is in the lane"),
    ("*p@1 + 1", "int[2]", |l| format!("{{{}, {}}}", l.id, l.id + 1), "@ binds more loosely than +: two elements"),
    ("*p@2 == p", "int", |_| text(1), "and more tightly than ==: an array is a pointer to its first element"),
    ("(__generic int *)p == (__generic int *)q", "int", |_| text(1), "through the private aperture"),
    ("(long)l", "long", |_| text(0x40), "l lies 64 bytes into local memory"),
    ("p", "int *", |_| text("private_lane#0x38"), "the address space is part of a pointer's text; arr is at 0x38 of each lane"),
];

/// The rows for `pick(&arr[2], mine, id & 1)` of pointers.cl, after `*sel = got + 100`.
#[rustfmt::skip]
const PICK: &[Row] = &[
    ("*sel - got", "int", |_| text(100), "*sel = got + 100"),
    ("*a", "int", |l| text(l.id + 4 + 100 * (l.id & 1)), "arr[2] is id + 4; a generic pointer into private memory"),
    ("*b", "int", |l| text(100 * (1 - (l.id & 1)) - l.id), "*mine is -id; a generic pointer into local memory"),
    ("sel == (which ? a : b)", "int", |_| text(1), "that is how sel is chosen"),
    ("*(which ? a : b)", "int", |l| text(if l.id & 1 == 1 { l.id + 104 } else { 100 - l.id }), "got + 100"),
    ("which ? *a : *b", "int", |l| text(if l.id & 1 == 1 { l.id + 104 } else { 100 - l.id }), "the same"),
    ("(__local int *)b", "int *", |l| format!("local#{:#x}", 0x60 + 4 * l.id), "mine = l + 8 + id, and l is 0x40"),
    ("(long)(__local int *)0x100000010", "long", |_| text(0x10), "a pointer into local memory has 32 bits"),
    ("(long)b - (long)(__local int *)b", "long", |_| text(0x1_0000_0000_0000_i64), "the base of the shared aperture"),
];

/// The rows for the kernel of pointers.cl, after `walk` and `pick`.
#[rustfmt::skip]
const ARRAYS: &[Row] = &[
    ("arr[2]", "int", |l| text(l.id + 4 + 100 * (l.id & 1)), "pick added 100 where id is odd"),
    ("2[arr]", "int", |l| text(l.id + 4 + 100 * (l.id & 1)), "the same"),
    ("arr[id & 3]", "int", |l| text(l.id + (l.id & 3) * (l.id & 3)), "id & 3 is 2 only where id is even"),
    ("cur - arr", "long", |l| text(if l.id + 1 > 4 { 2 } else { 1 }), "walk moves cur where arr[1] > 4"),
    ("*cur", "int", |l| text(if l.id + 1 > 4 { l.id + 4 + 100 * (l.id & 1) } else { l.id + 1 }), "arr[2] or arr[1]"),
    ("&arr[3] > cur", "int", |_| text(1), "cur is at most &arr[2]"),
    ("sizeof(arr) / sizeof(arr[0])", "unsigned long", |_| text(4), "int arr[4]"),
    ("*mine + id", "int", |l| text(100 * (1 - (l.id & 1))), "-id, and 100 more where pick took b"),
    ("mine - l", "long", |l| text(8 + l.id), "mine = l + 8 + id"),
    ("mine == &l[id + 8]", "int", |_| text(1), "the same"),
    ("w + t", "long", |l| text(l.int("w") + l.int("t")), "truth.json has w and t; long + int is long"),
    ("*(__generic int *)&arr[1]", "int", |l| text(l.id + 1), "through the private aperture"),
    ("*(int *)&arr[1]", "int", |l| text(l.id + 1), "without a space a cast keeps that of the pointer"),
    ("*(int *)(long)(__generic int *)&arr[1]", "int", |l| text(l.id + 1), "a pointer without a space may be a generic one"),
    ("&*cur == cur", "int", |_| text(1), "& undoes *"),
];

/// The rows for the kernel of lds.cl if `id & 8`, after `*slot += g`.
#[rustfmt::skip]
const LDS: &[Row] = &[
    ("slot - l", "long", |l| text(l.id), "slot = l + id"),
    ("l[id] == *slot", "int", |_| text(1), "the same"),
    ("!l", "int", |_| text(0), "l is address 0 of local memory, which is not null: that is 0xffffffff"),
    ("l == 0", "int", |_| text(0), "the literal 0 is the null pointer"),
    ("g / 2", "float", |l| text(l.real("g") / 2.0), "truth.json has g; float / int is float"),
    ("(int)g * 2 + 1", "int", |l| text(l.real("g") as i64 * 2 + 1), "toward zero"),
    ("g * 2.0 - g", "double", |l| text(l.real("g")), "float * double is double"),
    ("*(float *)(l + id) == *slot", "int", |_| text(1), "a cast of the sum"),
];

/// The rows for `mixd` of wide.cl: `neg = (char)(-id * 3)`, `b = (long)neg << 40 | 77`, `c = (uchar)neg`.
#[rustfmt::skip]
const WIDE: &[Row] = &[
    ("b >> 40", "long", |l| text((-3 * l.id) as i8), "the shift keeps the sign"),
    ("b & 0xff", "long", |_| text(77), "the low byte"),
    ("c", "uchar", |l| l.char_text(), "an unsigned char prints as a character"),
    ("+c", "int", |l| text((-3 * l.id) as u8), "promoted"),
    ("(int)(signed char)c", "int", |l| text((-3 * l.id) as i8), "the same bits with a sign"),
    ("(int)(uchar)(c + 10)", "int", |l| text((10 - 3 * l.id) as u8), "cut to 8 bits"),
    ("c * d", "int", |l| text(l.int("c") * l.int("d")), "both are ints before"),
    ("d >> 4", "int", |l| text(l.int("d") >> 4), "ushort"),
    ("r - (double)(int)b", "double", |l| text(l.real("a") * 0.5), "r = a * 0.5 + (double)(int)b"),
    ("bits - c == (unsigned long)b * 0x123456789abUL", "int", |_| text(1), "how bits is made; products wrap"),
    ("bits % 1000", "unsigned long", |l| text(l.int("bits") % 1000), "truth.json has bits"),
    ("bits >> 60", "unsigned long", |l| text(l.int("bits") >> 60), "no sign comes in"),
    ("bits > b", "int", |l| text(i128::from(l.int("bits") > i128::from(l.int("b") as u64))), "b is compared without its sign"),
    ("(float)a * 3", "float", |l| text(l.real("a") * 3.0), "a is id * 1.5"),
    ("sizeof(bits) + sizeof c", "unsigned long", |_| text(9), "8 and 1"),
    ("a == 0 ? -1 : d", "int", |l| text(if l.id == 0 { -1 } else { l.int("d") }), "ushort and int are int"),
    ("a == 0 ? -1 : bits", "unsigned long", |l| text(if l.id == 0 { i128::from(u64::MAX) } else { l.int("bits") }), "-1 becomes unsigned long, too"),
    ("(__int128)b * b >> 64", "__int128", |l| text((l.int("b") * l.int("b")) >> 64), "128 bits have room for the product"),
    ("-(__int128)(b & 7) >> 1", "__int128", |_| text(-3), "77 & 7 is 5; the shift keeps the sign of -5"),
    ("-(unsigned __int128)(b & 7) >> 126", "unsigned __int128", |_| text(3), "and where there is none the top two bits come out"),
    ("(unsigned __int128)-1 > (__int128)b", "int", |_| text(1), "compared as unsigned"),
    ("(bool)c", "bool", |l| text(l.int("c") != 0), "not the low bit"),
    ("!a", "int", |l| text(i128::from(l.id == 0)), "a is 0 in lane 0"),
    ("(unsigned)(a - 2)", "unsigned int", |l| text((l.real("a") - 2.0).max(0.0) as u32), "what has no place goes to the nearest: -2 and -0.5 to 0"),
];

impl Lane<'_> {
    /// Returns a character of `c` of wide.cl in gdb's notation: ASCII unchanged, others in octal.
    fn char_text(&self) -> String {
        match (-3 * self.id) as u8 {
            byte @ (0x20..=0x5b | 0x5d..=0x7e) => format!("'{}'", char::from(byte)),
            0x5c => "'\\\\'".to_owned(),
            byte => format!("'\\{byte:03o}'"),
        }
    }
}

/// The rows for `leaf(a, g)` of calls.cl, and of calls-O2.cl, where most variables are in registers. Lane 3 has `a == 3`.
#[rustfmt::skip]
const LEAF: &[Row] = &[
    ("a * x + 7", "int", |l| text(l.int("a") * l.int("x") + 7), "truth.json has a and x"),
    ("(a & 3) == 3 ? x : 0", "int", |l| text(if l.int("a") & 3 == 3 { l.int("x") } else { 0 }), "in each lane by itself"),
    ("a ^ x", "int", |l| text(l.int("a") ^ l.int("x")), "exclusive or"),
    ("a % 5 - x % 5", "int", |l| text(l.int("a") % 5 - l.int("x") % 5), "remainders keep the sign"),
    ("a << 30 >> 30", "int", |l| text((l.int("a") << 62) as i64 >> 62), "the sign is bit 31"),
    ("(unsigned)-a >> 31", "unsigned int", |l| text(i128::from(l.int("a") > 0)), "a is not negative; the sign of -a comes out"),
];

/// The rows for the kernel of recursion.cl at its end: `all.lo = id & 3`, `all.hi = id % 9`.
#[rustfmt::skip]
const RANGES: &[Row] = &[
    ("all.hi - all.lo", "int", |l| text(l.id % 9 - (l.id & 3)), "by the source"),
    ("(all.lo + all.hi) / 2", "int", |l| text(((l.id & 3) + l.id % 9) / 2), "by the source"),
    ("all", "Range", |l| format!("{{lo = {}, hi = {}}}", l.id & 3, l.id % 9), "a whole structure"),
    ("&all.hi - &all.lo", "long", |_| text(1), "neighbours"),
    ("((int *)&all)[1]", "int", |l| text(l.id % 9), "hi is the second int"),
];

/// The rows for `many` of manyargs.cl: `p.v[i] = id * i`. Several of the 34 arguments are on the stack.
#[rustfmt::skip]
const MANY: &[Row] = &[
    ("p.v[5]", "int", |l| text(l.id * 5), "id * i"),
    ("p.v[a0 & 3] + a33", "int", |l| text(l.id * (l.id & 3) + l.id - 33), "a0 is id, a33 id - 33"),
    ("p.w * 2", "float", |_| text(3), "w is 1.5"),
    ("s - a0 - a9 * a31", "int", |l| text(33 - l.id + l.id * 5), "s = a0 + a9 * a31 - a33 + p.v[5]"),
    ("sizeof(Pack)", "unsigned long", |_| text(28), "int[6] and a float"),
    ("&p.v[4] - p.v", "long", |_| text(4), "four further on"),
];

/// The rows for `poly((id - 16) * 0.125, id % 6)` of loops.cl in its first iteration: `i` is `deg`.
#[rustfmt::skip]
const POLY: &[Row] = &[
    ("pw[1] == x", "int", |_| text(1), "x to the first"),
    ("pw[2]", "float", |l| text((l.id - 16) as f64 * 0.125 * ((l.id - 16) as f64 * 0.125)), "x squared, which floats have room for"),
    ("x < 0", "int", |l| text(i128::from(l.id < 16)), "x = (id - 16) / 8"),
    ("i == deg", "int", |_| text(1), "the `i` of the function, not that of the loop above"),
    ("acc == pw[i] * (float)(i + 1)", "int", |_| text(1), "the first summand"),
    ("-x * 8", "float", |l| text(-((l.id - 16) as f32)), "(16 - id) / 8 * 8; the zero has a sign"),
    ("pw[0]@3", "float[3]", |l| {
        let x = (l.id - 16) as f64 * 0.125;
        format!("{{1, {x}, {}}}", x * x)
    }, "1, x, x * x"),
    ("$_lane - 16", "int", |l| text(l.id - 16), "work-item id is lane id here"),
];

/// All rows, by stop. The second is a wave of 64 lanes that accesses scratch through buffers.
#[rustfmt::skip]
const STOPS: &[(&str, &str, &[Row])] = &[
    ("structs", "w08", AREA), ("structs", "w05", RECORDS),
    ("pointers", "w03", WALK), ("pointers", "w08", PICK), ("pointers", "w09", ARRAYS),
    ("lds", "w14", LDS), ("wide", "w05", WIDE),
    ("calls", "w08", LEAF), ("calls-O2", "w06", LEAF),
    ("recursion", "w11", RANGES), ("manyargs", "w08", MANY),
    ("loops", "w12", POLY), ("loops-gfx90a", "w12", POLY),
];

#[test]
fn every_value_is_what_it_was_worked_out_to_be() {
    let mut wrong = Vec::new();
    let (mut values, mut count) = (0, 0);
    for (case, wave, rows) in STOPS {
        let truth = truth(case, wave);
        let active: Vec<u64> = truth["active_lanes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|l| l.as_u64().unwrap())
            .collect();
        for object in [".hsaco", ".rocm.hsaco"] {
            let texts = rows.iter().map(|(text, ..)| *text);
            let answers = expressions(case, object, wave, &[], texts);
            assert_eq!(answers.len(), rows.len());
            for ((text, ty, value, why), answer) in rows.iter().zip(answers) {
                let place = format!("{case}{object} {wave} `{text}` ({why})");
                count += 1;
                assert_eq!(answer["text"], *text);
                if answer["type"] != *ty {
                    wrong.push(format!("{place}: {} {}", answer["type"], answer["error"]));
                    continue;
                }
                for lane in answer["lanes"].as_array().unwrap() {
                    let id = lane["lane"].as_u64().unwrap();
                    if !active.contains(&id) {
                        let state = lane["state"].as_str().unwrap();
                        let is_absent = ["inactive", "not-in-frame"].contains(&state);
                        assert!(is_absent, "{place}: {lane}");
                        assert!(lane["value"].is_null(), "{place}: {lane}");
                        continue;
                    }
                    let expected = value(&Lane {
                        id: id.into(),
                        truth: &truth,
                    });
                    values += 1;
                    if lane["state"] != "ok" || lane["value"] != *expected {
                        wrong.push(format!("{place}: expected {expected}, found {lane}"));
                    }
                }
            }
        }
    }
    let rows: usize = STOPS.iter().map(|(_, _, rows)| rows.len()).sum();
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(count, 2 * rows);
    assert!(rows >= 130 && values > 7000, "{rows} rows, {values} values");
}
