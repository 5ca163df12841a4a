//! What an `executorch_call_delegate` node carries inside itself.

use super::json::value::Value;
use super::lineage::oldest;

/// One operator of the module that was lowered, as far as the open graph needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoweredOp {
    /// Its target, for example `aten.linear.default`.
    pub target: Box<str>,
    /// Its debug handle: the tie to the delegate call's instruction.
    pub debug_handle: Option<i64>,
    /// Its `nn_module_stack` metadata, as written.
    pub module_stack: Option<Box<str>>,
    /// The oldest nodes that its lineage names: those of the exported program.
    pub came_from: Box<[Box<str>]>,
}

/// A lowered delegate module: what was read while its JSON string went by. The string
/// itself (weights and payload in base64) is not kept; it can be read again from its range.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lowered {
    /// The backend, for example `XnnpackBackend`.
    pub backend: Box<str>,
    /// The operators of the original module, in its order.
    pub ops: Vec<LoweredOp>,
    /// Names of the compile specs.
    pub compile_specs: Vec<Box<str>>,
    /// Size of the delegate's payload (`processed_bytes`), unpacked from base64.
    pub payload_bytes: u64,
    /// Where the JSON string stands in the entry: offset behind its opening quote.
    pub offset: u64,
    /// Its length as written, up to the closing quote.
    pub length: u64,
    /// False when the string ended early or was not understood to its end.
    pub complete: bool,
}

impl Lowered {
    /// The debug handles of its operators, in order, each once.
    pub fn debug_handles(&self) -> Vec<i64> {
        let mut seen = rustc_hash::FxHashSet::default();
        self.ops.iter().filter_map(|op| op.debug_handle).filter(|h| seen.insert(*h)).collect()
    }

    pub(super) fn field(&mut self, key: &str, value: &Value) {
        match key {
            "backend_id" => self.backend = value.as_str().unwrap_or_default().into(),
            "processed_bytes" => self.payload_bytes = base64_bytes(value),
            "compile_specs" => {
                let keys = value.items().iter().filter_map(|spec| spec.get("key").and_then(Value::as_str));
                self.compile_specs = keys.map(Into::into).collect();
            }
            _ => {}
        }
    }

    pub(super) fn node(&mut self, node: &Value) {
        let metadata = node.get("metadata");
        let meta = |key: &str| metadata.and_then(|m| m.get(key)).and_then(Value::as_str);
        self.ops.push(LoweredOp {
            target: super::program::short_target(node.get("target").and_then(Value::as_str).unwrap_or_default()).into(),
            debug_handle: meta("debug_handle").and_then(|h| h.trim().parse().ok()),
            module_stack: meta("nn_module_stack").map(Into::into),
            came_from: meta("from_node").map(oldest).unwrap_or_default(),
        });
    }
}

/// How many bytes a base64 string stands for.
fn base64_bytes(value: &Value) -> u64 {
    match value {
        Value::Text(text) => {
            let padding = text.bytes().rev().take_while(|b| *b == b'=').count() as u64;
            (text.len() as u64 / 4 * 3).saturating_sub(padding)
        }
        // Not kept, so its padding is not known: at most two bytes too many.
        Value::Long { len, .. } => len / 4 * 3,
        _ => 0,
    }
}
