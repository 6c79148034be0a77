//! What the instructions do that set up frames, save registers and direct control.
//!
//! Decoding is left to `scalar`, `vector` and `memory`. Everything else an instruction can do is
//! [`Effect::Other`], and known only by the registers it writes. Source: AMD's instruction set
//! architecture documents, the chapters on program control, scalar and vector ALU and memory.

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
    /// `a >> b`, zeros moving in.
    ShiftRight,
    /// `a >> b`, the sign moving in.
    ShiftRightSigned,
    /// `(a << n) + b`.
    ShiftLeftAdd(u8),
    /// The bits of `a` that `b` selects: offset in its low bits, width from bit 16.
    BitFieldExtract,
    /// Likewise, with the sign extended.
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
    /// `a << b`, of whose second operand the low five bits count.
    ShiftLeft,
    /// `a >> b`, zeros moving in.
    ShiftRight,
    /// `a >> b`, the sign moving in.
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
    /// `c` bits of `a` from bit `b` on.
    BitFieldExtract,
    /// Likewise, with the sign extended.
    BitFieldExtractSigned,
}

impl VectorOp {
    /// Returns how many sources it has.
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

/// The operation that makes a new execution mask from the old one and a source.
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

/// When a branch is taken.
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
    /// The subvector loop goes on or ends (gfx10, gfx11).
    Loop,
}

/// The target of a call.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallTarget {
    /// To the address in these registers.
    Registers(Operand),
    /// To this address.
    Address(u64),
}

/// By which instructions memory is reached.
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
/// The address is, in bytes, the sum of what is there of `address`, `base` and `offset`; of a buffer
/// access as the descriptor says.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// By which instructions.
    pub kind: AccessKind,
    /// The bytes of memory for each lane: 1 and 2 are parts of a register.
    pub bytes: u8,
    /// The first register of the data and how many there are. Nothing for a load that goes to LDS.
    pub data: Option<Span>,
    /// The vector registers that take part in the address. `None` if there are none. How many they are
    /// depends on the kind: one for scratch and with a scalar base, two for a whole address, and for a
    /// buffer one for each of index and offset.
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
    /// The register that is written, in all active lanes.
    pub dst: MachineRegister,
    /// The first source of the operation.
    pub a: Operand,
    /// The second source, of an operation that has two.
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
        /// What it writes.
        dst: Operand,
        /// The first operand.
        a: Operand,
        /// The second operand.
        b: Operand,
    },
    /// `dst` gets `exec`, and `exec` a new value.
    SaveExec {
        /// How the new value is made.
        op: ExecOp,
        /// Where the old one goes.
        dst: Operand,
        /// The source.
        src: Operand,
    },
    /// Both `dst` and `exec` get the new value.
    WriteExec {
        /// How the value is made.
        op: ExecOp,
        /// What is written besides `exec`.
        dst: Operand,
        /// The source.
        src: Operand,
    },
    /// A comparison in each active lane. The result is one bit for each lane, clear for those that are
    /// not active; it goes to scalar registers, to `exec`, or to both.
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
        /// What is written.
        src: Operand,
        /// Which lane.
        lane: Operand,
    },
    /// A scalar register gets one lane of a vector register.
    ReadLane {
        /// The scalar register.
        dst: Operand,
        /// The vector register.
        src: Operand,
        /// Which lane.
        lane: Operand,
    },
    /// A scalar register gets the first active lane of a vector register.
    ReadFirstLane {
        /// The scalar register.
        dst: Operand,
        /// The vector register, or a scalar source.
        src: Operand,
    },
    /// A vector register gets, in all active lanes, what the source has there, unchanged. Between vector
    /// and accumulation registers too.
    VectorMove {
        /// What is written.
        dst: Span,
        /// The source.
        src: Operand,
    },
    /// A vector register gets, in all active lanes, the result of an operation. The instruction may write other registers besides.
    Vector {
        /// The operation.
        op: VectorOp,
        /// What is written.
        dst: MachineRegister,
        /// The sources in the order of the operation; [`Operand::Null`] is one that it does not have.
        sources: [Operand; 3],
    },
    /// Two vector operations are issued together, and both read before either writes (gfx11 and later). `None` for those that are
    /// not on integers.
    Dual([Option<DualOp>; 2]),
    /// Registers are stored, in active lanes.
    Store(Access),
    /// Registers are loaded, in active lanes.
    Load(Access),
    /// Scalar registers are loaded.
    ScalarLoad {
        /// How many bytes of memory: 1 and 2 are extended to a whole register.
        bytes: u8,
        /// What is loaded.
        dst: Operand,
        /// The address: two scalar registers.
        base: Operand,
        /// Added to it: a scalar register.
        index: Operand,
        /// The constant part, in bytes.
        offset: i32,
    },
    /// A call: `dst` gets the address of the next instruction.
    Call {
        /// Two scalar registers for the return address.
        dst: Operand,
        /// Where it goes.
        target: CallTarget,
    },
    /// A jump to the address in two scalar registers; a return is one.
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
        /// The address it goes to.
        target: u64,
        /// When; always, if nothing.
        condition: Option<Condition>,
    },
    /// A jump of another kind, of which the target is not known: `s_rfe_b64`, `s_cbranch_join`, …
    OtherJump,
    /// The wave ends.
    EndProgram,
    /// A trap; the trap handler comes back after it.
    Trap {
        /// The trap's number.
        id: u16,
    },
    /// Padding that must not be reached (`s_code_end`).
    CodeEnd,
    /// The next instructions are issued together.
    Clause {
        /// How many, less one.
        count: u16,
    },
    /// The wave waits.
    Wait,
    /// Nothing.
    Nop {
        /// The immediate: how many cycles, less one.
        cycles: u16,
    },
    /// Vector register indexing goes on, off or changes (gfx9): while it is on, the vector registers that
    /// instructions read and write are chosen by `m0`.
    GprIndex,
    /// Sets the high two bits of vector register numbers in instructions that follow (gfx125x).
    VgprMsb {
        /// Two bits each for the sources 0, 1 and 2 and the destination, the lowest first.
        bits: u8,
    },
}
