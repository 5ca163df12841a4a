//! Events become costs: each measured tick of kernels and delegate calls goes to the nodes
//! that own it, once.

use rustc_hash::FxHashMap;

use super::claim::Claims;
use crate::etrecord::maps::MethodMaps;
use crate::model::{Graph, NodeId, PartitionId};
use crate::profile::delegates::map_keys;
use crate::profile::{Block, DelegateId, Event, EventId, EventKind};

/// One cost with its owners.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// The event it comes from.
    pub event: EventId,
    /// The nodes it is for; when there are several, they share it.
    pub owners: Vec<NodeId>,
    /// Ticks of each run.
    pub samples: Vec<u64>,
}

/// Why an event is on no node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmapped {
    /// It measures the runtime, not an operator.
    Framework,
    /// Its instruction has no debug handle in the record.
    NoHandle,
    /// Its debug handle is on no node of this graph.
    NoNode,
    /// It belongs to a delegate call that the record does not know.
    NoPartition,
    /// The record has no map at all.
    NoMap,
}

impl Unmapped {
    /// The reason in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Unmapped::Framework => "measures the runtime, not an operator",
            Unmapped::NoHandle => "its instruction has no debug handle in the record",
            Unmapped::NoNode => "its debug handle is on no node of this graph",
            Unmapped::NoPartition => "the record does not know this delegate call",
            Unmapped::NoMap => "the record has no debug handle map",
        }
    }
}

/// Where one event belongs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Belongs {
    /// Its debug handles; `None` when no map gives any.
    pub handles: Option<Vec<i64>>,
    /// The nodes that own it, for a delegate op without a map entry those of its partition.
    pub nodes: Vec<NodeId>,
    /// The partition of its delegate call.
    pub partition: Option<PartitionId>,
    /// True when the delegate map was matched by a part of the id, not by all of it.
    pub inexact: bool,
    /// Why it is on no node.
    pub unmapped: Option<Unmapped>,
}

/// The events of a block on a graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attribution {
    /// Where each event belongs, by [`EventId`].
    pub events: Vec<Belongs>,
    /// The costs: native calls and delegate calls, every tick of theirs once.
    pub costs: Vec<Cost>,
    /// The costs of each node, indices into `costs`.
    pub costs_of: Vec<Vec<u32>>,
}

/// Attributes the events of a block.
pub fn attribute(graph: &Graph, maps: &MethodMaps, claims: &Claims, block: &Block) -> Attribution {
    let mut all = Attribution { costs_of: vec![Vec::new(); graph.len()], ..Attribution::default() };
    let mut nodes_of: FxHashMap<i64, Vec<NodeId>> = FxHashMap::default();
    for node in graph.nodes() {
        if let Some(handle) = graph.debug_handles[node.index()] {
            nodes_of.entry(handle).or_default().push(node);
        }
    }
    all.events = block.events.iter().map(|event| belongs(maps, claims, &nodes_of, event)).collect();

    // Delegate ops by their call, for what is left of the call's time.
    let mut inside: FxHashMap<EventId, Vec<usize>> = FxHashMap::default();
    for (index, event) in block.events.iter().enumerate() {
        if event.kind == EventKind::DelegateOp
            && event.unit.is_measured_time()
            && is_precise(claims, &all.events[index])
            && let Some(call) = call_of(block, event)
        {
            inside.entry(call).or_default().push(index);
        }
    }
    for (index, event) in block.events.iter().enumerate() {
        let id = EventId(u32::try_from(index).unwrap_or(u32::MAX));
        match event.kind {
            EventKind::NativeCall => {
                let owners = all.events[index].nodes.clone();
                all.add(Cost { event: id, owners, samples: event.samples.clone() });
            }
            EventKind::DelegateCall => {
                let mut left = event.samples.clone();
                if !event.other_clock {
                    let ops = inside.get(&id).map_or(&[][..], |ops| ops);
                    let fits = |samples: &[u64]| samples.len() == left.len();
                    let mut sums = vec![0_u64; left.len()];
                    for op in ops {
                        for (sum, ticks) in sums.iter_mut().zip(&block.events[*op].self_samples) {
                            *sum = sum.saturating_add(*ticks);
                        }
                    }
                    // Only when the ops fit in the call in every run are they parts of it.
                    if fits(&sums) && sums.iter().zip(&left).all(|(sum, call)| sum <= call) {
                        for (left, sum) in left.iter_mut().zip(&sums) {
                            *left -= sum;
                        }
                        for op in ops {
                            let owners = all.events[*op].nodes.clone();
                            let samples = block.events[*op].self_samples.clone();
                            let event = EventId(u32::try_from(*op).unwrap_or(u32::MAX));
                            all.add(Cost { event, owners, samples });
                        }
                    }
                }
                let owners = all.events[index].nodes.clone();
                all.add(Cost { event: id, owners, samples: left });
            }
            _ => {}
        }
    }
    all
}

impl Attribution {
    fn add(&mut self, cost: Cost) {
        let index = u32::try_from(self.costs.len()).unwrap_or(u32::MAX);
        for owner in &cost.owners {
            if let Some(list) = self.costs_of.get_mut(owner.index()) {
                list.push(index);
            }
        }
        self.costs.push(cost);
    }
}

/// True when an op has nodes of its own inside its partition, not just the partition.
pub(super) fn is_precise(claims: &Claims, belongs: &Belongs) -> bool {
    match belongs.partition.and_then(|p| claims.partitions.get(p.index())) {
        Some(partition) => belongs.handles.is_some() && belongs.nodes.len() < partition.nodes.len(),
        None => false,
    }
}

/// The delegate call around an event.
pub(super) fn call_of(block: &Block, event: &Event) -> Option<EventId> {
    block.around(event).find(|(_, event)| event.kind == EventKind::DelegateCall).map(|(id, _)| id)
}

fn belongs(maps: &MethodMaps, claims: &Claims, nodes_of: &FxHashMap<i64, Vec<NodeId>>, event: &Event) -> Belongs {
    let Some(instruction) = event.instruction else {
        return Belongs { unmapped: Some(Unmapped::Framework), ..Belongs::default() };
    };
    let partition = claims.partition_at(instruction);
    let handles = maps.handles.get(&instruction);
    let listed = handles.map(|h| h.as_slice().to_vec());
    let reason = match (maps.handles.is_empty(), handles) {
        (true, _) => Unmapped::NoMap,
        (_, None) => Unmapped::NoHandle,
        _ => Unmapped::NoNode,
    };
    let delegated = partition.and_then(|p| claims.partitions.get(p.index()));
    let mut belongs = Belongs { handles: listed, partition, ..Belongs::default() };
    match (event.kind, delegated) {
        (EventKind::DelegateOp, _) => {
            belongs.handles = None;
            let found = event.delegate_id.as_ref().and_then(|id| delegate_handles(maps, instruction, id));
            if let Some((handles, inexact)) = found {
                let inside = |node: &NodeId| claims.partition_of.get(node.index()).copied().flatten() == partition;
                let mut nodes: Vec<NodeId> =
                    handles.iter().filter_map(|h| nodes_of.get(h)).flatten().copied().collect();
                nodes.retain(|node| partition.is_some() && inside(node));
                nodes.sort_unstable();
                nodes.dedup();
                belongs.nodes = nodes;
                belongs.inexact = inexact;
                belongs.handles = Some(handles);
            }
            if belongs.nodes.is_empty() {
                belongs.nodes = delegated.map(|p| p.nodes.clone()).unwrap_or_default();
            }
            if belongs.nodes.is_empty() {
                belongs.unmapped = Some(Unmapped::NoPartition);
            }
        }
        (_, Some(partition)) => {
            belongs.nodes = partition.nodes.clone();
            if belongs.nodes.is_empty() {
                belongs.unmapped = Some(if maps.handles.is_empty() { Unmapped::NoMap } else { Unmapped::NoPartition });
            }
        }
        (EventKind::DelegateCall, None) => belongs.unmapped = Some(Unmapped::NoPartition),
        _ => {
            belongs.nodes = claims.natives.get(&instruction).cloned().unwrap_or_default();
            if belongs.nodes.is_empty() {
                belongs.unmapped = Some(reason);
            }
        }
    }
    belongs
}

/// The debug handles that the delegate map gives an id: for the same key, or for a key that
/// stands in the id as a whole word, which is inexact.
fn delegate_handles(maps: &MethodMaps, instruction: u32, id: &DelegateId) -> Option<(Vec<i64>, bool)> {
    let entry = maps.delegates.get(&instruction)?;
    let keys = map_keys(id);
    for wanted in &keys {
        if let Some((_, handles)) = entry.ids.iter().find(|(key, _)| **key == **wanted) {
            return Some((handles.clone(), false));
        }
    }
    // A number is that number; an id that says its key has no other.
    let [text] = &keys[..] else { return None };
    if matches!(id, DelegateId::Int(_)) {
        return None;
    }
    let whole_word = |key: &str| {
        !key.is_empty()
            && text.match_indices(key).any(|(at, found)| {
                let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
                edge(text[..at].chars().next_back()) && edge(text[at + found.len()..].chars().next())
            })
    };
    // The longest key says most.
    let found = entry.ids.iter().filter(|(key, _)| whole_word(key)).max_by_key(|(key, _)| key.len());
    found.map(|(_, handles)| (handles.clone(), true))
}
