//! Defines the details of some kinds of errors: failed accesses, missing resources and ambiguities.

use core::fmt;
use std::sync::Arc;

use crate::arch::{AddressSpace, Register};

/// The error of a debugger's own access. [`source`](core::error::Error::source) of the [`Error`](super::Error) returns it.
///
/// Two failures are equal if their texts are equal.
#[derive(Clone, Debug)]
pub struct AccessFailure(Arc<dyn core::error::Error + Send + Sync>);

impl AccessFailure {
    /// Creates a failure with an error or a text.
    #[must_use]
    pub fn new(error: impl Into<Box<dyn core::error::Error + Send + Sync>>) -> AccessFailure {
        AccessFailure(error.into().into())
    }

    /// Returns the debugger's error.
    #[must_use]
    pub fn error(&self) -> &(dyn core::error::Error + Send + Sync + 'static) {
        &*self.0
    }
}

impl PartialEq for AccessFailure {
    fn eq(&self, other: &AccessFailure) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl Eq for AccessFailure {}

/// A resource that only the debugger can supply and did not supply.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The contents of a register.
    Register(Register),
    /// The memory at an address.
    Memory(AddressSpace, u64),
    /// The contents of a part of a composite.
    Part,
}

/// An element of the evaluation context (HET A.2.5.1) that an expression needed.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A stopped wavefront ("current thread").
    Wave,
    /// A lane in focus.
    Lane,
    /// An iteration in focus.
    Iteration,
    /// A call frame with call frame information.
    Frame,
    /// A program location, for a location list.
    Pc,
    /// A compilation unit.
    Unit,
    /// A subprogram with `DW_AT_frame_base`.
    FrameBase,
    /// An object (`DW_OP_push_object_address`).
    Object,
    /// A thread-local storage callback.
    Tls,
    /// The caller's frame.
    Caller,
    /// The apertures of generic addresses.
    Apertures,
}

impl Need {
    /// Returns the name of the missing element for messages.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Need::Wave => "a stopped wave",
            Need::Lane => "a lane",
            Need::Iteration => "an iteration",
            Need::Frame => "a call frame with call frame information",
            Need::Pc => "a program location",
            Need::Unit => "a compilation unit",
            Need::FrameBase => "a subprogram with a frame base",
            Need::Object => "an object",
            Need::Tls => "thread-local storage",
            Need::Caller => "the caller's frame",
            Need::Apertures => "the apertures of the generic address space",
        }
    }
}

/// An ambiguity of a location that is written without the heterogeneous extensions; see
/// `spec-notes/legacy-llvm.md`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ambiguity {
    /// An address space with a number that has different meanings in different versions of the compiler.
    AddressSpace(u64),
    /// An address that is computed from registers, in an unnamed address space.
    AddressInRegister,
    /// An address in a vector register without a lane, in a program that names lanes elsewhere.
    LaneOfAddress,
    /// The part of a large object that one register holds.
    PartOfObject,
    /// The number of vector elements in a part. LLVM writes a widened element of one byte as if it were two elements.
    WidenedElements,
    /// The base of `DW_OP_fbreg`.
    FrameBase,
    /// The effect on a lane's value of an operation that the compiler is not known to write.
    Operation(&'static str),
    /// The width of the integers that an operation combines.
    Width,
    /// A choice between several meanings of a location, which differ for example in signed comparison or in the width of a pointer in memory.
    Reading,
    /// A truth value in scalar registers, which may be one value for all lanes or one bit for each lane.
    LaneMask,
    /// The place of an object in local memory whose symbol is undefined. The address may be a linker's 0.
    UndefinedSymbol(u64),
    /// A part of the location is malformed.
    IllFormed,
}

impl fmt::Display for Ambiguity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ambiguity::AddressSpace(number) => write!(
                f,
                "address space {number} differs between versions of the compiler, and the version is unknown"
            ),
            Ambiguity::AddressInRegister => {
                f.write_str("the location is an address in a register, in an unnamed address space")
            }
            Ambiguity::LaneOfAddress => {
                f.write_str("the location is an address in a vector register, without a lane")
            }
            Ambiguity::PartOfObject => f.write_str(
                "the location is one dword of a register, and the part of the object that it holds is unknown",
            ),
            Ambiguity::WidenedElements => f.write_str(
                "the location puts two elements of one byte into half a register, where the compiler puts one",
            ),
            Ambiguity::FrameBase => f.write_str("the frame base of a lane is unknown"),
            Ambiguity::Operation(name) => {
                write!(f, "the effect of {name} on a lane is unknown")
            }
            Ambiguity::Width => {
                f.write_str("the width of the combined integers is unknown")
            }
            Ambiguity::Reading => f.write_str(
                "the compiler writes the same location for signed and unsigned integers, and for pointers of 4 and 8 bytes, but here the \
                 results differ",
            ),
            Ambiguity::LaneMask => f.write_str(
                "the machine code does not show whether its scalar register holds one value or a bit for each lane",
            ),
            Ambiguity::UndefinedSymbol(address) => write!(
                f,
                "its symbol is undefined, so its address in local memory, {address:#x}, may be a default of the linker"
            ),
            Ambiguity::IllFormed => f.write_str("the location of this part is malformed"),
        }
    }
}
