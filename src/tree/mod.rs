//! Represents values as trees: a value in a lane, its members and elements, and the targets of its pointers.
//!
//! A node is a typed value in one lane: a variable, a part of one, or the target of a pointer. Its parts are created on demand, by the type of the
//! object in the lane, with computed member offsets and array bounds, and the variant that is present. C expressions and the parts in documents both
//! use this module, so that they agree. Formatting is left to `display`. Sources: DWARF 5 §2.6.1.1.4, §5.5, §5.7; HET A.2.5.1.
//!
//! ```
//! # #[cfg(feature = "serde")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use hetdwarf::debug_info::types::TypeTable;
//! use hetdwarf::inspect::{Program, Stop, StopOptions};
//! use hetdwarf::{arch::Lane, location::Arena, object::CodeObject, tree::Tree, wave::Snapshot};
//!
//! let file = std::fs::read("examples/demo/calls-O2.rocm.hsaco")?;
//! let object = CodeObject::parse(&file)?;
//! let program = Program::load(&object)?;
//! let wave = Snapshot::from_json(&std::fs::read("examples/demo/stop.json")?)?;
//! let arena = Arena::new();
//! let stop = Stop::new(&program, &wave, wave.pc(), StopOptions::loaded_at(wave.load_address), &arena);
//!
//! // The frame that called has a pointer `g` to `int`s: its one part is what it points to.
//! let frame = stop.frame(1).ok_or("no frame")?;
//! let (tree, mut types) = (Tree::of_frame(frame)?, TypeTable::default());
//! let variables = frame.variables(&mut types)?;
//! let named = |name: &str| variables.iter().find(|value| value.variable.name.as_deref() == Some(name));
//! let found = tree.of_variable(named("g").ok_or("no g")?, Lane(3), &mut types, 0..200, &Default::default())?;
//! let names: Vec<_> = found.parts.iter().map(|part| (&*part.name, &*part.type_name)).collect();
//! assert_eq!(names, [("*", "int")]);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "serde"))]
//! # fn main() {}
//! ```

mod children;
mod no_value;
mod node;
mod part;
mod parts;
mod read;
mod target;

use core::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use children::Child;
pub use no_value::NoValue;
pub(crate) use node::Node;
pub use part::{Part, Parts};
pub(crate) use parts::Elements;
pub(crate) use read::{Known, cut};

use crate::debug_info::types::{TypeId, TypeTable};
use crate::debug_info::{Function, UnitId};
use crate::error::{Error, Result};
use crate::inspect::{FrameContext, StopFrame};

/// The context for reading values of a frame.
#[derive(Debug)]
pub struct Tree<'s, 'p, 'a> {
    pub(crate) frame: StopFrame<'s, 'p, 'a>,
    pub(crate) function: Option<Arc<Function<'a>>>,
    /// The contexts for the expressions of each unit, created on demand.
    contexts: RefCell<BTreeMap<UnitId, Result<Rc<FrameContext<'s, 'p, 'a>>>>>,
}

impl<'s, 'p, 'a> Tree<'s, 'p, 'a> {
    /// Prepares for reading the parts of a frame's values.
    ///
    /// # Errors
    /// If the debugging information of the frame's function is malformed.
    pub fn of_frame(frame: StopFrame<'s, 'p, 'a>) -> Result<Tree<'s, 'p, 'a>> {
        Ok(Tree::new(frame, frame.function()?.map(Arc::new)))
    }

    /// Creates a tree without reading anything.
    ///
    /// * `function`: the frame's function, if it has one.
    pub(crate) fn new(
        frame: StopFrame<'s, 'p, 'a>,
        function: Option<Arc<Function<'a>>>,
    ) -> Tree<'s, 'p, 'a> {
        Tree {
            frame,
            function,
            contexts: RefCell::default(),
        }
    }

    /// Returns the context for the expressions of a unit.
    fn context(&self, unit: UnitId) -> Result<Rc<FrameContext<'s, 'p, 'a>>> {
        let function = self.function.as_ref();
        let function = function.ok_or_else(|| Error::malformed("frame", "it has no function"))?;
        let mut contexts = self.contexts.borrow_mut();
        let context = contexts
            .entry(unit)
            .or_insert_with(|| self.frame.context_of(function, unit).map(Rc::new));
        context.clone()
    }

    /// Returns the type of an object of type `ty` at its location, with computed array bounds and member offsets.
    fn laid_out(
        &self,
        ty: TypeId,
        node: &Node<'p>,
        types: &mut TypeTable,
    ) -> Result<TypeId, NoValue> {
        // Hardly any type needs this.
        let Some(unit) = types.unit_of_computed(ty) else {
            return Ok(ty);
        };
        let Some(location) = self.location(node) else {
            return Ok(ty);
        };
        let context = self.context(unit)?;
        Ok(context.laid_out(ty, &location, node.lane, types)?)
    }
}
