//! Registers of a wave without a DWARF number. Debugging information cannot name them, but people can.
//!
//! Sources: AMD's instruction set architecture documents, "Hardware Registers" and "Trap Temporaries"; ROCgdb for the names.

use core::fmt;

/// A register of a wave without a DWARF number.
///
/// ```
/// use hetdwarf::arch::UnnumberedRegister;
///
/// let register = UnnumberedRegister::from_name("TTMP8").unwrap();
/// assert_eq!((register, register.size_in_bits()), (UnnumberedRegister::Ttmp(8), 32));
/// assert_eq!(register.to_string(), "ttmp8");
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnnumberedRegister {
    /// `M0`: an operand of memory and lane operations.
    M0,
    /// `MODE`: rounding, denormals, exceptions.
    Mode,
    /// `TRAPSTS`: the exceptions that occurred, up to gfx11.
    TrapSts,
    /// `FLAT_SCRATCH`, if it is not a pair of `sN`.
    FlatScratch,
    /// `XNACK_MASK`: the lanes whose access has to be replayed.
    XnackMask,
    /// `STATE_PRIV`, since gfx12.
    StatePriv,
    /// `EXCP_FLAG_PRIV`, since gfx12.
    ExcpFlagPriv,
    /// `EXCP_FLAG_USER`, since gfx12.
    ExcpFlagUser,
    /// `TRAP_CTRL`, since gfx12.
    TrapCtrl,
    /// `TTMP0` to `TTMP15`: the registers of the trap handler.
    Ttmp(u8),
}

/// The number of trap temporaries.
const TTMPS: u8 = 16;

/// The registers with a name of their own, and their sizes in bits.
const NAMED: [(UnnumberedRegister, &str, u32); 9] = [
    (UnnumberedRegister::M0, "m0", 32),
    (UnnumberedRegister::Mode, "mode", 32),
    (UnnumberedRegister::TrapSts, "trapsts", 32),
    (UnnumberedRegister::FlatScratch, "flat_scratch", 64),
    (UnnumberedRegister::XnackMask, "xnack_mask", 64),
    (UnnumberedRegister::StatePriv, "state_priv", 32),
    (UnnumberedRegister::ExcpFlagPriv, "excp_flag_priv", 32),
    (UnnumberedRegister::ExcpFlagUser, "excp_flag_user", 32),
    (UnnumberedRegister::TrapCtrl, "trap_ctrl", 32),
];

impl UnnumberedRegister {
    /// Returns all unnumbered registers.
    pub fn all() -> impl Iterator<Item = UnnumberedRegister> {
        let named = NAMED.into_iter().map(|(register, _, _)| register);
        named.chain((0..TTMPS).map(UnnumberedRegister::Ttmp))
    }

    /// Returns the register with this name, ignoring case. `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<UnnumberedRegister> {
        let mut named = NAMED.into_iter();
        if let Some((register, _, _)) = named.find(|(_, own, _)| own.eq_ignore_ascii_case(name)) {
            return Some(register);
        }
        let (letters, digits) = name.split_at_checked(4)?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit())
            && (digits.len() == 1 || !digits.starts_with('0'));
        let number: u8 = digits.parse().ok().filter(|number| *number < TTMPS)?;
        (letters.eq_ignore_ascii_case("ttmp") && is_number)
            .then_some(UnnumberedRegister::Ttmp(number))
    }

    /// Returns the size in bits.
    #[must_use]
    pub fn size_in_bits(self) -> u32 {
        let mut named = NAMED.into_iter();
        let found = named.find(|(register, _, _)| *register == self);
        found.map_or(32, |(_, _, bits)| bits)
    }

    /// Returns true for a register that calls may change. All others are the same in every frame.
    #[must_use]
    pub fn is_lost_by_calls(self) -> bool {
        self == UnnumberedRegister::M0
    }
}

/// Formats the assembler's name.
impl fmt::Display for UnnumberedRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let UnnumberedRegister::Ttmp(number) = self {
            return write!(f, "ttmp{number}");
        }
        let mut named = NAMED.into_iter();
        let name = named.find(|(register, _, _)| register == self);
        f.write_str(name.map_or("", |(_, name, _)| name))
    }
}
