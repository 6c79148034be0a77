//! Builds an object in which every form and every operation refers to an entry.

use std::collections::BTreeMap;

use dwarf_tests::elf::{linked, uleb};
use gimli::*;

/// `DW_AT_LLVM_lane_pc`.
pub const LANE_PC: DwAt = DwAt(0x3e12);

/// An unknown vendor attribute: before DWARF 4 its block may be an expression.
pub const VENDORS: DwAt = DwAt(0x3ffe);

/// A part of a unit or of a list.
#[derive(Clone)]
pub enum Part {
    Bytes(Vec<u8>),
    /// The offset of an entry, by its name.
    Entry(&'static str, Offset),
    /// Parts with their length in front, as LEB128.
    Nested(Vec<Part>),
}

/// The form of a reference to an entry.
#[derive(Clone, Copy)]
pub enum Offset {
    /// An offset in the unit, in a field of this many bytes.
    Unit(usize),
    /// An offset in the unit, encoded as LEB128.
    Leb128(usize),
    /// An offset in the section.
    Section(usize),
}

pub use Offset::{Leb128, Section as InSection, Unit as InUnit};

/// An entry. Its name has the name of the entry that it refers to: `call4 -> t1`.
pub struct Entry {
    name: String,
    tag: DwTag,
    has_children: bool,
    attributes: Vec<(DwAt, DwForm, Vec<Part>)>,
}

/// A unit: its version, and its entries. An entry without a tag ends a list of children.
pub struct Unit {
    pub version: u16,
    pub entries: Vec<Entry>,
}

pub fn raw(bytes: impl Into<Vec<u8>>) -> Part {
    Part::Bytes(bytes.into())
}

/// The sections of the object, and the offsets of its entries.
#[derive(Default)]
struct Made {
    info: Vec<u8>,
    abbrev: Vec<u8>,
    places: BTreeMap<String, usize>,
}

impl Made {
    /// Appends parts, with the offsets of entries from the previous pass.
    fn parts(&self, parts: &[Part], unit: usize, out: &mut Vec<u8>) {
        for part in parts {
            match part {
                Part::Bytes(bytes) => out.extend(bytes),
                Part::Nested(inner) => {
                    let mut bytes = Vec::new();
                    self.parts(inner, unit, &mut bytes);
                    out.extend(uleb(bytes.len() as u64));
                    out.extend(bytes);
                }
                Part::Entry(name, offset) => {
                    let place = self.places.get(*name).copied().unwrap_or(unit);
                    let bytes = match *offset {
                        InUnit(size) => ((place - unit) as u64).to_le_bytes()[..size].to_vec(),
                        InSection(size) => (place as u64).to_le_bytes()[..size].to_vec(),
                        Leb128(size) => padded(place - unit, size),
                    };
                    out.extend(bytes);
                }
            }
        }
    }

    fn unit(&mut self, unit: &Unit) {
        let start = self.info.len();
        let mut body = unit.version.to_le_bytes().to_vec();
        let table = u32::try_from(self.abbrev.len()).unwrap().to_le_bytes();
        match unit.version {
            5 => body.extend([&[1, 8][..], &table].concat()),
            _ => body.extend([&table[..], &[8]].concat()),
        }
        for (number, entry) in unit.entries.iter().enumerate() {
            if entry.tag.0 == 0 {
                body.push(0);
                continue;
            }
            // The codes descend, except that the first is the highest. So the code of the first entry is longer than the codes of
            // functions.
            let code = match number {
                0 => 200,
                number => (unit.entries.len() - number) as u64,
            };
            self.abbrev.extend(uleb(code));
            self.abbrev.extend(uleb(entry.tag.0.into()));
            self.abbrev.push(entry.has_children.into());
            self.places
                .insert(entry.name.clone(), start + 4 + body.len());
            body.extend(uleb(code));
            let name = [entry.name.as_bytes(), &[0]].concat();
            let name = (DW_AT_name, DW_FORM_string, vec![raw(name)]);
            for (name, form, parts) in [name].iter().chain(&entry.attributes) {
                self.abbrev.extend(uleb(name.0.into()));
                self.abbrev.extend(uleb(form.0.into()));
                let mut value = Vec::new();
                self.parts(parts, start, &mut value);
                match *form {
                    form if form == DW_FORM_implicit_const => self.abbrev.extend(value),
                    _ => body.extend(value),
                }
            }
            self.abbrev.extend([0, 0]);
        }
        self.abbrev.push(0);
        let length = u32::try_from(body.len()).unwrap();
        self.info.extend(length.to_le_bytes());
        self.info.extend(body);
    }
}

/// Encodes a number as LEB128 of `size` bytes.
fn padded(mut value: usize, size: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for at in 1..=size {
        let more = if at < size { 0x80 } else { 0 };
        bytes.push((value & 0x7f) as u8 | more);
        value >>= 7;
    }
    assert_eq!(value, 0);
    bytes
}

/// Returns the length of a block or expression, and its contents. Sizes do not depend on the offsets of entries.
fn block(form: DwForm, parts: Vec<Part>) -> Vec<Part> {
    let mut bytes = Vec::new();
    Made::default().parts(&parts, 0, &mut bytes);
    let length = bytes.len() as u64;
    let sizes = [
        (DW_FORM_block1, 1),
        (DW_FORM_block2, 2),
        (DW_FORM_block4, 4),
    ];
    let size = sizes.iter().find(|(fixed, _)| *fixed == form);
    let length = match size {
        Some((_, size)) => length.to_le_bytes()[..*size].to_vec(),
        None => uleb(length),
    };
    [vec![raw(length)], parts].concat()
}

fn entry(name: &str, tag: DwTag, attributes: Vec<(DwAt, DwForm, Vec<Part>)>) -> Entry {
    let name = name.to_owned();
    let has_children = false;
    Entry {
        name,
        tag,
        has_children,
        attributes,
    }
}

/// Returns the end of a list of children.
pub fn end() -> Entry {
    entry("", DwTag(0), Vec::new())
}

pub fn root(name: &str) -> Entry {
    let low = (
        DW_AT_low_pc,
        DW_FORM_addr,
        vec![raw(0x1000_u64.to_le_bytes())],
    );
    let mut root = entry(name, DW_TAG_compile_unit, vec![low]);
    root.has_children = true;
    root
}

/// Returns the entry of a function by its number in the code.
pub fn function(name: &str, number: u64) -> Entry {
    let size = CODE.len() as u64;
    let address = 0x1000 + number * size;
    let attributes = vec![
        (DW_AT_low_pc, DW_FORM_addr, vec![raw(address.to_le_bytes())]),
        (DW_AT_high_pc, DW_FORM_data8, vec![raw(size.to_le_bytes())]),
        (DW_AT_decl_line, DW_FORM_implicit_const, vec![raw([42])]),
    ];
    entry(name, DW_TAG_subprogram, attributes)
}

pub fn target(name: &str) -> Entry {
    let attributes = vec![
        (DW_AT_byte_size, DW_FORM_data1, vec![raw([4])]),
        (DW_AT_encoding, DW_FORM_data1, vec![raw([5])]),
    ];
    entry(name, DW_TAG_base_type, attributes)
}

/// Returns a variable with an attribute that refers to an entry.
pub fn refers(what: &str, to: &str, name: DwAt, form: DwForm, parts: Vec<Part>) -> Entry {
    entry(
        &format!("{what} -> {to}"),
        DW_TAG_variable,
        vec![(name, form, parts)],
    )
}

/// The machine code of a function of gfx90a that switches lanes off and on again: s_mov_b64 s[98:99], exec; v_cmp_eq_u32 vcc, 0, v0;
/// s_and_saveexec_b64 s[34:35], vcc; v_add_u32 v1, v1, v2; s_mov_b64 exec, s[98:99]; v_add_u32 v1, v1, v2; s_setpc_b64 s[30:31].
const CODE: [u8; 28] = [
    0x7e, 0x01, 0xe2, 0xbe, 0x80, 0x00, 0x94, 0x7d, 0x6a, 0x20, 0xa2, 0xbe, 0x01, 0x05, 0x02, 0x68,
    0x62, 0x01, 0xfe, 0xbe, 0x01, 0x05, 0x02, 0x68, 0x1e, 0x1d, 0x80, 0xbe,
];

/// Returns every operation that refers to an entry: its name, and its bytes. Sources: DWARF 5 §7.7.1, and GCC's include/dwarf2.def for the
/// GNU operations.
fn operations(to: &'static str) -> Vec<(&'static str, Vec<Part>)> {
    let code = |code: u8| raw([code]);
    let unit = |size| Part::Entry(to, InUnit(size));
    let section = Part::Entry(to, InSection(4));
    // The shortest encoding for the offset, and the padded encoding of LLVM.
    let leb128 = Part::Entry(to, Leb128(2));
    let long = Part::Entry(to, Leb128(4));
    let call = vec![code(0x99), unit(4)];
    // DW_OP_regval_type of register 2560, then DW_OP_convert to the generic type, which has no entry.
    let typed = |regval, convert| {
        vec![
            code(regval),
            raw(uleb(2560)),
            leb128.clone(),
            raw([convert, 0]),
        ]
    };
    vec![
        ("call2", vec![code(0x98), unit(2)]),
        ("call4", call.clone()),
        ("call_ref", vec![code(0x9a), section.clone()]),
        (
            "implicit_pointer",
            vec![code(0xa0), section.clone(), raw([4])],
        ),
        ("entry_value", vec![code(0xa3), Part::Nested(call.clone())]),
        (
            "entry_value of entry_value",
            // DW_OP_lit1 and DW_OP_drop come first, so that the nested entry value is not at the start of its expression.
            vec![
                raw([0x31, 0x13, 0xa3]),
                Part::Nested(vec![
                    raw([0x31, 0x13, 0xa3]),
                    Part::Nested(typed(0xa5, 0xa8)),
                ]),
                raw([0x9f]),
            ],
        ),
        (
            "const_type",
            vec![code(0xa4), leb128.clone(), raw([4, 1, 2, 3, 4])],
        ),
        ("regval_type", typed(0xa5, 0xa8)),
        ("deref_type", vec![raw([0x31, 0xa6, 4]), leb128.clone()]),
        (
            "xderef_type",
            vec![raw([0x31, 0x31, 0xa7, 4]), leb128.clone()],
        ),
        ("convert", vec![raw([0x31, 0xa8]), leb128.clone()]),
        ("reinterpret", vec![raw([0x31, 0xa9]), leb128.clone()]),
        (
            "convert as LLVM",
            vec![raw([0x31, 0xa8]), long.clone(), raw([0xa9]), long],
        ),
        (
            "GNU_implicit_pointer",
            vec![code(0xf2), section.clone(), raw([4])],
        ),
        ("GNU_entry_value", vec![code(0xf3), Part::Nested(call)]),
        (
            "GNU_const_type",
            vec![code(0xf4), leb128.clone(), raw([4, 1, 2, 3, 4])],
        ),
        ("GNU_regval_type", typed(0xf5, 0xf7)),
        ("GNU_deref_type", vec![raw([0x31, 0xf6, 4]), leb128.clone()]),
        ("GNU_convert", vec![raw([0x31, 0xf7]), leb128.clone()]),
        ("GNU_reinterpret", vec![raw([0x31, 0xf9]), leb128]),
        ("GNU_parameter_ref", vec![code(0xfa), unit(4)]),
        ("GNU_variable_value", vec![code(0xfd), section]),
    ]
}

/// Returns all operations by which an expression can refer to an entry of another unit.
fn calls_elsewhere(to: &'static str) -> Vec<Part> {
    let section = Part::Entry(to, InSection(4));
    vec![raw([0x9a]), section.clone(), raw([0xf2]), section, raw([0])]
}

/// Returns a list with one expression for all code: with `DW_LLE_start_length`, or with offsets from the start of the unit.
fn list(version: u16, parts: Vec<Part>) -> Vec<Part> {
    match version {
        5 => {
            let start = [&[8][..], &0x1000_u64.to_le_bytes(), &[28]].concat();
            [
                vec![raw(start)],
                block(DW_FORM_exprloc, parts),
                vec![raw([0])],
            ]
            .concat()
        }
        _ => {
            let range = [0_u64, 28].map(u64::to_le_bytes).concat();
            [
                vec![raw(range)],
                block(DW_FORM_block2, parts),
                vec![raw([0; 16])],
            ]
            .concat()
        }
    }
}

/// The units, and the lists in `.debug_loclists` and `.debug_loc`, each with the number of its unit.
pub type Everything = (Vec<Unit>, [Vec<(usize, Vec<Part>)>; 2]);

pub fn everything() -> Everything {
    let offset = |at: usize| vec![raw(u32::try_from(at).unwrap().to_le_bytes())];
    // The header, and the table with the offset of the first list.
    let mut new_lists = vec![(0, vec![raw([0; 16])])];
    let mut old_lists = Vec::new();
    let length = |lists: &[(usize, Vec<Part>)]| {
        let mut bytes = Vec::new();
        for (_, list) in lists {
            Made::default().parts(list, 0, &mut bytes);
        }
        bytes.len()
    };
    let add = |lists: &mut Vec<(usize, Vec<Part>)>, unit, version, parts| {
        let at = length(lists);
        lists.push((unit, list(version, parts)));
        offset(at)
    };
    let call = |to| vec![raw([0x99]), Part::Entry(to, InUnit(4))];

    // Fillers that make some offsets longer than seven bits, and later ones longer than a byte.
    let filler = |length| entry(&"-".repeat(length), DW_TAG_variable, Vec::new());
    let mut new = vec![root("new"), filler(85), target("a0")];
    new.push(refers(
        "early",
        "a2",
        DW_AT_type,
        DW_FORM_ref4,
        vec![Part::Entry("a2", InUnit(4))],
    ));
    new.extend([
        function("f", 0),
        target("a1"),
        function("g", 1),
        target("a2"),
    ]);
    new.push(filler(200));
    new.push(refers(
        "function",
        "f",
        DW_AT_type,
        DW_FORM_ref4,
        vec![Part::Entry("f", InUnit(4))],
    ));
    for to in ["a0", "a1", "a2"] {
        let forms = [
            (DW_FORM_ref1, InUnit(1)),
            (DW_FORM_ref2, InUnit(2)),
            (DW_FORM_ref4, InUnit(4)),
            (DW_FORM_ref8, InUnit(8)),
            (DW_FORM_ref_udata, Leb128(2)),
            (DW_FORM_ref_addr, InSection(4)),
        ];
        for (form, size) in forms {
            let parts = vec![Part::Entry(to, size)];
            new.push(refers(&form.to_string(), to, DW_AT_type, form, parts));
        }
        for (what, parts) in operations(to) {
            let parts = block(DW_FORM_exprloc, parts);
            new.push(refers(what, to, DW_AT_location, DW_FORM_exprloc, parts));
        }
        let parts = add(&mut new_lists, 0, 5, call(to));
        new.push(refers(
            "list",
            to,
            DW_AT_location,
            DW_FORM_sec_offset,
            parts,
        ));
        // This function describes its lanes, so nothing is added to it.
        let parts = add(&mut new_lists, 0, 5, call(to));
        let mut lanes = function(&format!("lanes -> {to}"), 2);
        lanes.attributes.push((LANE_PC, DW_FORM_sec_offset, parts));
        new.push(lanes);
    }
    // The first list is referred to by its number.
    let base = (DW_AT_loclists_base, DW_FORM_sec_offset, offset(12));
    new[0].attributes.push(base);
    let first = (DW_AT_location, DW_FORM_loclistx, vec![raw([0])]);
    new.push(entry("list by number -> a0", DW_TAG_variable, vec![first]));
    new.push(end());

    let mut old = vec![root("old"), function("h", 3), target("b1")];
    for (form, to) in [
        (DW_FORM_block1, "b1"),
        (DW_FORM_block2, "b1"),
        (DW_FORM_block4, "b1"),
        (DW_FORM_block, "b1"),
    ] {
        // Readers take the block for an expression, although DWARF 4 has another form for expressions.
        old.push(refers(
            &form.to_string(),
            to,
            DW_AT_location,
            form,
            block(form, call(to)),
        ));
        let mut lanes = function(&format!("lanes, {form} -> {to}"), 2);
        let parts = block(form, call(to));
        lanes.attributes.push((LANE_PC, form, parts));
        old.push(lanes);
    }
    for (what, parts) in operations("b1") {
        let parts = block(DW_FORM_exprloc, parts);
        old.push(refers(
            &format!("old {what}"),
            "b1",
            DW_AT_location,
            DW_FORM_exprloc,
            parts,
        ));
    }
    let parts = add(&mut old_lists, 1, 4, call("b1"));
    old.push(refers(
        "old list",
        "b1",
        DW_AT_location,
        DW_FORM_sec_offset,
        parts,
    ));
    let parts = vec![Part::Entry("a2", InSection(4))];
    old.push(refers(
        "another unit",
        "a2",
        DW_AT_type,
        DW_FORM_ref_addr,
        parts,
    ));
    let parts = block(DW_FORM_exprloc, calls_elsewhere("a2"));
    old.push(refers(
        "another unit, expressions",
        "a2",
        DW_AT_location,
        DW_FORM_exprloc,
        parts,
    ));
    // A constant with the same bytes is unchanged.
    let constant = (
        DW_AT_const_value,
        DW_FORM_block1,
        block(DW_FORM_block1, call("b1")),
    );
    old.push(entry("old constant", DW_TAG_variable, vec![constant]));
    old.push(end());

    let mut older = vec![root("older"), target("c1")];
    older.push(refers(
        "same unit",
        "c1",
        DW_AT_type,
        DW_FORM_ref4,
        vec![Part::Entry("c1", InUnit(4))],
    ));
    let parts = block(DW_FORM_block1, calls_elsewhere("a2"));
    older.push(refers(
        "older",
        "a2",
        DW_AT_location,
        DW_FORM_block1,
        parts.clone(),
    ));
    older.push(refers(
        "older attribute",
        "a2",
        VENDORS,
        DW_FORM_block1,
        parts.clone(),
    ));
    for (name, attribute) in [
        ("const_value", DW_AT_const_value),
        ("discr_list", DW_AT_discr_list),
    ] {
        let constant = (attribute, DW_FORM_block1, parts.clone());
        older.push(entry(name, DW_TAG_variable, vec![constant]));
    }
    older.push(end());

    // In DWARF 2 a reference into the section has the size of an address.
    let mut oldest = vec![root("oldest")];
    let wide = Part::Entry("a2", InSection(8));
    oldest.push(refers(
        "oldest",
        "a2",
        DW_AT_type,
        DW_FORM_ref_addr,
        vec![wide.clone()],
    ));
    let pointer = [raw([0xf2]), wide, raw([0])];
    let parts = block(DW_FORM_block1, [pointer.clone(), pointer].concat());
    oldest.push(refers(
        "oldest, expression",
        "a2",
        DW_AT_location,
        DW_FORM_block1,
        parts,
    ));
    oldest.push(end());

    let units = [(5, new), (4, old), (3, older), (2, oldest)];
    let units = units.map(|(version, entries)| Unit { version, entries });
    (units.into(), [new_lists, old_lists])
}

/// Returns an object with these units and lists.
pub fn object((units, lists): Everything) -> Vec<u8> {
    let mut places = BTreeMap::new();
    let mut made = Made::default();
    // The first pass finds the offsets of entries, and the second uses them.
    for _ in 0..2 {
        made = Made {
            places,
            ..Made::default()
        };
        for unit in &units {
            made.unit(unit);
        }
        places = made.places.clone();
    }
    let mut starts = vec![0];
    for at in 0..units.len() {
        let length: [u8; 4] = made.info[starts[at]..starts[at] + 4].try_into().unwrap();
        starts.push(starts[at] + 4 + u32::from_le_bytes(length) as usize);
    }
    let [mut new_lists, old_lists] = lists.map(|lists| {
        let mut bytes = Vec::new();
        for (unit, list) in &lists {
            made.parts(list, starts[*unit], &mut bytes);
        }
        bytes
    });
    // DWARF 5 §7.29: the table has one offset, whose list follows it.
    let length = u32::try_from(new_lists.len() - 4).unwrap();
    let header = [
        length.to_le_bytes(),
        [5, 0, 8, 0],
        [1, 0, 0, 0],
        [4, 0, 0, 0],
    ];
    new_lists[..16].copy_from_slice(&header.concat());
    // DWARF 5 §6.1.2: each unit has a set without ranges.
    let aranges = starts.iter().take(units.len()).flat_map(|start| {
        let start = u32::try_from(*start).unwrap().to_le_bytes();
        let header = [&28_u32.to_le_bytes()[..], &[2, 0], &start, &[8, 0]].concat();
        [header, vec![0; 20]].concat()
    });
    let aranges: Vec<u8> = aranges.collect();
    let function = |number: usize| number * CODE.len()..(number + 1) * CODE.len();
    let names = ["f", "g", "lanes", "h"].into_iter().enumerate();
    let functions: Vec<_> = names
        .map(|(number, name)| (name.to_owned(), function(number)))
        .collect();
    linked(
        &CODE.repeat(functions.len()),
        &functions,
        &[
            (".debug_abbrev", &made.abbrev),
            (".debug_info", &made.info),
            (".debug_loclists", &new_lists),
            (".debug_loc", &old_lists),
            (".debug_aranges", &aranges),
        ],
    )
}
