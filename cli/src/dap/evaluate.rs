//! Evaluates expressions of the user.

use std::rc::Rc;

use super::handle::Root;
use super::message::Request;
use super::protocol::{Body, Evaluated};
use super::session::{Answer, Session};
use super::stack::frame_of;
use super::variables::{Shown, answer};

impl<'s> Session<'s> {
    /// Evaluates an expression in a frame, or executes a command of the console.
    pub(super) fn evaluate(&mut self, request: &Request) -> Answer<'s> {
        let text = request.text("expression")?;
        let text = text.ok_or("expression: it is missing")?.trim();
        let id = match request.integer("frameId")? {
            Some(number) => self.handles.frame(number)?,
            None => self.current,
        };
        let context = request.text("context")?;
        if context == Some("repl")
            && let Some(answer) = self.command(text, id)
        {
            return Ok(Body::Evaluate(Evaluated {
                result: answer?,
                ty: None,
                variables_reference: 0,
                indexed_variables: None,
                memory_reference: None,
            }));
        }
        self.current = id;
        self.with_stop(id.wave, |session, stop| {
            let frame = frame_of(stop, id)?;
            let (ty, lanes) = answer(&frame, text, &session.format.options())?;
            let shown = Shown {
                name: text.to_owned(),
                ty,
                lanes: &lanes,
                expression: None,
            };
            let root = Root::Expression(Rc::from(text));
            let found = match context {
                // `lanes` is about all lanes, regardless of the lane in focus.
                Some("lanes") => session.shown_in_all(id, root, &shown)?,
                _ => session.shown(&frame, &mut None, id, root, &shown)?,
            };
            Ok(Body::Evaluate(Evaluated {
                result: found.value,
                ty: found.ty,
                variables_reference: found.variables_reference,
                indexed_variables: found.indexed_variables,
                memory_reference: found.memory_reference,
            }))
        })
    }
}
