//! Compares written call frame information with compilers' output, with the assembler's result for the directives, with llvm-dwarfdump, and
//! with the known caller of a stopped wave.

mod assembler;
mod compilers;
mod object_file;
mod one_rule;
mod program;
mod rows;
mod tool;
mod unwinding;
mod wave;
