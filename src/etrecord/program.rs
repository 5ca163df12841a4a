//! An exported program, as ExecuTorch's serializer writes it in JSON.
//!
//! Read as a stream: each node becomes a [`Node`] as soon as its JSON is complete, and
//! the text is never held. What does not fit is kept as text with a diagnostic.

use std::fmt;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::json::scan::{Scanner, Sink};
use super::json::value::{Builder, Keys, Value, float_text};
use super::lowered::Lowered;
use crate::diagnostics::Diagnostics;
use crate::error::{Code, Error, Result};
use crate::limits;

/// One size of a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Size {
    /// A fixed size.
    Int(i64),
    /// A symbolic one: its expression, and the size it had while exporting.
    Expr(Box<str>, Option<i64>),
}

impl fmt::Display for Size {
    /// As the file writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Int(value) => write!(f, "{value}"),
            Size::Expr(text, _) => f.write_str(text),
        }
    }
}

/// What a symbol can be; an end that is `None` is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SymbolRange {
    /// The smallest value.
    pub min: Option<i64>,
    /// The largest.
    pub max: Option<i64>,
}

/// What is known of a tensor value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TensorMeta {
    /// The serializer's number of its type; see [`dtype_name`].
    pub dtype: i64,
    /// Its shape.
    pub sizes: Vec<Size>,
}

impl TensorMeta {
    /// Its shape as `[1, 8, 24]`, symbolic sizes as written.
    pub fn shape(&self) -> String {
        format!("[{}]", self.sizes.iter().map(Size::to_string).collect::<Vec<_>>().join(", "))
    }
}

/// The type's name in PyTorch, from the number the serializer writes (not the runtime's numbers).
pub fn dtype_name(number: i64) -> &'static str {
    const NAMES: [&str; 17] = [
        "unknown",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
        "complex32",
        "complex64",
        "complex128",
        "bool",
        "bfloat16",
        "uint16",
        "float8_e5m2",
        "float8_e4m3fn",
    ];
    usize::try_from(number).ok().and_then(|n| NAMES.get(n)).copied().unwrap_or("unknown")
}

/// A graph inside a node: a branch of `cond`, the body of a loop.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GraphDef {
    /// Values that come in.
    pub inputs: Vec<Arg>,
    /// Values that go out.
    pub outputs: Vec<Arg>,
    /// Its nodes, in topological order as written.
    pub nodes: Vec<Node>,
    /// Types and shapes of its tensors, by value name.
    pub tensors: FxHashMap<Box<str>, TensorMeta>,
    /// What its symbolic integers, truth values and numbers are, by value name.
    pub symbols: FxHashMap<Box<str>, Size>,
}

/// One argument or output.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// Nothing.
    None,
    /// A tensor, by value name.
    Tensor(Box<str>),
    /// Some tensors; `None` where an optional one is absent.
    Tensors(Vec<Option<Box<str>>>),
    /// A symbolic or computed number, by value name.
    Sym(Box<str>),
    /// A list that holds at least one symbolic number.
    Syms(Vec<Arg>),
    /// A number, a truth value, a text, a type and so on, as text.
    Plain(Box<str>),
    /// A text too long to keep.
    Long {
        /// Its length as written.
        bytes: u64,
    },
    /// A graph of its own, with its name.
    Graph(Box<str>, Box<GraphDef>),
    /// A custom object, by value name.
    Object(Box<str>),
    /// The module that a delegate call runs.
    Lowered(Box<Lowered>),
    /// A kind that no release known here writes, as text.
    Unknown(Box<str>),
}

/// One node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Node {
    /// Its name; that of its first output where the file gives none (releases up to 0.7).
    pub name: Box<str>,
    /// Its target, as written.
    pub target: Box<str>,
    /// Its arguments: name in the operator's schema (may be empty) and value.
    pub inputs: Vec<(Box<str>, Arg)>,
    /// Its outputs.
    pub outputs: Vec<Arg>,
    /// Its metadata, all text.
    pub metadata: Vec<(Rc<str>, Box<str>)>,
}

impl Node {
    /// The text of a metadata key.
    pub fn meta(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|(k, _)| &**k == key).map(|(_, v)| &**v)
    }

    /// Its debug handle, when it has a sound one.
    pub fn debug_handle(&self) -> Option<i64> {
        self.meta("debug_handle").and_then(|h| h.trim().parse().ok()).filter(|h| *h >= 0)
    }
}

/// What an input of a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Given by the caller.
    User,
    /// A parameter.
    Parameter,
    /// A buffer.
    Buffer,
    /// A constant of the graph.
    Constant,
    /// A token, which orders effects.
    Token,
    /// A custom object.
    Other,
}

impl InputKind {
    /// The word shown to users.
    pub fn as_str(self) -> &'static str {
        match self {
            InputKind::User => "input",
            InputKind::Parameter => "parameter",
            InputKind::Buffer => "buffer",
            InputKind::Constant => "constant",
            InputKind::Token => "token",
            InputKind::Other => "object",
        }
    }
}

/// What the signature says of one input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputSpec {
    /// What it is.
    pub kind: InputKind,
    /// Fully qualified name of the parameter, buffer or constant; empty for user inputs.
    pub target: Box<str>,
}

/// What the signature says of one output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputSpec {
    /// `user_output`, `buffer_mutation` and so on.
    pub kind: Box<str>,
    /// The buffer or input that is written; empty for user outputs.
    pub target: Box<str>,
}

/// One exported program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Program {
    /// Its graph.
    pub graph: GraphDef,
    /// What its inputs are, by value name.
    pub input_specs: FxHashMap<Box<str>, InputSpec>,
    /// What its outputs are, by value name.
    pub output_specs: FxHashMap<Box<str>, OutputSpec>,
    /// What the symbols of symbolic sizes can be.
    pub ranges: FxHashMap<Box<str>, SymbolRange>,
    /// `major.minor` of the serializer's schema, as written.
    pub schema_version: Option<(i64, i64)>,
    /// The dialect, for example `EDGE`; older files have none.
    pub dialect: Box<str>,
    /// What was odd.
    pub diagnostics: Diagnostics,
}

/// The target as people write it: without the namespaces of the edge dialect and of `torch.ops`.
pub fn short_target(target: &str) -> &str {
    const PREFIXES: [&str; 4] =
        ["executorch.exir.dialects.edge._ops.", "executorch.exir.dialects.edge.ops.", "torch.ops.", "torch._ops."];
    PREFIXES.iter().find_map(|p| target.strip_prefix(p)).unwrap_or(target)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The object around a lowered module.
    Lowered,
    Program,
    GraphModule,
    Graph,
    Nodes,
    Tensors,
    Symbols,
    /// The object that a quoted module is in.
    Skipped,
}

#[derive(Debug)]
enum Collect {
    Program(Box<Program>),
    Lowered(Box<Lowered>),
    /// The program of the module that the text, one JSON string, quotes.
    Quoted,
}

/// The sink that turns the tokens of a program's JSON into a [`Program`].
#[derive(Debug)]
pub struct ProgramSink {
    start: Place,
    places: Vec<Place>,
    key: Vec<u8>,
    builder: Builder,
    keys: Keys,
    collect: Collect,
    nested: Nested,
    nodes: usize,
    saw_graph: bool,
}

/// The state of reading a string that may hold a lowered module.
#[derive(Debug, Default)]
enum Nested {
    /// This string cannot hold one.
    #[default]
    No,
    /// It can; nothing of it has come yet.
    Perhaps { at: u64 },
    /// It starts like one: its text is scanned as it comes.
    Yes { at: u64, scanner: Box<Scanner<ProgramSink>>, failed: bool },
}

impl Default for ProgramSink {
    fn default() -> Self {
        ProgramSink::starting(Place::Program, Collect::Program(Box::default()))
    }
}

impl ProgramSink {
    /// For one JSON string that quotes a lowered module: the program inside that is collected.
    pub(super) fn of_quoted_module() -> Self {
        ProgramSink::starting(Place::Skipped, Collect::Quoted)
    }

    fn starting(start: Place, collect: Collect) -> Self {
        ProgramSink {
            start,
            places: Vec::new(),
            key: Vec::new(),
            builder: Builder::default(),
            keys: Keys::default(),
            collect,
            nested: Nested::No,
            nodes: 0,
            saw_graph: false,
        }
    }

    /// What was read; whole when the text was.
    ///
    /// # Errors
    /// [`Code::UnexpectedShape`] when nothing like a graph was met.
    pub fn into_program(self) -> Result<Program> {
        let shape = || {
            Error::new(Code::UnexpectedShape, "this JSON is not an exported program: it has no graph_module.graph")
                .advise("Save the record with ExecuTorch's generate_etrecord.")
        };
        match self.collect {
            Collect::Program(program) if self.saw_graph => Ok(*program),
            _ => Err(shape()),
        }
    }

    fn begin(&mut self, object: bool) {
        if self.builder.is_open() {
            if object {
                self.builder.begin_object()
            } else {
                self.builder.begin_array()
            }
            return;
        }
        let place = match (self.places.last(), self.key.as_slice(), object) {
            (None, _, true) => Some(self.start),
            (Some(Place::Lowered), b"original_module", true) => Some(Place::Program),
            (Some(Place::Program), b"graph_module", true) => Some(Place::GraphModule),
            (Some(Place::GraphModule), b"graph", true) => Some(Place::Graph),
            (Some(Place::Graph), b"nodes", false) => Some(Place::Nodes),
            (Some(Place::Graph), b"tensor_values", true) => Some(Place::Tensors),
            (Some(Place::Graph), b"sym_int_values" | b"sym_bool_values" | b"sym_float_values", true) => {
                Some(Place::Symbols)
            }
            _ => None,
        };
        match place {
            Some(place) => {
                self.saw_graph |= place == Place::Graph;
                self.places.push(place);
                self.key.clear();
            }
            None if object => self.builder.begin_object(),
            None => self.builder.begin_array(),
        }
    }

    fn end(&mut self) -> Result<()> {
        if !self.builder.is_open() {
            self.places.pop();
            return Ok(());
        }
        let value = self.builder.end()?;
        self.deliver(value)
    }

    fn add(&mut self, value: Value) -> Result<()> {
        let value = self.builder.add(value)?;
        self.deliver(value)
    }

    fn deliver(&mut self, value: Option<Value>) -> Result<()> {
        let Some(value) = value else { return Ok(()) };
        let key = std::str::from_utf8(&self.key).unwrap_or("");
        match (&mut self.collect, self.places.last()) {
            (_, None | Some(Place::Skipped)) => {}
            (Collect::Program(program), Some(Place::Nodes)) => {
                self.nodes += 1;
                if self.nodes > limits::NODES {
                    return Err(Error::new(Code::LimitReached, format!("more than {} nodes", limits::NODES)));
                }
                let mut reader = Reader { diagnostics: &mut program.diagnostics };
                let node = reader.node(value, self.nodes - 1);
                program.graph.nodes.extend(node);
            }
            (Collect::Program(program), Some(Place::Tensors)) => {
                if let Some(meta) = tensor_meta(&value) {
                    program.graph.tensors.insert(key.into(), meta);
                }
            }
            (Collect::Program(program), Some(Place::Symbols)) => {
                program.graph.symbols.insert(key.into(), size(&value));
            }
            (Collect::Program(program), Some(Place::Graph)) => {
                let mut reader = Reader { diagnostics: &mut program.diagnostics };
                match key {
                    "inputs" => program.graph.inputs = reader.args(value, "graph.inputs"),
                    "outputs" => program.graph.outputs = reader.args(value, "graph.outputs"),
                    "nodes" | "tensor_values" => program.diagnostics.add(
                        "program-shape",
                        "A part of an exported program is not of the shape that ExecuTorch writes; it is left out.",
                        || format!("graph_module.graph.{key}"),
                    ),
                    _ => {}
                }
            }
            (Collect::Program(program), Some(Place::GraphModule)) => {
                if key == "signature" {
                    program.signature(&value);
                }
            }
            (Collect::Program(program), Some(_)) => match key {
                "range_constraints" => {
                    // Open ends are null, infinite, or the largest integer.
                    let end =
                        |range: &Value, name| range.get(name).and_then(Value::as_int).filter(|n| n.abs() < 1 << 62);
                    program.ranges = value
                        .members()
                        .iter()
                        .map(|(symbol, range)| {
                            let range = SymbolRange { min: end(range, "min_val"), max: end(range, "max_val") };
                            (symbol.as_ref().into(), range)
                        })
                        .collect();
                }
                "dialect" => program.dialect = value.as_str().unwrap_or_default().into(),
                "schema_version" => {
                    let part = |name| value.get(name).and_then(Value::as_int);
                    program.schema_version = match &value {
                        Value::Int(major) => Some((*major, 0)),
                        _ => part("major").zip(part("minor")),
                    };
                }
                _ => {}
            },
            (Collect::Lowered(lowered), Some(Place::Lowered)) => lowered.field(key, &value),
            (Collect::Lowered(lowered), Some(Place::Nodes)) => {
                self.nodes += 1;
                if self.nodes <= limits::NODES {
                    lowered.node(&value);
                }
            }
            (Collect::Lowered(_) | Collect::Quoted, Some(_)) => {}
        }
        Ok(())
    }
}

impl Sink for ProgramSink {
    fn begin_object(&mut self, _: u64) -> Result<()> {
        self.begin(true);
        Ok(())
    }
    fn end_object(&mut self, _: u64) -> Result<()> {
        self.end()
    }
    fn begin_array(&mut self, _: u64) -> Result<()> {
        self.begin(false);
        Ok(())
    }
    fn end_array(&mut self, _: u64) -> Result<()> {
        self.end()
    }
    fn key(&mut self, key: &[u8]) -> Result<()> {
        if self.builder.is_open() {
            self.builder.key(key, &mut self.keys);
        } else {
            self.key.clear();
            self.key.extend_from_slice(key);
        }
        Ok(())
    }
    fn begin_string(&mut self, at: u64) -> Result<()> {
        if matches!(self.collect, Collect::Quoted) {
            let module = ProgramSink::starting(Place::Lowered, Collect::Program(Box::default()));
            self.nested = Nested::Yes { at, scanner: Box::new(Scanner::new(module)), failed: false };
            return Ok(());
        }
        self.builder.begin_string(at);
        let can = matches!(self.collect, Collect::Program(_))
            && self.places.last() == Some(&Place::Nodes)
            && self.builder.pending_key() == Some("as_string");
        self.nested = if can { Nested::Perhaps { at } } else { Nested::No };
        Ok(())
    }
    fn string_bytes(&mut self, bytes: &[u8], plain: bool) -> Result<()> {
        if let Nested::Perhaps { at } = self.nested {
            self.nested = match bytes.first() {
                Some(b'{') => {
                    let sink = ProgramSink::starting(Place::Lowered, Collect::Lowered(Box::default()));
                    Nested::Yes { at, scanner: Box::new(Scanner::new(sink)), failed: false }
                }
                _ => Nested::No,
            };
        }
        if let Nested::Yes { scanner, failed, .. } = &mut self.nested
            && !*failed
        {
            let fed = if plain { scanner.feed_plain(bytes) } else { scanner.feed(bytes) };
            if matches!(self.collect, Collect::Quoted) {
                return fed;
            }
            *failed = fed.is_err();
        }
        self.builder.string_bytes(bytes);
        Ok(())
    }
    fn end_string(&mut self, at: u64) -> Result<()> {
        let nested = std::mem::take(&mut self.nested);
        if let Nested::Yes { at: start, mut scanner, failed } = nested {
            if matches!(self.collect, Collect::Quoted) {
                scanner.finish()?;
                *self = scanner.into_sink();
                return Ok(());
            }
            let complete = !failed && scanner.finish().is_ok();
            if let Collect::Lowered(mut lowered) = scanner.into_sink().collect
                && !lowered.backend.is_empty()
            {
                lowered.offset = start;
                lowered.length = at - start;
                lowered.complete = complete;
                return self.add(Value::Lowered(lowered));
            }
        }
        let value = self.builder.end_string(at)?;
        self.deliver(value)
    }
    fn integer(&mut self, value: i64) -> Result<()> {
        self.add(Value::Int(value))
    }
    fn float(&mut self, value: f64) -> Result<()> {
        self.add(Value::Float(value))
    }
    fn boolean(&mut self, value: bool) -> Result<()> {
        self.add(Value::Bool(value))
    }
    fn null(&mut self) -> Result<()> {
        self.add(Value::Null)
    }
}

impl Program {
    fn signature(&mut self, value: &Value) {
        for spec in value.get("input_specs").map(Value::items).unwrap_or_default() {
            let Some((kind, body)) = entry(spec) else { continue };
            let arg = body.get("arg");
            let name = arg.and_then(|a| value_name(a).or_else(|| entry(a).and_then(|(_, inner)| value_name(inner))));
            let Some(name) = name else { continue };
            let text = |key: &str| body.get(key).and_then(Value::as_str);
            let (kind, target) = match kind {
                "parameter" => (InputKind::Parameter, text("parameter_name")),
                "buffer" => (InputKind::Buffer, text("buffer_name")),
                "tensor_constant" => (InputKind::Constant, text("tensor_constant_name")),
                "constant_input" => (InputKind::Constant, Some(name)),
                "user_input" => (InputKind::User, None),
                "token" => (InputKind::Token, None),
                _ => (InputKind::Other, text("custom_obj_name")),
            };
            self.input_specs.insert(name.into(), InputSpec { kind, target: target.unwrap_or_default().into() });
        }
        for spec in value.get("output_specs").map(Value::items).unwrap_or_default() {
            let Some((kind, body)) = entry(spec) else { continue };
            let arg = body.get("arg");
            let name = arg.and_then(|a| value_name(a).or_else(|| entry(a).and_then(|(_, inner)| value_name(inner))));
            let Some(name) = name else { continue };
            let target = ["buffer_name", "user_input_name", "parameter_name"]
                .iter()
                .find_map(|key| body.get(key).and_then(Value::as_str));
            self.output_specs
                .insert(name.into(), OutputSpec { kind: kind.into(), target: target.unwrap_or_default().into() });
        }
    }
}

fn value_name(value: &Value) -> Option<&str> {
    value.get("name").and_then(Value::as_str)
}

/// The one member of a union that is set. The form of 2023 spells the others as nulls.
fn entry(value: &Value) -> Option<(&str, &Value)> {
    value.members().iter().find(|(_, v)| *v != Value::Null).map(|(k, v)| (&**k, v))
}

fn tensor_meta(value: &Value) -> Option<TensorMeta> {
    let value = value.get("meta").unwrap_or(value);
    let sizes = value.get("sizes")?.items();
    Some(TensorMeta {
        dtype: value.get("dtype").and_then(Value::as_int).unwrap_or(0),
        sizes: sizes.iter().map(size).collect(),
    })
}

fn size(value: &Value) -> Size {
    match entry(value) {
        Some((_, Value::Int(n))) => Size::Int(*n),
        Some((_, expr)) => {
            let text = expr.get("expr_str").and_then(Value::as_str).map(str::to_owned);
            let hint = expr.get("hint").and_then(|h| match entry(h) {
                Some((_, Value::Int(n))) => Some(*n),
                _ => h.as_int(),
            });
            Size::Expr(text.unwrap_or_else(|| expr.to_text(64)).into(), hint)
        }
        None => match value {
            Value::Int(n) => Size::Int(*n),
            other => Size::Expr(other.to_text(64).into(), None),
        },
    }
}

/// How much of a value that no rule knows is shown.
const UNKNOWN_TEXT: usize = 4096;

struct Reader<'a> {
    diagnostics: &'a mut Diagnostics,
}

impl Reader<'_> {
    fn node(&mut self, value: Value, index: usize) -> Option<Node> {
        let Value::Object(members) = value else {
            self.diagnostics.add("node-shape", "A node is not a JSON object; it is left out.", || {
                format!("graph_module.graph.nodes[{index}]")
            });
            return None;
        };
        let mut node = Node::default();
        for (key, value) in members {
            match (&*key, value) {
                ("name", Value::Text(text)) => node.name = text,
                ("target", Value::Text(text)) => node.target = text,
                ("inputs", Value::Array(items)) => {
                    node.inputs = items.into_iter().map(|item| self.named(item)).collect();
                }
                ("outputs", value) => node.outputs = self.args(value, "outputs"),
                ("metadata", Value::Object(members)) => {
                    let text = |value| match value {
                        Value::Text(text) => text,
                        other => other.to_text(UNKNOWN_TEXT).into(),
                    };
                    node.metadata = members.into_iter().map(|(k, v)| (k, text(v))).collect();
                }
                _ => {}
            }
        }
        if node.name.is_empty() {
            node.name = match node.outputs.first() {
                Some(Arg::Tensor(name) | Arg::Sym(name) | Arg::Object(name)) => name.clone(),
                Some(Arg::Tensors(names)) => match names.iter().flatten().next() {
                    // A delegate call's outputs are named after the getitem nodes behind it.
                    Some(first) if !node.target.contains("call_delegate") => first.clone(),
                    _ => format!("{}_{index}", short_target(&node.target).replace('.', "_")).into(),
                },
                _ => format!("{}_{index}", short_target(&node.target).replace('.', "_")).into(),
            };
        }
        Some(node)
    }

    fn named(&mut self, value: Value) -> (Box<str>, Arg) {
        let mut name: Box<str> = "".into();
        let mut arg = Arg::None;
        let Value::Object(members) = value else { return (name, Arg::Unknown(value.to_text(UNKNOWN_TEXT).into())) };
        for (key, value) in members {
            match (&*key, value) {
                ("name", Value::Text(text)) => name = text,
                ("arg", value) => arg = self.arg(value),
                _ => {}
            }
        }
        (name, arg)
    }

    fn args(&mut self, value: Value, place: &'static str) -> Vec<Arg> {
        match value {
            Value::Array(items) => items.into_iter().map(|item| self.arg(item)).collect(),
            _ => {
                self.diagnostics.add(
                    "program-shape",
                    "A part of an exported program is not of the shape that ExecuTorch writes; it is left out.",
                    || place.to_owned(),
                );
                Vec::new()
            }
        }
    }

    fn arg(&mut self, value: Value) -> Arg {
        let Value::Object(members) = value else { return Arg::Unknown(value.to_text(UNKNOWN_TEXT).into()) };
        let Some((kind, value)) = members.into_iter().find(|(_, v)| *v != Value::Null) else { return Arg::None };
        match (&*kind, value) {
            ("as_none", _) => Arg::None,
            ("as_tensor", value) => name_of(value).map_or(Arg::None, Arg::Tensor),
            ("as_tensors", Value::Array(items)) => Arg::Tensors(items.into_iter().map(name_of).collect()),
            ("as_optional_tensors" | "as_optional_tensor", Value::Array(items)) => {
                Arg::Tensors(items.into_iter().map(optional_name).collect())
            }
            ("as_optional_tensor", value) => optional_name(value).map_or(Arg::None, Arg::Tensor),
            ("as_sym_int" | "as_sym_bool" | "as_sym_float", value) => symbol(value),
            ("as_sym_ints" | "as_sym_bools" | "as_sym_floats", Value::Array(items)) => symbols(items),
            ("as_scalar_type", value) => plain(format!("torch.{}", dtype_name(value.as_int().unwrap_or(0)))),
            ("as_memory_format", value) => plain(memory_format(value.as_int())),
            ("as_layout", value) => plain(layout(value.as_int())),
            ("as_device", value) => plain(device(&value)),
            ("as_string", Value::Lowered(lowered)) => Arg::Lowered(lowered),
            ("as_string" | "as_operator", Value::Text(text)) => Arg::Plain(text),
            ("as_string", Value::Long { len, .. }) => Arg::Long { bytes: len },
            ("as_custom_obj", value) => name_of(value).map_or(Arg::None, Arg::Object),
            ("as_graph", value) => self.subgraph(value),
            (
                "as_int" | "as_ints" | "as_float" | "as_floats" | "as_bool" | "as_bools" | "as_strings"
                | "as_int_lists",
                value,
            ) => plain(value.to_text(UNKNOWN_TEXT)),
            ("as_float_complex" | "as_complex", value) => plain(value.to_text(UNKNOWN_TEXT)),
            (_, value) => {
                self.diagnostics.add(
                    "argument-kind",
                    "An argument is of a kind that no known release writes; it is shown as text.",
                    || kind.to_string(),
                );
                Arg::Unknown(format!("{kind}: {}", value.to_text(UNKNOWN_TEXT)).into())
            }
        }
    }

    /// A nested graph. The depth of nesting is bounded by that of the JSON.
    fn subgraph(&mut self, value: Value) -> Arg {
        let Value::Object(members) = value else { return Arg::None };
        let mut name: Box<str> = "".into();
        let mut def = GraphDef::default();
        for (key, value) in members {
            match (&*key, value) {
                ("name", Value::Text(text)) => name = text,
                ("graph", Value::Object(parts)) => {
                    for (key, value) in parts {
                        match (&*key, value) {
                            ("inputs", value) => def.inputs = self.args(value, "subgraph.inputs"),
                            ("outputs", value) => def.outputs = self.args(value, "subgraph.outputs"),
                            ("nodes", Value::Array(nodes)) => {
                                let nodes = nodes.into_iter().enumerate();
                                def.nodes = nodes.filter_map(|(i, node)| self.node(node, i)).collect();
                            }
                            ("sym_int_values" | "sym_bool_values" | "sym_float_values", Value::Object(symbols)) => {
                                def.symbols.extend(symbols.iter().map(|(k, v)| ((**k).into(), size(v))));
                            }
                            ("tensor_values", Value::Object(tensors)) => {
                                let metas = tensors.iter().filter_map(|(k, v)| Some(((**k).into(), tensor_meta(v)?)));
                                def.tensors = metas.collect();
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Arg::Graph(name, Box::new(def))
    }
}

fn plain(text: impl Into<Box<str>>) -> Arg {
    Arg::Plain(text.into())
}

fn name_of(value: Value) -> Option<Box<str>> {
    let Value::Object(members) = value else { return None };
    members.into_iter().find_map(|(key, value)| match value {
        Value::Text(text) if &*key == "name" || &*key == "as_name" => Some(text),
        _ => None,
    })
}

fn optional_name(value: Value) -> Option<Box<str>> {
    let Value::Object(members) = value else { return None };
    let (kind, inner) = members.into_iter().find(|(_, v)| *v != Value::Null)?;
    match (&*kind, inner) {
        ("as_tensor", inner) => name_of(inner),
        ("name", Value::Text(text)) => Some(text),
        _ => None,
    }
}

fn symbol(value: Value) -> Arg {
    let Value::Object(members) = value else { return Arg::Unknown(value.to_text(UNKNOWN_TEXT).into()) };
    match members.into_iter().find(|(_, v)| *v != Value::Null) {
        Some((kind, Value::Text(name))) if matches!(&*kind, "as_name" | "name") => Arg::Sym(name),
        Some((_, Value::Float(value))) => plain(float_text(value)),
        Some((_, value)) => plain(value.to_text(UNKNOWN_TEXT)),
        None => Arg::None,
    }
}

fn symbols(items: Vec<Value>) -> Arg {
    let items: Vec<Arg> = items.into_iter().map(symbol).collect();
    if items.iter().any(|item| matches!(item, Arg::Sym(_))) {
        return Arg::Syms(items);
    }
    let texts: Vec<&str> = items
        .iter()
        .map(|item| match item {
            Arg::Plain(text) => &**text,
            _ => "None",
        })
        .collect();
    plain(format!("[{}]", texts.join(", ")))
}

fn memory_format(number: Option<i64>) -> String {
    match number {
        Some(1) => "torch.contiguous_format".to_owned(),
        Some(2) => "torch.channels_last".to_owned(),
        Some(3) => "torch.channels_last_3d".to_owned(),
        Some(4) => "torch.preserve_format".to_owned(),
        other => format!("memory format {}", other.unwrap_or(0)),
    }
}

fn layout(number: Option<i64>) -> String {
    const NAMES: [&str; 8] =
        ["", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "_mkldnn", "strided"];
    match number.and_then(|n| usize::try_from(n).ok()).and_then(|n| NAMES.get(n)).filter(|n| !n.is_empty()) {
        Some(name) => format!("torch.{name}"),
        None => format!("layout {}", number.unwrap_or(0)),
    }
}

fn device(value: &Value) -> String {
    let kind = value.get("type").and_then(Value::as_str).unwrap_or("unknown");
    match value.get("index").and_then(Value::as_int) {
        Some(index) => format!("{kind}:{index}"),
        None => kind.to_owned(),
    }
}
