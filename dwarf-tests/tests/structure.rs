//! The structure of the library is the one that `ARCHITECTURE.md` draws: modules use those above them, and where files or
//! folders beside each other use each other in a circle, `structure/circles.txt` says why.

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

/// The modules that are beside all others.
const BESIDE: &[&str] = &[
    "error",
    "limits",
    "meter",
    "rule",
    "untrusted",
    "nearest",
    "flat",
    "sync",
];

/// The layers in the order of the drawing, the first above all others.
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

/// Modules beside each other that use each other, by the module that they are in.
fn circles(modules: &Modules) -> BTreeMap<String, BTreeSet<Vec<String>>> {
    let mut pairs: BTreeMap<Module, Vec<[&str; 2]>> = BTreeMap::new();
    let uses = modules.uses();
    for (one, other) in &uses {
        let common = one.iter().zip(other).take_while(|(a, b)| a == b).count();
        // A module and what is inside of it are no two that are beside each other.
        if let (Some(user), Some(used)) = (one.get(common), other.get(common)) {
            let pairs = pairs.entry(one[..common].to_vec()).or_default();
            pairs.push([user, used]);
        }
    }
    let mut found: BTreeMap<String, BTreeSet<Vec<String>>> = BTreeMap::new();
    for (module, pairs) in pairs {
        let place = if module.is_empty() {
            "crate".to_owned()
        } else {
            module.join("/")
        };
        let mut graph = DiGraph::<&str, ()>::new();
        let names: BTreeSet<_> = pairs.iter().flatten().collect();
        let nodes: BTreeMap<_, _> = names
            .into_iter()
            .map(|name| (name, graph.add_node(name)))
            .collect();
        graph.extend_with_edges(pairs.iter().map(|[user, used]| (nodes[user], nodes[used])));
        for circle in tarjan_scc(&graph) {
            if circle.len() > 1 {
                let mut circle: Vec<_> =
                    circle.iter().map(|&node| graph[node].to_owned()).collect();
                circle.sort_unstable();
                found.entry(place.clone()).or_default().insert(circle);
            }
        }
    }
    found
}

#[test]
fn circles_are_explained() {
    let modules = Modules::read(&root().join("src"));
    let mut found = circles(&modules);
    for line in include_str!("structure/circles.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (place, reason) = line.split_once(": ").unwrap();
        assert!(reason.len() > 20, "{line}: no reason");
        let (module, names) = place.split_once(' ').unwrap();
        let names: Vec<_> = names.split(' ').map(str::to_owned).collect();
        let removed = found.get_mut(module).is_some_and(|all| all.remove(&names));
        assert!(removed, "there is no such circle: {line}");
    }
    found.retain(|_, circles| !circles.is_empty());
    let uses: Vec<_> = modules
        .uses()
        .into_iter()
        .map(|(one, other)| [one.join("/"), other.join("/")])
        .collect();
    for (module, names) in found
        .iter()
        .flat_map(|(module, all)| all.iter().map(move |names| (module, names)))
    {
        println!("{module}: {}", names.join(" "));
        let folder = module
            .strip_prefix("crate")
            .map_or_else(|| format!("{module}/"), str::to_owned);
        let inside = |file: &str| {
            let name = file
                .strip_prefix(&folder)
                .and_then(|rest| rest.split('/').next());
            name.is_some_and(|name| names.iter().any(|one| one == name))
        };
        for [one, other] in uses
            .iter()
            .filter(|both| both.iter().all(|file| inside(file)))
        {
            println!("    {one} uses {other}");
        }
    }
    assert!(found.is_empty(), "circles without a reason, see above");
}

/// Files that a person reads in a sitting: no longer than 600 lines, but for tables.
#[test]
fn no_file_is_long() {
    for (module, file) in Modules::read(&root().join("src")).files() {
        if module.join("/").starts_with("isa/table/") {
            continue;
        }
        let lines = std::fs::read_to_string(file).unwrap().lines().count();
        assert!(lines <= 600, "{file} has {lines} lines");
    }
}
