//! Reads a file of the format `hetdwarf-wave/1`.

use super::json::{Fault, Node};
use super::{Snapshot, fault, memory};
use crate::arch::{
    AddressSpace, Apertures, Lane, LoadAddress, ProcessAddress, Register, UnnumberedRegister,
    WaveSize,
};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::meter::Meter;
use crate::wave::{Dispatch, Memory, StopReason, StopReasons};

/// The name and version of the format.
pub(super) const FORMAT: &str = "hetdwarf-wave/1";

/// The fields of the document.
const DOCUMENT: &[&str] = &[
    "format",
    "target",
    "wave_size",
    "pc",
    "load_address",
    "focus_lane",
    "registers",
    "memory",
    "apertures",
    "dispatch",
    "stop",
    "fault_address",
];

/// The fields of a memory region.
const REGION: &[&str] = &["space", "address", "bytes"];

/// The fields of the apertures.
const APERTURES: &[&str] = &["shared_base", "private_base"];

/// The fields of the dispatch.
const DISPATCH: &[&str] = &[
    "workgroup_id",
    "workgroup_size",
    "grid_size",
    "wave_in_group",
    "kernarg_address",
];

/// Reads a snapshot.
pub(super) fn from_json(text: &[u8]) -> Result<Snapshot> {
    check_room(text)?;
    let root: Node<'_> = serde_json::from_slice(text).map_err(|e| fault(e.to_string()))?;
    document(&root).map_err(|found| fault(found.to_string()))
}

/// Checks that the memory for `serde_json`'s result is in proportion to the text. A list has a value of some 32 bytes for each comma, and may have
/// double capacity. An object has a table of some 700 bytes, even if it has little content.
fn check_room(text: &[u8]) -> Result<()> {
    const VALUE: u64 = 2 * size_of::<Node<'_>>() as u64;
    const OBJECT: u64 = 11 * (size_of::<Node<'_>>() + size_of::<String>()) as u64 + 128;
    let bytes = text.iter().fold(0_u64, |bytes, letter| {
        bytes.saturating_add(match letter {
            b'{' => OBJECT,
            b',' | b'[' => VALUE,
            _ => 0,
        })
    });
    Meter::new(&Limits::DEFAULT, text.len() as u64).check_room(bytes)
}

/// Reads the whole document.
fn document(root: &Node<'_>) -> Result<Snapshot, Fault> {
    root.field("format", |node| match node.text()? {
        FORMAT => Ok(()),
        _ => Err(Fault::expected(&format!("\"{FORMAT}\""), node)),
    })?;
    // Another version may have other fields.
    root.only(DOCUMENT)?;
    let target = root.field("target", |node| node.text().map(str::to_owned))?;
    let wave_size = root.field("wave_size", |node| {
        let size = node.integer(64).ok().and_then(WaveSize::from_lanes);
        size.ok_or_else(|| Fault::expected("32 or 64", node))
    })?;
    let pc = root.field("pc", |node| node.integer(64))?;

    let mut snapshot = Snapshot::new(target, wave_size, pc);
    snapshot.load_address = root
        .optional("load_address", |node| node.integer(64))?
        .map_or_else(LoadAddress::default, LoadAddress);
    root.optional("focus_lane", |node| {
        let lane = node
            .integer(64)
            .ok()
            .and_then(|lane| u8::try_from(lane).ok());
        let chosen = lane.is_some_and(|lane| snapshot.set_focus_lane(Some(Lane(lane))).is_ok());
        let lanes = wave_size.lanes();
        if chosen {
            Ok(())
        } else {
            Err(Fault::expected(&format!("a lane below {lanes}"), node))
        }
    })?;
    root.field("registers", |node| registers(&mut snapshot, node))?;
    root.field("memory", |node| regions(&mut snapshot, node))?;
    snapshot.apertures = root.optional("apertures", apertures)?;
    snapshot.dispatch = root.optional("dispatch", dispatch)?;
    snapshot.stop = root.optional("stop", stop)?;
    snapshot.fault_address = root.optional("fault_address", |node| node.integer(64))?;
    Ok(snapshot)
}

/// Returns the fault without the name of the document, which is added at the end.
fn reason(error: Error) -> Fault {
    if let ErrorKind::Malformed { reason, .. } = error.kind() {
        Fault::new(reason)
    } else {
        Fault::new(error.to_string())
    }
}

/// Reads the object of registers.
fn registers(snapshot: &mut Snapshot, node: &Node<'_>) -> Result<(), Fault> {
    for (name, value) in node.object()? {
        register(snapshot, name, value).map_err(|fault| fault.in_field(name))?;
    }
    Ok(())
}

/// Reads one register: a value, or a list of one per lane.
fn register(snapshot: &mut Snapshot, name: &str, value: &Node<'_>) -> Result<(), Fault> {
    if let Some(register) = UnnumberedRegister::from_name(name) {
        if snapshot.unnumbered.contains_key(&register) {
            return Err(Fault::new(
                "the register is given twice, by two of its names",
            ));
        }
        let value = value.integer(register.size_in_bits())?;
        return snapshot.set_unnumbered(register, value).map_err(reason);
    }
    let register = Register::from_name(name, Some(snapshot.wave_size))
        .ok_or_else(|| Fault::new("expected the name of a register"))?;
    let size = snapshot.size_of(register).map_err(reason)?;
    if register == Register::PC_64 {
        let pc = ProcessAddress(value.integer(64)?);
        let top = snapshot.pc();
        let same = || Fault::expected(&format!("the document's \"pc\", {top:#x}"), value);
        return if pc == top { Ok(()) } else { Err(same()) };
    }
    if snapshot.registers.contains_key(&register) {
        return Err(Fault::new(
            "the register is given twice, by two of its names",
        ));
    }
    if register.is_vector() {
        let lane = |lane: &Node<'_>| {
            let known = !matches!(lane, Node::Null);
            let value = known.then(|| lane.integer(32)).transpose()?;
            Ok(value.and_then(|value| u32::try_from(value).ok()))
        };
        if !matches!(value, Node::List(_)) {
            let lanes = snapshot.wave_size.lanes();
            return Err(Fault::expected(&format!("a list of {lanes} lanes"), value));
        }
        snapshot
            .set_lanes(register, &value.list(lane)?)
            .map_err(reason)
    } else {
        snapshot
            .set_register(register, value.integer(size)?)
            .map_err(reason)
    }
}

/// Reads the list of memory regions.
fn regions(snapshot: &mut Snapshot, node: &Node<'_>) -> Result<(), Fault> {
    let mut regions = node.list(|region| -> Result<_, Fault> {
        region.only(REGION)?;
        let space = region.field("space", space)?;
        let address = region.field("address", |node| node.integer(64))?;
        let bytes = region.field("bytes", Node::bytes)?;
        memory::check(space, address, bytes.len()).map_err(reason)?;
        Ok((space, address, bytes))
    })?;
    // Ascending addresses are added efficiently, regardless of their number.
    regions.sort_by_key(|&(space, address, _)| (space, address));
    for (space, address, bytes) in regions {
        snapshot
            .add_memory(space, address, &bytes)
            .map_err(reason)?;
    }
    Ok(())
}

/// Reads the name of a hardware memory.
fn space(node: &Node<'_>) -> Result<Memory, Fault> {
    match AddressSpace::from_name(node.text()?) {
        Some(AddressSpace::None) => Ok(Memory::Global),
        Some(AddressSpace::Region) => Ok(Memory::Region),
        Some(AddressSpace::Local) => Ok(Memory::Local),
        Some(AddressSpace::PrivateWave) => Ok(Memory::PrivateWave),
        Some(AddressSpace::PrivateLane) => Err(Fault::new(
            "expected a memory, found \"private_lane\", which is \"private_wave\" as one lane sees it",
        )),
        Some(AddressSpace::Generic) => Err(Fault::new(
            "expected a memory, found \"generic\", which shows \"none\", \"local\" and private memory",
        )),
        None => {
            let expected = "\"none\", \"region\", \"local\" or \"private_wave\"";
            Err(Fault::expected(expected, node))
        }
    }
}

/// Reads the apertures.
fn apertures(node: &Node<'_>) -> Result<Apertures, Fault> {
    node.only(APERTURES)?;
    Ok(Apertures {
        shared_base: node.field("shared_base", |node| node.integer(64))?,
        private_base: node.field("private_base", |node| node.integer(64))?,
    })
}

/// Reads the dispatch.
fn dispatch(node: &Node<'_>) -> Result<Dispatch, Fault> {
    let number = |node: &Node<'_>| {
        let value = node.integer(32)?;
        u32::try_from(value).map_err(|e| Fault::new(e.to_string()))
    };
    let triple = |node: &Node<'_>| {
        let values = node.list(number)?;
        <[u32; 3]>::try_from(values).map_err(|_| Fault::expected("a list of 3", node))
    };
    node.only(DISPATCH)?;
    Ok(Dispatch {
        workgroup_id: node.field("workgroup_id", triple)?,
        workgroup_size: node.field("workgroup_size", triple)?,
        grid_size: node.field("grid_size", triple)?,
        wave_in_group: node.field("wave_in_group", number)?,
        kernarg_address: node.optional("kernarg_address", |node| node.integer(64))?,
    })
}

/// Reads the stop reasons.
fn stop(node: &Node<'_>) -> Result<StopReasons, Fault> {
    let mut reasons = StopReasons::default();
    let names = node.list(|node| {
        let found = StopReason::from_name(node.text()?);
        found.ok_or_else(|| Fault::expected("the name of a stop reason", node))
    })?;
    names.into_iter().for_each(|reason| reasons.insert(reason));
    Ok(reasons)
}
