//! What a node was made from: its `from_node` metadata, recorded since release 1.0.

use super::json::value::{Value, parse};
use super::program::short_target;

/// How many steps of a lineage are read.
const STEPS: usize = 200;

/// One step of a node's lineage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The node it came from.
    pub name: Box<str>,
    /// That node's target.
    pub target: Box<str>,
    /// The id of the graph that node is in.
    pub graph_id: Option<i64>,
    /// The pass that made the node from it, and what the pass did.
    pub pass: Box<str>,
    /// How many steps back.
    pub depth: u32,
}

/// The names of the oldest steps of `from_node` metadata, each once.
pub fn oldest(from_node: &str) -> Box<[Box<str>]> {
    let steps = origins(from_node);
    let depth = steps.iter().map(|s| s.depth).max();
    let mut names: Vec<Box<str>> = steps.into_iter().filter(|s| Some(s.depth) == depth).map(|s| s.name).collect();
    names.sort_unstable();
    names.dedup();
    names.into()
}

/// Reads `from_node` metadata, each step before those that it came from in turn.
pub fn origins(from_node: &str) -> Vec<Origin> {
    let Ok(root) = parse(from_node.as_bytes()) else { return Vec::new() };
    let mut out = Vec::new();
    let mut todo: Vec<(&Value, u32)> = Vec::new();
    match &root {
        Value::Array(items) => todo.extend(items.iter().rev().map(|item| (item, 0))),
        other => todo.push((other, 0)),
    }
    while let Some((step, depth)) = todo.pop() {
        if out.len() >= STEPS {
            break;
        }
        let text = |key: &str| step.get(key).and_then(Value::as_str).unwrap_or_default();
        let action = match step.get("action") {
            Some(Value::Array(actions)) => actions.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
            Some(Value::Text(action)) => action.to_string(),
            _ => String::new(),
        };
        let pass = match (text("pass_name"), action.as_str()) {
            (pass, "") => pass.to_owned(),
            ("", action) => action.to_owned(),
            (pass, action) => format!("{pass} ({action})"),
        };
        if !text("name").is_empty() {
            out.push(Origin {
                name: text("name").into(),
                target: short_target(text("target")).into(),
                graph_id: step.get("graph_id").and_then(Value::as_int),
                pass: pass.into(),
                depth,
            });
        }
        match step.get("from_node") {
            Some(Value::Array(items)) => todo.extend(items.iter().rev().map(|item| (item, depth + 1))),
            Some(inner @ Value::Object(_)) => todo.push((inner, depth + 1)),
            _ => {}
        }
    }
    out
}
