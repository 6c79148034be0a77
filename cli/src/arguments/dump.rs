//! The arguments of `dump`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::super::outputs::ForceArguments;
use super::core::CoreObjectChoice;
use super::format::{Format, parse_offset};
use super::object::ObjectArguments;

pub(super) const DUMP_EXAMPLES: &str = "Examples:
  hetdwarf dump kernel.hsaco --name 'v*'
  hetdwarf dump kernel.hsaco --debug-frame
  hetdwarf dump kernel.hsaco --die 0x1f3 --format json";

pub(super) const DUMP_JSON: &str = "Examples:
  hetdwarf dump kernel.hsaco --name 'v*'
  hetdwarf dump kernel.hsaco --debug-frame
  hetdwarf dump kernel.hsaco --die 0x1f3 --format json

Without --debug-…, --debug-info is printed. A part that is malformed is an error in its place, \
the rest is printed, and the exit status is 2.

The JSON document is {\"format\": \"hetdwarf-dump/1\"} with a field for each part that was asked for:
  units           --debug-info: section, offset, length, version, dwarf_format, kind, abbrev_offset, \
address_size, dwo_id, type_signature, type_offset, entries
    entries       in the order of the section: offset, depth (0 for the first), tag, attributes
    attributes    name, form, class (address, block, constant, exprloc, flag, loclist, rnglist, \
reference, string or offset), value
                  text       what the value stands for: a name, a path, the name of the entry referred to
                  bytes      of blocks and expressions; value is an expression's text
                  list       of location lists: range ([start, end], or \"default\"), value, bytes
                  ranges     of range lists: [start, end]
                  error      in place of value
  location_lists  --debug-loclists: section, offset, entries (kind, operands, range, value, bytes)
  line_tables     --debug-line: offset, version, …, directories, files, rows (address, line, column, \
file, isa, discriminator, op_index, flags)
  frames          --debug-frame: section, offset, kind (cie, fde or terminator), …, instructions, rows
  address_ranges  --debug-aranges: offset, unit, …, ranges
  name_indexes    --debug-names: offset, units, abbreviations, names (name, hash, entries), …
Offsets and addresses are strings, \"0x…\"; so are constants that may pass 2^53. Bytes are hexadecimal digits.";

#[derive(Debug, Args)]
pub(crate) struct DumpArguments {
    /// The code object, .dwo file or package, or a bundle or host program that contains it; `-` is standard input
    #[arg(required_unless_present = "core", conflicts_with = "core")]
    pub(crate) object: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) core: CoreObjectChoice,
    #[command(flatten)]
    pub(crate) which: ObjectArguments,
    /// Print the entries of all units, with their attributes (the default)
    #[arg(long)]
    pub(crate) debug_info: bool,
    /// Print the sections of location lists
    #[arg(long)]
    pub(crate) debug_loclists: bool,
    /// Print the line tables
    #[arg(long)]
    pub(crate) debug_line: bool,
    /// Print the entries, instructions and rows of the call frame information
    #[arg(long)]
    pub(crate) debug_frame: bool,
    /// Print the index of names
    #[arg(long)]
    pub(crate) debug_names: bool,
    /// Print which addresses the units say they cover
    #[arg(long)]
    pub(crate) debug_aranges: bool,
    /// Only entries whose name or linkage name matches, each alone
    #[arg(long, value_name = "GLOB", conflicts_with = "die")]
    pub(crate) name: Option<String>,
    /// Only the entry at this offset, and what is below it
    #[arg(long, value_name = "OFFSET", value_parser = parse_offset)]
    pub(crate) die: Option<u64>,
    /// With --name: also what is below each entry
    #[arg(long, requires = "name")]
    pub(crate) show_children: bool,
    /// Write the dump to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArguments,
    /// Which names are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) style: DumpStyle,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Which names a dump has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DumpStyle {
    /// Those of all registers and address spaces.
    #[default]
    Names,
    /// Those that llvm-dwarfdump 22 prints.
    Llvm,
}
