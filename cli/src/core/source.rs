//! Where the waves of a document come from: a core, or a log.

use hetdwarf::inspect::Stop;
use hetdwarf::wave::Wave;

use super::super::failure::Failure;

/// A question about a wave and its stop, as far as they are known.
pub(crate) type Ask<'a> =
    dyn FnMut(Option<&dyn Wave>, Option<&Stop<'_, '_>>) -> Result<(), Failure> + 'a;

/// The waves of a document.
pub(crate) trait WaveSource {
    /// Asks a wave.
    ///
    /// * `index`: its number, from 1.
    fn with(&self, index: usize, ask: &mut Ask<'_>) -> Result<(), Failure>;
}
