//! The shared library says under which name programs find it: that of its version of the interface, not of the file.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libhetdwarf.so.0");
    }
}
