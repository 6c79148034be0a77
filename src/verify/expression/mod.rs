//! Checks expressions by running their effect on the stack without a wave. It tracks the values and the locations on the stack, with their kinds and
//! sizes.
//!
//! The interpreter shares only the decoder and the table of operations with `eval`. A checker must not repeat the mistakes of the code that it
//! checks. If the state of the stack is not known, nothing is reported. The caller chooses the expressions and describes their use in [`Env`].
//! Sources: HET A.2.5.

mod code;
mod composite;
mod entry;
mod excerpt;
mod machine;
mod memory;
mod result;
mod rule;
mod stack;
#[cfg(test)]
mod tests;
mod value;

pub(super) use entry::{Entry, Offset, Place, Sources, Storage, Type};
pub(super) use excerpt::excerpt;
pub(super) use rule::{RULES, Repeats, repeats};
pub(super) use value::as_place;

use smallvec::SmallVec;

use crate::arch::Machine;
use crate::expr::Encoding;
use crate::rule::Rule;

/// The use of an expression. It determines the required result and the allowed operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// The location of an object with this size in bits, if it is known (`DW_AT_location`).
    Location { bits: Option<u64> },
    /// `DW_AT_frame_base`.
    FrameBase,
    /// `DW_CFA_def_cfa_expression`.
    Cfa,
    /// `DW_CFA_expression` of a register with this size in bits. The initial stack is the CFA.
    SavedRegister { bits: Option<u32> },
    /// `DW_CFA_val_expression` of a register with this size in bits. The initial stack is the CFA.
    RegisterValue { bits: Option<u32> },
    /// `DW_AT_data_member_location` and similar attributes. The initial stack is the object.
    Member,
    /// `DW_AT_vtable_elem_location`. The initial stack is the object. DWARF 5 §5.7.8 requires the address of the virtual function's slot, but all
    /// producers write the number of the slot.
    VirtualSlot,
    /// An attribute of a type that is a location and may refer to the object (`DW_AT_data_location`).
    DataLocation,
    /// An attribute that is a value (`DW_AT_upper_bound`), or an argument of a call (`DW_AT_call_value`).
    Value,
    /// An attribute of a dimension in an array whose dimensions are not listed (`DW_TAG_generic_subrange`). The initial stack is the number of the
    /// dimension (DWARF 5 §5.13, figure D.13).
    OfDimension,
    /// `DW_AT_LLVM_lane_pc` of a subprogram with this number of lanes.
    LanePc { lanes: Option<u64> },
    /// `DW_AT_LLVM_active_lane` of a subprogram with this number of lanes.
    ActiveLane { lanes: Option<u64> },
    /// The location of a `DW_TAG_dwarf_procedure`, which works on the stack of its caller.
    Procedure,
    /// The contents of `DW_OP_entry_value`.
    EntryValue,
    /// Any other use, about which nothing is known.
    Any,
}

/// The base of `DW_OP_fbreg`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum FrameBase {
    /// The frame base is not known or not used.
    #[default]
    Unknown,
    /// The function has no `DW_AT_frame_base`.
    Missing,
    /// A place.
    Place(Place),
}

/// The context in which an expression is checked.
#[derive(Clone, Copy)]
pub(super) struct Env<'e> {
    pub(super) encoding: Encoding,
    /// The machine of the registers. Register sizes are known only for AMDGPU.
    pub(super) machine: Machine,
    pub(super) role: Role,
    /// The initial stack, the lowest entry first.
    pub(super) initial: &'e [Entry],
    /// True if each lane is a thread of the source language. A variable in a vector register is then in the dword of its lane.
    pub(super) simt: bool,
    pub(super) frame_base: FrameBase,
    /// The debugging information. Call frame information has none.
    pub(super) entries: Option<&'e dyn Entries>,
}

impl<'e> Env<'e> {
    /// Creates a context with only an encoding and a use.
    pub(super) const fn new(encoding: Encoding, role: Role) -> Env<'e> {
        Env {
            encoding,
            machine: Machine::AMDGPU,
            role,
            initial: &[],
            simt: false,
            frame_base: FrameBase::Unknown,
            entries: None,
        }
    }
}

/// Looks up the debugging information that expressions refer to.
pub(super) trait Entries {
    /// Returns the base type at an offset from the header of the unit, or `None` if there is none.
    fn base_type(&self, offset: u64) -> Option<Type>;

    /// Finds the target of a call. The offset is from the header of the unit or, for `DW_OP_call_ref`, in `.debug_info`.
    fn callee(&self, offset: u64, in_section: bool) -> Callee<'_>;

    /// Returns true if the unit has an address with this index.
    fn has_address(&self, index: u64) -> bool;
}

/// The target of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Callee<'e> {
    /// A missing entry.
    Missing,
    /// An entry without location and constant.
    Nothing,
    /// An expression; `die` identifies the entry.
    Expression {
        bytes: &'e [u8],
        encoding: Encoding,
        die: u64,
    },
    /// A location list. The call pushes a location.
    List,
    /// A constant, with its size in bytes if it is known.
    Constant(Option<u64>),
    /// An entry that cannot be read.
    Unreadable,
}

/// A fault in an expression.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) rule: &'static Rule,
    /// The offset of the faulty operation in the expression, in bytes. `None` if the fault concerns the whole expression.
    pub(super) offset: Option<usize>,
    pub(super) message: String,
    pub(super) help: Option<&'static str>,
}

impl Fault {
    /// Returns true if the fault is that the object as a whole is larger than its lane's dword of a register.
    pub(super) fn is_overrun_of_object(&self) -> bool {
        *self.rule == rule::LANE_OVERRUN && self.offset.is_none()
    }
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// The faults by the offset of the operation. Each operation has at most one fault of a rule.
    pub(super) faults: Vec<Fault>,
    /// The top entry at the end, before it is converted, with the common facts of all paths. None if the stack is empty there or the end was not
    /// reached.
    pub(super) result: Option<Entry>,
    /// True if `DW_OP_xderef` loads through an address space. LLVM without the extensions writes such a load for a location.
    pub(super) legacy: bool,
    /// The number of operations that ran, over all paths.
    pub(super) steps: u64,
    /// True if calls or implicit pointers refer to entries other than base types.
    pub(super) refers: bool,
    /// True if the result or the faults depend on the frame base.
    pub(super) asks_frame_base: bool,
    /// The register numbers in the expression itself, each with the offset of its operation in bytes.
    pub(super) registers: SmallVec<[(usize, u64); 4]>,
}

/// Checks an expression by running its effect on the stack.
///
/// The time is bounded for any bytes.
pub(super) fn check(bytes: &[u8], env: &Env<'_>) -> Outcome {
    machine::run(bytes, env)
}
