//! Tests each rule with a small code object that violates it and a similar one that does not. The objects are written byte by byte, so that they can
//! be invalid: DWARF 5 §7.5 for entries, §7.29 for lists.

mod nest;

use gimli::constants::*;
use gimli::{DwAt, DwForm};

use super::*;
use crate::expr::{Encoding, ParseOptions, parse};
use crate::inspect::Program;
use crate::object::CodeObject;
use crate::object::testing::{ALLOC, EXECUTE, PROGBITS, linked, section};

/// The value of an attribute, by form.
#[derive(Clone, Debug)]
enum Form {
    Data1(u8),
    Sdata(i8),
    Text(&'static str),
    Address(u64),
    /// `DW_FORM_ref4` to the entry with this label.
    To(&'static str),
    /// `DW_FORM_ref4` with this offset.
    Raw(u32),
    /// `DW_FORM_exprloc`. `call(NAME)` calls the entry with this label.
    Exprloc(&'static str),
    /// `DW_FORM_sec_offset` of the list with this index.
    List(usize),
    /// `DW_FORM_sec_offset` with this offset.
    Offset(u32),
}

use Form::*;

/// An entry under construction.
#[derive(Clone, Debug)]
struct Made {
    label: &'static str,
    tag: DwTag,
    attributes: Vec<(DwAt, Form)>,
    children: Vec<Made>,
}

fn made(tag: DwTag, label: &'static str) -> Made {
    Made {
        label,
        tag,
        attributes: Vec::new(),
        children: Vec::new(),
    }
}

impl Made {
    fn with(mut self, name: DwAt, form: Form) -> Made {
        self.attributes.push((name, form));
        self
    }

    fn has(mut self, child: Made) -> Made {
        self.children.push(child);
        self
    }
}

/// An entry of a list: start, end and expression.
type ListEntry = (u64, u64, &'static str);

/// A code object under construction: the entries below the root of the unit, and its location lists.
#[derive(Clone, Debug, Default)]
struct File {
    language: u8,
    entries: Vec<Made>,
    lists: Vec<Vec<ListEntry>>,
    /// The number of bytes to remove from the end of the location lists.
    cut: usize,
    /// The contents of `.debug_rnglists`.
    ranges: Vec<u8>,
}

fn file(entries: impl IntoIterator<Item = Made>) -> File {
    File {
        language: 0x0c, // DW_LANG_C99
        entries: entries.into_iter().collect(),
        ..File::default()
    }
}

impl File {
    fn list(mut self, entries: &[ListEntry]) -> File {
        self.lists.push(entries.to_vec());
        self
    }
}

fn expression(text: &str) -> Vec<u8> {
    let names: Vec<_> = text.split(", ").map(|one| format!("DW_OP_{one}")).collect();
    parse(&names.join(", "), &ParseOptions::default())
        .unwrap()
        .encode(Encoding::AMDGPU)
        .unwrap()
}

/// The bytes of `.debug_info` and `.debug_abbrev` under construction.
#[derive(Default)]
struct Sections {
    info: Vec<u8>,
    abbreviations: Vec<u8>,
    codes: u8,
    labels: Vec<(&'static str, u32)>,
    /// The positions of references that are still to be filled in.
    holes: Vec<(usize, &'static str)>,
    lists: Vec<u32>,
}

impl Sections {
    /// Returns the offset of the entry with this label.
    fn offset(&self, label: &str) -> u32 {
        let found = self.labels.iter().find(|(found, _)| *found == label);
        found.unwrap().1
    }

    fn entry(&mut self, entry: &Made) {
        self.codes += 1;
        self.labels.push((entry.label, self.info.len() as u32));
        if entry.label == "no abbreviation" {
            self.info.push(0x7f);
            return;
        }
        self.info.push(self.codes);
        self.abbreviations.push(self.codes);
        uleb(&mut self.abbreviations, u64::from(entry.tag.0));
        self.abbreviations
            .push(u8::from(!entry.children.is_empty()));
        for (name, form) in &entry.attributes {
            uleb(&mut self.abbreviations, u64::from(name.0));
            let code = self.value(form);
            uleb(&mut self.abbreviations, u64::from(code.0));
        }
        self.abbreviations.extend([0, 0]);
        for child in &entry.children {
            self.entry(child);
        }
        if !entry.children.is_empty() {
            self.info.push(0);
        }
    }

    fn value(&mut self, form: &Form) -> DwForm {
        match form {
            Data1(value) => self.info.push(*value),
            Sdata(value) => self.info.push(value.cast_unsigned() & 0x7f),
            Text(text) => {
                self.info.extend(text.as_bytes());
                self.info.push(0);
            }
            Address(address) => self.info.extend(address.to_le_bytes()),
            To(label) => {
                self.holes.push((self.info.len(), label));
                self.info.extend([0; 4]);
            }
            Raw(offset) | Offset(offset) => self.info.extend(offset.to_le_bytes()),
            Exprloc(text) => match text.strip_prefix("call ") {
                Some(label) => {
                    self.info.extend([5, DW_OP_call4.0]);
                    self.holes.push((self.info.len(), label));
                    self.info.extend([0; 4]);
                }
                None => {
                    let bytes = expression(text);
                    self.info.push(bytes.len() as u8);
                    self.info.extend(bytes);
                }
            },
            List(number) => self.info.extend(self.lists[*number].to_le_bytes()),
        }
        match form {
            Data1(_) => DW_FORM_data1,
            Sdata(_) => DW_FORM_sdata,
            Text(_) => DW_FORM_string,
            Address(_) => DW_FORM_addr,
            To(_) | Raw(_) => DW_FORM_ref4,
            Exprloc(_) => DW_FORM_exprloc,
            List(_) | Offset(_) => DW_FORM_sec_offset,
        }
    }
}

fn uleb(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Returns `.debug_loclists`, and the offset of each list.
fn lists(file: &File) -> (Vec<u8>, Vec<u32>) {
    let mut body = vec![5, 0, 8, 0, 0, 0, 0, 0];
    let mut offsets = Vec::new();
    for list in &file.lists {
        offsets.push(body.len() as u32 + 4);
        for (from, to, text) in list {
            body.push(DW_LLE_start_end.0);
            body.extend(from.to_le_bytes());
            body.extend(to.to_le_bytes());
            let bytes = expression(text);
            body.push(bytes.len() as u8);
            body.extend(bytes);
        }
        body.push(DW_LLE_end_of_list.0);
    }
    body.truncate(body.len() - file.cut);
    let mut section = (body.len() as u32).to_le_bytes().to_vec();
    section.extend(body);
    (section, offsets)
}

/// Returns the unit of a file. Its abbreviations are at the start of their section.
fn unit(file: &File) -> Sections {
    let mut sections = Sections {
        info: vec![0, 0, 0, 0, 5, 0, DW_UT_compile.0, 8, 0, 0, 0, 0],
        lists: lists(file).1,
        ..Sections::default()
    };
    let mut unit = made(DW_TAG_compile_unit, "unit")
        .with(DW_AT_language, Data1(file.language))
        .with(DW_AT_low_pc, Address(0x1000))
        .with(DW_AT_high_pc, Address(0x1100));
    unit.children.clone_from(&file.entries);
    sections.entry(&unit);
    sections.abbreviations.push(0);
    let length = sections.info.len() as u32 - 4;
    sections.info[..4].copy_from_slice(&length.to_le_bytes());
    for (hole, label) in &sections.holes {
        let offset = sections.offset(label);
        sections.info[*hole..*hole + 4].copy_from_slice(&offset.to_le_bytes());
    }
    sections
}

/// Returns the code object of a file: gfx90a, with code at 0x1000 to 0x1100.
fn object(file: &File) -> Vec<u8> {
    object_of(&[file])
}

/// Returns a code object with one unit for each file. Only the first file may have lists.
fn object_of(files: &[&File]) -> Vec<u8> {
    let (mut info, mut abbreviations) = (Vec::new(), Vec::new());
    for file in files {
        let mut unit = unit(file);
        unit.info[8..12].copy_from_slice(&(abbreviations.len() as u32).to_le_bytes());
        info.extend(unit.info);
        abbreviations.extend(unit.abbreviations);
    }
    linked(&[
        section(".text", PROGBITS, &[0; 0x100]).flags(ALLOC | EXECUTE),
        section(".debug_info", PROGBITS, &info),
        section(".debug_abbrev", PROGBITS, &abbreviations),
        section(".debug_loclists", PROGBITS, &lists(files[0]).0),
        section(".debug_rnglists", PROGBITS, &files[0].ranges),
    ])
}

fn findings(bytes: &[u8]) -> Vec<Finding> {
    let object = CodeObject::parse(bytes).unwrap();
    let program = Program::load(&object).unwrap();
    let mut findings = Findings::default();
    let meter = std::sync::Arc::clone(program.meter());
    check(&Subject::new(&program, meter), 1, &mut findings);
    findings.finish(program.meter()).0
}

/// Returns the base types of variables.
fn int() -> Made {
    base("int", 4)
}

fn base(label: &'static str, size: u8) -> Made {
    made(DW_TAG_base_type, label)
        .with(DW_AT_name, Text(label))
        .with(DW_AT_encoding, Data1(DW_ATE_signed.0))
        .with(DW_AT_byte_size, Data1(size))
}

fn variable(label: &'static str, location: Form) -> Made {
    made(DW_TAG_variable, label)
        .with(DW_AT_name, Text(label))
        .with(DW_AT_type, To("int"))
        .with(DW_AT_location, location)
}

/// Returns a function from 0x1000 to 0x1080.
fn function() -> Made {
    made(DW_TAG_subprogram, "f")
        .with(DW_AT_name, Text("f"))
        .with(DW_AT_low_pc, Address(0x1000))
        .with(DW_AT_high_pc, Address(0x1080))
}

fn in_function(location: Form) -> File {
    file([int(), function().has(variable("x", location))])
}

const LLVM_LANES: DwAt = DwAt(0x3e11);
const LLVM_LANE_PC: DwAt = DwAt(0x3e12);
const LLVM_ACTIVE_LANE: DwAt = DwAt(0x3e08);
const LLVM_ADDRESS_SPACE: DwAt = DwAt(0x3e10);
const LLVM_MEMORY_SPACE: DwAt = DwAt(0x3e0f);

fn pointer(space: u8) -> File {
    file([made(DW_TAG_pointer_type, "p").with(LLVM_ADDRESS_SPACE, Data1(space))])
}

fn lanes(attributes: impl IntoIterator<Item = (DwAt, Form)>) -> File {
    let mut function = function();
    function.attributes.extend(attributes);
    file([function])
}

/// A vector with one address for each lane, and a mask of 64 bits.
const PC_OF_LANES: Form = Exprloc("regx PC_REG, LLVM_extend 0x40 0x40");
const EXEC: Form = Exprloc("regx EXEC");

fn with_frame_base(base: &'static str) -> File {
    file([int(), function().with(DW_AT_frame_base, Exprloc(base))])
}

/// Returns a function with one byte of code at an address.
fn at_address(address: u64) -> File {
    let function = made(DW_TAG_subprogram, "g").with(DW_AT_low_pc, Address(address));
    file([int(), function.with(DW_AT_high_pc, Address(address + 1))])
}

/// Returns an object whose type has this size in bytes.
fn of_size(bytes: u8) -> File {
    file([
        base("t", bytes),
        made(DW_TAG_variable, "x")
            .with(DW_AT_type, To("t"))
            .with(DW_AT_location, Exprloc("regx SGPR4")),
    ])
}

fn list_of(entries: &[ListEntry]) -> File {
    in_function(List(0)).list(entries)
}

/// A rule, an object that violates it, and one that does not.
type Example = (&'static str, fn() -> File, fn() -> File);

#[rustfmt::skip]
const EXAMPLES: &[Example] = &[
    ("loc-entry",             || file([int(), made(DW_TAG_variable, "no abbreviation")]),
                              || file([int()])),
    ("loc-list",              || in_function(Offset(0x9999)),
                              || list_of(&[(0x1000, 0x1010, "regx SGPR4")])),
    ("loc-list",              || File { cut: 2, ..list_of(&[(0x1000, 0x1010, "regx SGPR4")]) },
                              || list_of(&[])),
    ("loc-range-backwards",   || list_of(&[(0x1010, 0x1000, "regx SGPR4")]),
                              || list_of(&[(0x1000, 0x1010, "regx SGPR4")])),
    ("loc-range-empty",       || list_of(&[(0x1010, 0x1010, "regx SGPR4")]),
                              || list_of(&[(0x1010, 0x1014, "regx SGPR4")])),
    ("loc-range-overlap",     || list_of(&[(0x1000, 0x1010, "regx SGPR4"), (0x100c, 0x1014, "regx SGPR5")]),
                              || list_of(&[(0x1000, 0x1010, "regx SGPR4"), (0x1010, 0x1014, "regx SGPR5")])),
    ("loc-range-outside",     || list_of(&[(0x1070, 0x1084, "regx SGPR4")]),
                              || list_of(&[(0x1070, 0x1080, "regx SGPR4")])),
    ("loc-dropped-code",      || at_address(u64::MAX - 1),
                              || at_address(0x1000)),
    ("loc-type-without-size", || of_size(0),
                              || of_size(1)),
    ("loc-legacy-llvm",       || in_function(Exprloc("bregx SGPR4+0, lit5, swap, xderef")),
                              || in_function(Exprloc("regx SGPR4"))),
    ("loc-narrow-frame-base", || with_frame_base("regx SGPR33"),
                              || with_frame_base("regx SGPR33, deref_size 0x4, lit5, LLVM_form_aspace_address")),
    ("loc-reference",         || file([made(DW_TAG_variable, "x").with(DW_AT_type, Raw(0x0d))]),
                              || file([int(), made(DW_TAG_variable, "x").with(DW_AT_type, To("int"))])),
    ("loc-reference",         || file([made(DW_TAG_variable, "x").with(DW_AT_type, Raw(0xffff))]),
                              || file([int()])),
    ("loc-reference-kind",    || file([function(), made(DW_TAG_variable, "x").with(DW_AT_type, To("f"))]),
                              || file([int(), made(DW_TAG_variable, "x").with(DW_AT_type, To("int"))])),
    ("loc-reference-kind",    || file([int(), made(DW_TAG_inlined_subroutine, "i").with(DW_AT_abstract_origin, To("int"))]),
                              || file([function(), made(DW_TAG_inlined_subroutine, "i").with(DW_AT_abstract_origin, To("f"))])),
    ("loc-reference-cycle",   || file([made(DW_TAG_variable, "a").with(DW_AT_specification, To("b")), made(DW_TAG_variable, "b").with(DW_AT_specification, To("a"))]),
                              || file([made(DW_TAG_variable, "a").with(DW_AT_specification, To("b")), made(DW_TAG_variable, "b")])),
    ("loc-lanes",             || lanes([(LLVM_LANES, Data1(65))]),
                              || lanes([(LLVM_LANES, Data1(64))])),
    ("loc-lanes",             || lanes([(LLVM_LANES, Data1(0))]),
                              || lanes([(LLVM_LANES, Data1(1))])),
    ("loc-lanes",             || lanes([(LLVM_LANES, Sdata(-1))]),
                              || lanes([(LLVM_LANES, Sdata(32))])),
    ("loc-lane-pc-lanes",     || lanes([(LLVM_LANE_PC, PC_OF_LANES)]),
                              || lanes([(LLVM_LANES, Data1(64)), (LLVM_LANE_PC, PC_OF_LANES)])),
    ("loc-active-lane",       || lanes([(LLVM_LANES, Data1(64)), (LLVM_ACTIVE_LANE, EXEC)]),
                              || lanes([(LLVM_LANES, Data1(64)), (LLVM_ACTIVE_LANE, EXEC), (LLVM_LANE_PC, PC_OF_LANES)])),
    ("loc-address-space",     || pointer(4),
                              || pointer(5)),
    ("loc-memory-space",      || file([made(DW_TAG_variable, "x").with(LLVM_MEMORY_SPACE, Data1(9))]),
                              || file([made(DW_TAG_variable, "x").with(LLVM_MEMORY_SPACE, Data1(3))])),
    // Rules for expressions that only the surrounding entries can violate.
    ("expr-no-frame-base",    || in_function(Exprloc("fbreg +8")),
                              || file([int(), function().with(DW_AT_frame_base, Exprloc("call_frame_cfa")).has(variable("x", Exprloc("fbreg +8")))])),
    ("expr-short-location",   || file([base("int", 8), function().has(variable("x", Exprloc("regx SGPR4")))]),
                              || in_function(Exprloc("regx SGPR4"))),
    ("expr-lane-pc",          || lanes([(LLVM_LANES, Data1(64)), (LLVM_LANE_PC, EXEC)]),
                              || lanes([(LLVM_LANES, Data1(64)), (LLVM_LANE_PC, PC_OF_LANES)])),
    ("expr-lane-missing",     || File { language: 0x15, ..in_function(Exprloc("regx VGPR4")) },
                              || in_function(Exprloc("regx VGPR4"))),
    ("expr-call-cycle",       || file([made(DW_TAG_dwarf_procedure, "p").with(DW_AT_location, Exprloc("call p"))]),
                              || file([made(DW_TAG_dwarf_procedure, "p").with(DW_AT_location, Exprloc("call q")), made(DW_TAG_dwarf_procedure, "q").with(DW_AT_location, Exprloc("regx SGPR4"))])),
    ("expr-call-nothing",     || file([made(DW_TAG_dwarf_procedure, "p").with(DW_AT_location, Exprloc("call q")), made(DW_TAG_dwarf_procedure, "q")]),
                              || file([made(DW_TAG_dwarf_procedure, "p").with(DW_AT_location, Exprloc("call q")), made(DW_TAG_dwarf_procedure, "q").with(DW_AT_const_value, Data1(1))])),
    ("expr-base-type",        || in_function(Exprloc("regval_type SGPR4 0x3, stack_value")),
                              || in_function(Exprloc("regx SGPR4, deref_size 0x4, stack_value"))),
];

#[test]
fn every_rule_finds_its_failing_example_and_leaves_the_passing_one() {
    for (id, failing, passing) in EXAMPLES {
        let found = findings(&object(&failing()));
        assert!(
            found.iter().any(|finding| finding.rule.id == *id),
            "{id} does not find {:?}, only {found:?}",
            failing()
        );
        let found = findings(&object(&passing()));
        assert!(
            !found.iter().any(|finding| finding.rule.id == *id),
            "{id} finds {:?}: {found:?}",
            passing()
        );
        let errors: Vec<_> = found
            .iter()
            .filter(|finding| finding.severity == crate::verify::Severity::Error)
            .collect();
        assert!(errors.is_empty(), "{id}: {errors:?}");
    }
}

#[test]
fn every_rule_has_examples() {
    for rule in RULES {
        assert!(
            EXAMPLES.iter().any(|(id, ..)| *id == rule.id),
            "{} has no example",
            rule.id
        );
    }
}

/// Two variables of a function have the same fault, which is one mistake of the function. The finding also counts the second variable.
#[test]
fn what_shows_in_many_variables_is_said_once() {
    let function = function()
        .has(variable("x", Exprloc("fbreg +8")))
        .has(variable("y", Exprloc("fbreg +16")));
    let found = findings(&object(&file([int(), function])));
    let [finding] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(finding.function, Some("f".into()));
    assert!(
        finding.message.raw().starts_with("DW_AT_location of `x`"),
        "{}",
        finding.message
    );
    assert!(
        finding
            .message
            .raw()
            .ends_with("1 more of this rule in this function")
    );
}

/// A correct expression is not run again, unless its dependencies differ: the size of the object, the frame base, or a type of the unit.
#[test]
fn what_was_sound_elsewhere_need_not_be_here() {
    let rules = |files: &[&File]| -> Vec<&str> {
        let found = findings(&object_of(files));
        found.iter().map(|finding| finding.rule.id).collect()
    };
    let text = "regx SGPR4";
    let long = made(DW_TAG_variable, "y")
        .with(DW_AT_name, Text("y"))
        .with(DW_AT_type, To("long"))
        .with(DW_AT_location, Exprloc(text));
    let short = variable("x", Exprloc(text));
    let types = [int(), base("long", 8)];
    let both = |variables: [Made; 2]| file(types.clone().into_iter().chain(variables));
    assert_eq!(
        rules(&[&both([short.clone(), long.clone()])]),
        ["expr-short-location"]
    );

    let with = |base: Option<&'static str>| {
        let function = function().has(variable("x", Exprloc("fbreg +8")));
        match base {
            Some(base) => function.with(DW_AT_frame_base, Exprloc(base)),
            None => function,
        }
    };
    let (sound, faulty) = (with(Some("addr 0x2000")), with(None));
    let expected = ["expr-no-frame-base"];
    assert_eq!(
        rules(&[&file([int(), sound.clone(), faulty.clone()])]),
        expected
    );
    let units = [file([int(), sound]), file([int(), faulty])];
    assert_eq!(rules(&[&units[0], &units[1]]), expected);

    let size = |size: u8| {
        let ty = base("type", size);
        let at = unit(&file([ty.clone()])).offset("type");
        let text = format!("addr 0x1000, deref_type 0x4 {at:#x}, stack_value");
        file([ty, variable("x", Exprloc(text.leak())), int()])
    };
    let (sound, faulty) = (size(4), size(8));
    assert_eq!(rules(&[&sound, &sound]), [""; 0]);
    assert_eq!(rules(&[&sound, &faulty]), ["expr-type-size"]);
}
