//! Tests waves whose functions ask the library about the same wave.

use core::cell::Cell;
use core::ops::Range;
use core::time::Duration;

use dwarf_tests::{json, lane_cases};
use hetdwarf::arch::{Register, WaveSize};
use hetdwarf::lane_flow::{Function, LaneFlow};
use hetdwarf::limits::Limits;
use hetdwarf::meter::Meter;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::{AccessError, Memory, Snapshot, Wave};

use super::{ask, snapshot};

/// A wave whose functions ask for the lanes of the same wave.
struct Asking<'w, 'f> {
    wave: &'w Snapshot,
    flow: &'w LaneFlow<'f>,
    is_within: Cell<bool>,
    asked: Cell<usize>,
}

impl Asking<'_, '_> {
    fn ask(&self) {
        if !self.is_within.replace(true) {
            let within = ask(self.flow, self.wave, self.wave.wave_size());
            assert!(!within.frames.is_empty());
            self.asked.set(self.asked.get() + 1);
            self.is_within.set(false);
        }
    }
}

impl Wave for Asking<'_, '_> {
    fn wave_size(&self) -> WaveSize {
        self.wave.wave_size()
    }

    fn read_register(
        &self,
        register: Register,
        bits: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        self.ask();
        self.wave.read_register(register, bits, out)
    }

    fn read_memory(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        self.ask();
        self.wave.read_memory(memory, address, out)
    }
}

/// A debugger may ask for lanes while it reads a register for the search of lanes. Nothing is locked then, and the answer is the same.
#[test]
fn a_wave_may_ask_for_lanes_while_it_is_read() {
    let (done, waits) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut asked = 0;
        for case in lane_cases().iter().step_by(9) {
            let truth = json(&case.join("truth.json"));
            let file = std::fs::read(case.join(truth["object"].as_str().unwrap())).unwrap();
            let object = CodeObject::parse(&file).unwrap();
            let wave_size = WaveSize::from_lanes(truth["wave_size"].as_u64().unwrap()).unwrap();
            let functions = Function::all(&object).unwrap();
            let processor = object.target().processor();
            let new = || LaneFlow::new(processor, wave_size, functions.clone(), object.meter());
            for stop in truth["snapshots"].as_array().unwrap().iter().take(4) {
                let wave = &snapshot(&case.join(stop["wave"].as_str().unwrap()));
                let flow = &new();
                let asking = Asking {
                    wave,
                    flow,
                    is_within: Cell::new(false),
                    asked: Cell::new(0),
                };
                let dispatched = wave.dispatch.as_ref().and_then(|d| d.lanes(wave_size));
                let pc = wave.load_address.to_code(wave.pc()).0;
                let meter = Meter::new(&Limits::DEFAULT, 0);
                let found = flow.stop(&asking, pc, wave.load_address, dispatched, &meter);
                assert_eq!(found.unwrap(), ask(&new(), wave, wave_size));
                asked += asking.asked.get();
            }
        }
        done.send(asked).unwrap();
    });
    let asked = waits.recv_timeout(Duration::from_secs(300));
    assert!(asked.expect("the search ends") > 20);
}
