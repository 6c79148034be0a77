//! Defines the bits of a saved wave that give its stop reasons.
//!
//! They differ between generations; the tables are in [`rules`]. The reasons themselves are defined in `wave`. Source: AMD's ROCdbgapi
//! (`architecture.cpp`, stop reasons of each generation).

use super::hardware_register::HardwareRegister;
pub use crate::wave::{StopReason, StopReasons};

/// A condition for a reason.
#[derive(Clone, Copy, Debug)]
pub(super) struct StopRule {
    pub(super) reason: StopReason,
    pub(super) condition: Condition,
}

/// The state that is tested.
#[derive(Clone, Copy, Debug)]
pub(super) enum Condition {
    /// A bit of a register is set, and also the bit of another register that enables it, if any.
    Bit {
        flag: (HardwareRegister, u32),
        enabled: Option<(HardwareRegister, u32)>,
        /// A bit of the flag's register that must be 0.
        unless: Option<u32>,
    },
    /// The trap number is in this range.
    TrapId { first: u32, last: u32 },
}

impl StopRule {
    /// Returns true if the reason applies, given the values of registers and the trap number.
    pub(super) fn applies(
        &self,
        register: impl Fn(HardwareRegister) -> Option<u32>,
        trap_id: u32,
    ) -> bool {
        let is_set = |(name, bit): (HardwareRegister, u32)| {
            register(name).is_some_and(|value| value.wrapping_shr(bit) & 1 == 1)
        };
        match self.condition {
            Condition::Bit {
                flag,
                enabled,
                unless,
            } => {
                is_set(flag)
                    && enabled.is_none_or(is_set)
                    && !unless.is_some_and(|bit| is_set((flag.0, bit)))
            }
            Condition::TrapId { first, last } => (first..=last).contains(&trap_id),
        }
    }
}

/// The tables.
pub(super) mod rules {
    use super::StopReason::{
        AddressError, AssertTrap, Breakpoint, DebugTrap, FpDivideBy0, FpInexact, FpInputDenormal,
        FpInvalidOperation, FpOverflow, FpUnderflow, IllegalInstruction, IntDivideBy0,
        MemoryViolation, SingleStep, Trap, Watchpoint,
    };
    use super::{Condition, StopRule};
    use crate::gpu_core::hardware_register::HardwareRegister;

    /// One row for each rule: reason, register and bit; then the register and bit that enable it, or the bit of the same register that must be 0.
    macro_rules! stop_rules {
        ($($reason:ident $register:ident $bit:literal $(if $enable:ident $enable_bit:literal)? $(unless $unless:literal)?;)*) => {
            &[$(StopRule {
                reason: $reason,
                condition: Condition::Bit {
                    flag: (HardwareRegister::$register, $bit),
                    enabled: stop_rules!(@enabled $($enable $enable_bit)?),
                    unless: stop_rules!(@unless $($unless)?),
                },
            },)*]
        };
        (@enabled) => { None };
        (@enabled $register:ident $bit:literal) => { Some((HardwareRegister::$register, $bit)) };
        (@unless) => { None };
        (@unless $bit:literal) => { Some($bit) };
    }

    /// gfx9 to gfx11.
    #[rustfmt::skip]
    pub(in crate::gpu_core) const TRAPSTS: &[StopRule] = stop_rules! {
        MemoryViolation    Trapsts 28;
        AddressError       Trapsts 8  unless 28;
        IllegalInstruction Trapsts 11;
        Watchpoint         Trapsts 7  if Mode 19;
        Watchpoint         Trapsts 12 if Mode 19;
        Watchpoint         Trapsts 13 if Mode 19;
        Watchpoint         Trapsts 14 if Mode 19;
        FpInvalidOperation Trapsts 0  if Mode 12;
        FpInputDenormal    Trapsts 1  if Mode 13;
        FpDivideBy0        Trapsts 2  if Mode 14;
        FpOverflow         Trapsts 3  if Mode 15;
        FpUnderflow        Trapsts 4  if Mode 16;
        FpInexact          Trapsts 5  if Mode 17;
        IntDivideBy0       Trapsts 6  if Mode 18;
    };

    /// gfx942 and gfx950, in addition to [`TRAPSTS`].
    #[rustfmt::skip]
    pub(in crate::gpu_core) const TRAPSTS_GFX94X: &[StopRule] = stop_rules! {
        Trap       Trapsts 23;
        Trap       Trapsts 24;
        SingleStep Trapsts 25;
    };

    /// gfx11, in addition to [`TRAPSTS`].
    #[rustfmt::skip]
    pub(in crate::gpu_core) const TRAPSTS_GFX11: &[StopRule] = stop_rules! {
        Trap       Trapsts 17;
        Trap       Trapsts 18;
        SingleStep Trapsts 20;
    };

    /// gfx12.
    #[rustfmt::skip]
    pub(in crate::gpu_core) const EXCP_FLAGS: &[StopRule] = stop_rules! {
        MemoryViolation    ExcpFlagPriv 12;
        AddressError       ExcpFlagPriv 4 unless 12;
        IllegalInstruction ExcpFlagPriv 6;
        Watchpoint         ExcpFlagPriv 0 if TrapCtrl 7;
        Watchpoint         ExcpFlagPriv 1 if TrapCtrl 7;
        Watchpoint         ExcpFlagPriv 2 if TrapCtrl 7;
        Watchpoint         ExcpFlagPriv 3 if TrapCtrl 7;
        Trap               ExcpFlagPriv 8;
        Trap               ExcpFlagPriv 9;
        SingleStep         ExcpFlagPriv 11;
        FpInvalidOperation ExcpFlagUser 0 if TrapCtrl 0;
        FpInputDenormal    ExcpFlagUser 1 if TrapCtrl 1;
        FpDivideBy0        ExcpFlagUser 2 if TrapCtrl 2;
        FpOverflow         ExcpFlagUser 3 if TrapCtrl 3;
        FpUnderflow        ExcpFlagUser 4 if TrapCtrl 4;
        FpInexact          ExcpFlagUser 5 if TrapCtrl 5;
        IntDivideBy0       ExcpFlagUser 6 if TrapCtrl 6;
    };

    const fn trap(reason: super::StopReason, first: u32, last: u32) -> StopRule {
        StopRule {
            reason,
            condition: Condition::TrapId { first, last },
        }
    }

    /// The operand of `s_trap`, limited to 15.
    pub(in crate::gpu_core) const TRAP_IDS: &[StopRule] = &[
        trap(Breakpoint, 1, 1),
        trap(AssertTrap, 2, 2),
        trap(DebugTrap, 3, 3),
        trap(Trap, 4, 15),
    ];
}
