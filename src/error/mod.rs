//! Defines the error type of the crate. An error has a kind, the operation, the place in the file, and the violated sentence of the specification.
//!
//! An error is data that a caller can match on. Only [`Display`](fmt::Display) makes text from it, and escapes contents of files like
//! [`Untrusted`]. The kinds form four groups, because four different people must act on them: ill-formed DWARF, missing input
//! ([`ErrorKind::Unavailable`], [`ErrorKind::MissingContext`]), unsupported features ([`ErrorKind::Unsupported`]), and limits ([`Limit`]).
//! The sentences are from [HET](crate), and from DWARF 5 for rules that HET does not change.
//!
//! ```
//! use hetdwarf::error::ErrorKind;
//! use hetdwarf::eval::{Context, ExpressionBytes, ResultKind, Unit, evaluate};
//! use hetdwarf::expr::{Encoding, ParseOptions, parse};
//! use hetdwarf::location::Arena;
//!
//! let bytes = parse("DW_OP_lit1, DW_OP_lit0, DW_OP_div", &ParseOptions::default())?.encode(Encoding::AMDGPU)?;
//! let expression = ExpressionBytes::alone(&bytes, Unit::unknown(Encoding::AMDGPU));
//! let error = evaluate(&expression, ResultKind::Value, &Context::new(&Arena::new())).unwrap_err();
//! assert_eq!(*error.kind(), ErrorKind::DivideByZero);
//! assert_eq!((error.operation(), error.offset()), (Some("DW_OP_div"), Some(2)));
//! # Ok::<(), hetdwarf::Error>(())
//! ```

mod detail;

use core::fmt;

pub use crate::limits::Limit;
use crate::untrusted::Untrusted;
pub use detail::{AccessFailure, Ambiguity, Need, Resource};

/// The result of every function in this crate that can fail.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// The reason why there is no result, and the place of the cause.
///
/// The size is one word, so that a `Result<(), Error>` fits into a register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    operation: Option<&'static str>,
    offset: Option<u64>,
    origin: Option<Origin>,
}

/// The place of the bytes at fault in the file.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The name of the section, such as `.debug_info`.
    pub section: &'static str,
    /// The offset of the faulty bytes in the section.
    pub offset: u64,
}

/// The kind of an error.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// An operation, instruction, header or table ends before its last byte.
    Truncated {
        /// The kind of data that was read.
        what: &'static str,
    },
    /// A code that is not assigned in the current dialect.
    UnknownOperation {
        /// The operation's first byte.
        opcode: u8,
        /// The vendor code after `DW_OP_LLVM_user`.
        user: Option<u64>,
    },
    /// An operation needs more stack entries than there are.
    StackUnderflow {
        /// The number of required entries.
        needed: usize,
        /// The number of available entries.
        found: usize,
    },
    /// The DWARF violates a rule of the specification.
    IllFormed(SpecRule),
    /// A stack entry, result or operand has a kind that does not convert to the required kind.
    TypeMismatch {
        /// The required kind.
        expected: &'static str,
        /// The kind that was found.
        found: &'static str,
    },
    /// Division or remainder by zero.
    DivideByZero,
    /// A place outside its storage, or an access beyond the end of its storage.
    OutOfBounds {
        /// The first bit outside, counted from the start of the storage.
        bit_offset: i128,
        /// The size of the storage, in bits.
        size_in_bits: u128,
    },
    /// A read of storage that is completely or partly undefined (optimised away).
    UndefinedRead,
    /// A resource of the program whose contents the debugger does not have.
    Unavailable(Resource),
    /// An element that the expression needs and the context does not provide.
    MissingContext(Need),
    /// A limit was reached.
    Limit {
        /// The limit.
        limit: Limit,
        /// The value.
        value: u64,
    },
    /// The input exceeds a fixed maximum, which no option changes.
    TooMany {
        /// The counted things, as the end of a sentence: "rows that are remembered".
        what: &'static str,
        /// The maximum number.
        most: u64,
    },
    /// Valid input that this crate does not support. `spec-notes/` explains the reasons.
    Unsupported(&'static str),
    /// Input with several possible meanings, of which none can be chosen.
    Ambiguous(Ambiguity),
    /// The debugger's own access failed.
    Access(AccessFailure),
    /// A malformed file, section or table.
    Malformed {
        /// The malformed part: "ELF header", "location list", …
        what: &'static str,
        /// The description of the problem.
        reason: String,
    },
    /// A valid file without an AMDGPU code object.
    NoCodeObject {
        /// The description of the file, as a sentence.
        found: String,
    },
    /// A wave of a size that the code cannot have.
    WrongWaveSize {
        /// The number of lanes of the wave.
        lanes: u32,
        /// The description of the sizes that are possible, as the end of a sentence with "but".
        reason: String,
    },
    /// Text that cannot be parsed.
    Syntax {
        /// The expected syntax.
        expected: String,
        /// The text that was found.
        found: String,
    },
    /// A choice that matches no candidate, or several.
    Selection {
        /// The choice.
        wanted: String,
        /// All candidates or, if several match, the matching ones.
        candidates: Vec<String>,
    },
}

/// A rule of the specification that DWARF can violate.
///
/// The table has the sentence and the section of each rule. `Display` prints the sentence.
macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident: $spec:literal, $text:literal;)*) => {
        /// A rule of the specification that DWARF can violate.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum SpecRule { $(#[doc = concat!($text, ". Source: ", $spec, ".")] $name,)* }

        impl SpecRule {
            /// Every rule, in the order of the specification.
            pub const ALL: &'static [SpecRule] = &[$(SpecRule::$name,)*];

            /// Returns the description of a violation.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self { $(SpecRule::$name => $text,)* }
            }

            /// Returns the section that states the rule.
            #[must_use]
            pub fn spec(self) -> &'static str {
                match self { $(SpecRule::$name => $spec,)* }
            }
        }
    };
}

rules! {
    EmptyStackValue: "HET A.2.5.4", "a value is required but the stack is empty at the end";
    ReservedVendorCode: "HET A.2.5.4.0", "vendor extension code 0 is reserved";
    IncompleteComposite: "HET A.2.5.4.4.6", "an incomplete composite is used where a complete location is required";
    BranchTarget: "HET A.2.5.4.2", "a branch target is not the start of an operation";
    ConstTypeSize: "HET A.2.5.4.3.1", "the block of DW_OP_const_type does not have the size of its type";
    LaneRange: "HET A.2.5.4.3.1", "the lane is not below DW_AT_LLVM_lanes";
    IterationRange: "HET A.2.5.4.3.1", "the iteration is not below DW_AT_LLVM_iterations";
    NotABaseType: "HET A.2.5.4.3.4", "the operand does not name a base type of the current unit";
    DerefTypeSize: "HET A.2.5.4.3.4", "the size operand does not match the size of the type";
    EntryValueKind: "HET A.2.5.4.3.4", "the expression of DW_OP_entry_value gives neither a value nor a register";
    ReinterpretSize: "DWARF 5 §2.5.1.6", "DW_OP_reinterpret between types of different sizes";
    AddressSpace: "HET A.2.5.4.4.3", "the target does not define the address space";
    RegisterNumber: "USAGE \"Register Identifier\"", "the register number is reserved";
    FrameBaseKind: "HET A.3.3.5", "the frame base is not one memory location, or uses DW_OP_fbreg";
    LanePcKind: "HET A.3.3.5", "DW_AT_LLVM_lane_pc does not give exactly one location";
    ImplicitPointerUse: "HET A.2.5.4.4.5", "an implicit pointer is used in an invalid way";
    ImplicitPointerTarget: "HET A.2.5.4.4.5", "the entry that an implicit pointer refers to has neither a location nor a constant";
    PieceKind: "HET A.2.5.4.4.6", "the part is not a location and cannot be converted to one";
    PartSize: "HET A.2.5.4.4.6", "a part is larger than the rest of its storage";
    CompositeSize: "HET A.2.5.4.4.6", "the composite is larger than the largest address space";
    PieceEnd: "HET A.2.5.4.4.6", "DW_OP_LLVM_piece_end without an incomplete composite on top";
    ZeroElement: "HET A.2.5.4.4.6", "an element size or count of zero";
    MaskSize: "HET A.2.5.4.4.6", "the mask has fewer bits than there are elements";
    OverlayRange: "HET A.2.5.4.4.6", "the overlay does not lie within its base";
    WrongReference: "HET A.2.5.4.2", "the operand does not refer to a debugging information entry";
    CfaKind: "HET A.6.4.2.2", "the CFA is not a memory byte address";
    CfaRule: "HET A.6.4.2.2", "the instruction changes a CFA rule that is missing or is an expression";
    RuleSize: "HET A.6.4.1", "the result of the rule does not have the size of the register";
    RegisterCycle: "HET A.6.4.1", "the register rules form a cycle";
    CfiOperation: "HET A.6.4.2", "the operation is not allowed in call frame information";
}

impl ErrorKind {
    /// Returns the stable name of the kind, which is `error.kind` in JSON documents.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            ErrorKind::Truncated { .. } => "truncated",
            ErrorKind::UnknownOperation { .. } => "unknown-operation",
            ErrorKind::StackUnderflow { .. } => "stack-underflow",
            ErrorKind::IllFormed(_) => "ill-formed",
            ErrorKind::TypeMismatch { .. } => "type-mismatch",
            ErrorKind::DivideByZero => "divide-by-zero",
            ErrorKind::OutOfBounds { .. } => "out-of-bounds",
            ErrorKind::UndefinedRead => "undefined-read",
            ErrorKind::Unavailable(_) | ErrorKind::Access(_) => "unavailable",
            ErrorKind::MissingContext(_) => "missing-context",
            ErrorKind::Limit { .. } | ErrorKind::TooMany { .. } => "limit",
            ErrorKind::Unsupported(_) => "unsupported",
            ErrorKind::Ambiguous(_) => "ambiguous",
            ErrorKind::Malformed { .. } | ErrorKind::NoCodeObject { .. } => "malformed",
            ErrorKind::WrongWaveSize { .. } => "wave-size",
            ErrorKind::Syntax { .. } => "syntax",
            ErrorKind::Selection { .. } => "selection",
        }
    }

    /// Returns the section of the specification that the DWARF violates. Returns None if the cause is a limit, the wave or the caller.
    #[must_use]
    pub fn spec(&self) -> Option<&'static str> {
        match self {
            ErrorKind::UnknownOperation { .. } => Some("HET A.7.7.1"),
            ErrorKind::StackUnderflow { .. } | ErrorKind::TypeMismatch { .. } => {
                Some("HET A.2.5.4")
            }
            ErrorKind::IllFormed(rule) => Some(rule.spec()),
            ErrorKind::DivideByZero => Some("DWARF 5 §2.5.1.4"),
            ErrorKind::OutOfBounds { .. } => Some("HET A.2.5.4.4.1"),
            ErrorKind::UndefinedRead => Some("HET A.2.5.4.3.4"),
            // The truncated data may be a file, a table or machine code instead of DWARF.
            ErrorKind::Truncated { .. }
            | ErrorKind::Unavailable(_)
            | ErrorKind::MissingContext(_)
            | ErrorKind::Limit { .. }
            | ErrorKind::TooMany { .. }
            | ErrorKind::Unsupported(_)
            | ErrorKind::Ambiguous(_)
            | ErrorKind::Access(_)
            | ErrorKind::Malformed { .. }
            | ErrorKind::NoCodeObject { .. }
            | ErrorKind::WrongWaveSize { .. }
            | ErrorKind::Syntax { .. }
            | ErrorKind::Selection { .. } => None,
        }
    }
}

impl Error {
    /// Creates an error of this kind without a place.
    #[must_use]
    #[cold]
    pub fn new(kind: ErrorKind) -> Error {
        Error(Box::new(Inner {
            kind,
            operation: None,
            offset: None,
            origin: None,
        }))
    }

    /// Creates the error of a malformed file, section or table.
    #[must_use]
    #[cold]
    pub fn malformed(what: &'static str, reason: impl Into<String>) -> Error {
        Error::new(ErrorKind::Malformed {
            what,
            reason: reason.into(),
        })
    }

    /// Adds the operation and its offset in the expression in bytes, unless an inner layer has already set them.
    #[must_use]
    #[cold]
    pub fn at_operation(mut self, operation: &'static str, offset: u64) -> Error {
        if self.0.offset.is_none() {
            self.0.operation = Some(operation);
            self.0.offset = Some(offset);
        }
        self
    }

    /// Adds the section of the bytes and the offset in it, unless an inner layer has already set them.
    #[must_use]
    #[cold]
    pub fn within(mut self, section: &'static str, offset: u64) -> Error {
        if self.0.origin.is_none() {
            self.0.origin = Some(Origin { section, offset });
        }
        self
    }

    /// Returns true if a limit was reached, so that the error is not about the input.
    pub(crate) fn is_limit(&self) -> bool {
        matches!(
            self.0.kind,
            ErrorKind::Limit { .. } | ErrorKind::TooMany { .. }
        )
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns the standard name of the faulty operation.
    #[must_use]
    pub fn operation(&self) -> Option<&'static str> {
        self.0.operation
    }

    /// Returns the offset of the faulty operation from the start of its expression in bytes.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// Returns the place of the expression, entry or table in the file.
    #[must_use]
    pub fn origin(&self) -> Option<&Origin> {
        self.0.origin.as_ref()
    }
}

impl From<ErrorKind> for Error {
    #[cold]
    fn from(kind: ErrorKind) -> Error {
        Error::new(kind)
    }
}

impl From<SpecRule> for Error {
    #[cold]
    fn from(rule: SpecRule) -> Error {
        Error::new(ErrorKind::IllFormed(rule))
    }
}

impl From<Ambiguity> for Error {
    #[cold]
    fn from(ambiguity: Ambiguity) -> Error {
        Error::new(ErrorKind::Ambiguous(ambiguity))
    }
}

impl From<Need> for Error {
    #[cold]
    fn from(need: Need) -> Error {
        Error::new(ErrorKind::MissingContext(need))
    }
}

impl core::error::Error for Error {
    /// Returns the error of the debugger if its access failed. Its text is a part of this error's text.
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        if let ErrorKind::Access(failure) = self.kind() {
            Some(failure.error())
        } else {
            None
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        if let Some(origin) = &inner.origin {
            write!(f, "{}+{:#x}: ", origin.section, origin.offset)?;
        }
        match (inner.operation, inner.offset) {
            // The name of an operation that is unknown.
            (Some("?"), Some(offset)) => write!(f, "at byte {offset}: ")?,
            (Some(operation), Some(offset)) => write!(f, "{operation} at byte {offset}: ")?,
            (_, _) => {}
        }
        write!(f, "{}", inner.kind)?;
        if let Some(spec) = inner.kind.spec() {
            write!(f, " [{spec}]")?;
        }
        Ok(())
    }
}

/// Escapes text that may come from a file.
fn shown(text: &str) -> Untrusted<'_> {
    Untrusted::from(text)
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::Truncated { what } => write!(f, "{what} ends too early"),
            ErrorKind::UnknownOperation { opcode, user: None } => {
                write!(f, "unknown operation {opcode:#04x}")
            }
            ErrorKind::UnknownOperation {
                opcode,
                user: Some(user),
            } => {
                write!(
                    f,
                    "unknown operation {opcode:#04x} with vendor code {user:#x}"
                )
            }
            ErrorKind::StackUnderflow { needed, found } => {
                let entries = if *needed == 1 { "entry" } else { "entries" };
                write!(f, "needs {needed} stack {entries}, found {found}")
            }
            ErrorKind::IllFormed(rule) => f.write_str(rule.text()),
            ErrorKind::TypeMismatch { expected, found } => {
                write!(f, "needs {expected}, found {found}")
            }
            ErrorKind::DivideByZero => f.write_str("division by zero"),
            ErrorKind::OutOfBounds {
                bit_offset,
                size_in_bits,
            } => {
                write!(
                    f,
                    "bit {bit_offset} is outside a storage of {size_in_bits} bits"
                )
            }
            ErrorKind::UndefinedRead => f.write_str("the value is undefined (optimized away)"),
            ErrorKind::Unavailable(Resource::Register(register)) => {
                write!(f, "the contents of register {register} are not available")
            }
            ErrorKind::Unavailable(Resource::Memory(space, address)) => {
                write!(
                    f,
                    "the memory at {}#{address:#x} is not available",
                    space.name()
                )
            }
            ErrorKind::Unavailable(Resource::Part) => {
                f.write_str("the contents of a part are not available")
            }
            ErrorKind::MissingContext(need) => {
                write!(f, "needs {}, which was not given", need.text())
            }
            ErrorKind::Limit { limit, value } => {
                write!(f, "the limit `{}` of {value} was reached", limit.name())
            }
            ErrorKind::TooMany { what, most } => {
                write!(f, "more than {most} {what} are not supported")
            }
            ErrorKind::Unsupported(what) => write!(f, "not supported: {what}"),
            ErrorKind::Ambiguous(ambiguity) => ambiguity.fmt(f),
            ErrorKind::Access(failure) => {
                let text = failure.error().to_string();
                write!(f, "the debugger's access failed: {}", shown(&text))
            }
            ErrorKind::Malformed { what, reason } => {
                write!(f, "malformed {what}: {}", shown(reason))
            }
            ErrorKind::NoCodeObject { found } => write!(f, "{}", shown(found)),
            ErrorKind::WrongWaveSize { lanes, reason } => {
                write!(f, "the wave has {lanes} lanes, but {}", shown(reason))
            }
            ErrorKind::Syntax { expected, found } => {
                write!(f, "expected {}, found {}", shown(expected), shown(found))
            }
            ErrorKind::Selection { wanted, candidates } => {
                write!(f, "{}", shown(wanted))?;
                if !candidates.is_empty() {
                    f.write_str("; choose one of:")?;
                }
                let mut candidates = candidates.iter();
                candidates.try_for_each(|candidate| write!(f, "\n  {}", shown(candidate)))
            }
        }
    }
}
