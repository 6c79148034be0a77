//! Expressions, run through what they do to the stack without a wave: which entries are values and which
//! are locations, of what, and how large.
//!
//! The interpreter shares the decoder and the table of operations with `eval`, and nothing else: a checker
//! must not share the idea it checks. Where the state of the stack is not known it says nothing. Which
//! expression stands where, and what it is for, is left to the caller, who says so in [`Env`].
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

/// The use of an expression. It decides which result is required and which operations are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// The location of an object of so many bits, if its size is known (`DW_AT_location`).
    Location { bits: Option<u64> },
    /// `DW_AT_frame_base`.
    FrameBase,
    /// `DW_CFA_def_cfa_expression`.
    Cfa,
    /// `DW_CFA_expression` of a register of so many bits. The initial stack is the CFA.
    SavedRegister { bits: Option<u32> },
    /// `DW_CFA_val_expression` of a register of so many bits. The initial stack is the CFA.
    RegisterValue { bits: Option<u32> },
    /// `DW_AT_data_member_location` and its like. The initial stack is the object.
    Member,
    /// `DW_AT_vtable_elem_location`. The initial stack is the object; where DWARF 5 §5.7.8 asks for the address of the slot of a virtual
    /// function, all producers write the number of the slot.
    VirtualSlot,
    /// An attribute of a type that is a location, and may refer to the object (`DW_AT_data_location`).
    DataLocation,
    /// An attribute that is a value (`DW_AT_upper_bound`), or what a call passes (`DW_AT_call_value`).
    Value,
    /// An attribute of a dimension of an array whose dimensions are not listed (`DW_TAG_generic_subrange`). The initial stack is the number of
    /// the dimension (DWARF 5 §5.13, figure D.13).
    OfDimension,
    /// `DW_AT_LLVM_lane_pc` of a subprogram with so many lanes.
    LanePc { lanes: Option<u64> },
    /// `DW_AT_LLVM_active_lane` of a subprogram with so many lanes.
    ActiveLane { lanes: Option<u64> },
    /// The location of a `DW_TAG_dwarf_procedure`: it works on the stack of its caller.
    Procedure,
    /// The contents of `DW_OP_entry_value`.
    EntryValue,
    /// Any other use: nothing is known of it.
    Any,
}

/// The base of `DW_OP_fbreg`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum FrameBase {
    /// Not known, or not asked for.
    #[default]
    Unknown,
    /// The function has no `DW_AT_frame_base`.
    Missing,
    /// A place.
    Place(Place),
}

/// The setting in which an expression is checked.
#[derive(Clone, Copy)]
pub(super) struct Env<'e> {
    pub(super) encoding: Encoding,
    /// The machine whose registers it names: of another than AMDGPU their sizes are not known.
    pub(super) machine: Machine,
    pub(super) role: Role,
    /// The initial stack, the lowest entry first.
    pub(super) initial: &'e [Entry],
    /// True if each lane is a thread of the source language, so that a variable in a vector register is in
    /// the dword of its lane.
    pub(super) simt: bool,
    pub(super) frame_base: FrameBase,
    /// The debugging information; call frame information has none.
    pub(super) entries: Option<&'e dyn Entries>,
}

impl<'e> Env<'e> {
    /// An expression of this encoding and use, and nothing more known of it.
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

/// Answers the questions of expressions about the debugging information.
pub(super) trait Entries {
    /// Returns the base type at an offset from the header of the unit. `None` if there is none.
    fn base_type(&self, offset: u64) -> Option<Type>;

    /// What a call of the entry at an offset finds: from the header of the unit, or in `.debug_info` for
    /// `DW_OP_call_ref`.
    fn callee(&self, offset: u64, in_section: bool) -> Callee<'_>;

    /// Returns true if the unit has an address with this index.
    fn has_address(&self, index: u64) -> bool;
}

/// The target of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Callee<'e> {
    /// No entry.
    Missing,
    /// An entry without location and constant.
    Nothing,
    /// An expression; `die` identifies the entry.
    Expression {
        bytes: &'e [u8],
        encoding: Encoding,
        die: u64,
    },
    /// A location list: it pushes a location.
    List,
    /// A constant of so many bytes, where that is known.
    Constant(Option<u64>),
    /// Something that cannot be read.
    Unreadable,
}

/// A fault in an expression.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) rule: &'static Rule,
    /// The offset of the operation at fault in the expression, in bytes. `None` if it is the expression as
    /// a whole.
    pub(super) offset: Option<usize>,
    pub(super) message: String,
    pub(super) help: Option<&'static str>,
}

impl Fault {
    /// Returns true if it is that the object as a whole is larger than its lane's dword of a register.
    pub(super) fn is_overrun_of_object(&self) -> bool {
        *self.rule == rule::LANE_OVERRUN && self.offset.is_none()
    }
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// By the offset of the operation; at most one of a rule for each operation.
    pub(super) faults: Vec<Fault>,
    /// The entry on top at the end, before it is converted; what all ways to the end have in common. Nothing
    /// if the stack is empty there, or the end was not reached.
    pub(super) result: Option<Entry>,
    /// True if it loads through an address space by `DW_OP_xderef`, as LLVM without the extensions does
    /// where it means a location.
    pub(super) legacy: bool,
    /// The number of operations that were run, over all paths.
    pub(super) steps: u64,
    /// True if it names other entries than base types: by calls and implicit pointers.
    pub(super) refers: bool,
    /// True if what was found depends on the frame base.
    pub(super) asks_frame_base: bool,
    /// The register numbers that it names itself, each with the offset of its operation, in bytes.
    pub(super) registers: SmallVec<[(usize, u64); 4]>,
}

/// Runs an expression through its effect on the stack.
///
/// The time it takes is bounded, whatever the bytes.
pub(super) fn check(bytes: &[u8], env: &Env<'_>) -> Outcome {
    machine::run(bytes, env)
}
