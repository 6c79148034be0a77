//! Merges the stacks of all waves into one tree. STAT (the Stack Trace Analysis Tool) does the same for the stacks of many processes.
//!
//! Frames share a node if the function, the name of the source file and the line are equal, and if their callers share a node. The
//! directory of the file and addresses do not matter.

use std::cmp::Reverse;

use foldhash::{HashMap, HashMapExt as _};
use serde::Serialize;

use super::super::text::{base_name, source_place};
use super::wave::{FrameRecord, WaveRecord};
use crate::untrusted::Untrusted;

/// The maximum number of frames of a stack that become nodes. Frames further in are left out.
const DEEPEST: usize = 128;

/// A node of the tree.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TreeNode {
    /// The number of callers above the node. Nodes are listed depth first, each after its caller.
    pub depth: usize,
    /// The function and its source place: `leaf (inlined) at k.cl:4`.
    pub text: Untrusted<'static>,
    /// The number of cores with such a wave.
    pub cores: u64,
    /// The number of waves with this node in their stacks.
    pub waves: u64,
    /// The number of these waves that stopped because the program is at fault.
    pub faulted: u64,
}

/// The key by which frames below the same caller share a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Label(String);

#[derive(Debug)]
struct Node {
    label: Label,
    cores: u64,
    waves: u64,
    faulted: u64,
    /// The number of the last counted core.
    core: u64,
    children: Vec<usize>,
}

/// A tree under construction.
#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    roots: Vec<usize>,
    /// The index of each node, by the caller and the frame. The caller of a root is `usize::MAX`.
    known: HashMap<(usize, Label), usize>,
}

impl Tree {
    pub(super) fn new() -> Tree {
        Tree {
            nodes: Vec::new(),
            roots: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// Adds the stack of a wave.
    ///
    /// * `core`: the number of the core, from 1. The waves of a core come together.
    pub(super) fn add(&mut self, wave: &WaveRecord, core: u64) {
        let has_faulted = wave.has_faulted();
        let mut caller = usize::MAX;
        for frame in wave.stack.iter().rev().take(DEEPEST) {
            let index = self.child(caller, label(frame));
            if let Some(node) = self.nodes.get_mut(index) {
                node.waves += 1;
                node.faulted += u64::from(has_faulted);
                if node.core != core {
                    node.core = core;
                    node.cores += 1;
                }
            }
            caller = index;
        }
    }

    fn child(&mut self, caller: usize, label: Label) -> usize {
        let next = self.nodes.len();
        let key = (caller, label);
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        self.nodes.push(Node {
            label: key.1.clone(),
            cores: 0,
            waves: 0,
            faulted: 0,
            core: 0,
            children: Vec::new(),
        });
        self.known.insert(key, next);
        match self.nodes.get_mut(caller) {
            Some(node) => node.children.push(next),
            None => self.roots.push(next),
        }
        next
    }

    /// Returns the nodes, each after its caller. Siblings are in descending order of waves.
    pub(super) fn finish(self) -> Vec<TreeNode> {
        let sorted = |indices: &[usize]| {
            let mut indices = indices.to_vec();
            let node = |index: &usize| self.nodes.get(*index);
            indices.sort_by_key(|index| {
                node(index).map(|node| (Reverse(node.waves), node.label.clone()))
            });
            // They are popped from the end.
            indices.reverse();
            indices
        };
        let mut nodes = Vec::with_capacity(self.nodes.len());
        let roots = sorted(&self.roots).into_iter();
        let mut waiting: Vec<(usize, usize)> = roots.map(|index| (0, index)).collect();
        while let Some((depth, index)) = waiting.pop() {
            let Some(node) = self.nodes.get(index) else {
                continue;
            };
            nodes.push(TreeNode {
                depth,
                text: node.label.0.clone().into(),
                cores: node.cores,
                waves: node.waves,
                faulted: node.faulted,
            });
            let children = sorted(&node.children).into_iter();
            waiting.extend(children.map(|child| (depth + 1, child)));
        }
        nodes
    }
}

fn label(frame: &FrameRecord) -> Label {
    let function = frame.function.as_ref().map_or("?", Untrusted::raw);
    let inlined = match frame.kind == "inlined" {
        true => " (inlined)",
        false => "",
    };
    let file = frame.file.as_ref().map(|file| base_name(file.raw()));
    let place = source_place(file, frame.line);
    Label(format!("{function}{inlined}{place}"))
}
