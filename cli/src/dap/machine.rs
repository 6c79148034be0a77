//! Instructions and memory.

use base64::Engine as _;
use serde_json::{Value, json};

use hetdwarf::arch::{AddressSpace, CodeAddress, Lane, ProcessAddress};
use hetdwarf::inspect::Stop;
use hetdwarf::isa::Decoder;
use hetdwarf::location::{Access, LaneSelect, Location, Place, Storage, read};

use super::fields::set;
use super::message::Request;
use super::session::{Answer, Session};

/// How many bytes are read at once, and how many instructions are listed.
const MOST_BYTES: i64 = 1 << 20;
const MOST_INSTRUCTIONS: i64 = 10_000;
/// How many bytes the longest instruction has.
const LONGEST: u64 = 20;

/// An address as the editor has it: `0x7f0000001000`, `local:0x10`, `private_lane:3:0x10`.
struct Reference {
    space: AddressSpace,
    lane: Option<Lane>,
    address: u64,
}

impl Reference {
    fn parse(text: &str) -> Result<Reference, String> {
        let wrong = || {
            format!(
                "memoryReference {}: an address is expected, 0x7f0000001000, local:0x10 or private_lane:3:0x10",
                hetdwarf::untrusted::Untrusted::from(text.to_owned())
            )
        };
        let mut parts = text.rsplit(':');
        let address = parts.next().unwrap_or_default();
        let digits = address.strip_prefix("0x").ok_or_else(wrong)?;
        let address = u64::from_str_radix(digits, 16).map_err(|_| wrong())?;
        let mut parts: Vec<&str> = parts.collect();
        let space = match parts.pop() {
            None => AddressSpace::None,
            Some(name) => AddressSpace::from_name(name).ok_or_else(wrong)?,
        };
        let lane = match (parts.pop(), parts.pop()) {
            (None, _) => None,
            (Some(lane), None) => Some(Lane(lane.parse().map_err(|_| wrong())?)),
            (Some(_), Some(_)) => return Err(wrong()),
        };
        Ok(Reference {
            space,
            lane,
            address,
        })
    }

    /// Returns the reference that is so many bytes further on.
    fn plus(&self, offset: u64) -> String {
        let address = self.address.wrapping_add(offset);
        match (self.space, self.lane) {
            (AddressSpace::None, _) => format!("{address:#x}"),
            (space, Some(lane)) => format!("{}:{}:{address:#x}", space.name(), lane.0),
            (space, None) => format!("{}:{address:#x}", space.name()),
        }
    }
}

impl Session<'_> {
    /// Reads memory of the wave that was asked last.
    pub(super) fn read_memory(&mut self, request: &Request) -> Answer {
        let text = request.text("memoryReference")?;
        let text = text.ok_or("memoryReference: it is missing")?;
        let mut reference = Reference::parse(text)?;
        let offset = request.integer("offset")?.unwrap_or(0);
        let count = request.needed("count")?;
        if !(0..=MOST_BYTES).contains(&count) {
            return Err(format!("count: from 0 to {MOST_BYTES}"));
        }
        reference.address = reference.address.wrapping_add_signed(offset);
        let wave = self.current.wave;
        let lane = reference.lane.or(self.focus.get(&wave).copied());
        self.with_stop(wave, |_, stop| {
            let bytes = memory(stop, &reference, lane, count.unsigned_abs());
            let missing = count.unsigned_abs().saturating_sub(bytes.len() as u64);
            let mut body = json!({ "address": reference.plus(0) });
            if !bytes.is_empty() {
                set(
                    &mut body,
                    "data",
                    base64::engine::general_purpose::STANDARD.encode(bytes),
                );
            }
            if missing > 0 {
                set(&mut body, "unreadableBytes", missing);
            }
            Ok(body)
        })
    }

    /// Lists instructions around an address, each with its line.
    pub(super) fn disassemble(&mut self, request: &Request) -> Answer {
        let text = request.text("memoryReference")?;
        let text = text.ok_or("memoryReference: it is missing")?;
        let reference = Reference::parse(text)?;
        let offset = request.integer("offset")?.unwrap_or(0);
        let skipped = request.integer("instructionOffset")?.unwrap_or(0);
        let count = request.needed("instructionCount")?;
        if !(0..=MOST_INSTRUCTIONS).contains(&count) {
            return Err(format!("instructionCount: from 0 to {MOST_INSTRUCTIONS}"));
        }
        let address = ProcessAddress(reference.address.wrapping_add_signed(offset));
        let wave = self.wave_at(address);
        self.with_stop(wave, |session, stop| {
            session.instructions(stop, address, skipped, count)
        })
    }

    /// Returns a wave in the code object that an address is in.
    fn wave_at(&self, ProcessAddress(address): ProcessAddress) -> usize {
        let objects = self.document.code_objects.iter().enumerate();
        let before = objects.filter(|(_, object)| object.load_address.0 <= u128::from(address));
        let object = before.max_by_key(|(_, object)| object.load_address.0);
        let object = object.map(|(index, _)| index);
        let mut waves = self.document.waves.iter();
        let wave = waves.find(|wave| wave.code_object == object && object.is_some());
        wave.map_or(self.current.wave, |wave| wave.index)
    }

    fn instructions(
        &mut self,
        stop: &Stop<'_, '_>,
        address: ProcessAddress,
        skipped: i64,
        count: i64,
    ) -> Answer {
        let program = stop.program();
        let size = stop.wave().wave_size();
        let decoder = Decoder::new(program.processor(), Some(size));
        let decoder = decoder.ok_or("the instructions of this processor are not known")?;
        let load = stop.options().load_address;
        let CodeAddress(wanted) = load
            .checked_to_code(address)
            .ok_or("the address is in no code object")?;
        // Instructions have several lengths: only from the start of a function on is it known where they begin.
        let function = program.info().find_function(wanted).ok().flatten();
        let ranges = function.iter().flat_map(|function| &function.ranges);
        let start = ranges
            .filter(|range| range.contains(&wanted))
            .map(|range| range.start)
            .next();
        let start = start.or_else(|| {
            let (_, offset) = program.symbol_at(wanted)?;
            wanted.checked_sub(offset)
        });
        let mut before: Vec<u64> = Vec::new();
        let mut at = start.unwrap_or(wanted);
        while at < wanted {
            before.push(at);
            at = at.wrapping_add(length(stop, &decoder, at));
        }
        let mut listed = Vec::new();
        let back = usize::try_from(skipped.min(0).unsigned_abs()).unwrap_or(usize::MAX);
        let missing = back.saturating_sub(before.len());
        let count = usize::try_from(count).unwrap_or(0);
        let first = before.len().saturating_sub(back);
        for _ in 0..missing.min(count) {
            listed.push(
                json!({ "address": "0x0", "instruction": "", "presentationHint": "invalid" }),
            );
        }
        let mut at = before.get(first).copied().unwrap_or(wanted);
        for _ in 0..skipped.max(0) {
            at = at.wrapping_add(length(stop, &decoder, at));
        }
        while listed.len() < count {
            let (instruction, bytes) = self.instruction(stop, &decoder, at);
            listed.push(instruction);
            at = at.wrapping_add(bytes);
        }
        Ok(json!({ "instructions": listed }))
    }

    /// Describes the instruction at an address of the code object, and returns how long it is.
    fn instruction(&mut self, stop: &Stop<'_, '_>, decoder: &Decoder, at: u64) -> (Value, u64) {
        let object = stop.program().object();
        let address = stop.options().load_address.to_process(CodeAddress(at));
        let bytes = length(stop, decoder, at);
        let code = object.read_image(at, usize::try_from(bytes).unwrap_or(4));
        let text = code.and_then(|code| decoder.print(code, at).ok());
        let mut one = json!({ "address": format!("{:#x}", address.0) });
        match (text, code) {
            (Some(text), Some(code)) => {
                let bytes: Vec<String> = code.iter().map(|byte| format!("{byte:02x}")).collect();
                set(&mut one, "instruction", text);
                set(&mut one, "instructionBytes", bytes.join(" "));
            }
            (_, _) => {
                set(&mut one, "instruction", "(no code)");
                set(&mut one, "presentationHint", "invalid");
            }
        }
        if let Ok(Some(line)) = stop.program().info().line_at(at)
            && line.line != 0
        {
            set(&mut one, "line", line.line);
        }
        if let Some((name, 0)) = stop.program().symbol_at(at) {
            set(
                &mut one,
                "symbol",
                hetdwarf::untrusted::Untrusted::from(name.to_owned()).to_string(),
            );
        }
        (one, bytes)
    }
}

/// Returns how many bytes an instruction has; four where there is none.
fn length(stop: &Stop<'_, '_>, decoder: &Decoder, at: u64) -> u64 {
    let object = stop.program().object();
    let mut sizes = (4..=LONGEST).rev().step_by(4);
    let code = sizes.find_map(|size| object.read_image(at, usize::try_from(size).ok()?));
    let instruction = code.and_then(|code| decoder.decode(code, at).ok());
    instruction.map_or(4, |one| u64::from(one.length))
}

/// Reads memory up to the first byte that is not known.
fn memory(stop: &Stop<'_, '_>, reference: &Reference, lane: Option<Lane>, count: u64) -> Vec<u8> {
    /// How many bytes are tried at once.
    const STEP: u64 = 64;
    let read_at = |address: u64, bytes: u64| -> Option<Vec<u8>> {
        let storage = Storage::Memory {
            space: reference.space,
            lane: lane.map_or(LaneSelect::None, LaneSelect::One),
        };
        let place = Place::new(storage, u128::from(address).checked_mul(8)?);
        let access = Access {
            wave: stop.wave(),
            lane,
            max_bits: stop.limits().bits,
            meter: None,
        };
        let bits = read(&Location::One(place), bytes.checked_mul(8)?, &access).ok()?;
        bits.is_complete().then_some(bits.bytes)
    };
    let mut found = Vec::new();
    while (found.len() as u64) < count {
        let at = reference.address.wrapping_add(found.len() as u64);
        let rest = count.saturating_sub(found.len() as u64);
        let step = rest.min(STEP);
        match read_at(at, step) {
            Some(bytes) => found.extend(bytes),
            None => match read_at(at, 1) {
                Some(bytes) if step > 1 => found.extend(bytes),
                _ => break,
            },
        }
    }
    found
}
