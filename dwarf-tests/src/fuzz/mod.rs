//! Checks that arbitrary bytes never cause a panic or inconsistent answers.
//!
//! `fuzz/` runs the checks of [`TARGETS`] with libFuzzer. `tests/fuzz_regressions.rs` runs the same checks on their seeds and on every
//! input that once failed.

pub mod adapter;
pub mod call_frames;
pub mod capi;
pub mod choices;
pub mod containers;
pub mod damage;
pub mod evaluation;
pub mod expression;
pub mod gpu_core;
pub mod machine_code;
pub mod made;
pub mod many;
pub mod objects;
pub mod seeds;
pub mod snapshots;
mod wave;

/// A check of arbitrary bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the binary in `fuzz/`, and of the folder of kept inputs.
    pub name: &'static str,
    /// The check, which panics on a failure.
    pub check: fn(&[u8]),
    /// The seed inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target {
        name: "expression",
        check: expression::bytes,
        seeds: seeds::encoded_expressions,
    },
    Target {
        name: "text",
        check: expression::text,
        seeds: seeds::texts,
    },
    Target {
        name: "evaluation",
        check: evaluation::check,
        seeds: seeds::evaluations,
    },
    Target {
        name: "gimli",
        check: evaluation::as_gimli,
        seeds: seeds::choices,
    },
    Target {
        name: "call_frames",
        check: call_frames::check,
        seeds: seeds::call_frames,
    },
    Target {
        name: "object",
        check: objects::check,
        seeds: seeds::objects,
    },
    Target {
        name: "damage",
        check: damage::check,
        seeds: seeds::damages,
    },
    Target {
        name: "capi",
        check: capi::check,
        seeds: seeds::damages,
    },
    Target {
        name: "containers",
        check: containers::check,
        seeds: seeds::containers,
    },
    Target {
        name: "snapshot",
        check: snapshots::check,
        seeds: seeds::snapshots,
    },
    Target {
        name: "machine_code",
        check: machine_code::check,
        seeds: seeds::machine_code,
    },
    Target {
        name: "gpu_core",
        check: gpu_core::check,
        seeds: seeds::gpu_cores,
    },
    Target {
        name: "bundles",
        check: many::check_bundle,
        seeds: seeds::entries,
    },
    Target {
        name: "archives",
        check: many::check_archive,
        seeds: seeds::entries,
    },
    Target {
        name: "configuration",
        check: choices::configuration,
        seeds: seeds::configurations,
    },
    Target {
        name: "baseline",
        check: choices::baseline,
        seeds: seeds::baselines,
    },
    Target {
        name: "adapter",
        check: adapter::check,
        seeds: adapter::seeds,
    },
    Target {
        name: "entries",
        check: made::check_entries,
        seeds: made::seeds,
    },
    Target {
        name: "lines",
        check: made::check_lines,
        seeds: made::seeds,
    },
    Target {
        name: "frames",
        check: made::check_frames,
        seeds: made::seeds,
    },
    Target {
        name: "lists",
        check: made::check_lists,
        seeds: made::seeds,
    },
    Target {
        name: "flow",
        check: made::check_flow,
        seeds: made::seeds,
    },
];

/// Returns a target by its name.
#[must_use]
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
