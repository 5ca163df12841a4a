//! What of a block's time no node of the graph shows, each part with its reason.

use super::attribute::{Attribution, Unmapped};
use crate::profile::{Block, Event, EventId, EventKind, Split};

/// Why time is on no node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A kernel, a delegate call or an op of one has no node.
    Unmapped(Unmapped),
    /// The runtime's own work around a kernel.
    FrameworkTax,
    /// Execute without its kernels, delegate calls and operator calls.
    Rest,
    /// Delegate ops of which only the partition is known: their time is in that of their call.
    InTheirCall,
    /// The runtime's own events outside execute.
    OutsideExecute,
}

impl Reason {
    /// The reason in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Unmapped(reason) => reason.as_str(),
            Reason::FrameworkTax => "the runtime's work around kernels, in operator calls",
            Reason::Rest => "inside execute, in no kernel, delegate call or operator call",
            Reason::InTheirCall => "delegate ops that no map ties to a node; their time is in that of their call",
            Reason::OutsideExecute => "outside execute: loading, setting inputs and the like",
        }
    }

    /// Whether this is a part of execute that the graph lacks. Together with what is on the
    /// graph, these parts are execute.
    pub fn is_part_of_execute(self) -> bool {
        !matches!(self, Reason::InTheirCall | Reason::OutsideExecute)
    }
}

/// Time that no node of the graph shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffGraph {
    /// Why.
    pub reason: Reason,
    /// The events that it lies in.
    pub events: Vec<EventId>,
    /// Ticks of each run.
    pub samples: Vec<u64>,
}

/// Lists what is not on the graph, what is a part of execute first. In every run, those parts
/// and the costs with owners add up to execute exactly.
pub fn off_graph(block: &Block, attribution: &Attribution) -> Vec<OffGraph> {
    let mut list = List { runs: block.run_indices.len(), list: Vec::new() };
    for cost in attribution.costs.iter().filter(|c| c.owners.is_empty()) {
        let reason = attribution.events.get(cost.event.index()).and_then(|b| b.unmapped);
        list.add(Reason::Unmapped(reason.unwrap_or(Unmapped::NoNode)), Some(cost.event), &cost.samples);
    }
    if let Some(splits) = &block.splits {
        let part = |of: fn(&Split) -> u64| splits.iter().map(of).collect::<Vec<u64>>();
        list.add(Reason::FrameworkTax, None, &part(|s| s.framework_tax));
        list.add(Reason::Rest, None, &part(|s| s.rest));
    }
    for (id, event) in (0_u32..).map(EventId).zip(&block.events) {
        let tied = attribution.events.get(id.index()).is_some_and(|b| b.handles.is_some());
        match (event.kind, place(block, event)) {
            // The ticks of these two are in the splits.
            (EventKind::OperatorCall, _) if block.splits.is_some() => list.add(Reason::FrameworkTax, Some(id), &[]),
            (EventKind::Framework | EventKind::Scope, Place::Execute) => list.add(Reason::Rest, Some(id), &[]),
            (EventKind::DelegateOp, _) if !tied && event.unit.is_measured_time() => {
                list.add(Reason::InTheirCall, Some(id), &event.self_samples);
            }
            (EventKind::Framework | EventKind::Scope, Place::Outside) => {
                list.add(Reason::OutsideExecute, Some(id), &event.self_samples);
            }
            _ => {}
        }
    }
    list.list.retain(|o| o.samples.iter().any(|ticks| *ticks > 0));
    list.list
}

struct List {
    runs: usize,
    list: Vec<OffGraph>,
}

impl List {
    fn add(&mut self, reason: Reason, event: Option<EventId>, samples: &[u64]) {
        let at = self.list.iter().position(|o| o.reason == reason).unwrap_or_else(|| {
            self.list.push(OffGraph { reason, events: Vec::new(), samples: vec![0; self.runs] });
            self.list.len() - 1
        });
        let off = &mut self.list[at];
        off.events.extend(event);
        for (sum, ticks) in off.samples.iter_mut().zip(samples) {
            *sum = sum.saturating_add(*ticks);
        }
    }
}

/// Where an event lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In an operator call, kernel or delegate call.
    Call,
    /// In execute, or execute itself.
    Execute,
    /// In neither.
    Outside,
}

fn place(block: &Block, event: &Event) -> Place {
    let own = |event: &Event| match event.kind {
        EventKind::OperatorCall | EventKind::NativeCall | EventKind::DelegateCall | EventKind::DelegateOp => {
            Some(Place::Call)
        }
        EventKind::Framework | EventKind::Scope => event.is_execute().then_some(Place::Execute),
    };
    let around = || block.around(event).find_map(|(_, event)| own(event));
    own(event).or_else(around).unwrap_or(Place::Outside)
}
