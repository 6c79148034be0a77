//! Generates random kernels whose accesses can be past the ends of their buffers: in loops, in functions, and between accesses to scratch.

use std::fmt::Write as _;

use dwarf_tests::simulator::random::Random;

const VARIABLES: [&str; 4] = ["a", "b", "c", "d"];

fn variable(random: &mut Random) -> &'static str {
    VARIABLES[random.below(4)]
}

/// Returns an index into `out` or `in`, which is past the end in some lanes at some times.
///
/// * `elements`: the mask of valid indexes.
fn index(random: &mut Random, elements: u32) -> String {
    let (one, other) = (variable(random), variable(random));
    let inside = format!("({one} & {elements})");
    let condition = match random.below(4) {
        0 => format!("({other} & 31) == {}", random.below(32)),
        1 => format!("(id & {}) == {}", 1 << random.below(4), 0),
        2 => format!("{other} > {}", 100 + random.below(400)),
        _ => return inside,
    };
    format!(
        "{inside} + ({condition} && arm == {} ? 2048 : 0)",
        random.below(4)
    )
}

fn statement(random: &mut Random, out: &mut String, depth: usize) {
    let (one, other) = (variable(random), variable(random));
    let number = random.below(32);
    let text = match random.below(if depth == 0 { 8 } else { 12 }) {
        0 => format!("{one} = {other} * 3 + {number};"),
        1 | 2 => format!("out[{}] = {one};", index(random, 1023)),
        3 => format!("{one} += in[{}];", index(random, 63)),
        4 => format!("put(out, {}, {other});", index(random, 1023)),
        5 => format!("{one} ^= get(in, {});", index(random, 63)),
        6 => format!("t[{other} & 7] = {one}; {one} += t[{number} & 7];"),
        7 => format!("{one} += mix(out, {}, t, {other});", index(random, 1023)),
        8 | 9 => {
            let _ = writeln!(
                out,
                "for (int i = 0; i < 2 + ({other} & 3); i++) {{ {one} += i;"
            );
            block(random, out, depth - 1);
            "}".to_owned()
        }
        _ => {
            let _ = writeln!(out, "if ({other} & {}) {{", 1 << random.below(4));
            block(random, out, depth - 1);
            "}".to_owned()
        }
    };
    let _ = writeln!(out, "{text}");
}

fn block(random: &mut Random, out: &mut String, depth: usize) {
    for _ in 0..=random.below(3) {
        statement(random, out, depth);
    }
}

/// Returns the text of a kernel `k`. Its argument `arm`, which is read from the input, chooses the accesses that can be wrong.
#[must_use]
pub fn program(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut out = "\
        #define OUT_OF_LINE __attribute__((noinline)) static\n\
        OUT_OF_LINE void put(__global int *p, long at, int v) { p[at] = v; }\n\
        OUT_OF_LINE int get(__global const int *p, long at) { return p[at] + 1; }\n\
        OUT_OF_LINE int mix(__global int *p, long at, __private int *t, int v) {\n\
        int u[4] = {v, v + 1, v + 2, v + 3}; t[v & 7] = u[v & 3]; p[at] = v; put(p, at & 1023, v); return u[(v + 1) & 3]; }\n\
        __kernel void k(__global int *out, __global const int *in) {\n\
        int id = __builtin_amdgcn_workitem_id_x(), arm = in[60] & 3;\n\
        int a = in[id & 63], b = id, c = a * id, d = 1;\n\
        int t[8] = {a, b, c, d, 4, 5, 6, 7};\n"
        .to_owned();
    for _ in 0..4 + random.below(4) {
        statement(&mut random, &mut out, 2);
    }
    out += "out[id] = a + b + c + d + t[a & 7];\n}\n";
    out
}
