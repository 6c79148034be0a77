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
        "An epilogue reads saved scalar registers from lanes of a vector register and then reloads that register for the caller. After the \
         reload, the lanes hold the caller's contents. A rule that still names them gives a wrong return address. Put the rules back directly \
         after the reads: the return address into its registers, the others to same value.";
    SCALAR_WITHOUT_RULE "cfi-scalar-without-rule" Error "USAGE \"Non-Kernel Functions\"" BySubject
        "the instruction at {pc} overwrites it"
        "a callee-saved scalar register was overwritten and has no rule"
        "Functions preserve these registers for their callers. Debuggers assume that a register without a rule is unchanged, so they show \
         the callee's value in the caller's frame. The common case is the caller's frame pointer (s33), between the copy of the stack \
         pointer into it and its rule: the rule must start where the old value is moved away.";
    VECTOR_WITHOUT_RULE "cfi-vector-without-rule" Error "USAGE \"Non-Kernel Functions\"" BySubject
        "the instruction at {pc} overwrites it"
        "a callee-saved vector register, or a lane not active on entry, was overwritten and has no rule"
        "Functions preserve these registers for their callers. Debuggers assume that a register without a rule is unchanged, so they show \
         the callee's value in the caller's frame. Compilers that emit no rules within a clause of instructions lose them in this way.";
    EXEC_WITHOUT_RULE "cfi-exec-without-rule" Warning "HET A.6.4.1" BySubject
        "the instruction at {pc} changes exec"
        "the execution mask was changed and has no rule, although other rules need its value on entry"
        "Functions save vector registers for the lanes that are active on entry, and the rules select these lanes by the value of EXEC on \
         entry. Debuggers assume that EXEC without a rule is unchanged. If lanes were switched off since entry, their values are read from the \
         wrong place. Give EXEC a rule at the place where it was saved, or make the rules use the register that holds the saved mask.";
    CFA_REALIGNED "cfi-cfa-realigned" Error "HET A.6.4.1" BySubject
        "the instruction at {pc} has rounded that register"
        "the CFA is the frame pointer that was rounded, not the stack pointer on entry"
        "A function that needs more alignment rounds the stack pointer up. The CFA is then the rounded address in some rows and the \
         incoming address in others, so a debugger looks for saved registers at wrong addresses. Keep the incoming stack pointer \
         and compute the CFA from it in every row.";
    CFA_AFTER_EPILOGUE "cfi-cfa-after-epilogue" Error "DWARF 5 §6.4.2.4" BySubject
        "this row is from before the return at {pc}"
        "code after an epilogue has the CFA of the epilogue"
        "Rows follow the order of addresses, not control flow. A block after a return is reached from the body of the function, where the \
         stack pointer had moved, and needs the rules of the body. Emit DW_CFA_remember_state before the epilogue and DW_CFA_restore_state \
         after it.";
    INACTIVE_LANES_ONLY "cfi-inactive-lanes-only" Error "HET A.6.4.1" ByCause
        "the instruction at {pc} stored only the lanes not active on entry"
        "a rule claims all lanes of a register, but only lanes inactive on entry were stored"
        "A vector register that only carries scalars is saved for the lanes that are not active on entry (s_xor_saveexec), because a function may \
         overwrite the other lanes. Its rule must select the saved lanes by the inverted mask and leave the rest undefined. Here, a debugger \
         shows old contents of scratch memory as the caller's values.";
    CLOBBERED_NOT_UNDEFINED "cfi-clobbered-not-undefined" Warning "USAGE \"Non-Kernel Functions\"" BySubject
        "the instruction at {pc} overwrites it"
        "a caller-saved register was overwritten and is not marked undefined"
        "The default rule of AMDGPU is same value. A caller-saved register that a function overwrites needs the rule undefined. Otherwise a \
         debugger shows the callee's value in the caller's frame.";
    STACK_POINTER_WITHOUT_RULE "cfi-stack-pointer-without-rule" Warning "HET A.6.4.1" BySubject
        "the instruction at {pc} overwrites it"
        "the stack pointer was moved and has no rule"
        "The caller's stack pointer is the CFA, divided by the number of lanes if it counts the bytes of one lane. Without a rule, debuggers \
         assume that it is unchanged and show the callee's stack pointer in every frame. Debuggers that know the calling convention do not need \
         the rule.";
    CFA_SCALE "cfi-cfa-scale" Error "USAGE \"Call Frame Information\"" ByCause
        "the code addresses scratch memory in the other unit"
        "the CFA and the scratch instructions use different units"
        "In code that uses buffer_* instructions for scratch memory, the stack pointer counts the bytes of all lanes. In code that uses \
         scratch_* instructions, it counts the bytes of one lane. An address in private_wave counts the bytes of all lanes. A CFA in the \
         wrong unit is off by a factor of the number of lanes.";
    CFA_WRONG "cfi-cfa-wrong" Error "HET A.6.4.1" ByCause
        "the instruction at {pc} makes that wrong"
        "the CFA is not the stack pointer on entry"
        "In every row, the CFA must be the stack pointer on entry. Here, the register that the row names holds another value at this point. \
         Everything that is found through the CFA is wrong, from the registers saved on the stack to the CFAs of the callers.";
    WRONG_PLACE "cfi-wrong-place" Error "HET A.6.4.1" BySubject
        "the instruction at {pc} makes that wrong"
        "a rule names a place that does not hold the value"
        "The code did not store the register where the rule says, or has overwritten that place since. A debugger that follows the rule shows \
         a wrong value in the caller's frame. For the return address, it shows a wrong caller.";
    ROW_INSIDE_INSTRUCTION "cfi-row-inside-instruction" Error "DWARF 5 §6.4.1" ByCause
        "a row starts inside the instruction at {pc}"
        "a row starts in the middle of an instruction"
        "The program counter is never inside an instruction, so the row applies from the next instruction on at best. An advance was \
         computed with a wrong code alignment factor or wrong instruction lengths.";
}
