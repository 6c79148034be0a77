//! Builds a code object with one variable of a given type, in a wave with known memory.

use std::collections::BTreeMap;

use hetdwarf::arch::Lane;
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::display::Options;
use hetdwarf::inspect::{Program, Stop, StopOptions, ValueState, VariableValue};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::Snapshot;

use super::elf::{Attribute, Entry, code_object, debug_info};

/// The address of the variable, in global memory.
pub const ADDRESS: u64 = 0x7000;

/// The value of an attribute.
#[derive(Clone, Debug)]
pub enum Says {
    /// A number that is not negative.
    Number(u64),
    /// A number with a sign.
    Signed(i8),
    Text(&'static str),
    Expression(Vec<u8>),
    Block(Vec<u8>),
    Flag,
    /// The entry with this label.
    Entry(&'static str),
}

/// An entry of a type or a part of one.
#[derive(Clone, Debug)]
pub struct Part {
    pub depth: usize,
    pub label: &'static str,
    pub tag: gimli::DwTag,
    pub attributes: Vec<(gimli::DwAt, Says)>,
}

/// Returns an entry at a depth below the unit, 1 for a type. Other entries refer to it by its label.
pub fn part(
    depth: usize,
    label: &'static str,
    tag: gimli::DwTag,
    attributes: &[(gimli::DwAt, Says)],
) -> Part {
    Part {
        depth,
        label,
        tag,
        attributes: attributes.to_vec(),
    }
}

/// Returns a base type.
pub fn base(label: &'static str, encoding: gimli::DwAte, bytes: u64) -> Part {
    part(
        1,
        label,
        gimli::DW_TAG_base_type,
        &[
            (gimli::DW_AT_name, Says::Text(label)),
            (gimli::DW_AT_encoding, Says::Number(encoding.0.into())),
            (gimli::DW_AT_byte_size, Says::Number(bytes)),
        ],
    )
}

impl Part {
    /// Adds an attribute.
    pub fn with(mut self, name: gimli::DwAt, says: Says) -> Part {
        self.attributes.push((name, says));
        self
    }
}

fn attribute(says: &Says, labels: &BTreeMap<&str, usize>) -> Attribute {
    match says {
        Says::Number(number) => Attribute::number(*number),
        // These numbers fit into one byte of DW_FORM_sdata.
        Says::Signed(number) => Attribute::Bytes(0x0d, vec![number.cast_unsigned() & 0x7f]),
        Says::Text(text) => Attribute::name(text),
        Says::Expression(bytes) => Attribute::expression(bytes),
        // DW_FORM_block1.
        Says::Block(bytes) => Attribute::Bytes(
            0x0a,
            [&[u8::try_from(bytes.len()).unwrap()], bytes.as_slice()].concat(),
        ),
        // DW_FORM_flag_present.
        Says::Flag => Attribute::Bytes(0x19, Vec::new()),
        Says::Entry(label) => Attribute::Entry(labels[label]),
    }
}

/// Returns the code object. `parts` are the entries of the unit after a function. Leading parts with depth 2 are variables in the function.
pub fn object(language: u64, parts: &[Part]) -> Vec<u8> {
    let code = |depth, tag: gimli::DwTag, more: Vec<(u64, Attribute)>| Entry {
        tag: tag.0.into(),
        attributes: [
            vec![
                (0x11, Attribute::address(0x1000)),
                (0x12, Attribute::number(0x40)),
            ],
            more,
        ]
        .concat(),
        depth,
    };
    let mut entries = vec![
        code(
            0,
            gimli::DW_TAG_compile_unit,
            vec![(0x13, Attribute::number(language))],
        ),
        code(1, gimli::DW_TAG_subprogram, Vec::new()),
    ];
    let labels: BTreeMap<&str, usize> = parts
        .iter()
        .enumerate()
        .map(|(number, part)| (part.label, number + entries.len()))
        .collect();
    for part in parts {
        entries.push(Entry {
            tag: part.tag.0.into(),
            attributes: part
                .attributes
                .iter()
                .map(|(name, says)| (name.0.into(), attribute(says, &labels)))
                .collect(),
            depth: part.depth,
        });
    }
    let (abbreviations, info) = debug_info(&entries);
    code_object(&[
        (".text", &[0; 64]),
        (".debug_abbrev", &abbreviations),
        (".debug_info", &info),
    ])
}

/// Returns a stop of lanes 0 to 3 with these bytes at [`ADDRESS`]. v0 holds 40 plus the lane.
fn wave(bytes: &[u8]) -> Snapshot {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let v0: Vec<String> = (0..64).map(|lane| (40 + lane).to_string()).collect();
    let json = format!(
        r#"{{"format": "hetdwarf-wave/1", "target": "gfx90a", "wave_size": 64, "pc": "0x1010",
            "registers": {{"exec": "0xf", "v0": [{}]}},
            "memory": [{{"space": "none", "address": "{ADDRESS:#x}", "bytes": "{hex}"}}]}}"#,
        v0.join(", ")
    );
    Snapshot::from_json(json.as_bytes()).unwrap()
}

/// Calls `look` with the variable `v`.
pub fn look_at<T>(
    file: &[u8],
    bytes: &[u8],
    look: impl FnOnce(&VariableValue<'_>, &TypeTable) -> T,
) -> T {
    let object = CodeObject::parse(file).unwrap();
    let program = Program::load(&object).unwrap();
    let wave = wave(bytes);
    let arena = Arena::new();
    let stop = Stop::new(&program, &wave, wave.pc(), StopOptions::default(), &arena);
    let mut types = TypeTable::default();
    let variables = stop.call_frame(0).unwrap().variables(&mut types).unwrap();
    let v = variables
        .iter()
        .find(|value| value.variable.name.as_deref() == Some("v"));
    look(v.unwrap(), &types)
}

/// The facts about a variable in a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub state: ValueState,
    pub text: String,
    pub bytes: Vec<u8>,
    /// The note on parts.
    pub note: String,
}

pub fn seen(value: &VariableValue<'_>, types: &TypeTable, lane: Lane) -> Seen {
    let bits = value.bits(lane).ok().flatten();
    Seen {
        state: value.state(lane),
        text: value
            .text(lane, types, &Options::default())
            .unwrap_or_default(),
        bytes: bits.map(|bits| bits.bytes).unwrap_or_default(),
        note: value.not_understood().unwrap_or_default().to_owned(),
    }
}

/// Returns a variable `v` of type `T` at [`ADDRESS`].
pub fn variable() -> Part {
    variable_at(&[&[0x03][..], &ADDRESS.to_le_bytes()].concat())
}

/// Returns a variable `v` of type `T` at another location.
pub fn variable_at(location: &[u8]) -> Part {
    part(
        2,
        "v",
        gimli::DW_TAG_variable,
        &[
            (gimli::DW_AT_name, Says::Text("v")),
            (gimli::DW_AT_type, Says::Entry("T")),
            (gimli::DW_AT_location, Says::Expression(location.to_vec())),
        ],
    )
}

/// Returns lane 0's value of a variable of type `T` among `parts` with these bytes.
pub fn value_of(parts: &[Part], bytes: &[u8]) -> Seen {
    let parts = [vec![variable()], parts.to_vec()].concat();
    look_at(&object(0x0c, &parts), bytes, |v, types| {
        seen(v, types, Lane(0))
    })
}
