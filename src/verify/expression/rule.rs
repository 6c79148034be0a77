//! Defines the rules for expressions in all uses.

use crate::rule::Rule;
use crate::verify::Severity;
use crate::verify::rule::rules;

rules! {
    DECODE "expr-decode" Error "HET A.7.7.1"
        "an expression cannot be decoded"
        "An operation has an unknown code, or its operands run past the end of the expression. The rest cannot be evaluated. A debugger \
         reports an error instead of the variable, or cannot unwind.";
    FOREIGN "expr-foreign-operation" Warning "HET A.2.5.4.0"
        "an operation has undocumented operands"
        "The vendor code is assigned, but the encoding of its operands is not published, as for DW_OP_LLVM_NVIDIA_mux. A debugger can \
         neither evaluate the operation nor find the next one.";
    UNDERFLOW "expr-stack-underflow" Error "HET A.2.5.4"
        "an operation needs more stack entries than there are"
        "Each operation takes a fixed number of entries. With fewer entries on the stack, the expression is ill-formed and cannot be \
         evaluated.";
    LEFTOVER "expr-leftover" Note "HET A.2.5.4"
        "entries are left on the stack below the result"
        "Only the top entry is used at the end. The entries below it are useless, or the operation that should have taken them is \
         missing. Entries of the initial stack are not counted.";
    KIND "expr-kind" Error "HET A.2.5.4"
        "an operation finds a value where it needs a location, or the reverse"
        "A value of the generic type converts to a location in global memory, and a location of whole bytes in global memory converts to \
         a value. Nothing else converts: a register or a place in private memory must be read first.";
    OPERAND_TYPES "expr-operand-types" Error "DWARF 5 §2.5.1.4"
        "an operation combines values of different types"
        "Both operands of an arithmetic, logical or relational operation must have the same type. DW_OP_convert makes them equal.";
    DIVIDE "expr-divide-by-zero" Error "DWARF 5 §2.5.1.4"
        "a value is divided by the constant zero"
        "The divisor is always zero, so the expression has no result.";
    RESULT_KIND "expr-result-kind" Error "HET A.2.5.4"
        "the result is a value where a location is required, or the reverse"
        "The attribute or call frame instruction determines which one is required. A value of the generic type serves as a location in global \
         memory, and a location of whole bytes in global memory as a value. Nothing else converts.";
    VALUE_AS_LOCATION "expr-constant-as-location" Warning "HET A.2.5.4.4.3"
        "a constant is used where a location is required"
        "A constant converts to the global memory at that address. Nearly always, the object has that value, which needs DW_OP_stack_value, or \
         is in another address space, which needs DW_OP_LLVM_form_aspace_address.";
    CFA "expr-cfa-kind" Error "HET A.6.4.2.2"
        "the canonical frame address is not a byte address in memory"
        "Rules with an offset from the CFA, and frame bases that use the CFA, need its address. A register, an implicit value or a composite \
         has no address.";
    FRAME_BASE "expr-frame-base" Error "HET A.3.3.5"
        "a frame base is neither a register nor one place in memory, or refers to itself"
        "DW_OP_fbreg adds an offset to the frame base. The frame base may be a register that holds an address, or a place in memory. It must \
         not use DW_OP_fbreg itself.";
    LANE_PC "expr-lane-pc" Error "HET A.3.3.5"
        "the result of DW_AT_LLVM_lane_pc is not a vector with one address per lane"
        "The result must be one location of DW_AT_LLVM_lanes elements, each as large as an address. A debugger gets an error for a lane beyond \
         its end, and cannot locate the lane.";
    ACTIVE_LANE "expr-active-lane" Error "HET A.3.3.5"
        "the mask of DW_AT_LLVM_active_lane has fewer bits than there are lanes"
        "The mask is read from the resulting location, with one bit for each of DW_AT_LLVM_lanes lanes.";
    SHORT "expr-short-location" Error "HET A.2.5.4.3.4"
        "a location has fewer bits than its object"
        "Reading the object, or the saved register, takes bits beyond the end of the storage, which is an evaluation error.";
    SHORT_COMPOSITE "expr-short-composite" Note "HET A.2.5.4.4.6"
        "a composite location describes only the first parts of an object"
        "LLVM omits the parts after the last known one. Their bits are optimized out, as if a part of undefined bits described them \
         (DW_OP_piece without a location before it). A reader that follows the specification exactly finds no storage for them.";
    LONG_COMPOSITE "expr-long-composite" Error "HET A.2.5.4.4.6"
        "a composite location has more bits than the object"
        "The parts describe the object in order, so together they can be at most as large. The expression does not show which part is too \
         large or belongs to something else. Every part after the first wrong one is shown in the wrong place.";
    LANE_OVERRUN "expr-lane-overrun" Error "HET A.2.5.4.4.1"
        "an object is larger than the dword of its lane in a vector register"
        "A vector register has 32 bits for each lane, followed by the bits of the next lane. An object of several dwords must be a \
         composite with one part in each register.";
    LANE_MISSING "expr-lane-missing" Warning "HET A.2.5.4.3.1"
        "a vector register is read without choosing a lane"
        "A vector register starts with the dword of lane 0. If the lanes are the threads of the source language, this shows the value of lane 0 \
         for all of them. DW_OP_LLVM_push_lane, lit4, mul, DW_OP_LLVM_offset selects the lane.";
    UNREACHABLE "expr-unreachable" Warning "HET A.2.5.4.2"
        "operations are never reached"
        "No branch leads to the code after the DW_OP_skip that jumps over it. The expression is valid, but the operations have no effect.";
    CONSTANT_BRANCH "expr-constant-branch" Note "HET A.2.5.4.2"
        "a conditional branch always goes the same way"
        "The entry that decides it is a constant, so one of the two paths is dead.";
    BRANCH_TARGET "expr-branch-target" Error "HET A.2.5.4.2"
        "a branch target is not the start of an operation"
        "The target must be the first byte of an operation, or the end of the expression.";
    ENDLESS "expr-endless" Error "HET A.2.5.4.2"
        "a loop has no way out"
        "The end of the expression cannot be reached from here. The evaluation stops only at a limit of the debugger.";
    MASK_SIZE "expr-mask-size" Error "HET A.2.5.4.4.6"
        "the mask of DW_OP_LLVM_select_bit_piece has fewer bits than there are elements"
        "Each bit of the mask selects an element. A mask of the generic type has as many bits as an address, and a mask of a base type as many \
         as the type.";
    MASK_SHORT "expr-mask-short" Warning "HET A.2.5.4.4.6"
        "the mask of DW_OP_LLVM_select_bit_piece is read with fewer bits than there are elements"
        "A value read by DW_OP_deref_size is extended with zeros, so the elements beyond it always come from the zero-location. For 64 \
         lanes, the mask has 8 bytes.";
    ZERO_SIZE "expr-zero-size" Error "HET A.2.5.4.4.6"
        "a vector has elements of zero bits, or none"
        "The element size and the count of DW_OP_LLVM_extend and DW_OP_LLVM_select_bit_piece must not be zero.";
    EMPTY_PART "expr-empty-part" Warning "HET A.2.5.4.4.6"
        "a part or a read of zero bits"
        "A piece of zero bits adds nothing to its composite, and a value of zero bytes holds nothing. The producer lost a size.";
    PART_SIZE "expr-part-size" Error "HET A.2.5.4.4.6"
        "a part is larger than the rest of its storage"
        "All bits of a part must be inside its storage: a scalar register has 32 bits, a vector register 32 bits for each lane.";
    OUT_OF_BOUNDS "expr-out-of-bounds" Error "HET A.2.5.4.4.1"
        "a place or a read lies outside its storage"
        "Moving a location to or past the end of its storage, or before its start, is an evaluation error, and so is reading beyond the end.";
    UNDEFINED_READ "expr-undefined-read" Error "HET A.2.5.4.3.4"
        "an expression reads a location that is undefined"
        "The undefined location has no contents, so the evaluation ends in an error. For an object without a location, leave the undefined \
         location as the result.";
    COMPOSITE_SIZE "expr-composite-size" Error "HET A.2.5.4.4.6"
        "a composite is larger than the largest address space"
        "The total size of all parts must not exceed the size of global memory.";
    INCOMPLETE "expr-incomplete-composite" Error "HET A.2.5.4.4.6"
        "an incomplete composite is used where a location is required"
        "After the last DW_OP_piece, a composite can only be the result or be completed by DW_OP_LLVM_piece_end. Before that, only piece \
         operations may use it.";
    PIECE_END "expr-piece-end" Error "HET A.2.5.4.4.6"
        "DW_OP_LLVM_piece_end without an incomplete composite on top"
        "The operation completes a composite that DW_OP_piece or DW_OP_bit_piece began. There is none.";
    PIECE_KIND "expr-piece-kind" Error "HET A.2.5.4.4.6"
        "a part is not a location"
        "DW_OP_piece takes a location, or a value of the generic type as an address in global memory. A value of another type needs \
         DW_OP_stack_value.";
    ADDRESS_SPACE "expr-address-space" Error "HET A.2.5.4.4.3"
        "the target does not define the address space"
        "AMDGPU defines none (0), generic (1), region (2), local (3), private_lane (5) and private_wave (6). A debugger cannot tell which \
         memory any other number means.";
    CFI_OPERATION "expr-cfi-operation" Error "HET A.6.4.2"
        "call frame information uses an operation that is not allowed there"
        "Call frame information must not depend on other sections, on an object, a lane or an iteration, or on the frame that it \
         describes.";
    CONTEXT "expr-missing-context" Error "HET A.2.5.1"
        "an operation needs a context that its use does not supply"
        "For example, the location of a variable is evaluated without an object, so DW_OP_push_object_address has nothing to push.";
    NO_FRAME_BASE "expr-no-frame-base" Error "HET A.2.5.4.4.3"
        "DW_OP_fbreg in a function without DW_AT_frame_base"
        "The offset has no base, so a debugger cannot show the variable.";
    NARROW "expr-narrow-register" Warning "HET A.2.5.4.4.3"
        "a register is used as an address that is larger than the register"
        "DW_OP_breg* reads as many bits as an address of its space has. For 64-bit addresses in a 32-bit register, this is an evaluation error, \
         although some debuggers extend the value with zeros. Use DW_OP_regx, DW_OP_deref_size 4, or DW_OP_LLVM_aspace_bregx with a space of 32-bit \
         addresses.";
    BASE_TYPE "expr-base-type" Error "HET A.2.5.4.3.4"
        "an operand does not refer to a base type of the unit"
        "A typed operation names a DW_TAG_base_type entry by its offset in the unit. Without this entry, the size and encoding of the value are \
         unknown.";
    TYPE_SIZE "expr-type-size" Error "HET A.2.5.4.3.4"
        "a size operand differs from the size of the type"
        "DW_OP_const_type, DW_OP_deref_type and DW_OP_xderef_type repeat the size of their type, in bytes. A different size is ill-formed. If it is \
         eight times too large, the producer wrote a size in bits.";
    REINTERPRET "expr-reinterpret-size" Error "DWARF 5 §2.5.1.6"
        "a value is reinterpreted as a type of another size"
        "DW_OP_reinterpret keeps the bits, so both types must have the same size. Use DW_OP_convert to change the size.";
    ENTRY_VALUE "expr-entry-value" Error "HET A.2.5.4.3.4"
        "DW_OP_entry_value contains neither a register nor a value"
        "Its expression must give a value, or be a DW_OP_reg* for the contents of that register.";
    CALL_TARGET "expr-call-target" Error "HET A.2.5.4.2"
        "a call or an implicit pointer refers to a missing entry"
        "The operand must be the offset of a debugging information entry. There is none at that offset.";
    POINTEE "expr-implicit-pointer" Note "HET A.2.5.4.4.5"
        "an implicit pointer refers to an entry with neither a location nor a constant"
        "A debugger can show the pointer, but dereferencing it is an evaluation error.";
    CALL_NOTHING "expr-call-nothing" Warning "HET A.2.5.4.2"
        "a called entry has no location"
        "Such a call does nothing. If it should push a location, the operations after it lack an operand.";
    CALL_CYCLE "expr-call-cycle" Error "HET A.2.5.4.2"
        "a call leads back to itself"
        "No branch is on the way, so the evaluation never ends.";
    ADDRESS_INDEX "expr-address-index" Error "HET A.2.5.4.4.3"
        "an address index is out of range"
        "DW_OP_addrx and DW_OP_constx take an address from .debug_addr, starting at DW_AT_addr_base. The unit has fewer addresses than the \
         index needs.";
    VALUE_SIZE "expr-value-size" Error "HET A.6.4.2.3"
        "the value of a register and the register differ in size"
        "The value that DW_CFA_val_expression computes must have the size of the register.";
}

/// The repetition of a rule's findings in attributes. A producer that makes a mistake once often makes it everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::verify) enum Repeats {
    /// Each finding is a separate mistake.
    Never,
    /// One mistake of the function causes findings in many of its variables.
    Function,
    /// The findings come from a habit of the compiler in the whole unit.
    Unit,
}

/// Returns the repetition of a rule's findings in attributes.
pub(in crate::verify) fn repeats(rule: &Rule) -> Repeats {
    if *rule == NO_FRAME_BASE {
        Repeats::Function
    } else if rule.severity == Severity::Note || *rule == NARROW || *rule == LANE_MISSING {
        Repeats::Unit
    } else {
        Repeats::Never
    }
}
