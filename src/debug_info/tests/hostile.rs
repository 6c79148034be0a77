//! Tests input that no compiler writes. It must not cause a panic, an endless loop or unbounded recursion, and errors must contain the
//! place.

use fallible_iterator::FallibleIterator;

use super::*;
use crate::debug_info::types::TypeKind;
use crate::eval::{DieReference, Resolver};

/// Writes sections byte by byte.
struct Builder {
    abbrev: Vec<u8>,
    info: Vec<u8>,
}

impl Builder {
    /// Creates a unit of DWARF 4 with these abbreviations: `code, tag, children, (name, form)…, 0, 0`.
    fn new(abbrev: &[u8]) -> Builder {
        let mut abbrev = abbrev.to_vec();
        abbrev.push(0);
        let info = vec![0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8];
        Builder { abbrev, info }
    }

    fn finish(mut self) -> Sections {
        let length = u32::try_from(self.info.len() - 4).unwrap();
        self.info[..4].copy_from_slice(&length.to_le_bytes());
        Sections::from([
            (".debug_abbrev".to_owned(), self.abbrev),
            (".debug_info".to_owned(), self.info),
        ])
    }
}

/// Runs every query.
fn touch(info: &DebugInfo<'_>) {
    let mut pcs = vec![0, 0x1000, 0x1600, u64::MAX];
    let mut units = info.units();
    while !matches!(units.next(), Ok(None)) {}
    let resolver: &dyn Resolver<'_> = &info;
    let mut table = TypeTable::default();
    for unit in info.unit_ids() {
        for function in info.functions(unit).into_iter().flatten() {
            pcs.extend(function.ranges.iter().map(|range| range.start));
        }
        for index in 0..3 {
            let _ = info.source_file(unit, index);
            let _ = info.embedded_source(unit, index);
        }
        let _ = info
            .line_table(unit)
            .map(|table| table.map(|table| table.rows().len()));
        let Ok(mut dies) = info.dies(unit) else {
            continue;
        };
        let expressions = info.eval_unit(unit).unwrap();
        while let Ok(Some(die)) = dies.next() {
            let offset = die.id().offset;
            let _ = resolver.procedure(expressions, DieReference::InSection(offset));
            let _ = resolver.base_type(expressions, offset);
            let _ = info.ranges(&die, &info.for_query());
            for found in die.attributes() {
                let _ = attribute::attribute_name(die.tag(), found);
                match info.value(&die, found) {
                    Ok(DieValue::Reference(target)) => {
                        if let Ok(ty) = info.read_type(&mut table, Some(target), &info.for_query())
                        {
                            let _ = type_name(&table, ty);
                        }
                    }
                    Ok(DieValue::LocationList(list)) => {
                        let meter = info.for_query();
                        let _ = info.matching_at(expressions, list, 0x1600, &meter);
                    }
                    _ => {}
                }
            }
        }
    }
    for pc in pcs {
        let _ = info.line_at(pc);
        if let Ok(Some(function)) = info.find_function(pc) {
            let _ = info.inlined_chain(&function, pc, &info.for_query());
            let _ = info.variables_at(&function, pc);
        }
    }
}

#[test]
fn sections_cut_anywhere_are_no_panic() {
    for name in ["made.elf", "small-gfx90a-O0-dwarf3.hsaco"] {
        let whole = sections(name);
        for (section, bytes) in &whole {
            if section.contains("frame") || section.contains("str") {
                continue;
            }
            for length in (0..bytes.len()).step_by(7) {
                let mut cut = whole.clone();
                cut.insert(section.clone(), bytes[..length].to_vec());
                touch(&load(&cut));
            }
        }
    }
}

#[test]
fn damaged_sections_are_no_panic() {
    // A fixed sequence (xorshift), so that failures are reproducible.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    for (main, dwo) in [
        ("made.elf", None),
        ("inlined-gfx1100-O1-dwarf4.hsaco", None),
        ("cxx-v5-split.hsaco", Some("cxx-v5-split.dwo")),
    ] {
        let main = sections(main);
        let dwo = dwo.map(sections);
        for _ in 0..60 {
            let mut main = main.clone();
            let mut dwo = dwo.clone();
            for sections in [Some(&mut main), dwo.as_mut()].into_iter().flatten() {
                let mut names: Vec<_> = sections.keys().cloned().collect();
                names.sort();
                let bytes = sections.get_mut(&names[random(names.len())]).unwrap();
                for _ in 0..3 {
                    if !bytes.is_empty() {
                        let at = random(bytes.len());
                        bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random(5)];
                    }
                }
            }
            let mut info = load(&main);
            if let Some(dwo) = &dwo {
                info = info.with_split(getter(dwo)).unwrap();
            }
            touch(&info);
        }
    }
}

#[test]
fn deeply_nested_blocks_and_namespaces_are_read() {
    const DEPTH: usize = 100_000;
    #[rustfmt::skip]
    let abbrev = [
        1, 0x11, 1, 0x11, 0x01, 0x12, 0x06, 0, 0, // compile_unit: low_pc addr, high_pc data4
        2, 0x2e, 1, 0x11, 0x01, 0x12, 0x06, 0, 0, // subprogram: the same
        3, 0x0b, 1, 0x11, 0x01, 0x12, 0x06, 0, 0, // lexical_block: the same
        4, 0x39, 1, 0x03, 0x08, 0, 0,             // namespace: name string
        5, 0x34, 0, 0x03, 0x08, 0, 0,             // variable: name string
    ];
    let mut builder = Builder::new(&abbrev);
    let range = [0, 0x10, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0];
    for code in core::iter::once(1)
        .chain(core::iter::once(2))
        .chain(core::iter::repeat_n(3, DEPTH))
    {
        builder.info.push(code);
        builder.info.extend(range);
    }
    builder.info.extend(*b"\x05v\0");
    builder.info.extend(core::iter::repeat_n(0, DEPTH + 1));
    for _ in 0..DEPTH {
        builder.info.extend(*b"\x04n\0");
    }
    builder.info.extend(*b"\x05g\0");
    let sections = builder.finish();
    let info = load(&sections);
    let function = info.find_function(0x1008).unwrap().unwrap();
    assert_eq!(only(&function.ranges), 0x1000..0x1010);
    let variables = info.variables_at(&function, 0x1008).unwrap();
    assert_eq!(variables[0].name.as_deref(), Some("v"));
    let global = variables.last().unwrap();
    assert_eq!(global.name.as_deref(), Some("g"));
    // A qualified name has a maximum length.
    assert_eq!(global.scope.as_deref().unwrap().len(), 32 * 3 - 2);
    assert!(
        info.inlined_chain(&function, 0x1008, &info.for_query())
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_sibling_that_points_backwards_causes_no_loop() {
    // compile_unit; subprogram: low_pc addr, high_pc data4; structure_type: sibling ref4;
    // variable: name string
    let abbrev = [
        1, 0x11, 1, 0x11, 0x01, 0x12, 0x06, 0, 0, 2, 0x2e, 1, 0x11, 0x01, 0x12, 0x06, 0, 0, 3,
        0x13, 1, 0x01, 0x13, 0, 0, 4, 0x34, 0, 0x03, 0x08, 0, 0,
    ];
    let range = [0, 0x10, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0];
    let mut builder = Builder::new(&abbrev);
    for code in [1, 2] {
        builder.info.push(code);
        builder.info.extend(range);
    }
    let structure = u32::try_from(builder.info.len()).unwrap();
    builder.info.push(3);
    builder.info.extend(structure.to_le_bytes());
    builder.info.extend(*b"\x04inside\0\0\x04behind\0\0\0");
    let sections = builder.finish();
    let info = load(&sections);
    let names: Vec<_> = variables(&info, 0x1000)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["behind"]);
}

#[test]
fn deeply_nested_types_are_read() {
    const DEPTH: u32 = 100_000;
    // compile_unit; pointer_type: type ref4; base_type: name string, encoding, byte_size data1
    let abbrev = [
        1, 0x11, 1, 0, 0, 2, 0x0f, 0, 0x49, 0x13, 0, 0, 3, 0x24, 0, 0x03, 0x08, 0x3e, 0x0b, 0x0b,
        0x0b, 0, 0,
    ];
    let mut builder = Builder::new(&abbrev);
    builder.info.push(1);
    for number in 0..DEPTH {
        builder.info.push(2);
        // Each pointer points to the next entry; an entry is 5 bytes long.
        let next = 12 + 5 * (number + 1);
        builder.info.extend(next.to_le_bytes());
    }
    builder.info.extend(*b"\x03int\0\x05\x04\0");
    let sections = builder.finish();
    let info = load(&sections);
    let mut table = TypeTable::default();
    let mut id = info
        .read_type(&mut table, Some(at(&info, 12)), &info.for_query())
        .unwrap();
    assert!(type_name(&table, id).len() < 1000);
    for _ in 0..DEPTH {
        let TypeKind::Pointer { target, .. } = table.get(id).kind else {
            panic!("{:?}", table.get(id));
        };
        id = target;
    }
    assert_eq!(type_name(&table, id), "int");
}

#[test]
fn a_name_that_would_grow_without_bound_is_cut() {
    // Each function type uses the previous one twice, for 2^60 names in one.
    let mut table = TypeTable::default();
    let mut last = table.void();
    for _ in 0..60 {
        last = table.add(Type {
            name: None,
            byte_size: None,
            kind: TypeKind::Function {
                result: last,
                parameters: vec![last, last],
            },
        });
    }
    assert!(type_name(&table, last).len() < 1 << 20);
}

#[test]
fn a_wrong_length_in_a_header_ends_the_list_of_units() {
    let mut sections = sections("units-gfx90a.hsaco");
    // The length of the second unit.
    sections.get_mut(".debug_info").unwrap()[0x602..0x606].fill(0xee);
    let info = load(&sections);
    let mut units = info.units();
    assert!(units.next().unwrap().is_some());
    let error = units.next().unwrap_err();
    assert!(error.to_string().starts_with(".debug_info+0x6"), "{error}");
    assert!(units.next().unwrap().is_none());
    // The first unit is unaffected; the contents of the others are unknown.
    assert!(info.find_function(0x2100).unwrap().is_some());
    assert_eq!(info.find_function(0x2900).unwrap_err(), error);
}

#[test]
fn the_attributes_of_an_entry_are_limited() {
    // 1000 attributes whose values are in the abbreviation.
    let mut abbrev = vec![1, 0x11, 0];
    for _ in 0..1000 {
        abbrev.extend([0x0b, 0x21, 0x01]);
    }
    abbrev.extend([0, 0]);
    let mut builder = Builder::new(&abbrev);
    builder.info.extend([1; 8]);
    let sections = builder.finish();
    let error = load(&sections).unit_info(UnitId(0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        ".debug_info+0xb: malformed entry: it has too many attributes"
    );
}

#[test]
fn the_lowest_line_advance_is_no_overflow() {
    let mut sections = sections("made.elf");
    let line = sections.get_mut(".debug_line").unwrap();
    // DW_LNS_advance_line with the lowest possible number.
    let at = line.windows(2).position(|bytes| bytes == [3, 6]).unwrap();
    let lowest = [
        3, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f,
    ];
    line.splice(at..at + 2, lowest);
    let length = u32::try_from(line.len() - 4).unwrap();
    line[..4].copy_from_slice(&length.to_le_bytes());
    let info = load(&sections);
    let table = info.line_table(UnitId(0)).unwrap().unwrap();
    assert_eq!(table.rows().len(), 0);
    assert!(table.problem().is_some());
    assert!(info.line_at(0x1000).is_err());
}
