//! The arguments of `dump`.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use hetdwarf::debug_info::attribute::is_tag_name;
use hetdwarf::dump::Part;

use super::super::outputs::ForceArguments;
use super::core::CoreObjectChoice;
use super::format::{Format, parse_offset};
use super::object::ObjectArguments;

pub(super) const DUMP_EXAMPLES: &str = "Examples:
  hetdwarf dump kernel.hsaco --name 'v*'
  hetdwarf dump kernel.hsaco --debug-frame
  hetdwarf dump kernel.hsaco --all --verbose
  hetdwarf dump kernel.hsaco --lookup 0x1a08
  hetdwarf dump kernel.hsaco --die 0x1f3 --format json";

pub(super) const DUMP_JSON: &str = "Examples:
  hetdwarf dump kernel.hsaco --name 'v*'
  hetdwarf dump kernel.hsaco --debug-frame
  hetdwarf dump kernel.hsaco --all --verbose
  hetdwarf dump kernel.hsaco --lookup 0x1a08
  hetdwarf dump kernel.hsaco --die 0x1f3 --format json

Without a section option, --debug-info is printed. A malformed part is reported in its place, the rest is \
printed, and the exit status is 2.

The JSON document is {\"format\": \"hetdwarf-dump/1\"} with one field per requested section:
  units               --debug-info: section, offset, length, version, dwarf_format, kind, abbrev_offset, \
address_size, dwo_id, type_signature, type_offset, entries
    entries           in the order of the section: offset, depth (0 for the first), tag, attributes; with \
--verbose abbreviation and parent
    attributes        name, form, class (address, block, constant, exprloc, flag, loclist, rnglist, \
reference, string or offset), value
                      text       the meaning of the value: a name, a path, the name of the referenced entry
                      bytes      the bytes of a block or expression; value is the expression as text
                      list       the entries of a location list: range ([start, end], or \"default\"), value, bytes
                      ranges     the entries of a range list: [start, end]
                      error      the error, if there is no value
  type_units          --debug-types: as units
  location_lists      --debug-loclists: section, offset, entries (kind, operands, range, value, bytes)
  old_location_lists  --debug-loc: as location_lists
  range_lists         --debug-rnglists: section, offset, entries (offset, kind, operands, range)
  old_range_lists     --debug-ranges: as range_lists
  line_tables         --debug-line: offset, version, …, directories, files, rows (address, line, column, \
file, isa, discriminator, op_index, flags)
  frames              --debug-frame: section, offset, kind (cie, fde or terminator), …, instructions, rows
  address_ranges      --debug-aranges: offset, unit, …, ranges
  addresses           --debug-addr: offset, …, addresses
  abbreviations       --debug-abbrev: section, offset, abbreviations (code, tag, children, attributes)
  macros              --debug-macro: section, offset, version, entries (kind, line, text, file, import)
  name_indexes        --debug-names: offset, units, abbreviations, names (name, hash, entries), …
  strings, line_strings   --debug-str, --debug-line-str: section, offset, text
  string_offsets      --debug-str-offsets: section, offset, …, entries (offset, string, text)
  public_names, public_types, gnu_public_names, gnu_public_types
                      --debug-pubnames, …: offset, unit, …, names (entry, linkage, kind, name)
  unit_index, type_unit_index
                      --debug-cu-index, --debug-tu-index: version, columns, …, rows (slot, signature, parts)
  gdb_index           --gdb-index: version, units, type_units, addresses, symbols
Offsets and addresses are strings, \"0x…\"; so are constants that may pass 2^53. Bytes are hexadecimal digits.";

/// The selected parts, each with the offset to which its output is limited, if any. The options come from the library's table.
#[derive(Debug)]
pub(crate) struct PartChoice {
    pub(crate) chosen: Vec<(Part, Option<u64>)>,
}

impl Args for PartChoice {
    fn augment_args(command: Command) -> Command {
        let options = Part::ALL.iter().map(|part| {
            let option = Arg::new(part.option())
                .long(part.option())
                .visible_aliases(part.aliases().iter().copied())
                .help(part.help())
                .help_heading("Sections");
            if !part.takes_offset() {
                return option.action(ArgAction::SetTrue);
            }
            option
                .value_name("OFFSET")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("")
                .value_parser(parse_optional_offset)
        });
        command.args(options)
    }

    fn augment_args_for_update(command: Command) -> Command {
        PartChoice::augment_args(command)
    }
}

impl FromArgMatches for PartChoice {
    fn from_arg_matches(matches: &ArgMatches) -> Result<PartChoice, clap::Error> {
        let chosen = Part::ALL.iter().filter_map(|part| {
            if !part.takes_offset() {
                return matches.get_flag(part.option()).then_some((*part, None));
            }
            let offset: Option<&Option<u64>> = matches.get_one(part.option());
            offset.map(|offset| (*part, *offset))
        });
        Ok(PartChoice {
            chosen: chosen.collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = PartChoice::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Parses an offset. Returns None if no offset follows the option.
fn parse_optional_offset(text: &str) -> Result<Option<u64>, String> {
    match text {
        "" => Ok(None),
        text => parse_offset(text).map(Some),
    }
}

#[derive(Debug, Args)]
pub(crate) struct DumpArguments {
    /// Code objects, .dwo or .dwp files, or bundles or host programs that contain one; `-` reads standard input
    #[arg(
        value_name = "OBJECT",
        required_unless_present = "core",
        conflicts_with = "core"
    )]
    pub(crate) objects: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) core: CoreObjectChoice,
    #[command(flatten)]
    pub(crate) which: ObjectArguments,
    #[command(flatten)]
    pub(crate) parts: PartChoice,
    /// Print all sections
    #[arg(short, long, help_heading = "Sections")]
    pub(crate) all: bool,
    /// Print only entries whose name or linkage name matches; with --style llvm the name must be equal
    #[arg(short, long, value_name = "GLOB", conflicts_with = "die")]
    pub(crate) name: Vec<String>,
    /// Read the patterns of --name as regular expressions
    #[arg(short = 'x', long)]
    pub(crate) regex: bool,
    /// Ignore the case of letters in names
    #[arg(short, long)]
    pub(crate) ignore_case: bool,
    /// Print only the entries that a name index lists for this name
    #[arg(short, long, value_name = "NAME", conflicts_with_all = ["name", "die"])]
    pub(crate) find: Vec<String>,
    /// Print only the entry at this offset and its children
    #[arg(long, value_name = "OFFSET", value_parser = parse_offset)]
    pub(crate) die: Option<u64>,
    /// Print only the unit, function, innermost block and line of this address
    #[arg(long, value_name = "ADDRESS", value_parser = parse_offset, conflicts_with_all = ["name", "die", "find"])]
    pub(crate) lookup: Option<u64>,
    /// Also print the children of selected entries
    #[arg(short = 'c', long)]
    pub(crate) show_children: bool,
    /// Also print the parents of selected entries
    #[arg(short = 'p', long)]
    pub(crate) show_parents: bool,
    /// Print N levels below an entry, or all levels without N
    #[arg(short, long, value_name = "N", num_args = 0..=1, default_missing_value = "4294967295")]
    pub(crate) recurse_depth: Option<u32>,
    /// Print N levels above a selected entry
    #[arg(long, value_name = "N")]
    pub(crate) parent_recurse_depth: Option<u32>,
    /// Print only children with this tag
    #[arg(short = 't', long, value_name = "TAG", value_parser = parse_tag)]
    pub(crate) filter_child_tag: Vec<String>,
    /// Print the forms of attributes
    #[arg(short = 'F', long)]
    pub(crate) show_form: bool,
    /// Print all encodings; without section options, print all sections
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Print one line per type unit instead of its entries
    #[arg(long)]
    pub(crate) summarize_types: bool,
    /// Print only the sizes of the debugging sections
    #[arg(long)]
    pub(crate) show_section_sizes: bool,
    /// Print counts of functions and variables and the coverage of their locations, as JSON
    #[arg(long)]
    pub(crate) statistics: bool,
    /// Print only the source files named by the line tables
    #[arg(long)]
    pub(crate) show_sources: bool,
    /// Write the dump to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArguments,
    /// Use this naming style
    #[arg(long, value_enum, default_value_t)]
    pub(crate) style: DumpStyle,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Parses the name of a tag.
fn parse_tag(text: &str) -> Result<String, String> {
    match is_tag_name(text) {
        true => Ok(text.to_owned()),
        false => Err("expected a tag, DW_TAG_…".to_owned()),
    }
}

/// The naming style of a dump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DumpStyle {
    /// Names of all registers and address spaces.
    #[default]
    Names,
    /// Names as printed by llvm-dwarfdump 22.
    Llvm,
}
