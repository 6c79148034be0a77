//! Runs LLVM's disassembler on every opcode of an encoding.
//!
//! Each opcode is probed with words whose fields name distinct registers: `v24` in the text identifies the field with value 24.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::table::layout::{Bits, Encoding, Layout};

/// A field for an operand: its letter in the tables, its position, and the number of the register in it.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub letter: char,
    pub bits: Bits,
    pub value: u32,
    /// The register's number in the text.
    pub register: u32,
}

/// One way to fill in the fields of an encoding.
#[derive(Clone, Debug)]
pub struct Probe {
    pub dwords: Vec<u32>,
    pub fields: Vec<Field>,
}

/// LLVM's text for a probe, and its length in dwords.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub text: String,
    pub dwords: usize,
}

/// The distance between probes. No instruction is longer.
const PITCH: usize = 8;
/// `s_nop 0`, which has the same encoding on all processors.
const NOP: u32 = 0xbf80_0000;

pub fn put(dwords: &mut [u32], Bits(word, low, width): Bits, value: u32) {
    let mask = u32::try_from((1u64 << width) - 1).unwrap() << low;
    let dword = &mut dwords[usize::from(word)];
    *dword = *dword & !mask | value << low & mask;
}

/// Returns the dwords of an instruction with this opcode, with all other fields 0.
pub fn skeleton(layout: &Layout, opcode: u32) -> Vec<u32> {
    let mut dwords = vec![0; usize::from(layout.dwords)];
    dwords[0] = layout.prefix << layout.shift;
    let mut rest = opcode;
    for field in layout.opcode {
        put(&mut dwords, *field, rest);
        rest >>= field.2;
    }
    dwords
}

/// Returns the number of possible opcodes of the encoding.
pub fn opcodes(layout: &Layout) -> u32 {
    1 << layout
        .opcode
        .iter()
        .map(|field| u32::from(field.2))
        .sum::<u32>()
}

/// Returns the opcode in these dwords.
pub fn opcode(layout: &Layout, dwords: &[u32]) -> u32 {
    let (mut opcode, mut shift) = (0, 0);
    for Bits(word, low, width) in layout.opcode {
        let field = dwords[usize::from(*word)] >> low & ((1 << width) - 1);
        opcode |= field << shift;
        shift += width;
    }
    opcode
}

/// Returns true if an earlier layout takes the word.
pub fn is_taken(layouts: &[Layout], index: usize, first: u32) -> bool {
    let fits = |layout: &Layout| first >> layout.shift == layout.prefix;
    layouts[..index].iter().any(fits)
}

/// LLVM's assembler and disassembler.
pub struct Llvm {
    pub mc: PathBuf,
    pub objdump: PathBuf,
    pub folder: PathBuf,
}

impl Llvm {
    /// Returns true if LLVM has the processor. Otherwise LLVM prints a message.
    pub fn knows(&self, processor: &str) -> bool {
        let source = self.folder.join("nothing.s");
        std::fs::write(&source, "").unwrap();
        let run = Command::new(&self.mc)
            .args(["-triple=amdgcn-amd-amdhsa", &format!("-mcpu={processor}")])
            .arg(&source)
            .output()
            .unwrap();
        run.stderr.is_empty()
    }

    /// Disassembles all probes at once.
    pub fn ask(&self, processor: &str, features: &str, probes: &[Vec<u32>]) -> Vec<Option<Answer>> {
        let mut answers = vec![None; probes.len()];
        let mut start = 0;
        // LLVM can fail on a word. The output before it is used, and the next word is tried in a new run.
        while start < probes.len() {
            let found = self.run(processor, features, &probes[start..]);
            let reached = found.keys().next_back().map_or(0, |last| last + 1);
            for (index, answer) in found {
                answers[start + index] = answer;
            }
            start += reached.max(1);
        }
        answers
    }

    fn run(
        &self,
        processor: &str,
        features: &str,
        probes: &[Vec<u32>],
    ) -> BTreeMap<usize, Option<Answer>> {
        let stem = format!("{processor}{features}");
        let source = self.folder.join(format!("{stem}.s"));
        let object = self.folder.join(format!("{stem}.o"));
        let mut text = String::from(".text\n");
        for probe in probes {
            for at in 0..PITCH {
                text.push_str(&format!(".long {:#x}\n", probe.get(at).unwrap_or(&NOP)));
            }
        }
        std::fs::write(&source, text).unwrap();
        let status = Command::new(&self.mc)
            .args([
                "-triple=amdgcn-amd-amdhsa",
                &format!("-mcpu={processor}"),
                "-filetype=obj",
                "-o",
            ])
            .args([&object, &source])
            .status()
            .unwrap();
        assert!(status.success(), "llvm-mc");
        let output = self.disassemble(&object, features);
        let mut found = BTreeMap::new();
        for line in output.lines() {
            let Some((text, rest)) = line.rsplit_once("// ") else {
                continue;
            };
            let Some((address, words)) = rest.split_once(':') else {
                continue;
            };
            let address = usize::from_str_radix(address, 16).unwrap();
            let text = text.trim();
            if address % (4 * PITCH) == 0 {
                let answer = (!text.starts_with(".long")).then(|| Answer {
                    text: text.to_string(),
                    dwords: words
                        .split_whitespace()
                        .filter(|word| !word.starts_with('<'))
                        .count(),
                });
                found.insert(address / (4 * PITCH), answer);
            }
        }
        found
    }

    fn disassemble(&self, object: &Path, features: &str) -> String {
        let output = Command::new(&self.objdump)
            .args(["-d", &format!("--mattr={features}")])
            .arg(object)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Returns the ways to probe an opcode of the encoding. The first that LLVM accepts is used.
pub fn probes(layout: &Layout, opcode: u32) -> Vec<Probe> {
    let field = |letter, word, low, width, value, register| Field {
        letter,
        bits: Bits(word, low, width),
        value,
        register,
    };
    let vector =
        |letter, word, low, register| field(letter, word, low, 9, 256 + register, register);
    let scalar =
        |letter, word, low, width, register| field(letter, word, low, width, register, register);
    let ways: Vec<Vec<Field>> = match layout.encoding {
        Encoding::Sop1 => vec![vec![scalar('d', 0, 16, 7, 16), scalar('a', 0, 0, 8, 24)]],
        Encoding::Sop2 => vec![vec![
            scalar('d', 0, 16, 7, 16),
            scalar('a', 0, 0, 8, 24),
            scalar('b', 0, 8, 8, 32),
        ]],
        Encoding::Sopc => vec![vec![scalar('a', 0, 0, 8, 24), scalar('b', 0, 8, 8, 32)]],
        Encoding::Sopk => vec![vec![scalar('d', 0, 16, 7, 16)]],
        Encoding::Sopp => vec![vec![], vec![scalar('k', 0, 0, 16, 1)]],
        Encoding::Smem if layout.opcode[0].1 == 13 => {
            let fields = vec![
                scalar('d', 0, 6, 7, 16),
                field('e', 0, 0, 6, 12, 24),
                scalar('o', 1, 25, 7, 124),
            ];
            vec![fields]
        }
        Encoding::Smem => {
            let fields = [scalar('d', 0, 6, 7, 16), field('e', 0, 0, 6, 12, 24)];
            // The offset is a constant. gfx9 has a bit for this, and later processors use the null register, whose code differs.
            let with = |more: Field| fields.iter().copied().chain([more]).collect();
            vec![
                with(scalar('o', 0, 17, 1, 1)),
                with(scalar('o', 1, 25, 7, 125)),
                with(scalar('o', 1, 25, 7, 124)),
            ]
        }
        Encoding::Vop1 => vec![
            vec![field('d', 0, 17, 8, 16, 16), vector('a', 0, 0, 24)],
            vec![field('d', 0, 17, 8, 16, 16), vector('a', 0, 0, 152)],
            vec![],
        ],
        Encoding::Vop2 => vec![vec![
            field('d', 0, 17, 8, 16, 16),
            vector('a', 0, 0, 24),
            field('b', 0, 9, 8, 32, 32),
        ]],
        Encoding::Vopc => vec![vec![vector('a', 0, 0, 24), field('b', 0, 9, 8, 32, 32)]],
        Encoding::Vop3 | Encoding::Vop3p => {
            let dst = field('d', 0, 0, 8, 16, 16);
            let (a, b, c) = (
                vector('a', 1, 0, 24),
                vector('b', 1, 9, 32),
                vector('c', 1, 18, 40),
            );
            let (high, high_c) = (field('.', 1, 27, 2, 3, 0), field('.', 0, 14, 1, 1, 0));
            let (scalar_b, scalar_a) = (scalar('b', 1, 9, 9, 32), scalar('a', 1, 0, 9, 24));
            vec![
                vec![dst, a, b, c],
                vec![dst, a, b, scalar('c', 1, 18, 9, 40)],
                vec![dst, a, b],
                vec![dst, a, scalar_b],
                vec![dst, scalar_a, scalar_b],
                vec![dst, a],
                vec![dst, scalar_a],
                vec![dst],
                vec![],
                vec![dst, a, b, c, high, high_c],
            ]
        }
        Encoding::Ds => {
            let all = [
                field('d', 1, 24, 8, 16, 16),
                field('p', 1, 0, 8, 24, 24),
                field('s', 1, 8, 8, 32, 32),
                field('t', 1, 16, 8, 40, 40),
            ];
            // A field that an instruction does not have must be empty.
            let some = |letters: &str| {
                let found = all
                    .into_iter()
                    .filter(|field| letters.contains(field.letter));
                found.collect::<Vec<_>>()
            };
            let letters = [
                "dpst", "dps", "pst", "dp", "ps", "dst", "ds", "st", "p", "d", "s", "",
            ];
            let mut ways: Vec<_> = letters.map(some).into();
            // The bit for global data share is set, which has two possible positions.
            for bit in [16, 17] {
                for letters in ["ps", "dp", "p", "d", "ds", ""] {
                    let gds = field('.', 0, bit, 1, 1, 0);
                    ways.push(some(letters).into_iter().chain([gds]).collect());
                }
            }
            ways
        }
        Encoding::Flat if layout.dwords == 3 => {
            let fields = [
                field('d', 1, 0, 8, 16, 16),
                field('p', 2, 0, 8, 24, 24),
                field('s', 1, 23, 8, 32, 32),
                field('o', 0, 0, 7, 124, 124),
            ];
            [2, 0, 1]
                .map(|segment| {
                    fields
                        .iter()
                        .copied()
                        .chain([field('.', 0, 24, 2, segment, 0)])
                        .collect()
                })
                .into()
        }
        Encoding::Flat => {
            let fields = [
                field('d', 1, 24, 8, 16, 16),
                field('p', 1, 0, 8, 24, 24),
                field('s', 1, 8, 8, 32, 32),
                field('o', 1, 16, 7, 0, 124),
            ];
            let mut ways: Vec<Vec<Field>> = Vec::new();
            for null in [127, 125, 124] {
                for segment in [Bits(0, 14, 2), Bits(0, 16, 2)] {
                    for kind in [2, 0] {
                        let mut fields = fields.to_vec();
                        fields[3].value = null;
                        fields.push(Field {
                            letter: '.',
                            bits: segment,
                            value: kind,
                            register: 0,
                        });
                        ways.push(fields);
                    }
                }
            }
            ways
        }
        Encoding::Mubuf | Encoding::Mtbuf => {
            let fields = [
                field('d', 1, 8, 8, 16, 16),
                field('r', 1, 16, 5, 2, 8),
                scalar('o', 1, 24, 8, 48),
            ];
            let more = |bits: Bits, value| {
                let more = Field {
                    letter: '.',
                    bits,
                    value,
                    register: 0,
                };
                fields.iter().copied().chain([more]).collect::<Vec<_>>()
            };
            let to_lds = [
                field('r', 1, 16, 5, 2, 8),
                scalar('o', 1, 24, 8, 48),
                field('.', 0, 16, 1, 1, 0),
            ];
            vec![
                fields.to_vec(),
                more(Bits(0, 19, 7), 1),
                to_lds.to_vec(),
                vec![],
            ]
        }
        Encoding::Vbuffer => {
            let fields = vec![
                field('d', 1, 0, 8, 16, 16),
                field('r', 1, 9, 9, 8, 8),
                scalar('o', 0, 0, 7, 48),
            ];
            let more = Field {
                letter: '.',
                bits: Bits(1, 23, 7),
                value: 1,
                register: 0,
            };
            let typed = fields.iter().copied().chain([more]).collect();
            vec![fields, typed]
        }
        Encoding::Vintrp => vec![vec![field('d', 0, 18, 8, 16, 16)]],
        Encoding::Vinterp => vec![vec![
            field('d', 0, 0, 8, 16, 16),
            vector('a', 1, 0, 24),
            vector('b', 1, 9, 32),
            vector('c', 1, 18, 40),
        ]],
        Encoding::Ldsdir => vec![vec![field('d', 0, 0, 8, 16, 16)]],
        Encoding::Mimg => {
            let fields = |mask| {
                vec![
                    field('d', 1, 8, 8, 16, 16),
                    field('p', 1, 0, 8, 24, 24),
                    field('.', 0, 8, 4, mask, 0),
                ]
            };
            vec![fields(1), fields(3), fields(15)]
        }
        Encoding::Vimage | Encoding::Vsample => {
            let fields = |mask| vec![field('d', 1, 0, 8, 16, 16), field('.', 0, 22, 4, mask, 0)];
            vec![fields(1), fields(3), fields(15)]
        }
        Encoding::Vopd | Encoding::Vopd3 | Encoding::Exp => vec![],
    };
    ways.into_iter()
        .map(|fields| {
            let mut dwords = skeleton(layout, opcode);
            for field in &fields {
                put(&mut dwords, field.bits, field.value);
            }
            Probe { dwords, fields }
        })
        .collect()
}
