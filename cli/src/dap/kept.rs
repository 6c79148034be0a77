//! Caches the variables of the most recently requested frames. A stopped wave never continues, so they stay valid.

use std::collections::VecDeque;
use std::rc::Rc;

use hetdwarf::report::VariableDocument;

use super::handle::FrameId;

/// The most frames whose variables are kept.
const MOST: usize = 8;

/// The variables of some frames, each in every lane.
#[derive(Debug, Default)]
pub(super) struct Kept(VecDeque<(Key, Rc<[VariableDocument]>)>);

/// A frame, and true if its integers are hexadecimal.
type Key = (FrameId, bool);

impl Kept {
    /// Returns the variables of a frame in a format. Reads them if they are not cached.
    ///
    /// # Errors
    /// Returns the error of `read`.
    pub(super) fn variables(
        &mut self,
        id: Key,
        read: impl FnOnce() -> Result<Vec<VariableDocument>, String>,
    ) -> Result<Rc<[VariableDocument]>, String> {
        if let Some((_, known)) = self.0.iter().find(|(of, _)| *of == id) {
            return Ok(Rc::clone(known));
        }
        let variables: Rc<[VariableDocument]> = read()?.into();
        self.0.truncate(MOST - 1);
        self.0.push_front((id, Rc::clone(&variables)));
        Ok(variables)
    }
}
