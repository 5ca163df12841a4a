//! The parts of a program from their JSON values: nodes, arguments, tensors, the signature.
//! What no rule knows is kept as text with a diagnostic.

use super::{
    Arg, GraphDef, InputKind, InputSpec, Node, OutputSpec, Program, Size, TensorMeta, dtype_name, short_target,
};
use crate::diagnostics::Diagnostics;
use crate::etrecord::json::value::{Value, float_text};

impl Program {
    pub(super) fn signature(&mut self, value: &Value) {
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

pub(super) fn tensor_meta(value: &Value) -> Option<TensorMeta> {
    let value = value.get("meta").unwrap_or(value);
    let sizes = value.get("sizes")?.items();
    Some(TensorMeta {
        dtype: value.get("dtype").and_then(Value::as_int).unwrap_or(0),
        sizes: sizes.iter().map(size).collect(),
    })
}

pub(super) fn size(value: &Value) -> Size {
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

pub(super) struct Reader<'a> {
    pub(super) diagnostics: &'a mut Diagnostics,
}

impl Reader<'_> {
    pub(super) fn node(&mut self, value: Value, index: usize) -> Option<Node> {
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

    pub(super) fn args(&mut self, value: Value, place: &'static str) -> Vec<Arg> {
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
