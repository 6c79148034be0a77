//! The parts of a dump. The options, their help, the order of printing and what prints a part all come from one table.

use std::io::{self, Write};

use super::output::Output;
use super::{Failure, Selection, Sources, Style, View};
use super::{
    abbreviations, addresses, aranges, frame, gdb_index, line, loclists, macros, name_index,
    public_names, ranges, string_offsets, strings, unit, unit_index,
};

/// What the function that prints a part is given.
#[derive(Clone, Copy)]
pub(super) struct Context<'c, 'a> {
    pub(super) part: Part,
    pub(super) sources: &'c Sources<'a>,
    pub(super) style: Style,
    pub(super) selection: &'c Selection<'c>,
    pub(super) view: &'c View,
    /// The only offset to print, in bytes from the start of the section.
    pub(super) offset: Option<u64>,
    /// True if the part was asked for by name. Then empty sections have titles too.
    pub(super) explicit: bool,
    /// True if the entries of units are printed as well.
    pub(super) with_units: bool,
}

impl Context<'_, '_> {
    /// Prints the title of a section, and returns true if the section is to be printed.
    ///
    /// * `size`: of the section, in bytes.
    pub(super) fn begin_section(
        &self,
        name: &str,
        size: usize,
        output: &mut Output<'_>,
    ) -> io::Result<bool> {
        let is_expected = self.explicit && !name.ends_with(".dwo");
        if size == 0 && !is_expected {
            return Ok(false);
        }
        if !output.json() {
            writeln!(output, "\n{name} contents:")?;
        }
        Ok(true)
    }
}

/// Prints a part.
type Print = fn(Context<'_, '_>, &mut Output<'_>) -> Result<(), Failure>;

/// A row of the table.
struct Row {
    option: &'static str,
    aliases: &'static [&'static str],
    takes_offset: bool,
    help: &'static str,
    field: &'static str,
    print: Print,
}

macro_rules! parts {
    ($($(#[doc = $doc:literal])* $variant:ident, $option:literal, $aliases:expr, $offset:literal, $field:literal, $print:path, $help:literal;)*) => {
        /// A part of a dump.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Part { $(#[doc = concat!($help, ".")] $variant,)* }

        impl Part {
            /// All parts, in the order in which they are printed, which is llvm-dwarfdump's.
            pub const ALL: &[Part] = &[$(Part::$variant,)*];

            fn row(self) -> Row {
                match self {
                    $(Part::$variant => Row {
                        option: $option,
                        aliases: &$aliases,
                        takes_offset: $offset,
                        help: $help,
                        field: $field,
                        print: $print,
                    },)*
                }
            }
        }
    };
}

#[rustfmt::skip]
parts! {
//  part         option                aliases        offset  field in JSON        prints it             help
    Abbrev,      "debug-abbrev",       [],            false,  "abbreviations",     abbreviations::dump,  "Print the abbreviations";
    Info,        "debug-info",         [],            true,   "units",             unit::dump,           "Print the entries of all units, with their attributes (the default)";
    Types,       "debug-types",        [],            true,   "type_units",        unit::dump,           "Print the entries of the type units of DWARF 4";
    Loc,         "debug-loc",          [],            true,   "old_location_lists", loclists::dump_old, "Print the location lists of DWARF 4";
    Loclists,    "debug-loclists",     [],            true,   "location_lists",    loclists::dump,       "Print the location lists";
    Frame,       "debug-frame",        ["eh-frame"],  true,   "frames",            frame::dump,          "Print the entries, instructions and rows of the call frame information";
    Macro,       "debug-macro",        [],            false,  "macros",            macros::dump,         "Print the macros";
    Aranges,     "debug-aranges",      [],            false,  "address_ranges",    aranges::dump,        "Print which addresses the units say they cover";
    Line,        "debug-line",         [],            true,   "line_tables",       line::dump,           "Print the line tables";
    CuIndex,     "debug-cu-index",     [],            false,  "unit_index",        unit_index::dump,     "Print the index of the units of a package";
    TuIndex,     "debug-tu-index",     [],            false,  "type_unit_index",   unit_index::dump,     "Print the index of the type units of a package";
    Str,         "debug-str",          [],            false,  "strings",           strings::dump,        "Print the strings";
    LineStr,     "debug-line-str",     [],            false,  "line_strings",      strings::dump_line,   "Print the strings of the line tables";
    Addr,        "debug-addr",         [],            false,  "addresses",         addresses::dump,      "Print the tables of addresses";
    Ranges,      "debug-ranges",       [],            false,  "old_range_lists",   ranges::dump_old,     "Print the range lists of DWARF 4";
    Rnglists,    "debug-rnglists",     [],            false,  "range_lists",       ranges::dump,         "Print the range lists";
    Pubnames,    "debug-pubnames",     [],            false,  "public_names",      public_names::dump,   "Print the public names of DWARF 4";
    Pubtypes,    "debug-pubtypes",     [],            false,  "public_types",      public_names::dump,   "Print the public types of DWARF 4";
    GnuPubnames, "debug-gnu-pubnames", [],            false,  "gnu_public_names",  public_names::dump,   "Print GNU's public names";
    GnuPubtypes, "debug-gnu-pubtypes", [],            false,  "gnu_public_types",  public_names::dump,   "Print GNU's public types";
    StrOffsets,  "debug-str-offsets",  [],            false,  "string_offsets",    string_offsets::dump, "Print the tables of offsets of strings";
    GdbIndex,    "gdb-index",          [],            false,  "gdb_index",         gdb_index::dump,      "Print gdb's index";
    Names,       "debug-names",        [],            false,  "name_indexes",      name_index::dump,     "Print the index of names";
}

impl Part {
    /// Returns the long option that asks for it, without dashes.
    #[must_use]
    pub fn option(self) -> &'static str {
        self.row().option
    }

    /// Returns other names of the option.
    #[must_use]
    pub fn aliases(self) -> &'static [&'static str] {
        self.row().aliases
    }

    /// Returns true if the option may say which offset alone is printed.
    #[must_use]
    pub fn takes_offset(self) -> bool {
        self.row().takes_offset
    }

    /// Returns what the option's help says.
    #[must_use]
    pub fn help(self) -> &'static str {
        self.row().help
    }

    /// Prints it: text, or a field of the document.
    pub(super) fn print(
        self,
        context: Context<'_, '_>,
        output: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let row = self.row();
        if !output.json() {
            return (row.print)(context, output);
        }
        output.begin_array(row.field)?;
        (row.print)(context, output)?;
        Ok(output.end_array()?)
    }
}
