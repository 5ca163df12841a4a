//! What the facade answers: the Rust side of `www/src/protocol.ts`, which says what each
//! field means. Ticks are doubles here; they are durations, exact below 2^53.

use serde::Serialize;

use crate::correlate::{Fit, OffGraph};
use crate::diagnostics::Diagnostic;
use crate::error::Error;
use crate::profile::{Allocator, Block, Split, Stats};

/// What a file was found to be, by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// An exported graph.
    Etrecord,
    /// A runtime profile.
    Etdump,
}

/// A file that is open.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenedFile {
    /// Dense id, in order of opening.
    pub id: u32,
    /// The name it was given under.
    pub name: String,
    /// What it is.
    pub kind: FileKind,
    /// Its size.
    pub bytes: u64,
    /// How many of its bytes were read to show it.
    pub bytes_read: u64,
}

/// A file that could not be opened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RejectedFile {
    /// The name it was given under.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Why.
    pub error: Error,
}

/// One thing to look at: a record, a dump, or a record with a dump of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ViewRef {
    /// Index among the views.
    pub id: u32,
    /// The file id of its record.
    pub record: Option<u32>,
    /// The file id of its dump.
    pub dump: Option<u32>,
    /// What is written on it.
    pub label: String,
    /// How well the two belong together, 0 to 1.
    pub fit: Option<f64>,
}

/// The answer to opening or closing files.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenResult {
    /// All that are open.
    pub files: Vec<OpenedFile>,
    /// Those of this opening that could not be opened.
    pub rejected: Vec<RejectedFile>,
    /// All views.
    pub views: Vec<ViewRef>,
    /// The view to show.
    pub current: Option<u32>,
}

/// A fit as it crosses the boundary.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FitInfo {
    /// 0 to 1.
    pub score: f64,
    /// The first differences, in words.
    pub reasons: Vec<String>,
}

impl From<&Fit> for FitInfo {
    fn from(fit: &Fit) -> Self {
        FitInfo { score: fit.score, reasons: fit.reasons.clone() }
    }
}

/// Statistics over the runs, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatsInfo {
    /// Mean.
    pub avg: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// 10th percentile.
    pub p10: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// Sum.
    pub total: f64,
}

impl From<Stats> for StatsInfo {
    fn from(s: Stats) -> Self {
        StatsInfo { avg: s.avg, min: s.min, max: s.max, p10: s.p10, p50: s.p50, p90: s.p90, total: s.total }
    }
}

/// Where execute went, in ticks of an average run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SplitInfo {
    /// `Method::execute`.
    pub execute: f64,
    /// Kernels.
    pub native: f64,
    /// Delegate calls.
    pub delegate: f64,
    /// What the runtime adds around each kernel.
    pub framework_tax: f64,
    /// Everything else.
    pub rest: f64,
}

impl SplitInfo {
    /// The mean over the runs; `None` when there are none.
    pub fn mean(splits: &[Split]) -> Option<Self> {
        if splits.is_empty() {
            return None;
        }
        let mean = |part: fn(&Split) -> u64| splits.iter().map(|s| part(s) as f64).sum::<f64>() / splits.len() as f64;
        Some(SplitInfo {
            execute: mean(|s| s.execute),
            native: mean(|s| s.native),
            delegate: mean(|s| s.delegate),
            framework_tax: mean(|s| s.framework_tax),
            rest: mean(|s| s.rest),
        })
    }
}

/// One allocator of a block.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AllocatorInfo {
    /// Its name; `None` when its runs do not name it.
    pub name: Option<String>,
    /// Its number, counted from 1.
    pub number: i32,
    /// Allocations of an average run.
    pub allocations: f64,
    /// Bytes of an average run.
    pub bytes: f64,
    /// The largest sum of a run, in bytes: at most that was in use at once.
    pub peak: f64,
    /// The largest allocation, in bytes.
    pub largest: f64,
    /// The largest sizes in bytes, each with its number of allocations over all runs.
    pub sizes: Vec<(f64, f64)>,
    /// Distinct sizes that there are.
    pub distinct: u32,
}

impl AllocatorInfo {
    const SIZES: usize = 12;

    /// Sums up an allocator.
    pub fn of(allocator: &Allocator) -> Self {
        let runs = allocator.bytes.len().max(1) as f64;
        AllocatorInfo {
            name: allocator.name.as_deref().map(str::to_owned),
            number: allocator.number,
            allocations: allocator.allocations.iter().map(|n| f64::from(*n)).sum::<f64>() / runs,
            bytes: allocator.bytes.iter().map(|b| *b as f64).sum::<f64>() / runs,
            peak: allocator.peak() as f64,
            largest: allocator.largest() as f64,
            sizes: allocator.sizes.iter().take(Self::SIZES).map(|(b, n)| (*b as f64, *n as f64)).collect(),
            distinct: u32::try_from(allocator.sizes.len()).unwrap_or(u32::MAX),
        }
    }
}

/// Time of a block that no node shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OffGraphInfo {
    /// Why.
    pub reason: &'static str,
    /// Whether it is a part of execute that the graph lacks; those and `attributed` are execute.
    pub part_of_execute: bool,
    /// Ticks of an average run.
    pub ticks: f64,
    /// How many events it lies in.
    pub events: u32,
    /// Names of the first of them, each once; delegate debug ids of those without.
    pub names: Vec<String>,
}

impl OffGraphInfo {
    const NAMES: usize = 4;

    /// Sums up what a block has off the graph.
    pub fn of(block: &Block, off: &OffGraph) -> Self {
        let mut names: Vec<String> = Vec::new();
        for event in off.events.iter().filter_map(|id| block.events.get(id.index())) {
            if names.len() == Self::NAMES {
                break;
            }
            // Ops of many delegates have an id and no name.
            let name = match &event.delegate_id {
                Some(id) if event.name.is_empty() => id.to_string(),
                _ => event.name.to_string(),
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        OffGraphInfo {
            reason: off.reason.as_str(),
            part_of_execute: off.reason.is_part_of_execute(),
            ticks: Stats::of(&off.samples).map_or(0.0, |s| s.avg),
            events: u32::try_from(off.events.len()).unwrap_or(u32::MAX),
            names,
        }
    }
}

/// One event block.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockInfo {
    /// Index among the blocks.
    pub id: u32,
    /// The runs' name.
    pub name: String,
    /// How many runs it holds.
    pub runs: u32,
    /// The bundled input that was run; `None` when the file gives none.
    pub bundled_input_index: Option<i32>,
    /// Distinct events.
    pub events: u32,
    /// Entries of the file that they were made from.
    pub entries: u64,
    /// The method it is taken to be a run of.
    pub method: Option<String>,
    /// The graph that shows that method.
    pub graph: Option<u32>,
    /// How well the block fits that method.
    pub fit: Option<FitInfo>,
    /// `Method::execute`.
    pub execute: Option<StatsInfo>,
    /// Where it went.
    pub split: Option<SplitInfo>,
    /// `DELEGATE_CALL`s of an average run.
    pub delegate_calls: f64,
    /// Ticks of an average run that were attributed to nodes.
    pub attributed: f64,
    /// Its allocators that gave out memory.
    pub allocators: Vec<AllocatorInfo>,
    /// What is on no node; empty without a graph of the method.
    pub off_graph: Vec<OffGraphInfo>,
    /// Delegate ops whose operators are estimated.
    pub estimates: u32,
}

/// One graph.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphInfo {
    /// Index among the graphs.
    pub id: u32,
    /// What is written on it.
    pub label: String,
    /// The method it shows.
    pub method: String,
    /// `edge`; `exported`; `other` for what else was recorded; `inside` for the module that a
    /// delegate call carries.
    pub kind: &'static str,
    /// False when it is only listed and has to be read first.
    pub loaded: bool,
    /// Number of nodes.
    pub nodes: u32,
    /// Number of data edges.
    pub edges: u32,
    /// Number of partitions.
    pub partitions: u32,
    /// Their backends, each once.
    pub backends: Vec<String>,
}

/// Everything the header and the choosers need.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ViewInfo {
    /// Index among the views.
    pub id: u32,
    /// Its record.
    pub record: Option<OpenedFile>,
    /// Its dump.
    pub dump: Option<OpenedFile>,
    /// The record's graphs.
    pub graphs: Vec<GraphInfo>,
    /// The dump's blocks.
    pub blocks: Vec<BlockInfo>,
    /// The block to show first.
    pub block: Option<u32>,
    /// The graph to show first.
    pub graph: Option<u32>,
    /// The methods of the record.
    pub methods: Vec<String>,
    /// What was odd.
    pub diagnostics: Vec<Diagnostic>,
    /// Set when record and dump do not belong together.
    pub mismatch: Option<FitInfo>,
}

/// A partition as others refer to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionRef {
    /// Index among the graph's partitions.
    pub id: u32,
    /// The backend.
    pub backend: String,
    /// What is written on it.
    pub label: String,
    /// Index of the backend in order of first appearance.
    pub colour: u32,
}

/// Name and value of a line in the panel.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Field {
    /// Name.
    pub name: String,
    /// Value.
    pub value: String,
}

/// A tensor value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TensorInfo {
    /// Value name.
    pub name: String,
    /// Type.
    pub dtype: String,
    /// Shape, symbolic sizes as written; of a symbol, its expression.
    pub shape: String,
    /// What its symbolic sizes were while exporting, and what they can be.
    pub symbols: Vec<String>,
}

/// One argument of a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Argument {
    /// As in the operator's schema; empty when the file gives none.
    pub name: String,
    /// What it is.
    pub kind: String,
    /// The value's name, or the value as text.
    pub text: String,
    /// Fully qualified parameter or buffer name.
    pub target: Option<String>,
    /// Type and shape.
    pub tensor: Option<TensorInfo>,
    /// The node that makes it.
    pub producer: Option<u32>,
}

/// One event of a block.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventInfo {
    /// Index among the block's events.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Its instruction.
    pub instruction: Option<u32>,
    /// Its delegate debug id as text.
    pub delegate_debug_id: Option<String>,
    /// The backend of its delegate call.
    pub backend: Option<String>,
    /// Its debug handles.
    pub debug_handles: Vec<i64>,
    /// The nodes that own it; for an estimate those that it most likely ran.
    pub nodes: Vec<u32>,
    /// True when it is one cost with several owners.
    pub shared: bool,
    /// How sure the nodes are, 0 to 1, when no map but kind and order tie the event to them.
    /// The event's own figures are measured.
    pub confidence: Option<f64>,
    /// The operators it most likely ran in the module that its call node carries.
    pub carried_ops: Vec<String>,
    /// Calls in an average run.
    pub calls_per_run: f64,
    /// Ticks of each run, at most [`SAMPLES_SHOWN`].
    pub samples: Vec<f64>,
    /// Statistics over all runs.
    pub stats: StatsInfo,
    /// What the figures are: `ticks`, `modelled-ticks`, `us`, `bytes`, `count` or `counter`.
    pub unit: &'static str,
    /// Which backend's writing it is, as far as its content tells.
    pub writer: Option<&'static str>,
    /// What it is about, in fewer words than its delegate debug id.
    pub label: Option<String>,
    /// More of what it says.
    pub fields: Vec<Field>,
    /// Delegate metadata: indented JSON, text, or hexadecimal digits with what is readable.
    pub metadata: Option<String>,
    /// Why it is on no node.
    pub unmapped: Option<String>,
}

/// How many samples of an event cross the boundary.
pub const SAMPLES_SHOWN: usize = 4096;

/// One step of a node's lineage.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lineage {
    /// The node it came from.
    pub name: String,
    /// That node's target.
    pub target: String,
    /// The pass that made it, and what the pass did.
    pub pass: String,
    /// How many steps back.
    pub depth: u32,
}

/// What a delegate call carries.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoweredInfo {
    /// The backend.
    pub backend: String,
    /// Size of its payload.
    pub payload_bytes: u64,
    /// Operators inside.
    pub ops: u32,
    /// Op types with their counts, most frequent first.
    pub op_types: Vec<Field>,
    /// Debug handles inside.
    pub debug_handles: Vec<i64>,
    /// Names of its compile specs.
    pub compile_specs: Vec<String>,
    /// The entry it stands in.
    pub entry: String,
    /// Offset in the entry.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
}

/// A node as others refer to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeRef {
    /// The node.
    pub id: u32,
    /// What is written on it.
    pub label: String,
}

/// All that is known of a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeDetails {
    /// Always `node`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The node.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its op.
    pub op: String,
    /// Its target as the file has it.
    pub target: String,
    /// The modules around it.
    pub namespace: String,
    /// True when the module was taken from its neighbours.
    pub namespace_inferred: bool,
    /// The class of its module.
    pub module_class: Option<String>,
    /// Its debug handle.
    pub debug_handle: Option<i64>,
    /// The instructions that run it.
    pub instructions: Vec<u32>,
    /// The partition it is in.
    pub partition: Option<PartitionRef>,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// Its outputs.
    pub outputs: Vec<TensorInfo>,
    /// Nodes that read it.
    pub consumers: Vec<NodeRef>,
    /// Nodes that it reads.
    pub producers: Vec<NodeRef>,
    /// Where in the model's source it was made.
    pub stack_trace: Option<String>,
    /// What it was made from.
    pub lineage: Vec<Lineage>,
    /// Other metadata.
    pub metadata: Vec<Field>,
    /// Its events.
    pub events: Vec<EventInfo>,
    /// For a delegate call: what it carries.
    pub lowered: Option<LoweredInfo>,
}

/// One op type of a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpTypeInfo {
    /// The op.
    pub op: String,
    /// How many nodes of it.
    pub count: u32,
    /// Ticks of an average run.
    pub ticks: Option<f64>,
    /// True when some of them are estimates.
    pub estimated: bool,
}

/// All that is known of a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupDetails {
    /// Always `group`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The group.
    pub id: u32,
    /// What is written on it.
    pub label: String,
    /// Its path.
    pub path: String,
    /// The class of its module.
    pub module_class: Option<String>,
    /// Nodes inside, at any depth.
    pub nodes: u32,
    /// Groups directly inside.
    pub groups: u32,
    /// Op types inside, most costly first.
    pub op_types: Vec<OpTypeInfo>,
    /// The partition it stands for.
    pub partition: Option<PartitionDetails>,
    /// The costliest events inside.
    pub events: Vec<EventInfo>,
    /// How many events are inside.
    pub event_count: u32,
    /// Statistics of the sum, every cost once.
    pub stats: Option<StatsInfo>,
    /// True when some of that sum was estimated.
    pub estimated: bool,
}

/// All that is known of a partition.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionDetails {
    /// Index among the graph's partitions.
    pub id: u32,
    /// The backend.
    pub backend: String,
    /// The instruction of its call.
    pub instruction: Option<u32>,
    /// Number of nodes.
    pub nodes: u32,
    /// Debug handles inside.
    pub debug_handles: Vec<i64>,
    /// Its `DELEGATE_CALL`.
    pub call: Option<EventInfo>,
    /// Events inside the call.
    pub ops: Vec<EventInfo>,
    /// Mean ticks of the call that no delegate op accounts for.
    pub overhead: Option<f64>,
    /// True when its ops tick on another clock.
    pub other_clock: bool,
    /// How far the ops of the call are from the operators of the partition, 0 to 1, when that
    /// is too far for any of them to be estimated.
    pub disagreement: Option<f64>,
}

/// Rows of the event table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventTable {
    /// The block.
    pub block: u32,
    /// A page of its events.
    pub rows: Vec<EventInfo>,
    /// All events there are.
    pub total: u32,
}

/// The groups around a node, outermost first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    /// Group ids, the root left out.
    pub groups: Vec<u32>,
}
