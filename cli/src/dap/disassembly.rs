//! Disassembles the code around an address, and adds the line of each instruction.

use hetdwarf::arch::{CodeAddress, ProcessAddress};
use hetdwarf::inspect::{Program, Stop};
use hetdwarf::isa::Decoder;
use hetdwarf::untrusted::Untrusted;

use super::memory::Reference;
use super::message::Request;
use super::protocol::{Body, DisassembledInstruction, Source};
use super::session::{Answer, Session};

/// The most instructions that are listed, and the largest distance from the address in instructions.
const MOST_INSTRUCTIONS: i64 = 10_000;
/// The length of the longest instruction in bytes.
const LONGEST: u64 = 20;
/// The most bytes before an address that are searched for the start of its function.
const FARTHEST: u64 = 1 << 20;

impl<'s> Session<'s> {
    /// Lists instructions around an address.
    pub(super) fn disassemble(&mut self, request: &Request) -> Answer<'s> {
        let reference = Reference::of(request)?;
        if !reference.is_of_process() {
            return Err("memoryReference: code is at addresses like 0x7f0000001000".to_owned());
        }
        let offset = request.integer("offset")?.unwrap_or(0);
        let skipped = request.integer("instructionOffset")?.unwrap_or(0);
        let count = request.needed("instructionCount")?;
        if !(0..=MOST_INSTRUCTIONS).contains(&count) {
            return Err(format!("instructionCount: from 0 to {MOST_INSTRUCTIONS}"));
        }
        if !(-MOST_INSTRUCTIONS..=MOST_INSTRUCTIONS).contains(&skipped) {
            return Err(format!(
                "instructionOffset: from -{MOST_INSTRUCTIONS} to {MOST_INSTRUCTIONS}"
            ));
        }
        let address = ProcessAddress(reference.address.wrapping_add_signed(offset));
        let wave = self.wave_at(address);
        self.with_stop(wave, |session, stop| {
            session.instructions(stop, address, skipped, count)
        })
    }

    /// Returns a wave in the code object that contains an address.
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
    ) -> Answer<'s> {
        let program = stop.program();
        let size = stop.wave().wave_size();
        let decoder = Decoder::new(program.processor(), Some(size));
        let decoder = decoder.ok_or("the instruction set of this processor is unknown")?;
        let code = Code { program, decoder };
        let load = stop.options().load_address;
        let CodeAddress(wanted) = load
            .checked_to_code(address)
            .ok_or("the address is in no code object")?;
        let count = usize::try_from(count).unwrap_or(0);
        let back = usize::try_from(skipped.min(0).unsigned_abs()).unwrap_or(0);
        let before = code.before(wanted, back);
        // An editor expects exactly the requested number of instructions, even if they would start before the code.
        let missing = back - before.len();
        let first = before.first().copied().unwrap_or(wanted);
        let mut listed: Vec<DisassembledInstruction> = (1..=missing)
            .rev()
            .take(count)
            .map(|number| {
                let before = number as u64 * 4;
                let ProcessAddress(address) = load.to_process(CodeAddress(first));
                DisassembledInstruction {
                    address: format!("{:#x}", address.saturating_sub(before)),
                    presentation_hint: Some("invalid"),
                    ..DisassembledInstruction::default()
                }
            })
            .collect();
        let mut at = first;
        for _ in 0..skipped.max(0) {
            at = at.wrapping_add(code.length(at));
        }
        let mut file = None;
        while listed.len() < count {
            let mut one = code.describe(at);
            one.address = format!("{:#x}", load.to_process(CodeAddress(at)).0);
            if let Some(source) = self.line_of(stop, at, &mut file, &mut one)? {
                one.location = Some(source);
            }
            listed.push(one);
            at = at.wrapping_add(code.length(at));
        }
        Ok(Body::Disassemble {
            instructions: listed,
        })
    }

    /// Adds the line of an instruction. Returns its source, if it differs from the previous instruction's.
    ///
    /// * `file`: the file of the previous instruction, by its unit and its number there.
    fn line_of(
        &mut self,
        stop: &Stop<'_, '_>,
        at: u64,
        file: &mut Option<(hetdwarf::debug_info::UnitId, u64)>,
        one: &mut DisassembledInstruction,
    ) -> Result<Option<Source>, String> {
        let Ok(Some(line)) = stop.program().info().line_at(at) else {
            return Ok(None);
        };
        let (Some(of), true) = (&line.file, line.line != 0) else {
            return Ok(None);
        };
        one.line = Some(self.numbering.line(line.line));
        let this = (line.unit, of.index);
        if file.replace(this) == Some(this) {
            return Ok(None);
        }
        self.source_at(stop, line.unit, of, line.line)
    }
}

/// The code of an object.
struct Code<'c, 'p> {
    program: &'c Program<'p>,
    decoder: Decoder,
}

impl Code<'_, '_> {
    /// Returns the addresses of up to `most` instructions before an address, ascending.
    fn before(&self, address: u64, most: usize) -> Vec<u64> {
        // Instructions have different lengths, so their boundaries are known only from the start of a function on.
        let mut parts: Vec<Vec<u64>> = Vec::new();
        let (mut end, mut known) = (address, 0_usize);
        while known < most {
            let Some(start) = self.start_before(end) else {
                break;
            };
            let mut part = Vec::new();
            let mut at = start;
            while at < end {
                part.push(at);
                at = at.saturating_add(self.length(at));
            }
            known += part.len();
            parts.push(part);
            end = start;
        }
        let all: Vec<u64> = parts.into_iter().rev().flatten().collect();
        let first = all.len().saturating_sub(most);
        all.get(first..).unwrap_or_default().to_vec()
    }

    /// Returns the start of the function that ends at an address or contains it. Outside functions, returns the start of the four bytes
    /// before it. Returns None at the start of the section.
    fn start_before(&self, end: u64) -> Option<u64> {
        let last = end.checked_sub(1)?;
        let sections = self.program.object().sections().iter();
        let mut code = sections.filter(|section| section.executable);
        let section =
            code.find(|section| last >= section.address && last - section.address < section.size)?;
        let function = self.program.info().find_function(last).ok().flatten();
        let ranges = function.iter().flat_map(|function| &function.ranges);
        let start = ranges
            .filter(|range| range.contains(&last))
            .map(|range| range.start)
            .next();
        let start = start.or_else(|| {
            let (_, offset) = self.program.symbol_at(last)?;
            last.checked_sub(offset)
        });
        let start = start.filter(|start| last.saturating_sub(*start) < FARTHEST);
        let start = start.or(end.checked_sub(4))?;
        Some(start.max(section.address))
    }

    /// Describes the instruction at an address, without its address and line.
    fn describe(&self, at: u64) -> DisassembledInstruction {
        let bytes = usize::try_from(self.length(at)).unwrap_or(4);
        let code = self.program.object().read_image(at, bytes);
        let text = code.and_then(|code| self.decoder.print(code, at).ok());
        let mut one = DisassembledInstruction::default();
        match (text, code) {
            (Some(text), Some(code)) => {
                let bytes: Vec<String> = code.iter().map(|byte| format!("{byte:02x}")).collect();
                one.instruction = text.to_string();
                one.instruction_bytes = Some(bytes.join(" "));
            }
            (_, _) => {
                "(no code)".clone_into(&mut one.instruction);
                one.presentation_hint = Some("invalid");
            }
        }
        if let Some((name, 0)) = self.program.symbol_at(at) {
            one.symbol = Some(Untrusted::from(name.to_owned()).to_string());
        }
        one
    }

    /// Returns the length of an instruction in bytes, or four if there is none.
    fn length(&self, at: u64) -> u64 {
        let object = self.program.object();
        let mut sizes = (4..=LONGEST).rev().step_by(4);
        let code = sizes.find_map(|size| object.read_image(at, usize::try_from(size).ok()?));
        let instruction = code.and_then(|code| self.decoder.decode(code, at).ok());
        instruction.map_or(4, |one| u64::from(one.length))
    }
}
