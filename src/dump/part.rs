//! Lists the parts of a dump. One table defines the options, their help, the order of printing and the fields of the document. The printing function
//! is chosen when the dump is written, by a match without a wildcard.

/// A row of the table.
struct Row {
    option: &'static str,
    aliases: &'static [&'static str],
    takes_offset: bool,
    help: &'static str,
    field: &'static str,
}

macro_rules! parts {
    ($($variant:ident, $option:literal, $aliases:expr, $offset:literal, $field:literal, $help:literal;)*) => {
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
                    },)*
                }
            }
        }
    };
}

#[rustfmt::skip]
parts! {
//  part         option                aliases        offset  field in JSON        help
    Abbrev,      "debug-abbrev",       [],            false,  "abbreviations",     "Print the abbreviations";
    Info,        "debug-info",         [],            true,   "units",             "Print the entries of all units, with their attributes (the default)";
    Types,       "debug-types",        [],            true,   "type_units",        "Print the entries of type units of DWARF 4";
    Loc,         "debug-loc",          [],            true,   "old_location_lists", "Print the location lists of DWARF 4";
    Loclists,    "debug-loclists",     [],            true,   "location_lists",    "Print the location lists";
    Frame,       "debug-frame",        ["eh-frame"],  true,   "frames",            "Print the entries, instructions and rows of the call frame information";
    Macro,       "debug-macro",        [],            false,  "macros",            "Print the macros";
    Aranges,     "debug-aranges",      [],            false,  "address_ranges",    "Print the address ranges of the units";
    Line,        "debug-line",         [],            true,   "line_tables",       "Print the line tables";
    CuIndex,     "debug-cu-index",     [],            false,  "unit_index",        "Print the unit index of a package";
    TuIndex,     "debug-tu-index",     [],            false,  "type_unit_index",   "Print the type unit index of a package";
    Str,         "debug-str",          [],            false,  "strings",           "Print the strings";
    LineStr,     "debug-line-str",     [],            false,  "line_strings",      "Print the strings of the line tables";
    Addr,        "debug-addr",         [],            false,  "addresses",         "Print the address tables";
    Ranges,      "debug-ranges",       [],            false,  "old_range_lists",   "Print the range lists of DWARF 4";
    Rnglists,    "debug-rnglists",     [],            false,  "range_lists",       "Print the range lists";
    Pubnames,    "debug-pubnames",     [],            false,  "public_names",      "Print the public names of DWARF 4";
    Pubtypes,    "debug-pubtypes",     [],            false,  "public_types",      "Print the public types of DWARF 4";
    GnuPubnames, "debug-gnu-pubnames", [],            false,  "gnu_public_names",  "Print GNU's public names";
    GnuPubtypes, "debug-gnu-pubtypes", [],            false,  "gnu_public_types",  "Print GNU's public types";
    StrOffsets,  "debug-str-offsets",  [],            false,  "string_offsets",    "Print the string offset tables";
    GdbIndex,    "gdb-index",          [],            false,  "gdb_index",         "Print the index for gdb";
    Names,       "debug-names",        [],            false,  "name_indexes",      "Print the name index";
}

impl Part {
    /// Returns its long option, without dashes.
    #[must_use]
    pub fn option(self) -> &'static str {
        self.row().option
    }

    /// Returns other names of the option.
    #[must_use]
    pub fn aliases(self) -> &'static [&'static str] {
        self.row().aliases
    }

    /// Returns true if the option accepts an offset, to print only one entry.
    #[must_use]
    pub fn takes_offset(self) -> bool {
        self.row().takes_offset
    }

    /// Returns the help text of the option.
    #[must_use]
    pub fn help(self) -> &'static str {
        self.row().help
    }

    /// Returns true if llvm-dwarfdump reports malformed data in it as warnings. Elsewhere they are errors.
    pub(super) fn warns(self) -> bool {
        matches!(
            self,
            Part::Info
                | Part::Types
                | Part::Abbrev
                | Part::Line
                | Part::Macro
                | Part::Str
                | Part::LineStr
        )
    }

    /// Returns its field in the document.
    pub(super) fn field(self) -> &'static str {
        self.row().field
    }
}
