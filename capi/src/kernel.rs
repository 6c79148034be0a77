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
    /// The required work-group size in x, y and z, in work-items; three times 0 if any size is allowed.
    pub required_workgroup_size: [u64; 3],
    /// The maximum number of work-groups in x, y and z.
    pub max_workgroups: [u64; 3],
    /// Zero.
    pub reserved: [u64; 4],
}

/// An argument of a kernel. Strings belong to the object, and are NULL if absent. Unknown numbers are `UINT64_MAX`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hetdwarf_argument {
    /// `sizeof(hetdwarf_argument)`, set by the caller.
    pub size: usize,
    /// The name in the source. A hidden argument has its kind instead.
    pub name: *const c_char,
    /// The name of the type in the source.
    pub type_name: *const c_char,
    /// The kind of the value: for example `by_value`, `global_buffer` or `hidden_block_count_x`.
    pub value_kind: *const c_char,
    /// The address space that a pointer argument points into.
    pub address_space: *const c_char,
    /// The offset in the kernel's argument memory, in bytes.
    pub offset: u64,
    /// The size, in bytes.
    pub byte_size: u64,
    /// 1 if the runtime sets the argument and the program does not, else 0.
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
    /// The offset of preloaded arguments in the argument memory, in bytes; `UINT64_MAX` for other registers.
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
    /// The name in the documentation of LLVM: `GRANULATED_WORKITEM_VGPR_COUNT`.
    pub name: *const c_char,
    /// The meaning of the field.
    pub description: *const c_char,
    /// The value as encoded, not scaled.
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

/// Returns the limits for dispatches of a kernel.
///
/// * `kernel`: the index of the kernel, below `kernel_count`.
/// * `limits`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
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

/// Returns an argument of a kernel.
///
/// * `kernel`: the index of the kernel, below `kernel_count`.
/// * `index`: the index of the argument, in the order of the metadata. Hidden arguments are included.
/// * `argument`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`, also after the last argument.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
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

/// Returns the registers that hold one item when a kernel starts.
///
/// * `kernel`: the index of the kernel, below `kernel_count`.
/// * `index`: the index of the item, in the order of the registers.
/// * `registers`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`, also after the last item, and for a processor with unknown descriptors.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
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
                bit_count: bits.map_or(count * 32, |bits| {
                    bits.end.saturating_sub(bits.start).into()
                }),
                kernarg_offset: known.kernarg_offset.map_or(u64::MAX, Into::into),
                reserved: [0; 4],
            };
            plain::write(registers, &value)
        })
    })
}

/// Returns a field of a kernel's descriptor.
///
/// * `kernel`: the index of the kernel, below `kernel_count`.
/// * `index`: the index of the field. The fields depend on the processor.
/// * `field`: gets the answer; the caller sets its `size`.
///
/// Errors: `HETDWARF_NOT_FOUND`, also after the last field, and if the object has no descriptor for the kernel.
///
/// # Safety
/// Each pointer is NULL or meets the requirements above.
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
