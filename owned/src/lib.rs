//! Values that own what they borrow from, for bindings of languages that know no lifetimes.
//!
//! What hetdwarf reads of a file borrows from its bytes, which is what a debugger in Rust wants. An object of Python or a handle of
//! C has to own both. The bytes, and everything between, are in places of their own that do not move ([`Pinned`], `Arc`), and the
//! fields of [`LoadedProgram`], [`LoadedStop`], [`LoadedSymbolizer`] and [`LoadedCore`] are dropped in their order, so that each goes before what it borrows. All
//! `unsafe` code that this takes is here; hetdwarf itself has none.

mod core;
mod pinned;
mod program;
mod stop;
mod symbolizer;

pub use self::core::LoadedCore;
pub use self::pinned::Pinned;
pub use self::program::LoadedProgram;
pub use self::stop::{LoadedStop, SharedWave};
pub use self::symbolizer::LoadedSymbolizer;
