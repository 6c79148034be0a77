//! Chooses one of the code objects of a file.
//!
//! Source: "Clang Offload Bundler", "Target ID", "Compatibility Rules for Target ID".

use super::EmbeddedCodeObject;
use crate::arch::TargetId;
use crate::error::{ErrorKind, Result};
use crate::object::target::{self, Fit};

/// The choice of a code object in a file.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selector {
    /// The only code object.
    #[default]
    Only,
    /// The code object with this [`index`](EmbeddedCodeObject::index).
    Index(usize),
    /// The code object for this target ID, or with this bundle entry ID.
    ///
    /// These rules are tried in order. The first one that any code object meets decides, and only one may meet it. First: the text is its `id` or
    /// `target`. Second: it is for the same processor and has every feature in the text (`gfx90a` selects one for `gfx90a:xnack+`). Third: it is for
    /// the same processor, but leaves features of the text open (`gfx90a:xnack+` selects one for `gfx90a`). Last: it is for a generic processor that
    /// includes the one in the text.
    Target(String),
}

impl Selector {
    /// Parses a selector. A number is an index, anything else a target or entry ID.
    #[must_use]
    pub fn parse(text: &str) -> Selector {
        match text.parse() {
            Ok(index) => Selector::Index(index),
            Err(_) => Selector::Target(text.to_owned()),
        }
    }
}

/// Chooses one of the code objects of a file.
///
/// # Errors
/// [`ErrorKind::Selection`] with the available choices, if none or several fit.
pub fn select<'a, 'data>(
    objects: &'a [EmbeddedCodeObject<'data>],
    selector: &Selector,
) -> Result<&'a EmbeddedCodeObject<'data>> {
    match selector {
        Selector::Only => match objects {
            [only] => Ok(only),
            _ => Err(several(
                format!("there are {} code objects", objects.len()),
                objects.iter(),
            )),
        },
        Selector::Index(index) => objects.iter().find(|o| o.index == *index).ok_or_else(|| {
            several(
                format!("no code object has the number {index}"),
                objects.iter(),
            )
        }),
        Selector::Target(text) => by_target(objects, text),
    }
}

fn by_target<'a, 'data>(
    objects: &'a [EmbeddedCodeObject<'data>],
    text: &str,
) -> Result<&'a EmbeddedCodeObject<'data>> {
    // A code object outside a bundle has no ID.
    let exact = |o: &EmbeddedCodeObject<'_>| !text.is_empty() && (o.id == text || o.target == text);
    let wanted = text.parse::<TargetId>();
    let fits = |o: &EmbeddedCodeObject<'_>, fit: Fit| match (&wanted, o.target.parse()) {
        (Ok(wanted), Ok(found)) => target::fits(&found, wanted, fit),
        _ => false,
    };
    let rules: [&dyn Fn(&EmbeddedCodeObject<'_>) -> bool; 4] = [
        &exact,
        &|o| fits(o, Fit::Named),
        &|o| fits(o, Fit::Compatible),
        &|o| fits(o, Fit::Generic),
    ];
    for rule in rules {
        let fitting: Vec<_> = objects.iter().filter(|o| rule(o)).collect();
        match *fitting {
            [] => {}
            [one] => return Ok(one),
            _ => {
                return Err(several(
                    format!("{} code objects match {text}", fitting.len()),
                    fitting.into_iter(),
                ));
            }
        }
    }
    Err(several(
        format!("no code object matches {text}"),
        objects.iter(),
    ))
}

fn several<'a, 'data: 'a>(
    wanted: String,
    candidates: impl Iterator<Item = &'a EmbeddedCodeObject<'data>>,
) -> crate::Error {
    ErrorKind::Selection {
        wanted,
        candidates: candidates
            .map(|o| format!("{}: {} at {}", o.index, o.target, o.place))
            .collect(),
    }
    .into()
}
