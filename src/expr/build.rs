//! Builds expressions, and rejects invalid ones early.

use super::table::{Opcode, Operation, StackEffect};
use super::{Dialect, Encoding, encode_operation};
use crate::arch::{AddressSpace, Register, WaveSize};
use crate::error::{ErrorKind, Result, SpecRule};

/// A branch target in an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// Builds an expression operation by operation.
///
/// It rejects operations that no consumer could evaluate: without a code in the dialect, with reserved registers or address spaces, or with elements
/// of size zero. It also rejects stack underflow, as long as no branch or call hides the depth of the stack.
///
/// ```
/// use hetdwarf::arch::{Register, WaveSize};
/// use hetdwarf::expr::{Builder, Encoding, Printer};
///
/// // One lane's dword of a vector register.
/// let v4 = Register::vgpr(4, WaveSize::Wave64).unwrap();
/// let mut builder = Builder::new(Encoding::AMDGPU);
/// builder.lane_of_vector(v4)?;
/// let bytes = builder.finish()?;
/// assert_eq!(Printer::new(Encoding::AMDGPU).expression(&bytes),
///     "DW_OP_regx VGPR4, DW_OP_LLVM_user DW_OP_LLVM_push_lane, DW_OP_lit4, DW_OP_mul, DW_OP_LLVM_user DW_OP_LLVM_offset");
/// # Ok::<(), hetdwarf::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    bytes: Vec<u8>,
    encoding: Encoding,
    /// The number of entries on the stack here, or `None` after operations whose effect is not fixed.
    depth: Option<usize>,
    labels: Vec<Option<usize>>,
    /// The positions of branch distances, and their labels.
    branches: Vec<(usize, Label)>,
}

impl Builder {
    /// Creates an empty expression that starts with an empty stack.
    #[must_use]
    pub fn new(encoding: Encoding) -> Builder {
        Builder::with_initial_stack(encoding, 0)
    }

    /// Returns an empty expression that starts with some entries on the stack, such as the CFA of a register rule.
    #[must_use]
    pub fn with_initial_stack(encoding: Encoding, entries: usize) -> Builder {
        Builder {
            bytes: Vec::new(),
            encoding,
            depth: Some(entries),
            labels: Vec::new(),
            branches: Vec::new(),
        }
    }

    /// Appends an operation.
    ///
    /// # Errors
    /// If it has no code in the dialect, if an operand breaks a rule, or if the stack has too few entries.
    pub fn push(&mut self, operation: Operation<'_>) -> Result<&mut Builder> {
        check_operands(&operation)?;
        let name = operation.opcode().name();
        let at = self.bytes.len();
        let depth = self
            .next_depth(&operation)
            .map_err(|e| e.at_operation(name, at as u64))?;
        encode_operation(&operation, self.encoding, &mut self.bytes)
            .inspect_err(|_| self.bytes.truncate(at))
            .map_err(|e| e.at_operation(name, at as u64))?;
        self.depth = depth;
        Ok(self)
    }

    /// Appends the shortest operation that pushes `value` with the generic type.
    ///
    /// # Errors
    /// Cannot fail; returns the result of [`push`](Builder::push).
    pub fn constant(&mut self, value: u64) -> Result<&mut Builder> {
        let shortest = match value {
            #[expect(clippy::cast_possible_truncation, reason = "the range says so")]
            0..=31 => Operation::Lit { value: value as u8 },
            #[expect(clippy::cast_possible_truncation, reason = "the range says so")]
            32..=0xff => Operation::Const1u { value: value as u8 },
            0x100..=0xffff_ffff_ffff => Operation::Constu { value },
            _ => Operation::Const8u { value },
        };
        self.push(shortest)
    }

    /// Appends the shortest operation that pushes the location of `register`.
    ///
    /// # Errors
    /// [`SpecRule::RegisterNumber`] if the number is reserved.
    pub fn register(&mut self, register: Register) -> Result<&mut Builder> {
        self.push(match u8::try_from(register.number()) {
            Ok(register @ 0..=31) => Operation::Reg { register },
            _ => Operation::Regx {
                register: register.number().into(),
            },
        })
    }

    /// Appends the location of the focused lane's dword of a vector register.
    ///
    /// # Errors
    /// [`ErrorKind::TypeMismatch`] if `register` is not a vector register.
    pub fn lane_of_vector(&mut self, register: Register) -> Result<&mut Builder> {
        if !register.is_vector() {
            let found = "a register that is the same for all lanes";
            return Err(ErrorKind::TypeMismatch {
                expected: "a vector register",
                found,
            }
            .into());
        }
        self.register(register)?
            .push(Operation::PushLane)?
            .push(Operation::Lit { value: 4 })?
            .push(Operation::Mul)?
            .push(Operation::Offset)
    }

    /// Appends the location of the focused lane's stack slot. `frame_register` holds a private address: a lane's address if scratch is accessed by
    /// `scratch_*` instructions, otherwise scaled by the wave size.
    ///
    /// * `scaled_by`: the wave size by which the register is scaled, or `None` if it is not.
    /// * `byte_offset`: the offset of the slot from that address.
    ///
    /// # Errors
    /// [`SpecRule::RegisterNumber`] if the register's number is reserved.
    pub fn stack_slot(
        &mut self,
        frame_register: Register,
        scaled_by: Option<WaveSize>,
        byte_offset: u64,
    ) -> Result<&mut Builder> {
        self.register(frame_register)?
            .push(Operation::DerefSize { byte_size: 4 })?;
        if let Some(wave_size) = scaled_by {
            self.constant(wave_size.lanes().trailing_zeros().into())?
                .push(Operation::Shr)?;
        }
        self.constant(byte_offset)?
            .push(Operation::Plus)?
            .form_address(AddressSpace::PrivateLane)
    }

    /// Appends the operations that turn the address on the stack into a location in `space`.
    ///
    /// # Errors
    /// [`ErrorKind::StackUnderflow`] if the stack is known to be empty.
    pub fn form_address(&mut self, space: AddressSpace) -> Result<&mut Builder> {
        self.constant(space.number().into())?
            .push(Operation::FormAspaceAddress)
    }

    /// Creates a label that is not placed yet.
    pub fn label(&mut self) -> Label {
        let label = Label(self.labels.len());
        self.labels.push(None);
        label
    }

    /// Places a label here.
    pub fn place(&mut self, label: Label) -> &mut Builder {
        if let Some(slot) = self.labels.get_mut(label.0) {
            *slot = Some(self.bytes.len());
        }
        // The depth of the stack at the branches is unknown here.
        self.depth = None;
        self
    }

    /// Appends a branch to `label`, taken unless the top entry is zero.
    ///
    /// # Errors
    /// [`ErrorKind::StackUnderflow`] if the stack is known to be empty.
    pub fn branch_if(&mut self, label: Label) -> Result<&mut Builder> {
        self.push(Operation::Bra { distance: 0 })?;
        Ok(self.remember(label))
    }

    /// Appends a branch to `label`.
    ///
    /// # Errors
    /// Cannot fail; returns the result of [`push`](Builder::push).
    pub fn branch(&mut self, label: Label) -> Result<&mut Builder> {
        self.push(Operation::Skip { distance: 0 })?;
        Ok(self.remember(label))
    }

    fn remember(&mut self, label: Label) -> &mut Builder {
        self.branches.push((self.bytes.len(), label));
        self
    }

    /// Returns the bytes of the expression.
    ///
    /// # Errors
    /// [`SpecRule::BranchTarget`] if a label was not placed or is out of a branch's reach.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        for (end, label) in &self.branches {
            let target = self
                .labels
                .get(label.0)
                .copied()
                .flatten()
                .and_then(|target| i64::try_from(target).ok());
            let distance = target
                .zip(i64::try_from(*end).ok())
                .and_then(|(target, end)| i16::try_from(target.checked_sub(end)?).ok());
            // The distance is the last field of a branch.
            let field = self.bytes.get_mut(..*end);
            let field = field.and_then(|bytes| bytes.last_chunk_mut());
            let (Some(distance), Some(field)) = (distance, field) else {
                return Err(SpecRule::BranchTarget.into());
            };
            *field = distance.to_le_bytes();
        }
        Ok(self.bytes)
    }

    /// Returns the depth of the stack after `operation`, if known.
    fn next_depth(&self, operation: &Operation<'_>) -> Result<Option<usize>> {
        let Some(found) = self.depth else {
            return Ok(None);
        };
        let (needed, pushes) = match (operation, operation.opcode().row().effect) {
            (Operation::Pick { index }, _) => {
                let above = usize::from(*index);
                (above.wrapping_add(1), above.wrapping_add(2))
            }
            (_, StackEffect::Fixed { pops, pushes }) => (pops.into(), pushes.into()),
            (_, StackEffect::Varies) => return Ok(None),
        };
        match found.checked_sub(needed) {
            // Code after an unconditional branch is reached only from elsewhere.
            Some(_) if operation.opcode() == Opcode::Skip => Ok(None),
            Some(rest) => Ok(rest.checked_add(pushes)),
            None => Err(ErrorKind::StackUnderflow { needed, found }.into()),
        }
    }
}

/// Rejects operands that are invalid in any context.
fn check_operands(operation: &Operation<'_>) -> Result<()> {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "most operations have no operand that can be wrong"
    )]
    match *operation {
        Operation::Reg { register } | Operation::Breg { register, .. } => {
            check_register(register.into())
        }
        Operation::Regx { register }
        | Operation::Bregx { register, .. }
        | Operation::AspaceBregx { register, .. }
        | Operation::CallFrameEntryReg { register }
        | Operation::RegvalType { register, .. } => check_register(register),
        Operation::Extend { bit_size, count } | Operation::SelectBitPiece { bit_size, count }
            if bit_size == 0 || count == 0 =>
        {
            Err(SpecRule::ZeroElement.into())
        }
        _ => Ok(()),
    }
}

fn check_register(number: u64) -> Result<()> {
    match Register::from_number(number).and_then(Register::class) {
        Some(_) => Ok(()),
        None => Err(SpecRule::RegisterNumber.into()),
    }
}

impl Builder {
    /// Returns the dialect of the expression.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.encoding.dialect
    }
}
