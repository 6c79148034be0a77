//! Generates random programs, with the effect of each instruction.

use dwarf_tests::simulator::Random;

use super::target::Target;

/// The source operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    Vector(u8),
    Scalar(u8),
    Constant(i32),
}

impl Source {
    fn text(self) -> String {
        match self {
            Source::Vector(n) => format!("v{n}"),
            Source::Scalar(n) => format!("s{n}"),
            Source::Constant(n) => n.to_string(),
        }
    }
}

/// An operation on dwords, as AMD's documents define it.
pub type Operation = fn([u32; 3]) -> u32;

/// A vector operation.
#[derive(Clone, Copy, Debug)]
pub struct Vector {
    pub dst: u8,
    pub operation: Operation,
    pub sources: [Source; 3],
}

/// The effect of an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    Nothing,
    Vector(Vector),
    Dual([Vector; 2]),
    AccWrite {
        acc: u8,
        vector: u8,
    },
    AccRead {
        vector: u8,
        acc: u8,
    },
    Scalar {
        dst: u8,
        operation: Operation,
        sources: [Source; 2],
    },
    /// `vcc` gets the lanes in which the constant is less than the vector register.
    CompareBelow {
        constant: i32,
        vector: u8,
    },
    /// `scc` is set if the operands are equal.
    CompareEqual {
        scalar: u8,
        constant: i32,
    },
    WriteLane {
        vector: u8,
        scalar: u8,
        lane: u8,
    },
    ReadLane {
        scalar: u8,
        vector: u8,
        lane: u8,
    },
    ReadFirstLane {
        scalar: u8,
        vector: u8,
    },
    Store {
        row: u32,
        vector: u8,
    },
    Load {
        row: u32,
        vector: u8,
    },
    /// `mask = exec; exec &= vcc`.
    SaveAnd {
        mask: u8,
    },
    /// `mask ^= exec`.
    Others {
        mask: u8,
    },
    /// `exec, mask = mask & !exec, exec`.
    Else {
        mask: u8,
    },
    /// `exec |= mask`.
    Join {
        mask: u8,
    },
    /// `mask = 0`.
    Clear {
        mask: u8,
    },
    /// `mask |= vcc`.
    Leave {
        mask: u8,
    },
    /// `exec &= !mask`.
    Without {
        mask: u8,
    },
    Jump {
        to: usize,
    },
    JumpIfNone {
        to: usize,
    },
    JumpIfSome {
        to: usize,
    },
    JumpIf {
        scc: bool,
        to: usize,
    },
    /// A call of the function that clobbers registers.
    Call,
    End,
}

#[derive(Clone, Debug)]
pub struct Instruction {
    pub text: String,
    pub action: Action,
}

/// The location of a variable in a range of instructions.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    Vector(u8),
    Scalar(u8),
    Constant(i32),
}

#[derive(Clone, Debug)]
pub struct Range {
    pub start: usize,
    pub end: usize,
    pub place: Place,
}

#[derive(Clone, Debug)]
pub struct Variable {
    pub is_parameter: bool,
    pub ranges: Vec<Range>,
}

#[derive(Clone, Debug)]
pub struct Program {
    pub is_kernel: bool,
    pub code: Vec<Instruction>,
    pub variables: Vec<Variable>,
}

/// The number of vector registers in use, from v0. The next register counts iterations.
const VECTORS: usize = 9;
const COUNTER: u8 = 9;
/// The vector register whose lanes hold scalar values.
const LANES: u8 = 10;
/// The first scalar register, and the number of registers.
const SCALARS: (u8, usize) = (4, 6);
/// The first register that holds masks.
const MASKS: u8 = 12;
/// The vector and scalar registers that a call may overwrite.
pub const CLOBBERED: ([u8; 3], [u8; 2]) = ([0, 3, 5], [4, 6]);

const fn low_24(n: u32) -> u32 {
    n & 0xff_ffff
}

const fn signed_24(n: u32) -> u32 {
    ((n << 8).cast_signed() >> 8).cast_unsigned()
}

/// Operations with two sources, of which the second is a vector register.
const TWO: &[(&str, Operation)] = &[
    ("v_add_u32", |[a, b, _]| a.wrapping_add(b)),
    ("v_sub_u32", |[a, b, _]| a.wrapping_sub(b)),
    ("v_subrev_u32", |[a, b, _]| b.wrapping_sub(a)),
    ("v_and_b32", |[a, b, _]| a & b),
    ("v_or_b32", |[a, b, _]| a | b),
    ("v_xor_b32", |[a, b, _]| a ^ b),
    ("v_lshlrev_b32", |[a, b, _]| b << (a & 31)),
    ("v_lshrrev_b32", |[a, b, _]| b >> (a & 31)),
    ("v_ashrrev_i32", |[a, b, _]| {
        (b.cast_signed() >> (a & 31)).cast_unsigned()
    }),
    ("v_mul_u32_u24", |[a, b, _]| {
        low_24(a).wrapping_mul(low_24(b))
    }),
    ("v_mul_i32_i24", |[a, b, _]| {
        signed_24(a).wrapping_mul(signed_24(b))
    }),
];

/// Operations with up to three sources.
const THREE: &[(&str, usize, Operation)] = &[
    ("v_mul_lo_u32", 2, |[a, b, _]| a.wrapping_mul(b)),
    ("v_lshl_add_u32", 3, |[a, b, c]| {
        (a << (b & 31)).wrapping_add(c)
    }),
    ("v_add_lshl_u32", 3, |[a, b, c]| {
        a.wrapping_add(b) << (c & 31)
    }),
    ("v_add3_u32", 3, |[a, b, c]| {
        a.wrapping_add(b).wrapping_add(c)
    }),
    ("v_lshl_or_b32", 3, |[a, b, c]| (a << (b & 31)) | c),
    ("v_and_or_b32", 3, |[a, b, c]| (a & b) | c),
    ("v_or3_b32", 3, |[a, b, c]| a | b | c),
    ("v_xad_u32", 3, |[a, b, c]| (a ^ b).wrapping_add(c)),
    ("v_mad_u32_u24", 3, |[a, b, c]| {
        low_24(a).wrapping_mul(low_24(b)).wrapping_add(c)
    }),
    ("v_mad_i32_i24", 3, |[a, b, c]| {
        signed_24(a).wrapping_mul(signed_24(b)).wrapping_add(c)
    }),
    // (a >> b) & (2^c - 1)
    ("v_bfe_u32", 3, |[a, b, c]| {
        (a >> (b & 31)) & ((1_u32 << (c & 31)) - 1)
    }),
];

const SCALAR: &[(&str, Operation)] = &[
    ("s_add_i32", |[a, b, _]| a.wrapping_add(b)),
    ("s_sub_i32", |[a, b, _]| a.wrapping_sub(b)),
    ("s_and_b32", |[a, b, _]| a & b),
    ("s_or_b32", |[a, b, _]| a | b),
    ("s_xor_b32", |[a, b, _]| a ^ b),
    ("s_lshl_b32", |[a, b, _]| a << (b & 31)),
    ("s_mul_i32", |[a, b, _]| a.wrapping_mul(b)),
];

struct Maker<'t> {
    random: Random,
    target: &'t Target,
    is_kernel: bool,
    code: Vec<Instruction>,
    in_lane_loop: bool,
}

impl Program {
    pub fn new(target: &Target, seed: u64) -> Program {
        let mut random = Random::new(seed);
        let is_kernel = random.percent(40);
        let mut maker = Maker {
            random,
            target,
            is_kernel,
            code: Vec::new(),
            in_lane_loop: false,
        };
        if is_kernel {
            // A kernel starts with only the work-item and the work-group in registers.
            for n in 1..=LANES {
                let text = format!("v_mov_b32 v{n}, {n}");
                let (dst, sources) = (n, [Source::Constant(n.into()); 3]);
                maker.put(
                    text,
                    Action::Vector(Vector {
                        dst,
                        operation: |[a, _, _]| a,
                        sources,
                    }),
                );
            }
            for n in SCALARS.0..SCALARS.0 + 6 {
                let operation = |[a, _, _]: [u32; 3]| a;
                let sources = [Source::Constant(n.into()); 2];
                maker.put(
                    format!("s_mov_b32 s{n}, {n}"),
                    Action::Scalar {
                        dst: n,
                        operation,
                        sources,
                    },
                );
            }
        }
        let first = maker.code.len();
        maker.block(0);
        let end = match is_kernel {
            true => "s_endpgm",
            false => "s_setpc_b64 s[30:31]",
        };
        maker.put(end.to_owned(), Action::End);
        let variables = maker.variables(first);
        Program {
            is_kernel,
            code: maker.code,
            variables,
        }
    }
}

impl Maker<'_> {
    fn put(&mut self, text: String, action: Action) {
        self.code.push(Instruction { text, action });
    }

    fn vector(&mut self) -> u8 {
        u8::try_from(self.random.below(VECTORS)).unwrap()
    }

    fn scalar(&mut self) -> u8 {
        SCALARS.0 + u8::try_from(self.random.below(SCALARS.1)).unwrap()
    }

    /// Returns an integer that needs no literal.
    fn constant(&mut self) -> Source {
        Source::Constant(i32::try_from(self.random.below(81)).unwrap() - 16)
    }

    fn vector_source(&mut self) -> Source {
        match self.random.percent(70) {
            true => Source::Vector(self.vector()),
            false => self.constant(),
        }
    }

    fn source(&mut self) -> Source {
        match self.random.below(4) {
            0 => Source::Scalar(self.scalar()),
            1 => self.constant(),
            _ => Source::Vector(self.vector()),
        }
    }

    fn block(&mut self, depth: u8) {
        for _ in 0..2 + self.random.below(5) {
            match self.random.below(if depth < 3 { 16 } else { 12 }) {
                12 => self.if_lanes(depth),
                13 => self.if_scalar(depth),
                14 => self.rounds(depth),
                15 => self.lane_rounds(depth),
                _ => self.simple(),
            }
        }
    }

    fn simple(&mut self) {
        match self.random.below(20) {
            0..=3 => self.copy(),
            4..=8 => self.two(),
            9..=12 => self.three(),
            13..=14 => self.scalars(),
            15 => self.lanes(),
            16 if self.target.dual => self.dual(),
            16 if self.target.acc => self.acc(),
            17..=18 if !self.is_kernel => self.rows(),
            18 if self.is_kernel => self.call(),
            19 => self.put("s_nop 0".to_owned(), Action::Nothing),
            _ => self.copy(),
        }
    }

    fn copy(&mut self) {
        let (dst, source) = (self.vector(), self.source());
        let text = format!("v_mov_b32 v{dst}, {}", source.text());
        let sources = [source; 3];
        self.put(
            text,
            Action::Vector(Vector {
                dst,
                operation: |[a, _, _]| a,
                sources,
            }),
        );
    }

    fn named(&self, name: &str) -> String {
        match (name.strip_suffix("_u32"), self.target.no_carry) {
            (Some(stem @ ("v_add" | "v_sub" | "v_subrev")), true) => format!("{stem}_nc_u32"),
            _ => name.to_owned(),
        }
    }

    fn two(&mut self) {
        let (name, operation) = TWO[self.random.below(TWO.len())];
        let (dst, a, b) = (self.vector(), self.source(), Source::Vector(self.vector()));
        let text = format!("{} v{dst}, {}, {}", self.named(name), a.text(), b.text());
        self.put(
            text,
            Action::Vector(Vector {
                dst,
                operation,
                sources: [a, b, b],
            }),
        );
    }

    fn three(&mut self) {
        let (name, count, operation) = THREE[self.random.below(THREE.len())];
        let dst = self.vector();
        let sources = [self.source(), self.vector_source(), self.vector_source()];
        let sources = match name {
            "v_bfe_u32" => [sources[0], Source::Constant(3), Source::Constant(20)],
            _ => sources,
        };
        let texts: Vec<String> = sources[..count].iter().map(|one| one.text()).collect();
        let text = format!("{name} v{dst}, {}", texts.join(", "));
        self.put(
            text,
            Action::Vector(Vector {
                dst,
                operation,
                sources,
            }),
        );
    }

    fn scalars(&mut self) {
        let (name, operation) = SCALAR[self.random.below(SCALAR.len())];
        let name = match (name, self.target.scalar_co) {
            ("s_add_i32", true) => "s_add_co_i32",
            ("s_sub_i32", true) => "s_sub_co_i32",
            _ => name,
        };
        let (dst, a) = (self.scalar(), Source::Scalar(self.scalar()));
        let b = match self.random.percent(50) {
            true => Source::Scalar(self.scalar()),
            false => self.constant(),
        };
        let text = format!("{name} s{dst}, {}, {}", a.text(), b.text());
        self.put(
            text,
            Action::Scalar {
                dst,
                operation,
                sources: [a, b],
            },
        );
    }

    fn lanes(&mut self) {
        let (scalar, lane) = (self.scalar(), u8::try_from(self.random.below(4)).unwrap());
        match self.random.below(3) {
            0 => self.put(
                format!("v_writelane_b32 v{LANES}, s{scalar}, {lane}"),
                Action::WriteLane {
                    vector: LANES,
                    scalar,
                    lane,
                },
            ),
            1 => self.put(
                format!("v_readlane_b32 s{scalar}, v{LANES}, {lane}"),
                Action::ReadLane {
                    scalar,
                    vector: LANES,
                    lane,
                },
            ),
            _ => {
                let vector = self.vector();
                self.put(
                    format!("v_readfirstlane_b32 s{scalar}, v{vector}"),
                    Action::ReadFirstLane { scalar, vector },
                );
            }
        }
    }

    /// Emits a dual instruction. The parts write an even and an odd register, and their first sources are in different banks.
    fn dual(&mut self) {
        let even = 2 * u8::try_from(self.random.below(4)).unwrap();
        let odd = 1 + 2 * u8::try_from(self.random.below(4)).unwrap();
        let first = self.vector();
        let second = (first + 1) % 4;
        let other = Source::Vector(self.vector());
        let (name, operation): (_, Operation) = match self.random.below(3) {
            0 => ("v_dual_add_nc_u32", |[a, b, _]| a.wrapping_add(b)),
            1 => ("v_dual_lshlrev_b32", |[a, b, _]| b << (a & 31)),
            _ => ("v_dual_and_b32", |[a, b, _]| a & b),
        };
        let (first, second) = (Source::Vector(first), Source::Vector(second));
        let text = format!(
            "v_dual_mov_b32 v{even}, {} :: {name} v{odd}, {}, {}",
            first.text(),
            second.text(),
            other.text()
        );
        let parts = [
            Vector {
                dst: even,
                operation: |[a, _, _]| a,
                sources: [first; 3],
            },
            Vector {
                dst: odd,
                operation,
                sources: [second, other, other],
            },
        ];
        self.put(text, Action::Dual(parts));
    }

    fn acc(&mut self) {
        let (vector, acc) = (self.vector(), u8::try_from(self.random.below(3)).unwrap());
        match self.random.percent(50) {
            true => self.put(
                format!("v_accvgpr_write_b32 a{acc}, v{vector}"),
                Action::AccWrite { acc, vector },
            ),
            false => self.put(
                format!("v_accvgpr_read_b32 v{vector}, a{acc}"),
                Action::AccRead { vector, acc },
            ),
        }
    }

    fn rows(&mut self) {
        let vector = self.vector();
        let row = u32::try_from(self.random.below(4)).unwrap() * 4;
        let is_store = self.random.percent(60);
        let text = self.target.stack(is_store, vector, row);
        let action = match is_store {
            true => Action::Store { row, vector },
            false => Action::Load { row, vector },
        };
        self.put(text, action);
    }

    fn call(&mut self) {
        let (add, carry) = match self.target.scalar_co {
            true => ("s_add_co_u32", "s_add_co_ci_u32"),
            false => ("s_add_u32", "s_addc_u32"),
        };
        // The address and its registers are not checked.
        for text in [
            "s_getpc_b64 s[34:35]".to_owned(),
            format!("{add} s34, s34, clobber@rel32@lo+4"),
            format!("{carry} s35, s35, clobber@rel32@hi+12"),
        ] {
            self.put(text, Action::Nothing);
        }
        self.put("s_swappc_b64 s[30:31], s[34:35]".to_owned(), Action::Call);
    }

    /// Sets the target of a jump that was emitted before the target was known.
    fn aim(&mut self, jump: Option<usize>) {
        let here = self.code.len();
        let Some(at) = jump else { return };
        match &mut self.code[at].action {
            Action::Jump { to } | Action::JumpIfNone { to } | Action::JumpIf { to, .. } => {
                *to = here;
            }
            other => panic!("{other:?} is no jump forward"),
        }
    }

    fn jump(&mut self, name: &str, action: Action) -> usize {
        self.put(name.to_owned(), action);
        self.code.len() - 1
    }

    fn compare(&mut self) {
        let (constant, vector) = (self.constant(), self.vector());
        let Source::Constant(n) = constant else {
            return;
        };
        let text = format!("v_cmp_lt_i32 {}, {n}, v{vector}", self.target.vcc());
        self.put(
            text,
            Action::CompareBelow {
                constant: n,
                vector,
            },
        );
    }

    fn if_lanes(&mut self, depth: u8) {
        let mask = MASKS + 2 * depth;
        let (bits, s) = (self.target.mask_bits(), self.target.mask(mask));
        let (exec, vcc) = (self.target.exec(), self.target.vcc());
        let and_not = self.target.and_not();
        self.compare();
        self.put(
            format!("s_and_saveexec_b{bits} {s}, {vcc}"),
            Action::SaveAnd { mask },
        );
        let has_else = self.random.percent(50);
        if has_else {
            self.put(
                format!("s_xor_b{bits} {s}, {exec}, {s}"),
                Action::Others { mask },
            );
        }
        let skips = self.random.percent(50);
        let skip = skips.then(|| self.jump("s_cbranch_execz", Action::JumpIfNone { to: 0 }));
        self.block(depth + 1);
        self.aim(skip);
        if has_else {
            let text = format!("s_{and_not}_saveexec_b{bits} {s}, {s}");
            self.put(text, Action::Else { mask });
            let skip = skips.then(|| self.jump("s_cbranch_execz", Action::JumpIfNone { to: 0 }));
            self.block(depth + 1);
            self.aim(skip);
        }
        self.put(
            format!("s_or_b{bits} {exec}, {exec}, {s}"),
            Action::Join { mask },
        );
    }

    fn if_scalar(&mut self, depth: u8) {
        let (scalar, constant) = (self.scalar(), 3);
        let text = format!("s_cmp_eq_u32 s{scalar}, {constant}");
        self.put(text, Action::CompareEqual { scalar, constant });
        let skip = self.jump("s_cbranch_scc1", Action::JumpIf { scc: true, to: 0 });
        self.block(depth + 1);
        match self.random.percent(50) {
            true => {
                let over = self.jump("s_branch", Action::Jump { to: 0 });
                self.aim(Some(skip));
                self.block(depth + 1);
                self.aim(Some(over));
            }
            false => self.aim(Some(skip)),
        }
    }

    /// Emits a loop that all lanes execute. Nothing else writes its counter register.
    fn rounds(&mut self, depth: u8) {
        let counter = 40 + depth;
        let set: Operation = |[a, _, _]| a;
        let sources = [Source::Constant(3); 2];
        let action = Action::Scalar {
            dst: counter,
            operation: set,
            sources,
        };
        self.put(format!("s_mov_b32 s{counter}, 3"), action);
        let start = self.code.len();
        self.block(depth + 1);
        let sub = if self.target.scalar_co {
            "s_sub_co_i32"
        } else {
            "s_sub_i32"
        };
        let operation: Operation = |[a, b, _]| a.wrapping_sub(b);
        let sources = [Source::Scalar(counter), Source::Constant(1)];
        let action = Action::Scalar {
            dst: counter,
            operation,
            sources,
        };
        self.put(format!("{sub} s{counter}, s{counter}, 1"), action);
        let action = Action::CompareEqual {
            scalar: counter,
            constant: 0,
        };
        self.put(format!("s_cmp_eq_u32 s{counter}, 0"), action);
        self.put(
            "s_cbranch_scc0".to_owned(),
            Action::JumpIf {
                scc: false,
                to: start,
            },
        );
    }

    /// Emits a loop that lanes leave one by one.
    fn lane_rounds(&mut self, depth: u8) {
        if self.in_lane_loop {
            return self.simple();
        }
        self.in_lane_loop = true;
        let mask = MASKS + 2 * depth;
        let (bits, s) = (self.target.mask_bits(), self.target.mask(mask));
        let (exec, vcc, and_not) = (self.target.exec(), self.target.vcc(), self.target.and_not());
        let from = Source::Vector(self.vector());
        let operation: Operation = |[a, b, _]| a & b;
        let sources = [Source::Constant(3), from, from];
        let action = Action::Vector(Vector {
            dst: COUNTER,
            operation,
            sources,
        });
        self.put(format!("v_and_b32 v{COUNTER}, 3, {}", from.text()), action);
        self.put(format!("s_mov_b{bits} {s}, 0"), Action::Clear { mask });
        let start = self.code.len();
        self.block(depth + 1);
        let operation: Operation = |[a, b, _]| a.wrapping_add(b);
        let counter = Source::Vector(COUNTER);
        let sources = [Source::Constant(1), counter, counter];
        let text = format!("{} v{COUNTER}, 1, v{COUNTER}", self.named("v_add_u32"));
        self.put(
            text,
            Action::Vector(Vector {
                dst: COUNTER,
                operation,
                sources,
            }),
        );
        let text = format!("v_cmp_lt_i32 {vcc}, 3, v{COUNTER}");
        self.put(
            text,
            Action::CompareBelow {
                constant: 3,
                vector: COUNTER,
            },
        );
        self.put(
            format!("s_or_b{bits} {s}, {vcc}, {s}"),
            Action::Leave { mask },
        );
        self.put(
            format!("s_{and_not}_b{bits} {exec}, {exec}, {s}"),
            Action::Without { mask },
        );
        self.put(
            "s_cbranch_execnz".to_owned(),
            Action::JumpIfSome { to: start },
        );
        self.put(
            format!("s_or_b{bits} {exec}, {exec}, {s}"),
            Action::Join { mask },
        );
        self.in_lane_loop = false;
    }

    /// Returns the variables: parameters in v0 to v2 of a function, and others anywhere after the first instructions of a kernel. A
    /// register that has not been written yet holds no variable.
    fn variables(&mut self, first: usize) -> Vec<Variable> {
        let length = self.code.len();
        let parameters = if self.is_kernel { 0 } else { 3 };
        let parameters = (0..parameters).map(|n| {
            let end = 1 + self.random.below(length / 2);
            let ranges = vec![Range {
                start: 0,
                end,
                place: Place::Vector(n),
            }];
            Variable {
                is_parameter: true,
                ranges,
            }
        });
        let mut all: Vec<Variable> = parameters.collect();
        for _ in 0..8 {
            let mut ranges = Vec::new();
            let mut start = first + self.random.below(length - first);
            for _ in 0..1 + self.random.below(3) {
                let end = start + 1 + self.random.below(6);
                if end > length {
                    break;
                }
                let place = match self.random.below(6) {
                    0 => Place::Scalar(self.scalar()),
                    1 => Place::Constant(7),
                    _ => Place::Vector(self.vector()),
                };
                ranges.push(Range { start, end, place });
                start = end + self.random.below(12);
            }
            all.push(Variable {
                is_parameter: false,
                ranges,
            });
        }
        all
    }
}
