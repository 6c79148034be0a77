//! Registers of the hardware that are saved with a wave.

/// A register that is no vector, scalar or trap register.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HardwareRegister {
    /// `M0`.
    M0,
    /// The program counter, as saved: in the trap handler, if the wave is parked there.
    Pc,
    /// `EXEC`.
    Exec,
    /// `VCC`.
    Vcc,
    /// `FLAT_SCRATCH`, or `SCRATCH_BASE`.
    FlatScratch,
    /// `XNACK_MASK`.
    XnackMask,
    /// `MODE`.
    Mode,
    /// `STATUS`, as saved.
    Status,
    /// `TRAPSTS`.
    Trapsts,
    /// `STATE_PRIV`.
    StatePriv,
    /// `EXCP_FLAG_PRIV`.
    ExcpFlagPriv,
    /// `EXCP_FLAG_USER`.
    ExcpFlagUser,
    /// `TRAP_CTRL`.
    TrapCtrl,
    /// The state of the barrier.
    Barrier,
}
