//! What LLVM means by the variable locations it writes for AMDGPU without the extensions.
//!
//! They end in `lit K, swap, xderef`, which by the letter *loads* from memory, where the location of the
//! variable is meant; and a vector register is written as if it held an address. The shapes are few, so
//! each is rewritten into the expression that says what is meant. Nothing else is touched.
//! See `spec-notes/legacy-llvm.md` for the shapes and the code objects that show them.

use fallible_iterator::FallibleIterator;

use crate::arch::{AddressSpace, Register, WaveSize};
use crate::error::Result;
use crate::expr::{Builder, Encoding, Item, Operation, Since, operations};

/// What a legacy location means depends on how the function reaches its stack.
#[derive(Clone, Copy, Debug)]
pub struct LegacyFrame {
    /// What `DW_OP_fbreg` counts from.
    pub base: LegacyBase,
    /// The wave size by which stack and frame pointer are scaled; nothing if they are plain addresses of a
    /// lane.
    pub scaled_by: Option<WaveSize>,
}

/// What `DW_OP_fbreg` counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegacyBase {
    /// The address in the register that `DW_AT_frame_base` names.
    Register(Register),
    /// Private address 0: optimised kernels have no `DW_AT_frame_base`, and their frame is the first.
    Zero,
    /// Not known.
    Unknown,
}

/// The operations that stand for the address space, and what may follow them.
const SUFFIX: usize = 3;

/// The expression that is meant by a legacy location; nothing if `bytes` is none.
///
/// # Errors
/// If the expression cannot be decoded.
pub fn rewrite_legacy(
    bytes: &[u8],
    encoding: Encoding,
    frame: &LegacyFrame,
) -> Result<Option<Vec<u8>>> {
    let items: Vec<Item<'_>> = operations(bytes, encoding).collect()?;
    let mut builder = Builder::new(encoding);
    let mut legacy = false;
    let mut rest = items.as_slice();
    while !rest.is_empty() {
        let end = rest.iter().position(is_piece).unwrap_or(rest.len());
        let (part, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        match rewrite_part(part, frame, &mut builder)? {
            Rewritten::Legacy => legacy = true,
            Rewritten::Plain => part
                .iter()
                .try_for_each(|item| builder.push(item.operation).map(|_| ()))?,
            Rewritten::Unknown => return Ok(None),
        }
        rest = match after.split_first() {
            Some((piece, after)) => {
                builder.push(piece.operation)?;
                after
            }
            None => &[],
        };
    }
    if legacy {
        builder.finish().map(Some)
    } else {
        Ok(None)
    }
}

enum Rewritten {
    /// It was one of the shapes.
    Legacy,
    /// It has nothing of them.
    Plain,
    /// It loads through an address space, and is none of the shapes.
    Unknown,
}

fn is_piece(item: &Item<'_>) -> bool {
    matches!(
        item.operation,
        Operation::Piece { .. } | Operation::BitPiece { .. }
    )
}

fn rewrite_part(
    part: &[Item<'_>],
    frame: &LegacyFrame,
    builder: &mut Builder,
) -> Result<Rewritten> {
    if !part.iter().any(|item| item.operation == Operation::Xderef) {
        return Ok(Rewritten::Plain);
    }
    let (body, is_value) = match part.split_last() {
        Some((last, body)) if last.operation == Operation::StackValue => (body, true),
        Some(_) | None => (part, false),
    };
    let Some((prefix, suffix)) = body
        .len()
        .checked_sub(SUFFIX)
        .and_then(|at| body.split_at_checked(at))
    else {
        return Ok(Rewritten::Unknown);
    };
    let space = match suffix {
        [space, swap, xderef]
            if swap.operation == Operation::Swap && xderef.operation == Operation::Xderef =>
        {
            constant(&space.operation).and_then(AddressSpace::from_number)
        }
        _ => None,
    };
    let Some(space) = space else {
        return Ok(Rewritten::Unknown);
    };
    match (prefix, is_value) {
        ([item], false) => rewrite_location(&item.operation, space, frame, builder),
        (_, true) => rewrite_value(prefix, builder),
        (_, false) => Ok(Rewritten::Unknown),
    }
}

/// A location: stack slot, register, or address.
fn rewrite_location(
    operation: &Operation<'_>,
    space: AddressSpace,
    frame: &LegacyFrame,
    builder: &mut Builder,
) -> Result<Rewritten> {
    // Clang writes the space of the source language: private for OpenCL, generic for C and HIP.
    let stack = matches!(space, AddressSpace::PrivateLane | AddressSpace::Generic);
    #[expect(clippy::wildcard_enum_match_arm, reason = "the shapes are few")]
    match *operation {
        Operation::Fbreg { offset } if stack => match frame.base {
            LegacyBase::Register(register) => push_slot(Some(register), offset, frame, builder),
            LegacyBase::Zero => push_slot(None, offset, frame, builder),
            LegacyBase::Unknown => Ok(Rewritten::Unknown),
        },
        Operation::Bregx { register, offset } => {
            let Some(register) = Register::from_number(register) else {
                return Ok(Rewritten::Unknown);
            };
            // The stack pointer and the frame pointer hold addresses, any other register the variable.
            let is_address = frame.base == LegacyBase::Register(register)
                || Some(register) == Register::sgpr(32);
            if is_address && stack {
                return push_slot(Some(register), offset, frame, builder);
            }
            if offset != 0 {
                return Ok(Rewritten::Unknown);
            }
            push_register(register, builder)?;
            Ok(Rewritten::Legacy)
        }
        Operation::Addr { .. } | Operation::Addrx { .. } => {
            builder.push(*operation)?.form_address(space)?;
            Ok(Rewritten::Legacy)
        }
        _ => Ok(Rewritten::Unknown),
    }
}

fn push_slot(
    register: Option<Register>,
    offset: i64,
    frame: &LegacyFrame,
    builder: &mut Builder,
) -> Result<Rewritten> {
    match register {
        Some(register) => {
            builder
                .register(register)?
                .push(Operation::DerefSize { byte_size: 4 })?;
            if let Some(wave_size) = frame.scaled_by {
                builder
                    .constant(wave_size.lanes().trailing_zeros().into())?
                    .push(Operation::Shr)?;
            }
            push_offset(offset, builder)?;
            builder.push(Operation::Plus)?;
        }
        None => push_offset(offset, builder)?,
    }
    builder.form_address(AddressSpace::PrivateLane)?;
    Ok(Rewritten::Legacy)
}

fn push_offset(offset: i64, builder: &mut Builder) -> Result<()> {
    match u64::try_from(offset) {
        Ok(offset) => builder.constant(offset)?,
        Err(_) => builder.push(Operation::Consts { value: offset })?,
    };
    Ok(())
}

fn push_register(register: Register, builder: &mut Builder) -> Result<()> {
    if register.is_vector() {
        builder.lane_of_vector(register)?
    } else {
        builder.register(register)?
    };
    Ok(())
}

/// A value computed from registers, each of which stands for its contents in the lane.
fn rewrite_value(prefix: &[Item<'_>], builder: &mut Builder) -> Result<Rewritten> {
    if prefix.is_empty() || !prefix.iter().all(|item| is_arithmetic(&item.operation)) {
        return Ok(Rewritten::Unknown);
    }
    for item in prefix {
        let Operation::Bregx { register, offset } = item.operation else {
            builder.push(item.operation)?;
            continue;
        };
        let Some(register) = Register::from_number(register) else {
            return Ok(Rewritten::Unknown);
        };
        push_register(register, builder)?;
        builder.push(Operation::DerefSize { byte_size: 4 })?;
        if offset != 0 {
            push_offset(offset, builder)?;
            builder.push(Operation::Plus)?;
        }
    }
    builder.push(Operation::StackValue)?;
    Ok(Rewritten::Legacy)
}

/// Whether an operation computes a value from values and registers only.
fn is_arithmetic(operation: &Operation<'_>) -> bool {
    let row = operation.opcode().row();
    // Constants, arithmetic and conversions, by the section that defines them.
    let computes = matches!(
        row.spec,
        "HET A.2.5.4.3.1" | "DWARF 5 §2.5.1.4" | "DWARF 5 §2.5.1.6"
    );
    (computes && row.since != Since::Het)
        || matches!(
            operation,
            Operation::Bregx { .. } | Operation::Dup | Operation::Swap | Operation::Over
        )
}

fn constant(operation: &Operation<'_>) -> Option<u64> {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the operations that compilers write an address space with"
    )]
    match *operation {
        Operation::Lit { value } | Operation::Const1u { value } => Some(value.into()),
        Operation::Constu { value } => Some(value),
        _ => None,
    }
}
