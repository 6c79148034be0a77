//! What is found: which rule of which row the code contradicts, where, and what the row should have said.
//!
//! Everything is data here; the sentences are made at the end of this file, and nowhere else.

use core::fmt;
use core::ops::Range;

use crate::arch::{AddressSpace, Register};
use crate::isa::MachineRegister;

/// What kind of contradiction it is: one for each rule. `spec-notes/verify-machine.md` has an example of each.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContradictionKind {
    /// A rule names lanes of a vector register that has been reloaded for the caller.
    StaleLane,
    /// A scalar register that functions preserve was overwritten and has no rule.
    ScalarWithoutRule,
    /// A vector register that functions preserve was overwritten and has no rule.
    VectorWithoutRule,
    /// The execution mask was changed and has no rule, though rules ask for it as it was on entry.
    ExecWithoutRule,
    /// The CFA is the frame pointer that was rounded, not the stack pointer on entry.
    CfaRealigned,
    /// Code laid out behind an epilogue has the epilogue's CFA.
    CfaAfterEpilogue,
    /// A rule claims all lanes of a register that was stored for those inactive on entry alone.
    InactiveLanesOnly,
    /// A register that functions need not preserve was overwritten and is not said to be undefined.
    ClobberedNotUndefined,
    /// The stack pointer was moved and has no rule.
    StackPointerWithoutRule,
    /// The CFA is scaled otherwise than scratch is addressed.
    CfaScale,
    /// The CFA is not the stack pointer on entry.
    CfaWrong,
    /// A rule names a place that has something else.
    WrongPlace,
    /// A row starts in the middle of an instruction.
    RowInsideInstruction,
}

impl ContradictionKind {
    /// Every kind.
    pub const ALL: &'static [ContradictionKind] = &[
        ContradictionKind::StaleLane,
        ContradictionKind::ScalarWithoutRule,
        ContradictionKind::VectorWithoutRule,
        ContradictionKind::ExecWithoutRule,
        ContradictionKind::CfaRealigned,
        ContradictionKind::CfaAfterEpilogue,
        ContradictionKind::InactiveLanesOnly,
        ContradictionKind::ClobberedNotUndefined,
        ContradictionKind::StackPointerWithoutRule,
        ContradictionKind::CfaScale,
        ContradictionKind::CfaWrong,
        ContradictionKind::WrongPlace,
        ContradictionKind::RowInsideInstruction,
    ];
}

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The canonical frame address.
    Cfa,
    /// The return address.
    ReturnAddress,
    /// A register of the caller.
    Register(Register),
    /// The row as a whole.
    Row,
}

/// When the row is wrong. It depends on the run: code that is run with all lanes active does not show
/// what happens to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum When {
    /// Each time.
    Always,
    /// If a lane that matters was active on entry.
    LanesActive,
    /// If a lane that matters was not active on entry.
    LanesInactive,
    /// If lanes have been switched off since the entry.
    LanesSwitchedOff,
    /// If the stack pointer was not aligned on entry as the function needs it.
    StackMisaligned,
}

/// Which lanes a register is kept for in some place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SavedLanes {
    /// All.
    All,
    /// Those active on entry.
    Active,
    /// Those not active on entry.
    Inactive,
}

/// 32 bits in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dword {
    /// A scalar register.
    Scalar(MachineRegister),
    /// A lane of a vector or accumulation register.
    Lane(MachineRegister, u8),
}

/// What a row says of something, or should have said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Nothing, which is to say that it is unchanged.
    None,
    /// That it is unchanged: the register itself has it.
    SameValue,
    /// That it cannot be found.
    Undefined,
    /// That it is in these places, the low 32 bits first.
    Dwords(Vec<Dword>),
    /// That it is in a vector or accumulation register, in these lanes.
    Vector(MachineRegister, SavedLanes),
    /// That it is in scratch at the CFA plus bytes of the wave, in these lanes.
    Scratch(i64, SavedLanes),
    /// Of the CFA: that it is `(register << shift) + plus` in this space; shifts below zero go right.
    Cfa {
        /// The scalar register, or the low one of two.
        register: MachineRegister,
        /// Bits that its value is shifted by.
        shift: i8,
        /// Bytes that are added.
        plus: i64,
        /// The address space.
        space: AddressSpace,
    },
    /// That it is the CFA, shifted right by this many bits.
    CfaShiftedRight(u8),
    /// Something else, or it is not known what.
    Other,
}

/// One contradiction between the rows of a function and its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// What kind it is.
    pub kind: ContradictionKind,
    /// What the rule is about.
    pub subject: Subject,
    /// The addresses at which it is wrong, ascending, half open; at least one.
    pub ranges: Vec<Range<u64>>,
    /// When it is wrong there.
    pub when: When,
    /// The address of the instruction that made it wrong.
    pub culprit: u64,
    /// What the row says at the first address.
    pub says: Rule,
    /// What it should have said there.
    pub should: Rule,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Cfa => f.write_str("the CFA"),
            Subject::ReturnAddress => f.write_str("the return address"),
            Subject::Register(register) => write!(f, "{register}"),
            Subject::Row => f.write_str("the row"),
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            When::Always => "always",
            When::LanesActive => "if the lane was active on entry",
            When::LanesInactive => "if a lane was not active on entry",
            When::LanesSwitchedOff => "if lanes have been switched off since the entry",
            When::StackMisaligned => "if the stack pointer was not aligned so on entry",
        })
    }
}

impl fmt::Display for Dword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dword::Scalar(register) => write!(f, "{register}"),
            Dword::Lane(register, lane) => write!(f, "lane {lane} of {register}"),
        }
    }
}

impl fmt::Display for SavedLanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SavedLanes::All => "all lanes",
            SavedLanes::Active => "the lanes active on entry",
            SavedLanes::Inactive => "the lanes not active on entry",
        })
    }
}

/// As the end of a sentence that began with what the rule is about.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::None => f.write_str("has no rule, so it is unchanged"),
            Rule::SameValue => f.write_str("is unchanged"),
            Rule::Undefined => f.write_str("is undefined"),
            Rule::Dwords(dwords) => {
                f.write_str("is in ")?;
                for (n, dword) in dwords.iter().enumerate() {
                    if n > 0 {
                        f.write_str(" and ")?;
                    }
                    write!(f, "{dword}")?;
                }
                Ok(())
            }
            Rule::Vector(register, lanes) => write!(f, "is in {register}, in {lanes}"),
            Rule::Scratch(offset, lanes) => write!(f, "is at CFA{offset:+}, in {lanes}"),
            Rule::Cfa {
                register,
                shift,
                plus,
                space,
            } => {
                write!(f, "is {register}")?;
                match shift {
                    0 => {}
                    1.. => write!(f, " << {shift}")?,
                    ..0 => write!(f, " >> {}", shift.unsigned_abs())?,
                }
                if *plus != 0 {
                    write!(f, "{plus:+}")?;
                }
                write!(f, " in {}", space.name())
            }
            Rule::CfaShiftedRight(0) => f.write_str("is the CFA"),
            Rule::CfaShiftedRight(bits) => write!(f, "is the CFA >> {bits}"),
            Rule::Other => f.write_str("is elsewhere"),
        }
    }
}

/// What is wrong, from which instruction on, and what the row should have said.
impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Contradiction {
            kind,
            subject,
            ranges,
            when,
            culprit,
            says,
            should,
        } = self;
        let first = ranges.first().map_or(0, |range| range.start);
        if *kind == ContradictionKind::RowInsideInstruction {
            return write!(
                f,
                "a row starts at {first:#x}, inside the instruction at {culprit:#x}"
            );
        }
        write!(f, "at {first:#x} the row says that {subject} {says}; ")?;
        match kind {
            ContradictionKind::StaleLane => {
                write!(
                    f,
                    "the instruction at {culprit:#x} has reloaded what those lanes were"
                )?;
            }
            ContradictionKind::CfaAfterEpilogue => {
                write!(f, "that is from before the return at {culprit:#x}")?;
            }
            ContradictionKind::InactiveLanesOnly => {
                write!(
                    f,
                    "the instruction at {culprit:#x} stored the lanes not active on entry alone"
                )?;
            }
            ContradictionKind::CfaScale => {
                f.write_str("scratch is addressed otherwise")?;
            }
            ContradictionKind::ScalarWithoutRule
            | ContradictionKind::VectorWithoutRule
            | ContradictionKind::ExecWithoutRule
            | ContradictionKind::ClobberedNotUndefined
            | ContradictionKind::StackPointerWithoutRule
            | ContradictionKind::CfaRealigned
            | ContradictionKind::CfaWrong
            | ContradictionKind::WrongPlace
            | ContradictionKind::RowInsideInstruction => {
                write!(f, "the instruction at {culprit:#x} changed that")?;
            }
        }
        if *should == Rule::Other {
            f.write_str("; where the value is now was not found")?;
        } else {
            write!(f, "; it should have said that {subject} {should}")?;
        }
        if *when == When::Always {
            return Ok(());
        }
        write!(f, " (wrong {when})")
    }
}
