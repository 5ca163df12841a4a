//! Estimates: the time of delegate ops that nothing ties to the graph, on the operators that
//! they most likely ran; and times that no clock but a backend's cost model gave. They stand
//! beside the costs and never in them.

use rustc_hash::FxHashMap;

use super::align::{Aligned, Basis, Given, align};
use super::attribute::{Attribution, call_of, is_precise};
use super::claim::Claims;
use crate::model::graph::op_base;
use crate::model::{Graph, NodeId, PartitionId};
use crate::profile::{Block, EventId, EventKind, Unit};

/// Lists that agree less than this are of different things: nothing is estimated from them.
pub const AGREEMENT_AT_LEAST: f64 = 0.75;

/// One delegate op on the operators that it most likely ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The delegate op.
    pub event: EventId,
    /// The delegate call around it.
    pub call: EventId,
    /// The partition of the call.
    pub partition: PartitionId,
    /// The nodes; when there are several, they were fused and share the time. Empty when the
    /// operators are not in this graph but in the module that the call node carries.
    pub owners: Vec<NodeId>,
    /// The operators in the carried module ([`crate::etrecord::lowered::Lowered::ops`]), by
    /// position, when the call node carries it.
    pub carried: Vec<u32>,
    /// Ticks of each run, without those of ops inside it.
    pub samples: Vec<u64>,
    /// How sure it is, 0 to 1: the agreement of the call's ops with its operators, times 1 for
    /// an op of the same kind, 0.9 for a kind that delegates turn into it, 0.6 for a turned
    /// layout. 1 when a map ties the op to its nodes and only its time is modelled.
    pub confidence: f64,
}

/// The estimates of a block on a graph.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Estimates {
    /// In order of the events.
    pub list: Vec<Estimate>,
    /// The estimates of each node, indices into `list`.
    by_node: Vec<Vec<u32>>,
    /// The calls of partitions of several nodes whose time can be seen on single ones, in order.
    pub spread: Vec<EventId>,
    /// The calls whose ops were tried and disagreed with the operators, with the agreement.
    pub refused: Vec<(EventId, f64)>,
}

impl Estimates {
    /// The estimate of an event.
    pub fn of_event(&self, event: EventId) -> Option<&Estimate> {
        self.list.binary_search_by_key(&event, |e| e.event).ok().map(|i| &self.list[i])
    }

    /// The estimates of a node for calls that are spread, in order of the events.
    pub fn of_node(&self, node: usize) -> impl Iterator<Item = &Estimate> {
        self.by_node.get(node).into_iter().flatten().filter_map(|i| self.list.get(*i as usize))
    }

    /// True when the time of this call can be seen on single nodes of its partition.
    pub fn spreads(&self, call: EventId) -> bool {
        self.spread.binary_search(&call).is_ok()
    }
}

/// Estimates the owners of all delegate ops that the record's maps say nothing of. Calls whose
/// ops tick on another clock, or for which a map ties any op to the graph, have none; but for
/// ops with modelled times, which are on the nodes that the map says.
pub fn estimate(graph: &Graph, claims: &Claims, block: &Block, attribution: &Attribution) -> Estimates {
    let mut ops_of: FxHashMap<EventId, Vec<usize>> = FxHashMap::default();
    for (index, event) in block.events.iter().enumerate() {
        if event.kind == EventKind::DelegateOp
            && matches!(event.unit, Unit::Ticks | Unit::Modelled)
            && let Some(call) = call_of(block, event)
        {
            ops_of.entry(call).or_default().push(index);
        }
    }
    let mut calls: Vec<(EventId, Vec<usize>)> = ops_of.into_iter().collect();
    calls.sort_unstable_by_key(|(call, _)| *call);
    let mut all = Estimates { by_node: vec![Vec::new(); graph.len()], ..Estimates::default() };
    if calls.is_empty() {
        return all;
    }
    let (producers, _) = graph.neighbours();
    for (call, ops) in calls {
        let tied = |op: &usize| attribution.events.get(*op).is_none_or(|b| b.handles.is_some());
        let event = &block.events[call.index()];
        let Some(partition) = attribution.events.get(call.index()).and_then(|b| b.partition) else { continue };
        let Some(of) = claims.partitions.get(partition.index()) else { continue };
        if event.other_clock {
            continue;
        }
        let of_op = |op: usize| Estimate {
            event: EventId(u32::try_from(op).unwrap_or(u32::MAX)),
            call,
            partition,
            owners: Vec::new(),
            carried: Vec::new(),
            samples: block.events[op].self_samples.clone(),
            confidence: 1.0,
        };
        if ops.iter().any(tied) {
            for op in ops {
                let belongs = &attribution.events[op];
                if block.events[op].unit == Unit::Modelled && is_precise(claims, belongs) {
                    all.list.push(Estimate { owners: belongs.nodes.clone(), ..of_op(op) });
                }
            }
            continue;
        }
        let names: Vec<String> = ops
            .iter()
            .map(|op| block.events[*op].delegate_id.as_ref().map_or_else(String::new, ToString::to_string))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let carried = match of.nodes[..] {
            [node] => graph.lowered(node),
            _ => None,
        };
        let given = match carried {
            Some(lowered) => in_sequence(lowered.ops.iter().map(|op| &*op.target)),
            None => of_nodes(graph, &of.nodes, &producers),
        };
        let Some(alignment) = align(&names, &given) else { continue };
        if alignment.agreement < AGREEMENT_AT_LEAST {
            all.refused.push((call, alignment.agreement));
            continue;
        }
        for Aligned { event, ops: positions, basis } in alignment.aligned {
            let op = ops[event as usize];
            let certainty = match basis {
                Basis::Kind => 1.0,
                Basis::RelatedKind => 0.9,
                Basis::Layout => 0.6,
            };
            let mut made = Estimate { confidence: alignment.agreement * certainty, ..of_op(op) };
            match carried {
                Some(_) => made.carried = positions,
                None => made.owners = positions.iter().map(|p| of.nodes[*p as usize]).collect(),
            }
            all.list.push(made);
        }
    }
    all.list.sort_by_key(|e| e.event);
    let several = |e: &&Estimate| claims.partitions[e.partition.index()].nodes.len() > 1 && !e.owners.is_empty();
    all.spread = all.list.iter().filter(several).map(|e| e.call).collect();
    all.spread.sort_unstable();
    all.spread.dedup();
    for (index, estimate) in (0..).zip(&all.list).filter(|(_, e)| all.spread.binary_search(&e.call).is_ok()) {
        for owner in &estimate.owners {
            if let Some(list) = all.by_node.get_mut(owner.index()) {
                list.push(index);
            }
        }
    }
    all
}

/// Operators of which only the order is known: each is taken to read the one before it.
fn in_sequence<'a>(targets: impl Iterator<Item = &'a str>) -> Vec<Given<'a>> {
    (0_u32..)
        .zip(targets)
        .map(|(i, target)| Given { op: op_base(target), reads: i.checked_sub(1).into_iter().collect() })
        .collect()
}

/// The nodes of a partition; they are in the order of the graph, which is that of the data.
fn of_nodes<'a>(graph: &'a Graph, nodes: &[NodeId], producers: &[Vec<NodeId>]) -> Vec<Given<'a>> {
    let position: FxHashMap<NodeId, u32> = nodes.iter().copied().zip(0..).collect();
    let reads = |node: &NodeId| {
        let from = producers.get(node.index()).map_or(&[][..], |list| list);
        from.iter().filter_map(|n| position.get(n).copied()).collect()
    };
    nodes.iter().map(|node| Given { op: op_base(graph.op(*node)), reads: reads(node) }).collect()
}
