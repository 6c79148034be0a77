use super::*;

/// Bits of a field set to a value.
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

fn descriptor(generation: Generation, rsrc1: u32, fields: &[(Field, u64)]) -> KernelDescriptor {
    let mut bytes = [0; 64];
    bytes[48..52].copy_from_slice(&rsrc1.to_le_bytes());
    for (field, value) in fields {
        let placement = field.placement(generation).unwrap();
        put(&mut bytes, placement.first_bit(), placement.width(), *value);
    }
    KernelDescriptor {
        address: 0x1000,
        bytes,
        generation: Some(generation),
    }
}

const GENERATIONS: [Generation; 12] = [
    Generation::Gfx6,
    Generation::Gfx7,
    Generation::Gfx8,
    Generation::Gfx9,
    Generation::Gfx908,
    Generation::Gfx90a,
    Generation::Gfx942,
    Generation::Gfx950,
    Generation::Gfx10,
    Generation::Gfx11,
    Generation::Gfx120,
    Generation::Gfx125,
];

#[test]
fn no_two_fields_of_a_generation_share_a_bit() {
    for generation in GENERATIONS {
        let mut taken = [false; 512];
        for field in Field::ALL {
            let Some(placement) = field.placement(generation) else {
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
                assert!(!taken[bit as usize], "{field:?} on {generation:?}: {bit}");
                taken[bit as usize] = true;
            }
        }
    }
}

#[test]
fn every_field_reads_its_own_bits_and_no_others() {
    for generation in GENERATIONS {
        for &field in Field::ALL {
            let Some(placement) = field.placement(generation) else {
                continue;
            };
            let highest = u64::MAX >> (64 - placement.width());
            let one = descriptor(generation, 0, &[(field, highest)]);
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
    let bits = |generation| {
        KernelDescriptor {
            address: 0,
            bytes,
            generation,
        }
        .reserved_bits()
        .collect::<Vec<_>>()
    };
    assert_eq!(bits(Some(Generation::Gfx9)), [103, 458]);
    assert_eq!(bits(Some(Generation::Gfx10)), [103]);
    assert_eq!(bits(None), [0_u32; 0]);
}

/// `GRANULATED_WORKITEM_VGPR_COUNT` 5 and `GRANULATED_WAVEFRONT_SGPR_COUNT` 4, by the granules of the
/// tables of `compute_pgm_rsrc1`.
#[test]
fn registers_are_counted_in_the_blocks_of_the_generation() {
    let rsrc1 = 5 | (4 << 6);
    let cases = [
        (Generation::Gfx6, false, 24, 40),
        (Generation::Gfx8, false, 24, 40),
        (Generation::Gfx9, false, 24, 48),
        (Generation::Gfx908, false, 24, 48),
        (Generation::Gfx90a, false, 48, 48),
        (Generation::Gfx950, false, 48, 48),
        (Generation::Gfx10, false, 24, 128),
        (Generation::Gfx10, true, 48, 128),
        (Generation::Gfx11, true, 48, 128),
        (Generation::Gfx120, false, 24, 128),
        (Generation::Gfx125, true, 96, 128),
    ];
    for (generation, wave32, vgprs, sgprs) in cases {
        let mut kernel = descriptor(generation, rsrc1, &[]);
        if wave32 {
            put(&mut kernel.bytes, 458, 1, 1);
        }
        let wave_size = match wave32 {
            true => WaveSize::Wave32,
            false => WaveSize::Wave64,
        };
        assert_eq!(kernel.wave_size(), Some(wave_size), "{generation:?}");
        assert_eq!(kernel.vector_registers(), Some(vgprs), "{generation:?}");
        assert_eq!(kernel.scalar_registers(), Some(sgprs), "{generation:?}");
    }
}

#[test]
fn accumulation_registers_follow_the_others() {
    // 88 registers, the first 44 of them ordinary: ACCUM_OFFSET is 44 / 4 - 1.
    let kernel = descriptor(Generation::Gfx90a, 10, &[(Field::AccumOffset, 10)]);
    assert_eq!(kernel.vector_registers(), Some(88));
    assert_eq!(kernel.accumulation_offset(), Some(44));
    assert_eq!(kernel.accumulation_registers(), Some(44));
    let kernel = descriptor(Generation::Gfx90a, 0, &[(Field::AccumOffset, 63)]);
    assert_eq!(kernel.accumulation_registers(), Some(0));
    let kernel = descriptor(Generation::Gfx908, 2, &[]);
    assert_eq!(kernel.accumulation_registers(), Some(12));
    let kernel = descriptor(Generation::Gfx11, 2, &[]);
    assert_eq!(kernel.accumulation_registers(), None);
}

#[test]
fn the_entry_is_counted_from_the_descriptor() {
    let offset = -0x900_i64;
    let mut kernel = descriptor(
        Generation::Gfx942,
        0,
        &[(Field::KernelCodeEntryByteOffset, offset.cast_unsigned())],
    );
    assert_eq!(kernel.entry(), 0x700);
    assert_eq!(kernel.preload_entry(), None);
    put(&mut kernel.bytes, 464, 7, 3);
    assert_eq!(kernel.preload_entry(), Some(0x800));
    // gfx906 has no preloading: the bits mean nothing.
    kernel.generation = Some(Generation::Gfx9);
    assert_eq!(kernel.preload_entry(), None);
}

#[test]
fn without_a_generation_only_what_is_everywhere_is_known() {
    let mut kernel = descriptor(Generation::Gfx11, 5, &[(Field::KernargSize, 24)]);
    kernel.generation = None;
    assert_eq!(kernel.kernarg_size(), 24);
    assert_eq!(kernel.field(Field::GranulatedWorkitemVgprCount), Some(5));
    assert_eq!(kernel.field(Field::EnableWavefrontSize32), None);
    assert_eq!(kernel.wave_size(), None);
    assert_eq!(kernel.vector_registers(), None);
}

#[test]
fn processors_have_the_generation_of_their_number() {
    let cases = [
        ("gfx600", Some(Generation::Gfx6)),
        ("gfx705", Some(Generation::Gfx7)),
        ("gfx810", Some(Generation::Gfx8)),
        ("gfx90c", Some(Generation::Gfx9)),
        ("gfx908", Some(Generation::Gfx908)),
        ("gfx90a", Some(Generation::Gfx90a)),
        ("gfx942", Some(Generation::Gfx942)),
        ("gfx950", Some(Generation::Gfx950)),
        ("gfx9-generic", Some(Generation::Gfx9)),
        ("gfx9-4-generic", Some(Generation::Gfx942)),
        ("gfx1036", Some(Generation::Gfx10)),
        ("gfx10-3-generic", Some(Generation::Gfx10)),
        ("gfx1153", Some(Generation::Gfx11)),
        ("gfx1201", Some(Generation::Gfx120)),
        ("gfx12-generic", Some(Generation::Gfx120)),
        ("gfx1251", Some(Generation::Gfx125)),
        ("gfx1250-strict", Some(Generation::Gfx125)),
        ("gfx12-5-generic", Some(Generation::Gfx125)),
        ("gfx940", Some(Generation::Gfx942)),
        ("gfx1170", None),
        ("gfx1300", None),
        ("gfx", None),
        ("gfx9", None),
        ("cayman", None),
        ("gfxé0", None),
    ];
    for (name, generation) in cases {
        assert_eq!(Generation::of_processor(name), generation, "{name}");
    }
    // Every processor that has DWARF is one of them, but those of which no descriptor is described.
    for processor in crate::arch::Processor::ALL {
        let name = processor.name();
        let known = Generation::of_processor(name).is_some();
        let undescribed = ["gfx117", "gfx11-7", "gfx13"]
            .iter()
            .any(|start| name.starts_with(start));
        assert_eq!(
            known,
            processor.generation().is_some() && !undescribed,
            "{name}"
        );
    }
}
