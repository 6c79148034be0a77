//! The shape of a graph: dominators, post-dominators and natural loops, with questions answered in constant time.

use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};

use super::event::{Block, Point};

/// A tree of blocks, with the times at which a walk enters and leaves each block.
#[derive(Debug)]
struct Tree {
    parents: Vec<Option<usize>>,
    /// The times for each block. `None` for blocks that are not in the tree.
    spans: Vec<Option<(usize, usize)>>,
    order: Vec<usize>,
}

impl Tree {
    /// Returns the dominator tree of `graph`, from `root`.
    fn of_dominators<N>(graph: &DiGraph<N, ()>, root: NodeIndex) -> Tree {
        let dominators = simple_fast(graph, root);
        let parents: Vec<Option<usize>> = graph
            .node_indices()
            .map(|node| dominators.immediate_dominator(node).map(NodeIndex::index))
            .collect();
        let mut children = vec![Vec::new(); parents.len()];
        for (child, parent) in parents.iter().enumerate() {
            if let Some(list) = parent.and_then(|parent| children.get_mut(parent)) {
                list.push(child);
            }
        }
        let mut tree = Tree {
            spans: vec![None; parents.len()],
            parents,
            order: Vec::new(),
        };
        // Entered nodes are pushed a second time, to be left.
        let mut work = vec![(root.index(), None)];
        let mut clock = 0_usize;
        while let Some((node, entered)) = work.pop() {
            clock += 1;
            if let Some(entered) = entered {
                if let Some(span) = tree.spans.get_mut(node) {
                    *span = Some((entered, clock));
                }
                continue;
            }
            tree.order.push(node);
            work.push((node, Some(clock)));
            let below = children.get(node).into_iter().flatten().rev();
            work.extend(below.map(|child| (*child, None)));
        }
        tree
    }

    fn is_above(&self, upper: usize, lower: usize) -> bool {
        let span = |node: usize| self.spans.get(node).copied().flatten();
        match (span(upper), span(lower)) {
            (Some((first, last)), Some((from, to))) => first <= from && to <= last,
            (_, _) => false,
        }
    }
}

/// A natural loop.
#[derive(Debug)]
struct Loop {
    header: usize,
    around: Option<usize>,
}

/// The shape of a graph.
#[derive(Debug)]
pub(super) struct Flow {
    dominators: Tree,
    post_dominators: Tree,
    loops: Vec<Loop>,
    /// The innermost loop of each block.
    innermost: Vec<Option<usize>>,
    /// The blocks of each cycle with several entries.
    irreducible: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
    successors: Vec<Vec<usize>>,
}

impl Flow {
    /// Creates the flow of a graph whose entry is its first block.
    pub(super) fn new(graph: &DiGraph<Block, ()>) -> Flow {
        let blocks = graph.node_count();
        // A copy instead of `Reversed`: post-dominators need one exit, and the graph may have several.
        let mut backwards = graph.map(|_, _| (), |_, ()| ());
        backwards.reverse();
        let exit = backwards.add_node(());
        // Keeps the order in which the edges were added; `neighbors` reverses it.
        let mut successors = vec![Vec::new(); blocks];
        let mut predecessors = vec![Vec::new(); blocks];
        for edge in graph.raw_edges() {
            let (from, to) = (edge.source().index(), edge.target().index());
            if let (Some(after), Some(before)) =
                (successors.get_mut(from), predecessors.get_mut(to))
            {
                after.push(to);
                before.push(from);
            }
        }
        for (block, after) in successors.iter().enumerate() {
            if after.is_empty() {
                backwards.add_edge(exit, NodeIndex::new(block), ());
            }
        }
        let mut flow = Flow {
            dominators: Tree::of_dominators(graph, NodeIndex::new(0)),
            post_dominators: Tree::of_dominators(&backwards, exit),
            loops: Vec::new(),
            innermost: vec![None; blocks],
            irreducible: Vec::new(),
            predecessors,
            successors,
        };
        flow.find_loops();
        flow.find_irreducible();
        flow
    }

    /// Finds cycles in which no block dominates the others: a depth-first walk finds an edge back to a block that does not dominate its
    /// source.
    fn find_irreducible(&mut self) {
        let mut is_on_way = vec![None; self.innermost.len()];
        // Blocks are pushed a second time, for when the walk leaves them.
        let mut work = vec![(0, false)];
        let mut ways_back = Vec::new();
        while let Some((block, leaves)) = work.pop() {
            let Some(state) = is_on_way.get_mut(block) else {
                continue;
            };
            if leaves {
                *state = Some(false);
                continue;
            }
            if state.is_some() {
                continue;
            }
            *state = Some(true);
            work.push((block, true));
            for next in self.successors(block) {
                match is_on_way.get(*next) {
                    Some(Some(true)) if !self.dominators.is_above(*next, block) => {
                        ways_back.push((block, *next))
                    }
                    Some(None) => work.push((*next, false)),
                    Some(Some(_)) | None => {}
                }
            }
        }
        for (from, to) in ways_back {
            let mut cycle = vec![to];
            let mut above = self.immediate_dominator(to);
            // Up to a block that dominates both.
            while let Some(one) = above
                && !self.dominators.is_above(one, from)
            {
                above = self.immediate_dominator(one);
            }
            let mut work = vec![from];
            let mut seen = vec![false; self.innermost.len()];
            while let Some(block) = work.pop() {
                match seen.get_mut(block) {
                    Some(seen) if !*seen && block != to && Some(block) != above => *seen = true,
                    Some(_) | None => continue,
                }
                if self.is_reachable(block) {
                    cycle.push(block);
                }
                work.extend(self.predecessors(block).iter().copied());
            }
            cycle.sort_unstable();
            self.irreducible.push(cycle);
        }
    }

    /// Returns the cycles with several entries that contain a block.
    pub(super) fn irreducible(&self, block: usize) -> impl Iterator<Item = &[usize]> {
        let cycles = self.irreducible.iter();
        cycles
            .filter(move |cycle| cycle.binary_search(&block).is_ok())
            .map(Vec::as_slice)
    }

    fn find_loops(&mut self) {
        let mut bodies: Vec<(usize, Vec<usize>)> = Vec::new();
        // The last header in whose loop each block was seen.
        let mut seen: Vec<Option<usize>> = vec![None; self.innermost.len()];
        for header in self.order() {
            let latches = self.predecessors(*header).iter().copied();
            let latches: Vec<usize> = latches
                .filter(|latch| self.dominators.is_above(*header, *latch))
                .collect();
            if latches.is_empty() {
                continue;
            }
            let mut body = Vec::new();
            let mut work = vec![*header];
            work.extend(latches);
            while let Some(block) = work.pop() {
                match seen.get_mut(block) {
                    Some(seen) if *seen != Some(*header) => *seen = Some(*header),
                    Some(_) | None => continue,
                }
                body.push(block);
                if block != *header {
                    work.extend(self.predecessors(block).iter().copied());
                }
            }
            // Unreachable blocks are in no loop.
            body.retain(|block| self.dominators.is_above(*header, *block));
            bodies.push((*header, body));
        }
        // Larger loops come first, so that inner loops can find them.
        bodies.sort_by_key(|(header, body)| (core::cmp::Reverse(body.len()), *header));
        for (header, body) in bodies {
            let number = self.loops.len();
            let around = self.innermost_loop(header);
            self.loops.push(Loop { header, around });
            for block in body {
                if let Some(innermost) = self.innermost.get_mut(block) {
                    *innermost = Some(number);
                }
            }
        }
    }

    /// Returns the reachable blocks, each after its immediate dominator.
    pub(super) fn order(&self) -> &[usize] {
        &self.dominators.order
    }

    pub(super) fn predecessors(&self, block: usize) -> &[usize] {
        self.predecessors.get(block).map_or(&[], Vec::as_slice)
    }

    pub(super) fn successors(&self, block: usize) -> &[usize] {
        self.successors.get(block).map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_reachable(&self, block: usize) -> bool {
        self.dominators.is_above(block, block)
    }

    pub(super) fn immediate_dominator(&self, block: usize) -> Option<usize> {
        self.dominators.parents.get(block).copied().flatten()
    }

    pub(super) fn innermost_loop(&self, block: usize) -> Option<usize> {
        self.innermost.get(block).copied().flatten()
    }

    pub(super) fn header(&self, number: usize) -> Option<usize> {
        self.loops.get(number).map(|one| one.header)
    }

    pub(super) fn loop_around(&self, number: usize) -> Option<usize> {
        self.loops.get(number).and_then(|one| one.around)
    }

    /// Returns true if a block is in a loop.
    pub(super) fn is_in_loop(&self, block: usize, number: usize) -> bool {
        let header = self.header(number);
        let mut at = self.innermost_loop(block);
        while let Some(inner) = at {
            if inner == number {
                return header.is_some();
            }
            at = self.loop_around(inner);
        }
        false
    }

    /// Returns true if every path to `later` passes `earlier`.
    pub(super) fn dominates(&self, earlier: Point, later: Point) -> bool {
        if earlier.block == later.block {
            return earlier.event <= later.event && self.is_reachable(earlier.block);
        }
        self.dominators.is_above(earlier.block, later.block)
    }

    /// Returns true if every path from `earlier` passes `later`.
    pub(super) fn post_dominates(&self, later: Point, earlier: Point) -> bool {
        if earlier.block == later.block {
            return earlier.event <= later.event;
        }
        self.post_dominators.is_above(later.block, earlier.block)
    }

    /// Returns true if a bracket is sound: every path through it enters at `open` and leaves at `close`, equally often.
    pub(super) fn encloses(&self, open: Point, close: Point) -> bool {
        self.dominates(open, close)
            && self.post_dominates(close, open)
            && self.innermost_loop(open.block) == self.innermost_loop(close.block)
    }
}
