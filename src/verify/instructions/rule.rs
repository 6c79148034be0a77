//! Defines the rules for call frame instructions.

use crate::verify::rule::rules;

rules! {
    INSTRUCTION "cfi-instruction" Error "DWARF 5 §6.4.2"
        "a call frame instruction cannot be read"
        "Its code is in no table, or an operand runs past the end of the entry. Everything after it in the entry is lost, and a debugger that \
         knows no better gives up the whole function.";
    PADDING "cfi-padding" Note "DWARF 5 §6.4.2.5"
        "an entry ends in more padding than its alignment needs"
        "DW_CFA_nop at the end of an entry is there to reach the alignment. More than that only takes space, and may be what is left of \
         instructions that were overwritten.";
    ROW_ORDER "cfi-row-order" Error "DWARF 5 §6.4.2.1"
        "a row starts before the one before it"
        "Rows are for ascending addresses. An instruction that sets the location back, or past the last address there is, \
         makes a table in which an address has two rows or none.";
    ROW_OUTSIDE "cfi-row-outside-range" Error "DWARF 5 §6.4.3"
        "a row starts after the code of its entry"
        "The location was advanced past the end of the function, and rules follow that are for no address of it. \
         An advance is in units of the code alignment factor of the CIE: a factor other than the one it was computed for does this.";
    ROW_EMPTY "cfi-row-empty" Note "DWARF 5 §6.4.2.1"
        "a row covers no code"
        "The location is advanced by zero, or to the end of the code: GNU's linker writes the same rows for every procedure linkage table, \
         however small. The rules before it, or after it at the end, hold at no address, and are there for nothing.";
    ROW_UNCHANGED "cfi-row-unchanged" Note "DWARF 5 §6.4.2.1"
        "two advances have no instruction between them"
        "The second row says what the first one says. It takes space, or an instruction was lost that belongs between them.";
    ADVANCE_IN_CIE "cfi-advance-in-cie" Error "DWARF 5 §6.4.1"
        "the initial instructions of a common information entry advance the location"
        "The initial instructions set up the rules that every function starts with. They have no location that could be advanced.";
    RESTORE_STATE "cfi-restore-state" Error "DWARF 5 §6.4.2.4"
        "rules are restored without having been remembered"
        "DW_CFA_restore_state takes the rules from a stack onto which DW_CFA_remember_state put them. Here the stack is empty: readers \
         refuse the entry from here on, or keep the rules that hold.";
    REMEMBER_STATE "cfi-remember-state" Note "DWARF 5 §6.4.2.4"
        "rules are remembered and never restored"
        "The entry ends with rules on the stack. A DW_CFA_restore_state is missing, or the DW_CFA_remember_state is not needed.";
    RESTORE "cfi-restore-without-rule" Warning "HET A.6.4.2.3"
        "a register without a rule is restored"
        "DW_CFA_restore gives a register the rule that the initial instructions of the CIE gave it, or none. It has none there and none now, so \
         that nothing changes: the register is the wrong one, or its rule was lost.";
    CFA_CHANGE "cfi-cfa-change-without-register" Error "HET A.6.4.2.2"
        "the register or offset of the CFA is changed, but the CFA has none"
        "DW_CFA_def_cfa_register and DW_CFA_def_cfa_offset change one half of a CFA that is a register plus an offset. Where the CFA is an \
         expression, or has no rule, they are not allowed; the whole rule must be written again.";
    CFA_MISSING "cfi-cfa-missing" Error "HET A.6.4.1"
        "rules need the CFA, and it has no rule"
        "The rules offset(N) and val_offset(N) count from the CFA, and expressions start with it on their stack. Without a rule \
         for the CFA none of them can be evaluated.";
    NO_CFA "cfi-row-without-cfa" Warning "HET A.6.4.1"
        "a row has no rule for the CFA"
        "A debugger that stops at one of its addresses finds no caller, and some have crashed looking for one. In a kernel, which has no caller, \
         the CFA is private_wave 0. In assembly, the directives that define the CFA belong before the first instruction.";
    KERNEL_ROW "cfi-kernel-row" Warning "USAGE \"Call Frame Information\""
        "the row of a kernel is not that of the outermost frame"
        "A kernel has no caller: its return address is undefined, by which debuggers know that the stack ends, and its CFA is private_wave 0, where \
         scratch starts. With another return address a debugger looks for a caller that is not there; with another CFA it shows saved \
         registers and variables that are not the kernel's.";
    OVERWRITTEN "cfi-rule-overwritten" Note "DWARF 5 §6.4.2.3"
        "a register gets two rules in one row"
        "The second rule replaces the first, which holds at no address. One of the two was meant for another register or another row.";
    TOO_LARGE "cfi-too-large" Note "DWARF 5 §6.4"
        "the entries are too large to be checked to the end"
        "Entries that remember and restore thousands of rules again and again, or remember many rows at once, are followed up to a bound, \
         so that no file can keep the check busy for long. Compilers stay far below it. What lies after it was not checked.";
    ADDRESS_SPACE "cfi-address-space" Error "HET A.6.4.2.2"
        "the CFA is in an address space that does not exist"
        "DW_CFA_LLVM_def_aspace_cfa names the address space of the CFA by its number. AMDGPU has 0 (global), 1 (generic), 2 (region), \
         3 (local), 5 (private_lane) and 6 (private_wave); all others are reserved (USAGE \"Address Space Identifier\").";
}
