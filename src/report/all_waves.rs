//! The answers of all waves of a core to one question; equal ones are one group.

use std::collections::BTreeMap;

use serde::Serialize;

use super::completeness::Completeness;
use super::to_json;
use crate::untrusted::Untrusted;

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct AllWavesDocument<T> {
    /// That of the documents in it.
    pub format: &'static str,
    /// The completeness of the document, whose fields are flattened into it.
    #[serde(flatten)]
    pub completeness: Completeness,
    /// The groups, in the order of their first waves.
    pub groups: Vec<WaveGroup<T>>,
}

impl<T> AllWavesDocument<T> {
    /// Makes the document of some groups.
    ///
    /// * `format`: that of the documents in it.
    #[must_use]
    pub fn new(
        format: &'static str,
        completeness: Completeness,
        groups: Vec<WaveGroup<T>>,
    ) -> AllWavesDocument<T> {
        AllWavesDocument {
            format,
            completeness,
            groups,
        }
    }
}

/// Waves with equal answers: `document`, or `message`.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct WaveGroup<T> {
    /// Their numbers, from 1.
    pub waves: Vec<usize>,
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<T>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Untrusted<'static>>,
}

/// Groups as they are made.
#[derive(Debug)]
pub struct WaveGroups<T> {
    groups: Vec<WaveGroup<T>>,
    /// Where the group of an answer is.
    known: BTreeMap<String, usize>,
}

impl<T> Default for WaveGroups<T> {
    fn default() -> WaveGroups<T> {
        WaveGroups {
            groups: Vec::new(),
            known: BTreeMap::new(),
        }
    }
}

impl<T: Serialize> WaveGroups<T> {
    /// Adds the answer of a wave, or why there is none.
    ///
    /// # Errors
    /// If the answer cannot be written as JSON, which tells whether it is equal to another.
    pub fn add(&mut self, wave: usize, answer: Result<T, String>) -> serde_json::Result<()> {
        let key = match &answer {
            Ok(document) => to_json(document)?,
            Err(message) => message.clone(),
        };
        let index = *self.known.entry(key).or_insert(self.groups.len());
        if let Some(group) = self.groups.get_mut(index) {
            group.waves.push(wave);
            return Ok(());
        }
        let (document, message) = match answer {
            Ok(document) => (Some(document), None),
            Err(message) => (None, Some(message.into())),
        };
        self.groups.push(WaveGroup {
            waves: vec![wave],
            document,
            message,
        });
        Ok(())
    }

    /// Returns the groups, in the order of their first waves.
    #[must_use]
    pub fn into_groups(self) -> Vec<WaveGroup<T>> {
        self.groups
    }
}
