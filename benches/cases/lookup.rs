//! Compares this crate and addr2line in translating addresses to functions, inlined calls and lines.
//!
//! Both get the same sections and the same addresses, and read names, paths, lines and columns of all frames. "Warm" is one of many lookups
//! in the same program, and "cold" the first lookup in a program that has just been opened. The results are compared when a case is made.
//! `symbolize` is a batch of a [`Symbolizer`], which returns owned descriptions of frames, and symbols.

use gimli::{EndianSlice, LittleEndian};
use hetdwarf::arch::LoadAddress;
use hetdwarf::debug_info::DebugInfo;
use hetdwarf::inspect::{Program, Symbolized, Symbolizer};
use hetdwarf::object::CodeObject;

use super::{Case, Maker, fixture, keep, maker};

/// An object of GCC with 1.1 MB, and two objects of LLVM.
const OBJECTS: [&str; 3] = [
    "corpus/gcc12/offload-gfx906-O1.hsaco",
    "corpus/llvm22/inlined-gfx942-O2.hsaco",
    "corpus/llvm24/pressure-gfx90a-O2.hsaco",
];
/// The number of addresses that are looked up.
const ADDRESSES: u32 = 256;
/// Large objects that `benches/mixes.sh` makes, if they exist. Each is opened, and many addresses are looked up.
const LARGE: [&str; 2] = ["4 MB", "64 MB"];
const MANY_ADDRESSES: u32 = 100_000;

pub(super) fn makers() -> Vec<Maker> {
    let mut makers = Vec::new();
    for name in LARGE {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("target/mixes");
        let path = folder.join(name.replace(' ', ""));
        if !path.exists() {
            continue;
        }
        let world = move || World::of(keep(std::fs::read(&path).unwrap()), MANY_ADDRESSES);
        let other = world.clone();
        makers.push(maker(
            format!("lookup/{name}, {MANY_ADDRESSES} addresses/hetdwarf"),
            move || {
                let world = world();
                Case::repeated(MANY_ADDRESSES, move || {
                    let info = world.info();
                    world.sum(|pc| ours(&info, pc))
                })
            },
        ));
        makers.push(maker(
            format!("lookup/{name}, {MANY_ADDRESSES} addresses/addr2line"),
            move || {
                let world = other();
                Case::repeated(MANY_ADDRESSES, move || {
                    let context = world.context();
                    world.sum(|pc| theirs(&context, pc))
                })
            },
        ));
    }
    for path in OBJECTS {
        let name = path.rsplit('/').next().unwrap_or(path);
        makers.push(maker(format!("lookup/{name}, warm/hetdwarf"), move || {
            let world = World::of(fixture(path), ADDRESSES);
            let info = keep(world.info());
            world.check(info);
            Case::repeated(ADDRESSES, move || world.sum(|pc| ours(info, pc)))
        }));
        makers.push(maker(format!("lookup/{name}, warm/addr2line"), move || {
            let world = World::of(fixture(path), ADDRESSES);
            let context = keep(world.context());
            world.check(&world.info());
            Case::repeated(ADDRESSES, move || world.sum(|pc| theirs(context, pc)))
        }));
        makers.push(maker(format!("symbolize/{name}"), move || {
            let world = World::of(fixture(path), ADDRESSES);
            let program = keep(Program::load(world.object).unwrap());
            let symbolizer = keep(Symbolizer::new([(program, LoadAddress(0))]));
            Case::repeated(ADDRESSES, move || {
                let count = |found: &Symbolized| found.frames.len();
                symbolizer
                    .symbolize_all(&world.addresses, count)
                    .iter()
                    .sum::<usize>()
            })
        }));
        makers.push(maker(format!("lookup/{name}, cold/hetdwarf"), move || {
            let world = World::of(fixture(path), ADDRESSES);
            Case::new(move || ours(&world.info(), world.addresses[0]))
        }));
        makers.push(maker(format!("lookup/{name}, cold/addr2line"), move || {
            let world = World::of(fixture(path), ADDRESSES);
            Case::new(move || theirs(&world.context(), world.addresses[0]))
        }));
    }
    makers
}

type Bytes = EndianSlice<'static, LittleEndian>;

/// A code object, and addresses of its code in pseudo-random order.
struct World {
    object: &'static CodeObject<'static>,
    addresses: Vec<u64>,
}

impl World {
    fn of(file: &'static [u8], addresses: u32) -> &'static World {
        let object = keep(CodeObject::parse(file).unwrap());
        let section = |name: &str| object.section(name).unwrap().unwrap_or_default();
        let info = DebugInfo::load(|name| Ok(section(name))).unwrap();
        let functions = info
            .unit_ids()
            .flat_map(|unit| info.functions(unit).unwrap());
        let ranges: Vec<_> = functions.flat_map(|function| function.ranges).collect();
        keep(World {
            object,
            addresses: super::scattered(&ranges, addresses),
        })
    }

    fn section(&'static self, name: &str) -> &'static [u8] {
        self.object.section(name).unwrap().unwrap_or_default()
    }

    fn info(&'static self) -> DebugInfo<'static> {
        DebugInfo::load(|name| Ok(self.section(name))).unwrap()
    }

    fn context(&'static self) -> addr2line::Context<Bytes> {
        let load = |id: gimli::SectionId| {
            Ok::<_, gimli::Error>(EndianSlice::new(self.section(id.name()), LittleEndian))
        };
        addr2line::Context::from_dwarf(gimli::Dwarf::load(load).unwrap()).unwrap()
    }

    /// Checks that both find the same.
    fn check(&'static self, info: &DebugInfo<'static>) {
        let context = self.context();
        for pc in &self.addresses {
            assert_eq!(ours(info, *pc), theirs(&context, *pc), "{pc:#x}");
        }
    }

    fn sum(&self, ask: impl Fn(u64) -> Found) -> usize {
        self.addresses.iter().map(|pc| ask(*pc).frames).sum()
    }
}

/// The sums over all frames of the facts that both report. addr2line prefers linkage names, so names are only counted.
#[derive(Debug, Default, PartialEq)]
struct Found {
    frames: usize,
    names: usize,
    path_bytes: usize,
    lines: u64,
    columns: u64,
}

fn ours(info: &DebugInfo<'_>, pc: u64) -> Found {
    let mut found = Found::default();
    for frame in info.source_frames(pc).unwrap() {
        found.frames += 1;
        found.names += usize::from(frame.name().is_some());
        found.path_bytes += frame.file().map_or(0, |file| file.path.len());
        found.lines += frame.line().unwrap_or(0);
        found.columns += frame.column().unwrap_or(0);
    }
    found
}

fn theirs(context: &addr2line::Context<Bytes>, pc: u64) -> Found {
    let mut found = Found::default();
    let mut frames = context.find_frames(pc).skip_all_loads().unwrap();
    while let Some(frame) = frames.next().unwrap() {
        found.frames += 1;
        let name = frame.function.as_ref().map(|name| name.raw_name().unwrap());
        found.names += usize::from(name.is_some());
        if let Some(place) = frame.location {
            found.path_bytes += place.file.map_or(0, str::len);
            found.lines += u64::from(place.line.unwrap_or(0));
            found.columns += u64::from(place.column.unwrap_or(0));
        }
    }
    found
}
