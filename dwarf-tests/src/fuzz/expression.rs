//! Converts expressions between bytes and text, and checks that reading and writing are inverse.

use fallible_iterator::FallibleIterator;
use hetdwarf::arch::{Register, WaveSize};
use hetdwarf::expr::{
    Dialect, Encoding, OperandKind, OperandValue, Operation, ParseOptions, Printer,
    encode_operation, operations, parse,
};

/// The deepest nesting of entry values that is checked. The printer stops at the same depth.
const DEPTH: u32 = 4;

/// Returns the encodings in which an input is read.
fn encodings() -> impl Iterator<Item = Encoding> {
    let dialects = [
        Dialect::User,
        Encoding::AMDGPU.in_memory().dialect,
        Dialect::OneByte,
        Dialect::Draft,
    ];
    dialects.into_iter().flat_map(|dialect| {
        [(8, 4), (4, 8)].map(|(address_size, offset_size)| Encoding {
            address_size,
            offset_size,
            dialect,
        })
    })
}

/// Decodes, prints, parses and encodes arbitrary bytes as an expression.
///
/// # Panics
/// If operations overlap or leave gaps, if a decoded operation does not survive encoding, or if the text of an expression does not parse to
/// the same expression.
pub fn bytes(bytes: &[u8]) {
    for encoding in encodings() {
        round_trip(bytes, encoding);
    }
}

fn round_trip(bytes: &[u8], encoding: Encoding) {
    let text = Printer::new(encoding).expression(bytes);
    assert!(
        text.len() <= 64 + 200 * bytes.len(),
        "{} characters of text",
        text.len()
    );
    let (first, complete) = decode(bytes, encoding);
    let written = encode(&first, encoding);
    let (again, _) = decode(&written, encoding);
    assert_eq!(first, again, "read, written and read: {encoding:?}");
    if !complete {
        assert!(text.contains("<decoding error>"), "{text}");
        return;
    }
    let Some(canonical) = canonical(&first, encoding, 0) else {
        return;
    };
    let Some(wave_size) = wave_size(&first, encoding) else {
        return;
    };
    let options = ParseOptions {
        encoding,
        wave_size,
        ..ParseOptions::default()
    };
    match parse(&text, &options) {
        Ok(parsed) => assert_eq!(parsed.encode(encoding).as_ref(), Ok(&canonical), "{text}"),
        Err(error) => panic!("{text}: {error}"),
    }
}

/// Returns the wave size that the names of vector registers imply. Returns `None` if there are registers of both sizes.
fn wave_size(operations: &[Operation<'_>], encoding: Encoding) -> Option<WaveSize> {
    let mut sizes = Vec::new();
    wave_sizes(operations, encoding, 0, &mut sizes);
    let first = *sizes.first().unwrap_or(&WaveSize::Wave64);
    sizes.iter().all(|size| *size == first).then_some(first)
}

fn wave_sizes(
    operations: &[Operation<'_>],
    encoding: Encoding,
    depth: u32,
    sizes: &mut Vec<WaveSize>,
) {
    for operation in operations {
        let kinds = operation.opcode().row().operands;
        for (kind, value) in kinds.iter().zip(operation.operands()) {
            match (kind, value) {
                (OperandKind::Register, OperandValue::Unsigned(number)) => {
                    let size = match number {
                        // These numbers are reserved, but have names of wave64.
                        2816..=3071 => Some(WaveSize::Wave64),
                        _ => Register::from_number(number).and_then(Register::wave_size),
                    };
                    sizes.extend(size);
                }
                (OperandKind::Expression, OperandValue::Bytes(bytes)) if depth < DEPTH => {
                    wave_sizes(&decode(bytes, encoding).0, encoding, depth + 1, sizes);
                }
                _ => {}
            }
        }
    }
}

/// Returns the operations up to the first that cannot be decoded, and true if those are all.
fn decode(bytes: &[u8], encoding: Encoding) -> (Vec<Operation<'_>>, bool) {
    let mut items = operations(bytes, encoding);
    let mut found = Vec::new();
    let mut end = 0;
    loop {
        match items.next() {
            Ok(Some(item)) => {
                assert_eq!(item.offset, end, "operations follow each other");
                assert!(item.end > item.offset && item.end <= bytes.len());
                end = item.end;
                found.push(item.operation);
            }
            Ok(None) => {
                assert_eq!(end, bytes.len(), "nothing is left out");
                return (found, true);
            }
            Err(_) => return (found, false),
        }
    }
}

fn encode(operations: &[Operation<'_>], encoding: Encoding) -> Vec<u8> {
    let mut out = Vec::new();
    for operation in operations {
        if let Err(error) = encode_operation(operation, encoding, &mut out) {
            panic!("{operation:?} was decoded, but in {encoding:?} {error}");
        }
    }
    out
}

/// Returns the shortest encoding, also of nested entry values. Returns `None` if a nested one cannot be decoded or is too deep, because the
/// text then does not determine it.
fn canonical(operations: &[Operation<'_>], encoding: Encoding, depth: u32) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for operation in operations {
        let kinds = operation.opcode().row().operands;
        let inner;
        let mut operands = operation.operands();
        for (kind, value) in kinds.iter().zip(operands.iter_mut()) {
            if let (OperandKind::Expression, OperandValue::Bytes(bytes)) = (kind, &*value) {
                let (operations, complete) = decode(bytes, encoding);
                if !complete || depth >= DEPTH {
                    return None;
                }
                inner = canonical(&operations, encoding, depth + 1)?;
                *value = OperandValue::Bytes(&inner);
                break;
            }
        }
        let operation = Operation::from_operands(operation.opcode(), &operands).unwrap();
        encode_operation(&operation, encoding, &mut out).unwrap();
    }
    Some(out)
}

/// Checks text as an expression. Text that parses can be encoded, and its printed form parses to the same expression.
///
/// # Panics
/// If the printed form does not parse to the same expression.
pub fn text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let encoding = Encoding::AMDGPU.in_memory();
    let options = ParseOptions {
        encoding,
        ..ParseOptions::default()
    };
    let Ok(expression) = parse(&text, &options) else {
        return;
    };
    let written = expression.encode(encoding).unwrap();
    assert!(
        written.len() <= 8 * text.len(),
        "{} bytes of {} characters",
        written.len(),
        text.len()
    );
    let (operations, complete) = decode(&written, encoding);
    assert!(complete, "what was written cannot be decoded");
    assert!(
        expression.operations().eq(operations.iter().copied()),
        "{expression:?}, but {operations:?}"
    );
    round_trip(&written, encoding);
}
