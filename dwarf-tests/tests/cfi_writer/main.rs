//! Call frame information that is written, against what compilers wrote, what the assembler makes of the
//! directives, what llvm-dwarfdump reads, and what a stopped wave's caller must be.

mod assembler;
mod compilers;
mod object_file;
mod one_rule;
mod program;
mod rows;
mod tool;
mod unwinding;
mod wave;
