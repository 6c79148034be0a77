//! Reads the output of LLVM's disassembler.

use std::path::Path;
use std::process::Command;

use hetdwarf::arch::WaveSize;

/// A line of the output of `llvm-objdump -d`.
#[derive(Clone, Debug)]
pub struct Line {
    /// The address of the instruction.
    pub address: u64,
    /// The dwords of the instruction.
    pub dwords: Vec<u32>,
    /// The text of the instruction.
    pub text: String,
}

/// Parses `text // 000000001900: BFA00001 <label>`, the format of llvm-objdump.
#[must_use]
pub fn parse(line: &str) -> Option<Line> {
    let (text, rest) = line.rsplit_once("// ")?;
    let (address, rest) = rest.split_once(':')?;
    let dwords = rest
        .split_whitespace()
        .map_while(|word| {
            u32::from_str_radix(word, 16)
                .ok()
                .filter(|_| word.len() == 8)
        })
        .collect();
    Some(Line {
        address: u64::from_str_radix(address, 16).ok()?,
        dwords,
        text: text.trim().to_string(),
    })
}

/// Returns every instruction of a file. Lines with `.long` are left out.
#[must_use]
pub fn disassemble(objdump: &Path, file: &Path, wave_size: WaveSize) -> Vec<Line> {
    let wave_size = format!("--mattr=+wavefrontsize{}", wave_size.lanes());
    let output = Command::new(objdump)
        .args(["-d", &wave_size])
        .arg(file)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(parse)
        .filter(|line| !line.text.starts_with(".long"))
        .collect()
}
