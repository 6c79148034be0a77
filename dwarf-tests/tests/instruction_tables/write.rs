//! Makes the rows of all generations, and the generated file.

use std::collections::BTreeMap;
use std::fmt::Write;

use rayon::prelude::*;

use super::facts;
use super::probe::{self, Field, Llvm, Probe};
use super::shape::{self, Parsed};
use super::table::layout::{Encoding, Layout};

/// Processors with the same layouts of encodings: a shared column, and one for each processor with its own.
pub struct Generation {
    pub name: &'static str,
    pub layouts: &'static [Layout],
    /// True if VOP3 can have a literal. LLVM fails on VOP3 literals of gfx9.
    pub has_vop3_literal: bool,
    pub processors: &'static [Processor],
}

pub struct Processor {
    pub name: &'static str,
    /// True if the processor has its own column, with its differences from the shared one.
    pub has_column: bool,
    pub wave_size: u32,
}

/// The opcodes of each encoding, with the facts about the instruction.
pub type Rows = BTreeMap<(Encoding, u32), String>;

/// Returns the contents of the file with the rows.
pub fn file(generations: &[Generation], llvm: &Llvm) -> String {
    let all: Vec<_> = generations
        .par_iter()
        .flat_map_iter(|generation| generation.columns(llvm))
        .collect();
    // The opcodes of an instruction in each column: mostly one or none.
    let mut instructions: BTreeMap<(Encoding, &str), Vec<Vec<u32>>> = BTreeMap::new();
    for (column, (_, rows)) in all.iter().enumerate() {
        for ((encoding, opcode), row) in rows {
            let opcodes = instructions
                .entry((*encoding, row))
                .or_insert_with(|| vec![Vec::new(); all.len()]);
            opcodes[column].push(*opcode);
        }
    }
    let mut lines = Vec::new();
    for ((encoding, row), opcodes) in instructions {
        let most = opcodes.iter().map(Vec::len).max().unwrap();
        for number in 0..most {
            let cells: Vec<Option<u32>> = opcodes
                .iter()
                .map(|some| some.get(number).copied())
                .collect();
            let first = cells.iter().position(Option::is_some).unwrap();
            lines.push((encoding, first, cells[first], row, cells));
        }
    }
    lines.sort_unstable();
    let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
    let mut text = format!(
        "//! The instructions of all generations, with the opcode in each. The columns are those of {}.\n\
         //!\n//! The macro `instructions` documents the columns. The test `instruction_tables` generates this file from LLVM 22's \
         disassembler and\n//! from the list beside the test. Do not edit it.\n\n\
         use super::{{\n    ____, EXEC, Encoding, Entry, INDIRECT, LITERAL, LITERAL64, M0, Op, SCC, Shape, UNNAMED,\n    instructions,\n}};\n\
         use crate::isa::effect::{{Condition, ExecOp, ScalarOp, VectorOp}};\n\n\
         #[rustfmt::skip]\ninstructions! {{\n",
        names.join(", ")
    );
    for lines in lines.chunk_by(|one, other| one.0 == other.0) {
        writeln!(text, "    {:?} {{", lines[0].0).unwrap();
        let largest = lines.iter().flat_map(|line| &line.4).flatten().max();
        let width = if *largest.unwrap() > 0xff { 5 } else { 4 };
        for (.., row, cells) in lines {
            let cells: Vec<_> = cells
                .iter()
                .map(|cell| match cell {
                    Some(opcode) => format!("{opcode:#0width$x}"),
                    None => format!("{:width$}", "____"),
                })
                .collect();
            writeln!(text, "        [{}] {row};", cells.join(" ")).unwrap();
        }
        text.push_str("    }\n");
    }
    text.push_str("}\n");
    text
}

impl Generation {
    /// Returns the name and contents of each column: the shared column, and the columns of processors that have their own.
    fn columns(&self, llvm: &Llvm) -> Vec<(&'static str, Rows)> {
        let mut shared = Rows::new();
        let all: Vec<Rows> = self
            .processors
            .par_iter()
            .map(|one| self.rows(llvm, one))
            .collect();
        for rows in &all {
            for (key, row) in rows {
                shared.entry(*key).or_insert_with(|| row.clone());
            }
        }
        let mut own = Vec::new();
        for (processor, rows) in self.processors.iter().zip(all) {
            if processor.has_column {
                own.push((processor.name, rows));
                continue;
            }
            // If processors in one column have different names for an opcode, the column has no row for it.
            for (key, row) in rows {
                let other = &shared[&key];
                if *other == row {
                    continue;
                }
                let (_, what) = row.rsplit_once('"').unwrap();
                assert!(
                    !what.contains(',') && !what.contains('='),
                    "{row} has flags"
                );
                let unnamed = format!("\"?\"{what}, UNNAMED");
                let (_, of_other) = other.rsplit_once('"').unwrap();
                assert!(
                    of_other.starts_with(what),
                    "{} needs a column of its own",
                    processor.name
                );
                shared.insert(key, unnamed);
            }
        }
        let own = own.into_iter().map(|(name, rows)| {
            let mut column = shared.clone();
            column.extend(rows);
            (name, column)
        });
        let own: Vec<_> = own.collect();
        [(self.name, shared)].into_iter().chain(own).collect()
    }

    /// Returns LLVM's description of every opcode on a processor.
    pub fn rows(&self, llvm: &Llvm, processor: &Processor) -> Rows {
        let (mut keys, mut asked) = (Vec::new(), Vec::new());
        for (place, layout) in self.layouts.iter().enumerate() {
            if layout.opcode.is_empty() {
                continue;
            }
            for opcode in 0..probe::opcodes(layout) {
                for probe in probe::probes(layout, opcode) {
                    let is_other = probe::is_taken(self.layouts, place, probe.dwords[0])
                        || probe::opcode(layout, &probe.dwords) != opcode;
                    if !is_other {
                        asked.push(probe.dwords.clone());
                        keys.push((place, opcode, probe));
                    }
                }
            }
        }
        let usual = format!("+wavefrontsize{}", processor.wave_size);
        let answers = llvm.ask(processor.name, &usual, &asked);
        // A second disassembly shows the parts that depend on the wave size, and register halves, which LLVM prints only on request for
        // some processors.
        let wide = match processor.wave_size {
            32 => llvm.ask(processor.name, "+wavefrontsize64,+real-true16", &asked),
            _ => answers.clone(),
        };
        let mut found: BTreeMap<(usize, u32), (Probe, Parsed, Parsed)> = BTreeMap::new();
        let answers: Vec<_> = keys.into_iter().zip(answers).zip(wide).collect();
        // LLVM's output with remarks (`/*Invalid register…*/`) is used only if there is no other.
        for accepts_remarks in [false, true] {
            for (((place, opcode, probe), one), other) in &answers {
                let Some(answer) = one.clone().or_else(|| other.clone()) else {
                    continue;
                };
                if answer.text.contains("/*") && !accepts_remarks {
                    continue;
                }
                found.entry((*place, *opcode)).or_insert_with(|| {
                    let parsed = Parsed::new(probe, &answer);
                    let other = Parsed::new(probe, other.as_ref().unwrap_or(&answer));
                    (probe.clone(), parsed, other)
                });
            }
        }
        let constants = self.constants(llvm, processor, &usual, &found);
        let mut rows = Rows::new();
        for ((place, opcode), (_, one, other)) in &found {
            let layout = &self.layouts[*place];
            let kinds = constants
                .get(&(*place, *opcode))
                .cloned()
                .unwrap_or_default();
            let row = row(layout, one, other, &kinds);
            let before = rows.insert((layout.encoding, *opcode), row);
            assert!(before.is_none(), "{:?} has two layouts", layout.encoding);
        }
        for (name, encoding, opcode, text, shape) in facts::UNASKED {
            if *name == processor.name {
                rows.insert((*encoding, *opcode), format!("\"{text} ?\": {shape}"));
            }
        }
        rows
    }

    /// Returns the kind of constant of each source: a letter after its operand, unless it has 32 bits.
    fn constants(
        &self,
        llvm: &Llvm,
        processor: &Processor,
        features: &str,
        found: &BTreeMap<(usize, u32), (Probe, Parsed, Parsed)>,
    ) -> BTreeMap<(usize, u32), BTreeMap<char, char>> {
        let (mut keys, mut asked) = (Vec::new(), Vec::new());
        for (key, (probe, ..)) in found {
            for field in &probe.fields {
                if !matches!(field.letter, 'a' | 'b' | 'c') {
                    continue;
                }
                let is_vop3 = matches!(
                    self.layouts[key.0].encoding,
                    Encoding::Vop3 | Encoding::Vop3p
                );
                for (kind, value, literal) in CONSTANTS {
                    if literal.is_some() && is_vop3 && !self.has_vop3_literal {
                        continue;
                    }
                    let mut dwords = probe.dwords.clone();
                    probe::put(&mut dwords, field.bits, *value);
                    dwords.extend(literal);
                    asked.push(dwords);
                    keys.push((*key, *field, *kind));
                }
            }
        }
        let answers = llvm.ask(processor.name, features, &asked);
        let mut kinds: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for ((key, field, kind), answer) in keys.into_iter().zip(answers) {
            let Some(answer) = answer else { continue };
            let (probe, parsed, _) = &found[&key];
            let changed = changed_operand(parsed, &field, &Parsed::new(probe, &answer));
            if changed.as_deref() == Some(kind.1) {
                kinds.entry(key).or_default().insert(field.letter, kind.0);
            }
        }
        kinds
    }
}

/// The kinds of constants: the letter and the text that identifies the kind, the code of the source, and the literal.
const CONSTANTS: &[((char, &str), u32, Option<u32>)] = &[
    // Constants print as bits of an integer, where other kinds print 0.5.
    (('i', "0x3800"), 240, None),
    // The literal is the constant 1.0 of 16 bits, or the upper half of 2.0 in 64 bits.
    (('x', "lit(0x3c00)"), 255, Some(0x3c00)),
    (('d', "2.0"), 255, Some(0x4000_0000)),
];

fn changed_operand(before: &Parsed, field: &Field, after: &Parsed) -> Option<String> {
    let mut operands = before.operands.iter();
    let place = operands.position(|operand| operand.field == Some(field.letter))?;
    after
        .operands
        .get(place)
        .map(|operand| operand.text.clone())
}

fn row(layout: &Layout, one: &Parsed, other: &Parsed, kinds: &BTreeMap<char, char>) -> String {
    let encoding = layout.encoding;
    let shape = shape::shape(encoding, one, other);
    let stem = one.stem();
    let mut flags = facts::flags(stem, &shape);
    match one.dwords.saturating_sub(usize::from(layout.dwords)) {
        0 => {}
        1 => flags.push("LITERAL"),
        _ => flags.push("LITERAL64"),
    }
    // FLAT, SCRATCH and GLOBAL share their rows.
    let name = match (encoding, one.name.split_once('_')) {
        (Encoding::Flat, Some((_, rest))) => rest,
        _ => &one.name,
    };
    let mut text = format!(
        "\"{name}{}\": {shape}",
        shape::operands(encoding, one, other, kinds)
    );
    if !flags.is_empty() {
        write!(text, ", {}", flags.join(" | ")).unwrap();
    }
    if let Some(operation) = facts::operation(encoding, stem) {
        write!(text, " => {operation}").unwrap();
    }
    text
}
