//! Compares the bits of a kernel descriptor that each directive of LLVM's assembler writes, on every family, with the fields that the
//! library reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use dwarf_tests::llvm_tool;
use hetdwarf::arch::{Family, Processor};
use hetdwarf::object::CodeObject;
use hetdwarf::object::descriptor::{Field, described};

/// A directive, a non-default value, and its field, by USAGE "AMDHSA Kernel Assembler Directives".
struct Directive {
    name: &'static str,
    given: u64,
    field: Field,
    stored: u64,
}

macro_rules! directives {
    ($($name:ident $given:literal => $field:ident $stored:literal;)*) => {
        const DIRECTIVES: &[Directive] = &[$(Directive {
            name: stringify!($name),
            given: $given,
            field: Field::$field,
            stored: $stored,
        },)*];
    };
}

directives! {
    group_segment_fixed_size 5 => GroupSegmentFixedSize 5;
    private_segment_fixed_size 5 => PrivateSegmentFixedSize 5;
    kernarg_size 5 => KernargSize 5;
    user_sgpr_count 9 => UserSgprCount 9;
    user_sgpr_private_segment_buffer 1 => EnableSgprPrivateSegmentBuffer 1;
    user_sgpr_dispatch_ptr 1 => EnableSgprDispatchPtr 1;
    user_sgpr_queue_ptr 1 => EnableSgprQueuePtr 1;
    user_sgpr_kernarg_segment_ptr 1 => EnableSgprKernargSegmentPtr 1;
    user_sgpr_dispatch_id 1 => EnableSgprDispatchId 1;
    user_sgpr_flat_scratch_init 1 => EnableSgprFlatScratchInit 1;
    user_sgpr_private_segment_size 1 => EnableSgprPrivateSegmentSize 1;
    user_sgpr_kernarg_preload_length 2 => KernargPreloadSpecLength 2;
    user_sgpr_kernarg_preload_offset 1 => KernargPreloadSpecOffset 1;
    wavefront_size32 0 => EnableWavefrontSize32 0;
    uses_dynamic_stack 1 => UsesDynamicStack 1;
    named_barrier_count 3 => NamedBarCnt 3;
    system_sgpr_private_segment_wavefront_offset 1 => EnablePrivateSegment 1;
    enable_private_segment 1 => EnablePrivateSegment 1;
    system_sgpr_workgroup_id_x 0 => EnableSgprWorkgroupIdX 0;
    system_sgpr_workgroup_id_y 1 => EnableSgprWorkgroupIdY 1;
    system_sgpr_workgroup_id_z 1 => EnableSgprWorkgroupIdZ 1;
    system_sgpr_workgroup_info 1 => EnableSgprWorkgroupInfo 1;
    system_vgpr_workitem_id 2 => EnableVgprWorkitemId 2;
    accum_offset 8 => AccumOffset 1;
    float_round_mode_32 2 => FloatRoundMode32 2;
    float_round_mode_16_64 2 => FloatRoundMode1664 2;
    float_denorm_mode_32 2 => FloatDenormMode32 2;
    float_denorm_mode_16_64 2 => FloatDenormMode1664 2;
    dx10_clamp 0 => EnableDx10Clamp 0;
    ieee_mode 0 => EnableIeeeMode 0;
    round_robin_scheduling 1 => WgRrEn 1;
    fp16_overflow 1 => Fp16Ovfl 1;
    tg_split 1 => TgSplit 1;
    workgroup_processor_mode 0 => WgpMode 0;
    memory_ordered 0 => MemOrdered 0;
    forward_progress 0 => FwdProgress 0;
    shared_vgpr_count 1 => SharedVgprCount 1;
    inst_pref_size 3 => InstPrefSize 3;
    exception_fp_ieee_invalid_op 1 => EnableExceptionFpInvalid 1;
    exception_fp_denorm_src 1 => EnableExceptionFpDenormal 1;
    exception_fp_ieee_div_zero 1 => EnableExceptionFpDivideByZero 1;
    exception_fp_ieee_overflow 1 => EnableExceptionFpOverflow 1;
    exception_fp_ieee_underflow 1 => EnableExceptionFpUnderflow 1;
    exception_fp_ieee_inexact 1 => EnableExceptionFpInexact 1;
    exception_int_div_zero 1 => EnableExceptionIntDivideByZero 1;
}

/// Fields that no directive sets directly: the assembler computes them, the command processor fills them in, or only graphics pipelines
/// have them. For each field, the families that have it according to USAGE's tables.
const WITHOUT_A_DIRECTIVE: &[(Field, &[Family])] = &[
    (Field::KernelCodeEntryByteOffset, ALL),
    (Field::GranulatedWorkitemVgprCount, ALL),
    (Field::GranulatedWavefrontSgprCount, UP_TO_GFX9),
    (Field::Priority, ALL),
    (Field::Priv, ALL),
    (Field::DebugMode, ALL),
    (Field::DisablePerf, FROM_GFX12),
    (Field::Bulky, ALL),
    (Field::CdbgUser, ALL),
    (Field::FlatScratchIsNv, &[Family::Gfx12_5]),
    (Field::EnableTrapHandler, UP_TO_GFX11),
    (Field::EnableDynamicVgpr, FROM_GFX12),
    (Field::EnableExceptionAddressWatch, ALL),
    (Field::EnableExceptionMemory, ALL),
    (Field::GranulatedLdsSize, ALL),
    (Field::TrapOnStart, &[Family::Gfx11, Family::Gfx11_7]),
    (Field::TrapOnEnd, &[Family::Gfx11, Family::Gfx11_7]),
    (Field::GlgEn, FROM_GFX12),
    (Field::TcpSplit, &[Family::Gfx12_5]),
    (Field::EnableDidtThrottle, &[Family::Gfx12_5]),
    (Field::ImageOp, ALL.split_at(10).1),
];

const ALL: &[Family] = &[
    Family::Gfx6,
    Family::Gfx7,
    Family::Gfx8,
    Family::Gfx9,
    Family::Gfx908,
    Family::Gfx90a,
    Family::Gfx942,
    Family::Gfx950,
    Family::Gfx10_1,
    Family::Gfx10_3,
    Family::Gfx11,
    Family::Gfx11_7,
    Family::Gfx12,
    Family::Gfx12_5,
    Family::Gfx13,
];
const UP_TO_GFX9: &[Family] = ALL.split_at(8).0;
const UP_TO_GFX11: &[Family] = ALL.split_at(12).0;
const FROM_GFX12: &[Family] = ALL.split_at(12).1;

/// Families without a processor in LLVM 22.
const NEWER_THAN_LLVM_22: &[Family] = &[Family::Gfx11_7, Family::Gfx13];

/// Derived fields: the position of the code, the number of user registers, and the number of vector registers in blocks whose size depends
/// on the wave size.
const RECKONED: &[Field] = &[
    Field::KernelCodeEntryByteOffset,
    Field::UserSgprCount,
    Field::GranulatedWorkitemVgprCount,
];

const PLAIN: &str = "plain";

/// Returns kernels with one directive each, and one without, and the line of each directive.
fn source(
    processor: &Processor,
    with: &[&'static Directive],
) -> (String, BTreeMap<usize, &'static str>) {
    let has_offset = Field::AccumOffset
        .placement(processor.family().unwrap())
        .is_some();
    let (mut text, mut lines) = (String::from(".text\n"), BTreeMap::new());
    let all = with.iter().map(|one| (one.name, Some(one)));
    for (name, directive) in all.chain([(PLAIN, None)]) {
        write!(text, "{name}:\n s_endpgm\n.amdhsa_kernel {name}\n").unwrap();
        text.push_str(".amdhsa_next_free_vgpr 64\n.amdhsa_next_free_sgpr 8\n");
        if has_offset && name != "accum_offset" {
            text.push_str(".amdhsa_accum_offset 4\n");
        }
        if let Some(one) = directive {
            writeln!(text, ".amdhsa_{name} {}", one.given).unwrap();
            lines.insert(text.lines().count(), one.name);
        }
        text.push_str(".end_amdhsa_kernel\n");
    }
    (text, lines)
}

/// Runs the assembler, and returns its errors.
fn assemble(mc: &Path, folder: &Path, processor: &Processor, text: &str) -> String {
    let source = folder.join("kernels.s");
    std::fs::write(&source, text).unwrap();
    let run = Command::new(mc)
        .args(["-triple=amdgcn-amd-amdhsa", "-filetype=obj", "-o"])
        .arg(folder.join("kernels.o"))
        .arg(format!("-mcpu={}", processor.name()))
        .arg(&source)
        .output()
        .unwrap();
    String::from_utf8(run.stderr).unwrap()
}

/// Returns the processor that represents a family: the first one that LLVM knows and that is not generic.
fn processor(mc: &Path, folder: &Path, family: Family) -> &'static Processor {
    let known = |p: &&Processor| assemble(mc, folder, p, "").is_empty();
    Processor::ALL
        .iter()
        .filter(|p| p.family() == Some(family) && !p.is_generic())
        .find(known)
        .unwrap_or_else(|| panic!("LLVM knows no processor of {family:?}"))
}

/// Returns the directives that the assembler rejects for a processor: those at whose start it reports an error.
fn refused(errors: &str, lines: &BTreeMap<usize, &'static str>) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    for line in errors.lines().filter(|line| line.contains(": error: ")) {
        let (place, said) = line.split_once(": error: ").unwrap();
        let mut place = place.rsplit(':');
        let (column, line_number) = (place.next().unwrap(), place.next().unwrap());
        match lines.get(&line_number.parse().unwrap()) {
            Some(name) if column == "1" => assert!(found.insert(*name), "{line}"),
            // This is the end of the kernel, which the assembler no longer expects after the error.
            _ => assert_eq!(said, "unknown directive", "{line}"),
        }
    }
    found
}

/// Each directive sets exactly its field. If LLVM rejects the directive, there is no such field.
#[test]
fn every_directive_sets_the_field_that_is_read() {
    let (Some(mc), Some(lld)) = (llvm_tool("llvm-mc"), llvm_tool("ld.lld")) else {
        return;
    };
    let folder = std::env::temp_dir().join(format!("descriptors-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let families = Family::ALL.iter().filter_map(|&family| described(family));
    let families = families.filter(|family| !NEWER_THAN_LLVM_22.contains(family));
    let (mut compared, mut problems) = (0, Vec::new());
    for family in families {
        let processor = processor(&mc, &folder, family);
        let all: Vec<_> = DIRECTIVES.iter().collect();
        let (text, lines) = source(processor, &all);
        let errors = assemble(&mc, &folder, processor, &text);
        let refused = refused(&errors, &lines);
        let (given, missing): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|directive| !refused.contains(directive.name));
        for directive in missing {
            // Two directives set the same field, each on the processors that lack the other directive.
            let other = given.iter().any(|one| one.field == directive.field);
            if directive.field.placement(family).is_some() && !other {
                problems.push(format!("{family:?} has no {:?}", directive.field));
            }
        }
        let (text, _) = source(processor, &given);
        assert_eq!(assemble(&mc, &folder, processor, &text), "", "{family:?}");
        let linked = folder.join("kernels.hsaco");
        let status = Command::new(&lld)
            .args(["-shared", "-o"])
            .args([&linked, &folder.join("kernels.o")])
            .status()
            .unwrap();
        assert!(status.success());
        let data = std::fs::read(&linked).unwrap();
        let object = CodeObject::parse(&data).unwrap();
        let kernels = object.kernels().unwrap();
        let descriptor = |name: &str| {
            let kernel = kernels.iter().find(|kernel| kernel.name == name).unwrap();
            kernel.descriptor.as_ref().unwrap()
        };
        let plain = descriptor(PLAIN);
        for directive in given {
            let found = descriptor(directive.name);
            let differ: Vec<_> = Field::ALL
                .iter()
                .filter(|&&field| field == directive.field || !RECKONED.contains(&field))
                .filter(|&&field| found.field(field) != plain.field(field))
                .copied()
                .collect();
            let reserved: Vec<_> = found.reserved_bits().collect();
            let value = found.field(directive.field);
            if value != Some(directive.stored)
                || differ != [directive.field]
                || !reserved.is_empty()
            {
                problems.push(format!(
                    "{family:?} {}: {value:?}, changed {differ:?}, reserved bits {reserved:?}",
                    directive.name
                ));
            }
            compared += 1;
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
    println!("{compared} fields");
    assert!(compared > 400);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// If a new family is described, the specification must be consulted for each field without a directive.
#[test]
fn every_field_has_a_directive_or_the_families_of_the_document() {
    for field in Field::ALL {
        let directive = DIRECTIVES.iter().any(|one| one.field == *field);
        let listed = WITHOUT_A_DIRECTIVE.iter().find(|(one, _)| one == field);
        assert!(directive != listed.is_some(), "{field:?}");
        if let Some((_, expected)) = listed {
            let families = Family::ALL.iter().copied();
            let found: Vec<_> = families
                .filter(|family| field.placement(*family).is_some())
                .collect();
            assert_eq!(found, *expected, "{field:?}");
        }
    }
}
