//! Names the hardware registers that are saved with a wave.

/// A register other than a vector, scalar or trap register.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HardwareRegister {
    /// `M0`.
    M0,
    /// The saved program counter. If the wave is parked in the trap handler, it points there.
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
