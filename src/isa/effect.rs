//! The effects of instructions that set up frames, save registers and direct control.
//!
//! Decoding is left to `scalar`, `vector` and `memory`. All other effects are [`Effect::Other`], for which only the written registers are
//! known. Source: AMD's instruction set architecture documents, the chapters on program control, scalar and vector ALU and memory.

use super::register::{MachineRegister, Operand, Span};

/// An operation of the scalar ALU. `a` and `b` are the operands in the order of the assembler.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarOp {
    /// `a`.
    Mov,
    /// `a` if `scc` is set; otherwise nothing is written.
    MovIfScc,
    /// `!a`.
    Not,
    /// `a + b`.
    Add,
    /// `a + b + scc`.
    AddCarry,
    /// `a - b`.
    Sub,
    /// `a - b - scc`.
    SubBorrow,
    /// The low bits of `a * b`.
    Mul,
    /// The high 32 bits of the unsigned product.
    MulHighUnsigned,
    /// The high 32 bits of the signed product.
    MulHighSigned,
    /// `a & b`.
    And,
    /// `a | b`.
    Or,
    /// `a ^ b`.
    Xor,
    /// `a & !b`.
    AndNot,
    /// `a | !b`.
    OrNot,
    /// `!(a & b)`.
    Nand,
    /// `!(a | b)`.
    Nor,
    /// `!(a ^ b)`.
    Xnor,
    /// `a << b`.
    ShiftLeft,
    /// `a >> b`, shifting in zeros.
    ShiftRight,
    /// `a >> b`, shifting in the sign.
    ShiftRightSigned,
    /// `(a << n) + b`.
    ShiftLeftAdd(u8),
    /// The bits of `a` that `b` selects: offset in its low bits, width from bit 16.
    BitFieldExtract,
    /// As [`BitFieldExtract`](ScalarOp::BitFieldExtract), with the sign extended.
    BitFieldExtractSigned,
    /// `((1 << a) - 1) << b`.
    BitFieldMask,
    /// `a` if `scc` is set, otherwise `b`.
    Select,
}

/// An operation of the vector ALU on integers of 32 bits. `a`, `b` and `c` are the sources of [`Effect::Vector`]; results keep the
/// low 32 bits.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VectorOp {
    /// `a`.
    Mov,
    /// `!a`.
    Not,
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a * b`.
    Mul,
    /// The product of the low 24 bits of `a` and `b`.
    Mul24,
    /// The product of the low 24 bits of `a` and `b`, as signed numbers.
    Mul24Signed,
    /// `a * b + c`.
    MulAdd,
    /// As [`Mul24`](VectorOp::Mul24), plus `c`.
    MulAdd24,
    /// As [`Mul24Signed`](VectorOp::Mul24Signed), plus `c`.
    MulAdd24Signed,
    /// `a & b`.
    And,
    /// `a | b`.
    Or,
    /// `a ^ b`.
    Xor,
    /// `a << b`, with the low five bits of `b`.
    ShiftLeft,
    /// `a >> b`, shifting in zeros.
    ShiftRight,
    /// `a >> b`, shifting in the sign.
    ShiftRightSigned,
    /// `(a << b) + c`.
    ShiftLeftAdd,
    /// `(a + b) << c`.
    AddShiftLeft,
    /// `a + b + c`.
    Add3,
    /// `(a << b) | c`.
    ShiftLeftOr,
    /// `(a & b) | c`.
    AndOr,
    /// `a | b | c`.
    Or3,
    /// `a ^ b ^ c`.
    Xor3,
    /// `(a ^ b) + c`.
    XorAdd,
    /// `c` bits of `a`, starting at bit `b`.
    BitFieldExtract,
    /// As [`BitFieldExtract`](VectorOp::BitFieldExtract), with the sign extended.
    BitFieldExtractSigned,
}

impl VectorOp {
    /// Returns the number of its sources.
    #[must_use]
    pub const fn sources(self) -> usize {
        match self {
            VectorOp::Mov | VectorOp::Not => 1,
            VectorOp::Add
            | VectorOp::Sub
            | VectorOp::Mul
            | VectorOp::Mul24
            | VectorOp::Mul24Signed
            | VectorOp::And
            | VectorOp::Or
            | VectorOp::Xor
            | VectorOp::ShiftLeft
            | VectorOp::ShiftRight
            | VectorOp::ShiftRightSigned => 2,
            VectorOp::MulAdd
            | VectorOp::MulAdd24
            | VectorOp::MulAdd24Signed
            | VectorOp::ShiftLeftAdd
            | VectorOp::AddShiftLeft
            | VectorOp::Add3
            | VectorOp::ShiftLeftOr
            | VectorOp::AndOr
            | VectorOp::Or3
            | VectorOp::Xor3
            | VectorOp::XorAdd
            | VectorOp::BitFieldExtract
            | VectorOp::BitFieldExtractSigned => 3,
        }
    }
}

/// The operation that computes a new execution mask from the old one and a source.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecOp {
    /// `source & exec`.
    And,
    /// `source | exec`.
    Or,
    /// `source ^ exec`.
    Xor,
    /// `!(source & exec)`.
    Nand,
    /// `!(source | exec)`.
    Nor,
    /// `!(source ^ exec)`.
    Xnor,
    /// `source & !exec`.
    SourceAndNotExec,
    /// `source | !exec`.
    SourceOrNotExec,
    /// `!source & exec`.
    ExecAndNotSource,
    /// `!source | exec`.
    ExecOrNotSource,
}

/// The condition of a branch.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// `scc` is clear.
    Scc0,
    /// `scc` is set.
    Scc1,
    /// `vcc` is zero.
    VccZero,
    /// `vcc` is not zero.
    VccNotZero,
    /// No lane is active.
    ExecZero,
    /// A lane is active.
    ExecNotZero,
    /// A flag of the debugger is set.
    Debugger,
    /// The subvector loop continues or ends (gfx10, gfx11).
    Loop,
}

/// The target of a call.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallTarget {
    /// The address in these registers.
    Registers(Operand),
    /// This address.
    Address(u64),
}

/// The kind of instructions that access memory.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// `scratch_*`: an offset in the lane's scratch.
    Scratch,
    /// `buffer_*`: through a descriptor in four scalar registers.
    Buffer,
    /// `flat_*`: a generic address.
    Flat,
    /// `global_*`: an address in global memory.
    Global,
}

/// A load or store of whole registers, or of the low or high part of one.
///
/// The address, in bytes, is the sum of `address`, `base` and `offset`, as far as they exist. For a buffer access, the descriptor
/// determines it.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The kind of instruction.
    pub kind: AccessKind,
    /// The bytes of memory for each lane: 1 and 2 are parts of a register.
    pub bytes: u8,
    /// The data registers. `None` for a load to LDS.
    pub data: Option<Span>,
    /// The vector registers of the address. `None` if there are none. Their number depends on the kind: one for scratch and with a scalar
    /// base, two for a whole address. For a buffer, it is one each for index and offset.
    pub address: Option<Span>,
    /// The scalar part: the stack pointer of scratch and buffer accesses, or a 64-bit base address.
    pub base: Operand,
    /// The descriptor of a buffer access.
    pub descriptor: Option<Operand>,
    /// The constant part, in bytes.
    pub offset: i32,
}

/// One of the two operations of a dual instruction.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DualOp {
    /// The operation.
    pub op: VectorOp,
    /// The destination register, written in all active lanes.
    pub dst: MachineRegister,
    /// The first source of the operation.
    pub a: Operand,
    /// The second source, if the operation has two.
    pub b: Operand,
}

/// The effect of an instruction.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Anything else; [`Instruction::writes`](super::Instruction::writes) still holds.
    Other,
    /// A scalar operation. `dst` can be `exec`. Operands that the operation does not have are
    /// [`Operand::Null`].
    Scalar {
        /// The operation.
        op: ScalarOp,
        /// The destination.
        dst: Operand,
        /// The first operand.
        a: Operand,
        /// The second operand.
        b: Operand,
    },
    /// `dst` gets `exec`, and `exec` a new value.
    SaveExec {
        /// The operation that computes the new value.
        op: ExecOp,
        /// The destination of the old value.
        dst: Operand,
        /// The source.
        src: Operand,
    },
    /// Both `dst` and `exec` get the new value.
    WriteExec {
        /// The operation that computes the new value.
        op: ExecOp,
        /// The destination in addition to `exec`.
        dst: Operand,
        /// The source.
        src: Operand,
    },
    /// A comparison in each active lane. The result has one bit for each lane, which is 0 for inactive lanes. It goes to scalar registers,
    /// to `exec`, or to both.
    Compare {
        /// The scalar registers; [`Operand::Null`] if the result goes to `exec` alone.
        dst: Operand,
        /// True if `exec` gets the result.
        to_exec: bool,
    },
    /// One lane of a vector register is written.
    WriteLane {
        /// The vector register.
        dst: MachineRegister,
        /// The written value.
        src: Operand,
        /// The lane.
        lane: Operand,
    },
    /// A scalar register gets one lane of a vector register.
    ReadLane {
        /// The scalar register.
        dst: Operand,
        /// The vector register.
        src: Operand,
        /// The lane.
        lane: Operand,
    },
    /// A scalar register gets the first active lane of a vector register.
    ReadFirstLane {
        /// The scalar register.
        dst: Operand,
        /// The vector register, or a scalar source.
        src: Operand,
    },
    /// A vector register gets the source, unchanged, in all active lanes. Also moves between vector and accumulation registers.
    VectorMove {
        /// The destination.
        dst: Span,
        /// The source.
        src: Operand,
    },
    /// A vector register gets the result of an operation, in all active lanes. The instruction may write other registers, too.
    Vector {
        /// The operation.
        op: VectorOp,
        /// The destination.
        dst: MachineRegister,
        /// The sources in the order of the operation; [`Operand::Null`] for one that it does not have.
        sources: [Operand; 3],
    },
    /// Two vector operations that are issued together; both read before either writes (gfx11 and later). `None` for operations that are not
    /// on integers.
    Dual([Option<DualOp>; 2]),
    /// Registers are stored, in active lanes.
    Store(Access),
    /// Registers are loaded, in active lanes.
    Load(Access),
    /// Scalar registers are loaded.
    ScalarLoad {
        /// The number of bytes of memory: 1 and 2 are extended to a whole register.
        bytes: u8,
        /// The destination.
        dst: Operand,
        /// The address: two scalar registers.
        base: Operand,
        /// The scalar register that is added to it.
        index: Operand,
        /// The constant part, in bytes.
        offset: i32,
    },
    /// A call: `dst` gets the address of the next instruction.
    Call {
        /// Two scalar registers for the return address.
        dst: Operand,
        /// The target.
        target: CallTarget,
    },
    /// A jump, or a return, to the address in two scalar registers.
    SetPc {
        /// The registers.
        src: Operand,
    },
    /// `dst` gets the address of the next instruction.
    GetPc {
        /// Two scalar registers.
        dst: Operand,
    },
    /// A branch.
    Branch {
        /// The address of the target.
        target: u64,
        /// The condition; `None` if the branch is always taken.
        condition: Option<Condition>,
    },
    /// A jump of another kind, with an unknown target: `s_rfe_b64`, `s_cbranch_join`, …
    OtherJump,
    /// The wave ends.
    EndProgram,
    /// A trap; the trap handler returns after it.
    Trap {
        /// The trap's number.
        id: u16,
    },
    /// Padding that must not be reached (`s_code_end`).
    CodeEnd,
    /// The next instructions are issued together.
    Clause {
        /// The number of instructions, minus one.
        count: u16,
    },
    /// The wave waits.
    Wait,
    /// No effect.
    Nop {
        /// The immediate: the number of cycles, minus one.
        cycles: u16,
    },
    /// Switches vector register indexing on or off, or changes it (gfx9). While it is on, `m0` selects the vector registers that
    /// instructions read and write.
    GprIndex,
    /// Sets the high two bits of vector register numbers in the following instructions (gfx125x).
    VgprMsb {
        /// Two bits each for the sources 0, 1 and 2, and the destination, the lowest first.
        bits: u8,
    },
}
