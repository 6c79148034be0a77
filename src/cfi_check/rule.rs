//! The table of rules that machine code can contradict.
//!
//! To add a rule, add a row here, and the check in [`compare`](super::compare) that names it.

use crate::rule::{Rule, Severity};

/// A rule of this table.
#[derive(Debug)]
pub(super) struct CfiRule {
    /// The rule.
    pub(super) rule: Rule,
    /// The contradictions that are merged into one.
    pub(super) merge: Merge,
    /// The reason why the row is wrong, for the message. `{pc}` stands for the address of the instruction that caused it.
    pub(super) cause: &'static str,
}

/// The contradictions of a rule that are merged into one, if they have the same function, subject and condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Merge {
    /// All contradictions.
    BySubject,
    /// Contradictions with the same cause.
    ByCause,
}

/// A row is `NAME "identifier" Severity "section" Merge "cause" "summary" "explanation";`.
macro_rules! rules {
    ($($name:ident $id:literal $severity:ident $spec:literal $merge:ident $cause:literal $summary:literal $explanation:literal;)*) => {
        $(pub(super) static $name: CfiRule = CfiRule {
            rule: Rule {
                id: $id,
                severity: Severity::$severity,
                spec: $spec,
                summary: $summary,
                explanation: $explanation,
            },
            merge: Merge::$merge,
            cause: $cause,
        };)*
        /// Every rule that machine code can contradict.
        pub(crate) const RULES: &[&Rule] = &[$(&$name.rule),*];
    };
}

rules! {
    STALE_LANE "cfi-stale-lane" Error "HET A.6.4.1" ByCause
        "the instruction at {pc} has reloaded that register for the caller"
        "a rule names lanes of a vector register that has been reloaded for the caller"
        "An epilogue takes saved scalar registers out of the lanes of a vector register and then reloads that register for the caller. From the \
         reload on the lanes hold what is the caller's, and a rule that still names them makes a debugger take it for a return address. Put \
         the rules back directly after the reads: the return address into its registers, the others to same value.";
    SCALAR_WITHOUT_RULE "cfi-scalar-without-rule" Error "USAGE \"Non-Kernel Functions\"" BySubject
        "the instruction at {pc} overwrites it"
        "a callee-saved scalar register was overwritten and has no rule"
        "Functions preserve these registers for their callers. One that has no rule is taken to be unchanged, so that a debugger shows the \
         callee's value in the caller's frame. The caller's frame pointer (s33) between the copy of the stack pointer into it and its \
         rule is the common case: the rule belongs where the old value was moved away.";
    VECTOR_WITHOUT_RULE "cfi-vector-without-rule" Error "USAGE \"Non-Kernel Functions\"" BySubject
        "the instruction at {pc} overwrites it"
        "a callee-saved vector register, or a lane not active on entry, was overwritten and has no rule"
        "Functions preserve these registers for their callers. One that has no rule is taken to be unchanged, so that a debugger shows the \
         callee's value in the caller's frame. Back ends that make no rules within a clause of instructions lose them in this way.";
    EXEC_WITHOUT_RULE "cfi-exec-without-rule" Warning "HET A.6.4.1" BySubject
        "the instruction at {pc} changes exec"
        "the execution mask was changed and has no rule, though rules ask for it as it was on entry"
        "Vector registers are saved for the lanes that are active on entry, and their rules select lanes by the mask of the entry. EXEC without \
         a rule is taken to be unchanged: where lanes have been switched off since, their values are taken from the wrong place. \
         Give EXEC a rule where it was saved, or let the rules use the register in which it was.";
    CFA_REALIGNED "cfi-cfa-realigned" Error "HET A.6.4.1" BySubject
        "the instruction at {pc} has rounded that register"
        "the CFA is the frame pointer that was rounded, not the stack pointer on entry"
        "A function that needs more alignment rounds the stack pointer up. The CFA is then the rounded address in some rows and the \
         incoming one in others, and what was saved relative to one is looked for relative to the other. Keep the incoming \
         stack pointer and compute the CFA from it.";
    CFA_AFTER_EPILOGUE "cfi-cfa-after-epilogue" Error "DWARF 5 §6.4.2.4" BySubject
        "this row is from before the return at {pc}"
        "code laid out after an epilogue has the epilogue's CFA"
        "Rows are in the order of addresses, not of control flow. A block after a return is reached from the body, where the stack pointer \
         had moved, and needs the body's rules: DW_CFA_remember_state before the epilogue and DW_CFA_restore_state after it.";
    INACTIVE_LANES_ONLY "cfi-inactive-lanes-only" Error "HET A.6.4.1" ByCause
        "the instruction at {pc} stored only the lanes not active on entry"
        "a rule claims all lanes of a register, but only lanes inactive on entry were stored"
        "A vector register that only carries scalars is saved for the lanes that are not active on entry (s_xor_saveexec), because the others are \
         free to use. Its rule must select those lanes by the inverted mask; the rest is undefined. As it is, a debugger \
         shows what lay in scratch before as the caller's values.";
    CLOBBERED_NOT_UNDEFINED "cfi-clobbered-not-undefined" Warning "USAGE \"Non-Kernel Functions\"" BySubject
        "the instruction at {pc} overwrites it"
        "a caller-saved register was overwritten and is not marked undefined"
        "AMDGPU's default rule is same value. A caller-saved register that a function overwrites needs the rule undefined, or a debugger shows \
         the callee's value in the caller's frame.";
    STACK_POINTER_WITHOUT_RULE "cfi-stack-pointer-without-rule" Warning "HET A.6.4.1" BySubject
        "the instruction at {pc} overwrites it"
        "the stack pointer was moved and has no rule"
        "The caller's stack pointer is the CFA, divided by the number of lanes where it counts the bytes of one. Without a rule it is taken to be \
         unchanged, and is the callee's in every frame. Debuggers that know the calling convention can do without.";
    CFA_SCALE "cfi-cfa-scale" Error "USAGE \"Call Frame Information\"" ByCause
        "scratch is addressed in the other unit"
        "the CFA uses another scale than the scratch instructions"
        "Where scratch is reached by buffer_* instructions the stack pointer counts the bytes of all lanes, where it is reached by scratch_* \
         those of one. An address in private_wave counts those of all. A CFA that confuses the two names the wrong memory, by a \
         factor of the number of lanes.";
    CFA_WRONG "cfi-cfa-wrong" Error "HET A.6.4.1" ByCause
        "the instruction at {pc} makes that wrong"
        "the CFA is not the stack pointer on entry"
        "The CFA is the stack pointer as it was on entry, in every row. Here the register that the row names holds something else at this \
         point of the code, so that everything that is found by the CFA is wrong, from the registers saved on the stack to the CFAs of callers.";
    WRONG_PLACE "cfi-wrong-place" Error "HET A.6.4.1" BySubject
        "the instruction at {pc} makes that wrong"
        "a rule names a place that does not hold the value"
        "The code did not store the register where the rule says, or has overwritten that place since. A debugger that follows the rule shows \
         something else as the caller's value; if it is the return address, another caller.";
    ROW_INSIDE_INSTRUCTION "cfi-row-inside-instruction" Error "DWARF 5 §6.4.1" ByCause
        "a row starts inside the instruction at {pc}"
        "a row starts in the middle of an instruction"
        "No program counter is there, so that the row holds from the next instruction on at best. An advance was computed with another \
         code alignment factor, or with other lengths of instructions.";
}
