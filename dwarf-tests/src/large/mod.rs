//! Writes code objects of any size, to measure the growth of time and memory.
//!
//! They are linked code objects for `gfx1100` with many units. Functions have prologues, bodies and epilogues, with correct call frame
//! information at each instruction. There are variables with location lists in both dialects, types, line tables, and symbols. The same
//! [`Shape`] always gives the same bytes.

mod abbreviations;
mod bytes;
pub mod code;
mod frames;
mod line;
mod locations;
mod sections;
mod stop;
mod unit;

pub use stop::stop;
pub use unit::{Function, Unit};

use std::io::{self, Write};

use sections::Sections;

/// The dimensions of an object.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The number of functions.
    pub functions: usize,
    /// The number of variables of a function, including parameters.
    pub variables: usize,
    /// The number of entries of a location list. With 0, variables are in scratch.
    pub entries: usize,
    /// The number of functions of a unit.
    pub functions_of_unit: usize,
    /// True if the object has `.debug_aranges`.
    pub aranges: bool,
    /// The seed of pseudo-random choices.
    pub seed: u64,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape {
            functions: 400,
            variables: 10,
            entries: 4,
            functions_of_unit: 100,
            aranges: false,
            seed: 1,
        }
    }
}

impl Shape {
    /// Changes the number of functions so that the file has about `megabytes` times 2^20 bytes.
    #[must_use]
    pub fn sized(self, megabytes: u64) -> Shape {
        let few = self.functions_of_unit * 4;
        let sample = Shape {
            functions: few,
            ..self.clone()
        };
        let size = write(&sample, &mut io::sink()).map_or(1, |object| object.size);
        let functions = (megabytes << 20) * few as u64 / size;
        Shape {
            functions: usize::try_from(functions).unwrap(),
            ..self
        }
    }
}

/// An object that was written.
#[derive(Clone, Debug)]
pub struct Object {
    /// The size of the file, in bytes.
    pub size: u64,
    /// The offset of `.debug_info` in the file.
    pub info_offset: u64,
    /// The units, in order.
    pub units: Vec<Unit>,
}

/// Writes an object.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write(shape: &Shape, out: &mut impl Write) -> io::Result<Object> {
    let count = shape.functions.div_ceil(shape.functions_of_unit);
    let mut sections = Sections::new(count as u64);
    let mut units = Vec::with_capacity(count);
    for number in 0..count {
        let before = number * shape.functions_of_unit;
        let functions = (shape.functions - before).min(shape.functions_of_unit);
        units.push(unit::write(shape, number, functions, &mut sections));
    }
    let (size, info_offset) = sections.write(out)?;
    Ok(Object {
        size,
        info_offset,
        units,
    })
}
