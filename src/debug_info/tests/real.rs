//! Tests objects from compilers. Unless a comment says otherwise, expected values come from llvm-dwarfdump-22 (`--debug-info`, `--debug-line`,
//! `--lookup`) and, for calls, llvm-symbolizer-22.

use fallible_iterator::FallibleIterator;

use super::*;
use crate::arch::{AddressSpace, MemorySpace};
use crate::debug_info::types::{Dimension, TypeKind};
use crate::eval::LocationAttribute;

/// Returns the location list of a variable: the ranges, and the first byte of each expression.
fn location_list(info: &DebugInfo<'_>, die: DieId) -> Vec<(core::ops::Range<u64>, u8)> {
    let die = info.die(die).unwrap();
    let attribute = die.attribute(gimli::DW_AT_location).unwrap();
    let DieValue::LocationList(offset) = info.value(&die, attribute).unwrap() else {
        panic!("not a location list");
    };
    let meter = info.for_query();
    let mut entries = info.location_list(die.id().unit, offset, &meter).unwrap();
    let mut list = Vec::new();
    while let Some(entry) = entries.next().unwrap() {
        let LocationRange::Bounded(range) = entry.range else {
            panic!("no default entry expected");
        };
        list.push((range, entry.expression.bytes[0]));
    }
    list
}

#[test]
fn units_have_what_their_headers_and_first_entries_say() {
    let sections = sections("units-gfx90a.hsaco");
    let info = load(&sections);
    let units: Vec<_> = info.units().collect().unwrap();
    let facts: Vec<_> = units
        .iter()
        .map(|unit| {
            (
                unit.offset,
                unit.size,
                unit.version,
                unit.name.as_deref().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        facts,
        [
            (0, 0x602, 5, "inlined.cl"),
            (0x602, 0x2c3, 4, "divergent.cl"),
            (0x8c5, 0x45c, 5, "big.cl"),
        ]
    );
    for unit in &units {
        assert_eq!((unit.offset_size, unit.address_size), (4, 8));
        assert_eq!(unit.kind, UnitKind::Compile);
        assert_eq!(unit.section, ".debug_info");
        assert_eq!(unit.comp_dir.as_deref(), Some("."));
        assert_eq!(
            unit.language.and_then(Language::name),
            Some("DW_LANG_OpenCL")
        );
        assert_eq!(
            unit.producer.as_deref(),
            Some("Debian clang version 22.1.8 (1~deb12u1)")
        );
        assert_eq!(unit.augmentation, None);
    }
}

#[test]
fn the_unit_of_an_address_is_found() {
    let sections = sections("units-gfx90a.hsaco");
    let info = load(&sections);
    // The first addresses of the three units.
    for (pc, unit) in [(0x2100, 0), (0x2900, 1), (0x5600, 2)] {
        assert_eq!(info.find_unit(pc).unwrap(), Some(UnitId(unit)), "{pc:#x}");
    }
    assert_eq!(info.find_unit(0x10).unwrap(), None);
    assert_eq!(info.find_unit(u64::MAX).unwrap(), None);
}

#[test]
fn only_the_units_that_are_needed_are_read() {
    let sections = sections("units-gfx90a.hsaco");
    let info = load(&sections);
    assert!(info.units.iter().all(|unit| unit.contents.get().is_none()));
    info.find_function(0x2900).unwrap().unwrap();
    let walked: Vec<_> = info
        .caches
        .iter()
        .map(|cache| {
            let cache = cache.get();
            cache.is_some_and(|cache| cache.index.get().is_some())
        })
        .collect();
    assert_eq!(walked, [false, true, false]);
}

#[test]
fn a_function_has_what_its_entry_says() {
    let sections = sections("small-gfx90a-O0-dwarf3.hsaco");
    let info = load(&sections);
    let function = info.find_function(0x1a04).unwrap().unwrap();
    assert_eq!(function.die.offset, 0x35);
    assert_eq!(function.name.as_deref(), Some("helper"));
    assert_eq!(function.linkage_name, None);
    assert_eq!(only(&function.ranges), 0x1a00..0x1e8c);
    assert_eq!(function.result, Some(at(&info, 0x2e)));
    assert!(function.external);
    assert!(!function.is_kernel);
    assert_eq!(function.problem, None);
    let file = function.declaration.file.unwrap();
    assert_eq!((&*file.path, file.name()), ("./small.cl", "small.cl"));
    assert_eq!(function.declaration.line, Some(5));
    // DW_OP_regx SGPR33 in a form of class block, as there was no other before DWARF 4.
    let Some(LocationAttribute::Expression(frame_base)) = function.frame_base else {
        panic!("{:?}", function.frame_base);
    };
    assert_eq!(frame_base.bytes, [0x90, 65]);
    assert_eq!(frame_base.section, ".debug_info");
    let start = usize::try_from(frame_base.offset).unwrap();
    assert_eq!(sections[".debug_info"][start..][..2], [0x90, 65]);
    let next = info.find_function(0x1e8c).unwrap().unwrap();
    assert_eq!(next.die.offset, 0xbc);
    assert!(info.find_function(0x2794).unwrap().is_none());
}

#[test]
fn kernels_are_known_by_their_calling_convention() {
    let sections = sections("rocm-small-gfx90a-O0.hsaco");
    let info = load(&sections);
    let functions = info.functions(UnitId(0)).unwrap();
    let facts: Vec<_> = functions
        .iter()
        .map(|f| {
            (
                f.name.as_deref().unwrap(),
                f.linkage_name.as_deref(),
                f.is_kernel,
            )
        })
        .collect();
    assert_eq!(
        facts,
        [
            ("helper", None, false),
            ("small", Some("__clang_ocl_kern_imp_small"), true),
            ("small", None, true),
        ]
    );
}

#[test]
fn lists_of_64_bit_dwarf_4_are_read() {
    let sections = sections("small-gfx942-O2-dwarf64v4.hsaco");
    let info = load(&sections);
    let unit = info.unit_info(UnitId(0)).unwrap();
    assert_eq!((unit.version, unit.offset_size), (4, 8));
    let function = info.find_function(0x1600).unwrap().unwrap();
    assert_eq!(function.name.as_deref(), Some("helper"));
    assert_eq!(
        location_list(&info, at(&info, 0x6f)),
        [(0x1600..0x1684, 0x92)]
    );
    assert_eq!(
        location_list(&info, at(&info, 0xac)),
        [(0x161c..0x1690, 0x92)]
    );
    assert_eq!(
        location_list(&info, at(&info, 0xcc)),
        [(0x161c..0x163c, 0x11)]
    );
    let block = info.die(at(&info, 0xc3)).unwrap();
    assert_eq!(
        info.ranges(&block, &info.for_query()).unwrap(),
        [0x160c..0x1610, 0x161c..0x1690]
    );
}

#[test]
fn inlined_calls_come_innermost_first() {
    let sections = sections("inlined-gfx1100-O1-dwarf4.hsaco");
    let info = load(&sections);
    let function = info.find_function(0x1780).unwrap().unwrap();
    assert_eq!(function.name.as_deref(), Some("inlined"));
    assert_eq!(function.linkage_name, None);
    let calls = info
        .inlined_chain(&function, 0x1780, &info.for_query())
        .unwrap();
    let facts: Vec<_> = calls
        .iter()
        .map(|call| {
            let file = call.call_file.as_ref().unwrap().path.to_string();
            let place = (call.call_line.unwrap(), call.call_column.unwrap());
            (call.die.offset, call.name.as_deref().unwrap(), file, place)
        })
        .collect();
    let file = || "./inlined.cl".to_owned();
    assert_eq!(
        facts,
        [
            (0x2e2, "shade", file(), (38, 13)),
            (0x2aa, "inlined", file(), (34, 51)),
        ]
    );
    assert_eq!(only(&calls[0].ranges), 0x172c..0x1788);
    assert_eq!(calls[0].origin, Some(at(&info, 0x1e5)));
    assert_eq!(calls[0].declaration.line, Some(18));
    assert_eq!(
        calls[1].linkage_name.as_deref(),
        Some("__clang_ocl_kern_imp_inlined")
    );
    // llvm-symbolizer: ./inlined.cl:22:9
    let line = info.line_at(0x1780).unwrap().unwrap();
    assert_eq!((line.line, line.column), (22, 9));
    assert_eq!(&*line.file.unwrap().path, "./inlined.cl");
    assert!(line.range.contains(&0x1780));
    let outside = info.find_function(0x1600).unwrap().unwrap();
    assert!(
        info.inlined_chain(&outside, 0x1600, &info.for_query())
            .unwrap()
            .is_empty()
    );
}

#[test]
fn variables_come_innermost_first() {
    let sections = sections("inlined-gfx1100-O1-dwarf4.hsaco");
    let info = load(&sections);
    let function = info.find_function(0x163a).unwrap().unwrap();
    let variables = info.variables_at(&function, 0x163a).unwrap();
    let facts: Vec<_> = variables
        .iter()
        .map(|v| {
            let name = v.name.as_deref().unwrap();
            (v.die.offset, name, v.scope.as_deref().unwrap(), v.kind)
        })
        .collect();
    use VariableKind::{Parameter, Variable};
    assert_eq!(
        facts,
        [
            (0x14e, "y", "length2", Parameter),
            (0x158, "a", "length2", Variable),
            (0x165, "b", "length2", Variable),
            // The abstract instance has it, the inlined one does not.
            (0xa4, "x", "length2", Parameter),
            (0xeb, "p", "tail", Parameter),
            (0xfa, "v", "tail", Parameter),
            (0x109, "w", "tail", Variable),
        ]
    );
    let omitted: Vec<_> = variables.iter().map(|v| v.is_omitted).collect();
    assert_eq!(omitted, [false, false, false, true, false, false, false]);
    // 1073741824 and 1082130432 are 2.0 and 4.0.
    assert_eq!(
        variables[0].const_value.as_deref(),
        Some(&2f32.to_le_bytes()[..])
    );
    assert_eq!(
        variables[2].const_value.as_deref(),
        Some(&4f32.to_le_bytes()[..])
    );
    // The attributes of the abstract instance apply to the inlined one.
    assert_eq!(variables[1].ty, Some(at(&info, 0x31)));
    assert_eq!(variables[1].declaration.line, Some(7));
    assert!(variables[1].location.is_some());
    assert_eq!(variables[1].scope_die, Some(at(&info, 0x13a)));
}

#[test]
fn entries_and_their_attributes_are_given_in_order() {
    let sections = sections("small-gfx90a-O0-dwarf3.hsaco");
    let info = load(&sections);
    let mut dies = info.dies(UnitId(0)).unwrap();
    let root = dies.next().unwrap().unwrap();
    assert_eq!(attribute::tag_name(root.tag()), "DW_TAG_compile_unit");
    let names: Vec<_> = root
        .attributes()
        .iter()
        .map(|found| attribute::attribute_name(root.tag(), found))
        .collect();
    assert_eq!(
        names,
        [
            "DW_AT_producer",
            "DW_AT_language",
            "DW_AT_name",
            "DW_AT_stmt_list",
            "DW_AT_comp_dir",
            "DW_AT_low_pc",
            "DW_AT_high_pc",
        ]
    );
    assert_eq!(
        info.value(&root, &root.attributes()[3]).unwrap(),
        DieValue::SectionOffset(0)
    );
    let base = dies.next().unwrap().unwrap();
    assert_eq!((base.id().offset, base.depth()), (0x2e, 1));
    let mut last = None;
    while let Some(die) = dies.next().unwrap() {
        last = Some(die);
    }
    assert!(last.unwrap().is_null());
}

#[test]
fn a_split_unit_takes_its_addresses_from_the_skeleton() {
    let main = sections("split-gfx90a-O2.hsaco");
    let dwo = sections("small.dwo");
    let info = load(&main).with_split(getter(&dwo)).unwrap();
    let skeleton = info.unit_info(UnitId(0)).unwrap();
    let split = info.unit_info(UnitId(1)).unwrap();
    assert_eq!(
        (skeleton.kind, split.kind),
        (UnitKind::Skeleton, UnitKind::SplitCompile)
    );
    assert_eq!(skeleton.dwo_name.as_deref(), Some("small.dwo"));
    assert_eq!(skeleton.dwo_id, Some(0x7bbc_4439_0e0d_6618));
    assert_eq!(
        (skeleton.partner, split.partner),
        (Some(UnitId(1)), Some(UnitId(0)))
    );
    assert_eq!(split.section, ".debug_info.dwo");
    assert_eq!(info.find_unit(0x1604).unwrap(), Some(UnitId(1)));

    let function = info.find_function(0x1604).unwrap().unwrap();
    assert_eq!(function.name.as_deref(), Some("helper"));
    assert_eq!(only(&function.ranges), 0x1600..0x16e4);
    // The .dwo file has no line table; the skeleton's table names the file.
    assert_eq!(&*function.declaration.file.unwrap().path, "./small.cl");
    let die = |offset| info.die_at(".debug_info.dwo", offset).unwrap();
    // llvm-dwarfdump --dwo
    assert_eq!(location_list(&info, die(0x2e)), [(0x1600..0x1680, 0x92)]);
    assert_eq!(location_list(&info, die(0x48)), [(0x161c..0x16b4, 0x92)]);
    let block = info.die(die(0x51)).unwrap();
    assert_eq!(
        info.ranges(&block, &info.for_query()).unwrap(),
        [0x160c..0x1610, 0x161c..0x16b4]
    );
    let line = info.line_at(0x1604).unwrap().unwrap();
    assert_eq!((line.line, line.column), (6, 19));
}

#[test]
fn a_split_unit_without_its_skeleton_has_no_addresses() {
    let dwo = sections("small.dwo");
    let none = Sections::new();
    let info = load(&none).with_split(getter(&dwo)).unwrap();
    let unit = info.unit_info(UnitId(0)).unwrap();
    assert_eq!(
        (unit.name.as_deref(), unit.partner),
        (Some("small.cl"), None)
    );
    let function = info
        .die(info.die_at(".debug_info.dwo", 0x1e).unwrap())
        .unwrap();
    let low_pc = function.attribute(gimli::DW_AT_low_pc).unwrap();
    let error = info.value(&function, low_pc).unwrap_err();
    assert_eq!(
        error.to_string(),
        ".debug_info.dwo+0x1e: malformed address index: the unit has no DW_AT_addr_base"
    );
    assert!(info.find_function(0x1604).unwrap().is_none());
}

#[test]
fn gnu_split_dwarf_4_is_read() {
    let main = sections("cxx-v4-split.hsaco");
    let dwo = sections("cxx-v4-split.dwo");
    let info = load(&main).with_split(getter(&dwo)).unwrap();
    let units: Vec<_> = info.units().collect().unwrap();
    assert_eq!(units.len(), 2);
    assert_eq!(units[0].dwo_id, units[1].dwo_id);
    assert_eq!(units[1].partner, Some(UnitId(0)));
    assert_eq!(units[1].name.as_deref(), Some("cxx.cpp"));
    // llvm-symbolizer of the same address
    let start = info.functions(UnitId(1)).unwrap();
    let start = start
        .iter()
        .find(|f| f.name.as_deref() == Some("start"))
        .unwrap();
    assert_eq!(start.linkage_name.as_deref(), Some("_Z5starti"));
    // Its location lists are in .debug_loc.dwo, in the form that DWARF 5 took over.
    let pc = start.ranges[0].start;
    let variables = info.variables_at(start, pc).unwrap();
    let n = &variables[0];
    assert_eq!(n.name.as_deref(), Some("n"));
    let list = location_list(&info, n.die);
    assert_eq!(list[0].0.start, pc);
}

#[test]
fn types_are_named_as_llvm_names_them() {
    let sections = sections("cxx-v4-typeunits.hsaco");
    let info = load(&sections);
    let mut table = TypeTable::default();
    let globals = info.globals(UnitId(0)).unwrap();
    let names: Vec<_> = globals
        .iter()
        .map(|global| {
            let ty = info
                .read_type(&mut table, global.ty, &info.for_query())
                .unwrap();
            (global.name.as_deref().unwrap(), type_name(&table, ty))
        })
        .collect();
    let expected = [
        ("count", "int"),
        ("shared", "int"),
        ("ratio", "const double"),
        ("hidden", "int"),
        ("declared", "int"),
        ("pointers", "int *const *volatile"),
        ("row", "int (&)[3]"),
        ("nothing", "std::nullptr_t"),
        ("print", "Print"),
        ("grid", "Grid *"),
        ("factory", "int (*(*)(int))(float)"),
        // llvm-dwarfdump prints "void (*[3]" and stops; in the source it is void (*table[3])(void).
        ("table", "void (*[3])()"),
        ("odd", "_BitInt(17)"),
        ("nested", "Array<Array<const char *, 2>, 3>"),
        ("bits", "geo::v1::Bits"),
        ("sign", "geo::Sign"),
        ("wide", "geo::Wide"),
        ("word", "Word"),
        ("derived", "Derived"),
        ("v4", "float4"),
        ("v3", "float3"),
        ("flag", "bool"),
        ("later", "Later *"),
        // "class " there.
        ("lambda", "class {...}"),
    ]
    .map(|(name, ty)| (name, ty.to_owned()));
    assert_eq!(names, expected);
    let behind = |name: &str| {
        let global = globals
            .iter()
            .find(|global| global.name.as_deref() == Some(name));
        let mut table = TypeTable::default();
        let id = info
            .read_type(&mut table, global.unwrap().ty, &info.for_query())
            .unwrap();
        let TypeKind::Typedef(id) = table.get(id).kind else {
            panic!("no typedef");
        };
        type_name(&table, id)
    };
    assert_eq!(behind("print"), "int (*)(const char *, ...)");
    assert_eq!(behind("v3"), "float[3]");
}

#[test]
fn types_in_type_units_are_found_by_their_signatures() {
    for (main, dwo) in [
        ("cxx-v4-typeunits.hsaco", None),
        ("cxx-v5-split.hsaco", Some("cxx-v5-split.dwo")),
    ] {
        let main = sections(main);
        let dwo = dwo.map(sections);
        let mut info = load(&main);
        if let Some(dwo) = &dwo {
            info = info.with_split(getter(dwo)).unwrap();
        }
        let unit = info
            .units()
            .find(|unit| Ok(!unit.is_type_unit() && unit.name.as_deref() == Some("cxx.cpp")))
            .unwrap();
        let globals = info.globals(unit.unwrap().id).unwrap();
        let bits = globals
            .iter()
            .find(|g| g.name.as_deref() == Some("bits"))
            .unwrap();
        let mut table = TypeTable::default();
        let id = info
            .read_type(&mut table, bits.ty, &info.for_query())
            .unwrap();
        let TypeKind::Record { members, .. } = &table.get(id).kind else {
            panic!("{:?}", table.get(id));
        };
        let facts: Vec<_> = members
            .iter()
            .map(|m| {
                (
                    m.name.as_deref().unwrap(),
                    m.bit_offset.unwrap(),
                    m.bit_size,
                )
            })
            .collect();
        assert_eq!(
            facts,
            [
                ("x", 0, Some(3)),
                ("y", 3, Some(7)),
                ("z", 10, Some(40)),
                ("in", 56, None),
            ]
        );
        assert_eq!(type_name(&table, members[3].ty), "geo::v1::Bits::Inner");
        assert_eq!(table.get(id).byte_size, Some(8));
        // The static member that is defined, but not the one that is only declared in the class.
        let shared = globals
            .iter()
            .find(|g| g.name.as_deref() == Some("shared"))
            .unwrap();
        assert_eq!(shared.scope.as_deref(), Some("geo::v1::Bits"));
        assert!(!globals.iter().any(|g| g.name.as_deref() == Some("limit")));
    }
}

#[test]
fn records_enumerations_and_arrays_have_their_parts() {
    let sections = sections("types-gfx1100-O0.hsaco");
    let info = load(&sections);
    let (table, node) = read(&info, 0x55);
    assert_eq!(
        (node.name.as_deref(), node.byte_size),
        (Some("Node"), Some(0x50))
    );
    let TypeKind::Record { members, .. } = &node.kind else {
        panic!("{node:?}");
    };
    let facts: Vec<_> = members
        .iter()
        .map(|member| {
            let name = member.name.as_deref().unwrap();
            (
                name,
                type_name(&table, member.ty),
                member.bit_offset.unwrap() / 8,
            )
        })
        .collect();
    let expected = [
        ("next", "Node *", 0),
        ("colour", "Colour", 8),
        ("bits", "Bits", 0x10),
        ("word", "Word", 0x18),
        ("weight", "double", 0x20),
        ("position", "float4", 0x30),
        ("h", "half[3]", 0x40),
        ("name", "char[8]", 0x46),
        ("alive", "bool", 0x4e),
    ]
    .map(|(name, ty, offset)| (name, ty.to_owned(), offset));
    assert_eq!(facts, expected);
    // A type that contains a pointer to itself.
    let TypeKind::Pointer { target, .. } = table.get(members[0].ty).kind else {
        panic!("no pointer");
    };
    assert_eq!(table.get(target), &node);
    assert_eq!(table.get(members[0].ty).byte_size, Some(8));
    assert_eq!(table.get(members[6].ty).byte_size, Some(6));

    let (_, bits) = read(&info, 0xd3);
    let TypeKind::Record { members, .. } = &bits.kind else {
        panic!("{bits:?}");
    };
    let fields: Vec<_> = members.iter().map(|m| (m.bit_offset, m.bit_size)).collect();
    assert_eq!(
        fields,
        [(0, 1), (1, 3), (4, 12), (16, 40)].map(|(at, size)| (Some(at), Some(size)))
    );

    let (_, colour) = read(&info, 0xb9);
    let TypeKind::Enumeration { enumerators, .. } = &colour.kind else {
        panic!("{colour:?}");
    };
    let values: Vec<_> = enumerators
        .iter()
        .map(|e| (e.name.as_str(), e.value))
        .collect();
    assert_eq!(values, [("RED", 0), ("GREEN", 5), ("BLUE", -3)]);

    let (_, matrix) = read(&info, 0x1c0);
    assert_eq!(matrix.byte_size, Some(48));
    let TypeKind::Array {
        dimensions, vector, ..
    } = matrix.kind
    else {
        panic!("{matrix:?}");
    };
    let dimension = |count| Dimension {
        lower_bound: 0,
        count: Some(count),
    };
    assert_eq!(dimensions, [dimension(3), dimension(4)]);
    assert!(!vector);
    let (_, vector) = read(&info, 0x15c);
    assert_eq!(vector.byte_size, Some(4));
    assert!(matches!(vector.kind, TypeKind::Array { vector: true, .. }));
    assert_eq!(name(&info, 0x138), "struct {...}");
}

#[test]
fn pointers_know_the_address_space_they_point_into() {
    let rocm = sections("rocm-small-gfx90a-O0.hsaco");
    let old = sections("small-gfx90a-O0-dwarf3.hsaco");
    // DW_AT_LLVM_address_space there, DW_AT_address_class here, and neither on a pointer to global memory.
    for (sections, private, global) in [(&rocm, 0x192, 0x19c), (&old, 0x1b6, 0x1bf)] {
        let info = load(sections);
        let (_, pointer) = read(&info, private);
        let TypeKind::Pointer {
            address_space,
            memory_space,
            ..
        } = pointer.kind
        else {
            panic!("{pointer:?}");
        };
        assert_eq!(address_space, AddressSpace::PrivateLane);
        assert_eq!(memory_space, MemorySpace::None);
        assert_eq!(pointer.byte_size, Some(4));
        let (_, pointer) = read(&info, global);
        let TypeKind::Pointer { address_space, .. } = pointer.kind else {
            panic!("{pointer:?}");
        };
        assert_eq!(address_space, AddressSpace::None);
        assert_eq!(pointer.byte_size, Some(8));
    }
}

#[test]
fn lines_are_found_and_files_carry_their_text() {
    let sections = sections("small-gfx1100-O0-embed.hsaco");
    let info = load(&sections);
    let table = info.line_table(UnitId(0)).unwrap().unwrap();
    assert_eq!(table.version(), 5);
    assert_eq!(table.file_count(), 1);
    let rows: Vec<_> = table.rows().collect();
    assert_eq!(
        (rows[0].address, rows[0].line, rows[0].column),
        (0x1a00, 5, 0)
    );
    assert!(rows[0].is_stmt && !rows[0].prologue_end);
    assert_eq!(
        (rows[1].address, rows[1].line, rows[1].column),
        (0x1b0c, 6, 11)
    );
    assert!(rows[1].prologue_end);
    assert!(rows.last().unwrap().end_sequence);
    let line = info.line_at(0x1b08).unwrap().unwrap();
    assert_eq!((line.line, line.range), (5, 0x1a00..0x1b0c));
    let file = line.file.unwrap();
    let text = info
        .embedded_source(line.unit, file.index)
        .unwrap()
        .unwrap();
    assert!(text.starts_with("// The smallest useful program: one call, one branch;"));
    assert!(text.ends_with("  out[gid] = r;\n}\n"));
    assert_eq!(info.embedded_source(line.unit, 1).unwrap(), None);
    assert_eq!(info.source_file(line.unit, 1).unwrap(), None);
}

#[test]
fn aranges_are_a_short_cut_and_not_the_truth() {
    let mut sections = sections("small-gfx906-O1-aranges.hsaco");
    let name = |sections: &Sections, pc| {
        let function = load(sections).find_function(pc).unwrap().unwrap();
        function.name.unwrap().into_owned()
    };
    {
        let info = load(&sections);
        assert_eq!(info.find_unit(0x1600).unwrap(), Some(UnitId(0)));
        assert!(
            info.addresses.get().is_none(),
            "found without reading the unit"
        );
    }
    assert_eq!(name(&sections, 0x1600), "helper");
    // A length of zero: the table lists nothing.
    let aranges = sections.get_mut(".debug_aranges").unwrap();
    aranges[0x18..0x20].fill(0);
    assert_eq!(name(&sections, 0x1600), "helper");
    // A table that does not parse.
    sections.get_mut(".debug_aranges").unwrap().truncate(5);
    assert_eq!(name(&sections, 0x1600), "helper");
}

#[test]
fn a_lane_pc_is_recognised() {
    let sections = sections("lane_pc.hsaco");
    let info = load(&sections);
    let function = info.find_function(0x1300).unwrap().unwrap();
    assert_eq!(function.name.as_deref(), Some("nested"));
    assert_eq!(function.simt.lanes, Some(64));
    assert_eq!(function.simt.iterations, None);
    assert_eq!(function.simt.active_lane, None);
    let Some(LocationAttribute::List { unit, offset }) = function.simt.lane_pc else {
        panic!("{:?}", function.simt);
    };
    // llvm-dwarfdump prints nothing for the attribute, but lists the list under --debug-loclists.
    assert_eq!(offset, 0x28);
    let meter = info.for_query();
    let list = info.location_list(UnitId(unit.id), offset, &meter).unwrap();
    let ranges: Vec<_> = list
        .map(|entry| Ok(entry.range))
        .collect::<Vec<_>>()
        .unwrap();
    let expected = [
        0x1300, 0x1314, 0x1324, 0x132c, 0x1334, 0x133c, 0x1348, 0x1350,
    ]
    .windows(2)
    .map(|ends| LocationRange::Bounded(ends[0]..ends[1]))
    .collect::<Vec<_>>();
    assert_eq!(ranges, expected);
}
