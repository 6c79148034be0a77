//! Reads arbitrary bytes as machine code of every processor.

use fallible_iterator::FallibleIterator;
use hetdwarf::arch::{Processor, WaveSize};
use hetdwarf::isa::Decoder;

/// The longest instruction, in bytes.
const LONGEST: usize = 20;

/// Decodes the first 4 to 20 bytes as an instruction, and all bytes as a sequence.
///
/// # Panics
/// If an instruction is longer than its bytes, changes when more bytes follow, or if a sequence has gaps.
pub fn check(bytes: &[u8]) {
    for processor in Processor::ALL {
        for wave_size in [WaveSize::Wave32, WaveSize::Wave64] {
            if let Some(decoder) = Decoder::new(processor, Some(wave_size)) {
                one(&decoder, bytes, processor.name());
                sequence(&decoder, bytes, processor.name());
            }
        }
    }
}

fn one(decoder: &Decoder, bytes: &[u8], processor: &str) {
    let whole = bytes
        .get(..LONGEST.min(bytes.len() / 4 * 4))
        .unwrap_or_default();
    let decoded = decoder.decode(whole, 0x1000);
    for length in (4..=whole.len()).step_by(4) {
        // v_mfma_ld_scale_b32 supplies operands to a following MFMA, and the two are then decoded as one instruction.
        if processor == "gfx950" && matches!(whole, [_, _, 0xac, 0xd3, ..]) {
            continue;
        }
        let found = decoder.decode(&whole[..length], 0x1000);
        match (&found, &decoded) {
            (Ok(short), Ok(long)) => assert_eq!(short, long, "{processor}, of {length} bytes"),
            (Ok(short), Err(error)) => panic!("{processor}: {short:?}, but with more {error}"),
            (Err(error), Ok(long)) if length >= usize::from(long.length) => {
                panic!("{processor}: {long:?}, but of its {length} bytes {error}")
            }
            (Err(_), _) => {}
        }
        if let Ok(found) = found {
            let own = usize::from(found.length);
            assert!(
                own % 4 == 0 && own > 0 && own <= length,
                "{processor}: {found:?}"
            );
            if let Some(mnemonic) = found.mnemonic {
                assert!(!mnemonic.to_string().is_empty(), "{processor}: {found:?}");
            }
            let text = decoder.print(&whole[..length], 0x1000).expect(processor);
            assert!(!text.is_empty(), "{processor}: {found:?}");
        }
    }
}

fn sequence(decoder: &Decoder, bytes: &[u8], processor: &str) {
    let mut next = 0x1000;
    let mut count = 0;
    let mut instructions = decoder.instructions(bytes, next);
    while let Ok(Some(found)) = instructions.next() {
        count += 1;
        assert_eq!(found.address, next, "{processor}");
        next = found.end();
    }
    assert_eq!(instructions.next(), Ok(None), "{processor}");
    assert!(count <= bytes.len() / 4, "{processor}");
}
