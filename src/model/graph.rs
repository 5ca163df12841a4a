//! The graph of one program: columns over dense node ids.
//!
//! User inputs and outputs are one node each; parameters, buffers and constants are
//! arguments, not nodes. The graphs inside control flow are part of the graph: their
//! nodes bear the path of the node that runs them.

use rustc_hash::FxHashMap;

use super::hierarchy::{Group, Hierarchy};
use super::ids::{GroupId, NodeId, StrId};
use super::modules::{Modules, parse_stack, says_nothing, short_class};
use super::strings::Strings;
use crate::diagnostics::Diagnostics;
use crate::etrecord::lowered::Lowered;
use crate::etrecord::program::{
    Arg, GraphDef, InputSpec, Node, OutputSpec, Size, SymbolRange, TensorMeta, short_target,
};
use crate::etrecord::record::RecordProgram;

/// What a node stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// All user inputs.
    Inputs,
    /// All outputs.
    Outputs,
    /// An operator.
    Op,
    /// A call of a delegate, with the module that was lowered inside.
    Delegate,
    /// An operator that runs graphs of its own: `cond`, `map`, `scan`, `while_loop`.
    Control,
}

/// One data edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The node that makes the value.
    pub from: NodeId,
    /// Which of its outputs.
    pub output: u32,
    /// The node that reads it.
    pub to: NodeId,
    /// At which argument.
    pub input: u32,
}

/// What a value name of a scope stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// An output of a node.
    Output(NodeId, u32),
    /// A parameter, buffer, constant or other object that is no node.
    Spec(InputSpec),
}

/// The names of one graph: those of a subgraph mean nothing outside.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    values: FxHashMap<Box<str>, Value>,
    tensors: FxHashMap<Box<str>, TensorMeta>,
    symbols: FxHashMap<Box<str>, Size>,
}

/// A graph. All columns are indexed by [`NodeId`].
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// The method it is.
    pub method: Box<str>,
    /// The archive entry it was read from.
    pub entry: Box<str>,
    /// The dialect, for example `EDGE`.
    pub dialect: Box<str>,
    /// Node names, each once: those of the JSON; nodes of subgraphs under `node/graph/`.
    pub names: Vec<Box<str>>,
    /// What each node stands for.
    pub kinds: Vec<NodeKind>,
    /// Ops, for example `aten.addmm.default`; see [`Graph::op`].
    pub ops: Vec<StrId>,
    /// Debug handles.
    pub debug_handles: Vec<Option<i64>>,
    /// The module each node is in; see [`Graph::modules`].
    pub homes: Vec<u32>,
    /// True where the module was taken from the neighbours, since the file gives none.
    pub home_inferred: Vec<bool>,
    /// The nodes as they were read: arguments, outputs, metadata.
    pub sources: Vec<Node>,
    /// The scope of each node's names.
    pub scope_of: Vec<u32>,
    /// All data edges, in order of the reading node.
    pub edges: Vec<Edge>,
    /// The modules.
    pub modules: Modules,
    /// What the symbols of symbolic sizes can be.
    pub ranges: FxHashMap<Box<str>, SymbolRange>,
    /// What was odd.
    pub diagnostics: Diagnostics,
    scopes: Vec<Scope>,
    output_specs: FxHashMap<Box<str>, OutputSpec>,
    strings: Strings,
}

/// The op's own name: `addmm` of `aten.addmm.default`.
pub fn op_base(op: &str) -> &str {
    let mut parts = op.rsplit('.');
    let last = parts.next().unwrap_or(op);
    match (parts.next(), parts.next()) {
        (Some(name), Some(_)) => name,
        _ => last,
    }
}

/// A subgraph that is still to be added.
struct Pending {
    nodes: std::vec::IntoIter<Node>,
    prefix: String,
    scope: u32,
    module: u32,
    outputs: Vec<Arg>,
    owner: Option<NodeId>,
}

impl Graph {
    /// Builds the graph of a program.
    pub fn new(record: RecordProgram) -> Self {
        let RecordProgram { entry, method, program } = record;
        let mut graph = Graph { method, entry, dialect: program.dialect, ..Graph::default() };
        let GraphDef { inputs, outputs, nodes, tensors, symbols } = program.graph;
        graph.output_specs = program.output_specs;
        graph.ranges = program.ranges;

        let mut root = Scope { values: FxHashMap::default(), tensors, symbols };
        let mut user_inputs = Vec::new();
        for input in inputs {
            let Some(name) = single_name(&input) else { continue };
            match program.input_specs.get(name) {
                Some(spec) if spec.kind != crate::etrecord::program::InputKind::User => {
                    root.values.insert(name.into(), Value::Spec(spec.clone()));
                }
                _ => user_inputs.push(input),
            }
        }
        let mut names = FxHashMap::default();
        if !user_inputs.is_empty() {
            for (index, input) in (0..).zip(&user_inputs) {
                if let Some(name) = single_name(input) {
                    root.values.insert(name.into(), Value::Output(NodeId(0), index));
                }
            }
            let node = Node { name: "inputs".into(), outputs: user_inputs, ..Node::default() };
            graph.push(node, NodeKind::Inputs, "", 0, &mut names);
        }
        graph.scopes.push(root);

        let mut joins: Vec<(NodeId, u32, Vec<Arg>)> = Vec::new();
        let mut stack = vec![Pending {
            nodes: nodes.into_iter(),
            prefix: String::new(),
            scope: 0,
            module: Modules::ROOT,
            outputs: Vec::new(),
            owner: None,
        }];
        while let Some(top) = stack.last_mut() {
            let Some(mut node) = top.nodes.next() else {
                if let Some(done) = stack.pop()
                    && let Some(owner) = done.owner
                {
                    joins.push((owner, done.scope, done.outputs));
                }
                continue;
            };
            let (prefix, scope, module) = (top.prefix.clone(), top.scope, top.module);
            let subgraphs = take_subgraphs(&mut node);
            let kind = if node.inputs.iter().any(|(_, arg)| matches!(arg, Arg::Lowered(_)))
                || node.target.ends_with("executorch_call_delegate")
            {
                NodeKind::Delegate
            } else if subgraphs.is_empty() {
                NodeKind::Op
            } else {
                NodeKind::Control
            };
            let id = graph.push(node, kind, &prefix, scope, &mut names);
            graph.find_home(id, module);
            graph.define_outputs(id, scope);
            if subgraphs.is_empty() {
                continue;
            }
            let operands = operands_after_graph(&graph.sources[id.index()]);
            let control = graph.names[id.index()].clone();
            let around = graph.modules.child(graph.homes[id.index()], &control, graph.op(id).to_owned().as_str());
            for (name, def) in subgraphs.into_iter().rev() {
                let inner = u32::try_from(graph.scopes.len()).unwrap_or(u32::MAX);
                let mut names = Scope { values: FxHashMap::default(), tensors: def.tensors, symbols: def.symbols };
                for (input, operand) in def.inputs.iter().filter_map(single_name).zip(&operands) {
                    if let Some(value) = graph.value(scope, operand) {
                        names.values.insert(input.into(), value.clone());
                    }
                }
                graph.scopes.push(names);
                let module = graph.modules.child(around, &format!("{control}.{name}"), "");
                stack.push(Pending {
                    nodes: def.nodes.into_iter(),
                    prefix: format!("{control}/{name}/"),
                    scope: inner,
                    module,
                    outputs: def.outputs,
                    owner: Some(id),
                });
            }
        }

        if !outputs.is_empty() {
            let inputs = outputs.into_iter().map(|arg| ("".into(), arg)).collect();
            let node = Node { name: "outputs".into(), inputs, ..Node::default() };
            graph.push(node, NodeKind::Outputs, "", 0, &mut names);
        }
        graph.connect(joins);
        graph.infer_homes();
        graph
    }

    fn push(
        &mut self,
        node: Node,
        kind: NodeKind,
        prefix: &str,
        scope: u32,
        names: &mut FxHashMap<Box<str>, u32>,
    ) -> NodeId {
        let id = NodeId::from(self.names.len());
        let mut name: Box<str> = format!("{prefix}{}", node.name).into();
        let times = names.entry(name.clone()).or_insert(0);
        *times += 1;
        if *times > 1 {
            self.diagnostics.add(
                "duplicate-node",
                "Two nodes of a graph have the same name; the later one is shown with a number.",
                || name.to_string(),
            );
            name = format!("{name} ({times})").into();
        }
        let op = match kind {
            NodeKind::Inputs | NodeKind::Outputs => "",
            _ => short_target(&node.target),
        };
        self.ops.push(self.strings.intern(op));
        self.debug_handles.push(node.debug_handle());
        self.names.push(name);
        self.kinds.push(kind);
        self.homes.push(Modules::ROOT);
        self.home_inferred.push(false);
        self.scope_of.push(scope);
        self.sources.push(node);
        id
    }

    fn find_home(&mut self, id: NodeId, module: u32) {
        let source = &self.sources[id.index()];
        let stack = source.meta("nn_module_stack").unwrap_or_default().to_owned();
        let steps = parse_stack(&stack);
        let quantize = is_quantize(self.op(id)) || is_dequantize(self.op(id));
        let rooted = steps.iter().all(|s| s.path.is_empty());
        if says_nothing(&steps) || (quantize && rooted) {
            self.home_inferred[id.index()] = true;
            self.homes[id.index()] = module;
            if let Some(home) = self.lowered_home(id, module) {
                self.homes[id.index()] = home;
            }
        } else {
            self.homes[id.index()] = self.modules.of_stack(module, &steps);
        }
    }

    /// A delegate call belongs to the innermost module around all that was lowered into it.
    fn lowered_home(&mut self, id: NodeId, module: u32) -> Option<u32> {
        let lowered = self.sources[id.index()].inputs.iter().find_map(|(_, arg)| match arg {
            Arg::Lowered(lowered) => Some(lowered),
            _ => None,
        })?;
        let stacks: Vec<Box<str>> = lowered.ops.iter().filter_map(|op| op.module_stack.clone()).collect();
        let mut home = None;
        for stack in &stacks {
            let steps = parse_stack(stack);
            if says_nothing(&steps) {
                continue;
            }
            let there = self.modules.of_stack(module, &steps);
            home = Some(home.map_or(there, |home| self.modules.common(home, there)));
        }
        home
    }

    fn define_outputs(&mut self, id: NodeId, scope: u32) {
        let outputs = std::mem::take(&mut self.sources[id.index()].outputs);
        let mut index = 0;
        for output in &outputs {
            each_name(output, &mut |name| {
                if let Some(scope) = self.scopes.get_mut(scope as usize) {
                    scope.values.entry(name.into()).or_insert(Value::Output(id, index));
                }
                index += 1;
            });
        }
        self.sources[id.index()].outputs = outputs;
    }

    fn connect(&mut self, joins: Vec<(NodeId, u32, Vec<Arg>)>) {
        let mut edges = Vec::new();
        let mut dangling = Diagnostics::default();
        for (index, source) in self.sources.iter().enumerate() {
            let to = NodeId::from(index);
            for (input, (_, arg)) in (0..).zip(&source.inputs) {
                each_name(arg, &mut |name| match self.value(self.scope_of[index], name) {
                    Some(Value::Output(from, output)) => edges.push(Edge { from: *from, output: *output, to, input }),
                    Some(Value::Spec(_)) => {}
                    None => dangling.add(
                        "value-without-node",
                        "A node reads a value that nothing makes; the edge is left out.",
                        || format!("{} of {}", name, self.names[index]),
                    ),
                });
            }
        }
        for (to, scope, outputs) in joins {
            for output in &outputs {
                each_name(output, &mut |name| {
                    if let Some(Value::Output(from, output)) = self.value(scope, name) {
                        edges.push(Edge { from: *from, output: *output, to, input: u32::MAX });
                    }
                });
            }
        }
        self.edges = edges;
        self.diagnostics.extend(&dangling);
    }

    /// Nodes without a module get one from their neighbours: what quantizes belongs to the
    /// producer, everything else to its consumers, or else to its producers.
    fn infer_homes(&mut self) {
        let n = self.names.len();
        let mut open: Vec<bool> = (0..n)
            .map(|i| self.home_inferred[i] && self.homes[i] == Modules::ROOT && self.kinds[i] != NodeKind::Delegate)
            .collect();
        let ends = |i: usize| matches!(self.kinds[i], NodeKind::Inputs | NodeKind::Outputs);
        let (producers, consumers) = self.neighbours();
        const PASSES: usize = 6;
        for _ in 0..PASSES {
            let mut changed = false;
            let forward = 0..n;
            for i in forward.clone().chain(forward.rev()) {
                if !open[i] {
                    continue;
                }
                let known = |side: &[NodeId], homes: &[u32], open: &[bool]| {
                    let mut home = None;
                    for other in side {
                        let j = other.index();
                        if !ends(j) && !open[j] {
                            home = Some(home.map_or(homes[j], |home| self.modules.common(home, homes[j])));
                        }
                    }
                    home
                };
                let up = known(&producers[i], &self.homes, &open);
                let down = known(&consumers[i], &self.homes, &open);
                let op = self.op(NodeId::from(i));
                let home = if is_quantize(op) { up.or(down) } else { down.or(up) };
                if let Some(home) = home {
                    self.homes[i] = home;
                    open[i] = false;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
    }

    /// Producers and consumers of each node, each neighbour once, in order of the edges.
    pub fn neighbours(&self) -> (Vec<Vec<NodeId>>, Vec<Vec<NodeId>>) {
        let mut producers = vec![Vec::new(); self.names.len()];
        let mut consumers = vec![Vec::new(); self.names.len()];
        for edge in &self.edges {
            if let (Some(up), Some(down)) = (producers.get_mut(edge.to.index()), consumers.get_mut(edge.from.index())) {
                up.push(edge.from);
                down.push(edge.to);
            }
        }
        for list in producers.iter_mut().chain(&mut consumers) {
            let mut seen = rustc_hash::FxHashSet::default();
            list.retain(|node| seen.insert(*node));
        }
        (producers, consumers)
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// All nodes.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        (0..self.names.len()).map(NodeId::from)
    }

    /// The op of a node, for example `aten.addmm.default`; empty for inputs and outputs.
    pub fn op(&self, node: NodeId) -> &str {
        self.ops.get(node.index()).map_or("", |id| self.strings.get(*id))
    }

    /// The module that a delegate call carries.
    pub fn lowered(&self, node: NodeId) -> Option<&Lowered> {
        self.sources.get(node.index())?.inputs.iter().find_map(|(_, arg)| match arg {
            Arg::Lowered(lowered) => Some(&**lowered),
            _ => None,
        })
    }

    /// What a value name of a node's scope stands for.
    pub fn value(&self, scope: u32, name: &str) -> Option<&Value> {
        self.scopes.get(scope as usize)?.values.get(name)
    }

    /// What a symbolic value of a scope is.
    pub fn symbol(&self, scope: u32, name: &str) -> Option<&Size> {
        self.scopes.get(scope as usize)?.symbols.get(name)
    }

    /// Type and shape of a value of a scope.
    pub fn tensor(&self, scope: u32, name: &str) -> Option<&TensorMeta> {
        self.scopes.get(scope as usize)?.tensors.get(name)
    }

    /// What the signature says of an output value.
    pub fn output_spec(&self, name: &str) -> Option<&OutputSpec> {
        self.output_specs.get(name)
    }

    /// The namespace of a node: the paths of the modules around it, joined by `/`.
    pub fn namespace(&self, node: NodeId) -> String {
        self.homes.get(node.index()).map_or(String::new(), |home| self.modules.namespace(*home))
    }

    /// The class of the module a node is in, without its package.
    pub fn module_class(&self, node: NodeId) -> &str {
        self.homes.get(node.index()).map_or("", |home| short_class(&self.modules.get(*home).class))
    }

    /// What is written on a node.
    pub fn label(&self, node: NodeId) -> String {
        match self.kinds.get(node.index()) {
            Some(NodeKind::Inputs) => "inputs".to_owned(),
            Some(NodeKind::Outputs) => "outputs".to_owned(),
            Some(NodeKind::Delegate) => match self.lowered(node) {
                Some(lowered) => lowered.backend.to_string(),
                None => "call_delegate".to_owned(),
            },
            _ => op_base(self.op(node)).to_owned(),
        }
    }

    /// The second line of a node: its first output's type and shape, or what it has inside.
    pub fn sublabel(&self, node: NodeId) -> String {
        let i = node.index();
        let Some(source) = self.sources.get(i) else { return String::new() };
        if let Some(lowered) = self.lowered(node) {
            return format!("{} ops", lowered.ops.len());
        }
        if self.kinds[i] == NodeKind::Outputs {
            return count(source.inputs.len(), "output");
        }
        let mut names = Vec::new();
        for output in &source.outputs {
            each_name(output, &mut |name| names.push(name.to_owned()));
        }
        let first = names.first().and_then(|name| self.tensor(self.scope_of[i], name));
        match (first, names.len()) {
            (Some(tensor), 1) => tensor_text(tensor),
            (Some(tensor), n) => format!("{} +{}", tensor_text(tensor), n - 1),
            _ => String::new(),
        }
    }

    /// The groups by module.
    pub fn by_module(&self) -> Hierarchy {
        let mut tree = HierarchyBuilder::default();
        for node in self.nodes() {
            let mut group = Hierarchy::ROOT;
            for module in self.modules.chain(self.homes[node.index()]) {
                group = tree.child(group, u64::from(module), || {
                    (
                        self.modules.label(module).to_owned(),
                        self.modules.namespace(module),
                        short_class(&self.modules.get(module).class).to_owned(),
                    )
                });
            }
            tree.place(node, group);
        }
        tree.finish()
    }

    /// One group, the root, for all nodes.
    pub fn flat(&self) -> Hierarchy {
        let mut tree = HierarchyBuilder::default();
        self.nodes().for_each(|node| tree.place(node, Hierarchy::ROOT));
        tree.finish()
    }
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// A tensor's type and shape in one line.
pub fn tensor_text(tensor: &TensorMeta) -> String {
    format!("{} {}", crate::etrecord::program::dtype_name(tensor.dtype), tensor.shape())
}

fn is_quantize(op: &str) -> bool {
    op_base(op).starts_with("quantize_per")
}

fn is_dequantize(op: &str) -> bool {
    op_base(op).starts_with("dequantize_per")
}

fn single_name(arg: &Arg) -> Option<&str> {
    match arg {
        Arg::Tensor(name) | Arg::Sym(name) | Arg::Object(name) => Some(name),
        _ => None,
    }
}

/// Calls `take` for every value name in an argument or output.
pub fn each_name(arg: &Arg, take: &mut dyn FnMut(&str)) {
    match arg {
        Arg::Tensor(name) | Arg::Sym(name) | Arg::Object(name) => take(name),
        Arg::Tensors(names) => names.iter().flatten().for_each(|name| take(name)),
        Arg::Syms(items) => items.iter().filter_map(single_name).for_each(take),
        _ => {}
    }
}

/// Takes the graphs out of a node's arguments, leaving their names.
fn take_subgraphs(node: &mut Node) -> Vec<(Box<str>, GraphDef)> {
    let mut taken = Vec::new();
    for (_, arg) in &mut node.inputs {
        if let Arg::Graph(name, def) = arg {
            taken.push((name.clone(), std::mem::take(&mut **def)));
        }
    }
    taken
}

/// The names a control-flow node hands to its graphs, by position: all behind the first graph.
fn operands_after_graph(node: &Node) -> Vec<Box<str>> {
    let mut names = Vec::new();
    let behind = node.inputs.iter().skip_while(|(_, arg)| !matches!(arg, Arg::Graph(..)));
    for (_, arg) in behind {
        each_name(arg, &mut |name| names.push(name.into()));
    }
    names
}

/// Builds a [`Hierarchy`] node by node; groups come in order of their first node.
#[derive(Debug)]
pub struct HierarchyBuilder {
    groups: Vec<Group>,
    known: FxHashMap<(GroupId, u64), GroupId>,
    home: Vec<GroupId>,
}

impl Default for HierarchyBuilder {
    fn default() -> Self {
        let root = Group {
            parent: None,
            label: String::new(),
            path: String::new(),
            class: String::new(),
            groups: Vec::new(),
            nodes: Vec::new(),
            node_count: 0,
            partition: None,
        };
        HierarchyBuilder { groups: vec![root], known: FxHashMap::default(), home: Vec::new() }
    }
}

impl HierarchyBuilder {
    /// The group inside `parent` with this key; `describe` gives label, path and class of a new one.
    pub fn child(&mut self, parent: GroupId, key: u64, describe: impl FnOnce() -> (String, String, String)) -> GroupId {
        if let Some(group) = self.known.get(&(parent, key)) {
            return *group;
        }
        let id = GroupId::from(self.groups.len());
        let (label, path, class) = describe();
        self.groups.push(Group {
            parent: Some(parent),
            label,
            path,
            class,
            groups: Vec::new(),
            nodes: Vec::new(),
            node_count: 0,
            partition: None,
        });
        self.known.insert((parent, key), id);
        if let Some(parent) = self.groups.get_mut(parent.index()) {
            parent.groups.push(id);
        }
        id
    }

    /// A group, to be changed.
    pub fn group(&mut self, id: GroupId) -> Option<&mut Group> {
        self.groups.get_mut(id.index())
    }

    /// Puts the next node (in order of ids) into a group.
    pub fn place(&mut self, node: NodeId, group: GroupId) {
        debug_assert_eq!(node.index(), self.home.len());
        self.home.push(group);
        if let Some(home) = self.groups.get_mut(group.index()) {
            home.nodes.push(node);
        }
        let mut at = Some(group);
        while let Some(id) = at {
            let Some(group) = self.groups.get_mut(id.index()) else { break };
            group.node_count += 1;
            at = group.parent;
        }
    }

    /// The hierarchy.
    pub fn finish(self) -> Hierarchy {
        Hierarchy { groups: self.groups, home: self.home }
    }
}
