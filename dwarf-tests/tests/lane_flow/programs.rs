//! Generates random structured programs in OpenCL: branches, loops with several exits, switches and calls on values that differ by lane.

/// A sequence of pseudo-random numbers that the seed determines (SplitMix64).
pub struct Numbers(pub u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 16) % bound
    }

    fn choose<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len() as u64) as usize]
    }
}

/// The context of a statement.
#[derive(Clone, Copy)]
struct Around {
    depth: u32,
    in_loop: bool,
    is_kernel: bool,
}

const VARIABLES: [&str; 4] = ["a", "b", "c", "d"];

fn variable(numbers: &mut Numbers) -> &'static str {
    numbers.choose(&VARIABLES)
}

fn condition(numbers: &mut Numbers) -> String {
    let (one, other) = (variable(numbers), variable(numbers));
    let number = numbers.below(16);
    match numbers.below(5) {
        0 => format!("{one} < {other}"),
        1 => format!("{one} & {}", 1 << numbers.below(4)),
        2 => format!("{one} == {number}"),
        3 => format!("{one} > {number} && {other} != {number}"),
        _ => format!("{one} < {number} || in[{other} & 63] > {number}"),
    }
}

fn statement(numbers: &mut Numbers, around: Around, out: &mut String) {
    let inner = Around {
        depth: around.depth.saturating_sub(1),
        ..around
    };
    let (one, other) = (variable(numbers), variable(numbers));
    let number = numbers.below(32);
    let kind = match around.depth {
        0 => numbers.below(5),
        _ => numbers.below(11),
    };
    match kind {
        0 => *out += &format!("{one} = {other} * 3 + {number};\n"),
        1 => *out += &format!("{one} ^= in[({other} + {number}) & 63];\n"),
        2 => *out += &format!("out[id] = {one} - {other};\n"),
        3 if around.in_loop => {
            let text = numbers.choose(&["break", "continue"]);
            *out += &format!("if ({}) {text};\n", condition(numbers));
        }
        4 if around.is_kernel => *out += &format!("{one} += helper({other}, in, {number});\n"),
        3 | 4 => *out += &format!("{one} += {number};\n"),
        5..=7 => {
            *out += &format!("if ({}) {{\n", condition(numbers));
            block(numbers, inner, out);
            if numbers.below(2) == 0 {
                *out += "} else {\n";
                block(numbers, inner, out);
            }
            *out += "}\n";
        }
        8 | 9 => {
            let inner = Around {
                in_loop: true,
                ..inner
            };
            let count = format!("i{}", around.depth);
            *out += &format!("for (int {count} = 0; {count} < ({one} & 7) + 1; ++{count}) {{\n");
            block(numbers, inner, out);
            *out += "}\n";
        }
        _ => {
            // A `break` of an outer loop cannot be inside the inner one.
            let inner = Around {
                in_loop: false,
                ..inner
            };
            *out += &format!("switch ({one} & 3) {{\n");
            for case in 0..=numbers.below(3) {
                *out += &format!("case {case}:\n");
                block(numbers, inner, out);
                *out += numbers.choose(&["break;\n", ""]);
            }
            *out += "default:;\n}\n";
        }
    }
}

fn block(numbers: &mut Numbers, around: Around, out: &mut String) {
    for _ in 0..=numbers.below(3) {
        statement(numbers, around, out);
    }
}

/// Returns the text of a program.
pub fn program(seed: u64) -> String {
    let mut numbers = Numbers(seed);
    let mut out = String::from(
        "__attribute__((noinline)) int helper(int a, __global const int *in, int b) {\n\
         int c = in[a & 63], d = a ^ b, id = 0;\n__private int sink[1]; __private int *out = sink;\n",
    );
    let mut around = Around {
        depth: 2,
        in_loop: false,
        is_kernel: false,
    };
    for _ in 0..3 {
        statement(&mut numbers, around, &mut out);
    }
    out += "return a + b + c + d;\n}\n\
            __kernel void k(__global int *out, __global const int *in) {\n\
            int id = __builtin_amdgcn_workitem_id_x();\n\
            int a = in[id], b = id, c = a * b, d = 1;\n";
    around.is_kernel = true;
    around.depth = 3;
    for _ in 0..5 {
        statement(&mut numbers, around, &mut out);
    }
    out += "out[id] = a + b + c + d;\n}\n";
    out
}
