//! How well a block of runs and a method of a record belong together.

use rustc_hash::{FxHashMap, FxHashSet};

use super::kernels::{Kernels, same_op};
use crate::etrecord::maps::{Handles, MethodMaps};
use crate::model::graph::op_base;
use crate::model::{Graph, NodeKind};
use crate::profile::delegates::Writer;

/// How well two things belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// 0: nothing agrees; 1: everything does.
    pub score: f64,
    /// The first differences, in words; empty when all agrees.
    pub reasons: Vec<String>,
}

/// Below this a record and a dump are said not to belong together.
pub const MISMATCH_BELOW: f64 = 0.85;

/// How many differences are told.
const REASONS: usize = 6;

/// Compares what a block ran with what a method's maps and graph say. `None` when the block
/// ran no instruction at all.
///
/// The score is the share of the block's instructions that the method explains (a kernel
/// whose debug handle's node is such an op, a delegate call where the delegate map has one)
/// times the share of the method's mapped instructions that the block ran.
pub fn fit(graph: &Graph, maps: &MethodMaps, kernels: &Kernels) -> Option<Fit> {
    if kernels.instructions.is_empty() {
        return None;
    }
    let mut ops_of: FxHashMap<i64, Vec<&str>> = FxHashMap::default();
    let mut everywhere: FxHashSet<&str> = FxHashSet::default();
    let (mut delegates, mut control) = (false, false);
    for node in graph.nodes() {
        let op = op_base(graph.op(node));
        everywhere.insert(op);
        delegates |= graph.kinds[node.index()] == NodeKind::Delegate;
        control |= graph.kinds[node.index()] == NodeKind::Control;
        if let Some(handle) = graph.debug_handles[node.index()] {
            ops_of.entry(handle).or_default().push(op);
        }
    }
    let mut reasons = Vec::new();
    let mut more = 0_usize;
    let mut tell = |reason: String| {
        if reasons.len() < REASONS {
            reasons.push(reason);
        } else {
            more += 1;
        }
    };
    let in_graph = |kernel: &str| everywhere.iter().any(|op| same_op(kernel, op));
    let (mut explained, mut all) = (0_usize, 0_usize);
    for (instruction, ran) in &kernels.instructions {
        if ran.delegate {
            all += 1;
            let backend = maps.delegates.get(instruction).map_or("", |d| &d.backend);
            let other = ran.writer.filter(|writer| Writer::of_backend(backend).is_some_and(|theirs| theirs != *writer));
            let listed = matches!(maps.handles.get(instruction), Some(Handles::Many(_)));
            if let Some(other) = other {
                tell(format!("instruction {instruction} called {}, the record has {backend} there", other.as_str()));
            } else if maps.delegates.contains_key(instruction) || (maps.delegates.is_empty() && (listed || delegates)) {
                explained += 1;
            } else {
                tell(format!("instruction {instruction} called a delegate, the record has none there"));
            }
        }
        for kernel in &ran.kernels {
            let handles = maps.handles.get(instruction);
            // The emitter adds kernels around loops that no graph has; they say nothing.
            if handles.is_none() && (is_added(kernel) || (control && !in_graph(kernel))) {
                continue;
            }
            all += 1;
            let ops: Vec<&str> = handles
                .map_or(&[][..], Handles::as_slice)
                .iter()
                .filter_map(|h| ops_of.get(h))
                .flatten()
                .copied()
                .collect();
            let agrees = match handles {
                Some(_) if maps.delegates.contains_key(instruction) => false,
                Some(_) => ops.iter().any(|op| same_op(kernel, op)),
                // Instructions inside control flow are in no map.
                None => in_graph(kernel),
            };
            if agrees {
                explained += 1;
            } else {
                match (handles, ops.first()) {
                    (Some(_), Some(op)) => {
                        tell(format!("instruction {instruction} ran {kernel}, the record has {op} there"));
                    }
                    (Some(_), None) if maps.delegates.contains_key(instruction) => {
                        tell(format!("instruction {instruction} ran {kernel}, the record has a delegate call there"));
                    }
                    _ => tell(format!("instruction {instruction} ran {kernel}, the record knows of none")),
                }
            }
        }
    }
    let mapped: Vec<u32> = maps.handles.keys().copied().collect();
    let missing: Vec<u32> = mapped.iter().copied().filter(|id| !kernels.instructions.contains_key(id)).collect();
    if let Some(first) = missing.first() {
        tell(format!("{} of the record's {} instructions were not run, first {first}", missing.len(), mapped.len()));
    }
    if more > 0 {
        reasons.push(format!("and {more} more differences"));
    }
    let agreement = if all == 0 { f64::from(u8::from(control)) } else { explained as f64 / all as f64 };
    let coverage = if mapped.is_empty() { 1.0 } else { (mapped.len() - missing.len()) as f64 / mapped.len() as f64 };
    Some(Fit { score: agreement * coverage, reasons })
}

/// Kernels that no graph need have: the write-back of a mutated buffer.
fn is_added(kernel: &str) -> bool {
    same_op(kernel, "copy")
}
