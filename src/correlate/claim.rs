//! Instructions claim nodes: each native instruction its kernel's node, each delegate call
//! the nodes that were lowered into it.
//!
//! A debug handle often belongs to several nodes (`linear` gives `permute_copy` and `addmm`)
//! and to several instructions. The kernel's name and the order of instructions decide;
//! what stays open is shared.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::kernels::{Kernels, same_op};
use crate::etrecord::maps::{Handles, MethodMaps};
use crate::model::graph::op_base;
use crate::model::{Graph, NodeId, NodeKind, PartitionId};

/// What one delegate call runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Partition {
    /// The backend, for example `XnnpackBackend`.
    pub backend: Box<str>,
    /// The instruction of its `DELEGATE_CALL`; `None` when no instruction matches.
    pub instruction: Option<u32>,
    /// Its nodes: those that were lowered, or the one call node that stands for them.
    pub nodes: Vec<NodeId>,
    /// The debug handles inside, each once.
    pub handles: Vec<i64>,
}

impl Partition {
    /// What is written on it, for example `partition 50`.
    pub fn label(&self) -> String {
        match self.instruction {
            Some(id) => format!("partition {id}"),
            None => "partition".to_owned(),
        }
    }

    /// Its path in the grouping by delegate.
    pub fn path(&self) -> String {
        match self.instruction {
            Some(id) => format!("delegates/{}/partition_{id}", self.backend),
            None => format!("delegates/{}/partition", self.backend),
        }
    }
}

/// Who runs which node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    /// The partitions, in order of their instructions.
    pub partitions: Vec<Partition>,
    /// The partition of each node.
    pub partition_of: Vec<Option<PartitionId>>,
    /// The nodes of each native instruction. Several nodes share its cost.
    pub natives: BTreeMap<u32, Vec<NodeId>>,
    by_instruction: FxHashMap<u32, PartitionId>,
}

impl Claims {
    /// Puts claims together for a graph of so many nodes.
    pub fn new(partitions: Vec<Partition>, natives: BTreeMap<u32, Vec<NodeId>>, nodes: usize) -> Self {
        let mut claims = Claims { partitions, natives, partition_of: vec![None; nodes], ..Claims::default() };
        for (index, partition) in claims.partitions.iter().enumerate() {
            if let Some(instruction) = partition.instruction {
                claims.by_instruction.insert(instruction, PartitionId::from(index));
            }
        }
        claims.note_partitions();
        claims
    }

    fn note_partitions(&mut self) {
        for (index, partition) in self.partitions.iter().enumerate() {
            for node in &partition.nodes {
                self.partition_of[node.index()] = Some(PartitionId::from(index));
            }
        }
    }

    /// The partition that an instruction calls.
    pub fn partition_at(&self, instruction: u32) -> Option<PartitionId> {
        self.by_instruction.get(&instruction).copied()
    }
}

struct Claimant<'a> {
    instruction: u32,
    /// The kernels it ran; empty when no dump tells.
    kernels: &'a [Box<str>],
    delegate: bool,
}

/// Divides the nodes of a graph among the instructions of its method.
pub fn claim(graph: &Graph, maps: &MethodMaps, kernels: &Kernels) -> Claims {
    let mut claims = Claims { partition_of: vec![None; graph.len()], ..Claims::default() };
    let calls: Vec<NodeId> = graph.nodes().filter(|n| graph.kinds[n.index()] == NodeKind::Delegate).collect();
    let is_delegate = |instruction: u32| match maps.delegates.get(&instruction) {
        Some(_) => true,
        None => {
            let listed = matches!(maps.handles.get(&instruction), Some(Handles::Many(_)));
            let ran = kernels.instructions.get(&instruction);
            listed && ran.is_none_or(|r| r.kernels.is_empty()) || ran.is_some_and(|r| r.delegate)
        }
    };
    let mut delegates: Vec<u32> = maps.handles.keys().copied().filter(|i| is_delegate(*i)).collect();
    delegates.extend(maps.delegates.keys().filter(|i| !maps.handles.contains_key(i)));
    delegates.extend(kernels.instructions.iter().filter(|(_, ran)| ran.delegate).map(|(id, _)| *id));
    delegates.sort_unstable();
    delegates.dedup();

    for instruction in &delegates {
        let backend = maps.delegates.get(instruction).map_or("", |d| &d.backend);
        claims.by_instruction.insert(*instruction, PartitionId::from(claims.partitions.len()));
        claims.partitions.push(Partition {
            backend: if backend.is_empty() { "delegate".into() } else { backend.into() },
            instruction: Some(*instruction),
            nodes: Vec::new(),
            handles: distinct(maps.handles.get(instruction).map_or(&[], Handles::as_slice)),
        });
    }
    if !calls.is_empty() {
        match_calls(graph, &calls, &mut claims);
    }

    // Everything else is found by handle.
    let mut by_handle: FxHashMap<i64, Vec<NodeId>> = FxHashMap::default();
    for node in graph.nodes() {
        let is_call = graph.kinds[node.index()] == NodeKind::Delegate;
        if let (Some(handle), false) = (graph.debug_handles[node.index()], is_call) {
            by_handle.entry(handle).or_default().push(node);
        }
    }
    let mut claimants: BTreeMap<i64, Vec<Claimant<'_>>> = BTreeMap::new();
    let whole = calls.is_empty();
    for (instruction, handles) in &maps.handles {
        let delegate = delegates.binary_search(instruction).is_ok();
        if delegate && !whole {
            // The lowered nodes are inside the calls; what is outside stayed native.
            continue;
        }
        let kernels = kernels.instructions.get(instruction).map_or(&[][..], |ran| &ran.kernels);
        let kernels = if delegate { &[][..] } else { kernels };
        for handle in handles.as_slice() {
            claimants.entry(*handle).or_default().push(Claimant { instruction: *instruction, kernels, delegate });
        }
    }
    for (handle, list) in &claimants {
        if let Some(nodes) = by_handle.get(handle) {
            let (free, settled) = (vec![true; nodes.len()], vec![false; list.len()]);
            Division { graph, nodes, claimants: list, free, settled, claims: &mut claims }.run();
        }
    }
    control_flow(graph, maps, kernels, &mut claims);
    for partition in &mut claims.partitions {
        partition.nodes.sort_unstable();
        partition.nodes.dedup();
    }
    claims.note_partitions();
    for nodes in claims.natives.values_mut() {
        nodes.sort_unstable();
        nodes.dedup();
    }
    claims
}

/// Instructions inside control flow are in no map: their kernels claim the nodes of subgraphs
/// by name, in order where they are as many, shared otherwise.
fn control_flow(graph: &Graph, maps: &MethodMaps, kernels: &Kernels, claims: &mut Claims) {
    let claimed: FxHashSet<NodeId> =
        claims.natives.values().chain(claims.partitions.iter().map(|p| &p.nodes)).flatten().copied().collect();
    let inner: Vec<NodeId> = graph
        .nodes()
        .filter(|n| graph.scope_of[n.index()] > 0 && graph.kinds[n.index()] == NodeKind::Op && !claimed.contains(n))
        .collect();
    let mut alike: BTreeMap<&[Box<str>], Vec<u32>> = BTreeMap::new();
    for (instruction, ran) in &kernels.instructions {
        if !ran.kernels.is_empty() && !maps.handles.contains_key(instruction) {
            alike.entry(&ran.kernels).or_default().push(*instruction);
        }
    }
    for (kernels, instructions) in alike {
        let runs = |n: &&NodeId| kernels.iter().any(|kernel| same_op(kernel, op_base(graph.op(**n))));
        let nodes: Vec<NodeId> = inner.iter().filter(runs).copied().collect();
        if nodes.is_empty() {
            continue;
        }
        for (k, instruction) in instructions.iter().enumerate() {
            let owned = claims.natives.entry(*instruction).or_default();
            if nodes.len() == instructions.len() {
                owned.push(nodes[k]);
            } else {
                owned.extend(&nodes);
            }
        }
    }
}

fn distinct(handles: &[i64]) -> Vec<i64> {
    let mut seen = FxHashSet::default();
    handles.iter().copied().filter(|h| seen.insert(*h)).collect()
}

/// Pairs call nodes with delegate instructions: those with the same handles first, then the
/// best overlaps, then what is left in order.
fn match_calls(graph: &Graph, calls: &[NodeId], claims: &mut Claims) {
    let inside: Vec<FxHashSet<i64>> = calls
        .iter()
        .map(|n| graph.lowered(*n).map(|l| l.debug_handles().into_iter().collect()).unwrap_or_default())
        .collect();
    let backend = |call: usize| graph.lowered(calls[call]).map_or("", |l| &l.backend);
    let mut call_free = vec![true; calls.len()];
    let mut partition_free = vec![true; claims.partitions.len()];
    let fits = |claims: &Claims, p: usize, call: usize| {
        let (a, b) = (&*claims.partitions[p].backend, backend(call));
        a == b || a == "delegate" || b.is_empty()
    };
    // Overlap as a fraction in millionths, so that it can be sorted.
    let mut overlaps = Vec::new();
    let mut calls_of: FxHashMap<i64, Vec<usize>> = FxHashMap::default();
    for (call, handles) in inside.iter().enumerate() {
        handles.iter().for_each(|h| calls_of.entry(*h).or_default().push(call));
    }
    for p in 0..claims.partitions.len() {
        let mut common: BTreeMap<usize, usize> = BTreeMap::new();
        for handle in &claims.partitions[p].handles {
            for call in calls_of.get(handle).into_iter().flatten() {
                *common.entry(*call).or_default() += 1;
            }
        }
        for (call, both) in common {
            let either = claims.partitions[p].handles.len() + inside[call].len() - both;
            if fits(claims, p, call) {
                overlaps.push((std::cmp::Reverse(both * 1_000_000 / either.max(1)), p, call));
            }
        }
    }
    overlaps.sort_unstable();
    let pair = |p: usize, call: usize, claims: &mut Claims| {
        claims.partitions[p].nodes.push(calls[call]);
        if let Some(lowered) = graph.lowered(calls[call]) {
            claims.partitions[p].handles = lowered.debug_handles();
            if &*claims.partitions[p].backend == "delegate" {
                claims.partitions[p].backend = lowered.backend.clone();
            }
        }
    };
    for (_, p, call) in overlaps {
        if partition_free[p] && call_free[call] {
            partition_free[p] = false;
            call_free[call] = false;
            pair(p, call, claims);
        }
    }
    for call in 0..calls.len() {
        if !call_free[call] {
            continue;
        }
        let free = (0..claims.partitions.len()).find(|p| partition_free[*p] && fits(claims, *p, call));
        match free {
            Some(p) => {
                partition_free[p] = false;
                pair(p, call, claims);
            }
            None => claims.partitions.push(Partition {
                backend: if backend(call).is_empty() { "delegate".into() } else { backend(call).into() },
                instruction: None,
                nodes: vec![calls[call]],
                handles: graph.lowered(calls[call]).map(|l| l.debug_handles()).unwrap_or_default(),
            }),
        }
    }
}

/// Divides the nodes of one handle among the instructions that list it.
struct Division<'a> {
    graph: &'a Graph,
    nodes: &'a [NodeId],
    claimants: &'a [Claimant<'a>],
    /// Nodes that nobody has yet.
    free: Vec<bool>,
    /// Claimants that have theirs.
    settled: Vec<bool>,
    claims: &'a mut Claims,
}

impl Division<'_> {
    fn run(mut self) {
        self.kernels_by_name();
        self.delegates();
        self.kernels_left();
    }

    fn own(&mut self, claimant: usize, nodes: impl IntoIterator<Item = usize>) {
        self.settled[claimant] = true;
        let Claimant { instruction, delegate, .. } = self.claimants[claimant];
        let nodes = nodes.into_iter().map(|n| self.nodes[n]);
        if !delegate {
            self.claims.natives.entry(instruction).or_default().extend(nodes);
        } else if let Some(p) = self.claims.by_instruction.get(&instruction) {
            self.claims.partitions[p.index()].nodes.extend(nodes);
        }
    }

    fn free_nodes(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|n| self.free[*n]).collect()
    }

    /// As many kernels as nodes of a name: the k-th is the k-th. Otherwise nothing tells
    /// them apart, and they share.
    fn kernels_by_name(&mut self) {
        let mut alike: BTreeMap<&[Box<str>], Vec<usize>> = BTreeMap::new();
        for (i, claimant) in self.claimants.iter().enumerate() {
            if !claimant.delegate && !claimant.kernels.is_empty() {
                alike.entry(claimant.kernels).or_default().push(i);
            }
        }
        let delegates = self.claimants.iter().filter(|c| c.delegate).count();
        for (kernels, alike) in alike {
            let runs = |n: &usize| {
                let op = op_base(self.graph.op(self.nodes[*n]));
                self.free[*n] && kernels.iter().any(|kernel| same_op(kernel, op))
            };
            let mut matching: Vec<usize> = (0..self.nodes.len()).filter(runs).collect();
            if matching.is_empty() {
                continue;
            }
            if matching.len() > alike.len() && delegates > 0 {
                // A delegate lists the handle as well, and gets the nodes before or behind
                // those of the kernels, as its calls come before or behind them.
                let before = self.claimants[..alike[0]].iter().filter(|c| c.delegate).count();
                let skip = before.min(matching.len() - alike.len());
                matching = matching.into_iter().skip(skip).take(alike.len()).collect();
            }
            matching.iter().for_each(|n| self.free[*n] = false);
            for (k, claimant) in alike.iter().enumerate() {
                if matching.len() == alike.len() {
                    self.own(*claimant, [matching[k]]);
                } else {
                    self.own(*claimant, matching.iter().copied());
                }
            }
        }
    }

    /// A delegate that nothing competes with has all the nodes; otherwise each mention of the
    /// handle in a delegate's list stands for one node, in order.
    fn delegates(&mut self) {
        let mut list = (0..self.claimants.len()).filter(|i| self.claimants[*i].delegate).peekable();
        let Some(first) = list.peek().copied() else { return };
        let alone = self.claimants.iter().all(|c| c.instruction == self.claimants[first].instruction);
        let list: Vec<usize> = list.collect();
        let free = self.free_nodes();
        if alone {
            self.own(first, free.iter().copied());
            free.iter().for_each(|n| self.free[*n] = false);
            return;
        }
        for (claimant, n) in list.into_iter().zip(free) {
            self.own(claimant, [n]);
            self.free[n] = false;
        }
    }

    /// Kernels without a name, or of a name that no node has: in order when they are as many
    /// as the nodes left, else they share those.
    fn kernels_left(&mut self) {
        let open: Vec<usize> =
            (0..self.claimants.len()).filter(|i| !self.settled[*i] && !self.claimants[*i].delegate).collect();
        let mut free = self.free_nodes();
        if free.is_empty() {
            let delegates = self.claimants.iter().any(|c| c.delegate);
            // Nothing is left: they ran some part of what the others have, unless a delegate has it.
            free = if delegates { Vec::new() } else { (0..self.nodes.len()).collect() };
        }
        for (k, claimant) in open.iter().enumerate() {
            if free.len() == open.len() {
                self.own(*claimant, [free[k]]);
            } else {
                self.own(*claimant, free.iter().copied());
            }
        }
    }
}
