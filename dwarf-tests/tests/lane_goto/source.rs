//! Generates random programs with `goto`: blocks that jump to each other, and into loops and branches.

use std::fmt::Write;

use dwarf_tests::simulator::random::Random;

const VARIABLES: [&str; 4] = ["a", "b", "c", "d"];

fn variable(random: &mut Random) -> &'static str {
    VARIABLES[random.below(4)]
}

fn condition(random: &mut Random) -> String {
    let (one, other, number) = (variable(random), variable(random), random.below(16));
    match random.below(6) {
        0 => format!("{one} < {other}"),
        1 => format!("({one} & {}) != 0", 1 << random.below(4)),
        2 => format!("({one} & 7) == {}", random.below(8)),
        3 => format!("{one} > {number} && ({other} & 3) != {}", random.below(4)),
        4 => format!("{one} < {number} || (in[{other} & 63] & 3) > 1"),
        // A condition that is equal in all lanes.
        _ => format!(
            "({} & {}) != 0",
            ["n0", "s"][random.below(2)],
            1 << random.below(3)
        ),
    }
}

struct Writer<'r> {
    random: &'r mut Random,
    out: String,
    labels: usize,
    written: usize,
    has_call: bool,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}");
    }

    /// Emits the next label, if there are more. A label needs a statement after it.
    fn label(&mut self) {
        if self.written < self.labels {
            let label = self.written;
            self.written += 1;
            self.line(&format!("L{label}:;"));
        }
    }

    fn goto(&mut self) {
        let condition = condition(self.random);
        let to = self.random.below(self.labels + 1);
        // Backward jumps use up fuel.
        let fuel = if to == self.labels { "" } else { " && n-- > 0" };
        let to = if to == self.labels {
            "OUT".to_owned()
        } else {
            format!("L{to}")
        };
        self.line(&format!("if (({condition}){fuel})"));
        self.line(&format!("goto {to};"));
    }

    fn simple(&mut self) {
        let (one, other) = (variable(self.random), variable(self.random));
        let number = self.random.below(32);
        let text = match self.random.below(6) {
            0 => format!("{one} = {other} * 3 + {number};"),
            1 => format!("{one} ^= in[({other} + {number}) & 63];"),
            2 => format!("out[id] = {one} - {other};"),
            3 if self.has_call => format!("{one} += g({other}, in, {number});"),
            4 => format!("s += {};", self.random.below(3)),
            _ => format!("{one} += {number};"),
        };
        self.line(&text);
    }

    fn block(&mut self, depth: usize) {
        for _ in 0..=self.random.below(2) {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: usize) {
        let kind = if depth == 0 {
            self.random.below(5)
        } else {
            self.random.below(10)
        };
        match kind {
            0 | 1 => self.simple(),
            2 => self.goto(),
            3 => {
                self.label();
                self.simple();
            }
            4 => {
                self.simple();
                self.goto();
            }
            5 | 6 => {
                let condition = condition(self.random);
                self.line(&format!("if ({condition}) {{"));
                self.block(depth - 1);
                if self.random.below(2) == 0 {
                    self.line("} else {");
                    self.block(depth - 1);
                }
                self.line("}");
            }
            7 | 8 => {
                let condition = condition(self.random);
                self.line(&format!("while (({condition}) && n-- > 0) {{"));
                self.block(depth - 1);
                if self.random.below(2) == 0 {
                    let condition = condition_text(self.random);
                    self.line(&condition);
                }
                self.label();
                self.simple();
                self.line("}");
            }
            _ => {
                let (one, labels) = (variable(self.random), self.labels);
                self.line(&format!("switch (n-- > 0 ? {one} & 3 : 4) {{"));
                for case in 0..=self.random.below(3) {
                    let to = self.random.below(labels);
                    self.line(&format!("case {case}: goto L{to};"));
                }
                self.line("default:;");
                self.line("}");
            }
        }
    }
}

fn condition_text(random: &mut Random) -> String {
    let condition = condition(random);
    let what = ["break", "continue"][random.below(2)];
    format!("if ({condition})\n{what};")
}

fn function(random: &mut Random, head: &str, has_call: bool, statements: usize) -> String {
    let labels = 2 + random.below(4);
    let mut writer = Writer {
        random,
        out: String::new(),
        labels,
        written: 0,
        has_call,
    };
    writer.line(head);
    for _ in 0..statements {
        writer.statement(2);
        if writer.random.below(3) == 0 {
            writer.label();
        }
    }
    while writer.written < labels {
        writer.label();
        writer.simple();
        writer.goto();
    }
    writer.out
}

/// Returns the text of a program.
#[must_use]
pub fn program(seed: u64) -> String {
    let mut random = Random::new(seed);
    let random = &mut random;
    let mut out = function(
        random,
        "__attribute__((noinline)) static int g(int a, __global const int *in, int b) {\n\
         int c = in[a & 63], d = a ^ b, n = 6, n0 = in[3], s = in[5], id = 0;\n\
         __private int sink[1]; __private int *out = sink;",
        false,
        2,
    );
    out += "OUT:\nreturn a + b + c + d;\n}\n";
    let statements = 3 + random.below(3);
    out += &function(
        random,
        "__attribute__((noinline)) static int f(int a, __global const int *in, __global int *out, int id) {\n\
         int b = id, c = a * id, d = 1, n = 12 + (a & 3), n0 = in[1], s = in[2];",
        true,
        statements,
    );
    out += "OUT:\nreturn a + b + c + d;\n}\n";
    let statements = 2 + random.below(3);
    out += &function(
        random,
        "__kernel void k(__global int *out, __global const int *in) {\n\
         int id = __builtin_amdgcn_workitem_id_x();\n\
         int a = in[id], b = id, c = a * b, d = 1, n = 10, n0 = in[7], s = in[9];\n\
         if (id & 5)\na += f(b, in, out, id);",
        true,
        statements,
    );
    out += "OUT:\nout[id] = a + b + c + d;\n}\n";
    out
}
