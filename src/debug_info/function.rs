//! Finds the function that contains an address, and reads its entry.
//!
//! It leaves blocks and inlining to `scope`, variables to `variable`. Sources: DWARF 5 §3.3; HET A.3.3.5;
//! USAGE for `DW_CC_LLVM_DeviceKernel`.

use core::ops::Range;
use std::borrow::Cow;

use gimli::constants::{
    DW_AT_artificial, DW_AT_calling_convention, DW_AT_decl_column, DW_AT_decl_file,
    DW_AT_decl_line, DW_AT_external, DW_AT_frame_base, DW_AT_name,
};

use super::attribute::{DEVICE_KERNEL, Extension};
use super::die::Die;
use super::id::DieId;
use super::source_file::SourceFile;
use super::walk::Chain;
use super::{Bytes, DebugInfo};
use crate::error::{Error, Result};
use crate::eval::{LocationAttribute, Subprogram};
use crate::meter::Meter;

/// The place of a declaration in the source.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declaration {
    /// The file. `None` if the line table does not have it.
    pub file: Option<SourceFile>,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The column, from 1.
    pub column: Option<u64>,
}

/// The number of loop iterations that run at once (`DW_AT_LLVM_iterations`).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iterations<'a> {
    /// A constant number.
    Constant(u64),
    /// The number that an expression computes.
    Location(LocationAttribute<'a>),
}

/// A function's use of the lanes of a wavefront. Source: HET A.3.3.5, items 4 to 7.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Simt<'a> {
    /// `DW_AT_LLVM_lanes`. The default is 1.
    pub lanes: Option<u64>,
    /// `DW_AT_LLVM_lane_pc`: the conceptual pc of each lane.
    pub lane_pc: Option<LocationAttribute<'a>>,
    /// `DW_AT_LLVM_active_lane`: the mask of active lanes. The default is EXEC.
    pub active_lane: Option<LocationAttribute<'a>>,
    /// `DW_AT_LLVM_iterations`. The default is 1.
    pub iterations: Option<Iterations<'a>>,
}

/// A function with code (`DW_TAG_subprogram`).
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Function<'a> {
    /// The entry.
    pub die: DieId,
    /// The name in the source, without namespace or class.
    pub name: Option<Cow<'a, str>>,
    /// The enclosing namespaces and classes, as `a::b`.
    pub qualifier: Option<String>,
    /// The linkage name, if that differs.
    pub linkage_name: Option<Cow<'a, str>>,
    /// The declaration.
    pub declaration: Declaration,
    /// The addresses of its code.
    pub ranges: Vec<Range<u64>>,
    /// `DW_AT_frame_base`.
    pub frame_base: Option<LocationAttribute<'a>>,
    /// The use of lanes.
    pub simt: Simt<'a>,
    /// The entry of the type it returns. `None` for `void`.
    pub result: Option<DieId>,
    /// True if it is a kernel (`DW_CC_LLVM_DeviceKernel`). Compilers do not mark HIP kernels this way.
    pub is_kernel: bool,
    /// True if it is visible to other units.
    pub external: bool,
    /// True if the compiler generated it.
    pub artificial: bool,
    /// The reason why an attribute of the entry is missing here.
    pub problem: Option<Error>,
}

impl<'a> Function<'a> {
    /// Returns the attributes of the function to which expressions refer.
    #[must_use]
    pub fn subprogram(&self) -> Subprogram<'a> {
        Subprogram {
            frame_base: self.frame_base,
            lanes: self.simt.lanes,
            iterations: match self.simt.iterations {
                Some(Iterations::Constant(count)) => Some(count),
                Some(Iterations::Location(_)) | None => None,
            },
        }
    }
}

/// The attributes of a function that describe its code. Reading the rest of [`Function`] needs the whole unit.
#[derive(Debug)]
pub(crate) struct FunctionCode<'a> {
    /// The name in the source.
    pub(crate) name: Option<Cow<'a, str>>,
    /// The addresses of its code.
    pub(crate) ranges: Vec<Range<u64>>,
    /// `DW_AT_frame_base`.
    pub(crate) frame_base: Option<LocationAttribute<'a>>,
    /// The use of lanes.
    pub(crate) simt: Simt<'a>,
    result: Option<DieId>,
    /// The reason why an attribute of the entry is missing here.
    pub(crate) problem: Option<Error>,
}

impl<'a> DebugInfo<'a> {
    /// Reads the function whose entry is at `id`.
    ///
    /// # Errors
    /// If there is no entry. Attributes that cannot be read are omitted, and the first of these errors becomes the function's `problem`.
    pub fn function(&self, id: DieId) -> Result<Function<'a>> {
        let chain = self.chain(self.die(id)?);
        let code = self.code_of(&chain, &self.for_query());
        let convention = chain.find(DW_AT_calling_convention);
        let convention = convention.and_then(|(_, attribute)| attribute.udata_value());
        Ok(Function {
            die: id,
            name: code.name,
            qualifier: self.chain_qualifier(&chain),
            linkage_name: self.linkage_name(&chain),
            declaration: self.declaration(&chain),
            ranges: code.ranges,
            frame_base: code.frame_base,
            simt: code.simt,
            result: code.result,
            is_kernel: convention == Some(DEVICE_KERNEL),
            external: chain.flag(DW_AT_external),
            artificial: chain.flag(DW_AT_artificial),
            problem: code.problem,
        })
    }

    /// Reads the attributes of a function that describe its code.
    ///
    /// # Errors
    /// Fails like [`function`](DebugInfo::function).
    pub(crate) fn function_code(&self, id: DieId, meter: &Meter) -> Result<FunctionCode<'a>> {
        let chain = self.chain(self.die(id)?);
        Ok(self.code_of(&chain, meter))
    }

    fn code_of(&self, chain: &Chain<'a>, meter: &Meter) -> FunctionCode<'a> {
        let mut problem = None;
        let mut keep = Keep(&mut problem);
        let own = chain.entries().next();
        let ranges = own.map(|die| self.ranges(die, meter)).transpose();
        let ranges = keep.value(ranges).unwrap_or_default();
        let frame_base = chain
            .find(DW_AT_frame_base)
            .and_then(|(die, attribute)| keep.value(self.location(die, attribute)));
        let simt = self.simt(chain, &mut keep);
        let result = keep.value(self.type_of(chain));
        FunctionCode {
            name: self.chain_string(chain, DW_AT_name),
            ranges,
            frame_base,
            simt,
            result,
            problem,
        }
    }

    /// Reads the attributes about lanes.
    pub(super) fn simt(&self, chain: &Chain<'a>, keep: &mut Keep<'_>) -> Simt<'a> {
        let location = |extension, keep: &mut Keep<'_>| {
            let (die, attribute) = chain.find_extension(extension)?;
            keep.value(self.location(die, attribute))
        };
        let lanes = chain.find_extension(Extension::Lanes);
        let iterations = chain.find_extension(Extension::Iterations);
        let iterations = iterations.and_then(|(_, attribute)| attribute.udata_value());
        Simt {
            lanes: lanes.and_then(|(_, attribute)| attribute.udata_value()),
            lane_pc: location(Extension::LanePc, keep),
            active_lane: location(Extension::ActiveLane, keep),
            iterations: match iterations {
                Some(count) => Some(Iterations::Constant(count)),
                None => location(Extension::Iterations, keep).map(Iterations::Location),
            },
        }
    }

    /// Reads the place of an entry's declaration.
    pub(super) fn declaration(&self, chain: &Chain<'a>) -> Declaration {
        let number = |name| {
            let (_, attribute) = chain.find(name)?;
            attribute.udata_value()
        };
        let file = chain
            .find(DW_AT_decl_file)
            .and_then(|(die, attribute)| self.source_file_of(die, attribute));
        Declaration {
            file,
            line: number(DW_AT_decl_line).filter(|line| *line != 0),
            column: number(DW_AT_decl_column).filter(|column| *column != 0),
        }
    }

    /// Returns the file whose number is the value of an attribute, or `None` if it cannot be found.
    pub(super) fn source_file_of(
        &self,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
    ) -> Option<SourceFile> {
        let number = self.value(die, attribute).ok()?.unsigned()?;
        self.source_file(die.id().unit, number).ok()?
    }
}

/// Keeps the first error of several attempts whose values can be missing.
pub(super) struct Keep<'p>(pub(super) &'p mut Option<Error>);

impl Keep<'_> {
    pub(super) fn value<T>(&mut self, result: Result<Option<T>>) -> Option<T> {
        match result {
            Ok(value) => value,
            Err(error) => {
                self.0.get_or_insert(error);
                None
            }
        }
    }
}
