//! Writes a file of the format `hetdwarf-wave/1`, with one line for each register or region.

use core::fmt;

use super::Snapshot;
use super::contents::Contents;
use super::read::FORMAT;
use crate::arch::{Apertures, Lane, Register, RegisterName, WaveSize};
use crate::wave::{Dispatch, StopReason, StopReasons};

/// A snapshot that displays as its file.
#[derive(Debug)]
pub(super) struct Document<'a>(pub(super) &'a Snapshot);

impl fmt::Display for Document<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshot = self.0;
        writeln!(f, "{{\"format\": \"{FORMAT}\",")?;
        writeln!(
            f,
            " \"target\": {},",
            serde_json::Value::from(snapshot.target.as_str())
        )?;
        writeln!(f, " \"wave_size\": {},", snapshot.wave_size.lanes())?;
        writeln!(f, " \"pc\": \"{:#x}\",", snapshot.pc())?;
        writeln!(f, " \"load_address\": \"{:#x}\",", snapshot.load_address)?;
        if let Some(Lane(lane)) = snapshot.focus_lane {
            writeln!(f, " \"focus_lane\": {lane},")?;
        }
        f.write_str(" \"registers\": {")?;
        let mut separator = "\n  ";
        for (&register, contents) in &snapshot.registers {
            // The document has a separate field for it.
            if register == Register::PC_64 {
                continue;
            }
            // Reserved registers have no name, and are not in a snapshot.
            if let Some(name) = name(register, snapshot.wave_size) {
                f.write_str(separator)?;
                self::register(f, name, register, contents)?;
                separator = ",\n  ";
            }
        }
        for (register, value) in &snapshot.unnumbered {
            write!(f, "{separator}\"{register}\": \"{value:#x}\"")?;
            separator = ",\n  ";
        }
        f.write_str("},\n \"memory\": [")?;
        let mut separator = "\n  ";
        for (&memory, regions) in &snapshot.memory {
            let space = memory.address_space().name();
            for (address, bytes) in regions.iter() {
                write!(
                    f,
                    "{separator}{{\"space\": \"{space}\", \"address\": \"{address:#x}\", "
                )?;
                write!(f, "\"bytes\": \"{}\"}}", Hex(bytes))?;
                separator = ",\n  ";
            }
        }
        f.write_str("]")?;
        if let Some(Apertures {
            shared_base,
            private_base,
        }) = snapshot.apertures
        {
            write!(
                f,
                ",\n \"apertures\": {{\"shared_base\": \"{shared_base:#x}\", "
            )?;
            write!(f, "\"private_base\": \"{private_base:#x}\"}}")?;
        }
        if let Some(dispatch) = &snapshot.dispatch {
            self::dispatch(f, dispatch)?;
        }
        if let Some(reasons) = snapshot.stop {
            stop(f, reasons)?;
        }
        if let Some(address) = snapshot.fault_address {
            write!(f, ",\n \"fault_address\": \"{address:#x}\"")?;
        }
        f.write_str("}\n")
    }
}

/// Returns the name that reads back as the register: the assembler's, or LLVM's for the program counter of a 32-bit process, as `pc` is the 64-bit
/// one.
fn name(register: Register, wave_size: WaveSize) -> Option<RegisterName> {
    let same = |name: &RegisterName| {
        Register::from_name(&name.to_string(), Some(wave_size)) == Some(register)
    };
    register
        .assembler_name()
        .filter(same)
        .or(register.llvm_name())
}

/// Writes the field of a register.
fn register(
    f: &mut fmt::Formatter<'_>,
    name: RegisterName,
    register: Register,
    contents: &Contents,
) -> fmt::Result {
    write!(f, "\"{name}\": ")?;
    if !register.is_vector() {
        return write!(f, "\"{:#x}\"", contents.low());
    }
    let mut separator = "[";
    for lane in contents.lanes() {
        f.write_str(separator)?;
        match lane {
            Some(value) => write!(f, "\"{value:#x}\"")?,
            None => f.write_str("null")?,
        }
        separator = ", ";
    }
    f.write_str("]")
}

/// Writes the field of the dispatch.
fn dispatch(f: &mut fmt::Formatter<'_>, dispatch: &Dispatch) -> fmt::Result {
    let Dispatch {
        workgroup_id,
        workgroup_size,
        grid_size,
        wave_in_group,
        kernarg_address,
    } = dispatch;
    write!(
        f,
        ",\n \"dispatch\": {{\"workgroup_id\": {workgroup_id:?}, "
    )?;
    write!(
        f,
        "\"workgroup_size\": {workgroup_size:?}, \"grid_size\": {grid_size:?}, "
    )?;
    write!(f, "\"wave_in_group\": {wave_in_group}")?;
    if let Some(address) = kernarg_address {
        write!(f, ", \"kernarg_address\": \"{address:#x}\"")?;
    }
    f.write_str("}")
}

/// Writes the field of the stop reasons.
fn stop(f: &mut fmt::Formatter<'_>, reasons: StopReasons) -> fmt::Result {
    let names: Vec<_> = reasons.iter().map(StopReason::name).collect();
    write!(f, ",\n \"stop\": {names:?}")
}

/// Formats bytes as hexadecimal digits, in address order.
struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
