//! Defines the rules for name indices.

use crate::verify::rule::rules;

rules! {
    HEADER "names-header" Error "DWARF 5 §6.1.1.4.1"
        "the header of a name index is invalid"
        "Its length goes past the end of the section, its version is not 5, or its tables do not fit into it. Nothing in the index can be found. If \
         the length is wrong, no later index can be found either.";
    AUGMENTATION "names-augmentation" Note "DWARF 5 §6.1.1.4.1"
        "the augmentation string of a name index is unknown"
        "The augmentation string names the producer of the index, and with it any vendor attributes and rules. Known strings are LLVM0700, GDB, GDB2, GDB3 and, as USAGE prescribes, \
         [amdgpu:v0.0]. A reader that does not know the string may use the standard part; gdb ignores the index.";
    ABBREVIATION "names-abbreviation" Error "DWARF 5 §6.1.1.4.7"
        "an abbreviation of a name index is invalid"
        "The table has no end, a code or an attribute appears twice, DW_IDX_die_offset is missing, or an attribute has a form that its class does not \
         allow. Entries that use the abbreviation cannot be read, or refer to nothing.";
    UNIT "names-unit" Error "DWARF 5 §6.1.1.4.2"
        "a name index refers to a missing unit"
        "No unit starts at the offset in .debug_info, the unit has the other kind, or another index covers it too. Names of the index refer \
         to something else, or are found twice.";
    BUCKET "names-bucket" Error "DWARF 5 §6.1.1.4.5"
        "a name is in the wrong bucket"
        "A bucket holds the number of its first name. It ends before the first name whose hash, modulo the number of buckets, belongs to another \
         bucket. A name outside its bucket is never found.";
    HASH "names-hash" Error "DWARF 5 §6.1.1.4.5"
        "the hash of a name does not match its string"
        "The hash must be the one of §7.33 over the string in lower case. Debuggers compare hashes before names, so they never find the \
         name.";
    STRING "names-string" Error "DWARF 5 §6.1.1.4.6"
        "a name is not in .debug_str"
        "Its offset is outside the section, or the string has no terminating zero.";
    ENTRY "names-entry" Error "DWARF 5 §6.1.1.4.8"
        "an entry of a name index cannot be read"
        "A name has no entry, its offset is outside the entries, an abbreviation is missing, the number of a unit is too large, or the entries have \
         no end. The name cannot be found.";
    DIE "names-die" Error "DWARF 5 §6.1.1.4.8"
        "an entry of a name index refers to no entry of its unit"
        "DW_IDX_die_offset counts from the start of the unit, and no entry starts there.";
    TAG "names-tag" Error "DWARF 5 §6.1.1.4.7"
        "an entry of a name index has a different tag than the entry it refers to"
        "Readers select entries by tag. A reader that looks for a type skips a variable.";
    NAME "names-name" Error "DWARF 5 §6.1.1.1"
        "an entry of a name index refers to an entry with another name"
        "Neither the name nor the linkage name of the entry is the string of the index. A debugger shows something else, or nothing.";
    PARENT "names-parent" Error "DWARF 5 §6.1.1.4.8"
        "an entry of a name index has a wrong parent"
        "DW_IDX_parent is the offset of the parent's entry in the index. With a wrong offset, a qualified name is not found, or found in the wrong \
         place.";
    MISSING "names-missing" Warning "DWARF 5 §6.1.1.1"
        "a name is not in the index of its unit"
        "Every entry with a name must be in the index, except parameters, members and other local entities, declarations, and functions and variables \
         without an address. A debugger that relies on the index does not find the name.";
    UNIT_WITHOUT "names-no-index" Note "DWARF 5 §6.1.1.1"
        "units are in no name index"
        "Other units have an index. To find a name, debuggers read units without an index as a whole.";
    TOO_LARGE "names-too-large" Warning "DWARF 5 §6.1.1"
        "a name index is too expensive to check"
        "Its names share long strings. The check stopped after a hundred times the work that real files need; the rest was not checked.";
}
