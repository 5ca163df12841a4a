//! Graphs that are read when asked for: the exported program, others that were recorded, and
//! the modules that delegate calls carry.

use std::rc::Rc;

use super::RecordDoc;
use super::view::View;
use crate::correlate::Claims;
use crate::correlate::carry::{came_from, carry_claims, carry_handles, inside_claims};
use crate::error::{Code, Error, Result};
use crate::etrecord::on_demand::{read_lowered, read_program};
use crate::etrecord::record::RecordProgram;
use crate::model::{Graph, NodeId};

/// Where a graph comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// An entry of the record.
    Entry(Box<str>),
    /// The module that a delegate call of this graph carries.
    Inside(usize, NodeId),
}

/// A graph that is read when asked for.
#[derive(Debug)]
pub struct ExtraGraph {
    /// Where it comes from.
    pub origin: Origin,
    /// Its method.
    pub method: Box<str>,
    /// The graph that the blocks of its method are matched with.
    pub of: Option<usize>,
    /// What was read of it.
    pub loaded: Option<Loaded>,
}

/// A graph that was read.
#[derive(Debug)]
pub struct Loaded {
    /// The graph.
    pub graph: Graph,
    /// For each node of the graph that the blocks are matched with the nodes it came from.
    came_from: Option<Vec<Vec<NodeId>>>,
    /// Who runs which node.
    pub claims: Rc<Claims>,
}

impl ExtraGraph {
    /// As [`kind_of`], or `inside` for a module that a delegate call carries.
    pub fn kind(&self) -> &'static str {
        match &self.origin {
            Origin::Inside(..) => "inside",
            Origin::Entry(entry) => kind_of(entry),
        }
    }
}

/// Which graph an entry holds: `edge`, `exported`, or `other` for whatever else was recorded.
pub(super) fn kind_of(entry: &str) -> &'static str {
    match entry.split('/').next() {
        Some("edge_dialect_exported_program") => "edge",
        Some("exported_program") => "exported",
        _ => "other",
    }
}

/// What is written on the graph of an entry when there are others beside it.
fn entry_label(method: &str, entry: &str) -> String {
    match kind_of(entry) {
        "edge" => format!("{method} · edge program"),
        "exported" => format!("{method} · exported program"),
        _ => format!("{method} · {}", entry.split('/').next().unwrap_or(entry)),
    }
}

/// The graphs of a record that were not read when it was opened.
pub(super) fn listed(record: &RecordDoc) -> Vec<ExtraGraph> {
    let known = |method: &str| record.graphs.iter().position(|g| *g.method == *method);
    // A single program is saved without its method's name.
    let only = (record.graphs.len() == 1).then_some(0);
    let extra = |entry: &str| {
        let method = entry.split_once('/').map(|(_, method)| method);
        let of = method.and_then(known).or_else(|| known("forward")).or(only);
        let method = of.map_or(method.unwrap_or("forward"), |of| &*record.graphs[of].method);
        ExtraGraph { origin: Origin::Entry(entry.into()), method: method.into(), of, loaded: None }
    };
    record.others.iter().map(|entry| extra(entry)).collect()
}

impl View {
    /// Reads a graph that was only listed.
    ///
    /// # Errors
    /// [`Code::NotFound`] when there is none; what reading it gives.
    pub(super) fn load(&mut self, graph: usize) -> Result<()> {
        let missing = || Error::new(Code::NotFound, format!("there is no graph {graph}"));
        let record = self.record.clone().ok_or_else(missing)?;
        if graph < record.graphs.len() {
            return Ok(());
        }
        let at = graph - record.graphs.len();
        let extra = self.extras.get(at).ok_or_else(missing)?;
        if extra.loaded.is_some() {
            return Ok(());
        }
        let read = match &extra.origin {
            Origin::Entry(entry) => read_program(record.source.clone(), entry)?,
            Origin::Inside(of, node) => {
                let around = record.graphs.get(*of).ok_or_else(missing)?;
                let lowered = around.lowered(*node).ok_or_else(missing)?;
                let program = read_lowered(record.source.clone(), &around.entry, lowered)?;
                RecordProgram { entry: around.entry.clone(), method: around.method.clone(), program }
            }
        };
        let mut graph = Graph::new(RecordProgram { method: extra.method.clone(), ..read });
        let edge = extra.of.filter(|_| matches!(extra.origin, Origin::Entry(_))).and_then(|of| record.graphs.get(of));
        let came_from = edge.map(|edge| {
            let came_from = came_from(edge, &graph, record.export_graph_id);
            carry_handles(edge, &came_from, &mut graph);
            came_from
        });
        let mut loaded = Loaded { graph, came_from, claims: Rc::default() };
        loaded.claims = Rc::new(self.claims_on(extra, &loaded));
        self.extras[at].loaded = Some(loaded);
        Ok(())
    }

    /// Lists the module that a delegate call carries, once. Its index among the graphs.
    ///
    /// # Errors
    /// [`Code::NotFound`] when the node carries none.
    pub(super) fn list_inside(&mut self, graph: usize, node: NodeId) -> Result<usize> {
        let origin = Origin::Inside(graph, node);
        let read = self.record.as_ref().map_or(0, |r| r.graphs.len());
        if let Some(at) = self.extras.iter().position(|e| e.origin == origin) {
            return Ok(read + at);
        }
        let of = self.record.as_ref().and_then(|r| r.graphs.get(graph)).filter(|g| g.lowered(node).is_some());
        let of = of.ok_or_else(|| Error::new(Code::NotFound, "this node carries no lowered module"))?;
        let method = of.method.clone();
        self.extras.push(ExtraGraph { origin, method, of: Some(graph), loaded: None });
        Ok(read + self.extras.len() - 1)
    }

    /// Who runs which node of a graph that was read when asked for.
    pub(super) fn claims_on(&self, extra: &ExtraGraph, loaded: &Loaded) -> Claims {
        let nothing = || Claims::new(Vec::new(), Default::default(), loaded.graph.len());
        let Some(of) = extra.of.and_then(|of| self.claims.get(of)) else { return nothing() };
        match (&extra.origin, &loaded.came_from) {
            (Origin::Inside(_, node), _) => {
                let partition = of.partition_of.get(node.index()).copied().flatten();
                match partition.and_then(|p| of.partitions.get(p.index())) {
                    Some(partition) => inside_claims(partition, &loaded.graph),
                    None => nothing(),
                }
            }
            (Origin::Entry(_), Some(came_from)) => carry_claims(of, came_from, loaded.graph.len()),
            (Origin::Entry(_), None) => nothing(),
        }
    }

    /// What is written on a graph.
    pub(super) fn graph_label(&self, graph: usize) -> String {
        let read = self.graphs();
        if let Some(of) = read.get(graph) {
            return if self.extras.is_empty() { of.method.to_string() } else { entry_label(&of.method, &of.entry) };
        }
        let Some(extra) = self.extras.get(graph - read.len()) else { return String::new() };
        match &extra.origin {
            Origin::Inside(of, node) => {
                let claims = &self.claims[*of];
                let partition = claims.partition_of[node.index()].and_then(|p| claims.partitions.get(p.index()));
                match partition {
                    Some(partition) => format!("inside {} · {}", partition.label(), partition.backend),
                    None => format!("inside {}", read[*of].names[node.index()]),
                }
            }
            Origin::Entry(entry) => entry_label(&extra.method, entry),
        }
    }
}
