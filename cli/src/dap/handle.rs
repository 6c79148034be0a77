//! References that the editor receives: to frames, scopes, variables and parts of values. A stopped wave never continues, so they stay
//! valid.

use std::collections::HashMap;
use std::rc::Rc;

/// The most references of a session.
const MOST: usize = 1 << 20;

/// A frame of a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FrameId {
    /// The wave's number, from 1.
    pub(super) wave: usize,
    /// The frame's number; 0 is the innermost.
    pub(super) frame: usize,
}

/// A group of variables of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ScopeKind {
    /// Parameters and local variables.
    Locals,
    /// Variables of file scope.
    Globals,
    /// Scalar registers.
    ScalarRegisters,
    /// Vector registers.
    VectorRegisters,
}

/// A value that differs from lane to lane.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Root {
    /// A variable, by its index among the variables of the frame.
    Variable(usize),
    /// An expression.
    Expression(Rc<str>),
    /// A vector register, by its DWARF number.
    Register(u16),
}

/// The target of a reference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Handle {
    Frame(FrameId),
    Scope(FrameId, ScopeKind),
    /// The lanes of a value.
    Lanes(FrameId, Root),
    /// The parts of a value in a lane. The path of part numbers leads from the value to a nested part.
    Parts(FrameId, Root, u8, Rc<[u64]>),
    /// A source file, by its number in the session.
    Source(usize),
}

/// The references of a session.
#[derive(Debug, Default)]
pub(super) struct Handles {
    handles: Vec<Handle>,
    numbers: HashMap<Handle, i64>,
}

impl Handles {
    /// Returns the number of a reference. Equal references have the same number.
    ///
    /// # Errors
    /// If there are too many references.
    pub(super) fn number(&mut self, handle: Handle) -> Result<i64, String> {
        if let Some(number) = self.numbers.get(&handle) {
            return Ok(*number);
        }
        if self.handles.len() == MOST {
            return Err(format!(
                "all {MOST} references are in use: open the core again"
            ));
        }
        self.handles.push(handle.clone());
        let number = i64::try_from(self.handles.len()).unwrap_or(i64::MAX);
        self.numbers.insert(handle, number);
        Ok(number)
    }

    /// Returns the target of a reference number.
    ///
    /// # Errors
    /// If no reference has this number.
    pub(super) fn get(&self, number: i64) -> Result<&Handle, String> {
        let index = usize::try_from(number).ok().and_then(|n| n.checked_sub(1));
        let handle = index.and_then(|index| self.handles.get(index));
        handle.ok_or_else(|| format!("there is no reference {number}"))
    }

    /// Returns the frame to which a reference number refers.
    ///
    /// # Errors
    /// If the number does not refer to a frame.
    pub(super) fn frame(&self, number: i64) -> Result<FrameId, String> {
        match self.get(number)? {
            Handle::Frame(frame) => Ok(*frame),
            Handle::Scope(..) | Handle::Lanes(..) | Handle::Parts(..) | Handle::Source(_) => {
                Err(format!("reference {number} is not a frame"))
            }
        }
    }
}
