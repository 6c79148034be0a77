//! The rows of a family's tables, and the files that they make.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::facts;
use super::probe::{self, Field, Llvm, Probe};
use super::shape::{self, Parsed};
use super::table::layout::{Encoding, Layout};

/// A file of tables: a processor for each, of which the first ones share the table that all of them have.
pub struct File {
    pub path: &'static str,
    pub what: &'static str,
    pub layouts: &'static [Layout],
    /// Whether VOP3 can have a literal; LLVM fails on those of gfx9.
    pub has_vop3_literal: bool,
    pub processors: &'static [Processor],
}

pub struct Processor {
    pub name: &'static str,
    /// The name of its own table, for what differs from those before it.
    pub table: Option<&'static str>,
    pub wave_size: u32,
}

/// Opcodes of one encoding, by the encoding's place in the layouts.
pub type Rows = BTreeMap<(usize, u32), String>;

impl File {
    /// The text of the file.
    pub fn text(&self, llvm: &Llvm) -> String {
        let mut base = Rows::new();
        let mut own = Vec::new();
        let all: Vec<Rows> = self
            .processors
            .iter()
            .map(|one| self.rows(llvm, one))
            .collect();
        for rows in &all {
            for (key, row) in rows {
                base.entry(*key).or_insert_with(|| row.clone());
            }
        }
        for (processor, rows) in self.processors.iter().zip(&all) {
            let differs = |(key, row): (&(usize, u32), &String)| {
                (base.get(key) != Some(row)).then(|| (*key, row.clone()))
            };
            let rows: Rows = rows.iter().filter_map(differs).collect();
            if let Some(table) = processor.table {
                own.push((processor.name, table, rows));
                continue;
            }
            // The processors of one table that have different names for an opcode: it has none.
            for (key, row) in rows {
                let (_, what) = row.rsplit_once('"').unwrap();
                assert!(
                    !what.contains(',') && !what.contains('='),
                    "{row} has flags"
                );
                let unnamed = format!("\"?\"{what}, UNNAMED");
                let (_, of_base) = base[&key].rsplit_once('"').unwrap();
                assert!(
                    of_base.starts_with(what),
                    "{} needs a table of its own",
                    processor.name
                );
                base.insert(key, unnamed);
            }
        }
        let mut body = String::new();
        self.list(&mut body, "The opcodes.", "OPCODES", "", &base);
        for (processor, table, rows) in &own {
            let what = format!("Where {processor} differs.");
            self.list(&mut body, &what, table, &format!("{table}_"), rows);
        }
        let mut text = format!(
            "//! The opcodes of {}\n//!\n//! What the columns mean is said where the macro `rows` is. Made by the test \
             `instruction_tables` of LLVM 22's disassembler and\n//! the list beside it; not to be edited.\n\n",
            self.what
        );
        let used = |name: &&&str| {
            let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
            body.split(word).any(|one| one == **name)
        };
        let names = [
            "EXEC",
            "Encoding",
            "INDIRECT",
            "LITERAL",
            "LITERAL64",
            "M0",
            "Op",
            "Row",
            "Rows",
            "SCC",
            "Shape",
            "Table",
            "UNNAMED",
        ];
        let always = ["Encoding", "Op", "Row", "Rows", "Shape", "Table"];
        let names: Vec<_> = names
            .iter()
            .filter(|name| always.contains(*name) || used(name))
            .collect();
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        writeln!(
            text,
            "#[rustfmt::skip]\nuse super::{{{}, rows}};",
            names.join(", ")
        )
        .unwrap();
        writeln!(
            text,
            "use crate::isa::effect::{{Condition, ExecOp, ScalarOp}};\n"
        )
        .unwrap();
        text.push_str(body.trim_end());
        text.push('\n');
        text
    }

    fn list(&self, text: &mut String, what: &str, table: &str, prefix: &str, rows: &Rows) {
        let name = |encoding: Encoding| format!("{prefix}{encoding:?}").to_uppercase();
        writeln!(
            text,
            "/// {what}\n#[rustfmt::skip]\npub(super) const {table}: &[Table] = &["
        )
        .unwrap();
        let some = |place: usize| rows.range((place, 0)..(place + 1, 0));
        for (place, layout) in self.layouts.iter().enumerate() {
            if some(place).next().is_some() {
                writeln!(
                    text,
                    "    (Encoding::{:?}, {}),",
                    layout.encoding,
                    name(layout.encoding)
                )
                .unwrap();
            }
        }
        writeln!(text, "];\n").unwrap();
        for (place, layout) in self.layouts.iter().enumerate() {
            if some(place).next().is_none() {
                continue;
            }
            writeln!(
                text,
                "#[rustfmt::skip]\nconst {}: Rows = rows! {{",
                name(layout.encoding)
            )
            .unwrap();
            for ((_, opcode), row) in some(place) {
                writeln!(text, "    {opcode:#04x} {row};").unwrap();
            }
            writeln!(text, "}};\n").unwrap();
        }
    }

    /// What LLVM says of every opcode on a processor.
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
        // What depends on the wave size, and the halves of registers that LLVM tells on request alone on some.
        let wide = match processor.wave_size {
            32 => llvm.ask(processor.name, "+wavefrontsize64,+real-true16", &asked),
            _ => answers.clone(),
        };
        let mut found: BTreeMap<(usize, u32), (Probe, Parsed, Parsed)> = BTreeMap::new();
        let answers: Vec<_> = keys.into_iter().zip(answers).zip(wide).collect();
        // What LLVM remarks on (`/*Invalid register…*/`) counts only if there is nothing else.
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
            rows.insert((*place, *opcode), row(layout, one, other, &kinds));
        }
        for (name, encoding, opcode, text, shape) in facts::UNASKED {
            let place = self
                .layouts
                .iter()
                .position(|layout| layout.encoding == *encoding);
            if let Some(place) = place.filter(|_| *name == processor.name) {
                rows.insert((place, *opcode), format!("\"{text} ?\": {shape}"));
            }
        }
        rows
    }

    /// What kind of constant each source takes: a letter after its operand where it is not one of 32 bits.
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

/// Kinds of constants: the letter and what is printed if it is of the kind; the code of the source; and the literal.
const CONSTANTS: &[((char, &str), u32, Option<u32>)] = &[
    // The bits of an integer, where others have 0.5.
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
