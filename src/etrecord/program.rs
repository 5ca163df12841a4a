//! An exported program, as ExecuTorch's serializer writes it in JSON.
//!
//! Read as a stream: each node becomes a [`Node`] as soon as its JSON is complete, and
//! the text is never held. What does not fit is kept as text with a diagnostic.

mod parts;
mod stream;

use std::fmt;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::lowered::Lowered;
use crate::diagnostics::Diagnostics;

pub use stream::ProgramSink;

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
