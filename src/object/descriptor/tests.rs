use super::*;

/// Sets bits of a field to a value.
fn put(bytes: &mut [u8; 64], first: u32, width: u32, value: u64) {
    for bit in 0..width {
        let at = first + bit;
        let mask = 1 << (at % 8);
        let byte = &mut bytes[(at / 8) as usize];
        *byte &= !mask;
        if (value >> bit) & 1 == 1 {
            *byte |= mask;
        }
    }
}

fn descriptor(family: Family, rsrc1: u32, fields: &[(Field, u64)]) -> KernelDescriptor {
    let mut bytes = [0; 64];
    bytes[48..52].copy_from_slice(&rsrc1.to_le_bytes());
    for (field, value) in fields {
        let placement = field.placement(family).unwrap();
        put(&mut bytes, placement.first_bit(), placement.width(), *value);
    }
    KernelDescriptor {
        address: 0x1000,
        bytes,
        family: Some(family),
    }
}

const FAMILIES: [Family; 15] = [
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

#[test]
fn no_two_fields_of_a_family_share_a_bit() {
    for family in FAMILIES {
        let mut taken = [false; 512];
        for field in Field::ALL {
            let Some(placement) = field.placement(family) else {
                continue;
            };
            assert!(placement.low <= placement.high, "{field:?}");
            let first = placement.first_bit();
            assert_eq!(
                first / 64,
                (first + placement.width() - 1) / 64,
                "{field:?} crosses a word of 64 bits"
            );
            for bit in first..first + placement.width() {
                assert!(!taken[bit as usize], "{field:?} on {family:?}: {bit}");
                taken[bit as usize] = true;
            }
        }
    }
}

#[test]
fn every_field_reads_its_own_bits_and_no_others() {
    for family in FAMILIES {
        for &field in Field::ALL {
            let Some(placement) = field.placement(family) else {
                continue;
            };
            let highest = u64::MAX >> (64 - placement.width());
            let one = descriptor(family, 0, &[(field, highest)]);
            for (other, value) in one.fields() {
                let expected = if other == field { highest } else { 0 };
                assert_eq!(value, expected, "{field:?} read as {other:?}");
            }
            assert_eq!(one.reserved_bits().next(), None);
        }
    }
}

#[test]
fn bits_without_a_field_are_reserved() {
    let mut bytes = [0; 64];
    // Byte 12 is reserved everywhere; bit 458 (byte 57, bit 2) has a meaning from GFX10 on.
    bytes[12] = 0x80;
    bytes[57] = 4;
    let bits = |family| {
        KernelDescriptor {
            address: 0,
            bytes,
            family,
        }
        .reserved_bits()
        .collect::<Vec<_>>()
    };
    assert_eq!(bits(Some(Family::Gfx9)), [103, 458]);
    assert_eq!(bits(Some(Family::Gfx10_1)), [103]);
    assert_eq!(bits(None), [0_u32; 0]);
}

/// `GRANULATED_WORKITEM_VGPR_COUNT` 5 and `GRANULATED_WAVEFRONT_SGPR_COUNT` 4, by the granules of the
/// tables of `compute_pgm_rsrc1`.
#[test]
fn registers_are_counted_in_the_blocks_of_the_family() {
    let rsrc1 = 5 | (4 << 6);
    let cases = [
        (Family::Gfx6, false, 24, 40),
        (Family::Gfx8, false, 24, 40),
        (Family::Gfx9, false, 24, 48),
        (Family::Gfx908, false, 24, 48),
        (Family::Gfx90a, false, 48, 48),
        (Family::Gfx950, false, 48, 48),
        (Family::Gfx10_1, false, 24, 128),
        (Family::Gfx10_1, true, 48, 128),
        (Family::Gfx11, true, 48, 128),
        (Family::Gfx12, false, 24, 128),
        (Family::Gfx12_5, true, 96, 128),
    ];
    for (family, wave32, vgprs, sgprs) in cases {
        let mut kernel = descriptor(family, rsrc1, &[]);
        if wave32 {
            put(&mut kernel.bytes, 458, 1, 1);
        }
        let wave_size = match wave32 {
            true => WaveSize::Wave32,
            false => WaveSize::Wave64,
        };
        assert_eq!(kernel.wave_size(), Some(wave_size), "{family:?}");
        assert_eq!(kernel.vector_registers(), Some(vgprs), "{family:?}");
        assert_eq!(kernel.scalar_registers(), Some(sgprs), "{family:?}");
    }
}

#[test]
fn accumulation_registers_follow_the_others() {
    // 88 registers, the first 44 of them ordinary: ACCUM_OFFSET is 44 / 4 - 1.
    let kernel = descriptor(Family::Gfx90a, 10, &[(Field::AccumOffset, 10)]);
    assert_eq!(kernel.vector_registers(), Some(88));
    assert_eq!(kernel.accumulation_offset(), Some(44));
    assert_eq!(kernel.accumulation_registers(), Some(44));
    let kernel = descriptor(Family::Gfx90a, 0, &[(Field::AccumOffset, 63)]);
    assert_eq!(kernel.accumulation_registers(), Some(0));
    let kernel = descriptor(Family::Gfx908, 2, &[]);
    assert_eq!(kernel.accumulation_registers(), Some(12));
    let kernel = descriptor(Family::Gfx11, 2, &[]);
    assert_eq!(kernel.accumulation_registers(), None);
}

#[test]
fn the_entry_is_counted_from_the_descriptor() {
    let offset = -0x900_i64;
    let mut kernel = descriptor(
        Family::Gfx942,
        0,
        &[(Field::KernelCodeEntryByteOffset, offset.cast_unsigned())],
    );
    assert_eq!(kernel.entry(), 0x700);
    assert_eq!(kernel.preload_entry(), None);
    put(&mut kernel.bytes, 464, 7, 3);
    assert_eq!(kernel.preload_entry(), Some(0x800));
    // gfx906 has no preloading: the bits mean nothing.
    kernel.family = Some(Family::Gfx9);
    assert_eq!(kernel.preload_entry(), None);
}

#[test]
fn without_a_family_only_what_is_everywhere_is_known() {
    let mut kernel = descriptor(Family::Gfx11, 5, &[(Field::KernargSize, 24)]);
    kernel.family = None;
    assert_eq!(kernel.kernarg_size(), 24);
    assert_eq!(kernel.field(Field::GranulatedWorkitemVgprCount), Some(5));
    assert_eq!(kernel.field(Field::EnableWavefrontSize32), None);
    assert_eq!(kernel.wave_size(), None);
    assert_eq!(kernel.vector_registers(), None);
}

#[test]
fn every_described_family_has_fields() {
    for &family in Family::ALL {
        let entry = Field::KernelCodeEntryByteOffset.placement(family);
        assert_eq!(
            entry.is_some(),
            described(family).is_some(),
            "KERNEL_CODE_ENTRY_BYTE_OFFSET of {family:?}"
        );
    }
}

#[test]
fn r600_has_no_descriptors() {
    assert_eq!(described(Family::R600), None);
    let described = Family::ALL.iter().filter_map(|&family| described(family));
    assert_eq!(described.collect::<Vec<_>>(), FAMILIES);
}

/// By the tables of LLVM 24 ("except GFX11.7", "Reserved. Must be 0"): all fields of GFX11 except two, whose bits are reserved.
#[test]
fn gfx11_7_lacks_two_fields_of_gfx11() {
    let has = |family| move |field: &&Field| field.placement(family).is_some();
    let of = |family| Field::ALL.iter().filter(has(family)).copied();
    let missing: Vec<_> = of(Family::Gfx11)
        .filter(|field| field.placement(Family::Gfx11_7).is_none())
        .collect();
    assert_eq!(missing, [Field::EnableDx10Clamp, Field::EnableIeeeMode]);
    assert_eq!(of(Family::Gfx11).count(), of(Family::Gfx11_7).count() + 2);
    // Bits 21 and 23 of the word at bit 384.
    let kernel = descriptor(Family::Gfx11_7, 1 << 21 | 1 << 23, &[]);
    assert_eq!(kernel.reserved_bits().collect::<Vec<_>>(), [405, 407]);
}

/// LLVM 24: GFX13 has the fields of GFX12 at the same bits.
#[test]
fn gfx13_has_the_fields_of_gfx12() {
    for field in Field::ALL {
        let place = |family| field.placement(family).map(|p| (p.first_bit(), p.width()));
        assert_eq!(place(Family::Gfx13), place(Family::Gfx12), "{field:?}");
    }
}

/// The last rows of USAGE's `GRANULATED_LDS_SIZE`, in dwords, and LLVM 24's row for GFX13.
#[test]
fn local_memory_is_counted_in_the_blocks_of_the_family() {
    let others = [
        (Family::Gfx6, 64),
        (Family::Gfx950, 320),
        (Family::Gfx12_5, 512),
        (Family::Gfx13, 256),
    ];
    for family in FAMILIES {
        let other = others.iter().find(|(one, _)| *one == family);
        let dwords = other.map_or(128, |(_, dwords)| *dwords);
        let kernel = descriptor(family, 0, &[]);
        assert_eq!(
            kernel.local_memory_granule(),
            Some(dwords * 4),
            "{family:?}"
        );
    }
}

/// Returns the initial state as text, one item each.
fn initial(kernel: &KernelDescriptor) -> Vec<String> {
    let all = kernel.initial_registers();
    all.iter().map(ToString::to_string).collect()
}

/// System registers follow the counted user registers, even if fewer are requested: gfx1100 loads garbage after fewer than 16 registers, so LLVM pads
/// them to 16 in all.
#[test]
fn system_registers_follow_the_counted_user_registers() {
    use Field::*;
    let fields = [
        (EnableSgprDispatchPtr, 1),
        (EnableSgprKernargSegmentPtr, 1),
        (UserSgprCount, 14),
        (EnableSgprWorkgroupIdX, 1),
        (EnableSgprWorkgroupIdZ, 1),
        (EnableVgprWorkitemId, 1),
    ];
    assert_eq!(
        initial(&descriptor(Family::Gfx11, 0, &fields)),
        [
            "s[0:1] = dispatch pointer",
            "s[2:3] = kernarg segment pointer",
            "s14 = work-group id x",
            "s15 = work-group id z",
            "v0, bits 0-9 = work-item id x",
            "v0, bits 10-19 = work-item id y",
        ]
    );
    assert_eq!(
        initial(&descriptor(Family::Gfx12, 0, &fields))[2..4],
        [
            "ttmp9 = work-group id x",
            "ttmp7, bits 16-31 = work-group id z"
        ]
    );
}

#[test]
fn registers_that_are_not_loaded_are_left_out() {
    use Field::*;
    // 4 + 2 + 2 + 2 + 2 + 2 are 14. The scratch size is the 15th register, and only one of the 3 dwords is loaded.
    let fields = [
        (EnableSgprPrivateSegmentBuffer, 1),
        (EnableSgprDispatchPtr, 1),
        (EnableSgprQueuePtr, 1),
        (EnableSgprKernargSegmentPtr, 1),
        (EnableSgprDispatchId, 1),
        (EnableSgprFlatScratchInit, 1),
        (EnableSgprPrivateSegmentSize, 1),
        (KernargPreloadSpecLength, 3),
        (KernargPreloadSpecOffset, 2),
        (UserSgprCount, 18),
        (EnableSgprWorkgroupIdX, 1),
    ];
    let kernel = descriptor(Family::Gfx90a, 0, &fields);
    assert_eq!(
        initial(&kernel)[5..],
        [
            "s[12:13] = flat scratch init",
            "s14 = private segment size",
            "s15 = preloaded kernargs, from offset 8",
            "s16 = work-group id x",
            "v0, bits 0-9 = work-item id x",
        ]
    );
    // The register count decides: here the queue pointer would be in s3 and s4, but s4 is no user register.
    let fields = [
        (EnableSgprDispatchPtr, 1),
        (EnableSgprQueuePtr, 1),
        (UserSgprCount, 3),
        (EnableSgprWorkgroupIdY, 1),
    ];
    assert_eq!(
        initial(&descriptor(Family::Gfx942, 0, &fields))[..2],
        ["s[0:1] = dispatch pointer", "s3 = work-group id y"]
    );
}

#[test]
fn work_items_have_registers_of_their_own_or_share_one() {
    let of = |family, mode| {
        let kernel = descriptor(family, 0, &[(Field::EnableVgprWorkitemId, mode)]);
        let all = kernel.initial_registers().into_iter();
        all.map(|one| (one.registers(), one.bits))
            .collect::<Vec<_>>()
    };
    let own = |number: u8| (format!("v{number}"), None);
    let shared = |first: u8| ("v0".to_owned(), Some(first..first + 10));
    for family in FAMILIES {
        let is_shared =
            family.accumulation() == AccumulationFile::Unified || family >= Family::Gfx11;
        let expected = match is_shared {
            true => [shared(0), shared(10), shared(20)],
            false => [own(0), own(1), own(2)],
        };
        for mode in 0..3 {
            assert_eq!(of(family, mode), expected[..=mode as usize], "{family:?}");
        }
        // Undefined.
        assert_eq!(of(family, 3), []);
    }
}

#[test]
fn nothing_is_known_of_registers_without_a_family() {
    let mut kernel = descriptor(Family::Gfx11, 0, &[(Field::EnableSgprDispatchPtr, 1)]);
    kernel.family = None;
    assert_eq!(kernel.initial_registers(), []);
}
