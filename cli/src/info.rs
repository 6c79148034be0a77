//! Implements `hetdwarf info`.

mod kernel;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use hetdwarf::object::{
    FunctionInfo, KernelInfo, Layout, Selector, ShaderInfo, code_objects_or_host, select,
};
use hetdwarf::plural::counted;
use hetdwarf::report::{
    CallFramesDocument, InfoDocument, ObjectDocument, PackagesDocument, UnitDocument,
    write_json_pretty,
};
use hetdwarf::untrusted::Untrusted;

use super::arguments::{Format, InfoArguments};
use super::contents::Input;
use super::core::object_or_core;
use super::failure::{Exit, Failure};
use super::input::{parse_any_machine, selector};
use super::style::BOLD;
use super::table::{bold, cells, table};

pub(crate) fn run(arguments: &InfoArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let limits = arguments.limits.limits();
    let (path, data) = object_or_core(
        arguments.object.as_deref(),
        &arguments.core,
        &limits,
        Input::Object,
    )?;
    let place = |error: hetdwarf::Error| Failure::in_file(path, error);
    let selector = selector(arguments.target.as_deref(), arguments.index);
    let objects =
        code_objects_or_host(&data, &data.packages(), &selector, &limits).map_err(place)?;
    let mut document = InfoDocument::new(&objects);
    if let Some(reference) = &data.reference {
        let found = data.package_paths().map(Path::to_path_buf);
        document.packages = Some(PackagesDocument::new(reference, found));
    }
    // If there are several code objects and none is selected, only the list is printed.
    let is_open = matches!(selector, Selector::Only) && objects.len() > 1;
    if !is_open {
        let chosen = select(&objects, &selector).map_err(place)?;
        let object = parse_any_machine(&chosen.data, Layout::Distinct, &limits).map_err(place)?;
        let mut object = ObjectDocument::new(&object, chosen.index).map_err(place)?;
        if !arguments.descriptor {
            for kernel in &mut object.info.kernels {
                kernel.descriptor = None;
            }
        }
        document.object = Some(object);
    }
    if let (Format::Text, Some(packages)) = (arguments.format, &document.packages) {
        writeln!(out, "{packages}")?;
    }
    match (arguments.format, &document.object) {
        (Format::Json, _) => write_json_pretty(&document, &mut *out)?,
        (Format::Text, Some(object)) => print(object, out)?,
        (Format::Text, None) => print_list(&document, out)?,
    }
    data.check_lengths(path)?;
    Ok(Exit::Done)
}

fn print_list(document: &InfoDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let count = document.objects.len();
    writeln!(
        out,
        "{count} code objects; choose one with --index or --target"
    )?;
    let header = cells(["index", "target", "bytes", "entry", "place"]);
    let rows = document.objects.iter().map(|object| {
        let id = if object.id.is_empty() {
            "-".to_owned()
        } else {
            object.id.to_string()
        };
        let mut row = cells([object.index]);
        row.push(bold(&object.target));
        row.extend(cells([
            object.size.to_string(),
            id,
            object.place.to_string(),
        ]));
        row
    });
    writeln!(out, "{}", table(Some(header), rows.collect(), 2..3))?;
    Ok(())
}

fn print(object: &ObjectDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let info = &object.info;
    writeln!(out, "{BOLD}{}{BOLD:#}", info.target)?;
    let mut facts = Vec::new();
    match info.code_object_version {
        Some(version) => facts.push(format!("code object version {version} of {}", info.os)),
        None => facts.push(format!("operating system {}", info.os)),
    }
    if info.relocatable {
        facts.push("not linked".to_owned());
    }
    let features = object.features.iter();
    facts.extend(features.map(|(name, setting)| format!("{name} {setting}")));
    if let Some(version) = object.generic_version {
        facts.push(format!("generic version {version}"));
    }
    facts.push(format!("e_flags {:#x}", info.flags));
    writeln!(out, "  {}", facts.join(", "))?;
    if !object.is_known_processor {
        writeln!(
            out,
            "  the processor is unknown: everything that depends on it, such as register counts in descriptors, is omitted"
        )?;
    }
    let functions = counted(info.functions as u64, "function");
    if object.machine.is_some() {
        writeln!(out, "  no AMDGPU code object; {functions}")?;
        return print_debug_info(object, out);
    }
    let kernels = counted(info.kernels.len() as u64, "kernel");
    writeln!(out, "  {kernels}, {functions}")?;
    print_kernels(object, out)?;
    print_shaders(object, out)?;
    print_function_infos(object, out)?;
    print_debug_info(object, out)
}

fn print_kernels(object: &ObjectDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let info = &object.info;
    if let Some(error) = &info.metadata_error {
        writeln!(out, "  the metadata cannot be read: {error}")?;
    }
    if info.kernels.is_empty() {
        return Ok(());
    }
    let header = cells([
        "kernel", "wave", "SGPRs", "VGPRs", "AGPRs", "LDS", "scratch", "kernarg", "spills",
    ]);
    let rows = info.kernels.iter().map(kernel_row).collect();
    writeln!(out, "\n{}", table(Some(header), rows, 1..9))?;
    writeln!(
        out,
        "registers: used/allocated; LDS, scratch (of a lane) and kernarg: bytes; spills: SGPRs+VGPRs"
    )?;
    for kernel in &info.kernels {
        kernel::print(kernel, out)?;
    }
    Ok(())
}

fn print_shaders(object: &ObjectDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let shaders = &object.info.shaders;
    if shaders.is_empty() {
        return Ok(());
    }
    let header = cells([
        "shader", "stage", "symbol", "SGPRs", "VGPRs", "AGPRs", "LDS", "scratch", "stack",
    ]);
    let text = |text: &Option<Untrusted<'_>>| text.as_ref().map_or("-".into(), ToString::to_string);
    let row = |shader: &ShaderInfo| {
        let mut row = vec![bold(text(&shader.name))];
        row.extend(cells([
            text(&shader.stage),
            text(&shader.symbol),
            or_dash(shader.sgprs_used),
            or_dash(shader.vgprs_used),
            or_dash(shader.agprs_used),
            or_dash(shader.lds_size),
            or_dash(shader.scratch_size),
            or_dash(shader.stack_size),
        ]));
        row
    };
    let rows = shaders.iter().map(row).collect();
    writeln!(out, "\n{}", table(Some(header), rows, 3..9))?;
    writeln!(
        out,
        "registers: used; LDS, scratch and the stack of a function: bytes"
    )?;
    Ok(())
}

/// Prints the resource usage of functions that the compiler passes to the linker.
fn print_function_infos(object: &ObjectDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let info = &object.info;
    if let Some(error) = &info.function_infos_error {
        writeln!(out, "  .amdgpu.info cannot be read: {error}")?;
    }
    if info.function_infos.is_empty() {
        return Ok(());
    }
    let header = cells([
        "function",
        "SGPRs",
        "VGPRs",
        "AGPRs",
        "scratch",
        "calls",
        "incomplete because it",
    ]);
    let row = |function: &FunctionInfo| {
        let (own, all) = (&function.own, &function.with_callees);
        let registers = |own: Option<u32>, all: Option<u32>| {
            let [own, all] = [own, all].map(|count| or_dash(count.map(u64::from)));
            format!("{own}/{all}")
        };
        let scratch = [own, all].map(|resources| or_dash(resources.private_segment_size));
        let calls = function.calls.len() + function.indirect_calls.len();
        let mut row = vec![bold(&function.name)];
        row.extend(cells([
            registers(own.sgprs, all.sgprs),
            registers(own.vgprs, all.vgprs),
            registers(own.agprs, all.agprs),
            scratch.join("/"),
            calls.to_string(),
            function.open.join(", "),
        ]));
        row
    };
    let rows = info.function_infos.iter().map(row).collect();
    writeln!(out, "\n{}", table(Some(header), rows, 1..6))?;
    writeln!(
        out,
        "from .amdgpu.info: used by the function alone/with its callees; scratch: bytes"
    )?;
    Ok(())
}

fn or_dash(number: Option<u64>) -> String {
    number.map_or("-".to_owned(), |n| n.to_string())
}

fn kernel_row(kernel: &KernelInfo) -> Vec<comfy_table::Cell> {
    let number = |number: Option<u64>| number.map_or("-".to_owned(), |n| n.to_string());
    let registers = |used: Option<u64>, allocated: Option<u32>| match (used, allocated) {
        (None, None) => "-".to_owned(),
        (used, allocated) => format!("{}/{}", number(used), number(allocated.map(u64::from))),
    };
    let scratch = match (kernel.private_segment_size, kernel.dynamic_stack) {
        (Some(size), Some(true)) => format!("{size}+dynamic"),
        (size, _) => number(size),
    };
    let spills = match (kernel.sgpr_spills, kernel.vgpr_spills) {
        (None, None) => "-".to_owned(),
        (scalar, vector) => format!("{}+{}", number(scalar), number(vector)),
    };
    let mut row = vec![bold(&kernel.name)];
    row.extend(cells([
        number(kernel.wave_size.map(u64::from)),
        registers(kernel.sgprs_used, kernel.sgprs_allocated),
        registers(kernel.vgprs_used, kernel.vgprs_allocated),
        registers(kernel.agprs_used, kernel.agprs_allocated),
        number(kernel.group_segment_size),
        scratch,
        number(kernel.kernarg_size),
        spills,
    ]));
    row
}

fn print_debug_info(object: &ObjectDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let sections = &object.info.debug_sections;
    if sections.is_empty() {
        writeln!(out, "\nno debugging information")?;
        return Ok(());
    }
    let header = cells(["section", "bytes", "in the file", "compression"]);
    let rows = sections.iter().map(|section| {
        let method = section.compression.map_or("", |method| method.name());
        cells([
            section.name.to_string(),
            section.size.to_string(),
            section.stored_size.to_string(),
            method.to_owned(),
        ])
    });
    writeln!(out, "\n{}", table(Some(header), rows.collect(), 1..3))?;
    writeln!(out)?;
    print_units(&object.units, out)?;
    for problem in &object.unit_problems {
        writeln!(out, "unreadable unit: {problem}")?;
    }
    match &object.call_frames {
        Some(frames) => print_call_frames(frames, out)?,
        None => writeln!(out, "call frames: no information")?,
    }
    Ok(())
}

/// Prints the units, grouped by kind.
fn print_units(units: &[UnitDocument], out: &mut dyn Write) -> Result<(), Failure> {
    let mut kinds: BTreeMap<_, Vec<&UnitDocument>> = BTreeMap::new();
    for unit in units {
        let UnitDocument {
            section,
            version,
            format,
            kind,
            language,
            producer,
            ..
        } = unit;
        let alike = (section, kind, version, format, language, producer);
        kinds.entry(alike).or_default().push(unit);
    }
    if units.is_empty() {
        writeln!(out, "no units")?;
    }
    for ((section, kind, version, format, language, producer), alike) in kinds {
        writeln!(
            out,
            "{} in {section}: DWARF {version}, {format}-bit format{}",
            counted(alike.len() as u64, &format!("{kind} unit")),
            language
                .as_ref()
                .map_or(String::new(), |l| format!(", {l}"))
        )?;
        if let Some(producer) = producer {
            writeln!(out, "  by {producer}")?;
        }
        let name = |unit: &UnitDocument| {
            let path = unit.name.as_ref().or(unit.dwo_name.as_ref())?;
            let name = path.raw().rsplit('/').next()?;
            Some(Untrusted::from(name).to_string())
        };
        /// The most file names that are listed in a line.
        const NAMES: usize = 6;
        let names: Vec<String> = alike.iter().filter_map(|unit| name(unit)).collect();
        let shown = names
            .get(..names.len().min(NAMES))
            .unwrap_or_default()
            .join(", ");
        match names.len().saturating_sub(NAMES) {
            _ if names.is_empty() => {}
            0 => writeln!(out, "  {shown}")?,
            more => writeln!(out, "  {shown} and {more} more")?,
        }
    }
    Ok(())
}

fn print_call_frames(frames: &CallFramesDocument, out: &mut dyn Write) -> Result<(), Failure> {
    let CallFramesDocument {
        section,
        cies,
        fdes,
        fdes_with_rules,
        augmentations,
        problem,
        ..
    } = frames;
    let rules = match fdes_with_rules {
        0 => "none has rules, so callers cannot be found".to_owned(),
        all if all == fdes => "all have rules".to_owned(),
        some => format!("{some} of them have rules"),
    };
    writeln!(
        out,
        "call frames: {} and {} in {section}; {rules}",
        counted(*cies as u64, "CIE"),
        counted(*fdes as u64, "FDE")
    )?;
    if !augmentations.is_empty() {
        let texts: Vec<String> = augmentations.iter().map(ToString::to_string).collect();
        writeln!(out, "  augmentations: {}", texts.join(", "))?;
    }
    if let Some(problem) = problem {
        writeln!(out, "  not all can be read: {problem}")?;
    }
    Ok(())
}
