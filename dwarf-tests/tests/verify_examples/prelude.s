// What the examples of `hetdwarf verify --explain` are written with.

// The hashes of names of one letter (DWARF 5 §7.33): 33 · 5381 and the letter.
.set hash_of_f, 177675
.set hash_of_g, 177676

// A common information entry of .debug_frame (DWARF 5 §6.4.1).
.macro cie version=4, address_size=8, code_align=4, return_column=16, augmentation="", says=0
    .long .Lend\@ - .Lstart\@
.Lstart\@:
    .long 0xffffffff
    .byte \version
    .asciz "\augmentation"
    .byte \address_size, 0
    .uleb128 \code_align
    .sleb128 4
    .uleb128 \return_column
    .byte \says
    .balign 8, 0
.Lend\@:
.endm

// A frame description entry; it says that the CFA is s32 in private_wave.
.macro fde cie=0, start=f, size=0x20, more=0, cfa=64
    .long .Lend\@ - .Lstart\@ + \more
.Lstart\@:
    .long \cie
    .quad \start
    .quad \size
    .byte 0x30, \cfa, 0, 6
    .balign 8, 0
.Lend\@:
.endm

// The same of .eh_frame, with absolute pointers; and the entry of length zero.
.macro eh_cie
    .long 20
    .long 0
    .byte 1
    .asciz "zR"
    .byte 4, 4, 16, 1, 0
    .zero 7
.endm

.macro eh_fde start
    .long 28
.Lentry\@:
    .long .Lentry\@ - .Leh_frame
    .quad \start
    .quad 0x20
    .byte 0
    .byte 0x30, 64, 0, 6
    .zero 3
.endm

.macro terminator
    .long 0
.endm

// A set of .debug_aranges (DWARF 5 §6.1.2), with `end` bytes of zeros at its end.
.macro ranges unit, start, size, version=2, address_size=8, end=16, more=0
    .long .Lend\@ - .Lstart\@ + \more
.Lstart\@:
    .short \version
    .long \unit
    .byte \address_size, 0
    .zero 4
    .quad \start
    .quad \size
    .zero \end
.Lend\@:
.endm

// An index of .debug_names (DWARF 5 §6.1.1.4) with one name, that of a function.
.macro names unit, die, string, hash, version=5, augmentation="LLVM0700", bucket=1, tag=0x2e, entry=0, form=0x13, parent
    .long .Lend\@ - .Lstart\@
.Lstart\@:
    .short \version, 0
    .long 1, 0, 0
    .long 1, 1
    .long 9, 8
    .ascii "\augmentation"
    .long \unit
    .long \bucket
    .long \hash
    .long \string
    .long \entry
    // One abbreviation: DW_IDX_die_offset, and DW_IDX_parent as a flag, or as a ref4 if there is one.
    .ifb \parent
    .byte 1, \tag, 3, \form, 4, 0x19, 0, 0
    .else
    .byte 1, \tag, 3, \form, 4, 0x13, 0, 0
    .endif
    .byte 0
    .byte 1
    .long \die
    .ifnb \parent
    .long \parent
    .endif
    .byte 0
.Lend\@:
.endm

// A line table of version 4 (DWARF 5 §6.2.4) with one directory, 1, and one file, 1; then rows; then its end.
.macro line_table directory=0
    .long 2f - 1f
1:
    .short 4
    .long 4f - 3f
3:
    .byte 4, 1, 1, -5, 14, 13
    .byte 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
    .asciz "include"
    .byte 0
    .asciz "a.c"
    .uleb128 \directory
    .byte 0, 0
    .byte 0
4:
.endm

// The row of an address.
.macro row address, file=1
    .byte 0, 9, 2
    .quad \address
    .byte 4, \file
    .byte 1
.endm

// The end of the sequence, 0x20 bytes after the last row, and of the table.
.macro end_of_table
    .byte 2, 0x20
    .byte 0, 1, 1
2:
.endm
