//! Defines the rules for call frame instructions.

use crate::verify::rule::rules;

rules! {
    INSTRUCTION "cfi-instruction" Error "DWARF 5 §6.4.2"
        "a call frame instruction cannot be read"
        "Its code is unknown, or an operand runs past the end of the entry. The rest of the entry is lost, and some debuggers give up on the \
         whole function.";
    PADDING "cfi-padding" Note "DWARF 5 §6.4.2.5"
        "an entry has more padding than its alignment needs"
        "DW_CFA_nop at the end of an entry serves to align it. More padding wastes space, and may be the remains of overwritten \
         instructions.";
    ROW_ORDER "cfi-row-order" Error "DWARF 5 §6.4.2.1"
        "a row starts before the one before it"
        "Rows must have ascending addresses. After an instruction that moves the location back, or past the last possible \
         address, an address has two rows or none.";
    ROW_OUTSIDE "cfi-row-outside-range" Error "DWARF 5 §6.4.3"
        "a row starts after the code of its entry"
        "The location was advanced past the end of the function, so the rules that follow apply to none of its addresses. An \
         advance is in units of the code alignment factor of the CIE; a wrong factor has this effect.";
    ROW_EMPTY "cfi-row-empty" Note "DWARF 5 §6.4.2.1"
        "a row covers no code"
        "The location is advanced by zero, or to the end of the code. The rules before it, or after it at the end, apply to no address and \
         have no effect. GNU's linker writes the same rules for every procedure linkage table, however small.";
    ROW_UNCHANGED "cfi-row-unchanged" Note "DWARF 5 §6.4.2.1"
        "there is no instruction between two advances"
        "The second row repeats the first one. It wastes space, or an instruction between the two was lost.";
    ADVANCE_IN_CIE "cfi-advance-in-cie" Error "DWARF 5 §6.4.1"
        "the initial instructions of a common information entry advance the location"
        "The initial instructions set up the rules at the start of every function. They have no location to advance.";
    RESTORE_STATE "cfi-restore-state" Error "DWARF 5 §6.4.2.4"
        "rules are restored without having been remembered"
        "DW_CFA_restore_state pops rules that DW_CFA_remember_state pushed. Here the stack is empty. Readers reject the entry from \
         here on, or keep the current rules.";
    REMEMBER_STATE "cfi-remember-state" Note "DWARF 5 §6.4.2.4"
        "rules are remembered and never restored"
        "Rules are left on the stack at the end of the entry. A DW_CFA_restore_state is missing, or the DW_CFA_remember_state is \
         unnecessary.";
    RESTORE "cfi-restore-without-rule" Warning "HET A.6.4.2.3"
        "a register without a rule is restored"
        "DW_CFA_restore gives a register the rule from the initial instructions of the CIE. The register has no rule there and none now, so \
         nothing changes. The register is wrong, or its rule was lost.";
    CFA_CHANGE "cfi-cfa-change-without-register" Error "HET A.6.4.2.2"
        "the register or offset of the CFA is changed, but its rule is not a register plus an offset"
        "DW_CFA_def_cfa_register and DW_CFA_def_cfa_offset change one half of a CFA that is a register plus an offset. They are not \
         allowed if the CFA is an expression or has no rule. Write the whole rule again.";
    CFA_MISSING "cfi-cfa-missing" Error "HET A.6.4.1"
        "rules need the CFA, and it has no rule"
        "The rules offset(N) and val_offset(N) count from the CFA, and expressions start with the CFA on the stack. Without a \
         rule for the CFA, none of them can be evaluated.";
    NO_CFA "cfi-row-without-cfa" Warning "HET A.6.4.1"
        "a row has no rule for the CFA"
        "A debugger that stops at such an address finds no caller, and some debuggers crash. In a kernel, which has no caller, the CFA is \
         private_wave 0. In assembly, put the directives that define the CFA before the first instruction.";
    KERNEL_ROW "cfi-kernel-row" Warning "USAGE \"Call Frame Information\""
        "a row of a kernel does not mark the outermost frame"
        "A kernel has no caller. Its return address must be undefined, which tells debuggers that the stack ends. Its CFA is private_wave 0, where \
         scratch starts. With another return address, a debugger looks for a caller that does not exist. With another CFA, it shows wrong saved \
         registers and variables.";
    OVERWRITTEN "cfi-rule-overwritten" Note "DWARF 5 §6.4.2.3"
        "a register gets two rules in one row"
        "The second rule replaces the first, which applies to no address. One of them was meant for another register or row.";
    TOO_LARGE "cfi-too-large" Note "DWARF 5 §6.4"
        "the entries are too large to check completely"
        "The check of an entry that remembers and restores thousands of rules repeatedly, or remembers many rows at once, is limited, so \
         that no file can keep it busy for long. Compilers stay far below the limit. The rest of the entry was not checked.";
    ADDRESS_SPACE "cfi-address-space" Error "HET A.6.4.2.2"
        "the CFA is in an address space that does not exist"
        "DW_CFA_LLVM_def_aspace_cfa gives the number of the CFA's address space. AMDGPU defines 0 (global), 1 (generic), 2 (region), \
         3 (local), 5 (private_lane) and 6 (private_wave); all others are reserved (USAGE \"Address Space Identifier\").";
}
