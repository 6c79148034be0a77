//! Builds call frame information by hand, row by row.

use dwarf_tests::frame_entry;
use hetdwarf::arch::Processor;
use hetdwarf::cfi_check::{FunctionCode, Machine, Report};
use hetdwarf::expr::{self, Encoding, ParseOptions};
use hetdwarf::frame::FrameSection;

/// The address of the function.
pub const START: u64 = 0x1000;

/// A change of the rules by a row.
#[derive(Clone, Debug)]
pub enum Change {
    /// Sets the CFA to the result of an expression.
    Cfa(&'static str),
    /// The register is undefined, unchanged, in another register, or at the result of an expression; at the CFA plus bytes; or the value of
    /// an expression. Registers are DWARF numbers.
    Undefined(u16),
    Same(u16),
    Register(u16, u16),
    At(u16, &'static str),
    Offset(u16, i8),
    Value(u16, &'static str),
    /// The register has no rule again, as in the CIE.
    Restore(u16),
}

/// The registers of a wave of 32 lanes.
pub const EXEC: u16 = 1;
pub const PC: u16 = 16;
pub const fn s(n: u16) -> u16 {
    32 + n
}
pub const fn v(n: u16) -> u16 {
    1536 + n
}

fn uleb(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(value & 0x7f).unwrap();
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

fn block(text: &str) -> Vec<u8> {
    let bytes = expr::parse(text, &ParseOptions::default()).unwrap();
    let bytes = bytes.encode(Encoding::AMDGPU).unwrap();
    [uleb(bytes.len() as u64), bytes].concat()
}

impl Change {
    /// Returns the bytes of the call frame instruction: DWARF 5 §7.24.
    fn bytes(&self) -> Vec<u8> {
        let register = |opcode: u8, register: u16| [vec![opcode], uleb(register.into())].concat();
        match *self {
            Change::Cfa(text) => [vec![0x0f], block(text)].concat(),
            Change::Undefined(n) => register(0x07, n),
            Change::Same(of) => register(0x08, of),
            Change::Register(of, place) => [register(0x09, of), uleb(place.into())].concat(),
            Change::At(of, text) => [register(0x10, of), block(text)].concat(),
            Change::Offset(of, bytes) => {
                let factored = u8::try_from(bytes / 4).unwrap();
                [register(0x11, of), vec![factored]].concat()
            }
            Change::Value(of, text) => [register(0x16, of), block(text)].concat(),
            Change::Restore(of) => register(0x06, of),
        }
    }
}

/// Returns `.debug_frame` with one CIE and one FDE. Rows start at offsets in the function.
pub fn frame(length: usize, rows: &[(u64, Vec<Change>)]) -> Vec<u8> {
    let mut cie = 0xffff_ffffu32.to_le_bytes().to_vec();
    // Version 4, no augmentation, addresses of 8 bytes, both factors 4, return address in PC_64.
    cie.extend([4, 0, 8, 0, 4, 4, 16]);
    let mut fde = 0u32.to_le_bytes().to_vec();
    fde.extend(START.to_le_bytes());
    fde.extend((length as u64).to_le_bytes());
    let mut at = 0;
    for (start, changes) in rows {
        assert!(*start >= at && start.is_multiple_of(4));
        if *start > at {
            fde.push(0x04);
            fde.extend(u32::try_from((start - at) / 4).unwrap().to_le_bytes());
            at = *start;
        }
        fde.extend(changes.iter().flat_map(Change::bytes));
    }
    [frame_entry(&[&cie]), frame_entry(&[&fde])].concat()
}

/// Returns the bytes of code in llvm-objdump's format: an instruction's dwords of eight digits follow `//`.
pub fn assemble(listing: &str) -> Vec<u8> {
    let dwords = (listing.lines())
        .filter_map(|line| line.split_once("// "))
        .flat_map(|(_, dwords)| dwords.split_whitespace().take_while(|word| word.len() == 8))
        .map(|dword| u32::from_str_radix(dword, 16).unwrap());
    dwords.flat_map(u32::to_le_bytes).collect()
}

/// Checks handmade code with a handmade table. The listing after `callee:` is another function.
pub fn check(target: &str, listing: &str, rows: &[(u64, Vec<Change>)]) -> Report {
    let mut parts = listing.split("callee:\n");
    let code = assemble(parts.next().unwrap());
    let callee = assemble(parts.next().unwrap_or_default());
    let bytes = frame(code.len(), rows);
    let section = FrameSection::debug_frame(&bytes);
    // The CIE: 4 bytes of length, and 12 of contents.
    let fde = section.fde_at(16).unwrap();
    assert_eq!(fde.initial_location, START);
    let after = START + code.len() as u64;
    let machine = Machine::new(
        Processor::by_name(target).unwrap(),
        None,
        [(START, &*code), (after, &*callee)],
    );
    machine.check(&FunctionCode {
        code: &code,
        fde: &fde,
        section: ".debug_frame",
        encoding: Encoding::AMDGPU,
    })
}
