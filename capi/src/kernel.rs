//! Describes a kernel: limits, arguments, initial registers and descriptor fields.

use core::ffi::c_char;

use hetdwarf::object::{KernelDescriptor, KernelInfo};

use crate::handle::with;
use crate::object::{Object, hetdwarf_object};
use crate::plain::{self, sized};
use crate::status::{Answer, Fault, guard, hetdwarf_status};

/// The limits for a dispatch of a kernel. Unknown numbers are `UINT64_MAX`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_kernel_limits {
    /// `sizeof(hetdwarf_kernel_limits)`, set by the caller.
    pub size: usize,
    /// The largest work-group, in work-items.
    pub max_workgroup_size: u64,
    /// The size that a work-group has to have in x, y and z, in work-items; three times 0 if any size will do.
    pub required_workgroup_size: [u64; 3],
    /// The most work-groups in x, y and z.
    pub max_workgroups: [u64; 3],
    /// Zero.
    pub reserved: [u64; 4],
}

/// An argument of a kernel. Strings belong to the object; NULL if there is none. Numbers that are not known are
/// `UINT64_MAX`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_argument {
    /// `sizeof(hetdwarf_argument)`, set by the caller.
    pub size: usize,
    /// The name in the source; of a hidden argument its kind.
    pub name: *const c_char,
    /// The name of the type in the source.
    pub type_name: *const c_char,
    /// The kind of its value: for example `by_value`, `global_buffer` or `hidden_block_count_x`.
    pub value_kind: *const c_char,
    /// The address space of what it points to.
    pub address_space: *const c_char,
    /// Its offset in the memory for arguments, in bytes.
    pub offset: u64,
    /// Its size, in bytes.
    pub byte_size: u64,
    /// 1 if it is set up by the runtime and not by the program, or else 0.
    pub is_hidden: u64,
    /// Zero.
    pub reserved: [u64; 4],
}

/// Registers that hold one item when a kernel starts. Strings belong to the object.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_initial_registers {
    /// `sizeof(hetdwarf_initial_registers)`, set by the caller.
    pub size: usize,
    /// The registers as the assembler writes them: `s[8:9]`, `v0`, `ttmp9`.
    pub registers: *const c_char,
    /// Their contents, as `hetdwarf info` names them: `kernarg-segment-pointer`.
    pub holds: *const c_char,
    /// The number of the first register.
    pub first: u32,
    /// The number of registers, each of 32 bits.
    pub count: u32,
    /// The first bit of the item in the first register.
    pub first_bit: u32,
    /// The item's number of bits.
    pub bit_count: u32,
    /// The offset of preloaded arguments in the memory for arguments, in bytes; `UINT64_MAX` for other registers.
    pub kernarg_offset: u64,
    /// Zero.
    pub reserved: [u64; 4],
}

/// A field of a kernel descriptor. Strings belong to the object.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_descriptor_field {
    /// `sizeof(hetdwarf_descriptor_field)`, set by the caller.
    pub size: usize,
    /// Its name in the documentation of LLVM: `GRANULATED_WORKITEM_VGPR_COUNT`.
    pub name: *const c_char,
    /// Its meaning.
    pub description: *const c_char,
    /// Its value, not scaled.
    pub value: u64,
    /// Zero.
    pub reserved: [u64; 4],
}

sized! { hetdwarf_kernel_limits hetdwarf_argument hetdwarf_initial_registers hetdwarf_descriptor_field }

fn kernel_at(object: &Object, kernel: usize) -> Answer<&KernelInfo> {
    let known = object.info.kernels.get(kernel);
    known.ok_or_else(|| Fault::not_found(format!("there is no kernel {kernel}")))
}

fn item<T>(found: Option<T>, what: &str, index: usize) -> Answer<T> {
    found.ok_or_else(|| Fault::not_found(format!("the kernel has no {what} {index}")))
}

/// The limits of a kernel's dispatches.
///
/// * `kernel`: its index, below `kernel_count`.
/// * `limits`: its `size` is set; the rest is written.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Pointers are NULL or as said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_kernel_limits(
    object: *const hetdwarf_object,
    kernel: usize,
    limits: *mut hetdwarf_kernel_limits,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            let known = kernel_at(object, kernel)?;
            let or_max = |number: Option<u64>| number.unwrap_or(u64::MAX);
            let value = hetdwarf_kernel_limits {
                size: 0,
                max_workgroup_size: or_max(known.max_workgroup_size),
                required_workgroup_size: known.required_workgroup_size.unwrap_or_default(),
                max_workgroups: known.max_workgroups.map(or_max),
                reserved: [0; 4],
            };
            plain::write(limits, &value)
        })
    })
}

/// An argument of a kernel.
///
/// * `kernel`: its index, below `kernel_count`.
/// * `index`: that of the argument, from 0, in the order of the metadata. Hidden arguments are among them.
/// * `argument`: its `size` is set; the rest is written.
///
/// Errors: `HETDWARF_NOT_FOUND`, also after the last argument.
///
/// # Safety
/// Pointers are NULL or as said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_kernel_argument(
    object: *const hetdwarf_object,
    kernel: usize,
    index: usize,
    argument: *mut hetdwarf_argument,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            let all = kernel_at(object, kernel)?.arguments.as_deref();
            let known = item(all.and_then(|all| all.get(index)), "argument", index)?;
            let text = |text: &Option<hetdwarf::Untrusted<'static>>| {
                object.texts.keep_if(text.as_ref().map(|text| text.raw()))
            };
            let value = hetdwarf_argument {
                size: 0,
                name: text(&known.name),
                type_name: text(&known.type_name),
                value_kind: text(&known.value_kind),
                address_space: text(&known.address_space),
                offset: known.offset.unwrap_or(u64::MAX),
                byte_size: known.size.unwrap_or(u64::MAX),
                is_hidden: known.hidden.into(),
                reserved: [0; 4],
            };
            plain::write(argument, &value)
        })
    })
}

/// Returns the initial contents of registers of a kernel.
///
/// * `kernel`: its index, below `kernel_count`.
/// * `index`: that of the item, from 0, in the order of the registers.
/// * `registers`: its `size` is set; the rest is written.
///
/// Errors: `HETDWARF_NOT_FOUND`, also after the last item. There is none for a processor whose descriptors are not known.
///
/// # Safety
/// Pointers are NULL or as said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_kernel_initial_registers(
    object: *const hetdwarf_object,
    kernel: usize,
    index: usize,
    registers: *mut hetdwarf_initial_registers,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            let all = &kernel_at(object, kernel)?.initial_registers;
            let known = item(all.get(index), "initial registers", index)?;
            let count = u32::from(known.count);
            let bits = known.bits.as_ref();
            let value = hetdwarf_initial_registers {
                size: 0,
                registers: object.texts.keep(&known.registers()),
                holds: object.texts.keep(known.holds.name()),
                first: known.first.into(),
                count,
                first_bit: bits.map_or(0, |bits| bits.start.into()),
                bit_count: bits.map_or(count.saturating_mul(32), |bits| {
                    bits.end.saturating_sub(bits.start).into()
                }),
                kernarg_offset: known.kernarg_offset.map_or(u64::MAX, Into::into),
                reserved: [0; 4],
            };
            plain::write(registers, &value)
        })
    })
}

/// A field of a kernel's descriptor.
///
/// * `kernel`: its index, below `kernel_count`.
/// * `index`: that of the field, from 0. The processor decides which fields there are.
/// * `field`: its `size` is set; the rest is written.
///
/// Errors: `HETDWARF_NOT_FOUND`, also after the last field and if the object has no descriptor of the kernel.
///
/// # Safety
/// Pointers are NULL or as said above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hetdwarf_object_kernel_field(
    object: *const hetdwarf_object,
    kernel: usize,
    index: usize,
    field: *mut hetdwarf_descriptor_field,
) -> hetdwarf_status {
    // SAFETY: the caller keeps the contract of this function.
    guard(|| unsafe {
        with(object, |object, _| {
            let descriptor = kernel_at(object, kernel)?.descriptor.iter();
            let mut fields = descriptor.flat_map(KernelDescriptor::fields);
            let (known, number) = item(fields.nth(index), "field", index)?;
            let value = hetdwarf_descriptor_field {
                size: 0,
                name: object.texts.keep(known.name()),
                description: object.texts.keep(known.description()),
                value: number,
                reserved: [0; 4],
            };
            plain::write(field, &value)
        })
    })
}
