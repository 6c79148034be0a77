//! A contradiction: the broken rule, its subject, the addresses, the cause, and the expected rule.
//!
//! All of these are data; `Display` formats the message.

use core::fmt;
use core::ops::Range;

use crate::arch::{AddressSpace, Register};
use crate::isa::MachineRegister;
use crate::rule::Rule;

/// The subject of a rule.
#[non_exhaustive]
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

/// The condition under which the row is wrong. A run in which all lanes are active does not show the effect on inactive lanes.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// The row is always wrong.
    Always,
    /// A relevant lane was active on entry.
    LanesActive,
    /// A relevant lane was inactive on entry.
    LanesInactive,
    /// Lanes have been switched off since the entry.
    LanesSwitchedOff,
    /// The stack pointer on entry did not have the alignment that the function needs.
    StackMisaligned,
}

/// The lanes for which a register is saved in some place.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SavedLanes {
    /// All lanes.
    All,
    /// The lanes active on entry.
    Active,
    /// The lanes inactive on entry.
    Inactive,
}

/// 32 bits in a register.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dword {
    /// A scalar register.
    Scalar(MachineRegister),
    /// A lane of a vector or accumulation register.
    Lane(MachineRegister, u8),
}

/// A rule that a row has, or should have.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RowRule {
    /// No rule, which means that the register is unchanged.
    None,
    /// The register is unchanged, and in itself.
    SameValue,
    /// The register cannot be recovered.
    Undefined,
    /// The register is in these places, the low 32 bits first.
    Dwords(Vec<Dword>),
    /// The register is in these lanes of a vector or accumulation register.
    Vector(MachineRegister, SavedLanes),
    /// The register is in these lanes of scratch, at the CFA plus bytes of the wave.
    Scratch(i64, SavedLanes),
    /// The CFA is `(register << shift) + plus` in this space. Negative shifts are to the right.
    Cfa {
        /// The scalar register, or the low register of a pair.
        register: MachineRegister,
        /// The number of bits by which its value is shifted.
        shift: i8,
        /// The number of bytes to add.
        plus: i64,
        /// The address space.
        space: AddressSpace,
    },
    /// The register is the CFA, shifted right by this many bits.
    CfaShiftedRight(u8),
    /// Another rule, or an unknown one.
    Other,
}

/// One contradiction between the rows of a function and its code.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The rule that is broken.
    pub rule: &'static Rule,
    /// The subject of the row's rule.
    pub subject: Subject,
    /// The address ranges in which the row is wrong, ascending, half open; at least one.
    pub ranges: Vec<Range<u64>>,
    /// The condition under which the row is wrong there.
    pub condition: Condition,
    /// The address of the instruction that made the row wrong.
    pub cause_pc: u64,
    /// The reason, for the message: [`CfiRule::cause`](super::rule::CfiRule::cause).
    pub(super) cause: &'static str,
    /// The rule of the row at the first address.
    pub actual: RowRule,
    /// The correct rule there.
    pub expected: RowRule,
    /// The lanes in which a vector register without a rule still has its value there. `None` if there are none, or for other subjects.
    pub(crate) intact: Option<SavedLanes>,
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

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Condition::Always => "always",
            Condition::LanesActive => "if the lane was active on entry",
            Condition::LanesInactive => "if a lane was not active on entry",
            Condition::LanesSwitchedOff => "if lanes have been switched off since the entry",
            Condition::StackMisaligned => "if the stack pointer was not aligned like that on entry",
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

/// Completes a sentence whose subject is the subject of the rule.
impl fmt::Display for RowRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowRule::None => f.write_str("has no rule, so a debugger assumes it is unchanged"),
            RowRule::SameValue => f.write_str("is unchanged"),
            RowRule::Undefined => f.write_str("is undefined"),
            RowRule::Dwords(dwords) => {
                f.write_str("is in ")?;
                for (n, dword) in dwords.iter().enumerate() {
                    if n > 0 {
                        f.write_str(" and ")?;
                    }
                    write!(f, "{dword}")?;
                }
                Ok(())
            }
            RowRule::Vector(register, lanes) => write!(f, "is in {register}, in {lanes}"),
            RowRule::Scratch(offset, lanes) => write!(f, "is at CFA{offset:+}, in {lanes}"),
            RowRule::Cfa {
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
            RowRule::CfaShiftedRight(0) => f.write_str("is the CFA"),
            RowRule::CfaShiftedRight(bits) => write!(f, "is the CFA >> {bits}"),
            RowRule::Other => f.write_str("is elsewhere"),
        }
    }
}

/// Formats the row's rule at the first address, the reason why it is wrong, and the place of the value.
impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Contradiction {
            subject,
            actual,
            expected,
            ..
        } = self;
        let first = self.ranges.first().map_or(0, |range| range.start);
        write!(f, "at {first:#x} ")?;
        match (subject, actual) {
            (Subject::Row, _) => return self.write_cause(f),
            (_, RowRule::None) => write!(f, "{subject} {actual}, but ")?,
            (_, _) => write!(f, "the rule says that {subject} {actual}, but ")?,
        }
        self.write_cause(f)?;
        let value = match subject {
            Subject::Cfa => "The CFA",
            Subject::ReturnAddress => "The return address",
            Subject::Register(_) | Subject::Row => "The caller's value",
        };
        match expected {
            RowRule::Other => write!(f, ". {value} was not found")?,
            _ if expected == actual => {
                f.write_str(". The place is right, but the rule selects lanes by another mask than EXEC on entry")?;
            }
            RowRule::None | RowRule::SameValue => {
                write!(f, ". {value} is in the register itself")?;
            }
            RowRule::Undefined => write!(f, ". {value} is lost, so the rule must be undefined")?,
            RowRule::Dwords(_)
            | RowRule::Vector(..)
            | RowRule::Scratch(..)
            | RowRule::Cfa { .. }
            | RowRule::CfaShiftedRight(_) => write!(f, ". {value} {expected}")?,
        }
        if self.condition == Condition::Always {
            return Ok(());
        }
        write!(f, " (wrong only {})", self.condition)
    }
}

impl Contradiction {
    fn write_cause(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause.split_once("{pc}") {
            Some((before, after)) => write!(f, "{before}{:#x}{after}", self.cause_pc),
            None => f.write_str(self.cause),
        }
    }
}
