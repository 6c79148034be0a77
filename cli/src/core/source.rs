//! Provides the waves of a document, from a core or a log.

use hetdwarf::inspect::Stop;
use hetdwarf::wave::Wave;

use super::super::failure::Failure;

/// A callback for a wave and its stop, as far as they are known.
pub(crate) type Ask<'a> =
    dyn FnMut(Option<&dyn Wave>, Option<&Stop<'_, '_>>) -> Result<(), Failure> + 'a;

/// The waves of a document.
pub(crate) trait WaveSource {
    /// Calls `ask` with a wave.
    ///
    /// * `index`: its number, from 1.
    fn with(&self, index: usize, ask: &mut Ask<'_>) -> Result<(), Failure>;
}
