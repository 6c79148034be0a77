//! Lists the names of DWARF 6 for operations: a dialect without codes.
//!
//! The committee has accepted the operations, but no public text assigns their codes. They are printed, parsed and evaluated in memory, without an
//! encoding. Source: the accepted proposals 230524.1 (locations on the stack), 241011.1 (evaluation context) and 211206.1 (lanes), and the open one
//! 251120.1 (overlays).

use super::table::Opcode;

macro_rules! names {
    ($($opcode:ident $name:literal;)*) => {
        /// Each operation whose name differs from its row, or that has no code in DWARF 5, with the error message for its code.
        const NAMES: &[(Opcode, &str, &str)] = &[$((
            Opcode::$opcode,
            $name,
            concat!($name, " has no code: DWARF 6 has not assigned any"),
        ),)*];
    };
}

names! {
    Offset            "DW_OP_offset";
    BitOffset         "DW_OP_bit_offset";
    Undefined         "DW_OP_undefined";
    PushLane          "DW_OP_push_lane";
    Composite         "DW_OP_composite";
    Overlay           "DW_OP_overlay";
    BitOverlay        "DW_OP_bit_overlay";
    PushObjectAddress "DW_OP_push_object_location";
    FormTlsAddress    "DW_OP_form_tls_location";
}

/// The prefix of the names of operations that have a code of two bytes.
pub(super) const PREFIXES: [&str; 2] = ["DW_OP_user_extended", "DW_OP_extended"];

/// Returns the name of an operation in DWARF 6, if it differs from the name in its row.
pub(super) fn name(opcode: Opcode) -> Option<&'static str> {
    let row = NAMES.iter().find(|(one, ..)| *one == opcode);
    row.map(|(_, name, _)| *name)
}

/// Returns the error message if DWARF 6 has no code for an operation.
pub(super) fn no_code(opcode: Opcode) -> Option<&'static str> {
    let row = NAMES.iter().find(|(one, ..)| *one == opcode);
    row.map(|(.., text)| *text)
}

/// Returns the operation with a name of DWARF 6.
pub(super) fn find(name: &str) -> Option<Opcode> {
    let row = NAMES.iter().find(|(_, one, _)| *one == name);
    row.map(|(opcode, ..)| *opcode)
}
