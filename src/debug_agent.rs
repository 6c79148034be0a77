//! Reads the output of ROCm's debug agent (`librocm-debug-agent.so.2`): registers, local memory and code objects of waves, printed when a queue
//! fails. The caller makes snapshots from it.
//!
//! The output may be mixed with other text, truncated, prefixed by a launcher, colored, and interleaved with output of other processes. Lines that do
//! not have the agent's format are skipped, and counted.
//!
//! ```
//! use hetdwarf::arch::{LoadAddress, WaveSize};
//! use hetdwarf::debug_agent::Log;
//!
//! let log = Log::parse(b"wave_1: pc=0x7f4000001a1c (stopped, reason: MEMORY_VIOLATION)\n");
//! let [wave] = &*log.waves else { unreachable!() };
//! assert_eq!(wave.reason, "MEMORY_VIOLATION");
//!
//! // No vector register says how many lanes it has, so that the caller has to know.
//! let (snapshot, left_out) = wave.snapshot("gfx1100", WaveSize::Wave32, LoadAddress(0x7f40_0000_0000))?;
//! assert_eq!((snapshot.pc().0, left_out), (0x7f40_0000_1a1c, 0));
//! # Ok::<(), hetdwarf::Error>(())
//! ```
//!
//! Source: `ROCm/rocr_debug_agent`, `README.md`, `src/debug_agent.cpp`, `src/code_object.cpp`.

mod event;
mod prefix;

pub use event::{EventKind, RuntimeEvent};

use core::ops::Range;
use std::collections::BTreeMap;

use prefix::without_times;

use crate::arch::{LoadAddress, Register, UnnumberedRegister, WaveSize};
use crate::error::Result;
use crate::wave::{Memory, Snapshot, StopReason, StopReasons};

/// The waves in a log.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// The waves, in the order of their first lines.
    pub waves: Vec<LoggedWave>,
    /// Other messages of the runtime, in the order of the lines.
    pub events: Vec<RuntimeEvent>,
    /// The number of skipped lines: other output, and damaged lines.
    pub skipped: u64,
}

/// A wave in the log.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LoggedWave {
    /// The agent's number for the wave.
    pub number: u64,
    /// The program counter, an address of the process.
    pub pc: u64,
    /// The address of its kernel's first instruction, which newer agents print.
    pub kernel_entry: Option<u64>,
    /// The name of its kernel, which newer agents print.
    pub kernel: Option<String>,
    /// The address of the arguments of its kernel, which the agent of ROCm 7.2 prints.
    pub kernarg_address: Option<u64>,
    /// The function that contains the program counter.
    pub function: Option<String>,
    /// The launchers' prefix of the wave's lines, with `@` for times. The prefix distinguishes programs.
    pub rank: String,
    /// The fault address that the runtime reported for the wave's program, if the wave stopped for a fault.
    pub fault_address: Option<u64>,
    /// The runtime's reason for this fault, as the end of a sentence about the address.
    pub fault_reason: Option<String>,
    /// The grid and workgroup in work-items, if the runtime has printed the dispatch with its arguments.
    pub sizes: Option<[[u32; 3]; 2]>,
    /// `running`, or its stop reasons, in the agent's words.
    pub reason: String,
    /// The values of the registers that all lanes share, by name.
    pub scalars: BTreeMap<String, u64>,
    /// The vector registers: a value for each lane.
    pub vectors: BTreeMap<String, Vec<u32>>,
    /// The bytes of local memory.
    pub local: BTreeMap<u64, Vec<u8>>,
    /// The code object that contains the program counter.
    pub object: Option<LoggedObject>,
    /// True if the text ends before the first complete vector register of the wave, so that most registers are missing.
    pub is_cut: bool,
}

/// A code object in the log.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LoggedObject {
    /// The URI of its file.
    pub uri: String,
    /// The load addresses, from the first segment to the last.
    pub loaded: Range<u64>,
}

/// The maximum number of launchers' prefixes.
const PREFIXES: usize = 32;
/// The maximum length of a launcher's prefix, in bytes.
const LONGEST_PREFIX: usize = 80;

impl Log {
    /// Parses a log.
    #[must_use]
    pub fn parse(text: &[u8]) -> Log {
        let mut log = Log::default();
        let mut readers: BTreeMap<String, Reader> = BTreeMap::new();
        // The reader of the last line.
        let mut last = None;
        // The last line is truncated, unless it is empty: its last value may have lost digits.
        let mut lines = text.split(|byte| *byte == b'\n').peekable();
        while let Some(line) = lines.next() {
            let is_cut = lines.peek().is_none();
            let line = without_times(&plain(line));
            if line.is_empty() {
                continue;
            }
            last = None;
            if let Some(event) = RuntimeEvent::of_line(&line) {
                log.add_event(event);
                continue;
            }
            if let Some((prefix, wave)) = first_line(&line) {
                if !readers.contains_key(prefix) && readers.len() == PREFIXES {
                    log.skipped += 1;
                    continue;
                }
                let index = log.waves.len();
                log.waves.push(wave);
                let part = Part::Start;
                readers.insert(prefix.to_owned(), Reader { index, part });
                continue;
            }
            // The longest matching prefix is the right one. An empty line has only the prefix, without the trailing space.
            let of = readers
                .iter_mut()
                .filter(|(prefix, _)| line.starts_with(prefix.trim_end()));
            let found = of.max_by_key(|(prefix, _)| prefix.len());
            let is_read = match found {
                Some((prefix, reader)) => {
                    let rest = line
                        .get(prefix.trim_end().len()..)
                        .unwrap_or_default()
                        .trim();
                    let wave = log.waves.get_mut(reader.index);
                    let is_read = wave.is_some_and(|wave| reader.line(wave, rest, is_cut));
                    last = Some(*reader);
                    is_read
                }
                None => false,
            };
            if !is_read
                && readers.is_empty()
                && let Some(wave) = code_alone(&line)
            {
                // A block of code without a wave.
                let index = log.waves.len();
                let (prefix, part) = (wave.rank.clone(), Part::Code);
                readers.insert(prefix, Reader { index, part });
                log.waves.push(wave);
            } else if !is_read {
                log.skipped += 1;
            }
        }
        // A block without an address is useless.
        log.waves
            .retain(|wave| wave.pc != 0 || wave.reason != NO_WAVE);
        log.join_events();
        log.skipped += log.drop_cut_lines();
        if let Some(reader) = last
            && reader.part == Part::Registers
            && let Some(wave) = log.waves.get_mut(reader.index)
        {
            wave.is_cut = wave.vectors.is_empty();
        }
        log
    }

    /// The maximum number of events kept.
    const MOST_EVENTS: usize = 1 << 12;

    fn add_event(&mut self, event: RuntimeEvent) {
        if self.events.len() < Log::MOST_EVENTS {
            self.events.push(event);
        }
    }

    /// Adds events of their programs to waves: the address of a fault, and the size of their dispatch.
    fn join_events(&mut self) {
        let faults: Vec<(&str, u64, Option<&String>)> = self
            .events
            .iter()
            .filter_map(|event| {
                let EventKind::MemoryFault { address, reason } = &event.kind else {
                    return None;
                };
                Some((event.rank.as_str(), *address, reason.as_ref()))
            })
            .collect();
        let dispatches: Vec<(u64, [[u32; 3]; 2])> = self
            .events
            .iter()
            .filter_map(|event| {
                let EventKind::Dispatch { kernarg, sizes, .. } = event.kind else {
                    return None;
                };
                Some((kernarg, sizes?))
            })
            .collect();
        for wave in &mut self.waves {
            // If a program has several faults, it is unknown which one belongs to this wave.
            let mut own = faults.iter().filter(|(rank, ..)| *rank == wave.rank);
            let first = own.next().map(|(_, address, reason)| (*address, *reason));
            let is_one = own.all(|(_, address, _)| first.is_some_and(|(one, _)| *address == one));
            let (address, reason) = first.filter(|_| is_one && wave.is_violation()).unzip();
            wave.fault_address = address;
            wave.fault_reason = reason.flatten().cloned();
            let with = |kernarg| move |(address, _): &&(u64, _)| *address == kernarg;
            let found = wave
                .kernarg_address
                .and_then(|kernarg| dispatches.iter().find(with(kernarg)));
            wave.sizes = found.map(|(_, sizes)| *sizes);
        }
    }

    /// Removes vector registers with a different number of lanes than the wave has, which are truncated. Returns their number.
    fn drop_cut_lines(&mut self) -> u64 {
        let mut dropped = 0_u64;
        for wave in &mut self.waves {
            let size = wave.wave_size().map(|size| size.lanes() as usize);
            let before = wave.vectors.len();
            wave.vectors.retain(|_, lanes| Some(lanes.len()) == size);
            let cut = before - wave.vectors.len();
            dropped += cut as u64;
        }
        dropped
    }
}

impl LoggedWave {
    /// Returns true if only a block of code was found, which need not belong to a wave.
    #[must_use]
    pub fn is_code_alone(&self) -> bool {
        self.reason == NO_WAVE
    }

    fn is_violation(&self) -> bool {
        self.stop_reasons().contains(StopReason::MemoryViolation)
    }

    /// Returns its stop reasons.
    #[must_use]
    pub fn stop_reasons(&self) -> StopReasons {
        let mut found = StopReasons::default();
        for name in self.reason.split('|') {
            if let Some(reason) = StopReason::from_name(&name.trim().to_ascii_lowercase()) {
                found.insert(reason);
            }
        }
        found
    }

    /// Returns the number of its lanes, from its vector registers, or `None` if there are none.
    #[must_use]
    pub fn wave_size(&self) -> Option<WaveSize> {
        let count = |wanted: usize| {
            let lanes = self.vectors.values();
            lanes.filter(|lanes| lanes.len() == wanted).count()
        };
        match (count(32), count(64)) {
            (0, 0) => None,
            // A truncated line of 64 lanes can have 32 values, but a line of 32 lanes never has more.
            (_, 0) => Some(WaveSize::Wave32),
            (_, _) => Some(WaveSize::Wave64),
        }
    }

    /// Returns a snapshot of the wave, and the number of omitted values: registers without a DWARF number, and second values of a register.
    ///
    /// # Errors
    /// If LDS is beyond the end of local memory.
    pub fn snapshot(
        &self,
        target: &str,
        size: WaveSize,
        load_address: LoadAddress,
    ) -> Result<(Snapshot, u64)> {
        let mut snapshot = Snapshot::new(target, size, self.pc);
        snapshot.load_address = load_address;
        let stops = self.stop_reasons();
        snapshot.stop = Some(stops).filter(|stops| !stops.is_empty());
        snapshot.fault_address = self.fault_address;
        let mut left_out = 0_u64;
        let mut scalars = self.scalars.clone();
        for name in ["exec", "vcc"] {
            let low = scalars.remove(&format!("{name}_lo"));
            let high = scalars.remove(&format!("{name}_hi"));
            if let (Some(low), false) = (low, scalars.contains_key(name)) {
                let high = high.filter(|_| size == WaveSize::Wave64).unwrap_or(0);
                scalars.insert(name.to_owned(), high.wrapping_shl(32) | low);
            }
        }
        for (name, value) in &scalars {
            let register = Register::from_name(name, Some(size));
            // The first line has the pc.
            let register = register.filter(|register| *register != Register::pc());
            let is_set = match (register, UnnumberedRegister::from_name(name)) {
                (Some(to), _) => snapshot.set_register(to, *value).is_ok(),
                (None, Some(to)) => snapshot.set_unnumbered(to, *value).is_ok(),
                (None, None) => false,
            };
            left_out += u64::from(!is_set);
        }
        for (name, lanes) in &self.vectors {
            let lanes: Vec<Option<u32>> = lanes.iter().copied().map(Some).collect();
            let register = Register::from_name(name, Some(size));
            let is_set = register.is_some_and(|to| snapshot.set_lanes(to, &lanes).is_ok());
            left_out += u64::from(!is_set);
        }
        for (address, bytes) in &self.local {
            snapshot.add_memory(Memory::Local, *address, bytes)?;
        }
        Ok((snapshot, left_out))
    }
}

/// Returns a line without its line ending and without colors (ECMA-48 control sequences).
fn plain(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(next) = rest.next() {
        if next != '\u{1b}' {
            out.push(next);
            continue;
        }
        // `ESC [`, parameters, and a final letter.
        if rest.next() == Some('[') {
            let _ = rest.find(|end| ('@'..='~').contains(end));
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Parses the first line of a wave: the prefix, and `wave_N: pc=0xPC (REASON)`, with the kernel in between in newer ones.
fn first_line(line: &str) -> Option<(&str, LoggedWave)> {
    let at = line.find("wave_")?;
    let (prefix, rest) = line.split_at_checked(at)?;
    let (number, rest) = rest.strip_prefix("wave_")?.split_once(": pc=0x")?;
    let (pc, rest) = rest.split_once(' ')?;
    let reason = ["(running)", "(stopped, reason: "]
        .into_iter()
        .find_map(|start| {
            // Names of kernels can contain parentheses, so the last ones are the reason.
            let (_, reason) = rest.get(rest.rfind(start)?..)?.split_at_checked(1)?;
            reason.strip_suffix(')')
        })?;
    let kernel = Kernel::of_line(rest);
    let wave = LoggedWave {
        number: number.parse().ok()?,
        pc: hexadecimal(pc)?,
        kernel_entry: kernel.entry,
        kernel: kernel.name,
        kernarg_address: kernel.arguments,
        rank: prefix.trim().to_owned(),
        reason: reason
            .strip_prefix("stopped, reason: ")
            .unwrap_or(reason)
            .to_owned(),
        ..LoggedWave::default()
    };
    (prefix.len() <= LONGEST_PREFIX).then_some((prefix, wave))
}

/// The kernel in a first line.
#[derive(Default)]
struct Kernel {
    entry: Option<u64>,
    name: Option<String>,
    arguments: Option<u64>,
}

impl Kernel {
    /// `(kernel_code_entry=0xADDR <SYMBOL>, kernargs=0xADDR) (…)`, of which everything but the start is optional. A symbol can contain spaces,
    /// brackets and commas.
    fn of_line(rest: &str) -> Kernel {
        let Some(rest) = rest.strip_prefix("(kernel_code_entry=") else {
            return Kernel::default();
        };
        // Without the reason, which is last.
        let end = rest.rfind(") (").unwrap_or(rest.len());
        let rest = rest.get(..end).unwrap_or_default();
        let (rest, arguments) = match rest.rsplit_once(", kernargs=0x") {
            Some((rest, arguments)) => (rest, hexadecimal(arguments)),
            None => (rest, None),
        };
        let (entry, name) = match rest.split_once(" <") {
            Some((entry, name)) => (entry, name.strip_suffix('>')),
            None => (rest, None),
        };
        Kernel {
            entry: entry.trim().strip_prefix("0x").and_then(hexadecimal),
            name: name.map(str::to_owned),
            arguments,
        }
    }
}

/// The reason for a block of code without a wave.
const NO_WAVE: &str = "";

/// Returns a wave for a block of code that begins without one.
fn code_alone(line: &str) -> Option<LoggedWave> {
    let at = line.find("Disassembly")?;
    let (prefix, rest) = line.split_at_checked(at)?;
    let name = rest.strip_prefix("Disassembly")?.strip_suffix(':')?;
    let function = name.strip_prefix(" for function ");
    if !name.is_empty() && function.is_none() || prefix.len() > LONGEST_PREFIX {
        return None;
    }
    Some(LoggedWave {
        function: function.map(str::to_owned),
        rank: prefix.trim().to_owned(),
        reason: NO_WAVE.to_owned(),
        ..LoggedWave::default()
    })
}

/// Parses a number of hexadecimal digits, without a sign.
fn hexadecimal(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(text, 16).ok().filter(|_| is_number)
}

/// Parses a dword, which has leading zeros to its full length.
fn dword(text: &str) -> Option<u32> {
    let value = hexadecimal(text).filter(|_| text.len() == 8)?;
    u32::try_from(value).ok()
}

/// The section of a wave's output that contains a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Start,
    Registers,
    Local,
    Code,
    End,
}

/// The destination of lines with a prefix.
#[derive(Clone, Copy, Debug)]
struct Reader {
    index: usize,
    part: Part,
}

impl Reader {
    /// Processes a line. Returns true if it has one of the known formats.
    ///
    /// * `is_cut`: true if its end may be missing.
    fn line(&mut self, wave: &mut LoggedWave, line: &str, is_cut: bool) -> bool {
        if line.is_empty() {
            return true;
        }
        if line.len() >= 8 && line.bytes().all(|byte| byte == b'-') {
            self.part = Part::End;
            return true;
        }
        if self.part == Part::End {
            return false;
        }
        let is_class = |class: &str| class.bytes().all(|byte| byte.is_ascii_lowercase());
        if line.strip_suffix(" registers:").is_some_and(is_class) {
            self.part = Part::Registers;
            return true;
        }
        if line == "Local memory content:" {
            self.part = Part::Local;
            return true;
        }
        if let Some(name) = line.strip_prefix("Disassembly")
            && let Some(name) = name.strip_suffix(':')
        {
            self.part = Part::Code;
            wave.function = name.strip_prefix(" for function ").map(str::to_owned);
            return true;
        }
        match self.part {
            Part::Registers | Part::Local if is_cut => false,
            Part::Registers => registers(wave, line).is_some(),
            Part::Local => local(wave, line).is_some(),
            Part::Code => {
                if line == "End of disassembly." {
                    self.part = Part::End;
                }
                code(wave, line);
                true
            }
            Part::Start | Part::End => false,
        }
    }
}

/// Parses `v0: [0] 00000000 [1] f1002004 …`, or `NAME: VALUE` several times. A line is used completely or not at all, and earlier values take
/// precedence.
fn registers(wave: &mut LoggedWave, line: &str) -> Option<()> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (first, rest) = words.split_first()?;
    if rest.first().is_some_and(|word| word.starts_with('[')) {
        let name = first.strip_suffix(':')?;
        let mut lanes = Vec::new();
        for pair in rest.chunks(2) {
            let [lane, value] = pair else { return None };
            let lane: usize = lane.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?;
            lanes.push(dword(value).filter(|_| lane == lanes.len())?);
        }
        wave.vectors.entry(name.to_owned()).or_insert(lanes);
        return Some(());
    }
    let mut found = Vec::new();
    for pair in words.chunks(2) {
        let [name, value] = pair else { return None };
        let name = name.strip_suffix(':')?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_value = value.len() == 8 || value.len() == 16;
        if !is_value || name.is_empty() || !name.bytes().all(is_name) {
            return None;
        }
        found.push((name.to_owned(), hexadecimal(value)?));
    }
    for (name, value) in found {
        wave.scalars.entry(name).or_insert(value);
    }
    Some(())
}

/// Parses `0xADDR:` and up to 8 dwords, which are little-endian in memory.
fn local(wave: &mut LoggedWave, line: &str) -> Option<()> {
    let (address, rest) = line.strip_prefix("0x")?.split_once(':')?;
    let address = hexadecimal(address).filter(|address| u32::try_from(*address).is_ok())?;
    let dwords: Vec<u32> = rest.split_whitespace().map(dword).collect::<Option<_>>()?;
    if dwords.is_empty() || dwords.len() > 8 {
        return None;
    }
    let end = address.checked_add(dwords.len().checked_mul(4)? as u64)?;
    let touches = wave
        .local
        .range(..end)
        .next_back()
        .is_some_and(|(start, bytes)| start.saturating_add(bytes.len() as u64) > address);
    if touches || end > 1 << 32 {
        return None;
    }
    let bytes = dwords.iter().flat_map(|word| word.to_le_bytes()).collect();
    wave.local.insert(address, bytes);
    Some(())
}

/// Parses the lines about the code object. The rest is source and instructions.
fn code(wave: &mut LoggedWave, line: &str) {
    if let Some(uri) = line.strip_prefix("code object: ") {
        wave.object.get_or_insert_default().uri = uri.to_owned();
    } else if let Some(range) = line.strip_prefix("loaded at: [0x")
        && let Some((start, end)) = range.trim_end_matches(']').split_once("-0x")
        && let (Some(start), Some(end)) = (hexadecimal(start), hexadecimal(end))
    {
        wave.object.get_or_insert_default().loaded = start..end;
    } else if wave.is_code_alone()
        && wave.pc == 0
        && let Some(rest) = line.strip_prefix("=> 0x")
    {
        let end = rest.find([' ', ':']).unwrap_or(rest.len());
        wave.pc = rest.get(..end).and_then(hexadecimal).unwrap_or(0);
    }
}
