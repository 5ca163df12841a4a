//! What the panel and the event table show of one node, group, partition or block.

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::info::{
    Argument, EventInfo, EventTable, Field, GroupDetails, Lineage, Location, LoweredInfo, NodeDetails, NodeRef,
    OpTypeInfo, PartitionDetails, PartitionRef, SAMPLES_SHOWN, StatsInfo, TensorInfo,
};
use super::view::{View, index};
use super::{Document, not_found, writing};
use crate::correlate::{Attribution, Claims, Correlated};
use crate::error::Result;
use crate::etrecord::lineage::origins;
use crate::etrecord::program::{Arg, InputKind, Size, SymbolRange, dtype_name};
use crate::model::graph::{Value, each_name, op_base};
use crate::model::{Graph, GroupId, Grouping, Hierarchy, NodeId, NodeKind, PartitionId};
use crate::overlay::{calls_per_run, samples_of};
use crate::profile::delegates::Writer;
use crate::profile::{Block, EventId, EventKind, Stats};

/// How many events of a group cross the boundary.
const GROUP_EVENTS: usize = 200;
/// The most rows of one page of the event table.
const TABLE_ROWS: u32 = 10_000;

impl Document {
    /// All that is known of a node, with its events of a block.
    ///
    /// # Errors
    /// [`crate::error::Code::NotFound`] when view, graph or node do not exist.
    pub fn node_details(&self, view: u32, graph: u32, block: Option<u32>, node: u32) -> Result<NodeDetails> {
        let view = self.view(view)?;
        let of = view.graph(graph as usize).ok_or_else(|| not_found("graph", graph))?;
        if node as usize >= of.len() {
            return Err(not_found("node", node));
        }
        let (graph, id, block) = (graph as usize, NodeId(node), block.map(|b| b as usize));
        let claims = view.claims_of(graph).ok_or_else(|| not_found("node", node))?;
        let source = &of.sources[id.index()];
        let partition = claims.partition_of[id.index()];
        let mut instructions: Vec<u32> = claims
            .natives
            .iter()
            .filter(|(_, nodes)| nodes.binary_search(&id).is_ok())
            .map(|(instruction, _)| *instruction)
            .collect();
        instructions.extend(partition.and_then(|p| claims.partitions[p.index()].instruction));
        let mut events = Vec::new();
        if let Some((block, attribution)) = view.attribution_on(graph, block) {
            let estimates = view.estimates_on(graph, block);
            let known = Correlated { graph: of, claims, attribution: &attribution, estimates: estimates.as_deref() };
            for event in 0..attribution.events.len() {
                if known.nodes(event).contains(&id) {
                    events.push(event_info(&view.blocks()[block], event, Some(known)));
                }
            }
        }
        let (producers, consumers) = of.neighbours();
        let ids = |nodes: &[NodeId]| nodes.iter().map(|n| NodeRef { id: n.0, label: of.label(*n) }).collect();
        let class = of.module_class(id);
        const SHOWN_ELSEWHERE: [&str; 4] = ["stack_trace", "nn_module_stack", "debug_handle", "from_node"];
        let lineage = source.meta("from_node").map(origins).unwrap_or_default();
        let lineage = lineage
            .into_iter()
            .map(|o| Lineage { name: o.name.into(), target: o.target.into(), pass: o.pass.into(), depth: o.depth })
            .collect();
        Ok(NodeDetails {
            kind: "node",
            id: node,
            name: of.names[id.index()].to_string(),
            op: match of.kinds[id.index()] {
                NodeKind::Inputs | NodeKind::Outputs => of.label(id),
                _ => of.op(id).to_owned(),
            },
            target: source.target.to_string(),
            namespace: of.namespace(id),
            namespace_inferred: of.home_inferred[id.index()],
            module_class: (!class.is_empty()).then(|| class.to_owned()),
            debug_handle: of.debug_handles[id.index()],
            instructions,
            partition: partition.map(|p| partition_ref(claims, p)),
            arguments: arguments(of, id),
            outputs: outputs(of, id),
            consumers: ids(&consumers[id.index()]),
            producers: ids(&producers[id.index()]),
            stack_trace: source.meta("stack_trace").map(str::to_owned).filter(|t| !t.trim().is_empty()),
            lineage,
            metadata: source
                .metadata
                .iter()
                .filter(|(key, _)| !SHOWN_ELSEWHERE.contains(&&**key))
                .map(|(key, value)| Field { name: key.to_string(), value: value.to_string() })
                .collect(),
            events,
            lowered: of.lowered(id).map(|lowered| {
                let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
                lowered.ops.iter().for_each(|op| *counts.entry(&op.target).or_default() += 1);
                let mut counts: Vec<_> = counts.into_iter().collect();
                counts.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
                LoweredInfo {
                    backend: lowered.backend.to_string(),
                    payload_bytes: lowered.payload_bytes,
                    ops: index(lowered.ops.len()),
                    op_types: counts
                        .into_iter()
                        .map(|(op, n)| Field { name: op.to_owned(), value: n.to_string() })
                        .collect(),
                    debug_handles: lowered.debug_handles(),
                    compile_specs: lowered.compile_specs.iter().map(|s| s.to_string()).collect(),
                    entry: of.entry.to_string(),
                    offset: lowered.offset,
                    length: lowered.length,
                }
            }),
        })
    }

    /// All that is known of a group, with the events of a block in it. With estimates, delegate
    /// ops that no map ties to the graph count where they most likely belong.
    ///
    /// # Errors
    /// [`crate::error::Code::NotFound`] when view, graph or group do not exist.
    pub fn group_details(
        &self,
        view: u32,
        graph: u32,
        block: Option<u32>,
        grouping: Grouping,
        group: u32,
        estimates: bool,
    ) -> Result<GroupDetails> {
        let view = self.view(view)?;
        let missing = || not_found("graph", graph);
        let of = view.graph(graph as usize).ok_or_else(missing)?;
        let hierarchy = view.hierarchy(graph as usize, grouping).ok_or_else(missing)?;
        let id = GroupId(group);
        let Some(about) = hierarchy.groups.get(id.index()) else { return Err(not_found("group", group)) };
        let claims = view.claims_of(graph as usize).ok_or_else(missing)?;
        let graph = graph as usize;
        let attributed = view.attribution_on(graph, block.map(|b| b as usize));

        let inside = nodes_inside(&hierarchy, id);
        let mut types = OpTypes::default();
        for node in of.nodes().filter(|n| inside[n.index()]) {
            types.0.entry(of.label(node)).or_default().count += 1;
        }
        let (mut events, mut event_count, mut stats, mut estimated) = (Vec::new(), 0, None, false);
        if let Some((block, attribution)) = &attributed {
            let made = view.estimates_on(graph, *block);
            let known = Correlated { graph: of, claims, attribution, estimates: made.as_deref() };
            let block = &view.blocks()[*block];
            types.add(if estimates { known } else { Correlated { estimates: None, ..known } }, &inside);
            let mut list: Vec<usize> = (0..attribution.events.len())
                .filter(|event| known.nodes(*event).iter().any(|n| inside[n.index()]))
                .collect();
            event_count = index(list.len());
            let total = |event: usize| block.events[event].samples.iter().fold(0_u64, |a, b| a.saturating_add(*b));
            list.sort_by_key(|event| (std::cmp::Reverse(total(*event)), *event));
            list.truncate(GROUP_EVENTS);
            events = list.iter().map(|e| event_info(block, *e, Some(known))).collect();
            if event_count > 0 {
                let made = if estimates { made.as_deref() } else { None };
                let samples;
                (samples, estimated) = samples_of(attribution, made, |n| inside[n.index()], block.run_indices.len());
                stats = Stats::of(&samples).map(Into::into);
            }
        }
        let op_types = types.sorted();
        let partition = about.partition.map(|p| partition_details(view, (graph, of, claims), attributed.as_ref(), p));
        Ok(GroupDetails {
            kind: "group",
            id: group,
            label: about.label.clone(),
            path: about.path.clone(),
            module_class: (!about.class.is_empty()).then(|| about.class.clone()),
            nodes: about.node_count,
            groups: index(about.groups.len()),
            op_types,
            partition,
            events,
            event_count,
            stats,
            estimated,
        })
    }

    /// All that is known of a partition, with its events of a block.
    ///
    /// # Errors
    /// [`crate::error::Code::NotFound`] when view, graph or partition do not exist.
    pub fn partition_details(
        &self,
        view: u32,
        graph: u32,
        block: Option<u32>,
        partition: u32,
    ) -> Result<PartitionDetails> {
        let view = self.view(view)?;
        let claims = view.claims_of(graph as usize).ok_or_else(|| not_found("graph", graph))?;
        if partition as usize >= claims.partitions.len() {
            return Err(not_found("partition", partition));
        }
        let attributed = view.attribution_on(graph as usize, block.map(|b| b as usize));
        let of = view.graph(graph as usize).ok_or_else(|| not_found("graph", graph))?;
        Ok(partition_details(view, (graph as usize, of, claims), attributed.as_ref(), PartitionId(partition)))
    }

    /// The groups around a node, outermost first.
    ///
    /// # Errors
    /// [`crate::error::Code::NotFound`] when view, graph or node do not exist.
    pub fn locate(&self, view: u32, graph: u32, grouping: Grouping, node: u32) -> Result<Location> {
        let hierarchy =
            self.view(view)?.hierarchy(graph as usize, grouping).ok_or_else(|| not_found("graph", graph))?;
        if node as usize >= hierarchy.home.len() {
            return Err(not_found("node", node));
        }
        let mut groups: Vec<u32> = hierarchy.ancestors(NodeId(node)).map(|g| g.0).collect();
        groups.pop();
        groups.reverse();
        Ok(Location { groups })
    }

    /// A page of the events of a block.
    ///
    /// # Errors
    /// [`crate::error::Code::NotFound`] when view or block do not exist.
    pub fn events(&self, view: u32, block: u32, from: u32, count: u32) -> Result<EventTable> {
        let view = self.view(view)?;
        let of = view.blocks().get(block as usize).ok_or_else(|| not_found("block", block))?;
        let attribution = view.attribution(block as usize);
        let estimates = view.estimates(block as usize);
        let known =
            attribution.as_deref().zip(view.matches[block as usize].graph).map(|(attribution, graph)| Correlated {
                graph: &view.graphs()[graph],
                claims: &view.claims[graph],
                attribution,
                estimates: estimates.as_deref(),
            });
        let end = from.saturating_add(count.min(TABLE_ROWS)) as usize;
        let rows = (from as usize..end.min(of.events.len())).map(|event| event_info(of, event, known)).collect();
        Ok(EventTable { block, rows, total: index(of.events.len()) })
    }
}

/// Which nodes are in a group, at any depth.
fn nodes_inside(hierarchy: &Hierarchy, group: GroupId) -> Vec<bool> {
    let mut inside = vec![false; hierarchy.groups.len()];
    for (i, about) in hierarchy.groups.iter().enumerate() {
        // A group's id is larger than its parent's.
        inside[i] = i == group.index() || about.parent.is_some_and(|p| inside[p.index()]);
    }
    hierarchy.home.iter().map(|home| inside[home.index()]).collect()
}

fn joined_labels(graph: &Graph, owners: &[NodeId]) -> String {
    let mut labels: Vec<String> = Vec::new();
    for owner in owners {
        let label = graph.label(*owner);
        if !labels.contains(&label) {
            labels.push(label);
        }
        if labels.len() == 4 {
            labels.push("…".to_owned());
            break;
        }
    }
    labels.join(" + ")
}

/// A partition as others refer to it.
pub fn partition_ref(claims: &Claims, id: PartitionId) -> PartitionRef {
    let partition = &claims.partitions[id.index()];
    let mut backends: Vec<&str> = Vec::new();
    for other in &claims.partitions {
        if !backends.contains(&&*other.backend) {
            backends.push(&other.backend);
        }
    }
    let colour = backends.iter().position(|b| **b == *partition.backend).unwrap_or(0);
    PartitionRef { id: id.0, backend: partition.backend.to_string(), label: partition.label(), colour: index(colour) }
}

fn partition_details(
    view: &View,
    (graph, of, claims): (usize, &Graph, &Claims),
    attributed: Option<&(usize, Rc<Attribution>)>,
    id: PartitionId,
) -> PartitionDetails {
    let partition = &claims.partitions[id.index()];
    let (mut call, mut ops, mut overhead, mut other_clock, mut disagreement) = (None, Vec::new(), None, false, None);
    if let Some((block, attribution)) = attributed {
        let estimates = view.estimates_on(graph, *block);
        let known = Correlated { graph: of, claims, attribution, estimates: estimates.as_deref() };
        let block = &view.blocks()[*block];
        for (event, belongs) in attribution.events.iter().enumerate() {
            if belongs.partition != Some(id) {
                continue;
            }
            let info = event_info(block, event, Some(known));
            let about = &block.events[event];
            match about.kind {
                EventKind::DelegateCall if call.is_none() => {
                    other_clock = about.other_clock;
                    let inner = block
                        .events
                        .iter()
                        .any(|e| e.kind == EventKind::DelegateOp && e.parent.is_some_and(|p| p.index() == event));
                    if inner && !other_clock {
                        overhead = Stats::of(&about.self_samples).map(|s| s.avg);
                    }
                    let refused = estimates.iter().flat_map(|e| &e.refused);
                    disagreement = refused.filter(|(call, _)| call.index() == event).map(|(_, a)| 1.0 - a).next();
                    call = Some(info);
                }
                EventKind::DelegateCall | EventKind::DelegateOp | EventKind::Scope => ops.push(info),
                _ => {}
            }
        }
    }
    PartitionDetails {
        id: id.0,
        backend: partition.backend.to_string(),
        instruction: partition.instruction,
        nodes: index(partition.nodes.len()),
        debug_handles: partition.handles.clone(),
        call,
        ops,
        overhead,
        other_clock,
        disagreement,
    }
}

/// Op types with what they cost.
#[derive(Debug, Default)]
struct OpTypes(BTreeMap<String, OpType>);

#[derive(Debug, Default)]
struct OpType {
    count: u32,
    ticks: Option<f64>,
    estimated: bool,
}

impl OpTypes {
    fn put(&mut self, label: String, ticks: f64, estimated: bool) {
        let of = self.0.entry(label).or_default();
        of.ticks = Some(of.ticks.unwrap_or(0.0) + ticks);
        of.estimated |= estimated;
    }

    /// Adds the costs of the nodes inside. A delegate call whose ops were estimated is told by
    /// its ops, and what is left of it, when all of it is inside, by its partition.
    fn add(&mut self, known: Correlated<'_>, inside: &[bool]) {
        let Correlated { graph, claims, attribution, estimates } = known;
        let mean = |samples: &[u64]| Stats::of(samples).map_or(0.0, |s| s.avg);
        let is_inside = |node: &NodeId| inside[node.index()];
        let mut told: FxHashMap<EventId, f64> = FxHashMap::default();
        for estimate in estimates.iter().flat_map(|e| &e.list) {
            let label = match (&estimate.owners[..], &known.carried_ops(estimate)[..]) {
                ([first, ..], _) if estimate.owners.iter().any(is_inside) => graph.label(*first),
                ([], [first, ..]) => op_base(first).to_owned(),
                _ => continue,
            };
            let call = attribution.events.get(estimate.call.index());
            if call.is_some_and(|b| b.nodes.iter().any(is_inside)) {
                self.put(label, mean(&estimate.samples), true);
                *told.entry(estimate.call).or_default() += mean(&estimate.samples);
            }
        }
        for cost in &attribution.costs {
            let owners: Vec<NodeId> = cost.owners.iter().copied().filter(|n| is_inside(n)).collect();
            let Some(first) = owners.first() else { continue };
            let partition = claims.partition_of[first.index()].and_then(|p| claims.partitions.get(p.index()));
            let spreads = estimates.is_some_and(|e| e.spreads(cost.event));
            if spreads && owners.len() < cost.owners.len() {
                continue;
            }
            let told = told.get(&cost.event);
            let label = graph.label(*first);
            let label = match partition {
                Some(partition) if told.is_some() => {
                    format!("{} ({}), not in its ops", partition.backend, partition.label())
                }
                _ if owners.iter().all(|n| graph.label(*n) == label) => label,
                Some(partition) => format!("{} ({})", partition.backend, partition.label()),
                None => joined_labels(graph, &owners),
            };
            self.put(label, (mean(&cost.samples) - told.copied().unwrap_or(0.0)).max(0.0), false);
        }
    }

    fn sorted(self) -> Vec<OpTypeInfo> {
        let info = |(op, OpType { count, ticks, estimated })| OpTypeInfo { op, count, ticks, estimated };
        let mut all: Vec<OpTypeInfo> = self.0.into_iter().map(info).collect();
        let ticks = |of: &OpTypeInfo| of.ticks.unwrap_or(-1.0);
        all.sort_by(|a, b| ticks(b).total_cmp(&ticks(a)).then(b.count.cmp(&a.count)));
        all
    }
}

/// One event of a block, with what the record says of it.
pub fn event_info(block: &Block, event: usize, known: Option<Correlated<'_>>) -> EventInfo {
    let of = &block.events[event];
    let belongs = known.as_ref().and_then(|k| k.attribution.events.get(event));
    let nodes: Vec<u32> = known.iter().flat_map(|k| k.nodes(event)).map(|n| n.0).collect();
    let reading = writing::read(of);
    let estimate = known.as_ref().and_then(|k| k.estimate(event));
    let carried = known.as_ref().zip(estimate).map(|(k, estimate)| k.carried_ops(estimate)).unwrap_or_default();
    let backend = known.as_ref().zip(belongs).and_then(|(known, b)| {
        let partition = b.partition.and_then(|p| known.claims.partitions.get(p.index()))?;
        Some(partition.backend.to_string())
    });
    let zero = Stats { avg: 0.0, min: 0.0, max: 0.0, p10: 0.0, p50: 0.0, p90: 0.0, total: 0.0 };
    EventInfo {
        id: index(event),
        name: of.name.to_string(),
        kind: of.kind.as_str().to_owned(),
        instruction: of.instruction,
        delegate_debug_id: of.delegate_id.as_ref().map(|id| id.to_string()),
        backend,
        debug_handles: belongs.and_then(|b| b.handles.clone()).unwrap_or_default(),
        shared: nodes.len() > 1,
        nodes,
        confidence: estimate.map(|e| e.confidence),
        carried_ops: carried.into_iter().map(str::to_owned).collect(),
        calls_per_run: calls_per_run(&of.calls),
        samples: of.samples.iter().take(SAMPLES_SHOWN).map(|ticks| *ticks as f64).collect(),
        stats: StatsInfo::from(Stats::of(&of.samples).unwrap_or(zero)),
        unit: of.unit.as_str(),
        writer: reading.writer.map(Writer::as_str),
        label: reading.label,
        fields: reading.fields,
        metadata: writing::metadata_text(&of.metadata),
        unmapped: belongs.and_then(|b| b.unmapped).map(|reason| reason.as_str().to_owned()),
    }
}

fn tensor(graph: &Graph, scope: u32, name: &str) -> Option<TensorInfo> {
    let meta = graph.tensor(scope, name)?;
    Some(TensorInfo {
        name: name.to_owned(),
        dtype: dtype_name(meta.dtype).to_owned(),
        shape: meta.shape(),
        symbols: symbol_lines(graph, &meta.sizes),
    })
}

/// What symbolic sizes were while exporting, and what their symbols can be.
fn symbol_lines(graph: &Graph, sizes: &[Size]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut add = |line: String| {
        if !lines.contains(&line) {
            lines.push(line);
        }
    };
    for size in sizes {
        let Size::Expr(text, hint) = size else { continue };
        if let Some(hint) = hint {
            add(format!("{text} was {hint} while exporting"));
        }
        for symbol in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
            match graph.ranges.get(symbol) {
                Some(SymbolRange { min: Some(min), max: Some(max) }) => add(format!("{symbol} is from {min} to {max}")),
                Some(SymbolRange { min: Some(min), max: None }) => add(format!("{symbol} is at least {min}")),
                Some(SymbolRange { min: None, max: Some(max) }) => add(format!("{symbol} is at most {max}")),
                _ => {}
            }
        }
    }
    lines
}

fn outputs(graph: &Graph, node: NodeId) -> Vec<TensorInfo> {
    let mut out = Vec::new();
    let scope = graph.scope_of[node.index()];
    for output in &graph.sources[node.index()].outputs {
        let symbol = matches!(output, Arg::Sym(_) | Arg::Syms(_));
        each_name(output, &mut |name| {
            let size = graph.symbol(scope, name);
            out.push(tensor(graph, scope, name).unwrap_or_else(|| TensorInfo {
                name: name.to_owned(),
                dtype: if symbol { "symbol" } else { "unknown" }.to_owned(),
                shape: size.map(Size::to_string).unwrap_or_default(),
                symbols: size.map(|size| symbol_lines(graph, std::slice::from_ref(size))).unwrap_or_default(),
            }));
        });
    }
    out
}

fn arguments(graph: &Graph, node: NodeId) -> Vec<Argument> {
    let scope = graph.scope_of[node.index()];
    let mut out = Vec::new();
    for (name, arg) in &graph.sources[node.index()].inputs {
        let plain = |kind: &str, text: String| Argument {
            name: name.to_string(),
            kind: kind.to_owned(),
            text,
            target: None,
            tensor: None,
            producer: None,
        };
        match arg {
            Arg::None => out.push(plain("none", "None".to_owned())),
            Arg::Tensor(value) | Arg::Sym(value) | Arg::Object(value) => {
                let argument = value_argument(graph, node, scope, name, value);
                out.push(argument);
            }
            Arg::Tensors(values) => {
                for (i, value) in values.iter().enumerate() {
                    let name = format!("{name}[{i}]");
                    out.push(match value {
                        Some(value) => value_argument(graph, node, scope, &name, value),
                        None => Argument { name, ..plain("none", "None".to_owned()) },
                    });
                }
            }
            Arg::Syms(items) => {
                let texts: Vec<String> = items
                    .iter()
                    .map(|item| match item {
                        Arg::Sym(name) => name.to_string(),
                        Arg::Plain(text) => text.to_string(),
                        _ => "None".to_owned(),
                    })
                    .collect();
                out.push(plain("value", format!("[{}]", texts.join(", "))));
            }
            Arg::Plain(text) | Arg::Unknown(text) => out.push(plain("value", text.to_string())),
            Arg::Long { bytes } => out.push(plain("value", format!("(text of {bytes} bytes)"))),
            Arg::Graph(graph, _) => out.push(plain("graph", graph.to_string())),
            Arg::Lowered(lowered) => out.push(plain("lowered", format!("module lowered for {}", lowered.backend))),
        }
    }
    out
}

fn value_argument(graph: &Graph, node: NodeId, scope: u32, name: &str, value: &str) -> Argument {
    let mut argument = Argument {
        name: name.to_owned(),
        kind: "tensor".to_owned(),
        text: value.to_owned(),
        target: None,
        tensor: tensor(graph, scope, value),
        producer: None,
    };
    match graph.value(scope, value) {
        Some(Value::Output(producer, _)) => {
            argument.producer = Some(producer.0);
            if graph.kinds[producer.index()] == NodeKind::Inputs {
                argument.kind = "input".to_owned();
            }
        }
        Some(Value::Spec(spec)) => {
            argument.kind = match spec.kind {
                InputKind::User => "input",
                other => other.as_str(),
            }
            .to_owned();
            argument.target = Some(spec.target.to_string()).filter(|t| !t.is_empty());
        }
        None => {}
    }
    if graph.kinds[node.index()] == NodeKind::Outputs
        && let Some(spec) = graph.output_spec(value)
    {
        argument.name = spec.kind.to_string();
        argument.target = Some(spec.target.to_string()).filter(|t| !t.is_empty());
    }
    argument
}
