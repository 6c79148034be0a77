//! The native half of the Python package `hetdwarf`: thin classes over the library.
//!
//! Python objects own their data and can be used from any thread. Programs and cores, which borrow from files, are owned through
//! `hetdwarf_owned`. Every query runs with the interpreter released.

mod cfi;
mod core;
mod dtype;
mod error;
mod evaluate;
mod finding;
mod found;
mod frame;
mod json;
mod lane_pc;
mod lanes;
mod object;
mod part;
mod place;
mod records;
mod statics;
mod stop;
mod symbolize;
mod text;
mod types;
mod value;
mod variable;
mod wave;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command in this process, and returns its exit status. The first argument is the command's name.
#[pyfunction]
fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| hetdwarf_cli::run_process(arguments))
}

#[pymodule(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    error::add(module)?;
    module.add_class::<object::Object>()?;
    module.add_class::<object::Kernel>()?;
    module.add_class::<statics::Function>()?;
    module.add_class::<finding::Finding>()?;
    module.add_class::<statics::Global>()?;
    module.add_class::<statics::LineRow>()?;
    module.add_class::<types::Member>()?;
    module.add_class::<stop::Stop>()?;
    module.add_class::<frame::Frame>()?;
    module.add_class::<part::Part>()?;
    module.add_class::<statics::Location>()?;
    module.add_class::<types::Variant>()?;
    module.add_class::<cfi::CfiWriter>()?;
    module.add_class::<cfi::Relocation>()?;
    module.add_class::<lane_pc::LanePcWriter>()?;
    module.add_class::<variable::Variable>()?;
    module.add_class::<types::Type>()?;
    module.add_class::<lanes::LanePc>()?;
    module.add_class::<lanes::LaneCaller>()?;
    module.add_class::<core::Core>()?;
    module.add_class::<core::CoreWave>()?;
    module.add_class::<symbolize::SourceFrame>()?;
    module.add_class::<symbolize::Symbolizer>()?;
    module.add_function(wrap_pyfunction!(object::open, module)?)?;
    module.add_function(wrap_pyfunction!(object::open_all, module)?)?;
    module.add_function(wrap_pyfunction!(object::rules, module)?)?;
    module.add_function(wrap_pyfunction!(core::open_core, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(records::verify_lines, module)?)?;
    module.add_function(wrap_pyfunction!(records::core_lines, module)?)?;
    module.add_function(wrap_pyfunction!(run_command, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    Ok(())
}
