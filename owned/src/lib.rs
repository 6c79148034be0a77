//! Provides values that own what they borrow from, for bindings to languages without lifetimes.
//!
//! Values that hetdwarf reads from a file borrow from its bytes, which suits a debugger in Rust. An object of Python or a handle of C has
//! to own both. The bytes and all intermediate values are stored in places that do not move ([`Pinned`], `Arc`). [`LoadedProgram`],
//! [`LoadedStop`], [`LoadedSymbolizer`] and [`LoadedCore`] drop their fields in declaration order, each before the value it borrows from.
//! All `unsafe` code for this is here; hetdwarf itself has none.

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
