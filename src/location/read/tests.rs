//! What is read of places worked out by hand.

use super::*;
use crate::location::{Arena, Bounds, Incomplete};

const BOUNDS: Bounds = Bounds {
    parts: 16,
    depth: 4,
    bits: 1 << 67,
};

struct NoWave;

impl Wave for NoWave {
    fn wave_size(&self) -> crate::arch::WaveSize {
        crate::arch::WaveSize::Wave64
    }

    fn read_register(
        &self,
        _: Register,
        _: Range<u32>,
        _: &mut [u8],
    ) -> Result<(), crate::wave::AccessError> {
        Err(crate::wave::AccessError::Unavailable)
    }

    fn read_memory(
        &self,
        _: crate::wave::Memory,
        _: u64,
        _: &mut [u8],
    ) -> Result<(), crate::wave::AccessError> {
        Err(crate::wave::AccessError::Unavailable)
    }
}

const ACCESS: Access<'static> = Access {
    wave: &NoWave,
    lane: None,
    max_bits: 1 << 24,
};

/// The five bits 1, 0, 1, and two that are undefined, so many times.
fn repeated<'a>(count: u64, arena: &'a Arena<'a>) -> Location<'a> {
    let known = Location::One(Place::new(Storage::Constant(&[0b101]), 0));
    let both = Incomplete::above(None, arena);
    both.append(&known, 3, BOUNDS, arena).unwrap();
    both.append(&Location::UNDEFINED, 2, BOUNDS, arena).unwrap();
    let (element, _) = both.complete();
    let element = Location::One(Place::new(Storage::Composite(element), 0));
    let all = Composite::repeat(element, 5, count, BOUNDS, arena).unwrap();
    Location::One(Place::new(
        Storage::Composite(arena.composites.alloc(all)),
        0,
    ))
}

#[test]
#[expect(
    clippy::single_range_in_vec_init,
    reason = "sets of one range are meant"
)]
fn a_part_misses_what_the_whole_misses_there() {
    let bits = Bits {
        bytes: vec![0x5a, 0xc3, 0x0f, 0x81],
        bit_size: 32,
        undefined: [6..10, 31..32].into_iter().collect(),
        unavailable: core::iter::once(16..24).collect(),
    };
    let part = bits.part(4, 14).unwrap();
    // 0xfc35a >> 4 is 0xfc35; 14 bits of it are 0x3c35.
    assert_eq!(part.bytes, [0x35, 0x3c]);
    assert_eq!(part.undefined.ranges(), [2..6]);
    assert_eq!(part.unavailable.ranges(), [12..14]);
    // Of the 16 bits from bit 24 on, 8 are there.
    let end = bits.part(24, 16).unwrap();
    assert_eq!(
        (end.bytes.as_slice(), end.unavailable.ranges()),
        (&[0x81, 0][..], &[8..16][..])
    );
    let beyond = bits.part(u64::MAX, 64).unwrap();
    assert!(beyond.unavailable.covers(0..64));
    assert_eq!(beyond.bytes, [0; 8]);
}

/// No memory has room for 2^61 bytes, which is an error and no abort.
#[test]
fn a_part_of_any_size_is_asked_for() {
    let error = Bits::zero(8).unwrap().part(0, u64::MAX).unwrap_err();
    assert_eq!(error.kind().name(), "limit");
}

/// Nothing has no value, which zeros would be.
#[test]
fn what_is_nowhere_is_undefined() {
    let nowhere = Location::Many(&[]);
    let bits = read(&nowhere, 12, &ACCESS).unwrap();
    assert!(bits.undefined.covers(0..12) && bits.unavailable.is_empty());
    let error = read_value(&nowhere, 12, &ACCESS).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::UndefinedRead);
}

#[test]
fn repeated_elements_have_the_bits_of_the_first() {
    let arena = Arena::new();
    let location = repeated(100, &arena);
    for start in 0..12u64 {
        for length in 0..60u64 {
            let from = location.offset_by_bits(start.into(), &arena).unwrap();
            let bits = read(&from, length, &ACCESS).unwrap();
            for bit in 0..length {
                let found = bits.bytes[(bit / 8) as usize] >> (bit % 8) & 1;
                // Bit 0 and bit 2 of each element are set; bits 3 and 4 have no value.
                let within = (start + bit) % 5;
                let place = format!("bit {bit} of {length} from {start}");
                assert_eq!(found == 1, within == 0 || within == 2, "{place}");
                assert_eq!(bits.undefined.overlaps(bit..bit + 1), within > 2, "{place}");
            }
        }
    }
    assert!(read(&location, 501, &ACCESS).is_err());
}

#[test]
fn what_is_repeated_costs_no_more_for_more() {
    let arena = Arena::new();
    let constant = Location::One(Place::new(Storage::Constant(&[0x5a]), 0));
    let all = Composite::repeat(constant, 8, 1 << 60, BOUNDS, &arena).unwrap();
    let all = Location::One(Place::new(
        Storage::Composite(arena.composites.alloc(all)),
        0,
    ));
    let meter = Meter::of_steps(&Limits::DEFAULT, VISITS);
    let bits = read_within(&all, 1 << 24, &ACCESS, &meter).unwrap();
    assert!(bits.is_complete() && bits.bytes.iter().all(|byte| *byte == 0x5a));
    // One for every 512 bits, and not one for each of two million elements.
    assert!(meter.steps() < 40_000, "{}", meter.steps());
    // Each element has undefined bits of its own: these have to be listed.
    let error = read(&repeated(1 << 40, &arena), 1 << 24, &ACCESS).unwrap_err();
    assert_eq!(error.kind().name(), "limit");
}

/// Against bits that are copied one by one.
#[test]
fn bits_are_copied_from_anywhere_to_anywhere() {
    let from = [0x5a, 0xc3, 0x0f, 0x96];
    let bit = |bytes: &[u8], at: u64| bytes[(at / 8) as usize] >> (at % 8) & 1;
    for (start, to, count) in (0..32)
        .flat_map(|start| (0..16).map(move |to| (start, to)))
        .flat_map(|(start, to)| (0..=20).map(move |count| (start, to, count)))
    {
        let mut out = [0x33; 5];
        copy_bits(&from, start, &mut out, to, count);
        for at in 0..40 {
            let copied = at >= to && at < to + count && start + (at - to) < 32;
            let expected = if copied {
                bit(&from, start + (at - to))
            } else {
                bit(&[0x33; 5], at)
            };
            assert_eq!(bit(&out, at), expected, "{start} {to} {count} {at}");
        }
    }
}
