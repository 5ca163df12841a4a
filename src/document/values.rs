//! The values of a parameter, buffer or constant, read when asked for.

use std::rc::Rc;

use serde::Serialize;

use super::view::View;
use super::{Document, RecordDoc, not_found};
use crate::error::{Code, Error, Result};
use crate::etrecord::program::{InputKind, InputSpec};
use crate::etrecord::tensors::{Summary, TensorArchive};
use crate::model::NodeId;
use crate::model::graph::Value;

/// How values are spread.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistogramInfo {
    /// Smallest value.
    pub from: f64,
    /// Largest value.
    pub to: f64,
    /// Values in each of equally wide bars.
    pub counts: Vec<f64>,
}

/// Values and statistics of a tensor of the record.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TensorValues {
    /// Fully qualified name.
    pub name: String,
    /// How its numbers are stored.
    pub dtype: String,
    /// Sizes.
    pub shape: Vec<f64>,
    /// Distance between neighbours of each dimension, in numbers.
    pub strides: Vec<f64>,
    /// How many values it has.
    pub count: f64,
    /// Over how many of them the statistics are; fewer than `count` for a large one.
    pub seen: f64,
    /// The first values as text.
    pub first: Vec<String>,
    /// Smallest finite value.
    pub min: Option<f64>,
    /// Largest finite value.
    pub max: Option<f64>,
    /// Mean of the finite values.
    pub mean: Option<f64>,
    /// Their standard deviation.
    pub deviation: Option<f64>,
    /// How many are 0.
    pub zeros: f64,
    /// How many are not finite.
    pub not_finite: f64,
    /// How the finite values are spread.
    pub histogram: Option<HistogramInfo>,
}

impl TensorValues {
    fn new(name: &str, summary: Summary) -> Self {
        let numbers = |list: &[u64]| list.iter().map(|n| *n as f64).collect();
        TensorValues {
            name: name.to_owned(),
            dtype: summary.element.name().to_owned(),
            shape: numbers(&summary.shape),
            strides: numbers(&summary.strides),
            count: summary.count as f64,
            seen: summary.seen as f64,
            first: summary.first,
            min: summary.min,
            max: summary.max,
            mean: summary.mean,
            deviation: summary.deviation,
            zeros: summary.zeros as f64,
            not_finite: summary.not_finite as f64,
            histogram: summary.histogram.map(|h| HistogramInfo { from: h.from, to: h.to, counts: numbers(&h.counts) }),
        }
    }
}

impl Document {
    /// Values and statistics of the parameter, buffer or constant that a node reads under this
    /// name. A few slices of the record are read.
    ///
    /// # Errors
    /// [`Code::NotFound`] when view, graph, node or name do not exist or the record holds no values
    /// of it; what reading the archive gives.
    pub fn tensor_values(&self, view: u32, graph: u32, node: u32, name: &str) -> Result<TensorValues> {
        let view = self.view(view)?;
        let of = view.graph(graph as usize).ok_or_else(|| not_found("graph", graph))?;
        let scope = of.scope_of.get(NodeId(node).index()).ok_or_else(|| not_found("node", node))?;
        let Some(Value::Spec(spec)) = of.value(*scope, name) else {
            return Err(
                Error::new(Code::NotFound, "it is made by the graph, so the record holds no values of it").at(name)
            );
        };
        let record = record(view)?;
        let mut first = None;
        for part in parts(spec) {
            let archive = record.tensors(&format!("{}{part}", of.entry));
            match archive.and_then(|archive| archive.summary(&spec.target)) {
                Ok(summary) => return Ok(TensorValues::new(&spec.target, summary)),
                // The first part is where it should be.
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.unwrap_or_else(|| Error::new(Code::NotFound, "the record holds no values of it").at(name)))
    }
}

fn record(view: &View) -> Result<&RecordDoc> {
    view.record.as_deref().ok_or_else(|| Error::new(Code::NotFound, "no record is open"))
}

/// Where the values may be: persistent buffers are in the state dict, others with the constants.
fn parts(spec: &InputSpec) -> [&'static str; 2] {
    match spec.kind {
        InputKind::Constant | InputKind::Token | InputKind::Other => ["_constants", "_state_dict"],
        _ => ["_state_dict", "_constants"],
    }
}

impl RecordDoc {
    /// An archive of weights, opened once.
    fn tensors(&self, entry: &str) -> Result<Rc<TensorArchive>> {
        if let Some(archive) = self.archives.borrow().get(entry) {
            return Ok(archive.clone());
        }
        let archive = Rc::new(TensorArchive::open(self.source.clone(), entry)?);
        self.archives.borrow_mut().insert(entry.into(), archive.clone());
        Ok(archive)
    }
}
