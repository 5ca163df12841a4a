//! The events of a block on a graph: measured owners and estimated ones together.

use super::attribute::Attribution;
use super::claim::Claims;
use super::estimate::{Estimate, Estimates};
use crate::model::{Graph, NodeId};
use crate::profile::EventId;

/// What is known of the events of a block on a graph.
#[derive(Debug, Clone, Copy)]
pub struct Correlated<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// Who runs which of its nodes.
    pub claims: &'a Claims,
    /// Where the events belong.
    pub attribution: &'a Attribution,
    /// Where those most likely belong that no map ties to the graph.
    pub estimates: Option<&'a Estimates>,
}

impl<'a> Correlated<'a> {
    /// The estimate of an event, when there is one.
    pub fn estimate(&self, event: usize) -> Option<&'a Estimate> {
        self.estimates?.of_event(EventId(u32::try_from(event).ok()?))
    }

    /// The nodes of an event; estimated ones for a delegate op that no map ties to the graph.
    pub fn nodes(&self, event: usize) -> &'a [NodeId] {
        match self.estimate(event) {
            Some(estimate) if !estimate.owners.is_empty() => &estimate.owners,
            _ => self.attribution.events.get(event).map_or(&[], |b| &b.nodes),
        }
    }

    /// The operators, of the module that the call node carries, that an estimate is for.
    pub fn carried_ops(&self, estimate: &Estimate) -> Vec<&'a str> {
        let call = self.claims.partitions.get(estimate.partition.index()).and_then(|p| p.nodes.first());
        let lowered = call.and_then(|node| self.graph.lowered(*node));
        let ops = lowered.map_or(&[][..], |l| &l.ops);
        estimate.carried.iter().filter_map(|op| ops.get(*op as usize)).map(|op| &*op.target).collect()
    }
}
