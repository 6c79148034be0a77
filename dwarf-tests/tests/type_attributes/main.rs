//! Tests types whose values depend on an attribute. Each attribute of the table is tried with and without, on objects that are built here.
//! The expected values are worked out by hand.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a test"
)]

mod cases;
#[allow(dead_code, reason = "the other test that it belongs to uses all of it")]
#[path = "../hostile/elf.rs"]
mod elf;
mod object;
mod shapes;

use std::collections::BTreeSet;

use hetdwarf::arch::Lane;
use hetdwarf::debug_info::type_attribute::{Code, ROWS, Row, State, TAGS};
use hetdwarf::inspect::ValueState;

use cases::{Case, cases};
use object::{Part, Says, Seen, base, look_at, object, part, seen, variable};

/// Returns the code of a row's attribute.
fn code(row: &Row) -> gimli::DwAt {
    match row.code {
        Code::Standard(code) => code,
        Code::Extension(extension) => {
            let rows = hetdwarf::debug_info::attribute::EXTENSIONS;
            let found = rows.iter().find(|row| row.extension == extension);
            found.unwrap().llvm.unwrap()
        }
        other => panic!("{other:?}"),
    }
}

/// Returns lane 0 of a case after its entries are changed.
fn tried(case: &Case, change: impl Fn(&mut Part)) -> Seen {
    let mut parts = case.parts.clone();
    parts.iter_mut().for_each(change);
    look_at(&object(0x0c, &parts), &case.bytes, |v, types| {
        seen(v, types, Lane(0))
    })
}

/// Returns true if a value or a part of it reports the attribute as not understood.
fn names(seen: &Seen, name: &str) -> bool {
    match &seen.state {
        ValueState::Unsupported { what } => what.contains(name),
        ValueState::Partial => {
            seen.note.contains(name) && seen.text.contains(&format!("<unsupported: {name}>"))
        }
        _ => false,
    }
}

#[test]
fn every_attribute_that_is_read_changes_the_value() {
    for case in cases() {
        let place = format!("{} on {}", case.attribute, case.tag);
        let with = tried(&case, |_| {});
        assert!(
            matches!(with.state, ValueState::Ok | ValueState::Partial),
            "{place}: {with:?}"
        );
        assert_eq!(with.text, case.with, "{place}");
        let without = tried(&case, |part| {
            if part.tag == case.tag {
                part.attributes.retain(|(name, _)| *name != case.attribute);
            }
        });
        match case.without {
            Some(text) => {
                assert_eq!(without.text, text, "{place}, left out");
                assert_ne!(
                    (with.text, with.bytes),
                    (without.text, without.bytes),
                    "{place}, left out"
                );
            }
            None => assert_ne!(
                without.state,
                ValueState::Ok,
                "{place}, left out: {without:?}"
            ),
        }
    }
}

#[test]
fn every_row_of_the_table_has_a_case() {
    let mut covered: BTreeSet<(u16, u16)> = cases()
        .iter()
        .map(|case| (case.attribute.0, case.tag.0))
        .collect();
    // The default reading has the same meaning: `shapes::pointers_to_members_are_added_to_the_object`.
    let use_location = (gimli::DW_AT_use_location, gimli::DW_TAG_ptr_to_member_type);
    covered.insert((use_location.0.0, use_location.1.0));
    let mut missing = Vec::new();
    for row in ROWS.iter().filter(|row| row.state != State::Unsupported) {
        assert!(!row.tags.is_empty(), "{} is read on any entry", row.name);
        let tags = row.tags.iter();
        let without = tags.filter(|tag| !covered.contains(&(code(row).0, tag.0)));
        missing.extend(without.map(|tag| format!("{} on {tag}", row.name)));
    }
    assert_eq!(missing, Vec::<String>::new());
}

/// The attributes of DWARF 5 (§7.5.4, table 7.5) that do not affect the meaning of a value's bytes, by topic. The attributes of DWARF 1 in
/// the same range of codes come first.
const OTHERS: &[&str] = &[
    "DW_AT_fund_type DW_AT_mod_fund_type DW_AT_user_def_type DW_AT_mod_u_d_type DW_AT_subscr_data DW_AT_element_list",
    "DW_AT_member DW_AT_friends DW_AT_program DW_AT_private DW_AT_protected DW_AT_public DW_AT_pure_virtual",
    "DW_AT_virtual DW_AT_specification_v1",
    // Attributes for names, declarations and access.
    "DW_AT_name DW_AT_linkage_name DW_AT_description DW_AT_decl_file DW_AT_decl_line DW_AT_decl_column",
    "DW_AT_accessibility DW_AT_visibility DW_AT_external DW_AT_artificial DW_AT_friend DW_AT_import DW_AT_priority",
    "DW_AT_export_symbols DW_AT_identifier_case DW_AT_mutable DW_AT_explicit DW_AT_deleted DW_AT_defaulted",
    "DW_AT_const_expr DW_AT_enum_class DW_AT_alignment DW_AT_start_scope DW_AT_use_UTF8",
    // References between entries, which are followed.
    "DW_AT_sibling DW_AT_abstract_origin DW_AT_specification DW_AT_declaration DW_AT_signature DW_AT_extension",
    "DW_AT_base_types DW_AT_common_reference DW_AT_namelist_item",
    // The location of an object, not the meaning of its bytes.
    "DW_AT_location",
    // Attributes of functions, calls, code and units.
    "DW_AT_prototyped DW_AT_inline DW_AT_virtuality DW_AT_vtable_elem_location DW_AT_object_pointer DW_AT_elemental",
    "DW_AT_pure DW_AT_recursive DW_AT_main_subprogram DW_AT_noreturn DW_AT_reference DW_AT_rvalue_reference",
    "DW_AT_calling_convention DW_AT_return_addr DW_AT_static_link DW_AT_frame_base DW_AT_trampoline DW_AT_is_optional",
    "DW_AT_default_value DW_AT_variable_parameter DW_AT_call_column DW_AT_call_file DW_AT_call_line",
    "DW_AT_call_all_calls DW_AT_call_all_source_calls DW_AT_call_all_tail_calls DW_AT_call_return_pc DW_AT_call_value",
    "DW_AT_call_origin DW_AT_call_parameter DW_AT_call_pc DW_AT_call_tail_call DW_AT_call_target",
    "DW_AT_call_target_clobbered DW_AT_call_data_location DW_AT_call_data_value",
    "DW_AT_low_pc DW_AT_high_pc DW_AT_entry_pc DW_AT_ranges DW_AT_stmt_list DW_AT_language DW_AT_producer",
    "DW_AT_comp_dir DW_AT_macro_info DW_AT_macros DW_AT_dwo_name DW_AT_str_offsets_base DW_AT_addr_base",
    "DW_AT_rnglists_base DW_AT_loclists_base",
];

#[test]
fn every_attribute_of_dwarf_5_is_in_the_table_or_leaves_values_alone() {
    let others: BTreeSet<&str> = OTHERS.iter().flat_map(|line| line.split(' ')).collect();
    let rows: BTreeSet<&str> = ROWS.iter().map(|row| row.name).collect();
    for code in 1..=gimli::DW_AT_loclists_base.0 {
        let Some(name) = gimli::DwAt(code).static_string() else {
            continue;
        };
        assert_ne!(rows.contains(name), others.contains(name), "{name}");
    }
    // Vendor attributes that affect bytes.
    for name in [
        "DW_AT_GNU_bias",
        "DW_AT_GNU_vector",
        "DW_AT_GNAT_descriptive_type",
        "DW_AT_INTEL_other_endian",
        "DW_AT_LLVM_address_space",
        "DW_AT_LLVM_vector_size",
        "DW_AT_PGI_lstride",
        "DW_AT_upc_threads_scaled",
    ] {
        assert!(rows.contains(name), "{name}");
    }
}

/// An expression in place of a constant is not treated as a constant.
#[test]
fn what_is_read_only_as_a_constant_is_unsupported_in_another_form() {
    let mut tried_rows = 0;
    for case in cases() {
        let row = ROWS.iter().find(|row| {
            code(row) == case.attribute && (row.tags.is_empty() || row.tags.contains(&case.tag))
        });
        let row = row.unwrap();
        if row.state != State::ReadIfConstant {
            continue;
        }
        let seen = tried(&case, |part| {
            for (name, says) in &mut part.attributes {
                if part.tag == case.tag && *name == case.attribute {
                    // lit1
                    *says = Says::Expression(vec![0x31]);
                }
            }
        });
        assert!(
            names(&seen, row.name),
            "{} on {}: {seen:?}",
            row.name,
            case.tag
        );
        tried_rows += 1;
    }
    assert!(tried_rows > 40, "{tried_rows}");
}

/// For rows that apply to every tag, the attribute is on a typedef of `int`. For the others, it is on an entry with the row's tag.
#[test]
fn attributes_that_are_not_understood_are_named() {
    use gimli::*;
    let type_of = |label| (DW_AT_type, Says::Entry(label));
    for row in ROWS.iter().filter(|row| row.state == State::Unsupported) {
        let says = Says::Number(1);
        let extra = (code(row), says);
        let on = |tag: DwTag| row.tags.contains(&tag);
        let int = base("int", DW_ATE_signed, 4);
        let parts = if row.tags.is_empty() {
            let typedef = part(1, "T", DW_TAG_typedef, &[type_of("int"), extra]);
            vec![variable(), typedef, int]
        } else if on(DW_TAG_enumeration_type) {
            let size = (DW_AT_byte_size, Says::Number(4));
            let attributes = [type_of("int"), size, extra];
            let ty = part(1, "T", DW_TAG_enumeration_type, &attributes);
            vec![variable(), ty, int]
        } else {
            assert!(on(DW_TAG_variant_part), "{}", row.name);
            let size = (DW_AT_byte_size, Says::Number(4));
            vec![
                variable(),
                part(1, "T", DW_TAG_structure_type, &[size]),
                part(2, "p", DW_TAG_variant_part, &[type_of("int")]),
                int,
            ]
        };
        let seen = look_at(&object(0x0c, &parts), &[1, 0, 0, 0], |v, types| {
            seen(v, types, Lane(0))
        });
        assert!(names(&seen, row.name), "{}: {seen:?}", row.name);
    }
}

/// The location of a variable whose own entry has the attribute.
#[test]
fn attributes_of_a_variable_are_named_too() {
    use gimli::*;
    for name in [DW_AT_segment, DW_AT_data_location, DW_AT_bit_stride] {
        let v = variable().with(name, Says::Number(1));
        let parts = [v, base("T", DW_ATE_signed, 4)];
        let seen = look_at(&object(0x0c, &parts), &[1, 0, 0, 0], |v, types| {
            seen(v, types, Lane(0))
        });
        assert!(names(&seen, name.static_string().unwrap()), "{seen:?}");
    }
}

#[test]
fn tags_that_are_not_read_are_named() {
    use gimli::*;
    let not_read = [
        (DW_TAG_set_type, "DW_TAG_set_type"),
        (DW_TAG_file_type, "DW_TAG_file_type"),
        (DW_TAG_coarray_type, "DW_TAG_coarray_type"),
        (DW_TAG_dynamic_type, "DW_TAG_dynamic_type"),
        (DW_TAG_shared_type, "DW_TAG_shared_type"),
        (DwTag(0x4300), "DW_TAG_LLVM_ptrauth_type"),
        (DW_TAG_namelist, "DW_TAG_namelist"),
        (DwTag(0x4fff), "DW_TAG_unknown_4fff"),
    ];
    for (tag, name) in not_read {
        assert!(!TAGS.contains(&tag));
        for size in [vec![], vec![(DW_AT_byte_size, Says::Number(4))]] {
            let attributes = [vec![(DW_AT_type, Says::Entry("int"))], size].concat();
            let parts = [
                variable(),
                part(1, "T", tag, &attributes),
                base("int", DW_ATE_signed, 4),
            ];
            let seen = look_at(&object(0x0c, &parts), &[1, 0, 0, 0], |v, types| {
                seen(v, types, Lane(0))
            });
            assert!(names(&seen, name), "{name}: {seen:?}");
        }
    }
}
