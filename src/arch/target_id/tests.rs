use super::CodeObjectVersion::{V2, V3, V4, V5, V6};
use super::*;

fn parse(text: &str) -> TargetId {
    text.parse().unwrap()
}

/// `EI_OSABI` and `EI_ABIVERSION`, from USAGE's table.
#[test]
fn the_header_says_the_version() {
    for (abi_version, version) in (0..).zip([V2, V3, V4, V5, V6]) {
        assert_eq!(CodeObjectVersion::from_elf(64, abi_version), Some(version));
    }
    for os_abi in [0, 65, 66] {
        assert_eq!(CodeObjectVersion::from_elf(os_abi, 0), Some(V3));
        assert_eq!(CodeObjectVersion::from_elf(os_abi, 1), None);
    }
    assert_eq!(CodeObjectVersion::from_elf(64, 5), None);
    assert_eq!(CodeObjectVersion::from_elf(3, 0), None);
}

/// `e_flags` and `amdhsa.target` of objects that clang 22 compiled with this target id as `-mcpu=`, and with `-mcode-object-version=` 4, 5
/// and 6. Only version 6 has the generic ones.
#[test]
fn flags_of_version_4_and_later_read_as_the_compiler_wrote_them() {
    let compiled = [
        ("gfx90a", 0x53f),
        ("gfx90a:xnack+", 0x73f),
        ("gfx90a:xnack-", 0x63f),
        ("gfx90a:sramecc-:xnack+", 0xb3f),
        ("gfx90a:sramecc+", 0xd3f),
        ("gfx906:xnack-", 0x62f),
        ("gfx900:xnack-", 0x22c),
        ("gfx1010:xnack+", 0x333),
        ("gfx801:xnack+", 0x328),
        ("gfx1100", 0x41),
        ("gfx1030", 0x36),
    ];
    for (text, flags) in compiled {
        for version in [V4, V5, V6] {
            let target = TargetId::from_flags(version, flags).unwrap();
            assert_eq!(target.to_string(), text);
            assert_eq!(target, parse(text));
        }
    }
    for (text, flags) in [
        ("gfx9-4-generic:xnack-", 0x0100_065f),
        ("gfx9-generic:xnack+", 0x0100_0351),
        ("gfx11-generic", 0x0100_0054),
    ] {
        let target = TargetId::from_flags(V6, flags).unwrap();
        assert_eq!(target.to_string(), text);
        assert_eq!(target.generic_version(), 1);
        let older = TargetId::from_flags(V5, flags).unwrap();
        assert_eq!(older, parse(text), "no generic version before version 6");
    }
}

/// `e_flags` of objects for PAL, assembled by `llvm-mc` 22 with and without `-mattr=-xnack`.
#[test]
fn flags_of_version_3_have_one_bit_a_feature() {
    let assembled = [
        (0x12c, "gfx900:xnack+"),
        (0x2c, "gfx900:xnack-"),
        (0x32f, "gfx906:sramecc+:xnack+"),
        (0x22f, "gfx906:sramecc+:xnack-"),
        (0x41, "gfx1100"),
    ];
    for (flags, text) in assembled {
        for version in [V2, V3] {
            let target = TargetId::from_flags(version, flags).unwrap();
            assert_eq!(target.to_string(), text);
        }
    }
}

#[test]
fn flags_of_version_2_have_a_bit_for_xnack_and_no_processor() {
    for flags in 0..=3 {
        let error = TargetId::from_flags(V2, flags).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{flags}");
    }
    let gfx900 = Processor::by_name("gfx900").unwrap();
    let text = |flags| TargetId::from_flags_v2(gfx900, flags).to_string();
    assert_eq!(text(0), "gfx900:xnack-");
    assert_eq!(text(1), "gfx900:xnack+");
    // Bit 1 belongs to the trap handler.
    assert_eq!(text(2), "gfx900:xnack-");
    let gfx803 = Processor::by_name("gfx803").unwrap();
    assert_eq!(TargetId::from_flags_v2(gfx803, 0).to_string(), "gfx803");
}

#[test]
fn flags_without_a_known_processor_give_its_number() {
    for (mach, text) in [
        (0, "unknown-0x00"),
        (0x27, "unknown-0x27"),
        (0xff, "unknown-0xff"),
    ] {
        for version in [V3, V4, V5, V6] {
            let target = TargetId::from_flags(version, mach).unwrap();
            assert_eq!(target.to_string(), text);
            assert!(!target.processor().is_known());
            assert!(target.runs_on(&target) && target.runs_on(&parse(text)));
        }
        let features = TargetId::from_flags(V5, mach | 0xe00).unwrap();
        assert_eq!(features.to_string(), format!("{text}:sramecc+:xnack-"));
    }
    let other = TargetId::from_flags(V5, 0x11).unwrap();
    assert!(!other.runs_on(&TargetId::from_flags(V5, 0x27).unwrap()));
    for reserved in [0x11, 0x1f, 0x27, 0x60, 0xff] {
        let error = TargetId::from_flags(V2, reserved).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Malformed { .. }));
    }
    assert!("unknown-0x3f".parse::<TargetId>().is_err(), "it is gfx90a");
    assert_eq!(
        TargetId::from_flags(V3, 0x0f).unwrap().to_string(),
        "cayman"
    );
}

#[test]
fn text_is_read_in_every_form() {
    let cases = [
        ("gfx90a:xnack-:sramecc+", "gfx90a:sramecc+:xnack-"),
        ("tahiti", "gfx600"),
        ("amdgcn-amd-amdhsa--gfx90a:xnack+", "gfx90a:xnack+"),
        ("amdgcn-amd-amdhsa-gfx1100", "gfx1100"),
        ("amdgcn-amd-amdhsa-unknown-gfx1100", "gfx1100"),
        ("amdgcn-amd-amdhsa--gfx9-4-generic", "gfx9-4-generic"),
        ("amdgpu12.5-amd-amdhsa-unknown-gfx1250", "gfx1250"),
        ("amdgpu9.50-amd-amdhsa-unknown-gfx950", "gfx950"),
        ("amdgpu-amd-amdhsa--gfx950", "gfx950"),
        ("amdgpu8-amd-amdhsa--gfx803", "gfx803"),
        ("amdgpu9.4-amd-amdhsa--gfx9-4-generic", "gfx9-4-generic"),
        ("amdgpu12.50-amd-amdhsa--gfx1250-strict", "gfx1250-strict"),
        ("amdgpu9.0a", "gfx90a"),
        ("amdgpu9.42:xnack+", "gfx942:xnack+"),
        ("amdgpu9.4", "gfx9-4-generic"),
        ("amdgpu12.5", "gfx12-5-generic"),
        ("amdgpu9.42-amd-amdhsa", "gfx942"),
        ("amdgpu9.42-amd-amdhsa-unknown", "gfx942"),
        ("hipv4-amdgpu9.42-amd-amdhsa--", "gfx942"),
        ("hipv4-amdgpu9.42-amd-amdhsa--:xnack-", "gfx942:xnack-"),
        ("gfx1250:sramecc+", "gfx1250:sramecc+"),
        ("gfx12-5-generic:sramecc-", "gfx12-5-generic:sramecc-"),
        ("amdgcn-amd-amdhsa--unknown-0x27", "unknown-0x27"),
        (
            "hipv4-amdgcn-amd-amdhsa--gfx906:sramecc-",
            "gfx906:sramecc-",
        ),
        ("r600----cayman", "cayman"),
        (
            "amdgcn-amd-amdhsa--gfx906+sram-ecc",
            "gfx906:sramecc+:xnack-",
        ),
        ("gfx906+xnack+sramecc", "gfx906:sramecc+:xnack+"),
    ];
    for (text, canonical) in cases {
        assert_eq!(parse(text).to_string(), canonical, "{text}");
        assert_eq!(parse(canonical), parse(text));
    }
}

#[test]
fn bad_text_is_an_error() {
    let bad = [
        "",
        "gfx",
        "gfx90A",
        "gfx1030:xnack+",
        "gfx1250:xnack+",
        "gfx90a:",
        "gfx90a:xnack",
        "gfx90a:+",
        "gfx90a:xnack+:xnack+",
        "gfx90a:xnack+:xnack-",
        "gfx90a:tgsplit+",
        "gfx90a+",
        "gfx90a+xnack+xnack",
        "gfx90a+xnack:sramecc+",
        "x86_64-amd-amdhsa--gfx90a",
        "r600--gfx90a",
        "amdgcn-amd-amdhsa--",
        "amdgcn-amd-amdhsa--gfx90a-",
        "amdgpu",
        "amdgpu9.",
        "amdgpu9.4f",
        "amdgpu9-4",
        "amdgpu8",
        "amdgpu-amd-amdhsa--",
        "amdgpu9.42-amd-amdhsa--gfx90a",
        "amdgpu9-amd-amdhsa--gfx90a",
        "amdgpu9.42-amd-amdhsa--gfx9ff",
        "amdgpu9.42-amd-amdhsa-gfx9ff",
        "amdgpu9.42-amd-amdhsa---",
        "amdgpu12.5-amd-amdhsa--gfx1201",
        "gfx1200:sramecc+",
    ];
    for text in bad {
        let error = text.parse::<TargetId>().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Syntax { .. }), "{text}");
    }
}

/// USAGE "Generic Processor Versioning" and the descriptions of `sramecc` and `xnack`.
#[test]
fn code_runs_where_processor_and_features_fit() {
    let runs = |code: &str, device: &str| parse(code).runs_on(&parse(device));
    assert!(runs("gfx90a", "gfx90a:sramecc+:xnack-"));
    assert!(runs("gfx90a:xnack-", "gfx90a:sramecc+:xnack-"));
    assert!(!runs("gfx90a:xnack+", "gfx90a:sramecc+:xnack-"));
    assert!(!runs("gfx90a:xnack-", "gfx90a:xnack+"));
    assert!(runs("gfx11-generic", "gfx1151"));
    assert!(!runs("gfx11-generic", "gfx1200"));
    assert!(!runs("gfx1151", "gfx11-generic"));
    assert!(!runs("gfx90a", "gfx942"));
}
