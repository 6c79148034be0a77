//! Reads `.amdgpu.info`, the compiler's data for the linker in a relocatable object: a call graph with the registers and scratch of each function.
//!
//! An entry is a byte for its kind, a byte for its length, and the data. A function begins with an entry that names it by a relocation. The entries
//! up to the next function describe it. Unknown kinds are skipped. Source: LLVM 23, `AMDGPUObjLinkingInfo.h`; see `spec-notes/objects.md`.

use std::collections::{BTreeMap, BTreeSet};

use super::bytes::{slice_at, tail_at, u32_at};
use super::elf::Elf;
use super::relocation;
use super::symbol::{Symbol, SymbolKind, SymbolSection};
use super::{CodeObject, Section};
use crate::error::{Error, ErrorKind, Result};
use crate::meter::Meter;
use crate::untrusted::Untrusted;

/// The section, and the section with the type IDs of indirect calls.
const SECTION: &str = ".amdgpu.info";
const STRINGS: &str = ".amdgpu.strtab";

/// The kinds of entries.
mod kind {
    pub(super) const FUNCTION: u8 = 1;
    pub(super) const FLAGS: u8 = 2;
    pub(super) const SGPRS: u8 = 3;
    pub(super) const VGPRS: u8 = 4;
    pub(super) const AGPRS: u8 = 5;
    pub(super) const PRIVATE_SEGMENT_SIZE: u8 = 6;
    pub(super) const USE: u8 = 7;
    pub(super) const CALL: u8 = 8;
    pub(super) const INDIRECT_CALL: u8 = 9;
    pub(super) const TYPE_ID: u8 = 10;
}

/// The facts of `.amdgpu.info` about one function. Missing facts are `None`.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FunctionInfo {
    /// The linkage name.
    pub name: Untrusted<'static>,
    /// True if the function uses VCC.
    pub uses_vcc: Option<bool>,
    /// True if the function uses flat scratch.
    pub uses_flat_scratch: Option<bool>,
    /// True if the size of the function's stack depends on run-time values.
    pub dynamic_stack: Option<bool>,
    /// The resources of the function itself.
    pub own: Resources,
    /// The resources of the function with its callees: the maximum of their register counts, and the scratch of the deepest chain of calls.
    pub with_callees: Resources,
    /// The reasons why `with_callees` may be too low: calls of functions described elsewhere, recursion, or indirect calls whose targets are not all
    /// known.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub open: Vec<&'static str>,
    /// The functions that the function calls.
    pub calls: Vec<Untrusted<'static>>,
    /// The type IDs of functions that the function calls by address.
    pub indirect_calls: Vec<Untrusted<'static>>,
    /// The type IDs of the function, if its address is taken.
    pub type_ids: Vec<Untrusted<'static>>,
    /// The variables in local memory and the barriers that the function uses.
    pub uses: Vec<Untrusted<'static>>,
}

/// Registers and scratch.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Resources {
    /// Scalar registers of a wavefront.
    pub sgprs: Option<u32>,
    /// Vector registers of a lane, without accumulation registers.
    pub vgprs: Option<u32>,
    /// Accumulation registers of a lane.
    pub agprs: Option<u32>,
    /// Scratch of a lane, in bytes.
    pub private_segment_size: Option<u64>,
}

/// A call of a function that the object does not describe.
const ELSEWHERE: &str = "calls functions that are described elsewhere";
/// A function that can call itself.
const RECURSION: &str = "is recursive";
/// An indirect call. Functions of other objects can have the same type.
const INDIRECT: &str = "calls functions by address";

/// Reads the section, and returns no functions if there is none.
pub(super) fn read(object: &CodeObject<'_>) -> Result<Vec<FunctionInfo>> {
    let is_named = |section: &&(usize, &Section<'_>)| section.1.name == SECTION;
    let sections: Vec<_> = object.sections().iter().enumerate().collect();
    let mut functions = Vec::new();
    for (index, _) in sections.iter().filter(is_named) {
        let reader = Reader {
            contents: contents(&object.elf, *index)?,
            strings: match object.sections().iter().position(|s| s.name == STRINGS) {
                Some(strings) => contents(&object.elf, strings)?,
                None => &[],
            },
            symbols: object.symbols()?,
            references: relocation::references_of(&object.elf, *index)?,
            meter: object.meter(),
        };
        reader.read(&mut functions)?;
    }
    add_callees(&mut functions, object.meter())?;
    Ok(functions)
}

fn contents<'data>(elf: &Elf<'data>, index: usize) -> Result<&'data [u8]> {
    let section = elf.sections.get(index);
    let stored = section.map(|section| elf.stored(section)).transpose()?;
    Ok(stored.flatten().unwrap_or(&[]))
}

fn malformed(reason: impl Into<String>) -> Error {
    Error::malformed(SECTION, reason)
}

struct Reader<'a, 'data> {
    contents: &'data [u8],
    strings: &'data [u8],
    symbols: &'a [Symbol<'data>],
    /// The symbol, by its number, and the addend of each relocation, by its offset.
    references: BTreeMap<u64, (u32, i64)>,
    meter: &'a Meter,
}

impl Reader<'_, '_> {
    fn read(&self, functions: &mut Vec<FunctionInfo>) -> Result<()> {
        let first = functions.len();
        let mut at = 0_u64;
        while let Some(&[kind, length]) =
            tail_at(self.contents, at).and_then(|rest| rest.first_chunk())
        {
            self.meter.work(1)?;
            let payload = at.saturating_add(2);
            let bytes = slice_at(self.contents, payload, length.into())
                .ok_or(ErrorKind::Truncated { what: SECTION })?;
            at = payload.saturating_add(length.into());
            if kind == kind::FUNCTION {
                self.meter.hold_all::<FunctionInfo>(1)?;
                functions.push(FunctionInfo {
                    name: self.symbol(payload)?,
                    ..FunctionInfo::default()
                });
                continue;
            }
            let Some(function) = functions.get_mut(first..).and_then(<[_]>::last_mut) else {
                return Err(malformed("an entry comes before the first function"));
            };
            self.entry(function, kind, payload, bytes)?;
        }
        if tail_at(self.contents, at).is_some_and(|rest| !rest.is_empty()) {
            return Err(ErrorKind::Truncated { what: SECTION }.into());
        }
        Ok(())
    }

    fn entry(&self, function: &mut FunctionInfo, kind: u8, at: u64, bytes: &[u8]) -> Result<()> {
        let number = || {
            u32_at(bytes, 0).ok_or_else(|| malformed(format!("an entry of kind {kind} is short")))
        };
        let own = &mut function.own;
        match kind {
            kind::FLAGS => {
                let flags = number()?;
                function.uses_vcc = Some(flags & 1 != 0);
                function.uses_flat_scratch = Some(flags & 2 != 0);
                function.dynamic_stack = Some(flags & 4 != 0);
            }
            kind::SGPRS => own.sgprs = Some(number()?),
            kind::VGPRS => own.vgprs = Some(number()?),
            kind::AGPRS => own.agprs = Some(number()?),
            kind::PRIVATE_SEGMENT_SIZE => own.private_segment_size = Some(number()?.into()),
            kind::USE => function.uses.push(self.symbol(at)?),
            kind::CALL => function.calls.push(self.symbol(at)?),
            kind::INDIRECT_CALL => function.indirect_calls.push(self.string(number()?)?),
            kind::TYPE_ID => function.type_ids.push(self.string(number()?)?),
            // A kind of a later version.
            _ => {}
        }
        Ok(())
    }

    /// Returns the name of the symbol that a relocation refers to. A relocation to a section stands for the function at that offset.
    fn symbol(&self, at: u64) -> Result<Untrusted<'static>> {
        let missing = || malformed(format!("the symbol at {at:#x} has no relocation"));
        let &(number, addend) = self.references.get(&at).ok_or_else(missing)?;
        // Number 0 is not a symbol, and not in the list.
        let index = usize::try_from(number).ok().and_then(|n| n.checked_sub(1));
        let symbol = index.and_then(|index| self.symbols.get(index));
        let symbol = symbol.ok_or_else(|| malformed(format!("there is no symbol {number}")))?;
        if symbol.kind != SymbolKind::Section {
            return self.text(&symbol.name);
        }
        self.meter.work(self.symbols.len() as u64)?;
        let address = symbol.address.checked_add_signed(addend);
        let is_there = |other: &&Symbol<'_>| {
            other.kind == SymbolKind::Function
                && other.section == symbol.section
                && Some(other.address) == address
                && matches!(other.section, SymbolSection::Index(_))
        };
        let found = self.symbols.iter().find(is_there);
        let found = found.ok_or_else(|| {
            malformed(
                "a reference to a section does not refer to a \
                                                   function",
            )
        })?;
        self.text(&found.name)
    }

    /// Returns a type ID, whose terminating NUL may be missing.
    fn string(&self, offset: u32) -> Result<Untrusted<'static>> {
        let rest = tail_at(self.strings, offset.into()).filter(|rest| !rest.is_empty());
        let rest = rest.ok_or_else(|| malformed(format!("there is no type ID at {offset:#x}")))?;
        let end = rest.iter().position(|&byte| byte == 0);
        let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or(rest);
        self.meter.charge_bytes(text.len())?;
        self.text(&String::from_utf8_lossy(text))
    }

    /// Copies a name, and charges for it.
    fn text(&self, text: &str) -> Result<Untrusted<'static>> {
        self.meter.charge_bytes(text.len())?;
        self.meter.hold(text.len() as u64)?;
        self.meter.hold_all::<Untrusted<'_>>(1)?;
        Ok(text.to_owned().into())
    }
}

/// The progress in following a function's calls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// The functions that it calls are being followed.
    Open,
    Done,
}

/// Adds the resources of callees to each function, walking the graph from callees to callers.
fn add_callees(functions: &mut [FunctionInfo], meter: &Meter) -> Result<()> {
    let targets = targets(functions, meter)?;
    let mut states = vec![State::New; functions.len()];
    for start in 0..functions.len() {
        // Each function with the number of its targets followed so far.
        let mut path = vec![(start, 0_usize)];
        while let Some((index, next)) = path.last_mut() {
            meter.work(1)?;
            let (index, position) = (*index, *next);
            *next = position.saturating_add(1);
            let state = states.get(index).copied().unwrap_or(State::Done);
            let target = targets
                .get(index)
                .and_then(|list| list.get(position))
                .copied();
            if state == State::Done {
                path.pop();
                continue;
            }
            if let Some(state) = states.get_mut(index) {
                *state = State::Open;
            }
            let Some(target) = target else {
                finish(functions, &targets, &states, index);
                if let Some(state) = states.get_mut(index) {
                    *state = State::Done;
                }
                path.pop();
                continue;
            };
            if states.get(target) == Some(&State::New) {
                path.push((target, 0));
            }
        }
    }
    Ok(())
}

/// Returns the callees of each function, by position.
fn targets(functions: &[FunctionInfo], meter: &Meter) -> Result<Vec<Vec<usize>>> {
    let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
    let mut by_type: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, function) in functions.iter().enumerate() {
        by_name.entry(function.name.raw()).or_insert(index);
        for id in &function.type_ids {
            by_type.entry(id.raw()).or_default().push(index);
        }
    }
    let mut all = Vec::new();
    for function in functions {
        let mut targets = BTreeSet::new();
        targets.extend(
            function
                .calls
                .iter()
                .filter_map(|name| by_name.get(name.raw())),
        );
        for id in &function.indirect_calls {
            let of_type = by_type.get(id.raw()).map_or(&[][..], Vec::as_slice);
            meter.work(of_type.len() as u64)?;
            targets.extend(of_type);
        }
        let count = targets.len().saturating_add(function.calls.len());
        meter.work(count as u64)?;
        meter.hold_all::<usize>(targets.len().saturating_add(3))?;
        all.push(targets.into_iter().collect());
    }
    Ok(all)
}

/// Combines a function's resources with its callees' resources. The callees are finished, unless they call this function.
fn finish(functions: &mut [FunctionInfo], targets: &[Vec<usize>], states: &[State], index: usize) {
    let Some(function) = functions.get(index) else {
        return;
    };
    let own = function.own;
    let mut sum = own;
    let mut open = BTreeSet::new();
    let mut deepest = Some(0_u64);
    let own_targets = targets.get(index).map_or(&[][..], Vec::as_slice);
    for &target in own_targets {
        let Some(callee) = functions.get(target) else {
            continue;
        };
        if states.get(target) != Some(&State::Done) {
            open.insert(RECURSION);
            continue;
        }
        let uses = callee.with_callees;
        let most = |a: Option<u32>, b: Option<u32>| a.zip(b).map(|(a, b)| a.max(b)).or(a).or(b);
        sum.sgprs = most(sum.sgprs, uses.sgprs);
        sum.vgprs = most(sum.vgprs, uses.vgprs);
        sum.agprs = most(sum.agprs, uses.agprs);
        deepest = deepest
            .zip(uses.private_segment_size)
            .map(|(a, b)| a.max(b));
        open.extend(callee.open.iter().copied());
    }
    let described: BTreeSet<&str> = own_targets
        .iter()
        .filter_map(|&target| functions.get(target))
        .map(|callee| callee.name.raw())
        .collect();
    if function
        .calls
        .iter()
        .any(|name| !described.contains(name.raw()))
    {
        open.insert(ELSEWHERE);
    }
    if !function.indirect_calls.is_empty() {
        open.insert(INDIRECT);
    }
    sum.private_segment_size = (own.private_segment_size)
        .zip(deepest)
        .and_then(|(own, deepest)| own.checked_add(deepest));
    if let Some(function) = functions.get_mut(index) {
        function.with_callees = sum;
        function.open = open.into_iter().collect();
    }
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    reason = "a test that truncates has failed"
)]
mod tests;
