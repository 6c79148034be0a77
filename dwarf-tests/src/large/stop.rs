//! Makes a wave that stopped in the middle of an object.

use serde_json::{Value, json};

use super::code::Kind;
use super::{Function, Object};
use crate::simulator::random::Random;

/// The load address of the object.
const LOAD_ADDRESS: u64 = 0x7f00_0000_0000;
const LANES: usize = 32;

impl Object {
    /// Returns the function with a frame that is nearest to the middle of the object.
    ///
    /// # Panics
    /// If there is no such function.
    #[must_use]
    pub fn middle(&self) -> &Function {
        let (before, after) = self.units.split_at(self.units.len() / 2);
        let units = after.iter().chain(before);
        let mut functions = units.flat_map(|unit| {
            let (before, after) = unit.functions.split_at(unit.functions.len() / 2);
            after.iter().chain(before)
        });
        let framed = functions.find(|function| function.kind == Kind::Framed);
        framed.expect("every unit of two functions has one with a frame")
    }
}

/// Returns the snapshot of a wave that stopped in the middle of `function`, which a kernel called.
#[must_use]
pub fn stop(object: &Object, function: &Function) -> Value {
    let mut functions = object.units.iter().flat_map(|unit| &unit.functions);
    let kernel = functions.find(|function| function.kind == Kind::Kernel);
    let caller = kernel.unwrap_or(function).returns_to.unwrap_or_default() + LOAD_ADDRESS;
    let mut random = Random::new(function.middle);
    let mut word = || random.number() & 0xffff_ffff;
    let mut registers = serde_json::Map::new();
    let hex = |number: u64| Value::from(format!("{number:#x}"));
    for number in 0..=40 {
        registers.insert(format!("s{number}"), hex(word()));
    }
    // These are offsets in bytes of one lane.
    registers.insert("s33".to_owned(), hex(0x30));
    registers.insert("s32".to_owned(), hex(0x60));
    registers.insert("exec".to_owned(), hex(0xffff));
    registers.insert("vcc".to_owned(), hex(0x00ff));
    for number in 0..48 {
        let mut lanes: Vec<u64> = (0..LANES).map(|_| word()).collect();
        if number == 40 {
            // The values that the prologue stored.
            lanes[..4].copy_from_slice(&[caller & 0xffff_ffff, caller >> 32, 0, 0xffff_ffff]);
        }
        let lanes: Vec<Value> = lanes.into_iter().map(hex).collect();
        registers.insert(format!("v{number}"), lanes.into());
    }
    let scratch: String = (0..0x8000 / 4).map(|_| format!("{:08x}", word())).collect();
    json!({
        "format": "hetdwarf-wave/1", "target": "gfx1100", "wave_size": LANES,
        "pc": hex(function.middle + LOAD_ADDRESS), "load_address": hex(LOAD_ADDRESS),
        "registers": registers,
        "memory": [{"space": "private_wave", "address": "0x0", "bytes": scratch}],
    })
}
