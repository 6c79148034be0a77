use super::*;
use crate::arch::WaveSize::{Wave32, Wave64};
use crate::arch::{CodeObjectVersion, Family, FeatureSetting, TargetId};
use crate::isa::MachineRegister;

/// One line of the recorded facts of LLVM 22 about a processor.
struct Recorded {
    name: &'static str,
    flags: u32,
    sgprs: u16,
    vgprs: u16,
    agprs: u16,
    wave_sizes: Vec<WaveSize>,
    scratch: Option<ScratchAddressing>,
}

fn recorded() -> Vec<Recorded> {
    let count = |word: &str| word.parse().unwrap_or(0);
    include_str!("llvm-22.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            let [name, flags, sgprs, vgprs, agprs, waves, scratch] = words[..] else {
                panic!("{line}");
            };
            Recorded {
                name,
                flags: u32::from_str_radix(flags.strip_prefix("0x").unwrap(), 16).unwrap(),
                sgprs: count(sgprs),
                vgprs: count(vgprs),
                agprs: count(agprs),
                wave_sizes: waves
                    .split('/')
                    .filter_map(|lanes| WaveSize::from_lanes(lanes.parse().ok()?))
                    .collect(),
                scratch: match scratch {
                    "buffer" => Some(ScratchAddressing::Buffer),
                    "scratch" => Some(ScratchAddressing::Flat),
                    _ => None,
                },
            }
        })
        .collect()
}

#[test]
fn every_processor_is_as_llvm_has_it() {
    for line in recorded() {
        let processor = Processor::by_name(line.name).unwrap();
        let name = line.name;
        assert_eq!(u32::from(processor.mach()), line.flags & 0xff, "{name}");
        assert_eq!(Processor::by_mach(processor.mach()), Some(processor));
        assert_eq!(processor.max_sgprs(), line.sgprs, "{name}");
        assert_eq!(processor.max_vgprs(), line.vgprs, "{name}");
        assert_eq!(processor.max_agprs(), line.agprs, "{name}");
        assert_eq!(processor.wave_sizes(), line.wave_sizes, "{name}");
        assert_eq!(processor.scratch_addressing(), line.scratch, "{name}");
        assert_eq!(processor.is_generic(), line.flags >> 24 == 1, "{name}");
    }
}

/// Processors that LLVM 22 does not have, with the number of `EF_AMDGPU_MACH_AMDGCN_…`, the family, and the source.
const ELSEWHERE: &[(&str, u8, Family, &str)] = &[
    ("gfx940", 0x40, Family::Gfx942, "LLVM 15 to 19"),
    ("gfx941", 0x4b, Family::Gfx942, "LLVM 15 to 19"),
    ("gfx1310", 0x50, Family::Gfx13, "LLVM 24"),
    ("gfx1154", 0x57, Family::Gfx11, "LLVM 24"),
    ("gfx12-5-generic", 0x5b, Family::Gfx12_5, "LLVM 24"),
    ("gfx1172", 0x5c, Family::Gfx11_7, "LLVM 24"),
    ("gfx1170", 0x5d, Family::Gfx11_7, "LLVM 24"),
    ("gfx1171", 0x5e, Family::Gfx11_7, "LLVM 24"),
    ("gfx11-7-generic", 0x62, Family::Gfx11_7, "LLVM 24"),
    ("gfx13-generic", 0x63, Family::Gfx13, "LLVM 24"),
    ("gfx1250-strict", 0xeb, Family::Gfx12_5, "ROCm's compiler"),
];

#[test]
fn processors_of_other_versions_have_their_numbers() {
    for (name, mach, family, source) in ELSEWHERE {
        let ours = Processor::by_name(name).unwrap();
        let ours = (ours.mach(), ours.family());
        assert_eq!(ours, (*mach, Some(*family)), "{name} of {source}");
    }
    let like = |name: &str, of: &str| {
        let [one, other] = [name, of].map(|name| Processor::by_name(name).unwrap());
        assert_eq!(one.wave_sizes(), other.wave_sizes());
        assert_eq!(one.scratch_addressing(), other.scratch_addressing());
        assert_eq!(one.features(), other.features());
        assert_eq!(one.max_agprs(), other.max_agprs());
    };
    like("gfx940", "gfx942");
    like("gfx941", "gfx942");
    like("gfx1250-strict", "gfx1250");
}

#[test]
fn nothing_is_refused_for_a_processor_that_is_not_known() {
    let unknown = Processor::UNKNOWN;
    assert!(!unknown.is_known() && !Processor::ALL.contains(unknown));
    assert_eq!(unknown.architecture(), Architecture::Amdgcn);
    assert!(unknown.supports_wave_size(Wave32) && unknown.supports_wave_size(Wave64));
    // Unknown facts are not invented.
    assert_eq!(unknown.default_wave_size(), None);
    assert_eq!(unknown.scratch_addressing(), None);
    assert_eq!(unknown.generation(), None);
    for processor in Processor::ALL {
        assert!(processor.is_known());
        assert!(processor.max_sgprs() <= unknown.max_sgprs());
        assert!(processor.max_vgprs() <= unknown.max_vgprs());
        assert!(processor.max_agprs() <= unknown.max_agprs());
    }
}

#[test]
fn llvm_has_every_processor() {
    let known: Vec<_> = recorded().iter().map(|line| line.name).collect();
    let elsewhere = |p: &Processor| ELSEWHERE.iter().any(|(name, ..)| *name == p.name());
    for processor in Processor::ALL.iter().filter(|p| !elsewhere(p)) {
        assert!(known.contains(&processor.name()), "{processor:?}");
        for name in processor.other_names() {
            assert!(known.contains(name), "{name}");
        }
    }
    let names = Processor::ALL.iter().map(|p| 1 + p.other_names().len());
    assert_eq!(names.sum::<usize>(), known.len() + ELSEWHERE.len());
}

/// In objects that were assembled without features, supported features are *any*, except for the case that [`Processor::features`]
/// describes.
#[test]
fn supported_features_are_those_that_llvm_leaves_open() {
    for line in recorded() {
        let processor = Processor::by_name(line.name).unwrap();
        let target = TargetId::from_flags(CodeObjectVersion::V6, line.flags).unwrap();
        for &feature in TargetFeature::ALL {
            let open = target.setting(feature) == FeatureSetting::Any;
            // For gfx125x, LLVM 22 leaves both open, and LLVM 24 has one of them.
            let expected = processor.supports(feature) || line.name.starts_with("gfx125");
            assert_eq!(open, expected, "{}", line.name);
        }
    }
}

#[test]
fn numbers_and_names_are_unique() {
    for pair in Processor::ALL.windows(2) {
        assert!(
            pair[0].mach() < pair[1].mach(),
            "the row of {} comes after that of {}: rows are in the order of their numbers",
            pair[1].name(),
            pair[0].name()
        );
    }
    // The reserved values among the numbers of USAGE's table.
    for mach in [
        0, 0x11, 0x1f, 0x27, 0x4d, 0x56, 0x60, 0x61, 0x64, 0xea, 0xff,
    ] {
        assert_eq!(Processor::by_mach(mach), None);
    }
    for processor in Processor::ALL {
        for name in processor.other_names().iter().chain([&processor.name]) {
            assert_eq!(Processor::by_name(name), Some(processor));
        }
    }
    assert_eq!(Processor::by_name("gfx9"), None);
}

#[test]
fn generations_are_the_number_in_the_name() {
    for processor in Processor::ALL {
        let Some(digits) = processor.name().strip_prefix("gfx") else {
            assert_eq!(processor.architecture(), Architecture::R600);
            assert_eq!(processor.generation(), None);
            continue;
        };
        assert_eq!(processor.architecture(), Architecture::Amdgcn);
        // Two digits follow the major number, or a dash where the processor is generic.
        let digits = digits.trim_end_matches("-strict");
        let major = match digits.split_once('-') {
            Some((major, _)) => major,
            None => digits.split_at(digits.len() - 2).0,
        };
        assert_eq!(processor.generation(), major.parse().ok());
    }
}

/// The column "Target Properties" of USAGE "Processors".
#[test]
fn flat_scratch_is_that_of_the_document() {
    for (names, flat_scratch) in [
        (
            &["cayman", "gfx600", "gfx602"][..],
            FlatScratch::Unsupported,
        ),
        (
            &["gfx700", "gfx705", "gfx801", "gfx810"],
            FlatScratch::Offset,
        ),
        (
            &[
                "gfx900",
                "gfx908",
                "gfx90a",
                "gfx9-generic",
                "gfx1013",
                "gfx1030",
                "gfx10-3-generic",
            ],
            FlatScratch::Absolute,
        ),
        (
            &[
                "gfx942",
                "gfx950",
                "gfx9-4-generic",
                "gfx1100",
                "gfx1201",
                "gfx1251",
            ],
            FlatScratch::Architected,
        ),
    ] {
        for name in names {
            let processor = Processor::by_name(name).unwrap();
            assert_eq!(processor.flat_scratch(), flat_scratch, "{name}");
            assert_eq!(
                processor.has_generic_address_space(),
                flat_scratch != FlatScratch::Unsupported
            );
            assert_eq!(
                processor.has_globally_accessible_scratch(),
                *name == "gfx1251"
            );
        }
    }
}

/// Returns the generic processor whose code runs on a processor.
fn generic_of(device: &Processor) -> Option<&'static Processor> {
    Processor::ALL
        .iter()
        .find(|p| p.is_generic() && p.covers.contains(&device.name()))
}

/// `isa` has enough scalar registers for every processor.
#[test]
fn no_processor_has_more_scalar_registers_than_are_numbered() {
    let most = u16::from(MachineRegister::SGPRS);
    assert_eq!(Processor::UNKNOWN.max_sgprs(), most);
}

/// USAGE "Generic Processors".
#[test]
fn generic_processors_cover_those_of_their_kind() {
    let generic = Processor::ALL.iter().filter(|p| p.is_generic());
    // Six of LLVM 22, and three of LLVM 24.
    assert_eq!(generic.clone().count(), 9);
    for generic in generic {
        assert!(generic.name().ends_with("-generic"));
        for name in generic.covers {
            let covered = Processor::by_name(name).unwrap();
            assert!(generic.runs_on(covered));
            assert!(!covered.runs_on(generic));
            assert_eq!(covered.generation(), generic.generation());
            assert_eq!(covered.wave_sizes(), generic.wave_sizes());
            assert_eq!(covered.scratch_addressing(), generic.scratch_addressing());
        }
    }
    // If a family has a generic processor, each of its processors is covered or listed here.
    let families_with_one: Vec<_> = Processor::ALL
        .iter()
        .filter(|p| generic_of(p).is_some() || p.is_generic())
        .map(|p| p.family())
        .collect();
    let uncovered: Vec<_> = Processor::ALL
        .iter()
        .filter(|p| families_with_one.contains(&p.family()) && !p.is_generic())
        .filter(|p| generic_of(p).is_none())
        .map(Processor::name)
        .collect();
    assert_eq!(uncovered, ["gfx940", "gfx941", "gfx1250-strict"]);
    let processor = |name| Processor::by_name(name).unwrap();
    assert!(!processor("gfx9-generic").runs_on(processor("gfx908")));
    assert!(!processor("gfx12-generic").runs_on(processor("gfx1250")));
}

/// LLVM 22 moves the stack pointer of the same kernel, at `-O0`, from 0 to 0x400 on gfx90a and to 16 on gfx942: 16 bytes per lane, in waves
/// of 64.
#[test]
fn stack_pointers_count_bytes_of_the_wave_or_of_a_lane() {
    let lane_address = |name, value| {
        let addressing = Processor::by_name(name).unwrap().scratch_addressing();
        addressing.unwrap().lane_address(value, Wave64)
    };
    assert_eq!(lane_address("gfx90a", 0x400), 16);
    assert_eq!(lane_address("gfx942", 16), 16);
    assert_eq!(ScratchAddressing::Buffer.lane_address(0x200, Wave32), 16);
}

/// A subarchitecture and its processor.
type Named = (&'static str, &'static str);

/// The table "AMDGPU Subarchitectures" of LLVM 24: the major subarchitectures with their generic processors, and the processors that each
/// covers.
const SUBARCHITECTURES: &[(&str, Option<&str>, &[Named])] = &[
    (
        "amdgpu6",
        None,
        &[("amdgpu6.00", "gfx600"), ("amdgpu6.02", "gfx602")],
    ),
    (
        "amdgpu7",
        None,
        &[("amdgpu7.00", "gfx700"), ("amdgpu7.05", "gfx705")],
    ),
    (
        "amdgpu8",
        None,
        &[("amdgpu8.01", "gfx801"), ("amdgpu8.05", "gfx805")],
    ),
    (
        "amdgpu9",
        Some("gfx9-generic"),
        &[
            ("amdgpu9.00", "gfx900"),
            ("amdgpu9.06", "gfx906"),
            ("amdgpu9.0c", "gfx90c"),
        ],
    ),
    (
        "amdgpu9.4",
        Some("gfx9-4-generic"),
        &[("amdgpu9.42", "gfx942"), ("amdgpu9.50", "gfx950")],
    ),
    (
        "amdgpu10.1",
        Some("gfx10-1-generic"),
        &[("amdgpu10.10", "gfx1010"), ("amdgpu10.13", "gfx1013")],
    ),
    (
        "amdgpu10.3",
        Some("gfx10-3-generic"),
        &[("amdgpu10.30", "gfx1030"), ("amdgpu10.36", "gfx1036")],
    ),
    (
        "amdgpu11",
        Some("gfx11-generic"),
        &[("amdgpu11.00", "gfx1100"), ("amdgpu11.54", "gfx1154")],
    ),
    (
        "amdgpu11.7",
        Some("gfx11-7-generic"),
        &[("amdgpu11.70", "gfx1170"), ("amdgpu11.72", "gfx1172")],
    ),
    (
        "amdgpu12",
        Some("gfx12-generic"),
        &[("amdgpu12.00", "gfx1200"), ("amdgpu12.01", "gfx1201")],
    ),
    (
        "amdgpu12.5",
        Some("gfx12-5-generic"),
        &[("amdgpu12.50", "gfx1250"), ("amdgpu12.51", "gfx1251")],
    ),
    (
        "amdgpu13",
        Some("gfx13-generic"),
        &[("amdgpu13.10", "gfx1310")],
    ),
];

#[test]
fn subarchitectures_name_the_processors_of_the_table() {
    let by = |text| Processor::by_subarchitecture(text).map(Processor::name);
    for &(major, generic, minors) in SUBARCHITECTURES {
        assert_eq!(by(major), generic, "{major}");
        for &(minor, name) in minors {
            assert_eq!(by(minor), Some(name));
            let processor = Processor::by_name(name).unwrap();
            assert!(processor.has_architecture(minor));
            assert!(processor.has_architecture("amdgpu") && processor.has_architecture("amdgcn"));
            // Different minor subarchitectures are never compatible; a major one is compatible only with those that it covers.
            for &(other, _, others) in SUBARCHITECTURES {
                assert_eq!(
                    processor.has_architecture(other),
                    other == major,
                    "{other} {name}"
                );
                for &(one, other) in others {
                    assert_eq!(processor.has_architecture(one), other == name);
                }
            }
        }
    }
    // Processors with their own major subarchitecture.
    assert_eq!(by("amdgpu9.08"), Some("gfx908"));
    assert_eq!(by("amdgpu9.0a"), Some("gfx90a"));
    assert_eq!(by("amdgpu8.10"), Some("gfx810"));
    for (name, own, other) in [
        ("gfx90a", "amdgpu9.0a", "amdgpu9"),
        ("gfx810", "amdgpu8.10", "amdgpu8"),
    ] {
        let processor = Processor::by_name(name).unwrap();
        assert!(processor.has_architecture(own) && !processor.has_architecture(other));
    }
    for text in [
        "amdgpu",
        "amdgpu9.",
        "amdgpu9.4x",
        "amdgpu9-4",
        "amdgpu.",
        "amdgcn9",
        "9.42",
        "amdgpu+9",
    ] {
        assert_eq!(by(text), None, "{text}");
    }
}
