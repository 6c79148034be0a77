//! Defines operations, and assembles them to bytes.

/// An operation, or a branch target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// One or several operations that are not branches.
    Bytes(Vec<u8>),
    /// `DW_OP_bra` or `DW_OP_skip` to a label, or to the end if the label does not exist.
    Branch(u8, u32),
    /// The target of branches with this number.
    Label(u32),
}

/// Assembles operations to bytes.
#[must_use]
pub fn assemble(ops: &[Op]) -> Vec<u8> {
    let size = |op: &Op| match op {
        Op::Bytes(bytes) => bytes.len(),
        Op::Branch(..) => 3,
        Op::Label(_) => 0,
    };
    let end: usize = ops.iter().map(size).sum();
    let target = |label: u32| {
        let at = ops.iter().position(|op| *op == Op::Label(label));
        at.map_or(end, |at| ops[..at].iter().map(size).sum())
    };
    let mut bytes = Vec::new();
    for op in ops {
        match op {
            Op::Bytes(operation) => bytes.extend(operation),
            Op::Branch(code, label) => {
                let distance = target(*label).cast_signed() - bytes.len().cast_signed() - 3;
                bytes.push(*code);
                bytes.extend(i16::try_from(distance).unwrap().to_le_bytes());
            }
            Op::Label(_) => {}
        }
    }
    bytes
}

pub(super) fn uleb(mut value: u64, padding: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = value.to_le_bytes()[0] & 0x7f;
        value >>= 7;
        let more = value != 0 || bytes.len() < padding;
        bytes.push(if more { byte | 0x80 } else { byte });
        if !more {
            return bytes;
        }
    }
}

pub(super) fn sleb(mut value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = value.to_le_bytes()[0] & 0x7f;
        value >>= 7;
        let done = value == 0 && byte & 0x40 == 0 || value == -1 && byte & 0x40 != 0;
        bytes.push(if done { byte } else { byte | 0x80 });
        if done {
            return bytes;
        }
    }
}

pub(super) fn join(code: u8, operands: &[&[u8]]) -> Op {
    Op::Bytes([&[code], operands.concat().as_slice()].concat())
}
