//! Loads the pairs of `tests/fixtures` and what ExecuTorch's Inspector says of them.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::Read;
use std::path::PathBuf;
use std::rc::Rc;

use etscope::document::Document;
use etscope::document::view::View;
use etscope::source::{ByteSource, FileSource};
use serde::Deserialize;
use serde_json::Value;

/// One line of `pairs.json`.
#[derive(Debug, Clone, Deserialize)]
pub struct Pair {
    pub name: String,
    pub etrecord: String,
    pub etdump: String,
    #[serde(default)]
    pub cycles: bool,
}

/// One event of the Inspector's table.
#[derive(Debug, Clone, Deserialize)]
pub struct OracleEvent {
    pub name: Option<String>,
    pub instruction_id: Option<i64>,
    pub delegate_debug_identifier: Option<Value>,
    pub debug_handles: Option<Value>,
    pub is_delegated_op: Option<bool>,
    pub delegate_backend_name: Option<String>,
    pub op_types: Vec<String>,
    pub start_time: Option<Vec<f64>>,
    pub raw: Option<Vec<f64>>,
    pub avg: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub p10: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
}

/// One block of the Inspector's table.
#[derive(Debug, Clone, Deserialize)]
pub struct OracleBlock {
    pub name: String,
    pub bundled_input_index: Option<i64>,
    pub events: Vec<OracleEvent>,
}

/// What the Inspector says of a pair; `error` when it failed.
#[derive(Debug, Clone, Deserialize)]
pub struct Oracle {
    pub error: Option<Value>,
    pub blocks: Vec<OracleBlock>,
}

pub fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

pub fn pairs() -> Vec<Pair> {
    let text = std::fs::read_to_string(fixtures().join("corpus/pairs.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub fn oracle(name: &str) -> Oracle {
    let path = fixtures().join(format!("oracle/{name}.inspector.json.gz"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub fn open(files: &[&str]) -> Document {
    let mut document = Document::default();
    let sources = files.iter().map(|name| {
        let source: Rc<dyn ByteSource> = Rc::new(FileSource::open(&fixtures().join("corpus").join(name)).unwrap());
        ((*name).to_owned(), source)
    });
    let result = document.open(sources.collect());
    assert!(result.rejected.is_empty(), "{:?}", result.rejected);
    document
}

pub fn open_pair(pair: &Pair) -> Document {
    open(&[&pair.etrecord, &pair.etdump])
}

pub fn view(document: &Document) -> &View {
    document.view(0).unwrap()
}

/// What Arm's adapter shows of a pair's record; `None` where it fails.
pub fn adapter(name: &str) -> Option<Value> {
    let path = fixtures().join(format!("oracle/{name}.adapter.json.gz"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).ok()?).read_to_string(&mut text).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    value.get("collections").is_some().then_some(value)
}
