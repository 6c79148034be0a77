//! Measures the location of switched-off lanes: for the first wave that stops in a function, and for later waves that stop at the same
//! address.

use std::io::Read;

use hetdwarf::Limits;
use hetdwarf::lane_flow::{Function, LaneFlow, LaneState};
use hetdwarf::meter::Meter;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::Snapshot;

use super::{Case, Maker, fixture, keep, maker};

/// The fixture, the wave that stops in it, and the number of instructions of its function.
const CASES: [(&str, &str, u32); 4] = [
    ("sw-gfx1100-O0", "w00", 1074),
    ("whilebrk-gfx90a-O0", "w00", 970),
    ("earlyret-gfx1200-O2", "w00", 346),
    ("sw-gfx1100-O2", "w00", 137),
];

pub(super) fn makers() -> Vec<Maker> {
    let mut makers = Vec::new();
    for (name, wave, instructions) in CASES {
        makers.push(maker(
            format!("lanes/first stop, {name}, {instructions} instructions"),
            move || {
                let (object, wave) = (object(name), wave_of(name, wave));
                Case::new(move || waiting(&flow(object), wave))
            },
        ));
        makers.push(maker(format!("lanes/stop again, {name}"), move || {
            let flow = keep(flow(object(name)));
            let wave = wave_of(name, wave);
            assert!(waiting(flow, wave) >= 8);
            Case::new(move || waiting(flow, wave))
        }));
        makers.push(maker(format!("lanes/every place, {name}"), move || {
            let object = object(name);
            let places = move || {
                let (flow, functions) = (flow(object), Function::all(object).unwrap());
                let meter = Meter::new(&Limits::default(), 1 << 24);
                let plans = functions
                    .iter()
                    .filter_map(|one| flow.plan(one.address, &meter));
                plans.map(|plan| plan.len()).sum::<usize>()
            };
            assert!(places() > 10);
            Case::new(places)
        }));
    }
    makers
}

fn object(name: &str) -> &'static CodeObject<'static> {
    let file = fixture(&format!("lanes/{name}/{name}.hsaco"));
    keep(CodeObject::parse(file).unwrap())
}

fn flow(object: &'static CodeObject<'static>) -> LaneFlow<'static> {
    let size = object.kernels().unwrap()[0].wave_size().unwrap();
    let functions = Function::all(object).unwrap();
    LaneFlow::new(object.target().processor(), size, functions, object.meter())
}

fn wave_of(name: &str, wave: &str) -> &'static Snapshot {
    let file = fixture(&format!("lanes/{name}/{wave}.json.gz"));
    let mut text = Vec::new();
    let mut reader = flate2::read::GzDecoder::new(file);
    reader.read_to_end(&mut text).unwrap();
    keep(Snapshot::from_json(&text).unwrap())
}

/// Returns the number of waiting lanes in all frames.
fn waiting(flow: &LaneFlow<'_>, wave: &Snapshot) -> usize {
    let pc = wave.load_address.to_code(wave.pc()).0;
    let meter = Meter::new(&Limits::DEFAULT, 0);
    let found = flow
        .stop(wave, pc, wave.load_address, None, &meter)
        .unwrap();
    let lanes = found.frames.iter().flat_map(|frame| &frame.lanes);
    let waits = |state: &&LaneState| matches!(state, LaneState::Waiting { .. });
    lanes.filter(waits).count()
}
