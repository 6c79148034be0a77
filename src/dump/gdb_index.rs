//! Prints gdb's index, `.gdb_index`, table by table.
//!
//! Source: the manual of gdb, "Index section format", versions 7 and 8.

use std::io::Write;

use serde::Serialize;

use super::Failure;
use super::context::Context;
use super::output::Output;
use crate::error::{Error, Result};
use crate::expr::Cursor;
use crate::report::Hex;
use crate::untrusted::Untrusted;

const NAME: &str = ".gdb_index";

#[derive(Serialize)]
struct IndexFields {
    version: u32,
    units: Vec<[Hex; 2]>,
    type_units: Vec<[Hex; 3]>,
}

#[derive(Serialize)]
struct AreaFields {
    range: [Hex; 2],
    unit: u32,
}

#[derive(Serialize)]
struct SymbolFields<'a> {
    slot: usize,
    name: &'a str,
    units: Vec<Hex>,
}

/// The header: the offsets of the tables.
struct Index<'a> {
    bytes: &'a [u8],
    version: u32,
    units: u32,
    type_units: u32,
    areas: u32,
    symbols: u32,
    pool: u32,
}

/// Prints the section.
pub(super) fn dump(
    context: Context<'_, '_>,
    output: &mut Output<'_>,
) -> core::result::Result<(), Failure> {
    let bytes = context.sources.section(false, NAME)?;
    if !context.begin_section(NAME, bytes.len(), output)? || bytes.is_empty() {
        return Ok(());
    }
    match Index::read(bytes) {
        Ok(index) if output.json() => index.json(output),
        Ok(index) => index.text(output),
        Err(error) => Ok(output.problem(&error.within(NAME, 0))?),
    }
}

impl<'a> Index<'a> {
    fn read(bytes: &'a [u8]) -> Result<Index<'a>> {
        let mut cursor = Cursor::new(bytes);
        let index = Index {
            bytes,
            version: cursor.u32()?,
            units: cursor.u32()?,
            type_units: cursor.u32()?,
            areas: cursor.u32()?,
            symbols: cursor.u32()?,
            pool: cursor.u32()?,
        };
        if !matches!(index.version, 7 | 8) {
            let reason = format!("unknown version {}", index.version);
            return Err(Error::malformed("index", reason));
        }
        let ends = [
            index.units,
            index.type_units,
            index.areas,
            index.symbols,
            index.pool,
        ];
        if !ends.is_sorted() || ends.iter().any(|end| *end as usize > bytes.len()) {
            let reason = "its tables are not in ascending order";
            return Err(Error::malformed("index", reason));
        }
        Ok(index)
    }

    /// Returns the entries of a table, for the given entry size in bytes.
    fn entries(&self, start: u32, end: u32, size: usize) -> core::slice::ChunksExact<'a, u8> {
        let bytes = self.bytes.get(start as usize..end as usize);
        bytes.unwrap_or_default().chunks_exact(size)
    }

    /// Returns the words of an entry of eight bytes each.
    fn words<const N: usize>(entry: &[u8]) -> [u64; N] {
        let mut cursor = Cursor::new(entry);
        [(); N].map(|()| cursor.u64().unwrap_or_default())
    }

    fn areas(&self) -> impl ExactSizeIterator<Item = (u64, u64, u32)> {
        self.entries(self.areas, self.symbols, 20).map(|entry| {
            let [low, high] = Index::words(entry);
            let unit = entry
                .last_chunk()
                .map_or(0, |unit| u32::from_le_bytes(*unit));
            (low, high, unit)
        })
    }

    /// Returns the slots of the symbol table: offsets of the name and of the units in the pool.
    fn slots(&self) -> impl ExactSizeIterator<Item = (u32, u32)> {
        self.entries(self.symbols, self.pool, 8).map(|entry| {
            let [both] = Index::words(entry);
            let [name, vector] = [both & 0xffff_ffff, both >> 32];
            // Both fit.
            let low = |value: u64| u32::try_from(value).unwrap_or_default();
            (low(name), low(vector))
        })
    }

    fn in_pool(&self, offset: u32) -> &'a [u8] {
        let pool = self.bytes.get(self.pool as usize..).unwrap_or_default();
        pool.get(offset as usize..).unwrap_or_default()
    }

    fn name(&self, offset: u32) -> String {
        let bytes = self.in_pool(offset);
        let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    }

    /// Returns the units of a vector, with the bits for the kind of the name.
    fn vector(&self, offset: u32) -> impl Iterator<Item = u32> {
        let mut words = self.in_pool(offset).chunks_exact(4).map(|word| {
            word.first_chunk()
                .map_or(0, |word| u32::from_le_bytes(*word))
        });
        let count = words.next().unwrap_or(0);
        words.take(count as usize)
    }

    fn text(&self, output: &mut Output<'_>) -> core::result::Result<(), Failure> {
        writeln!(output, "  Version = {}", self.version)?;
        let units = self.entries(self.units, self.type_units, 16);
        let (at, count) = (self.units, units.len());
        writeln!(output, "\n  CU list offset = {at:#x}, has {count} entries:")?;
        for (number, entry) in units.enumerate() {
            let [offset, length] = Index::words(entry);
            writeln!(
                output,
                "    {number}: Offset = {offset:#x}, Length = {length:#x}"
            )?;
        }
        let units = self.entries(self.type_units, self.areas, 24);
        let (at, count) = (self.type_units, units.len());
        writeln!(
            output,
            "\n  Types CU list offset = {at:#x}, has {count} entries:"
        )?;
        for (number, entry) in units.enumerate() {
            let [offset, inside, signature] = Index::words(entry);
            writeln!(
                output,
                "    {number}: offset = {offset:#010x}, type_offset = {inside:#010x}, type_signature = {signature:#018x}"
            )?;
        }
        let (at, count) = (self.areas, self.areas().len());
        writeln!(
            output,
            "\n  Address area offset = {at:#x}, has {count} entries:"
        )?;
        for (low, high, unit) in self.areas() {
            let size = high.wrapping_sub(low);
            writeln!(
                output,
                "    Low/High address = [{low:#x}, {high:#x}) (Size: {size:#x}), CU id = {unit}"
            )?;
        }
        self.symbols(output)
    }

    fn symbols(&self, output: &mut Output<'_>) -> core::result::Result<(), Failure> {
        let slots = self.slots();
        let (at, count) = (self.symbols, slots.len());
        writeln!(
            output,
            "\n  Symbol table offset = {at:#x}, size = {count}, filled slots:"
        )?;
        let is_filled = |(_, (name, vector)): &(usize, (u32, u32))| (*name, *vector) != (0, 0);
        let mut vectors: Vec<u32> = self
            .slots()
            .enumerate()
            .filter(is_filled)
            .map(|(_, (_, vector))| vector)
            .collect();
        vectors.sort_unstable();
        vectors.dedup();
        for (slot, (name, vector)) in slots.enumerate().filter(is_filled) {
            writeln!(
                output,
                "    {slot}: Name offset = {name:#x}, CU vector offset = {vector:#x}"
            )?;
            let name = Untrusted::from(self.name(name));
            let number = vectors.binary_search(&vector).unwrap_or_default();
            writeln!(
                output,
                "      String name: {name}, CU vector index: {number}"
            )?;
        }
        write!(
            output,
            "\n  Constant pool offset = {:#x}, has {} CU vectors:",
            self.pool,
            vectors.len()
        )?;
        for (number, vector) in vectors.iter().enumerate() {
            write!(output, "\n    {number}({vector:#x}): ")?;
            for unit in self.vector(*vector) {
                write!(output, "{unit:#x} ")?;
            }
        }
        Ok(writeln!(output)?)
    }

    fn json(&self, output: &mut Output<'_>) -> core::result::Result<(), Failure> {
        let units = self.entries(self.units, self.type_units, 16);
        let type_units = self.entries(self.type_units, self.areas, 24);
        output.begin_element(&IndexFields {
            version: self.version,
            units: units
                .map(|entry| Index::words(entry).map(Hex::from))
                .collect(),
            type_units: type_units
                .map(|entry| Index::words(entry).map(Hex::from))
                .collect(),
        })?;
        output.begin_array("addresses")?;
        for (low, high, unit) in self.areas() {
            output.element(&AreaFields {
                range: [low.into(), high.into()],
                unit,
            })?;
        }
        output.end_array()?;
        output.begin_array("symbols")?;
        for (slot, (name, vector)) in self.slots().enumerate() {
            if (name, vector) != (0, 0) {
                output.element(&SymbolFields {
                    slot,
                    name: &self.name(name),
                    units: self
                        .vector(vector)
                        .map(|unit| u64::from(unit).into())
                        .collect(),
                })?;
            }
        }
        output.end_array()?;
        Ok(output.end_element()?)
    }
}
