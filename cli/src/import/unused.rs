//! Explains why code objects that the user gave for a log are not used.

use std::path::Path;

use hetdwarf::arch::LoadAddress;
use hetdwarf::debug_agent::LoggedWave;
use hetdwarf::gpu_core::ObjectSource;
use hetdwarf::object::CodeObject;
use hetdwarf::untrusted::Untrusted;

use super::{Given, contains, load_address};

/// A file that was given with `--object` and is the code object of no wave.
pub(crate) struct Unused {
    /// The option with its value.
    pub(crate) option: String,
    pub(crate) message: String,
}

/// The waves of a log, as far as their choice of a code object depends on them.
pub(crate) struct Waves<'w> {
    pub(crate) waves: &'w [LoggedWave],
    /// The load address of the first wave, if it does not come from a log.
    pub(crate) load_address: Option<LoadAddress>,
    /// The wanted target.
    pub(crate) target: Option<&'w str>,
}

/// Returns the files that were given with `--object` and are the code object of no wave.
///
/// * `used`: the indexes of the code objects of waves.
pub(crate) fn unused(
    given: &[(&Given, CodeObject<'_>)],
    used: &[usize],
    waves: &Waves<'_>,
) -> Vec<Unused> {
    let is_used = |path: &Path| {
        let mut of_used = used.iter().filter_map(|index| given.get(*index));
        of_used.any(|(one, _)| one.path == path)
    };
    let mut found: Vec<Unused> = Vec::new();
    for (one, object) in given {
        if !one.is_named || is_used(&one.path) {
            continue;
        }
        let load = one
            .load_address
            .map(|LoadAddress(load)| format!("@{load:#x}"));
        let load = load.unwrap_or_default();
        let option = format!("--object {}{load}", Untrusted::from(&*one.path));
        if found.iter().any(|known| known.option == option) {
            continue;
        }
        let message = format!("not used: {}", waves.misfit(one, object));
        found.push(Unused { option, message });
    }
    found
}

impl Waves<'_> {
    /// Returns the reason why a code object is not used.
    fn misfit(&self, given: &Given, object: &CodeObject<'_>) -> String {
        let own = object.target().to_string();
        if let Some(wanted) = self.target.filter(|wanted| **wanted != own) {
            return format!("it is for {own}, not for {wanted}");
        }
        let of_wave = |wave: &LoggedWave| object.check_wave_size(wave.wave_size()?).err();
        if let Some(error) = self.waves.iter().find_map(of_wave) {
            return error.to_string();
        }
        let mut waves = self.waves.iter();
        if waves.any(|wave| self.is_in(given, object, wave)) {
            return "another given file fits too: give only one of them".to_owned();
        }
        let pc = self.waves.first().map_or(0, |wave| wave.pc);
        if let Some(LoadAddress(load)) = given.load_address.or(self.load_address) {
            return format!(
                "loaded at {load:#x}, it does not contain the pc of a wave, such as {pc:#x}"
            );
        }
        let mut objects = self.waves.iter().filter_map(|wave| wave.object.as_ref());
        if objects.all(|object| object.loaded.is_empty()) {
            return "its load address is not in the log; give it with @LOAD".to_owned();
        }
        let size = given.data.len() as u64;
        let sizes: Vec<u64> = self.waves.iter().filter_map(logged_size).collect();
        match sizes.first() {
            Some(first) if !sizes.contains(&size) => {
                format!("it has {size} bytes, the log's has {first}")
            }
            _ => format!(
                "loaded as in the log, it does not contain the pc of a wave, such as {pc:#x}"
            ),
        }
    }

    fn is_in(&self, given: &Given, object: &CodeObject<'_>, wave: &LoggedWave) -> bool {
        let load = self.load(given, object, wave);
        load.is_some_and(|load| contains(object, load, wave.pc))
    }

    fn load(
        &self,
        given: &Given,
        object: &CodeObject<'_>,
        wave: &LoggedWave,
    ) -> Option<LoadAddress> {
        let known = given.load_address.or(self.load_address);
        known.or_else(|| load_address(object, wave))
    }
}

/// Returns the size of a wave's code object in bytes, if the log has it.
fn logged_size(wave: &LoggedWave) -> Option<u64> {
    match ObjectSource::parse(&wave.object.as_ref()?.uri)? {
        ObjectSource::Memory { size, .. } => Some(size),
        ObjectSource::File { size, .. } => size,
        _ => None,
    }
}
