//! Checks that a write through a location changes exactly the bits of the location.
//!
//! Random locations are made in two forms: as an expression, and as a model that maps every bit. A write goes to a snapshot through the
//! expression, and bit by bit to a copy through the model.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test"
)]

use std::collections::BTreeMap;

use hetdwarf::arch::{AddressSpace, Lane, Register, WaveSize, scratch};
use hetdwarf::error::ErrorKind;
use hetdwarf::eval::{Context, ExpressionBytes, LaneFocus, Outcome, ResultKind, Unit, evaluate};
use hetdwarf::expr::{Encoding, ParseOptions, parse};
use hetdwarf::location::{Access, Arena, Destination, LaneSelect, Location, Place, Storage, read};
use hetdwarf::wave::{Memory, Snapshot, Wave};

/// The address of the snapshots' memory.
const GLOBAL: u64 = 0x7f00_0000_1000;
const GLOBAL_BYTES: usize = 96;
const LOCAL_BYTES: usize = 64;
/// The number of bytes of private memory in each lane.
const PRIVATE_BYTES: usize = 48;

const SCALARS: [u16; 3] = [32, 33, 40];

#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.bits() % end
    }

    fn byte(&mut self) -> u8 {
        self.bits().to_le_bytes()[7]
    }
}

/// A part of the wave that can be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Register(u16),
    Memory(Memory),
}

/// The contents of a snapshot: the bytes of each target, from its first byte.
type State = BTreeMap<Target, Vec<u8>>;

fn vectors(wave_size: WaveSize) -> [Register; 3] {
    [0, 1, 42].map(|number| Register::vgpr(number, wave_size).unwrap())
}

fn first_address(memory: Memory) -> u64 {
    if memory == Memory::Global { GLOBAL } else { 0 }
}

/// Returns a snapshot with random bytes.
fn snapshot(random: &mut Random, wave_size: WaveSize) -> Snapshot {
    let mut wave = Snapshot::new("gfx1100", wave_size, 0);
    for register in SCALARS {
        wave.set_register(Register(register), random.bits() & 0xffff_ffff)
            .unwrap();
    }
    for register in vectors(wave_size) {
        let lanes: Vec<_> = wave_size
            .all_lanes()
            .map(|_| {
                Some(u32::from_le_bytes(
                    random.bits().to_le_bytes()[..4].try_into().unwrap(),
                ))
            })
            .collect();
        wave.set_lanes(register, &lanes).unwrap();
    }
    let private = PRIVATE_BYTES * wave_size.lanes() as usize;
    for (memory, size) in [
        (Memory::Global, GLOBAL_BYTES),
        (Memory::Local, LOCAL_BYTES),
        (Memory::PrivateWave, private),
    ] {
        let bytes: Vec<u8> = (0..size).map(|_| random.byte()).collect();
        wave.add_memory(memory, first_address(memory), &bytes)
            .unwrap();
    }
    wave
}

fn state(wave: &Snapshot) -> State {
    let mut state = State::new();
    let lanes = wave.wave_size().lanes();
    for register in SCALARS
        .map(Register)
        .into_iter()
        .chain(vectors(wave.wave_size()))
    {
        let bits = register.size_in_bits().unwrap();
        let mut bytes = vec![0; bits as usize / 8];
        wave.read_register(register, 0..bits, &mut bytes).unwrap();
        state.insert(Target::Register(register.0), bytes);
    }
    for (memory, size) in [
        (Memory::Global, GLOBAL_BYTES),
        (Memory::Local, LOCAL_BYTES),
        (Memory::PrivateWave, PRIVATE_BYTES * lanes as usize),
    ] {
        let mut bytes = vec![0; size];
        wave.read_memory(memory, first_address(memory), &mut bytes)
            .unwrap();
        state.insert(Target::Memory(memory), bytes);
    }
    state
}

/// A model of a location's bits, in the simplest form.
#[derive(Clone, Debug)]
enum Model {
    /// Consecutive bits of a target, from this bit on.
    Bits(Target, u64),
    /// The bits of a lane's part of a vector register, from this bit on.
    LaneOf(u16, u64),
    /// The lane's private memory, from this bit on.
    Private(u64),
    /// Bits that cannot be written.
    Fixed(Fixed),
    /// Consecutive parts, each with its size.
    Parts(Vec<(Model, u64)>),
    /// The bits of another model, from this bit on.
    From(Box<Model>, u64),
    /// Several places with the same contents.
    Many(Vec<Model>),
}

/// The reason why bits are read-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fixed {
    Implicit,
    Undefined,
    NoLane,
}

impl Model {
    /// Calls `visit` with a target and one of its bits for each of `count` bits from `first` on, in the order of the places.
    fn each(
        &self,
        first: u64,
        count: u64,
        from: u64,
        lane: Option<Lane>,
        wave_size: WaveSize,
        visit: &mut dyn FnMut(Target, u64, u64),
    ) -> Result<(), Fixed> {
        let mut plain = |target, start: u64| {
            (0..count).for_each(|bit| visit(target, start + first + bit, from + bit));
            Ok(())
        };
        match self {
            Model::Bits(target, start) => plain(*target, *start),
            Model::LaneOf(register, start) => {
                let lane = u64::from(lane.ok_or(Fixed::NoLane)?.0);
                plain(Target::Register(*register), lane * 32 + start)
            }
            Model::Private(start) => {
                let lane = lane.ok_or(Fixed::NoLane)?;
                for bit in 0..count {
                    let at = start + first + bit;
                    let byte =
                        scratch::wave_address(u32::try_from(at / 8).unwrap(), lane, wave_size)
                            .unwrap();
                    visit(
                        Target::Memory(Memory::PrivateWave),
                        byte * 8 + at % 8,
                        from + bit,
                    );
                }
                Ok(())
            }
            Model::Fixed(why) => Err(*why),
            Model::Parts(parts) => {
                let (mut start, end) = (0, first + count);
                for (part, size) in parts {
                    let (low, high) = (first.max(start), end.min(start + size));
                    if low < high {
                        part.each(
                            low - start,
                            high - low,
                            from + low - first,
                            lane,
                            wave_size,
                            visit,
                        )?;
                    }
                    start += size;
                }
                Ok(())
            }
            Model::From(model, offset) => {
                model.each(first + offset, count, from, lane, wave_size, visit)
            }
            Model::Many(models) => models
                .iter()
                .try_for_each(|model| model.each(first, count, from, lane, wave_size, visit)),
        }
    }

    /// Applies a write to a state.
    fn write(
        &self,
        state: &State,
        bytes: &[u8],
        count: u64,
        lane: Option<Lane>,
        wave_size: WaveSize,
    ) -> Result<State, Fixed> {
        let mut after = state.clone();
        self.each(0, count, 0, lane, wave_size, &mut |target, to, from| {
            let byte = &mut after.get_mut(&target).unwrap()[usize::try_from(to / 8).unwrap()];
            let bit = bytes[usize::try_from(from / 8).unwrap()] >> (from % 8) & 1;
            *byte = *byte & !(1 << (to % 8)) | bit << (to % 8);
        })?;
        Ok(after)
    }

    /// Returns the bits of a read. If there are several places, the first is read.
    fn read(&self, state: &State, count: u64, lane: Option<Lane>, wave_size: WaveSize) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(count.div_ceil(8)).unwrap()];
        self.first()
            .each(0, count, 0, lane, wave_size, &mut |target, from, to| {
                let bit = state[&target][usize::try_from(from / 8).unwrap()] >> (from % 8) & 1;
                bytes[usize::try_from(to / 8).unwrap()] |= bit << (to % 8);
            })
            .unwrap();
        bytes
    }

    /// Returns the model with only the first of several places.
    fn first(&self) -> Model {
        match self {
            Model::Many(models) => models[0].first(),
            Model::Parts(parts) => Model::Parts(
                parts
                    .iter()
                    .map(|(part, size)| (part.first(), *size))
                    .collect(),
            ),
            Model::From(model, offset) => Model::From(Box::new(model.first()), *offset),
            Model::Bits(..) | Model::LaneOf(..) | Model::Private(_) | Model::Fixed(_) => {
                self.clone()
            }
        }
    }
}

/// A location as an expression, with its model.
struct Made {
    text: String,
    model: Model,
    /// The minimum number of bits.
    bits: u64,
}

struct Maker<'r> {
    random: &'r mut Random,
    wave_size: WaveSize,
    /// True if there may be parts that cannot be written.
    fixed: bool,
}

impl Maker<'_> {
    fn leaf(&mut self) -> Made {
        let bit = self.random.below(20);
        let bits = |size: u64| size - bit;
        let moved = |text: String| format!("{text}, DW_OP_lit{bit}, DW_OP_LLVM_bit_offset");
        let in_space = |byte: u64, space: u8| {
            moved(format!(
                "DW_OP_const2u {byte}, DW_OP_lit{space}, DW_OP_LLVM_form_aspace_address"
            ))
        };
        let byte = self.random.below(24);
        let vector = vectors(self.wave_size)[usize::try_from(self.random.below(3)).unwrap()].0;
        let scalar = SCALARS[usize::try_from(self.random.below(3)).unwrap()];
        let from = byte * 8 + bit;
        let kinds = if self.fixed { 10 } else { 8 };
        match self.random.below(kinds) {
            0 => Made {
                text: moved(format!("DW_OP_regx {scalar}")),
                model: Model::Bits(Target::Register(scalar), bit),
                bits: bits(32),
            },
            1 => Made {
                text: moved(format!("DW_OP_regx {vector}")),
                model: Model::Bits(Target::Register(vector), bit),
                bits: bits(32 * u64::from(self.wave_size.lanes())),
            },
            2 | 3 => Made {
                text: moved(format!(
                    "DW_OP_regx {vector}, DW_OP_LLVM_push_lane, DW_OP_lit4, DW_OP_mul, DW_OP_LLVM_offset"
                )),
                model: Model::LaneOf(vector, bit),
                bits: bits(32),
            },
            4 => Made {
                text: moved(format!("DW_OP_addr {:#x}", GLOBAL + byte)),
                model: Model::Bits(Target::Memory(Memory::Global), from),
                bits: GLOBAL_BYTES as u64 * 8 - from,
            },
            5 => Made {
                text: in_space(byte, 3),
                model: Model::Bits(Target::Memory(Memory::Local), from),
                bits: LOCAL_BYTES as u64 * 8 - from,
            },
            6 => Made {
                text: in_space(byte, 6),
                model: Model::Bits(Target::Memory(Memory::PrivateWave), from),
                bits: 300,
            },
            7 => Made {
                text: in_space(byte, 5),
                model: Model::Private(from),
                bits: PRIVATE_BYTES as u64 * 8 - from,
            },
            8 => Made {
                text: "DW_OP_const4u 0x12345678, DW_OP_stack_value".into(),
                model: Model::Fixed(Fixed::Implicit),
                bits: 64,
            },
            _ => Made {
                text: "DW_OP_LLVM_undefined".into(),
                model: Model::Fixed(Fixed::Undefined),
                bits: 100,
            },
        }
    }

    fn location(&mut self, depth: u32) -> Made {
        match self.random.below(if depth == 0 { 3 } else { 7 }) {
            3 | 4 => self.pieces(depth - 1),
            5 => self.select(depth - 1),
            6 => self.overlay(depth - 1),
            _ => self.leaf(),
        }
    }

    fn pieces(&mut self, depth: u32) -> Made {
        let (mut texts, mut parts, mut bits) = (Vec::new(), Vec::new(), 0);
        for number in 0..1 + self.random.below(4) {
            let part = self.location(depth);
            let offset = self.random.below(part.bits.min(24));
            let size = 1 + self.random.below((part.bits - offset).min(70));
            if number == 0 {
                texts.push(part.text);
            } else {
                // The operations in between keep the part's own pieces separate from these.
                texts.push(format!("DW_OP_lit0, {}, DW_OP_swap, DW_OP_drop", part.text));
            }
            texts.push(format!("DW_OP_bit_piece {size} {offset}"));
            parts.push((Model::From(Box::new(part.model), offset), size));
            bits += size;
        }
        texts.push("DW_OP_LLVM_piece_end".into());
        Made {
            text: texts.join(", "),
            model: Model::Parts(parts),
            bits,
        }
    }

    fn select(&mut self, depth: u32) -> Made {
        let (zero, one) = (self.location(depth), self.location(depth));
        let most = zero.bits.min(one.bits);
        let count = 1 + self.random.below(most.min(9));
        let size = 1 + self.random.below(most / count);
        let mask = self.random.below(512);
        let parts = (0..count).map(|element| {
            let from = if mask >> element & 1 == 1 {
                &one
            } else {
                &zero
            };
            (
                Model::From(Box::new(from.model.clone()), element * size),
                size,
            )
        });
        let model = Model::Parts(parts.collect());
        let text = format!(
            "{}, {}, DW_OP_const2u {mask}, DW_OP_LLVM_select_bit_piece {size} {count}",
            zero.text, one.text
        );
        Made {
            text,
            model,
            bits: size * count,
        }
    }

    fn overlay(&mut self, depth: u32) -> Made {
        let (base, over) = (self.location(depth), self.location(depth));
        let size = 1 + self.random.below(base.bits.min(over.bits).min(200));
        let offset = self.random.below(base.bits - size + 1);
        let rest = base.bits - size - offset;
        let parts = [
            (base.model.clone(), offset),
            (over.model, size),
            (Model::From(Box::new(base.model), offset + size), rest),
        ];
        let text = format!(
            "{}, {}, DW_OP_const2u {offset}, DW_OP_const2u {size}, DW_OP_LLVM_bit_overlay",
            base.text, over.text
        );
        Made {
            text,
            model: Model::Parts(parts.into()),
            bits: base.bits,
        }
    }
}

fn unit() -> Unit {
    Unit::unknown(Encoding::AMDGPU.in_memory())
}

fn locate<'a>(
    text: &str,
    focus: LaneFocus,
    wave: &Snapshot,
    object: Option<Location<'a>>,
    arena: &'a Arena<'a>,
) -> hetdwarf::Result<Location<'a>> {
    let encoding = Encoding::AMDGPU.in_memory();
    let options = ParseOptions {
        wave_size: wave.wave_size(),
        encoding,
        unit_offset: 0,
    };
    let bytes = parse(text, &options).unwrap_or_else(|error| panic!("{text}: {error}"));
    let bytes = arena.keep(bytes.encode(encoding).unwrap());
    let context = Context::new(arena)
        .with_wave(wave)
        .with_lane(focus)
        .with_object(object);
    match evaluate(
        &ExpressionBytes::alone(bytes, unit()),
        ResultKind::Location,
        &context,
    )? {
        Outcome::Location(location) => Ok(location),
        Outcome::Value(value) => panic!("{text}: {value:?}"),
    }
}

/// Writes through a location. Its places are found first, because the wave must not be borrowed during the write.
fn write(
    location: &Location<'_>,
    bytes: &[u8],
    bit_size: u64,
    lane: Option<Lane>,
    wave: &mut dyn Wave,
) -> hetdwarf::Result<()> {
    let access = Access {
        wave,
        lane,
        max_bits: bit_size,
        meter: None,
    };
    Destination::find(location, bit_size, &access)?.write(bytes, wave)
}

/// Writes random bits through a location and compares everything with the model.
fn check(
    location: &Location<'_>,
    model: &Model,
    most: u64,
    lane: Option<Lane>,
    wave: &mut Snapshot,
    random: &mut Random,
) -> Result<bool, String> {
    let count = 1 + random.below(most.min(400));
    let bytes: Vec<u8> = (0..count.div_ceil(8)).map(|_| random.byte()).collect();
    let wave_size = wave.wave_size();
    let before = state(wave);
    let result = write(location, &bytes, count, lane, wave);
    let after = state(wave);
    match (model.write(&before, &bytes, count, lane, wave_size), result) {
        (Ok(expected), Ok(())) if expected == after => {}
        (Ok(_), Ok(())) => return Err(format!("{count} bits went elsewhere")),
        (Err(why), Err(error)) => {
            let right = match why {
                Fixed::Implicit => matches!(error.kind(), ErrorKind::Unsupported(_)),
                Fixed::Undefined => *error.kind() == ErrorKind::UndefinedRead,
                Fixed::NoLane => matches!(error.kind(), ErrorKind::MissingContext(_)),
            };
            if !right || before != after {
                return Err(format!("{why:?}: {error}; changed: {}", before != after));
            }
            return Ok(false);
        }
        (expected, found) => return Err(format!("{:?}, but {found:?}", expected.map(|_| ()))),
    }
    let found = read(
        location,
        count,
        &Access {
            wave,
            lane,
            max_bits: 1 << 20,
            meter: None,
        },
    )
    .map_err(|error| error.to_string())?;
    let expected = model.read(&after, count, lane, wave_size);
    if !found.is_complete() || found.bytes != expected {
        return Err(format!(
            "{count} bits: read {:02x?}, but {expected:02x?} is there",
            found.bytes
        ));
    }
    Ok(true)
}

/// Checks random locations, for one lane and for all lanes at once.
fn hold(seeds: core::ops::Range<u64>, fixed: bool) -> (usize, usize, usize) {
    let (mut written, mut refused, mut for_all) = (0, 0, 0);
    for seed in seeds {
        let random = &mut Random(seed << 20);
        let wave_size = if random.below(2) == 0 {
            WaveSize::Wave32
        } else {
            WaveSize::Wave64
        };
        let mut wave = snapshot(random, wave_size);
        let made = Maker {
            random,
            wave_size,
            fixed,
        }
        .location(3);
        let mut say = |location: &Location<'_>, lane: Option<Lane>, focus: &str| {
            let random = &mut Random(seed << 20 | 1);
            match check(location, &made.model, made.bits, lane, &mut wave, random) {
                Ok(true) => written += 1,
                Ok(false) => refused += 1,
                Err(reason) => panic!(
                    "seed {seed}, {lane:?} evaluated for {focus}: {reason}\n{}\n{:?}\n{location:?}",
                    made.text, made.model
                ),
            }
        };
        let lanes = [0, 5, u8::try_from(wave_size.lanes() - 1).unwrap()].map(Lane);
        let still = snapshot(&mut Random(0), wave_size);
        let arena = Arena::new();
        for lane in lanes {
            let one = locate(&made.text, LaneFocus::One(lane), &still, None, &arena);
            say(
                &one.unwrap_or_else(|error| panic!("{}: {error}", made.text)),
                Some(lane),
                "one",
            );
        }
        // Some locations need one lane after the other, which the caller has to do.
        if let Ok(all) = locate(&made.text, LaneFocus::All, &still, None, &arena) {
            for lane in lanes {
                say(&all, Some(lane), "all");
            }
            for_all += usize::from(all.stands_for_all_lanes());
            if all.stands_for_all_lanes() {
                say(&all, None, "all, and written for none");
            }
        }
    }
    (written, refused, for_all)
}

#[test]
fn every_bit_goes_where_the_model_has_it_and_no_other_changes() {
    let (written, refused, for_all) = hold(0..600, false);
    println!("{written} writes, {refused} refused, {for_all} locations for all lanes");
    assert!(written > 2000 && for_all > 150 && refused > 40, "too few");
}

#[test]
fn nothing_changes_unless_everything_can_be_written() {
    let (written, refused, _) = hold(10_000..10_600, true);
    println!("{written} writes, {refused} refused");
    assert!(written > 800 && refused > 600, "too few");
}

/// Places of random kinds are written together, and as a part of a composite.
#[test]
fn a_write_reaches_every_place() {
    let mut reached = 0;
    for seed in 0..300 {
        let random = &mut Random(seed << 30);
        let wave_size = WaveSize::Wave32;
        let mut wave = snapshot(random, wave_size);
        let lane = Lane(u8::try_from(random.below(32)).unwrap());
        let arena = Arena::new();
        let (mut places, mut models, mut bits) = (Vec::new(), Vec::new(), u64::MAX);
        for _ in 0..2 + random.below(3) {
            let made = Maker {
                random,
                wave_size,
                fixed: false,
            }
            .location(1);
            let location = locate(&made.text, LaneFocus::One(lane), &wave, None, &arena).unwrap();
            places.extend(location.places().iter().copied());
            models.push(made.model);
            bits = bits.min(made.bits);
        }
        let places = places.as_slice();
        // The arena cannot hold values from outside, so the places are leaked.
        let places: &[Place<'_>] = Box::leak(places.to_vec().into_boxed_slice());
        let location = Location::Many(places);
        let model = Model::Many(models);
        let result = check(&location, &model, bits, Some(lane), &mut wave, random);
        assert_eq!(result, Ok(true), "seed {seed}: {model:?}");
        // The place is the second part of a composite, after a register.
        let text = format!(
            "DW_OP_regx 33, DW_OP_bit_piece 17 3, DW_OP_push_object_address, DW_OP_bit_piece {bits} 0"
        );
        let composite = locate(&text, LaneFocus::One(lane), &wave, Some(location), &arena).unwrap();
        let model = Model::Parts(vec![
            (Model::Bits(Target::Register(33), 3), 17),
            (model, bits),
        ]);
        let result = check(&composite, &model, 17 + bits, Some(lane), &mut wave, random);
        assert_eq!(result, Ok(true), "seed {seed}: {text} {model:?}");
        reached += places.len();
    }
    assert!(reached > 700, "{reached} places");
}

/// USAGE "Address Space Identifier": the distance between a lane's dwords is one dword for each lane of the wave.
#[test]
fn private_memory_of_a_lane_is_written_interleaved() {
    for wave_size in [WaveSize::Wave32, WaveSize::Wave64] {
        let lanes = u64::from(wave_size.lanes());
        let mut wave = snapshot(&mut Random(7), wave_size);
        let mut expected = state(&wave);
        let storage = Storage::Memory {
            space: AddressSpace::PrivateLane,
            lane: LaneSelect::One(Lane(3)),
        };
        // Six bytes from byte 2 on are two bytes of dword 0 and four of dword 1.
        write(
            &Location::One(Place::new(storage, 16)),
            &[1, 2, 3, 4, 5, 6],
            48,
            None,
            &mut wave,
        )
        .unwrap();
        let memory = expected
            .get_mut(&Target::Memory(Memory::PrivateWave))
            .unwrap();
        let at = |dword: u64, byte: u64| usize::try_from(dword * lanes * 4 + 3 * 4 + byte).unwrap();
        for (byte, value) in [
            (at(0, 2), 1),
            (at(0, 3), 2),
            (at(1, 0), 3),
            (at(1, 1), 4),
            (at(1, 2), 5),
            (at(1, 3), 6),
        ] {
            memory[byte] = value;
        }
        assert_eq!(state(&wave), expected);
    }
}

/// A byte that is replaced completely need not be known before.
#[test]
fn only_bytes_that_keep_a_bit_are_read() {
    let mut wave = Snapshot::new("gfx1100", WaveSize::Wave32, 0);
    let v0 = Register::vgpr(0, WaveSize::Wave32).unwrap();
    wave.set_lanes(v0, &[Some(0); 32]).unwrap();
    let mut wave = WriteOnlyMiddle(wave);
    let location = Location::One(Place::new(Storage::Register(v0), 4));
    write(&location, &[0xff; 5], 40, None, &mut wave).unwrap();
    let mut bytes = [0; 8];
    wave.0.read_register(v0, 0..64, &mut bytes).unwrap();
    assert_eq!(bytes, [0xf0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0]);
}

/// A register whose bytes 1 to 4 cannot be read.
struct WriteOnlyMiddle(Snapshot);

impl Wave for WriteOnlyMiddle {
    fn wave_size(&self) -> WaveSize {
        self.0.wave_size()
    }

    fn read_register(
        &self,
        register: Register,
        bits: core::ops::Range<u32>,
        out: &mut [u8],
    ) -> Result<(), hetdwarf::wave::AccessError> {
        if bits.start < 40 && bits.end > 8 {
            return Err(hetdwarf::wave::AccessError::Unavailable);
        }
        self.0.read_register(register, bits, out)
    }

    fn read_memory(
        &self,
        memory: Memory,
        address: u64,
        out: &mut [u8],
    ) -> Result<(), hetdwarf::wave::AccessError> {
        self.0.read_memory(memory, address, out)
    }

    fn write_register(
        &mut self,
        register: Register,
        bits: core::ops::Range<u32>,
        bytes: &[u8],
    ) -> Result<(), hetdwarf::wave::AccessError> {
        self.0.write_register(register, bits, bytes)
    }
}
