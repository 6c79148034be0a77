//! Lists the reasons why a wave stopped, which core files, snapshots and debuggers share.
//!
//! Source: AMD's ROCdbgapi (`amd_dbgapi_wave_stop_reasons_t`).

/// One row for each reason: name, and meaning.
macro_rules! reasons {
    ($($reason:ident $name:literal $text:literal;)*) => {
        /// A reason why a wave stopped. Several can apply at once.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum StopReason { $(#[doc = concat!($text, ".")] $reason,)* }

        impl StopReason {
            /// All reasons, the most specific first.
            pub const ALL: &'static [StopReason] = &[$(StopReason::$reason,)*];

            /// Returns the name in AMD's debugger library.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(StopReason::$reason => $name,)* }
            }

            /// Finds a reason by its name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<StopReason> {
                StopReason::ALL.iter().copied().find(|reason| reason.name() == name)
            }

            /// Returns the meaning, as text.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(StopReason::$reason => $text,)* }
            }
        }
    };
}

#[rustfmt::skip]
reasons! {
    MemoryViolation    "memory_violation"     "access to memory that is unmapped, or mapped without permission for this access";
    AddressError       "address_error"        "access to an address that is misaligned or outside all memory";
    IllegalInstruction "illegal_instruction"  "illegal instruction";
    FpInvalidOperation "fp_invalid_operation" "invalid floating-point operation";
    FpInputDenormal    "fp_input_denormal"    "denormal floating-point input";
    FpDivideBy0        "fp_divide_by_0"       "floating-point division by zero";
    FpOverflow         "fp_overflow"          "floating-point overflow";
    FpUnderflow        "fp_underflow"         "floating-point underflow";
    FpInexact          "fp_inexact"           "inexact floating-point result";
    IntDivideBy0       "int_divide_by_0"      "integer division by zero";
    AssertTrap         "assert_trap"          "abort, or an assertion that failed";
    DebugTrap          "debug_trap"           "debug trap";
    Breakpoint         "breakpoint"           "breakpoint";
    Watchpoint         "watchpoint"           "watchpoint";
    SingleStep         "single_step"          "single step";
    Trap               "trap"                 "trap";
}

impl StopReason {
    /// Returns true if the program is at fault, and false if a debugger stopped it.
    #[must_use]
    pub const fn is_fault(self) -> bool {
        !matches!(
            self,
            StopReason::DebugTrap
                | StopReason::Breakpoint
                | StopReason::Watchpoint
                | StopReason::SingleStep
        )
    }

    /// Returns true if the wave continues after the faulting instruction before it stops, unless the program runs with precise memory.
    #[must_use]
    pub const fn is_late(self) -> bool {
        matches!(self, StopReason::MemoryViolation)
    }

    /// Returns true if the wave stopped at an `s_trap` instruction.
    #[must_use]
    pub const fn is_trap(self) -> bool {
        matches!(
            self,
            StopReason::Breakpoint
                | StopReason::AssertTrap
                | StopReason::DebugTrap
                | StopReason::Trap
        )
    }
}

/// The reasons why a wave stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StopReasons(u32);

impl StopReasons {
    /// Adds a reason.
    pub fn insert(&mut self, reason: StopReason) {
        self.0 |= 1u32.wrapping_shl(reason as u32);
    }

    /// Returns true if this one is among them.
    #[must_use]
    pub const fn contains(self, reason: StopReason) -> bool {
        self.0.wrapping_shr(reason as u32) & 1 == 1
    }

    /// Returns true if there are none: a debugger stopped the wave, or it did not stop.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the reasons, the most specific first.
    pub fn iter(self) -> impl Iterator<Item = StopReason> {
        StopReason::ALL
            .iter()
            .copied()
            .filter(move |&reason| self.contains(reason))
    }
}
