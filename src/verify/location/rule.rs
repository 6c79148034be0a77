//! Defines the rules for entries of the debugging information that give locations.

use crate::verify::rule::rules;

rules! {
    ENTRY "loc-entry" Error "DWARF 5 §7.5"
        "an entry of the debugging information cannot be read"
        "An abbreviation is missing, a form is unknown, or a value runs past the end of its unit. All entries of the unit from there on are lost: \
         functions, variables and types.";
    LIST "loc-list" Error "DWARF 5 §7.29"
        "a location list cannot be read to its end"
        "Its offset or index is outside the section, an entry has an undefined kind, or the section ends before the list does. The object has \
         no location from there on.";
    BACKWARDS "loc-range-backwards" Error "DWARF 5 §2.6.2"
        "an entry of a location list ends before it starts"
        "The ending address must not be smaller than the starting address. A debugger never finds the entry, or rejects the list.";
    EMPTY "loc-range-empty" Note "DWARF 5 §2.6.2"
        "an entry of a location list covers no code"
        "Its range is empty, which is allowed and has no effect.";
    OVERLAP "loc-range-overlap" Note "HET A.2.5.5"
        "entries of a location list overlap"
        "At these addresses, the object is in several places at once, and all hold the same value. This is allowed. Debuggers without support for \
         it use the first place.";
    OUTSIDE "loc-range-outside" Warning "DWARF 5 §2.6.2"
        "an entry of a location list covers code outside of its function"
        "The object exists only in its function, so no program location outside ever needs the entry. The base address or the ends are \
         wrong.";
    DROPPED "loc-dropped-code" Note "DWARF 5 §2.17"
        "an entry describes a function that the linker dropped"
        "The linker dropped an unused or duplicate function, or merged it with a function of the same code. Its entry stays, with 0 or another \
         address without code. The locations of its variables are not checked.";
    LEGACY "loc-legacy-llvm" Note "HET A.2.5.4.3.4"
        "a unit writes locations as LLVM does without the extensions"
        "The locations end in a constant, DW_OP_swap and DW_OP_xderef. As specified, these load a value, although the location itself is meant. \
         hetdwarf and ROCm's debugger recognize this pattern; other debuggers show wrong values.";
    FRAME_BASE_REGISTER "loc-narrow-frame-base" Note "HET A.3.3.5"
        "a frame base is a register that is narrower than an address"
        "A frame base that is a register means global memory at the address in the register, but a scalar register holds only half of such an \
         address. The compiler means private memory: DW_OP_regx, DW_OP_deref_size 4, lit5 or lit6, DW_OP_LLVM_form_aspace_address.";
    REFERENCE "loc-reference" Error "DWARF 5 §7.5.5"
        "a reference leads to no entry"
        "No entry starts at that offset. The type, declaration or parts that the reference supplies are lost.";
    REFERENCE_KIND "loc-reference-kind" Error "DWARF 5 §2.2"
        "a reference leads to an entry of the wrong kind"
        "DW_AT_type must name a type, DW_AT_import a unit, and DW_AT_abstract_origin and DW_AT_specification the entry that this one is an \
         instance or completion of. A debugger ignores the entry or shows something else.";
    REFERENCE_CYCLE "loc-reference-cycle" Error "DWARF 5 §2.13"
        "an entry completes itself"
        "Its DW_AT_abstract_origin and DW_AT_specification lead back to it, so the attributes that they should supply do not exist.";
    NO_SIZE "loc-type-without-size" Warning "DWARF 5 §5.1"
        "an object with a location has a base type without size"
        "DW_AT_byte_size of the type is 0, so there is nothing to read. A debugger shows no value, or an invented one. The producer did not know the \
         type; Triton does this for pointers.";
    LANES "loc-lanes" Error "HET A.3.3.5"
        "DW_AT_LLVM_lanes is zero, or more than a wavefront has"
        "The attribute is the number of source threads that a wavefront runs: at least one, and at most one for each lane.";
    LANE_PC_LANES "loc-lane-pc-lanes" Warning "HET A.3.3.5"
        "a function has DW_AT_LLVM_lane_pc and no DW_AT_LLVM_lanes"
        "Without DW_AT_LLVM_lanes, a wavefront has one source thread. A debugger reads the element of lane 0 and shows no other lane.";
    ACTIVE_LANE "loc-active-lane" Note "HET A.3.3.5"
        "a function has DW_AT_LLVM_active_lane and no DW_AT_LLVM_lane_pc"
        "Debuggers then show inactive lanes at the program counter of the wavefront, which is wrong.";
    ADDRESS_SPACE "loc-address-space" Error "HET A.5.3"
        "DW_AT_LLVM_address_space is not an address space of the target"
        "AMDGPU defines none (0), generic (1), region (2), local (3), private_lane (5) and private_wave (6). A debugger cannot follow the pointer.";
    MEMORY_SPACE "loc-memory-space" Warning "HET A.2.14"
        "DW_AT_LLVM_memory_space is an unassigned number"
        "Assigned are none (0), global (1), constant (2), group (3), private (4) and, for AMDGPU, region (0x8000).";
}
