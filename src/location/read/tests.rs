//! Tests reading from places, against results worked out by hand.

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
    meter: None,
};

/// Returns the five bits 1, 0, 1, and two undefined ones, repeated.
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
    // 8 of the 16 bits from bit 24 on are available.
    let end = bits.part(24, 16).unwrap();
    assert_eq!(
        (end.bytes.as_slice(), end.unavailable.ranges()),
        (&[0x81, 0][..], &[8..16][..])
    );
    let beyond = bits.part(u64::MAX, 64).unwrap();
    assert!(beyond.unavailable.covers(0..64));
    assert_eq!(beyond.bytes, [0; 8]);
}

/// No memory has 2^61 bytes. This is an error and does not abort.
#[test]
fn a_part_of_any_size_is_asked_for() {
    let error = Bits::zero(8).unwrap().part(0, u64::MAX).unwrap_err();
    assert_eq!(error.kind().name(), "limit");
}

/// A missing value is not replaced by zeros.
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

/// A wave with nothing but scratch, where each byte is the low byte of its address.
struct Scratch;

impl Wave for Scratch {
    fn wave_size(&self) -> crate::arch::WaveSize {
        crate::arch::WaveSize::Wave64
    }

    fn read_register(
        &self,
        _: Register,
        _: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), crate::wave::AccessError> {
        // Data that a debugger writes before it finds that there is no value.
        out.fill(0xff);
        Err(crate::wave::AccessError::Unavailable)
    }

    fn read_memory(
        &self,
        memory: crate::wave::Memory,
        address: u64,
        out: &mut [u8],
    ) -> Result<(), crate::wave::AccessError> {
        if memory != crate::wave::Memory::PrivateWave {
            return Err(crate::wave::AccessError::Unavailable);
        }
        for (out, address) in out.iter_mut().zip(address..) {
            *out = address.to_le_bytes()[0];
        }
        Ok(())
    }
}

const SCRATCH: Access<'static> = Access {
    wave: &Scratch,
    ..ACCESS
};

#[test]
fn what_is_not_available_is_zero() {
    let register = Register::sgpr(4).unwrap();
    let bits = read(&Location::register(register), 32, &SCRATCH).unwrap();
    assert_eq!(bits.bytes, [0; 4]);
    assert!(bits.unavailable.covers(0..32) && bits.undefined.is_empty());
}

/// USAGE "Address Space Identifier": dword 2 of lane 3 is after two rows of 64 dwords and three dwords, at 0x20c.
#[test]
fn memory_of_a_lane_is_that_lanes_whoever_reads() {
    let place = |lane| {
        let space = crate::arch::AddressSpace::PrivateLane;
        Location::One(Place::new(Storage::Memory { space, lane }, 8 * 8))
    };
    let one = place(crate::location::LaneSelect::One(Lane(3)));
    let each = place(crate::location::LaneSelect::Each);
    for reader in [None, Some(Lane(3)), Some(Lane(5))] {
        let access = Access {
            lane: reader,
            ..SCRATCH
        };
        let bytes = |location| read(location, 32, &access).map(|bits| bits.bytes);
        assert_eq!(bytes(&one).unwrap(), [0x0c, 0x0d, 0x0e, 0x0f]);
        let own = reader.map(|lane| lane.0 * 4);
        let own = own.map(|first| vec![first, first + 1, first + 2, first + 3]);
        assert_eq!(bytes(&each).ok(), own);
    }
}

/// Returns a constant with no bits left, and an unavailable register.
fn several(constant: &'static [u8]) -> Location<'static> {
    let register = Storage::Register(Register::sgpr(4).unwrap());
    let places = [Storage::Undefined, register, Storage::Constant(constant)];
    let places = places.map(|storage| Place::new(storage, 0));
    Location::Many(arena().places.alloc_extend(places))
}

/// Returns a leaked arena, since tests end soon.
fn arena() -> &'static Arena<'static> {
    Box::leak(Box::new(Arena::new()))
}

/// A byte 0x5a, and 16 bits in several places. The first place with all bits is read, or the first one if none has all.
#[test]
fn a_part_may_be_in_several_places() {
    let arena = arena();
    let first = Location::One(Place::new(Storage::Constant(&[0x5a]), 0));
    let composite = |part: &Location<'static>| {
        let both = Incomplete::above(None, arena);
        both.append(&first, 8, BOUNDS, arena).unwrap();
        both.append(part, 16, BOUNDS, arena).unwrap();
        let (both, _) = both.complete();
        Location::One(Place::new(Storage::Composite(both), 0))
    };
    let whole = composite(&several(&[0x34, 0x12]));
    assert_eq!(
        read(&whole, 24, &SCRATCH).unwrap().bytes,
        [0x5a, 0x34, 0x12]
    );
    // 0x12345a >> 5 is 0x91a2.
    let moved = whole.offset_by_bits(5, arena).unwrap();
    let bits = read(&moved, 16, &SCRATCH).unwrap();
    assert!(bits.is_complete());
    assert_eq!(bits.bytes, [0xa2, 0x91]);
    // Without the constant the first place is used, which is undefined.
    let Location::Many([undefined, register, _]) = several(&[]) else {
        panic!("several places");
    };
    for (places, is_undefined) in [
        ([undefined, register], true),
        ([register, undefined], false),
    ] {
        let places = places.map(|place| *place);
        let part = Location::Many(arena.places.alloc_extend(places));
        let bits = read(&composite(&part), 24, &SCRATCH).unwrap();
        assert_eq!(bits.bytes, [0x5a, 0, 0]);
        let (missing, other) = match is_undefined {
            true => (&bits.undefined, &bits.unavailable),
            false => (&bits.unavailable, &bits.undefined),
        };
        assert_eq!(
            (missing.ranges(), other.is_empty()),
            (core::slice::from_ref(&(8..24)), true)
        );
    }
}

/// Elements of 4 bits from one of two locations with several places each: element N is N times 4 bits further on in the selected one. For 0x7654 and
/// 0xfedc with the mask 0b0110 they are 4, d, e and 7.
#[test]
fn elements_may_be_in_several_places() {
    let arena = arena();
    let several = |constant| {
        let Location::Many([_, register, constant]) = several(constant) else {
            panic!("several places");
        };
        Location::Many(arena.places.alloc_extend([*register, *constant]))
    };
    let (zero, one) = (several(&[0x54, 0x76]), several(&[0xdc, 0xfe]));
    let all = Composite::select(zero, one, (0b0110, 64), 4, 4, BOUNDS, arena).unwrap();
    let all = Location::One(Place::new(
        Storage::Composite(arena.composites.alloc(all)),
        0,
    ));
    let bits = read(&all, 16, &SCRATCH).unwrap();
    assert!(bits.is_complete());
    assert_eq!(bits.bytes, [0xd4, 0x7e]);
    let element = all.offset_by_bits(8, arena).unwrap();
    assert_eq!(read(&element, 4, &SCRATCH).unwrap().bytes, [0x0e]);
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
    let meter = Meter::of_steps(&Limits::DEFAULT, 1 << 20);
    let access = Access {
        meter: Some(&meter),
        ..ACCESS
    };
    let bits = read(&all, 1 << 24, &access).unwrap();
    assert!(bits.is_complete() && bits.bytes.iter().all(|byte| *byte == 0x5a));
    // One step for every 512 bits, instead of one for each of two million elements.
    assert!(meter.steps() < 40_000, "{}", meter.steps());
    // Each element has its own undefined bits, which must be listed.
    let error = read(&repeated(1 << 40, &arena), 1 << 24, &ACCESS).unwrap_err();
    assert_eq!(error.kind().name(), "limit");
}

/// Compares with copying bit by bit.
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
