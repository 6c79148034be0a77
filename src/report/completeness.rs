//! States whether an answer is complete or a limit cut it short.

use serde::Serialize;

use crate::error::{Error, Limit, Result};
use crate::frame::Stopped;
use crate::inspect::Stop;
use crate::untrusted::Untrusted;

/// The completeness of an answer. Its fields are flattened into the document, and absent if the answer is complete.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Completeness {
    /// False if a limit was reached. The parts that exceeded the limit are missing or have a message in their place.
    #[serde(skip_serializing_if = "is_true")]
    pub complete: bool,
    /// The first limit that was reached, with its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Untrusted<'static>>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
pub(super) fn is_false(flag: &bool) -> bool {
    !*flag
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
pub(super) fn is_true(flag: &bool) -> bool {
    *flag
}

impl Default for Completeness {
    /// Returns the completeness of a complete answer.
    fn default() -> Completeness {
        Completeness {
            complete: true,
            limit: None,
        }
    }
}

impl Completeness {
    /// Returns the completeness of a call stack.
    pub(super) fn of_stack(stop: &Stop<'_, '_>) -> Completeness {
        let mut completeness = Completeness::default();
        if let Some(error) = stop.stack().error() {
            completeness.note(error);
        } else if stop.stack().stopped() == Stopped::Limit {
            completeness.note(&stop.limits().reached(Limit::Frames));
        }
        completeness
    }

    /// Records the error if it reports a limit.
    pub fn note(&mut self, error: &Error) {
        if error.is_limit() && self.complete {
            self.complete = false;
            self.limit = Some(error.to_string().into());
        }
    }

    /// Returns the result, or `None` if it is the error of a limit. Records that error, so that the answer goes on without this part.
    ///
    /// # Errors
    /// Errors other than limits are returned unchanged.
    pub(super) fn accept<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.is_limit() => {
                self.note(&error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl core::fmt::Display for Completeness {
    /// Writes one line for an incomplete answer, and nothing for a complete answer.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match &self.limit {
            Some(limit) => write!(f, "not complete: {limit}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::reached;

    #[test]
    fn the_first_limit_is_the_one_that_is_named() {
        let mut completeness = Completeness::default();
        assert_eq!(serde_json::to_string(&completeness).unwrap(), "{}");
        assert_eq!(completeness.to_string(), "");
        completeness.note(&Error::malformed("row", "it is short"));
        assert!(completeness.accept(Ok(1)).unwrap() == Some(1) && completeness.complete);
        let other: Result<()> = Err(Error::malformed("row", "it is short"));
        assert!(completeness.accept(other).is_err() && completeness.complete);
        let limit: Result<()> = Err(reached(Limit::Work, 7));
        assert_eq!(completeness.accept(limit).unwrap(), None);
        completeness.note(&reached(Limit::Memory, 8));
        let text = r#"{"complete":false,"limit":"the limit `work` of 7 was reached"}"#;
        assert_eq!(serde_json::to_string(&completeness).unwrap(), text);
        assert_eq!(
            completeness.to_string(),
            "not complete: the limit `work` of 7 was reached"
        );
    }
}
