//! Builds entries of `.debug_info` from text like llvm-dwarfdump's. An entry's attributes and children are indented by two more spaces.
//! References use the names of entries.

use std::collections::BTreeMap;

use hetdwarf::expr::{Encoding, ParseOptions, parse};

/// The address of `f` and `g`, and the size of each.
pub const START: u64 = 0x100;
pub const SIZE: u64 = 0x20;

/// The sections of a unit.
pub struct Sections {
    pub info: Vec<u8>,
    pub abbreviations: Vec<u8>,
    pub lists: Vec<u8>,
    /// The offsets of the entries with names.
    pub labels: BTreeMap<String, u64>,
}

/// Returns the bytes of an expression, in which `{x}` is the offset of the entry `x`.
pub fn expression(text: &str, labels: &BTreeMap<String, u64>) -> Vec<u8> {
    if text.starts_with("0x") {
        let bytes = text
            .split(' ')
            .map(|byte| u8::from_str_radix(&byte[2..], 16));
        return bytes.map(|byte| byte.expect("a byte")).collect();
    }
    let mut text = text.to_owned();
    while let Some((before, rest)) = text.split_once('{') {
        let (label, after) = rest.split_once('}').expect("a closing brace");
        let offset = labels.get(label).copied().unwrap_or(0x10);
        text = format!("{before}{offset:#x}{after}");
    }
    let options = ParseOptions::default();
    let parsed = parse(&text, &options).unwrap_or_else(|error| panic!("{text}: {error}"));
    parsed.encode(Encoding::AMDGPU).expect("an encoding")
}

/// Returns the number of a name of DWARF 5 or of the extensions.
fn number(name: &str) -> u16 {
    let extensions = [
        ("DW_AT_LLVM_active_lane", 0x3e08),
        ("DW_AT_LLVM_memory_space", 0x3e0f),
        ("DW_AT_LLVM_address_space", 0x3e10),
        ("DW_AT_LLVM_lanes", 0x3e11),
        ("DW_AT_LLVM_lane_pc", 0x3e12),
    ];
    if let Some((_, number)) = extensions.iter().find(|(known, _)| *known == name) {
        return *number;
    }
    let is_it = |number: &u16| {
        gimli::DwAt(*number).static_string() == Some(name)
            || gimli::DwTag(*number).static_string() == Some(name)
    };
    (1..0x100)
        .find(is_it)
        .unwrap_or_else(|| panic!("there is no {name}"))
}

/// An entry.
#[derive(Default)]
struct Entry {
    tag: &'static str,
    label: Option<String>,
    /// The name and value of each attribute, and for a location list its lines.
    attributes: Vec<(String, String, Vec<String>)>,
    children: Vec<Entry>,
}

fn read(text: &str) -> Vec<Entry> {
    let mut open: Vec<Entry> = vec![Entry::default()];
    for line in text
        .lines()
        .map(|line| line.split("  //").next().unwrap_or(line))
    {
        let word = line.trim();
        if word.is_empty() {
            continue;
        }
        let depth = (line.len() - line.trim_start().len()) / 2;
        let (name, value) = word.split_once(' ').unwrap_or((word, ""));
        if name.starts_with("DW_TAG_") {
            while open.len() > depth + 1 {
                close(&mut open);
            }
            let label = (!value.is_empty()).then(|| value.trim_matches('"').to_owned());
            let tag = Box::leak(name.to_owned().into_boxed_str());
            open.push(Entry {
                tag,
                label,
                ..Entry::default()
            });
        } else if name.starts_with("DW_AT_") {
            let entry = open.last_mut().expect("an entry");
            entry
                .attributes
                .push((name.to_owned(), value.to_owned(), Vec::new()));
        } else {
            let entry = open.last_mut().expect("an entry");
            entry
                .attributes
                .last_mut()
                .expect("an attribute")
                .2
                .push(word.to_owned());
        }
    }
    while open.len() > 1 {
        close(&mut open);
    }
    open.remove(0).children
}

fn close(open: &mut Vec<Entry>) {
    let last = open.pop().expect("an entry");
    open.last_mut().expect("one above").children.push(last);
}

impl Entry {
    fn has(&self, name: &str) -> bool {
        self.attributes.iter().any(|(own, _, _)| own == name)
    }

    fn add(&mut self, name: &str, value: String) {
        if !self.has(name) {
            self.attributes.push((name.to_owned(), value, Vec::new()));
        }
    }

    /// Adds the attributes that every entry with its tag has.
    fn complete(&mut self) {
        let label = self.label.clone();
        if let Some(label) = label.filter(|_| self.tag != "DW_TAG_dwarf_procedure") {
            self.add("DW_AT_name", format!("\"{label}\""));
            let number = ["f", "g"].iter().position(|name| *name == label);
            if let (Some(number), "DW_TAG_subprogram") = (number, self.tag) {
                self.add("DW_AT_low_pc", (START + SIZE * number as u64).to_string());
                self.add("DW_AT_high_pc", SIZE.to_string());
            }
        }
        if self.tag == "DW_TAG_base_type" {
            self.add("DW_AT_encoding", "5".to_owned());
        }
        for child in &mut self.children {
            child.complete();
        }
    }
}

/// Builds the unit of these entries. They are children of the unit's entry, unless the first is the unit's entry.
pub fn unit(text: &str) -> Sections {
    let mut entries = read(text);
    let mut unit = if entries
        .first()
        .is_some_and(|entry| entry.tag.ends_with("_unit"))
    {
        entries.remove(0)
    } else {
        Entry {
            tag: "DW_TAG_compile_unit",
            ..Entry::default()
        }
    };
    unit.children.extend(entries);
    unit.add("DW_AT_language", "12".to_owned());
    unit.add("DW_AT_low_pc", START.to_string());
    if !unit.has("DW_AT_ranges") {
        unit.add("DW_AT_high_pc", (2 * SIZE).to_string());
    }
    unit.complete();
    // References need offsets, and expressions that contain offsets may grow.
    let mut labels = BTreeMap::new();
    loop {
        let mut sections = Sections {
            info: vec![0, 0, 0, 0, 5, 0, 1, 8, 0, 0, 0, 0],
            abbreviations: Vec::new(),
            lists: vec![0, 0, 0, 0, 5, 0, 8, 0, 0, 0, 0, 0],
            labels: BTreeMap::new(),
        };
        let mut code = 0;
        write(&unit, &labels, &mut code, &mut sections);
        sections.abbreviations.push(0);
        for section in [&mut sections.info, &mut sections.lists] {
            let length = section.len() as u32 - 4;
            section[..4].copy_from_slice(&length.to_le_bytes());
        }
        if sections.labels == labels {
            return sections;
        }
        labels.clone_from(&sections.labels);
    }
}

fn uleb(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn write(entry: &Entry, labels: &BTreeMap<String, u64>, code: &mut u64, to: &mut Sections) {
    *code += 1;
    if let Some(label) = &entry.label {
        to.labels.insert(label.clone(), to.info.len() as u64);
    }
    if entry.tag == "DW_TAG_null" {
        // No abbreviation has this number.
        return uleb(&mut to.info, 0x7f);
    }
    uleb(&mut to.info, *code);
    uleb(&mut to.abbreviations, *code);
    uleb(&mut to.abbreviations, number(entry.tag).into());
    to.abbreviations.push(u8::from(!entry.children.is_empty()));
    for (name, value, lines) in &entry.attributes {
        let form = write_value(name, value, lines, labels, to);
        uleb(&mut to.abbreviations, number(name).into());
        uleb(&mut to.abbreviations, form.0.into());
    }
    to.abbreviations.extend([0, 0]);
    for child in &entry.children {
        write(child, labels, code, to);
    }
    if !entry.children.is_empty() {
        to.info.push(0);
    }
}

fn write_value(
    name: &str,
    value: &str,
    lines: &[String],
    labels: &BTreeMap<String, u64>,
    to: &mut Sections,
) -> gimli::DwForm {
    use gimli::constants::*;
    let is_reference = [
        "DW_AT_type",
        "DW_AT_abstract_origin",
        "DW_AT_specification",
        "DW_AT_import",
    ]
    .contains(&name);
    let integer = |text: &str| -> i64 {
        match text.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).expect("a number"),
            None => text
                .parse()
                .unwrap_or_else(|_| panic!("{name} {text}: no number")),
        }
    };
    if !lines.is_empty() {
        let offset = to.lists.len() as u32;
        to.info.extend(offset.to_le_bytes());
        for line in lines {
            if line == "(cut)" {
                return DW_FORM_sec_offset;
            }
            let (range, text) = line.split_once("): ").expect("a range");
            let (from, until) = range[1..].split_once(", ").expect("two ends");
            to.lists.push(DW_LLE_offset_pair.0);
            for end in [from, until] {
                uleb(
                    &mut to.lists,
                    u64::try_from(integer(end)).expect("an offset"),
                );
            }
            let bytes = expression(text, labels);
            uleb(&mut to.lists, bytes.len() as u64);
            to.lists.extend(bytes);
        }
        to.lists.push(DW_LLE_end_of_list.0);
        return DW_FORM_sec_offset;
    }
    if let Some((form, index)) = value.split_once(' ') {
        let form = match form {
            "strx" => Some(DW_FORM_strx1),
            "addrx" => Some(DW_FORM_addrx1),
            "loclistx" => Some(DW_FORM_loclistx),
            "rnglistx" => Some(DW_FORM_rnglistx),
            "strp" => {
                let offset = u32::try_from(integer(index)).expect("an offset");
                to.info.extend(offset.to_le_bytes());
                return DW_FORM_strp;
            }
            _ => None,
        };
        if let Some(form) = form {
            to.info
                .push(u8::try_from(integer(index)).expect("an index"));
            return form;
        }
    }
    if let Some(text) = value.strip_prefix('(') {
        let bytes = expression(
            text.strip_suffix(')').expect("a closing parenthesis"),
            labels,
        );
        uleb(&mut to.info, bytes.len() as u64);
        to.info.extend(bytes);
        return DW_FORM_exprloc;
    }
    if let Some(text) = value.strip_prefix('"') {
        let text = text.trim_end_matches('"');
        if is_reference {
            let offset = labels.get(text).copied().unwrap_or(0);
            to.info
                .extend(u32::try_from(offset).expect("a small unit").to_le_bytes());
            return DW_FORM_ref4;
        }
        to.info.extend(text.as_bytes());
        to.info.push(0);
        return DW_FORM_string;
    }
    let value = integer(value);
    let word = value as u32;
    if name == "DW_AT_low_pc" {
        to.info.extend(value.to_le_bytes());
        DW_FORM_addr
    } else if is_reference {
        to.info.extend(word.to_le_bytes());
        DW_FORM_ref4
    } else if ["DW_AT_location", "DW_AT_stmt_list"].contains(&name) || name.ends_with("_base") {
        to.info.extend(word.to_le_bytes());
        DW_FORM_sec_offset
    } else if value < 0 {
        to.info.push(value as u8 & 0x7f);
        DW_FORM_sdata
    } else {
        to.info.extend(word.to_le_bytes());
        DW_FORM_data4
    }
}
