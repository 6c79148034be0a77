//! Defines the rules for expressions in all uses.

use crate::rule::Rule;
use crate::verify::Severity;
use crate::verify::rule::rules;

rules! {
    DECODE "expr-decode" Error "HET A.7.7.1"
        "an expression cannot be decoded"
        "An operation has a code that no table defines, or its operands run past the end of the expression. Nothing from there on can be \
         evaluated: a debugger reports an error instead of the variable, or cannot unwind.";
    FOREIGN "expr-foreign-operation" Warning "HET A.2.5.4.0"
        "an operation has operands that no document describes"
        "A vendor code is assigned, but the encoding of its operands is not published, as for DW_OP_LLVM_NVIDIA_mux. A debugger can neither \
         evaluate the operation nor find the one after it.";
    UNDERFLOW "expr-stack-underflow" Error "HET A.2.5.4"
        "an operation needs more stack entries than there are"
        "Each operation takes a fixed number of entries. With fewer on the stack the expression is ill-formed, and a debugger gives up.";
    LEFTOVER "expr-leftover" Note "HET A.2.5.4"
        "entries are left on the stack below the result"
        "Only the top entry counts at the end. What lies below it was computed for nothing, or the operation that should have taken it is \
         missing. Entries of the initial stack do not count.";
    KIND "expr-kind" Error "HET A.2.5.4"
        "an operation finds a value where it needs a location, or the reverse"
        "A value of the generic type converts to a location in global memory, and a location of whole bytes in global memory to a value. \
         Nothing else converts: a register or a place in private memory is no value before it is read.";
    OPERAND_TYPES "expr-operand-types" Error "DWARF 5 §2.5.1.4"
        "an operation combines values of different types"
        "Both operands of an arithmetic, logical or relational operation must have the same type. DW_OP_convert makes them equal.";
    DIVIDE "expr-divide-by-zero" Error "DWARF 5 §2.5.1.4"
        "a value is divided by the constant zero"
        "The divisor is zero whatever the program does, so that the expression has no result.";
    RESULT_KIND "expr-result-kind" Error "HET A.2.5.4"
        "the result is a value where a location is required, or the reverse"
        "What an attribute or a call frame instruction requires decides. A value of the generic type serves as a location in global memory, a \
         location of whole bytes in global memory as a value; nothing else converts.";
    VALUE_AS_LOCATION "expr-constant-as-location" Warning "HET A.2.5.4.4.3"
        "a constant stands where a location is required"
        "A constant converts to the place in global memory with that address. Nearly always the object has that value, which DW_OP_stack_value \
         says, or lies in another address space, which DW_OP_LLVM_form_aspace_address says.";
    CFA "expr-cfa-kind" Error "HET A.6.4.2.2"
        "the canonical frame address is not a byte address in memory"
        "Every rule that is an offset from the CFA, and every frame base that is the CFA, counts from it; a register, an implicit value or a \
         composite has no address to count from.";
    FRAME_BASE "expr-frame-base" Error "HET A.3.3.5"
        "a frame base is neither a register nor one place in memory, or refers to itself"
        "DW_OP_fbreg adds an offset to the frame base. It may be a register, whose contents is then the address, or a place in memory, and it \
         must not use DW_OP_fbreg itself.";
    LANE_PC "expr-lane-pc" Error "HET A.3.3.5"
        "the result of DW_AT_LLVM_lane_pc is not a vector with one address per lane"
        "It must be one location of DW_AT_LLVM_lanes elements, each as large as an address. A debugger that reads the element of a lane beyond \
         its end gets an error, and shows the lane nowhere.";
    ACTIVE_LANE "expr-active-lane" Error "HET A.3.3.5"
        "the mask of DW_AT_LLVM_active_lane has fewer bits than there are lanes"
        "The mask is read with one bit for each of DW_AT_LLVM_lanes lanes from the location that the expression gives.";
    SHORT "expr-short-location" Error "HET A.2.5.4.3.4"
        "a location has fewer bits than its object"
        "Reading the object, or the register that was saved there, takes bits beyond the end of the storage, which is an evaluation error.";
    SHORT_COMPOSITE "expr-short-composite" Note "HET A.2.5.4.4.6"
        "a composite location describes only the first parts of an object"
        "LLVM leaves out the parts after the last one that it knows. The bits beyond are optimized out, as if a part of undefined bits stood \
         for them (DW_OP_piece without a location before it); a reader that takes the expression by the letter finds no storage for them.";
    LONG_COMPOSITE "expr-long-composite" Error "HET A.2.5.4.4.6"
        "a composite location has more bits than the object"
        "The parts are those of the object in its order, so that together they are at most as large. Which of them are too large, or belong to \
         something else, nobody can tell: every part after the first wrong one is shown in the wrong place.";
    LANE_OVERRUN "expr-lane-overrun" Error "HET A.2.5.4.4.1"
        "an object is larger than the dword that its lane has of a vector register"
        "A vector register has 32 bits for each lane, and the bits after them are those of the next lane. An object of several dwords is a \
         composite with one part in each register.";
    LANE_MISSING "expr-lane-missing" Warning "HET A.2.5.4.3.1"
        "a vector register is read without choosing a lane"
        "The start of a vector register is the dword of lane 0. In a function whose lanes are the threads of the source language this shows lane \
         0 for all of them; DW_OP_LLVM_push_lane, lit4, mul, DW_OP_LLVM_offset chooses the lane.";
    UNREACHABLE "expr-unreachable" Warning "HET A.2.5.4.2"
        "operations are never reached"
        "No branch leads after the DW_OP_skip that jumps over them. Nothing is wrong by that alone, but what they were for is not done.";
    CONSTANT_BRANCH "expr-constant-branch" Note "HET A.2.5.4.2"
        "a conditional branch always goes the same way"
        "The entry that decides it is a constant, so that one of the two ways is dead.";
    BRANCH_TARGET "expr-branch-target" Error "HET A.2.5.4.2"
        "a branch leads to a place that is not the start of an operation"
        "The target must be the first byte of an operation, or the end of the expression.";
    ENDLESS "expr-endless" Error "HET A.2.5.4.2"
        "a loop has no way out"
        "From here the end of the expression cannot be reached, so that its evaluation stops only at a limit of the debugger.";
    MASK_SIZE "expr-mask-size" Error "HET A.2.5.4.4.6"
        "the mask of DW_OP_LLVM_select_bit_piece has fewer bits than there are elements"
        "Each element is chosen by a bit of the mask. A mask of the generic type has as many bits as an address, one of a base type as many as \
         the type.";
    MASK_SHORT "expr-mask-short" Warning "HET A.2.5.4.4.6"
        "the mask of DW_OP_LLVM_select_bit_piece is read from fewer bits than there are elements"
        "A value read by DW_OP_deref_size is extended with zeros, so that the elements beyond it always come from the zero-location. For 64 \
         lanes the mask has 8 bytes.";
    ZERO_SIZE "expr-zero-size" Error "HET A.2.5.4.4.6"
        "a vector has elements of zero bits, or none"
        "The element size and the count of DW_OP_LLVM_extend and DW_OP_LLVM_select_bit_piece must not be zero.";
    EMPTY_PART "expr-empty-part" Warning "HET A.2.5.4.4.6"
        "a part or a read of zero bits"
        "A piece of no bits adds nothing to its composite, and a value of no bytes holds nothing; a size was lost on the way.";
    PART_SIZE "expr-part-size" Error "HET A.2.5.4.4.6"
        "a part is larger than what is left of its storage"
        "All bits of a part must be inside the storage that it is taken from: a scalar register has 32 bits, a vector register 32 for each lane.";
    OUT_OF_BOUNDS "expr-out-of-bounds" Error "HET A.2.5.4.4.1"
        "a place or a read lies outside its storage"
        "A location that is moved to or past the end of its storage, or before its start, is an evaluation error; and so is reading beyond the end.";
    UNDEFINED_READ "expr-undefined-read" Error "HET A.2.5.4.3.4"
        "an expression reads a location that is undefined"
        "The undefined location has no contents, so that the evaluation ends in an error. To say that an object is nowhere the location itself \
         is the result.";
    COMPOSITE_SIZE "expr-composite-size" Error "HET A.2.5.4.4.6"
        "a composite is larger than the largest address space"
        "The parts of a composite together must not have more bits than global memory.";
    INCOMPLETE "expr-incomplete-composite" Error "HET A.2.5.4.4.6"
        "a composite that is not complete stands where a location is required"
        "After the last DW_OP_piece a composite can only be the result, or be completed by DW_OP_LLVM_piece_end; before that no operation but a \
         piece may touch it.";
    PIECE_END "expr-piece-end" Error "HET A.2.5.4.4.6"
        "DW_OP_LLVM_piece_end without an incomplete composite on top"
        "It completes a composite that DW_OP_piece or DW_OP_bit_piece began, and there is none.";
    PIECE_KIND "expr-piece-kind" Error "HET A.2.5.4.4.6"
        "a part is not a location"
        "DW_OP_piece takes a location, or a value of the generic type, which then is an address in global memory. A value of another type needs \
         DW_OP_stack_value.";
    ADDRESS_SPACE "expr-address-space" Error "HET A.2.5.4.4.3"
        "the target does not define the address space"
        "AMDGPU defines none (0), generic (1), region (2), local (3), private_lane (5) and private_wave (6). A debugger cannot tell which \
         memory any other number means.";
    CFI_OPERATION "expr-cfi-operation" Error "HET A.6.4.2"
        "call frame information uses an operation that is not allowed there"
        "It must not depend on other sections, on an object, a lane or an iteration, and not on the frame that it describes.";
    CONTEXT "expr-missing-context" Error "HET A.2.5.1"
        "an operation needs a context that its use does not supply"
        "The location of a variable is evaluated without an object, so that DW_OP_push_object_address has nothing to push.";
    NO_FRAME_BASE "expr-no-frame-base" Error "HET A.2.5.4.4.3"
        "DW_OP_fbreg in a function without DW_AT_frame_base"
        "There is nothing to add the offset to: a debugger cannot show the variable.";
    NARROW "expr-narrow-register" Warning "HET A.2.5.4.4.3"
        "a register is used as an address that is larger than the register"
        "DW_OP_breg* reads as many bits as an address of its space has, and a 32-bit register does not have 64: by the text an evaluation error. Some \
         debuggers extend with zeros. DW_OP_regx, DW_OP_deref_size 4 says what is meant; DW_OP_LLVM_aspace_bregx reads 32 bits for a space \
         of 32 bits.";
    BASE_TYPE "expr-base-type" Error "HET A.2.5.4.3.4"
        "an operand refers to no base type of the unit"
        "A typed operation names a DW_TAG_base_type entry by its offset in the unit. Without it the size and encoding of the value are not known.";
    TYPE_SIZE "expr-type-size" Error "HET A.2.5.4.3.4"
        "a size operand is not the size of the type"
        "DW_OP_const_type, DW_OP_deref_type and DW_OP_xderef_type repeat the size of their type, in bytes. A different size is ill-formed; one eight \
         times too large is a size in bits.";
    REINTERPRET "expr-reinterpret-size" Error "DWARF 5 §2.5.1.6"
        "a value is reinterpreted as a type of another size"
        "DW_OP_reinterpret keeps the bits, so both types must have the same size. DW_OP_convert changes the size.";
    ENTRY_VALUE "expr-entry-value" Error "HET A.2.5.4.3.4"
        "DW_OP_entry_value contains neither a register nor a value"
        "Its expression must give a value, or be a DW_OP_reg* whose contents is meant.";
    CALL_TARGET "expr-call-target" Error "HET A.2.5.4.2"
        "a call, or an implicit pointer, refers to no entry"
        "The operand is the offset of a debugging information entry; there is none at that offset.";
    POINTEE "expr-implicit-pointer" Note "HET A.2.5.4.4.5"
        "an implicit pointer points to an entry without location and constant"
        "The pointer can be shown, but not what it points to: dereferencing it is an evaluation error.";
    CALL_NOTHING "expr-call-nothing" Warning "HET A.2.5.4.2"
        "a called entry has no location"
        "Such a call does nothing at all. Where it should push a location, the operations after it miss it.";
    CALL_CYCLE "expr-call-cycle" Error "HET A.2.5.4.2"
        "a call leads back to itself"
        "No branch is on the way, so that the evaluation never ends.";
    ADDRESS_INDEX "expr-address-index" Error "HET A.2.5.4.4.3"
        "an index is outside the addresses of the unit"
        "DW_OP_addrx and DW_OP_constx take an address from .debug_addr, after DW_AT_addr_base. There are fewer.";
    VALUE_SIZE "expr-value-size" Error "HET A.6.4.2.3"
        "the value of a register has not the size of the register"
        "The value that DW_CFA_val_expression computes must have a type as large as the register.";
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
