//! What LLVM's disassembler says.

use std::path::Path;
use std::process::Command;

use hetdwarf::arch::WaveSize;

/// One line of `llvm-objdump -d`: the address, the dwords and the text.
#[derive(Clone, Debug)]
pub struct Line {
    /// Where the instruction is.
    pub address: u64,
    /// Its dwords.
    pub dwords: Vec<u32>,
    /// Its text.
    pub text: String,
}

/// `text // 000000001900: BFA00001 <label>`, as llvm-objdump prints each instruction.
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

/// Every instruction of a file; what LLVM calls `.long` is none.
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
