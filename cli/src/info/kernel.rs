//! Prints the details of a kernel: limits, initial registers, arguments and the descriptor.

use std::io::Write;

use hetdwarf::object::{ArgumentInfo, KernelDescriptor, KernelInfo};

use crate::failure::Failure;
use crate::table::{cells, table};

/// Prints the details of a kernel. Prints nothing if only the facts in the table are known.
pub(super) fn print(kernel: &KernelInfo, out: &mut dyn Write) -> Result<(), Failure> {
    let limits = limits(kernel);
    let arguments = kernel.arguments.as_deref().unwrap_or(&[]);
    let is_row = limits.is_empty() && kernel.initial_registers.is_empty();
    if is_row && arguments.is_empty() && kernel.descriptor.is_none() {
        return Ok(());
    }
    writeln!(out, "\n{}", kernel.name)?;
    for limit in limits {
        writeln!(out, "  {limit}")?;
    }
    if !kernel.initial_registers.is_empty() {
        writeln!(out, "  registers at the start")?;
    }
    for registers in &kernel.initial_registers {
        writeln!(out, "    {registers}")?;
    }
    if !arguments.is_empty() {
        let header = cells(["offset", "size", "name", "type", "kind"]);
        let rows = arguments.iter().map(argument_row).collect();
        writeln!(out, "  arguments")?;
        indented(&table(Some(header), rows, 0..2), out)?;
    }
    match &kernel.descriptor {
        Some(descriptor) => print_descriptor(descriptor, out),
        None => Ok(()),
    }
}

/// Returns the limits that a dispatch of the kernel has to observe.
fn limits(kernel: &KernelInfo) -> Vec<String> {
    let by = |size: [u64; 3]| size.map(|n| n.to_string()).join("x");
    let mut limits = Vec::new();
    if let Some(most) = kernel.max_workgroup_size {
        limits.push(format!("at most {most} work-items in a work-group"));
    }
    if let Some(size) = kernel.required_workgroup_size {
        limits.push(format!("work-groups of {} work-items", by(size)));
    }
    if let Some(size) = kernel.workgroup_size_hint {
        limits.push(format!("work-groups likely of {} work-items", by(size)));
    }
    for (most, dimension) in kernel.max_workgroups.iter().zip(["x", "y", "z"]) {
        if let Some(most) = most {
            limits.push(format!("at most {most} work-groups in {dimension}"));
        }
    }
    if kernel.uniform_workgroup_size == Some(true) {
        limits.push("grid a multiple of the work-group".to_owned());
    }
    if let Some(size) = kernel.cluster_dims {
        limits.push(format!("clusters of {} work-groups", by(size)));
    }
    limits
}

fn argument_row(argument: &ArgumentInfo) -> Vec<comfy_table::Cell> {
    let number = |number: Option<u64>| number.map_or("-".to_owned(), |n| n.to_string());
    let text = |text: Option<&dyn ToString>| text.map_or("-".to_owned(), ToString::to_string);
    let kind = argument
        .value_kind
        .as_ref()
        .map(|kind| kind as &dyn ToString);
    cells([
        number(argument.offset),
        number(argument.size),
        text(argument.name.as_ref().map(|name| name as _)),
        text(argument.type_name.as_ref().map(|name| name as _)),
        // A hidden argument is named by its kind.
        text(kind.filter(|_| !argument.hidden).or(Some(&"hidden"))),
    ])
}

fn print_descriptor(descriptor: &KernelDescriptor, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "  descriptor at {:#x}", descriptor.address)?;
    let rows = descriptor.fields().map(|(field, value)| {
        let is_number = u32::try_from(value).is_ok();
        cells([
            field.name().to_owned(),
            // The offset of the code is a signed 64-bit number.
            if is_number {
                value.to_string()
            } else {
                format!("{value:#x}")
            },
            field.description().to_owned(),
        ])
    });
    indented(&table(None, rows.collect(), 1..2), out)?;
    let reserved: Vec<String> = descriptor.reserved_bits().map(|n| n.to_string()).collect();
    if !reserved.is_empty() {
        writeln!(
            out,
            "    reserved bits that are set: {}",
            reserved.join(", ")
        )?;
    }
    Ok(())
}

fn indented(table: &str, out: &mut dyn Write) -> Result<(), Failure> {
    for line in table.lines() {
        writeln!(out, "    {line}")?;
    }
    Ok(())
}
