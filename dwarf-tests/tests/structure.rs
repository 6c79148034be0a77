//! Checks that the structure of the library matches the drawing in `ARCHITECTURE.md`: modules use only modules above them. For each cycle
//! among files or folders at the same level, `structure/circles.txt` has a reason.

#[path = "structure/imports.rs"]
mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use imports::{Module, Modules};
use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The modules that all layers may use.
const BESIDE: &[&str] = &[
    "error",
    "limits",
    "meter",
    "rule",
    "untrusted",
    "nearest",
    "plural",
    "flat",
    "hex",
    "sync",
];

/// Returns the layers in the order of the drawing, from the top.
fn layers() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let drawing = text.split("```").nth(1).unwrap();
    let branches = [' ', '│', '├', '─'];
    let lines = drawing.lines().filter(|line| line.contains(" ─"));
    lines
        .map(|line| {
            line.trim_start_matches(branches)
                .split(' ')
                .next()
                .unwrap()
                .to_owned()
        })
        .collect()
}

#[test]
fn layers_use_those_above_them() {
    let layers = layers();
    let place = |layer: &str| layers.iter().position(|one| one == layer);
    let modules = Modules::read(&root().join("src"));
    for (module, file) in modules.files() {
        let [layer, ..] = &module[..] else { continue };
        let is_known = place(layer).is_some() || BESIDE.contains(&&layer[..]) || layer == "prelude";
        assert!(is_known, "{file} is in no layer of ARCHITECTURE.md");
    }
    let mut wrong = BTreeSet::new();
    for (one, other) in modules.uses() {
        let ([layer, ..], [used, ..]) = (&one[..], &other[..]) else {
            continue;
        };
        let is_allowed = match (place(layer), place(used)) {
            (Some(below), Some(above)) => above <= below,
            // An error names registers and address spaces.
            (None, Some(above)) => layer == "prelude" || above == 0,
            (_, None) => true,
        };
        if !is_allowed {
            wrong.insert(format!("{} uses {}", one.join("::"), other.join("::")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Returns modules at the same level that use each other: their parent and their names, as in `circles.txt`, and the files that use each
/// other.
fn circles(modules: &Modules) -> BTreeMap<String, Vec<String>> {
    let uses = modules.uses();
    let mut beside: BTreeMap<&[String], Vec<[&str; 2]>> = BTreeMap::new();
    for (one, other) in &uses {
        let common = one.iter().zip(other).take_while(|(a, b)| a == b).count();
        // A module and its submodule are not at the same level.
        if let (Some(user), Some(used)) = (one.get(common), other.get(common)) {
            beside.entry(&one[..common]).or_default().push([user, used]);
        }
    }
    let mut found = BTreeMap::new();
    for (module, pairs) in beside {
        let mut graph = DiGraph::<&str, ()>::new();
        let names: BTreeSet<&str> = pairs.iter().flatten().copied().collect();
        let nodes = names.into_iter().map(|name| (name, graph.add_node(name)));
        let nodes: BTreeMap<_, _> = nodes.collect();
        graph.extend_with_edges(pairs.iter().map(|[user, used]| (nodes[user], nodes[used])));
        for circle in tarjan_scc(&graph).iter().filter(|circle| circle.len() > 1) {
            let names: BTreeSet<&str> = circle.iter().map(|&node| graph[node]).collect();
            let is_in = |file: &Module| {
                let rest = file.strip_prefix(module);
                let first = rest.and_then(|rest| rest.first());
                first.is_some_and(|name| names.contains(&name[..]))
            };
            let files = uses
                .iter()
                .filter(|(one, other)| is_in(one) && is_in(other));
            let files =
                files.map(|(one, other)| format!("{} uses {}", one.join("/"), other.join("/")));
            let place = if module.is_empty() {
                "crate".to_owned()
            } else {
                module.join("/")
            };
            let text: Vec<&str> = names.iter().copied().collect();
            found.insert(format!("{place} {}", text.join(" ")), files.collect());
        }
    }
    found
}

#[test]
fn circles_are_explained() {
    let mut found = circles(&Modules::read(&root().join("src")));
    found.extend(circles(&Modules::read(&root().join("cli/src"))));
    let listed = include_str!("structure/circles.txt").lines();
    for line in listed.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (circle, reason) = line.split_once(": ").unwrap();
        assert!(reason.len() > 20, "{line}: no reason");
        assert!(
            found.remove(circle).is_some(),
            "there is no such circle: {line}"
        );
    }
    assert!(found.is_empty(), "circles without a reason: {found:#?}");
}

/// No file except tables is longer than 600 lines, so that it can be read in one sitting.
#[test]
fn no_file_is_long() {
    for folder in ["src", "cli/src", "capi/src", "owned/src", "python/src"] {
        let modules = Modules::read(&root().join(folder));
        assert!(modules.files().count() > 0, "{folder}");
        for (module, file) in modules.files() {
            if module.join("/").starts_with("isa/table/") {
                continue;
            }
            let lines = std::fs::read_to_string(file).unwrap().lines().count();
            assert!(lines <= 600, "{file} has {lines} lines");
        }
    }
}
