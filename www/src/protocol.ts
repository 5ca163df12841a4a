/**
 * What crosses between the page and the worker that holds the model: the shapes that
 * `src/wasm/` writes and the page reads. Bulk is typed arrays, copied once and
 * transferred; the rest is small plain objects. Ticks are plain numbers here: they are
 * differences (durations), which the Rust side checks to be exact in a double.
 *
 * Node, group, graph, block, event and view ids are dense indices from 0.
 */

/** A kind of error, in kebab case; see `src/error.rs` for the list. */
export interface ErrorInfo {
  code: string;
  /** One sentence: what is wrong. */
  message: string;
  /** Entry, JSON path or byte offset; empty when it is the whole file. */
  place: string;
  /** What the user can do next. */
  next: string;
}

export interface Diagnostic {
  code: string;
  message: string;
  count: number;
  places: string[];
}

export type FileKind = "etrecord" | "etdump";

export interface OpenedFile {
  id: number;
  name: string;
  kind: FileKind;
  bytes: number;
  /** How many of them were read to show it. */
  bytesRead: number;
}

export interface RejectedFile {
  name: string;
  bytes: number;
  error: ErrorInfo;
}

/** One thing to look at: a record, a dump, or a record with a dump of it. */
export interface ViewRef {
  id: number;
  record: number | null;
  dump: number | null;
  label: string;
  /** How well the two belong together, 0 to 1; null when there is only one of them. */
  fit: number | null;
}

/** The answer to `open`. */
export interface OpenResult {
  files: OpenedFile[];
  rejected: RejectedFile[];
  views: ViewRef[];
  /** The view to show: the best that the newly opened files give; null when nothing is open. */
  current: number | null;
}

export interface OpenProgress {
  /** The file being read. */
  file: string;
  /** What is being done, for example `edge_dialect_exported_program/forward`. */
  what: string;
  /** Bytes read so far and in all, over all files. */
  done: number;
  total: number;
}

/** Statistics over the runs of a block, in ticks; linear interpolation, as NumPy does. */
export interface Stats {
  avg: number;
  min: number;
  max: number;
  p10: number;
  p50: number;
  p90: number;
  total: number;
}

/** Where execute went: the four parts add up to execute, in every run. Average ticks a run. */
export interface Split {
  execute: number;
  native: number;
  delegate: number;
  frameworkTax: number;
  rest: number;
}

export interface Fit {
  /** 0 to 1. */
  score: number;
  /** The first differences, in words; empty when all agrees. */
  reasons: string[];
}

/** What an allocator gave out. What was given back is recorded nowhere. */
export interface Allocator {
  /** Null when the runs do not name it; they have a number all the same. */
  name: string | null;
  number: number;
  /** Of an average run. */
  allocations: number;
  bytes: number;
  /** Bytes: the largest sum of a run, and the largest allocation. */
  peak: number;
  largest: number;
  /** The largest sizes in bytes, each with its number of allocations over all runs. */
  sizes: [number, number][];
  /** Distinct sizes that there are. */
  distinct: number;
}

/** Time of a block that no node shows. */
export interface OffGraph {
  reason: string;
  /** A part of execute that the graph lacks: those and `attributed` are execute. */
  partOfExecute: boolean;
  /** Average ticks a run. */
  ticks: number;
  /** How many events it lies in, and the names of the first of them. */
  events: number;
  names: string[];
}

export interface BlockInfo {
  id: number;
  name: string;
  runs: number;
  bundledInputIndex: number | null;
  /** Distinct events, and entries of the file that they were made from. */
  events: number;
  entries: number;
  /** The method it is taken to be a run of; null when there is no record or no instruction. */
  method: string | null;
  /** The graph that shows that method. */
  graph: number | null;
  fit: Fit | null;
  execute: Stats | null;
  split: Split | null;
  delegateCalls: number;
  /** Delegate ops whose operators are estimated. */
  estimates: number;
  /** Ticks a run (average) that were attributed to nodes of the graph. */
  attributed: number;
  /** Its allocators that gave out memory. */
  allocators: Allocator[];
  /** What is on no node; empty without a graph of the method. */
  offGraph: OffGraph[];
}

export interface GraphInfo {
  id: number;
  /** For example `forward`. */
  label: string;
  method: string;
  /** `inside` is the module that a delegate call carries, `other` whatever else was recorded. */
  kind: "edge" | "exported" | "other" | "inside";
  /** False when it is only listed: `loadGraph` reads it. */
  loaded: boolean;
  nodes: number;
  edges: number;
  /** Partitions found in it, and the backends they belong to. */
  partitions: number;
  backends: string[];
}

/** Everything the header and the choosers need. */
export interface ViewInfo {
  id: number;
  record: OpenedFile | null;
  dump: OpenedFile | null;
  graphs: GraphInfo[];
  blocks: BlockInfo[];
  /** What to show first. */
  block: number | null;
  graph: number | null;
  methods: string[];
  diagnostics: Diagnostic[];
  /** Shown as a banner when the record and the dump do not belong together. */
  mismatch: Fit | null;
}

export type Grouping = "module" | "delegate" | "flat";
export type Metric = "avg" | "p50" | "min" | "max" | "p10" | "p90" | "total" | "share" | "calls";

/** A drawing, in its own coordinates (one unit = one CSS pixel at zoom 1). */
export interface Scene {
  graph: number;
  grouping: Grouping;
  width: number;
  height: number;
  /** Item i: kinds[i] 0 node, 1 closed group, 2 open group (drawn behind its items). Parents come first. */
  kinds: Uint8Array;
  /** Node id or group id, by kind. */
  ids: Uint32Array;
  /** Index of the open group it lies in, or -1. */
  parents: Int32Array;
  /** x, y, width, height of each item, absolute. */
  boxes: Float32Array;
  /** What is written on the item: op or group name, and a second line (module class, shape, count). */
  labels: string[];
  sublabels: string[];
  /** Partition the item belongs to (all of a closed group), or -1; index into `partitions`. */
  partitionOf: Int32Array;
  partitions: PartitionRef[];
  /** Item indices at both ends of edge e. */
  edgeFrom: Uint32Array;
  edgeTo: Uint32Array;
  /** How many data edges it stands for. */
  edgeWeight: Uint32Array;
  /** 0 drawn along its route; 1 cut into two stubs (a hub or a long edge), drawn in full when selected. */
  edgeStyle: Uint8Array;
  /** Points of edge e: edgePoints[2*edgeStart[e] .. 2*edgeStart[e+1]], x y x y; corners of an orthogonal route. */
  edgeStart: Uint32Array;
  edgePoints: Float32Array;
}

export interface PartitionRef {
  id: number;
  backend: string;
  /** For example `partition 50`: the instruction id of its DELEGATE_CALL. */
  label: string;
  /** Index of the backend in order of first appearance: picks its colour. */
  colour: number;
}

/**
 * One metric for one block on one graph, aligned with node ids and group ids of a grouping.
 * NaN means: no event was attributed. Ticks for times, a fraction for `share`, a number for `calls`.
 */
export interface Overlay {
  graph: number;
  block: number;
  metric: Metric;
  grouping: Grouping;
  /** Value of each node: events of its own and events it shares with others. */
  nodes: Float64Array;
  /** 0 nothing, 1 own events only, 2 shared only, 3 both, 4 with estimates. */
  nodeState: Uint8Array;
  /** Value of each group, every event counted once. */
  groups: Float64Array;
  groupState: Uint8Array;
  /** Share of execute (average), whatever the metric; for bars. */
  nodeShare: Float64Array;
  groupShare: Float64Array;
}

/** Name and value of a line in the side panel. */
export interface Field {
  name: string;
  value: string;
}

export interface Tensor {
  /** Value name, for example `aten_addmm_default`. */
  name: string;
  dtype: string;
  /** For example `[1, 8, 24]`, symbolic sizes as written; of a symbol, its expression. */
  shape: string;
  /** What its symbolic sizes were while exporting, and what they can be. */
  symbols: string[];
}

export interface Argument {
  /** As in the operator's schema: `mat1`. Empty when the file gives none. */
  name: string;
  /** What it is: `tensor`, `parameter`, `buffer`, `constant`, `input`, `value`, `graph`, `none`. */
  kind: string;
  /** For tensors the value's name, for others the value as text. */
  text: string;
  /** Fully qualified parameter or buffer name. */
  target: string | null;
  tensor: Tensor | null;
  /** Node that makes the value, if it is one of this graph. */
  producer: number | null;
}

/** Values and statistics of a tensor of the record; statistics are over `seen` of `count` values. */
export interface TensorValues {
  name: string;
  dtype: string;
  shape: number[];
  /** Distance between neighbours of each dimension, in numbers. */
  strides: number[];
  count: number;
  seen: number;
  /** The first values as text. */
  first: string[];
  min: number | null;
  max: number | null;
  mean: number | null;
  deviation: number | null;
  zeros: number;
  notFinite: number;
  histogram: { from: number; to: number; counts: number[] } | null;
}

/** `modelled-ticks` come from a backend's cost model. */
export type Unit = "ticks" | "modelled-ticks" | "us" | "bytes" | "count" | "counter";

export interface EventInfo {
  id: number;
  name: string;
  /** framework, operator-call, native-call, delegate-call, delegate-op, scope. */
  kind: string;
  instruction: number | null;
  delegateDebugId: string | null;
  backend: string | null;
  debugHandles: number[];
  /** Nodes that own it; of an estimate those that it most likely ran. */
  nodes: number[];
  /** True when it is one cost with several owners. */
  shared: boolean;
  /** How sure the nodes are (0…1) when kind and order tie the event to them and no map does; else null. */
  confidence: number | null;
  /** Of an estimate: its operators in the module that the call node carries. */
  carriedOps: string[];
  callsPerRun: number;
  /** Ticks of each run, in order; at most 4,096 of them. */
  samples: number[];
  stats: Stats;
  /** What the figures are; only ticks and modelled ticks are times on the dump's scale. */
  unit: Unit;
  /** Which backend's writing it is, as far as its content tells. */
  writer: string | null;
  /** What it is about, in fewer words than its delegate debug id. */
  label: string | null;
  /** More of what it says. */
  fields: Field[];
  /** Delegate metadata as indented JSON, text or hexadecimal digits; null when there is none. */
  metadata: string | null;
  /** Why it is on no node; null when it is. */
  unmapped: string | null;
}

export interface Lineage {
  name: string;
  target: string;
  pass: string;
  depth: number;
}

/** A node as others refer to it. */
export interface NodeRef {
  id: number;
  label: string;
}

export interface NodeDetails {
  type: "node";
  id: number;
  name: string;
  /** `aten.addmm.default`. */
  op: string;
  /** Full target as the file has it. */
  target: string;
  namespace: string;
  /** True when the module is taken from its neighbours, since the file gives none. */
  namespaceInferred: boolean;
  moduleClass: string | null;
  debugHandle: number | null;
  instructions: number[];
  partition: PartitionRef | null;
  arguments: Argument[];
  outputs: Tensor[];
  consumers: NodeRef[];
  producers: NodeRef[];
  stackTrace: string | null;
  lineage: Lineage[];
  metadata: Field[];
  events: EventInfo[];
  /** For an `executorch_call_delegate` node: what it carries. */
  lowered: LoweredInfo | null;
}

export interface LoweredInfo {
  backend: string;
  payloadBytes: number;
  ops: number;
  /** Op types inside with their counts, most frequent first. */
  opTypes: Field[];
  debugHandles: number[];
  compileSpecs: string[];
  /** Where it stands in the entry. */
  entry: string;
  offset: number;
  length: number;
}

export interface GroupDetails {
  type: "group";
  id: number;
  label: string;
  /** Namespace path or partition. */
  path: string;
  moduleClass: string | null;
  nodes: number;
  groups: number;
  /** Op types inside, most costly first: name, count, ticks (average a run, each event once). */
  opTypes: { op: string; count: number; ticks: number | null; estimated: boolean }[];
  partition: PartitionDetails | null;
  /** The costliest events inside, at most 200. */
  events: EventInfo[];
  eventCount: number;
  stats: Stats | null;
  /** True when some of that sum was estimated. */
  estimated: boolean;
}

export interface PartitionDetails {
  id: number;
  backend: string;
  instruction: number | null;
  nodes: number;
  debugHandles: number[];
  /** Its DELEGATE_CALL, if it was measured. */
  call: EventInfo | null;
  /** Events inside the call (delegate ops and scopes), in order. */
  ops: EventInfo[];
  /** Ticks of the call that no delegate op accounts for; null when ops run on another clock. */
  overhead: number | null;
  otherClock: boolean;
  /** How far its ops are from its operators (0…1), when too far for estimates; else null. */
  disagreement: number | null;
}

export type Details = NodeDetails | GroupDetails;

/** Rows of the event table of a block, for a dump without a graph and for the full list. */
export interface EventTable {
  block: number;
  rows: EventInfo[];
  /** All events there are; `rows` is a page of them. */
  total: number;
}

/** Where a node can be found in the hierarchy: its groups, outermost first (root left out). */
export interface Location {
  groups: number[];
}

/** Calls of the worker. `graph` and `block` are indices within the view. */
export interface Calls {
  open: { args: { files: File[] }; result: OpenResult };
  /** Opens a sample carried by the page. */
  openBytes: { args: { files: { name: string; bytes: Uint8Array }[] }; result: OpenResult };
  closeAll: { args: Record<string, never>; result: OpenResult };
  view: { args: { view: number }; result: ViewInfo };
  setMethod: { args: { view: number; block: number; method: string | null }; result: ViewInfo };
  /** Groups to open first, so that a screenful shows. */
  initialExpansion: { args: { view: number; graph: number; grouping: Grouping }; result: Uint32Array };
  loadGraph: { args: { view: number; graph: number }; result: ViewInfo };
  /** The graph of the answer is the module that the node carries. */
  openInside: { args: { view: number; graph: number; node: number }; result: ViewInfo };
  scene: { args: { view: number; graph: number; grouping: Grouping; expanded: Uint32Array }; result: Scene };
  overlay: {
    args: { view: number; graph: number; block: number; grouping: Grouping; metric: Metric; estimates: boolean };
    result: Overlay;
  };
  nodeDetails: { args: { view: number; graph: number; block: number | null; node: number }; result: NodeDetails };
  groupDetails: {
    args: { view: number; graph: number; block: number | null; grouping: Grouping; group: number; estimates: boolean };
    result: GroupDetails;
  };
  partitionDetails: {
    args: { view: number; graph: number; block: number | null; partition: number };
    result: PartitionDetails;
  };
  tensorValues: { args: { view: number; graph: number; node: number; name: string }; result: TensorValues };
  locate: { args: { view: number; graph: number; grouping: Grouping; node: number }; result: Location };
  events: { args: { view: number; block: number; from: number; count: number }; result: EventTable };
}
