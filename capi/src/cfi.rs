//! Writes call frame information from the prologues and epilogues of a back end.

use core::cell::RefCell;
use core::ffi::c_char;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use hetdwarf::arch::{Lane, Register, TargetId, WaveSize};
use hetdwarf::frame::write::{
    Common, FrameBytes, FrameTable, FunctionFrame, Mask, RelocationTarget, ReturnAddress, Start,
    Target,
};

use crate::handle::{give, handles, with};
use crate::plain::{self, sized};
use crate::status::{Answer, Fault, guard, hetdwarf_status};
use crate::text::{Texts, given};

/// The CFA is the current value of `register`, the stack or frame pointer, plus `offset`, in the register's units.
pub const HETDWARF_CFI_CFA_FROM_REGISTER: u32 = 0;
/// The CFA is in lane `lane` of `holder`.
pub const HETDWARF_CFI_CFA_FROM_LANE: u32 = 1;
/// The function is a kernel: its CFA is the start of the wave's scratch, and it has no caller.
pub const HETDWARF_CFI_KERNEL_ENTRY: u32 = 2;
/// The caller's stack pointer, in `register`, equals the CFA.
pub const HETDWARF_CFI_STACK_POINTER_FROM_CFA: u32 = 3;
/// The return address is in `register` and the register after it.
pub const HETDWARF_CFI_RETURN_ADDRESS_IN_PAIR: u32 = 4;
/// The return address is in lane `lane` of `holder` and the lane after it.
pub const HETDWARF_CFI_RETURN_ADDRESS_IN_LANES: u32 = 5;
/// There is no return address: this is the outermost frame.
pub const HETDWARF_CFI_RETURN_ADDRESS_UNDEFINED: u32 = 6;
/// `register` was copied to `holder`.
pub const HETDWARF_CFI_SAVED_IN_REGISTER: u32 = 7;
/// `register` was written to lane `lane` of `holder`. A register of 64 bits also uses the lane after it.
pub const HETDWARF_CFI_SAVED_IN_LANE: u32 = 8;
/// The vector register `register` was copied to `holder` for the lanes of the mask.
pub const HETDWARF_CFI_SAVED_IN_VECTOR: u32 = 9;
/// The vector register `register` was stored to scratch for the lanes of the mask, `offset` bytes per lane from the CFA.
pub const HETDWARF_CFI_SAVED_TO_SCRATCH: u32 = 10;
/// A vector register was stored to scratch for all lanes.
pub const HETDWARF_CFI_SAVED_TO_SCRATCH_WHOLE: u32 = 11;
/// A vector register was stored to scratch for the lanes outside the mask. Its value in the other lanes is lost.
pub const HETDWARF_CFI_INACTIVE_SAVED_TO_SCRATCH: u32 = 12;
/// `register` was overwritten, and its value was not saved.
pub const HETDWARF_CFI_CLOBBERED: u32 = 13;
/// `register` was reloaded: it holds its value on entry again.
pub const HETDWARF_CFI_RESTORED: u32 = 14;
/// Saves the current rules.
pub const HETDWARF_CFI_REMEMBER: u32 = 15;
/// Restores the rules that were saved last.
pub const HETDWARF_CFI_RESTORE: u32 = 16;
/// Adds call frame instructions without an event of their own, as bytes: `bytes` and `length`.
pub const HETDWARF_CFI_ESCAPE: u32 = 17;

/// The mask is EXEC as it was on entry to the function.
pub const HETDWARF_MASK_EXEC_ON_ENTRY: u32 = 0;
/// The mask is in `mask_register`: EXEC, VCC, or the lower of two scalar registers.
pub const HETDWARF_MASK_REGISTER: u32 = 1;
/// The mask is in lane `mask_lane` of `mask_register`. A mask of 64 lanes also uses the lane after it.
pub const HETDWARF_MASK_LANE: u32 = 2;

/// The effect of an instruction on the caller's registers. Registers are DWARF numbers. Fields that the kind does not mention are zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_cfi_event {
    /// `sizeof(hetdwarf_cfi_event)`.
    pub size: usize,
    /// The offset from which the event holds: the end of the instruction, in bytes from the start of the function. Events come in this
    /// order.
    pub code_offset: u64,
    /// `HETDWARF_CFI_…`.
    pub kind: u32,
    /// The register that the event describes.
    pub register_number: u32,
    /// The register that holds its value.
    pub holder: u32,
    /// The lane of `holder`.
    pub lane: u32,
    /// See the kinds.
    pub offset: i64,
    /// `HETDWARF_MASK_…`.
    pub mask: u32,
    /// The register of the mask.
    pub mask_register: u32,
    /// The lane of the mask.
    pub mask_lane: u32,
    /// Zero.
    pub padding: u32,
    /// See `HETDWARF_CFI_ESCAPE`.
    pub bytes: *const u8,
    /// The number of bytes.
    pub length: usize,
    /// Zero.
    pub reserved: [u64; 4],
}

/// A field of a section that takes an absolute address: a symbol plus an addend. Strings belong to the writer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_relocation {
    /// The offset of the field in the section, in bytes.
    pub offset: u64,
    /// The addend.
    pub addend: u64,
    /// The symbol; NULL for the start of this section in the linked output.
    pub symbol: *const c_char,
    /// The size of the field, in bytes: 4 or 8.
    pub size: u64,
}

/// A section. Its arrays belong to the writer, and are valid until the next write or until the writer is freed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_section {
    /// `sizeof(hetdwarf_section)`, set by the caller.
    pub size: usize,
    /// The contents. Fields with a relocation hold its addend.
    pub bytes: *const u8,
    /// The number of bytes.
    pub length: usize,
    /// The relocations of the section, by ascending offset.
    pub relocations: *const hetdwarf_relocation,
    /// The number of entries.
    pub relocation_count: usize,
    /// Zero.
    pub reserved: [u64; 4],
}

sized! { hetdwarf_cfi_event hetdwarf_section }

/// The contents of a writer's handle.
pub(crate) struct Writer {
    target: Target,
    functions: RefCell<Vec<FunctionFrame>>,
    /// The starts of the functions.
    starts: RefCell<BTreeSet<Start>>,
    written: RefCell<Option<(FrameBytes, Vec<hetdwarf_relocation>)>>,
    texts: Texts,
}

/// A writer of call frame information. Free it with `hetdwarf_free`.
#[derive(Debug)]
pub struct hetdwarf_cfi {
    _private: [u8; 0],
}

handles! { hetdwarf_cfi: Writer = b"hdwcfiw\x01"; }

fn register(number: u32) -> Answer<Register> {
    let register = Register::from_number(number.into());
    register.ok_or_else(|| Fault::argument(format!("there is no register {number}")))
}

fn lane(number: u32) -> Answer<Lane> {
    let lane = u8::try_from(number).ok().filter(|lane| *lane < 64);
    lane.map(Lane)
        .ok_or_else(|| Fault::argument(format!("there is no lane {number}")))
}

fn mask(event: &hetdwarf_cfi_event) -> Answer<Mask> {
    Ok(match event.mask {
        HETDWARF_MASK_EXEC_ON_ENTRY => Mask::ExecOnEntry,
        HETDWARF_MASK_REGISTER => Mask::Register(register(event.mask_register)?),
        HETDWARF_MASK_LANE => Mask::Lane {
            register: register(event.mask_register)?,
            lane: lane(event.mask_lane)?,
        },
        other => return Err(Fault::argument(format!("there is no mask {other}"))),
    })
}

/// Applies an event to a function.
///
/// # Safety
/// The pointer in the event meets the requirements of `hetdwarf_cfi_event`.
unsafe fn apply(frame: &mut FunctionFrame, event: &hetdwarf_cfi_event) -> Answer<()> {
    let subject = || register(event.register_number);
    let holder = || register(event.holder);
    let scratch = || {
        let offset = u32::try_from(event.offset);
        offset.map_err(|_| Fault::argument(format!("{} is not an offset in scratch", event.offset)))
    };
    match event.kind {
        HETDWARF_CFI_CFA_FROM_REGISTER => frame.cfa_from_register(subject()?, event.offset)?,
        HETDWARF_CFI_CFA_FROM_LANE => frame.cfa_from_lane(holder()?, lane(event.lane)?)?,
        HETDWARF_CFI_KERNEL_ENTRY => frame.kernel_entry()?,
        HETDWARF_CFI_STACK_POINTER_FROM_CFA => frame.stack_pointer_from_cfa(subject()?)?,
        HETDWARF_CFI_RETURN_ADDRESS_IN_PAIR => {
            frame.return_address_in(ReturnAddress::Pair(subject()?))?
        }
        HETDWARF_CFI_RETURN_ADDRESS_IN_LANES => frame.return_address_in(ReturnAddress::Lanes {
            register: holder()?,
            low: lane(event.lane)?,
            high: lane(event.lane.saturating_add(1))?,
        })?,
        HETDWARF_CFI_RETURN_ADDRESS_UNDEFINED => {
            frame.return_address_in(ReturnAddress::Undefined)?
        }
        HETDWARF_CFI_SAVED_IN_REGISTER => frame.saved_in_register(subject()?, holder()?)?,
        HETDWARF_CFI_SAVED_IN_LANE => {
            frame.saved_in_lane(subject()?, holder()?, lane(event.lane)?)?
        }
        HETDWARF_CFI_SAVED_IN_VECTOR => {
            frame.saved_in_vector(subject()?, holder()?, mask(event)?)?
        }
        HETDWARF_CFI_SAVED_TO_SCRATCH => {
            frame.saved_to_scratch(subject()?, scratch()?, mask(event)?)?
        }
        HETDWARF_CFI_SAVED_TO_SCRATCH_WHOLE => {
            frame.saved_to_scratch_whole(subject()?, scratch()?)?
        }
        HETDWARF_CFI_INACTIVE_SAVED_TO_SCRATCH => {
            frame.inactive_saved_to_scratch(subject()?, scratch()?, mask(event)?)?
        }
        HETDWARF_CFI_CLOBBERED => frame.clobbered(subject()?)?,
        HETDWARF_CFI_RESTORED => frame.restored(subject()?)?,
        HETDWARF_CFI_REMEMBER => frame.remember()?,
        HETDWARF_CFI_RESTORE => frame.restore()?,
        HETDWARF_CFI_ESCAPE => {
            // SAFETY: the caller keeps the contract of this function.
            frame.escape(unsafe { plain::bytes(event.bytes, event.length, "bytes") }?)?
        }
        other => return Err(Fault::argument(format!("there is no event {other}"))),
    };
    Ok(())
}

impl Writer {
    fn table(&self) -> FrameTable {
        let mut table = FrameTable::new();
        for function in self.functions.borrow().iter() {
            table.add(function.clone());
        }
        table
    }
}

/// Creates a writer of call frame information.
///
/// * `target`: the target ID, `gfx90a` for example.
/// * `wave_size`: the lanes of a wave, 32 or 64.
/// * `cfi`: gets the handle, which the caller frees; NULL on error.
///
/// Errors: `HETDWARF_MALFORMED` for an unknown target; `HETDWARF_UNSUPPORTED` if the target has no waves of this size, or no scratch.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_cfi_new(
    target: *const c_char,
    wave_size: u32,
    cfi: *mut *mut hetdwarf_cfi,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        give(cfi, || {
            let target: TargetId = given(target, "target")?.parse::<TargetId>()?;
            let size = WaveSize::from_lanes(wave_size.into());
            let size = size.ok_or_else(|| Fault::argument("a wave has 32 or 64 lanes"))?;
            let writer = Writer {
                target: Target::of(target.processor(), size)?,
                functions: RefCell::default(),
                starts: RefCell::default(),
                written: RefCell::default(),
                texts: Texts::default(),
            };
            Ok((Arc::default(), writer))
        })
    })
}

/// Begins a function. The events that follow belong to it.
///
/// * `symbol`: the symbol at its first instruction.
/// * `size`: the size of its code, in bytes.
///
/// Errors: `HETDWARF_INVALID_ARGUMENT` also if another function starts at the symbol; `HETDWARF_MALFORMED` if the symbol is empty, or if
/// the code extends past the last address.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_cfi_function(
    cfi: *mut hetdwarf_cfi,
    symbol: *const c_char,
    size: u64,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(cfi.cast_const(), |writer, _| {
            let start = Start::symbol(given(symbol, "symbol")?);
            let is_known = writer.starts.borrow().contains(&start);
            if is_known {
                let message = format!("another function starts at {start}");
                return Err(Fault::argument(message));
            }
            let frame = FunctionFrame::new(writer.target, &Common::new(), start.clone(), size)?;
            writer.starts.borrow_mut().insert(start);
            writer.functions.borrow_mut().push(frame);
            Ok(())
        })
    })
}

/// Adds an event to the current function.
///
/// * `event`: the effect of an instruction.
///
/// Errors: `HETDWARF_NOT_FOUND` if no function was begun; `HETDWARF_MALFORMED` or `HETDWARF_FAILED` if the event does not fit, for example
/// a register of the wrong kind or a decreasing offset. The function is then unchanged except for its code offset.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_cfi_add(
    cfi: *mut hetdwarf_cfi,
    event: *const hetdwarf_cfi_event,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(cfi.cast_const(), |writer, _| {
            let event = plain::read(event)?;
            let mut functions = writer.functions.borrow_mut();
            let frame = functions.last_mut();
            let frame = frame.ok_or_else(|| Fault::not_found("no function has been begun"))?;
            frame.at(event.code_offset)?;
            apply(frame, &event)
        })
    })
}

/// Writes the section `.debug_frame` of all functions.
///
/// * `section`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_LIMIT` or `HETDWARF_MALFORMED` if it is too large.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_cfi_write(
    cfi: *mut hetdwarf_cfi,
    section: *mut hetdwarf_section,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(cfi.cast_const(), |writer, _| {
            plain::size_at(section)?;
            let bytes = writer.table().write()?;
            let points = bytes.relocations.iter().map(|point| hetdwarf_relocation {
                offset: point.offset,
                addend: point.addend,
                symbol: match &point.target {
                    RelocationTarget::Symbol(name) => writer.texts.keep(name),
                    RelocationTarget::ThisSection => core::ptr::null(),
                },
                size: point.size.into(),
            });
            let points: Vec<hetdwarf_relocation> = points.collect();
            let mut written = writer.written.borrow_mut();
            let (bytes, points) = written.insert((bytes, points));
            let value = hetdwarf_section {
                size: 0,
                bytes: bytes.bytes.as_ptr(),
                length: bytes.bytes.len(),
                relocations: points.as_ptr(),
                relocation_count: points.len(),
                reserved: [0; 4],
            };
            plain::write(section, &value)
        })
    })
}

/// Writes the call frame information of all functions as assembler directives (`.cfi_…`), function by function.
///
/// * `text`: gets a string that belongs to the writer.
///
/// Errors: `HETDWARF_UNSUPPORTED` for rules that the assembler has no directive for.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_cfi_text(
    cfi: *mut hetdwarf_cfi,
    text: *mut *const c_char,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(cfi.cast_const(), |writer, _| {
            let mut all = String::new();
            for function in writer.table().directives()? {
                // Writing to a string cannot fail.
                let _ = writeln!(all, "{function}");
            }
            plain::put(text, writer.texts.keep(&all), "text")
        })
    })
}
