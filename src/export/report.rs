//! The JSON report of a record, a dump or a pair: what the page shows, for tests,
//! benchmarks and continuous integration. `schemas/report.schema.json` describes it.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::correlate::{Attribution, Claims, Correlated, Estimates, Fit, OffGraph, off_graph};
use crate::diagnostics::Diagnostic;
use crate::model::{Graph, NodeId, PartitionId};
use crate::overlay::calls_per_run;
use crate::profile::{Allocator, Block, Split, Stats, delegates};

/// One graph with its partitions.
#[derive(Debug, Clone, Copy)]
pub struct ReportGraph<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// Who runs which node.
    pub claims: &'a Claims,
}

/// One block and how it was taken.
#[derive(Debug, Clone, Copy)]
pub struct ReportBlock<'a> {
    /// The block.
    pub block: &'a Block,
    /// Index of the graph of its method.
    pub graph: Option<usize>,
    /// How well it fits that method.
    pub fit: Option<&'a Fit>,
    /// Its events on that graph.
    pub attribution: Option<&'a Attribution>,
    /// Where those of its events most likely belong that no map ties to the graph.
    pub estimates: Option<&'a Estimates>,
}

/// Everything a report is made of.
#[derive(Debug, Clone, Copy)]
pub struct ReportInput<'a> {
    /// The graphs of the record.
    pub graphs: &'a [ReportGraph<'a>],
    /// The blocks of the dump.
    pub blocks: &'a [ReportBlock<'a>],
    /// What was odd.
    pub diagnostics: &'a [Diagnostic],
    /// The unit of the dump's ticks, as the user said: `ns`, `cycles` and so on.
    pub scale: &'a str,
}

/// Builds the report. What is not known is null.
pub fn report(input: &ReportInput<'_>) -> Value {
    let methods: Vec<&str> = input.graphs.iter().map(|g| &*g.graph.method).collect();
    let mut costs = Vec::new();
    for block in input.blocks {
        node_costs(input, block, &mut costs);
    }
    let diagnostics: Vec<Value> = input
        .diagnostics
        .iter()
        .map(|d| json!({ "code": d.code, "count": d.count, "where": d.places, "message": d.message }))
        .collect();
    json!({
        "scale": input.scale,
        "methods": methods,
        "graphs": input.graphs.iter().map(graph).collect::<Vec<_>>(),
        "blocks": input.blocks.iter().map(|b| block(input, b)).collect::<Vec<_>>(),
        "node_costs": costs,
        "diagnostics": diagnostics,
    })
}

fn graph(of: &ReportGraph<'_>) -> Value {
    let ReportGraph { graph, claims } = of;
    let partition = |id: Option<PartitionId>| match id.and_then(|p| claims.partitions.get(p.index())) {
        Some(partition) => Value::from(partition.path()),
        None => Value::Null,
    };
    let nodes: Vec<Value> = graph
        .nodes()
        .map(|node| {
            let i = node.index();
            json!({
                "id": graph.names[i],
                "op": text_or_null(graph.op(node)),
                "namespace": graph.namespace(node),
                "debug_handle": graph.debug_handles[i],
                "partition": partition(claims.partition_of.get(i).copied().flatten()),
            })
        })
        .collect();
    let edges: Vec<Value> =
        graph.edges.iter().map(|e| json!([graph.names[e.from.index()], graph.names[e.to.index()]])).collect();
    json!({ "id": graph.method, "entry": graph.entry, "nodes": nodes, "edges": edges })
}

fn text_or_null(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { Value::from(text) }
}

fn split(split: &Split) -> Value {
    json!({
        "execute": split.execute,
        "native": split.native,
        "delegate": split.delegate,
        "framework_tax": split.framework_tax,
        "rest": split.rest,
    })
}

fn names(graph: Option<&Graph>, nodes: &[NodeId]) -> Value {
    match graph {
        Some(graph) => nodes.iter().filter_map(|n| graph.names.get(n.index())).map(|n| Value::from(&**n)).collect(),
        None => Value::Null,
    }
}

fn block(input: &ReportInput<'_>, of: &ReportBlock<'_>) -> Value {
    let on = of.graph.and_then(|g| input.graphs.get(g));
    let correlated = on.zip(of.attribution).map(|(on, attribution)| Correlated {
        graph: on.graph,
        claims: on.claims,
        attribution,
        estimates: of.estimates,
    });
    let events: Vec<Value> = of
        .block
        .events
        .iter()
        .enumerate()
        .map(|(i, event)| {
            let belongs = of.attribution.and_then(|a| a.events.get(i));
            let partition = belongs.and_then(|b| b.partition).zip(on);
            let backend = partition.and_then(|(p, on)| on.claims.partitions.get(p.index()));
            let stats = Stats::of(&event.samples);
            let mut out = Map::new();
            let mut put = |key: &str, value: Value| {
                out.insert(key.to_owned(), value);
            };
            put("name", event.name.to_string().into());
            put("kind", event.kind.as_str().into());
            put("instruction_id", event.instruction.into());
            put("delegate_debug_identifier", event.delegate_id.as_ref().map(|id| id.to_string()).into());
            put("debug_handles", belongs.and_then(|b| b.handles.clone()).into());
            put("nodes", names(on.map(|g| g.graph), correlated.map_or(&[], |c| c.nodes(i))));
            put("backend", backend.map(|p| p.backend.to_string()).into());
            put("unit", event.unit.as_str().into());
            put("writer", delegates::writer(event).map(|w| w.as_str()).into());
            let estimate = correlated.zip(correlated.and_then(|c| c.estimate(i)));
            put("estimated", estimate.is_some().into());
            put("confidence", estimate.map(|(_, e)| e.confidence).into());
            put("carried_ops", estimate.map(|(c, e)| c.carried_ops(e)).filter(|ops| !ops.is_empty()).into());
            put("unmapped", belongs.and_then(|b| b.unmapped).map(|u| u.as_str()).into());
            put("calls_per_run", calls_per_run(&event.calls).into());
            put("samples", event.samples.clone().into());
            for (key, value) in [
                ("avg", stats.map(|s| s.avg)),
                ("min", stats.map(|s| s.min)),
                ("max", stats.map(|s| s.max)),
                ("p10", stats.map(|s| s.p10)),
                ("p50", stats.map(|s| s.p50)),
                ("p90", stats.map(|s| s.p90)),
            ] {
                put(key, value.into());
            }
            Value::Object(out)
        })
        .collect();
    json!({
        "name": of.block.name,
        "method": on.map(|g| &*g.graph.method),
        "fit": of.fit.map(|f| f.score),
        "fit_reasons": of.fit.map(|f| &f.reasons),
        "runs": of.block.run_indices.len(),
        "bundled_input_index": of.block.bundled_input_index,
        "split_ticks": of.block.splits.as_ref().map(|s| s.iter().map(split).collect::<Vec<_>>()),
        "off_graph": of.attribution.map(|attribution| off_graphs(of.block, attribution)),
        "allocators": of.block.allocators.iter().map(allocator).collect::<Vec<_>>(),
        "events": events,
    })
}

fn allocator(allocator: &Allocator) -> Value {
    json!({
        "name": allocator.name.as_deref(),
        "number": allocator.number,
        "allocations": allocator.allocations,
        "bytes": allocator.bytes,
        "peak": allocator.peak(),
        "sizes": allocator.sizes,
    })
}

fn off_graphs(block: &Block, attribution: &Attribution) -> Vec<Value> {
    let one = |off: &OffGraph| {
        json!({
            "reason": off.reason.as_str(),
            "part_of_execute": off.reason.is_part_of_execute(),
            "events": off.events.iter().map(|e| e.0).collect::<Vec<_>>(),
            "samples": off.samples,
        })
    };
    off_graph(block, attribution).iter().map(one).collect()
}

/// One line of `node_costs`: sums over all runs of a block.
#[derive(Serialize)]
struct NodeCost<'a> {
    graph: &'a str,
    block: &'a str,
    node: &'a str,
    /// Ticks of events that the node alone owns.
    own: u64,
    /// Ticks of events that it shares with other nodes, in full.
    shared: u64,
}

fn node_costs(input: &ReportInput<'_>, of: &ReportBlock<'_>, out: &mut Vec<Value>) {
    let (Some(attribution), Some(on)) = (of.attribution, of.graph.and_then(|g| input.graphs.get(g))) else { return };
    for (node, costs) in attribution.costs_of.iter().enumerate() {
        let (mut own, mut shared) = (0_u64, 0_u64);
        for cost in costs {
            let cost = &attribution.costs[*cost as usize];
            let ticks = cost.samples.iter().fold(0_u64, |a, b| a.saturating_add(*b));
            let sum = if cost.owners.len() > 1 { &mut shared } else { &mut own };
            *sum = sum.saturating_add(ticks);
        }
        if costs.is_empty() {
            continue;
        }
        let line =
            NodeCost { graph: &on.graph.method, block: &of.block.name, node: &on.graph.names[node], own, shared };
        out.extend(serde_json::to_value(&line));
    }
}
