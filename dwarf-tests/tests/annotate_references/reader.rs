//! Reads all references with gimli.

use std::collections::BTreeMap;

use gimli::*;
use hetdwarf::object::CodeObject;

use crate::made::{LANE_PC, VENDORS};

type Slice = EndianSlice<'static, LittleEndian>;

/// Maps the name of an entry to the names of the entries it refers to, and to the first bytes of its operations and constants.
pub type Read = BTreeMap<String, Found>;
pub type Found = (Vec<String>, Vec<Vec<u8>>);

pub struct Reader {
    dwarf: Dwarf<Slice>,
    names: BTreeMap<usize, String>,
}

impl Reader {
    pub fn new(file: &[u8]) -> Reader {
        let object = CodeObject::parse(file).unwrap();
        let dwarf = Dwarf::load(|id| {
            let section = object.section(id.name()).unwrap().unwrap_or_default();
            // The section is leaked, so that it lives as long as the test.
            let section: &'static [u8] = section.to_vec().leak();
            Ok::<_, Error>(EndianSlice::new(section, LittleEndian))
        });
        Reader {
            dwarf: dwarf.unwrap(),
            names: BTreeMap::new(),
        }
    }

    fn name(&self, offset: usize) -> String {
        let name = self.names.get(&offset);
        name.cloned()
            .unwrap_or_else(|| format!("no entry at {offset:#x}"))
    }

    fn in_unit(&self, unit: &Unit<Slice>, offset: UnitOffset) -> String {
        self.name(offset.to_debug_info_offset(&unit.header).unwrap().0)
    }

    pub fn read(mut self) -> Read {
        let mut read = Read::new();
        for pass in 0..2 {
            let mut units = self.dwarf.units();
            while let Some(header) = units.next().unwrap() {
                let unit = self.dwarf.unit(header).unwrap();
                let mut entries = unit.entries();
                while let Some(entry) = entries.next_dfs().unwrap() {
                    let name = entry.attr_value(DW_AT_name).unwrap();
                    let name = self.dwarf.attr_string(&unit, name).unwrap();
                    let name = name.to_string().unwrap().to_owned();
                    if pass == 0 {
                        let offset = entry.offset().to_debug_info_offset(&unit.header);
                        self.names.insert(offset.unwrap().0, name);
                        continue;
                    }
                    let found: &mut Found = read.entry(name.clone()).or_default();
                    // Functions get expressions with operations that gimli does not know.
                    let is_function = entry.tag() == DW_TAG_subprogram && !name.contains("->");
                    for attribute in entry.attrs() {
                        match attribute.value() {
                            AttributeValue::Udata(line) => found.1.push(line.to_le_bytes().into()),
                            _ if is_function => {}
                            _ => self.attribute(&unit, attribute, found),
                        }
                    }
                }
            }
        }
        read
    }

    fn attribute(&self, unit: &Unit<Slice>, attribute: &Attribute<Slice>, found: &mut Found) {
        let is_lane_pc = attribute.name() == LANE_PC;
        let is_vendors = attribute.name() == VENDORS;
        match attribute.value() {
            AttributeValue::UnitRef(offset) => found.0.push(self.in_unit(unit, offset)),
            AttributeValue::DebugInfoRef(offset) => found.0.push(self.name(offset.0)),
            AttributeValue::Exprloc(expression) => self.expression(unit, expression.0, found),
            AttributeValue::Block(bytes) if is_lane_pc || is_vendors => {
                self.expression(unit, bytes, found)
            }
            AttributeValue::Block(bytes) => found.1.push(bytes.to_vec()),
            AttributeValue::SecOffset(offset) if is_lane_pc => {
                let list = AttributeValue::LocationListsRef(LocationListsOffset(offset));
                self.list(unit, list, found);
            }
            value => self.list(unit, value, found),
        }
    }

    fn list(&self, unit: &Unit<Slice>, value: AttributeValue<Slice>, found: &mut Found) {
        let Some(mut list) = self.dwarf.attr_locations(unit, value).unwrap() else {
            return;
        };
        while let Some(entry) = list.next().unwrap() {
            self.expression(unit, entry.data.0, found);
        }
    }

    fn expression(&self, unit: &Unit<Slice>, bytes: Slice, found: &mut Found) {
        let mut items = Expression(bytes).operations(unit.encoding());
        let mut at = 0;
        while let Some(operation) = items.next().unwrap() {
            found.1.push(vec![bytes[at]]);
            at = items.offset_from(&Expression(bytes));
            let entry = match operation {
                Operation::Call {
                    offset: DieReference::UnitRef(offset),
                }
                | Operation::ParameterRef { offset }
                | Operation::TypedLiteral {
                    base_type: offset, ..
                }
                | Operation::RegisterOffset {
                    base_type: offset, ..
                }
                | Operation::Deref {
                    base_type: offset, ..
                }
                | Operation::Convert { base_type: offset }
                | Operation::Reinterpret { base_type: offset } => {
                    // 0 is the generic type.
                    if offset.0 == 0 {
                        continue;
                    }
                    self.in_unit(unit, offset)
                }
                Operation::Call {
                    offset: DieReference::DebugInfoRef(offset),
                }
                | Operation::VariableValue { offset }
                | Operation::ImplicitPointer { value: offset, .. } => self.name(offset.0),
                Operation::EntryValue { expression } => {
                    self.expression(unit, expression, found);
                    continue;
                }
                _ => continue,
            };
            found.0.push(entry);
        }
    }
}

/// Returns the names of the units in `.debug_aranges`.
pub fn units_of_ranges(file: &[u8]) -> Vec<String> {
    let dwarf = Reader::new(file).dwarf;
    let ranges = dwarf.debug_aranges.reader().slice();
    let mut sets = DebugAranges::new(ranges, LittleEndian).headers();
    let mut names = Vec::new();
    while let Some(set) = sets.next().unwrap() {
        let mut units = dwarf.units();
        while let Some(header) = units.next().unwrap() {
            if header.debug_info_offset() == Some(set.debug_info_offset()) {
                let unit = dwarf.unit(header).unwrap();
                names.push(unit.name.unwrap().to_string().unwrap().to_owned());
            }
        }
    }
    names
}

/// Returns the ranges of a function's list of lanes, as gimli reads them.
pub fn lane_pc_ranges(file: &[u8], function: &str) -> Vec<Range> {
    let dwarf = Reader::new(file).dwarf;
    let mut units = dwarf.units();
    while let Some(header) = units.next().unwrap() {
        let unit = dwarf.unit(header).unwrap();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs().unwrap() {
            let name = entry.attr_value(DW_AT_name).unwrap();
            let name = dwarf.attr_string(&unit, name).unwrap();
            let Some(AttributeValue::SecOffset(offset)) = entry.attr_value(LANE_PC) else {
                continue;
            };
            if name.slice() != function.as_bytes() || entry.tag() != DW_TAG_subprogram {
                continue;
            }
            let list = dwarf.locations(&unit, LocationListsOffset(offset)).unwrap();
            return list.map(|entry| entry.unwrap().range).collect();
        }
    }
    Vec::new()
}
