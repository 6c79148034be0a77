//! Writes a unit: its functions with their code, entries, lists and line table.

use core::ops::Range;
use std::collections::BTreeMap;

use gimli::constants::{
    DW_ATE_boolean, DW_ATE_float, DW_ATE_signed, DW_ATE_signed_char, DW_ATE_unsigned,
};

use super::abbreviations::Code as Abbreviation;
use super::bytes::Bytes;
use super::code::{self, Code, Kind};
use super::line::Lines;
use super::locations::{Base, Dialect, Lists, frame_base};
use super::sections::Sections;
use super::{Shape, frames};
use crate::simulator::random::Random;

/// `DW_LANG_OpenCL`, `DW_CC_LLVM_DeviceKernel`, `DW_INL_inlined`.
const OPENCL: u16 = 0x15;
const DEVICE_KERNEL: u8 = 0xc7;
const INLINED: u8 = 1;

/// The words of function names.
const VERBS: &[&str] = &[
    "compute", "scale", "reduce", "scatter", "gather", "sort", "hash", "blend", "trace", "mix",
];
const NOUNS: &[&str] = &[
    "tile", "row", "particle", "weight", "pixel", "edge", "vertex", "sample", "bucket", "wave",
];
const VARIABLES: &[&str] = &[
    "x", "y", "z", "i", "j", "k", "acc", "sum", "best", "index", "offset", "stride", "lane",
    "value", "weight", "mask", "left", "right", "next", "count", "a", "b", "result", "tmp",
];

/// A function that was written.
#[derive(Clone, Debug)]
pub struct Function {
    /// The kind of the function.
    pub kind: Kind,
    /// The name of the function.
    pub name: String,
    /// The addresses of the function.
    pub range: Range<u64>,
    /// The address of an instruction in the middle of the body.
    pub middle: u64,
    /// The return address of the call in the function, if any.
    pub returns_to: Option<u64>,
}

/// A unit that was written.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The range of the unit in `.debug_info`, including its header.
    pub entries: Range<u64>,
    /// The offset of the entries after the first.
    pub children: u64,
    /// The functions, sorted by address.
    pub functions: Vec<Function>,
}

/// The type of a variable: its entry, and its size in bytes.
type Type = (u32, u64);

struct Writer<'s> {
    shape: &'s Shape,
    number: usize,
    dialect: Dialect,
    is_whole: bool,
    random: Random,
    dies: Bytes,
    strings: Vec<u32>,
    string_numbers: BTreeMap<String, u16>,
    addresses: Vec<u64>,
    lists: Lists,
    lines: Lines,
    start: u64,
}

/// The size of a unit's header, DWARF 5.
const HEADER: u32 = 12;

/// Writes unit `number`, which has `count` functions.
pub fn write(shape: &Shape, number: usize, count: usize, sections: &mut Sections) -> Unit {
    let mut random = Random::new(shape.seed ^ (number as u64 + 1) << 20);
    sections.align_text(256);
    let codes = codes(shape, count, &mut random);
    let functions = place(sections, &codes, number, &mut random);
    let mut unit = Writer {
        shape,
        number,
        // The object mixes compilers with and without the extensions.
        dialect: if number.is_multiple_of(2) {
            Dialect::Legacy
        } else {
            Dialect::Het
        },
        is_whole: number % 4 < 2,
        random,
        dies: Bytes::default(),
        strings: Vec::new(),
        string_numbers: BTreeMap::new(),
        addresses: Vec::new(),
        lists: Lists::default(),
        lines: Lines::default(),
        start: functions[0].range.start,
    };
    let cie = frames::common(&mut sections.frame);
    for (code, function) in codes.iter().zip(&functions) {
        frames::function(&mut sections.frame, cie, function.range.start, code);
    }
    let first_child = unit.entries(sections, &codes, &functions);
    let start = u64::from(sections.info.offset());
    unit.finish(sections, &functions);
    Unit {
        entries: start..u64::from(sections.info.offset()),
        children: start + u64::from(first_child),
        functions,
    }
}

/// Returns the code of all functions: leaves, then functions that call the last leaf, then a kernel.
fn codes(shape: &Shape, count: usize, random: &mut Random) -> Vec<Code> {
    let least = (shape.entries * 8).max(24);
    let mut codes: Vec<Code> = Vec::with_capacity(count);
    // The starts of the last leaf and the last function with a frame, from the start of the unit.
    let (mut at, mut leaf, mut framed) = (0_u64, 0_u64, 0_u64);
    for number in 0..count {
        let kind = match number {
            _ if number + 1 == count && count > 2 => Kind::Kernel,
            0 => Kind::Leaf,
            1 => Kind::Framed,
            _ if random.percent(40) => Kind::Leaf,
            _ => Kind::Framed,
        };
        at = at.next_multiple_of(alignment(kind));
        let callee = match kind {
            Kind::Leaf => at,
            Kind::Framed => leaf,
            Kind::Kernel => framed,
        };
        let code = code::write(kind, least, callee as i64 - at as i64, random);
        match kind {
            Kind::Leaf => leaf = at,
            Kind::Framed => framed = at,
            Kind::Kernel => {}
        }
        at += u64::from(code.size());
        codes.push(code);
    }
    codes
}

fn alignment(kind: Kind) -> u64 {
    match kind {
        Kind::Leaf | Kind::Framed => 128,
        Kind::Kernel => 256,
    }
}

/// Appends the code to `.text`, with symbols and kernel descriptors.
fn place(
    sections: &mut Sections,
    codes: &[Code],
    unit: usize,
    random: &mut Random,
) -> Vec<Function> {
    let mut functions = Vec::with_capacity(codes.len());
    for (number, code) in codes.iter().enumerate() {
        let start = sections.align_text(alignment(code.kind));
        let verb = VERBS[random.below(VERBS.len())];
        let noun = NOUNS[random.below(NOUNS.len())];
        let name = format!("{verb}_{noun}_{unit}_{number}");
        for word in &code.words {
            sections.text.u32(*word);
        }
        sections.add_symbol(&name, start, code.size().into(), code.kind == Kind::Kernel);
        let at = |offset: u32| start + u64::from(offset);
        functions.push(Function {
            kind: code.kind,
            name,
            range: start..at(code.size()),
            middle: at(code.at(code.body.start.midpoint(code.body.end))),
            returns_to: code.returns_to.map(at),
        });
    }
    functions
}

impl Writer<'_> {
    /// Writes the entries. Returns the offset of the second.
    fn entries(&mut self, sections: &mut Sections, codes: &[Code], functions: &[Function]) -> u32 {
        self.dies.zeros(HEADER as usize);
        self.root(sections, functions);
        let first_child = self.dies.offset();
        let types = self.types(sections);
        let inlined = self.inlined_function(sections, types[0].0);
        let mut entries: Vec<u32> = Vec::new();
        let (mut leaf, mut framed) = (0, 0);
        for (number, (code, function)) in codes.iter().zip(functions).enumerate() {
            entries.push(self.dies.offset());
            let callee = match code.kind {
                Kind::Leaf => None,
                Kind::Framed => Some(entries[leaf]),
                Kind::Kernel => Some(entries[framed]),
            };
            let line = 10 + number as u16 * 12;
            self.function(sections, (code, function), line, &types, inlined, callee);
            match code.kind {
                Kind::Leaf => leaf = number,
                Kind::Framed => framed = number,
                Kind::Kernel => {}
            }
            let random = &mut self.random;
            self.lines
                .function(function.range.start, code, line, random);
            if !self.is_whole {
                self.lines.end_sequence(function.range.end);
            }
        }
        let end = functions.last().map_or(self.start, |last| last.range.end);
        self.lines.end_sequence(end);
        self.dies.u8(0);
        first_child
    }

    fn root(&mut self, sections: &mut Sections, functions: &[Function]) {
        let producer = match self.dialect {
            Dialect::Legacy => "large, in the manner of clang version 24",
            Dialect::Het => "large, in the manner of ROCm's clang",
        };
        let end = functions.last().map_or(self.start, |last| last.range.end);
        self.begin(if self.is_whole {
            Abbreviation::UnitWhole
        } else {
            Abbreviation::UnitRanges
        });
        self.string(sections, producer);
        self.dies.u16(OPENCL);
        let name = format!("src/unit_{}.cl", self.number);
        self.string(sections, &name);
        self.dies.u32(sections.str_offsets.offset() + 8);
        // The unit's line table, lists and addresses are appended to their sections.
        self.dies.u32(sections.line.offset());
        self.string(sections, "/work");
        if self.is_whole {
            let start = self.address(self.start);
            self.dies.uleb(start);
            self.dies.u32(u32::try_from(end - self.start).unwrap());
        } else {
            self.dies.u64(0).uleb(0);
        }
        self.dies.u32(sections.addr.offset() + 8);
        self.dies.u32(sections.loclists.offset() + 12);
        if !self.is_whole {
            self.dies.u32(sections.rnglists.offset() + 12);
        }
    }

    /// Writes the types of the unit. Returns the types of variables.
    fn types(&mut self, sections: &mut Sections) -> Vec<Type> {
        let mut base = |name: &str, encoding: gimli::DwAte, size: u8| {
            let start = self.begin(Abbreviation::Base);
            self.string(sections, name);
            self.dies.u8(encoding.0).u8(size);
            (start, u64::from(size))
        };
        let int = base("int", DW_ATE_signed, 4);
        let mut types = vec![
            int,
            base("unsigned int", DW_ATE_unsigned, 4),
            base("float", DW_ATE_float, 4),
            base("long", DW_ATE_signed, 8),
            base("double", DW_ATE_float, 8),
        ];
        let float = types[2];
        let _small = [
            base("char", DW_ATE_signed_char, 1),
            base("bool", DW_ATE_boolean, 1),
        ];
        for (pointee, space) in [(int.0, 1), (float.0, 0)] {
            types.push((self.pointer(pointee, space), 8));
        }
        let vector = self.begin(Abbreviation::Vector);
        self.dies.u32(float.0);
        self.begin(Abbreviation::Subrange);
        self.dies.u32(int.0).u8(4).u8(0);
        types.push((vector, 16));
        let array = self.begin(Abbreviation::Array);
        self.dies.u32(int.0);
        self.begin(Abbreviation::Subrange);
        self.dies.u32(int.0).u8(8).u8(0);
        types.push((array, 32));
        let members = [("first", int.0, 0), ("second", float.0, 4)];
        let pair = self.structure(sections, "Pair", 8, &members);
        types.push((pair, 8));
        let members = [
            ("position", vector, 0),
            ("id", int.0, 16),
            ("pair", pair, 20),
        ];
        let particle = self.structure(sections, "Particle", 32, &members);
        types.push((particle, 32));
        let pointer = self.pointer(particle, 1);
        types.push((pointer, 8));
        let alias = self.begin(Abbreviation::Typedef);
        self.dies.u32(types[1].0);
        self.string(sections, "uint");
        self.dies.u8(0).u16(3);
        types.push((alias, 4));
        let enumeration = self.begin(Abbreviation::Enumeration);
        self.dies.u32(types[1].0);
        self.string(sections, "Mode");
        self.dies.u8(4).u8(0).u16(5);
        for (value, name) in ["OFF", "SLOW", "FAST"].into_iter().enumerate() {
            self.begin(Abbreviation::Enumerator);
            self.string(sections, name);
            self.dies.uleb(value as u64);
        }
        self.dies.u8(0);
        types.push((enumeration, 4));
        types
    }

    fn pointer(&mut self, to: u32, space: u8) -> u32 {
        match self.dialect {
            Dialect::Legacy => {
                let start = self.begin(Abbreviation::PointerClass);
                self.dies.u32(to).u32(space.into());
                start
            }
            Dialect::Het => {
                let start = self.begin(Abbreviation::Pointer);
                self.dies.u32(to).u8(space);
                start
            }
        }
    }

    fn structure(
        &mut self,
        sections: &mut Sections,
        name: &str,
        size: u8,
        members: &[(&str, u32, u8)],
    ) -> u32 {
        let start = self.begin(Abbreviation::Structure);
        self.string(sections, name);
        self.dies.u8(size).u8(0).u16(4);
        for (name, ty, offset) in members {
            self.begin(Abbreviation::Member);
            self.string(sections, name);
            self.dies.u32(*ty).u8(0).u16(5).u8(*offset);
        }
        self.dies.u8(0);
        start
    }

    /// Writes a function that others inline. Returns its entry and the entry of its parameter.
    fn inlined_function(&mut self, sections: &mut Sections, int: u32) -> (u32, u32) {
        let start = self.begin(Abbreviation::Abstract);
        let name = format!("clamp_{}", self.number);
        self.string(sections, &name);
        self.dies.u8(0).u16(7).u32(int).u8(INLINED);
        let parameter = self.begin(Abbreviation::AbstractParameter);
        self.string(sections, "limit");
        self.dies.u8(0).u16(7).u32(int).u8(0);
        (start, parameter)
    }

    fn function(
        &mut self,
        sections: &mut Sections,
        (code, function): (&Code, &Function),
        line: u16,
        types: &[Type],
        inlined: (u32, u32),
        callee: Option<u32>,
    ) {
        let is_kernel = code.kind == Kind::Kernel;
        self.begin(if is_kernel {
            Abbreviation::Kernel
        } else {
            Abbreviation::Function
        });
        let start = self.address(function.range.start);
        self.dies.uleb(start).u32(code.size());
        let base = frame_base(code.kind == Kind::Leaf);
        self.dies.block(base.slice());
        let name = sections.string(&function.name);
        let name = self.string_number(name);
        self.dies.u16(name).u8(0).u16(line);
        if is_kernel {
            self.dies.u8(DEVICE_KERNEL);
        } else {
            self.dies.u32(types[0].0);
        }
        let base = if self.is_whole {
            Base::Unit(u32::try_from(function.range.start - self.start).unwrap())
        } else {
            Base::Function(start)
        };
        let body = code.body.clone();
        let half = body.start + body.len() / 4..body.end - body.len() / 4;
        let variables = self.shape.variables;
        let in_block = variables / 4;
        for number in 0..variables - in_block {
            let line = line + 1 + number as u16 % 10;
            let is_parameter = number < variables / 3;
            self.variable(
                sections,
                code,
                base,
                body.clone(),
                is_parameter,
                line,
                types,
            );
        }
        let at = |number: usize| function.range.start + u64::from(code.at(number));
        let length = code.at(half.end) - code.at(half.start);
        if in_block > 0 {
            self.begin(Abbreviation::Block);
            let block = self.address(at(half.start));
            self.dies.uleb(block).u32(length);
            for number in 0..in_block {
                let line = line + 4 + number as u16 % 6;
                self.variable(sections, code, base, half.clone(), false, line, types);
            }
        }
        if self.random.percent(25) && self.shape.entries > 0 {
            self.begin(Abbreviation::Inlined);
            let block = self.address(at(half.start));
            self.dies.u32(inlined.0).uleb(block).u32(length);
            self.dies.u8(0).u16(line + 6).u8(9);
            self.begin(Abbreviation::InlinedParameter);
            let list = self.list(types[0].1, base, code, half);
            self.dies.uleb(list).u32(inlined.1).u8(0);
        }
        // Compilers put the call inside the block if both are at the same position.
        if in_block > 0 {
            self.dies.u8(0);
        }
        if let (Some(returns_to), Some(callee)) = (function.returns_to, callee) {
            self.begin(Abbreviation::CallSite);
            let returns_to = self.address(returns_to);
            self.dies.u32(callee).uleb(returns_to);
        }
        self.dies.u8(0);
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "each is another fact of a variable"
    )]
    fn variable(
        &mut self,
        sections: &mut Sections,
        code: &Code,
        base: Base,
        alive: Range<usize>,
        is_parameter: bool,
        line: u16,
        types: &[Type],
    ) {
        let (ty, size) = types[self.random.below(types.len())];
        let on_stack = !is_parameter && (self.shape.entries == 0 || self.random.percent(15));
        if on_stack {
            self.begin(Abbreviation::VariableOnStack);
            let mut location = Bytes::default();
            // An object that does not fit into registers is in scratch.
            super::locations::expression(&mut location, self.dialect, 16, &mut self.random);
            self.dies.block(location.slice());
        } else {
            self.begin(if is_parameter {
                Abbreviation::Parameter
            } else {
                Abbreviation::Variable
            });
            let list = self.list(size, base, code, alive);
            self.dies.uleb(list);
        }
        let name = VARIABLES[self.random.below(VARIABLES.len())];
        self.string(sections, name);
        self.dies.u8(0).u16(line).u32(ty);
    }

    fn list(&mut self, size: u64, base: Base, code: &Code, alive: Range<usize>) -> u64 {
        let (kind, count) = ((self.dialect, size), self.shape.entries.max(1));
        self.lists
            .add(kind, base, code, alive, count, &mut self.random)
    }

    fn finish(self, sections: &mut Sections, functions: &[Function]) {
        let unit = sections.info.offset();
        let length = sections.info.start_length();
        // Version 5, a compile unit, addresses of 8 bytes, abbreviations at offset 0.
        sections.info.u16(5).u8(1).u8(8).u32(0);
        sections.info.raw(&self.dies.slice()[HEADER as usize..]);
        sections.info.end_length(length);

        let length = sections.str_offsets.start_length();
        sections.str_offsets.u16(5).u16(0);
        for offset in &self.strings {
            sections.str_offsets.u32(*offset);
        }
        sections.str_offsets.end_length(length);

        let length = sections.addr.start_length();
        sections.addr.u16(5).u8(8).u8(0);
        for address in &self.addresses {
            sections.addr.u64(*address);
        }
        sections.addr.end_length(length);

        let file = sections.line_string(&format!("src/unit_{}.cl", self.number));
        self.lines.finish(&mut sections.line, 0, file);
        self.lists.finish(&mut sections.loclists);
        if !self.is_whole {
            range_list(sections, functions);
        }
        if self.shape.aranges {
            arange_set(sections, unit, functions);
        }
    }

    /// Starts an entry. Returns its offset in the unit.
    fn begin(&mut self, code: Abbreviation) -> u32 {
        let start = self.dies.offset();
        self.dies.uleb(code as u64);
        start
    }

    /// Appends a string that other entries share.
    fn string(&mut self, sections: &mut Sections, text: &str) {
        let number = match self.string_numbers.get(text) {
            Some(number) => *number,
            None => {
                let offset = sections.shared_string(text);
                let number = self.string_number(offset);
                self.string_numbers.insert(text.to_owned(), number);
                number
            }
        };
        self.dies.u16(number);
    }

    fn string_number(&mut self, offset: u32) -> u16 {
        self.strings.push(offset);
        u16::try_from(self.strings.len() - 1).expect("a unit has at most 65536 strings")
    }

    fn address(&mut self, address: u64) -> u64 {
        self.addresses.push(address);
        self.addresses.len() as u64 - 1
    }
}

/// Writes the range list of a unit, with one range for each function.
fn range_list(sections: &mut Sections, functions: &[Function]) {
    const START_LENGTH: u8 = 7;
    const END_OF_LIST: u8 = 0;
    let section = &mut sections.rnglists;
    let length = section.start_length();
    section.u16(5).u8(8).u8(0).u32(1).u32(4);
    for function in functions {
        let size = function.range.end - function.range.start;
        section
            .u8(START_LENGTH)
            .u64(function.range.start)
            .uleb(size);
    }
    section.u8(END_OF_LIST);
    section.end_length(length);
}

/// Writes the unit's part of `.debug_aranges`.
fn arange_set(sections: &mut Sections, unit: u32, functions: &[Function]) {
    let section = &mut sections.aranges;
    let length = section.start_length();
    // Version 2; padding up to a multiple of two addresses.
    section.u16(2).u32(unit).u8(8).u8(0).u32(0);
    for function in functions {
        let size = function.range.end - function.range.start;
        section.u64(function.range.start).u64(size);
    }
    section.u64(0).u64(0);
    section.end_length(length);
}
