//! Metrics of nodes and groups. A cost that several nodes share counts once in any group
//! around them, so that the root shows what was attributed to the last tick.

use std::str::FromStr;

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::correlate::{Attribution, Estimates};
use crate::model::{GroupId, Hierarchy, NodeId};
use crate::profile::{Block, EventId, Stats};

/// What is shown of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Mean over the runs, in ticks.
    Avg,
    /// Median over the runs, in ticks.
    P50,
    /// Shortest run, in ticks.
    Min,
    /// Longest run, in ticks.
    Max,
    /// 10th percentile, in ticks.
    P10,
    /// 90th percentile, in ticks.
    P90,
    /// Sum over the runs, in ticks.
    Total,
    /// Mean as a fraction of the mean execute time.
    Share,
    /// Calls in a run, on average.
    Calls,
}

impl FromStr for Metric {
    type Err = crate::error::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "avg" => Metric::Avg,
            "p50" => Metric::P50,
            "min" => Metric::Min,
            "max" => Metric::Max,
            "p10" => Metric::P10,
            "p90" => Metric::P90,
            "total" => Metric::Total,
            "share" => Metric::Share,
            "calls" => Metric::Calls,
            other => {
                return Err(crate::error::Error::new(
                    crate::error::Code::NotFound,
                    format!("there is no metric `{other}`"),
                ));
            }
        })
    }
}

/// How the costs of a node or group are owned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Ownership {
    /// No cost was attributed.
    #[default]
    Nothing = 0,
    /// All costs are its own.
    Own = 1,
    /// All costs are shared with nodes outside.
    Shared = 2,
    /// Some are its own, some are shared with nodes outside.
    Both = 3,
    /// Some were not measured for it but estimated.
    Estimated = 4,
}

impl Ownership {
    fn and(self, shared: bool) -> Self {
        match (self, shared) {
            (Ownership::Nothing, false) => Ownership::Own,
            (Ownership::Nothing, true) => Ownership::Shared,
            (Ownership::Own, true) | (Ownership::Shared, false) => Ownership::Both,
            (same @ (Ownership::Own | Ownership::Shared | Ownership::Both | Ownership::Estimated), _) => same,
        }
    }
}

/// One metric of a block on a graph. NaN where nothing was attributed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overlay {
    /// By [`NodeId`].
    pub nodes: Vec<f64>,
    /// By [`NodeId`].
    pub node_state: Vec<Ownership>,
    /// By [`GroupId`].
    pub groups: Vec<f64>,
    /// By [`GroupId`].
    pub group_state: Vec<Ownership>,
    /// Mean share of execute, whatever the metric, by [`NodeId`].
    pub node_share: Vec<f64>,
    /// Mean share of execute, whatever the metric, by [`GroupId`].
    pub group_share: Vec<f64>,
}

impl Overlay {
    /// An overlay on which nothing was measured.
    pub fn nothing(hierarchy: &Hierarchy) -> Self {
        let (nodes, groups) = (hierarchy.home.len(), hierarchy.groups.len());
        Overlay {
            nodes: vec![f64::NAN; nodes],
            node_state: vec![Ownership::Nothing; nodes],
            groups: vec![f64::NAN; groups],
            group_state: vec![Ownership::Nothing; groups],
            node_share: vec![f64::NAN; nodes],
            group_share: vec![f64::NAN; groups],
        }
    }
}

/// Mean ticks of `Method::execute`; NaN when the block has none.
pub fn execute_avg(block: &Block) -> f64 {
    let Some(splits) = &block.splits else { return f64::NAN };
    let ticks: Vec<u64> = splits.iter().map(|s| s.execute).collect();
    Stats::of(&ticks).map_or(f64::NAN, |s| s.avg)
}

/// What adds up for one node or group.
#[derive(Debug, Clone, Default)]
struct Sum {
    samples: Vec<f64>,
    calls: f64,
    state: Ownership,
    /// A delegate call was left out, since its time was estimated to lie elsewhere.
    left_out: bool,
}

impl Sum {
    fn add(&mut self, samples: &[u64], calls: f64, shared: bool) {
        self.samples.resize(self.samples.len().max(samples.len()), 0.0);
        for (sum, ticks) in self.samples.iter_mut().zip(samples) {
            *sum += *ticks as f64;
        }
        self.calls += calls;
        self.state = self.state.and(shared);
    }

    fn add_estimate(&mut self, samples: &[u64], calls: f64) {
        self.add(samples, calls, false);
        self.state = Ownership::Estimated;
    }

    fn state(&self) -> Ownership {
        if self.left_out && self.state != Ownership::Nothing { Ownership::Estimated } else { self.state }
    }

    fn value(&self, metric: Metric, execute: f64) -> (f64, f64) {
        if self.state == Ownership::Nothing {
            return (f64::NAN, f64::NAN);
        }
        let Some(stats) = Stats::of_f64(&self.samples) else { return (f64::NAN, f64::NAN) };
        let share = if execute > 0.0 { stats.avg / execute } else { f64::NAN };
        let value = match metric {
            Metric::Avg => stats.avg,
            Metric::P50 => stats.p50,
            Metric::Min => stats.min,
            Metric::Max => stats.max,
            Metric::P10 => stats.p10,
            Metric::P90 => stats.p90,
            Metric::Total => stats.total,
            Metric::Share => share,
            Metric::Calls => self.calls,
        };
        (value, share)
    }
}

/// Calls of an event in a run, on average.
pub fn calls_per_run(calls: &[u32]) -> f64 {
    if calls.is_empty() {
        return 0.0;
    }
    calls.iter().map(|c| f64::from(*c)).sum::<f64>() / calls.len() as f64
}

fn calls_of(block: &Block, event: EventId) -> f64 {
    block.events.get(event.index()).map_or(0.0, |event| calls_per_run(&event.calls))
}

/// Computes one metric for all nodes and groups.
///
/// With estimates, the time of a delegate call whose ops were put on single nodes is shown on
/// those nodes and not on every node of the partition. A group around the whole partition
/// still shows what was measured for the call, so that the root is the same either way.
pub fn overlay(
    hierarchy: &Hierarchy,
    block: &Block,
    attribution: &Attribution,
    estimates: Option<&Estimates>,
    metric: Metric,
) -> Overlay {
    let execute = execute_avg(block);
    let spreads = |call: EventId| estimates.is_some_and(|e| e.spreads(call));
    let mut out = Overlay::default();
    for (node, costs) in attribution.costs_of.iter().enumerate() {
        let mut sum = Sum::default();
        for cost in costs.iter().map(|cost| &attribution.costs[*cost as usize]) {
            if spreads(cost.event) {
                sum.left_out = true;
            } else {
                sum.add(&cost.samples, calls_of(block, cost.event), cost.owners.len() > 1);
            }
        }
        for estimate in estimates.iter().flat_map(|e| e.of_node(node)) {
            sum.add_estimate(&estimate.samples, calls_of(block, estimate.event));
        }
        let (value, share) = sum.value(metric, execute);
        out.nodes.push(value);
        out.node_share.push(share);
        out.node_state.push(sum.state());
    }
    let mut sums = vec![Sum::default(); hierarchy.groups.len()];
    let mut holds_whole: FxHashSet<(GroupId, EventId)> = FxHashSet::default();
    each_group(hierarchy, attribution.costs.iter().map(|c| &c.owners[..]), |group, index, shared| {
        let cost = &attribution.costs[index];
        if spreads(cost.event) {
            if shared {
                sums[group.index()].left_out = true;
                return;
            }
            holds_whole.insert((group, cost.event));
        }
        sums[group.index()].add(&cost.samples, calls_of(block, cost.event), shared);
    });
    if let Some(estimates) = estimates {
        each_group(hierarchy, estimates.list.iter().map(|e| &e.owners[..]), |group, index, _| {
            let estimate = &estimates.list[index];
            if spreads(estimate.call) && !holds_whole.contains(&(group, estimate.call)) {
                sums[group.index()].add_estimate(&estimate.samples, calls_of(block, estimate.event));
            }
        });
    }
    for sum in &sums {
        let (value, share) = sum.value(metric, execute);
        out.groups.push(value);
        out.group_share.push(share);
        out.group_state.push(sum.state());
    }
    out
}

/// Calls `take` for each group that holds an owner of a cost, once for each cost, and says
/// whether an owner lies outside. Inner groups come before the groups around them.
fn each_group<'a>(
    hierarchy: &Hierarchy,
    owners: impl Iterator<Item = &'a [NodeId]>,
    mut take: impl FnMut(GroupId, usize, bool),
) {
    let mut owners_inside = vec![0_usize; hierarchy.groups.len()];
    let mut touched: Vec<GroupId> = Vec::new();
    for (index, owners) in owners.enumerate() {
        for owner in owners {
            for group in hierarchy.ancestors(*owner) {
                if owners_inside[group.index()] == 0 {
                    touched.push(group);
                }
                owners_inside[group.index()] += 1;
            }
        }
        for group in touched.drain(..) {
            let inside = std::mem::take(&mut owners_inside[group.index()]);
            take(group, index, inside < owners.len());
        }
    }
}

/// Ticks of each run on some of these nodes, every cost once, by the rules of [`overlay`].
/// The flag says whether some of them are estimates.
pub fn samples_of(
    attribution: &Attribution,
    estimates: Option<&Estimates>,
    inside: impl Fn(NodeId) -> bool,
    runs: usize,
) -> (Vec<u64>, bool) {
    let mut sums = vec![0_u64; runs];
    let mut add = |samples: &[u64]| {
        for (sum, ticks) in sums.iter_mut().zip(samples) {
            *sum = sum.saturating_add(*ticks);
        }
    };
    let mut split = FxHashSet::default();
    for cost in attribution.costs.iter().filter(|c| c.owners.iter().any(|owner| inside(*owner))) {
        let spreads = estimates.is_some_and(|e| e.spreads(cost.event));
        if spreads && !cost.owners.iter().all(|owner| inside(*owner)) {
            split.insert(cost.event);
        } else {
            add(&cost.samples);
        }
    }
    for estimate in estimates.iter().flat_map(|e| &e.list) {
        if split.contains(&estimate.call) && estimate.owners.iter().any(|owner| inside(*owner)) {
            add(&estimate.samples);
        }
    }
    (sums, !split.is_empty())
}
