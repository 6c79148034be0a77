//! Checks the functions of code objects.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use fallible_iterator::FallibleIterator;
use hetdwarf::arch::WaveSize;
use hetdwarf::cfi_check::{FunctionCode, Machine, Report};
use hetdwarf::expr::Encoding;
use hetdwarf::frame::{Entry, Fde, FrameSection};
use hetdwarf::object::{CodeObject, SymbolKind};

/// A function that was checked.
pub struct Checked {
    pub name: String,
    pub report: Report,
    /// The duration of the check.
    pub time: Duration,
}

/// Returns the wave size of an object's kernels, according to their descriptors.
fn wave_size(object: &CodeObject<'_>) -> Option<WaveSize> {
    let kernels = object.kernels().unwrap_or_default();
    kernels.iter().find_map(|kernel| kernel.wave_size())
}

/// Checks every function of an object that has an FDE.
pub fn check(path: &Path) -> Vec<Checked> {
    let data = std::fs::read(path).unwrap();
    let Ok(object) = CodeObject::parse(&data) else {
        return Vec::new();
    };
    check_object(&object)
}

pub fn check_object(object: &CodeObject<'_>) -> Vec<Checked> {
    let Ok(Some(bytes)) = object.section(".debug_frame") else {
        return Vec::new();
    };
    let section = FrameSection::debug_frame(bytes);
    let mut entries = section.entries();
    let mut fdes: Vec<Fde<'_>> = Vec::new();
    while let Some(entry) = entries.next().unwrap() {
        if let Entry::Fde(fde) = entry {
            fdes.push(fde);
        }
    }
    let code = |fde: &Fde<'_>| {
        let length = usize::try_from(fde.address_range).unwrap();
        (object.read_image(fde.initial_location, length)).map(<[u8]>::to_vec)
    };
    let codes: Vec<_> = fdes.iter().map(code).collect();
    let names: BTreeMap<u64, String> = (object.symbols().unwrap().iter())
        .filter(|symbol| symbol.kind == SymbolKind::Function)
        .map(|symbol| (symbol.address, symbol.name.to_string()))
        .collect();
    let functions = fdes
        .iter()
        .zip(&codes)
        .filter_map(|(fde, code)| Some((fde.initial_location, code.as_deref()?)));
    let machine = Machine::new(object.target().processor(), wave_size(object), functions);
    let each = fdes.iter().zip(&codes);
    each.filter_map(|(fde, code)| {
        let function = FunctionCode {
            code: code.as_deref()?,
            fde,
            section: ".debug_frame",
            encoding: Encoding::AMDGPU,
        };
        let start = Instant::now();
        let report = machine.check(&function);
        Some(Checked {
            name: (names.get(&fde.initial_location))
                .cloned()
                .unwrap_or_default(),
            report,
            time: start.elapsed(),
        })
    })
    .collect()
}
