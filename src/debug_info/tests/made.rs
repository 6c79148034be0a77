//! Tests `made.s`: constructs that compilers write rarely or never. Expected values follow from the specification, as explained in comments of the
//! source. llvm-dwarfdump-22 agrees where it can print them. It overflows its stack on the pointer that points to its own type.

use fallible_iterator::FallibleIterator;

use super::*;
use crate::arch::{AddressSpace, MemorySpace};
use crate::debug_info::types::{Dimension, TypeKind};
use crate::error::{ErrorKind, SpecRule};
use crate::eval::{
    BaseType, BaseTypeEncoding, DieReference, LocationAttribute, Procedure, Resolver, Unit,
};

const FILE: &str = "made.elf";

fn unit(info: &DebugInfo<'_>) -> Unit {
    info.eval_unit(UnitId(0)).unwrap()
}

/// Returns the type of an entry of `.debug_info`, found by its name.
fn by_name(info: &DebugInfo<'_>, name: &str) -> u64 {
    let mut dies = info.dies(UnitId(0)).unwrap();
    while let Some(die) = dies.next().unwrap() {
        let attribute = die.attribute(gimli::DW_AT_name);
        if attribute
            .and_then(|found| info.string_of(&die, found))
            .as_deref()
            == Some(name)
        {
            return die.id().offset;
        }
    }
    panic!("no {name}");
}

#[test]
fn codes_of_het_are_told_apart_from_others_by_tag_and_class() {
    let sections = sections(FILE);
    let info = load(&sections);
    // 0x3e09 of class string on a unit; LLVM's flag of this code stands on types.
    let root = info.unit_info(UnitId(0)).unwrap();
    assert_eq!(root.augmentation.as_deref(), Some("[amd:v0.0]"));
    let k = info.find_function(0x1000).unwrap().unwrap();
    assert!(k.is_kernel);
    // 0x3e0a twice: a constant is lanes, an expression iterations.
    assert_eq!(k.simt.lanes, Some(64));
    let Some(Iterations::Location(LocationAttribute::Expression(iterations))) = k.simt.iterations
    else {
        panic!("{:?}", k.simt);
    };
    assert_eq!(iterations.bytes, [0x32]);
    // 0x3e0b and 0x3e08.
    let Some(LocationAttribute::Expression(lane_pc)) = k.simt.lane_pc else {
        panic!("{:?}", k.simt);
    };
    assert_eq!(lane_pc.bytes, [0x30]);
    let Some(LocationAttribute::List { offset, .. }) = k.simt.active_lane else {
        panic!("{:?}", k.simt);
    };
    let active = info.matching_at(unit(&info), offset, 0x1000, info.meter());
    let active = active.unwrap().into_expressions();
    assert_eq!(active[0].bytes, [0x92, 17, 0]);
}

#[test]
fn attributes_are_named_by_what_they_are() {
    let sections = sections(FILE);
    let info = load(&sections);
    let names = |offset| -> Vec<_> {
        let die = info.die(at(&info, offset)).unwrap();
        die.attributes()
            .iter()
            .map(|found| attribute::attribute_name(die.tag(), found))
            .collect()
    };
    let k = info.find_function(0x1000).unwrap().unwrap().die.offset;
    assert_eq!(
        names(k)[5..],
        [
            "DW_AT_LLVM_lanes",
            "DW_AT_LLVM_iterations",
            "DW_AT_LLVM_lane_pc",
            "DW_AT_LLVM_active_lane"
        ]
    );
    for vector in ["vector4", "vector2"] {
        assert_eq!(names(by_name(&info, vector))[3], "DW_AT_LLVM_vector_size");
    }
    assert_eq!(
        attribute::tag_name(gimli::DwTag(0x4300)),
        "DW_TAG_LLVM_ptrauth_type"
    );
    assert_eq!(
        attribute::tag_name(gimli::DwTag(0x4fff)),
        "DW_TAG_unknown_4fff"
    );
}

#[test]
fn every_kind_of_location_list_entry_is_read() {
    let sections = sections(FILE);
    let info = load(&sections);
    let entries: Vec<_> = info
        .location_list(UnitId(0), 0x10, &info.for_query())
        .unwrap()
        .map(|entry| Ok((entry.range, entry.expression)))
        .collect()
        .unwrap();
    let bounded = |start, end| LocationRange::Bounded(start..end);
    let expected = [
        (bounded(0x1000, 0x1004), 0x30),
        (bounded(0x1010, 0x1018), 0x31),
        (LocationRange::Default, 0x32),
        (bounded(0x1010, 0x1014), 0x33),
        (bounded(0x1028, 0x1030), 0x34),
        (bounded(0x1040, 0x1048), 0x35),
        (bounded(0x1050, 0x1054), 0x36),
        (bounded(0x1060, 0x1064), 0x37),
        // The two for discarded code are gone.
    ];
    assert_eq!(entries.len(), expected.len());
    for ((range, expression), (expected, opcode)) in entries.iter().zip(expected) {
        assert_eq!(*range, expected);
        assert_eq!(expression.bytes[0], opcode);
        assert_eq!(expression.section, ".debug_loclists");
        let start = usize::try_from(expression.offset).unwrap();
        let whole = &sections[".debug_loclists"];
        assert_eq!(
            &whole[start..start + expression.bytes.len()],
            expression.bytes
        );
    }
}

#[test]
fn the_default_entry_holds_where_no_bounded_one_does() {
    let sections = sections(FILE);
    let info = load(&sections);
    let at = |pc| -> Vec<u8> {
        let found = info.matching_at(unit(&info), 0x10, pc, info.meter());
        let found = found.unwrap().into_expressions();
        found.iter().map(|expression| expression.bytes[0]).collect()
    };
    assert_eq!(at(0x1000), [0x30]);
    assert_eq!(at(0x1004), [0x32]);
    // Two at once: the object is in more than one place (HET A.2.5.5).
    assert_eq!(at(0x1012), [0x31, 0x33]);
    assert_eq!(at(0x1014), [0x31]);
    assert_eq!(at(0x1063), [0x37]);
    assert_eq!(at(u64::MAX), [0x32]);
    let error = info.matching_at(unit(&info), 0x1000, 0, info.meter());
    let error = error.unwrap_err();
    assert_eq!(error.origin().unwrap().section, ".debug_loclists");
}

#[test]
fn blocks_nest_by_their_addresses() {
    let sections = sections(FILE);
    let info = load(&sections);
    let names = |pc| -> Vec<_> {
        variables(&info, pc)
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    };
    let constants = [
        "c_data1",
        "c_data2",
        "c_sdata",
        "c_udata",
        "c_implicit",
        "c_block",
        "c_string",
        "c_data16",
    ];
    let outer = |mut inner: Vec<&'static str>| {
        inner.push("p");
        inner.extend(constants);
        // A block without addresses is part of the scope around it.
        inner.push("in_bare_block");
        inner.extend(["signed_type", "missing_type", "", "shared"]);
        inner
    };
    assert_eq!(names(0x1000), outer(vec![]));
    assert_eq!(names(0x1010), outer(vec!["late"]));
    assert_eq!(names(0x1014), outer(vec!["a", "gone", "late"]));
    assert_eq!(names(0x1018), outer(vec!["late"]));
    assert_eq!(names(0x1027), outer(vec!["a", "gone", "late"]));
    assert_eq!(names(0x1030), outer(vec![]));
    let k = info.find_function(0x1014).unwrap().unwrap();
    let late = info.variables_at(&k, 0x1014).unwrap().swap_remove(2);
    assert_eq!(late.start_scope, Some(StartScope::Offset(8)));
    assert_eq!(late.memory_space, MemorySpace::Group);
}

#[test]
fn constants_are_as_long_as_their_types() {
    let sections = sections(FILE);
    let info = load(&sections);
    let k = info.find_function(0x1000).unwrap().unwrap();
    let variables = info.variables_at(&k, 0x1000).unwrap();
    let value = |name: &str| {
        let found = variables
            .iter()
            .find(|v| v.name.as_deref() == Some(name))
            .unwrap();
        found.const_value.clone().unwrap()
    };
    // 0xc8 is 200 and not -56: compilers use the data forms for non-negative values.
    assert_eq!(value("c_data1"), 200i32.to_le_bytes());
    assert_eq!(value("c_data2"), [0x34]);
    assert_eq!(value("c_sdata"), (-2i64).to_le_bytes());
    assert_eq!(value("c_udata"), 300i128.to_le_bytes());
    assert_eq!(value("c_implicit"), (-3i32).to_le_bytes());
    assert_eq!(value("c_block"), [1, 2, 3]);
    assert_eq!(value("c_string"), *b"hello\0\0\0");
    let wide = 0x99aa_bbcc_ddee_ff00_1122_3344_5566_7788_u128;
    assert_eq!(value("c_data16"), wide.to_le_bytes());
}

#[test]
fn expressions_find_constants_and_locations() {
    let sections = sections(FILE);
    let info = load(&sections);
    let info = &info;
    let resolver: &dyn Resolver<'_> = &info;
    let unit = unit(info);
    let find = |name: &str| resolver.procedure(unit, DieReference::InUnit(by_name(info, name)));
    assert_eq!(
        find("c_implicit").unwrap(),
        Procedure::Constant(&(-3i32).to_le_bytes())
    );
    assert_eq!(find("in_bare_block").unwrap(), Procedure::Nothing);
    let Procedure::Location(LocationAttribute::List { offset: 0x10, .. }) = find("p").unwrap()
    else {
        panic!("{:?}", find("p"));
    };
    // In another unit: the partial unit's first variable.
    let shared = resolver
        .procedure(unit, DieReference::InSection(0x2a9))
        .unwrap();
    let Procedure::Location(LocationAttribute::Expression(shared)) = shared else {
        panic!("{shared:?}");
    };
    assert_eq!(shared.bytes[..3], [0x03, 0x00, 0x50]);
    assert_eq!(shared.unit.id, 1);
    for outside in [
        DieReference::InUnit(0x2a9),
        DieReference::InUnit(3),
        DieReference::InUnit(u64::MAX),
        DieReference::InSection(0x2000),
    ] {
        let error = resolver.procedure(unit, outside).unwrap_err();
        assert_eq!(
            *error.kind(),
            ErrorKind::IllFormed(SpecRule::WrongReference)
        );
    }
    assert_eq!(resolver.address(unit, 2).unwrap(), 0x1018);
    let error = resolver.address(unit, 4).unwrap_err();
    assert_eq!(error.origin().unwrap().section, ".debug_addr");
    assert!(resolver.address(unit, u64::MAX).is_err());
}

#[test]
fn expressions_find_base_types() {
    let sections = sections(FILE);
    let info = load(&sections);
    let info = &info;
    let resolver: &dyn Resolver<'_> = &info;
    let base = |name: &str| resolver.base_type(unit(info), by_name(info, name));
    let plain = |encoding, bit_size, elements| BaseType {
        encoding,
        bit_size,
        elements,
        address_space: AddressSpace::None,
    };
    assert_eq!(base("int").unwrap(), plain(BaseTypeEncoding::Signed, 32, 1));
    assert_eq!(
        base("__int128").unwrap(),
        plain(BaseTypeEncoding::Signed, 128, 1)
    );
    // HET A.5.1: a vector has this many elements of the type without the attribute.
    assert_eq!(
        base("vector4").unwrap(),
        plain(BaseTypeEncoding::Float, 128, 4)
    );
    assert_eq!(
        base("vector2").unwrap(),
        plain(BaseTypeEncoding::Signed, 32, 2)
    );
    for (name, size) in [("vector4", 16), ("vector2", 4), ("int", 4)] {
        assert_eq!(info.byte_size(at(info, by_name(info, name))), Some(size));
    }
    let error = base("loop").unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::IllFormed(SpecRule::NotABaseType));
    assert_eq!(error.origin().unwrap().offset, by_name(info, "loop"));
    assert!(resolver.base_type(unit(info), u64::MAX).is_err());
}

#[test]
fn bit_fields_of_old_count_from_the_top() {
    let sections = sections(FILE);
    let info = load(&sections);
    let (_, old) = read(&info, by_name(&info, "Old"));
    let TypeKind::Record { members, .. } = old.kind else {
        panic!("{old:?}");
    };
    let fields: Vec<_> = members.iter().map(|m| (m.bit_offset, m.bit_size)).collect();
    assert_eq!(
        fields,
        [
            (Some(4 * 8 + 32 - 3 - 5), Some(5)),
            (Some(32 - 16 - 4), Some(4)),
            // Only a debugger with a process could resolve it.
            (None, None),
        ]
    );
}

#[test]
fn enumerators_have_the_sign_of_their_type() {
    let sections = sections(FILE);
    let info = load(&sections);
    let values = |name| -> Vec<_> {
        let (_, ty) = read(&info, by_name(&info, name));
        let TypeKind::Enumeration { enumerators, .. } = ty.kind else {
            panic!("{ty:?}");
        };
        enumerators.into_iter().map(|e| e.value).collect()
    };
    assert_eq!(values("Signs"), [-1, -2]);
    assert_eq!(values("Bits"), [0xffff_ffff, 0xff]);
}

#[test]
fn arrays_have_the_dimensions_that_are_known() {
    let sections = sections(FILE);
    let info = load(&sections);
    let array = |offset| {
        let (_, ty) = read(&info, offset);
        let TypeKind::Array { dimensions, .. } = ty.kind else {
            panic!("{ty:?}");
        };
        (dimensions, ty.byte_size)
    };
    let dimension = |lower_bound, count| Dimension { lower_bound, count };
    assert_eq!(array(0x11a), (vec![dimension(0, Some(8))], Some(8)));
    // The second has lower bound -1, which the language of the unit does not allow.
    let two = vec![dimension(0, Some(3)), dimension(0, Some(5))];
    assert_eq!(array(0x122), (two, Some(3 * 5 * 4)));
    assert_eq!(read(&info, 0x122).0.wrong_lower_bound(), Some(-1));
    assert_eq!(read(&info, 0x11a).0.wrong_lower_bound(), None);
    assert_eq!(array(0x12d), (vec![dimension(0, None)], None));
    assert_eq!(name(&info, 0x122), "int[3][5]");
    assert_eq!(name(&info, 0x12d), "int[]");
}

#[test]
fn pointers_have_the_size_of_their_space() {
    let sections = sections(FILE);
    let info = load(&sections);
    let pointer = |offset| {
        let (_, ty) = read(&info, offset);
        let TypeKind::Pointer {
            address_space,
            memory_space,
            ..
        } = ty.kind
        else {
            panic!("{ty:?}");
        };
        (address_space, memory_space, ty.byte_size)
    };
    assert_eq!(
        pointer(0xa1),
        (AddressSpace::Local, MemorySpace::None, Some(4))
    );
    // 4 is reserved (USAGE "Address Space Identifier").
    assert_eq!(
        pointer(0xa7),
        (AddressSpace::None, MemorySpace::None, Some(8))
    );
    assert_eq!(
        pointer(0xad),
        (AddressSpace::PrivateLane, MemorySpace::Private, Some(4))
    );
}

#[test]
fn circles_end() {
    let sections = sections(FILE);
    let info = load(&sections);
    assert_eq!(name(&info, by_name(&info, "loop")), "loop");
    assert_eq!(read(&info, by_name(&info, "loop")).1.byte_size, None);
    assert!(name(&info, 0x9c).ends_with("****"));
    // Two instances, each the abstract instance of the other.
    let circle = info.find_function(0x1080).unwrap().unwrap();
    assert_eq!((circle.name, only(&circle.ranges)), (None, 0x1080..0x1090));
    assert_eq!(variables(&info, 0x1095).len(), 4);
}

#[test]
fn partial_units_belong_to_those_that_import_them() {
    let sections = sections(FILE);
    let info = load(&sections);
    assert_eq!(info.unit_info(UnitId(1)).unwrap().kind, UnitKind::Partial);
    let function = info.find_function(0x10a4).unwrap().unwrap();
    assert_eq!(function.name.as_deref(), Some("in_partial"));
    assert_eq!(function.die.unit, UnitId(1));
    let names: Vec<_> = info
        .globals(UnitId(0))
        .unwrap()
        .into_iter()
        .map(|global| global.name.unwrap_or_default())
        .collect();
    assert_eq!(names, ["signed_type", "missing_type", "", "shared"]);
}

#[test]
fn a_type_that_is_missing_is_said_to_be() {
    let sections = sections(FILE);
    let info = load(&sections);
    let globals = info.globals(UnitId(0)).unwrap();
    let mut table = TypeTable::default();
    let signed = info
        .read_type(&mut table, globals[0].ty, &info.for_query())
        .unwrap();
    assert_eq!(type_name(&table, signed), "Signed");
    assert_eq!(table.get(signed).byte_size, Some(24));
    assert_eq!(
        globals[1].problem.as_ref().unwrap().to_string(),
        ".debug_info+0x280: malformed reference: no type unit has the signature \
         0x0000000000000001"
    );
    assert_eq!(
        globals[2].problem.as_ref().unwrap().to_string(),
        ".debug_info+0x296: malformed reference: invalid offset: 0x300"
    );
}

#[test]
fn lines_and_paths_follow_the_table() {
    let sections = sections(FILE);
    let info = load(&sections);
    let line = info.line_at(0x1014).unwrap().unwrap();
    assert_eq!((line.line, line.column, line.is_stmt), (0, 3, false));
    assert_eq!(line.range, 0x1010..0x1080);
    let file = line.file.unwrap();
    assert_eq!((&*file.path, file.name()), ("/abs/sub/made.h", "made.h"));
    assert_eq!(info.line_at(0x100f).unwrap().unwrap().line, 7);
    assert_eq!(info.line_at(0x1080).unwrap(), None);
    // Directory 0 of version 5 is the unit's directory, and occurs once.
    let file = info.source_file(UnitId(0), 0).unwrap().unwrap();
    assert_eq!(&*file.path, "src/made.c");
}
