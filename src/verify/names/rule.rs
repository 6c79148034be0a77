//! Defines the rules for name indices.

use crate::verify::rule::rules;

rules! {
    HEADER "names-header" Error "DWARF 5 §6.1.1.4.1"
        "the header of a name index is invalid"
        "Its length goes past the end of the section, its version is not 5, or its tables do not fit into it. Nothing in the index can be found, and \
         where the length is wrong, nothing after it either.";
    AUGMENTATION "names-augmentation" Note "DWARF 5 §6.1.1.4.1"
        "the augmentation string of a name index is unknown"
        "It says who made the index, and which attributes and rules of its own it has: LLVM0700, GDB, GDB2, GDB3 and what USAGE prescribes, [amdgpu:v0.0], are known. A reader that does \
         not know it may use the standard part; gdb ignores the index.";
    ABBREVIATION "names-abbreviation" Error "DWARF 5 §6.1.1.4.7"
        "an abbreviation of a name index is invalid"
        "The table is not ended, a code or an attribute comes twice, DW_IDX_die_offset is missing, or an attribute has a form that its class does not \
         have. Entries that use it cannot be read, or lead nowhere.";
    UNIT "names-unit" Error "DWARF 5 §6.1.1.4.2"
        "a name index refers to a missing unit"
        "No unit starts at the offset in .debug_info, it is of the other kind, or another index is for it, too. Names of the index lead into \
         something else, or are found twice.";
    BUCKET "names-bucket" Error "DWARF 5 §6.1.1.4.5"
        "a name is in the wrong bucket"
        "A bucket has the number of the first of its names; they follow each other up to the first whose hash, modulo the number of buckets, is that \
         of another bucket. A name outside of its bucket is never found.";
    HASH "names-hash" Error "DWARF 5 §6.1.1.4.5"
        "the hash of a name does not match its string"
        "It is that of §7.33 over the string in lower case. A debugger compares hashes before names, so that the name is never found.";
    STRING "names-string" Error "DWARF 5 §6.1.1.4.6"
        "a name is not in .debug_str"
        "Its offset is outside of the section, or no zero ends the string.";
    ENTRY "names-entry" Error "DWARF 5 §6.1.1.4.8"
        "an entry of a name index cannot be read"
        "A name has no entry, its offset is outside of the entries, an abbreviation is missing, a unit's number is too large, or the entries do not \
         end. What the name stands for is not found.";
    DIE "names-die" Error "DWARF 5 §6.1.1.4.8"
        "an entry of a name index refers to no entry of its unit"
        "DW_IDX_die_offset counts from the start of the unit; nothing starts there.";
    TAG "names-tag" Error "DWARF 5 §6.1.1.4.7"
        "an entry of a name index has another tag than the entry it refers to"
        "The tag decides whether a reader looks at the entry at all: one who looks for a type passes over a variable.";
    NAME "names-name" Error "DWARF 5 §6.1.1.1"
        "an entry of a name index refers to an entry with another name"
        "The entry has neither the name nor, as the name for the linker, the string. A debugger shows something else, or nothing.";
    PARENT "names-parent" Error "DWARF 5 §6.1.1.4.8"
        "an entry of a name index has a wrong parent"
        "DW_IDX_parent is where, in the entries of the index, that of the parent starts. With another one a qualified name is not found, or found in \
         the wrong place.";
    MISSING "names-missing" Warning "DWARF 5 §6.1.1.1"
        "a name is not in the index of its unit"
        "Every entry with a name has one in the index but parameters, members and other local things, declarations, and functions and variables without \
         an address. A debugger that goes by the index does not find it.";
    UNIT_WITHOUT "names-no-index" Note "DWARF 5 §6.1.1.1"
        "units are in no name index"
        "There are indices for other units. Debuggers read such units as a whole when they look for a name.";
    TOO_LARGE "names-too-large" Warning "DWARF 5 §6.1.1"
        "a name index asks for more work than any real one"
        "Its names share long strings. What was looked at is a hundred times what real files need; the rest was not checked.";
}
