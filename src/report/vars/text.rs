//! Texts that JSON has as strings, and that text output splits: a type around the name of its variable, and a value into lines.

use core::fmt;
use core::ops::Deref;

use serde::{Serialize, Serializer};

use crate::display::Mark;
use crate::untrusted::Untrusted;

/// The name of a variable's type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeText {
    name: Untrusted<'static>,
    /// The number of bracket pairs at the end of the name that follow the variable's name in a declaration.
    brackets: usize,
}

impl TypeText {
    /// Creates the name of a type.
    ///
    /// * `brackets`: the number of bracket pairs at its end that follow the variable's name in a declaration.
    #[must_use]
    pub fn new(name: impl Into<Untrusted<'static>>, brackets: usize) -> TypeText {
        let name = name.into();
        TypeText { name, brackets }
    }

    /// Returns the text before and after the variable's name in a declaration. Before the name there is also a space, except after `*`.
    #[must_use]
    pub fn around_name(&self) -> (String, String) {
        let text = self.name.to_string();
        let mut before = text.as_str();
        for _ in 0..self.brackets {
            let inner = before.strip_suffix(']').and_then(|rest| rest.rfind('['));
            // A name that was cut for length has fewer pairs, and is not split.
            before = inner.and_then(|at| before.get(..at)).unwrap_or(&text);
            if before.len() == text.len() {
                break;
            }
        }
        let after = text.strip_prefix(before).unwrap_or_default().to_owned();
        let space = if before.ends_with('*') { "" } else { " " };
        (format!("{before}{space}"), after)
    }
}

impl fmt::Display for TypeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

impl Serialize for TypeText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.name.serialize(serializer)
    }
}

/// The text of a value in the format of a C debugger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueText {
    text: String,
    marks: Box<[Mark]>,
}

impl ValueText {
    /// Creates the text of a value.
    ///
    /// * `marks`: the positions at which the text can be broken into lines.
    #[must_use]
    pub fn new(text: impl Into<String>, marks: impl Into<Box<[Mark]>>) -> ValueText {
        let (text, marks) = (text.into(), marks.into());
        ValueText { text, marks }
    }

    /// Returns the positions at which the text can be broken into lines.
    #[must_use]
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }
}

impl Deref for ValueText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ValueText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for ValueText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}
