//! Rules 5 and 7 on all pairs of the corpus and on generated ones: every tick is accounted for
//! once, by kind and on the graph, whatever the grouping.

mod generated;
mod oracle;

use std::collections::BTreeMap;

use etscope::correlate::off_graph::Reason;
use etscope::document::Document;
use etscope::model::{Grouping, Hierarchy, NodeId};
use etscope::overlay::{Metric, Ownership};
use etscope::profile::EventKind;
use oracle::view;
use proptest::prelude::*;

const GROUPINGS: [Grouping; 3] = [Grouping::Module, Grouping::Delegate, Grouping::Flat];

fn total(samples: &[u64]) -> u64 {
    samples.iter().sum()
}

/// Rule 5: native + delegate + framework tax + rest = execute, and the first two are the sums
/// of the events of their kind, in every run of every block.
fn execute_is_accounted_for(document: &Document) {
    for block in view(document).blocks() {
        let Some(splits) = &block.splits else { continue };
        for (run, split) in splits.iter().enumerate() {
            assert_eq!(split.native + split.delegate + split.framework_tax + split.rest, split.execute);
            let of = |kind: EventKind| -> u64 {
                block.events.iter().filter(|e| e.kind == kind).map(|e| e.samples[run]).sum()
            };
            assert_eq!(split.native, of(EventKind::NativeCall));
            assert_eq!(split.delegate, of(EventKind::DelegateCall));
        }
    }
}

/// Rule 7: costs hold every tick of kernels and delegate calls; a group's total is the sum of
/// the distinct costs inside, the root's all that is on the graph, in every grouping.
fn groups_count_every_tick_once(document: &Document) {
    let view = view(document);
    for (b, block) in view.blocks().iter().enumerate() {
        let (Some(graph), Some(attribution)) = (view.matches[b].graph, view.attribution(b)) else { continue };
        let calls = block.events.iter().filter(|e| matches!(e.kind, EventKind::NativeCall | EventKind::DelegateCall));
        let measured: u64 = calls.map(|e| total(&e.samples)).sum();
        assert_eq!(attribution.costs.iter().map(|c| total(&c.samples)).sum::<u64>(), measured);
        // What is not on the graph says why.
        for (event, belongs) in block.events.iter().zip(&attribution.events) {
            assert_eq!(belongs.nodes.is_empty(), belongs.unmapped.is_some(), "{event:?}");
        }
        let on_graph: u64 = attribution.costs.iter().filter(|c| !c.owners.is_empty()).map(|c| total(&c.samples)).sum();
        for grouping in GROUPINGS {
            let hierarchy = view.hierarchy(graph, grouping).unwrap();
            let mut expected: BTreeMap<usize, u64> = BTreeMap::new();
            for cost in &attribution.costs {
                let mut groups: Vec<usize> =
                    cost.owners.iter().flat_map(|n| hierarchy.ancestors(*n)).map(|g| g.index()).collect();
                groups.sort_unstable();
                groups.dedup();
                groups.into_iter().for_each(|g| *expected.entry(g).or_default() += total(&cost.samples));
            }
            let ids = (u32::try_from(graph).unwrap(), u32::try_from(b).unwrap());
            let overlay = document.overlay(0, ids.0, ids.1, grouping, Metric::Total, false).unwrap();
            for (g, value) in overlay.groups.iter().enumerate() {
                match expected.get(&g) {
                    Some(ticks) => assert_eq!(*value, *ticks as f64, "{grouping:?} group {g}"),
                    None => assert!(value.is_nan(), "{grouping:?} group {g}"),
                }
            }
            let root = overlay.groups[Hierarchy::ROOT.index()];
            assert_eq!(if root.is_nan() { 0.0 } else { root }, on_graph as f64);
            estimates_stay_within(document, ids, grouping, &overlay.groups);
        }
    }
}

/// What is off the graph is listed with its reason: in every run those parts and the costs with
/// owners are execute.
fn what_is_off_the_graph_is_listed(document: &Document) {
    let view = view(document);
    for (b, block) in view.blocks().iter().enumerate() {
        let (Some(attribution), Some(splits)) = (view.attribution(b), &block.splits) else { continue };
        let off = view.off_graph(b);
        for (run, split) in splits.iter().enumerate() {
            let on: u64 = attribution.costs.iter().filter(|c| !c.owners.is_empty()).map(|c| c.samples[run]).sum();
            let parts = off.iter().filter(|o| o.reason.is_part_of_execute());
            assert_eq!(on + parts.map(|o| o.samples[run]).sum::<u64>(), split.execute);
        }
        for off in &off {
            assert!(total(&off.samples) > 0 && !off.reason.as_str().is_empty());
            assert!(off.events.iter().all(|e| e.index() < block.events.len()));
            let rest = off.reason == Reason::Rest || off.reason == Reason::FrameworkTax;
            assert!(rest || !off.events.is_empty(), "{off:?}");
        }
        // Every cost without owners is in one entry, under what its event says.
        for cost in attribution.costs.iter().filter(|c| c.owners.is_empty() && total(&c.samples) > 0) {
            let reason = attribution.events[cost.event.index()].unmapped.unwrap();
            let holds = off.iter().filter(|o| o.events.contains(&cost.event) && o.reason.is_part_of_execute());
            let found: Vec<_> = holds.map(|o| o.reason).collect();
            assert_eq!(found, [Reason::Unmapped(reason)]);
        }
    }
}

/// Rule 11: with estimates the root is the same, and no group shows more than was measured.
fn estimates_stay_within(document: &Document, (graph, block): (u32, u32), grouping: Grouping, measured: &[f64]) {
    let shown = document.overlay(0, graph, block, grouping, Metric::Total, true).unwrap();
    let root = Hierarchy::ROOT.index();
    assert_eq!(shown.groups[root].to_bits(), measured[root].to_bits());
    for (g, value) in shown.groups.iter().enumerate() {
        if shown.group_state[g] == Ownership::Estimated {
            assert!(*value <= measured[g]);
        } else if !value.is_nan() {
            assert_eq!(*value, measured[g]);
        }
    }
}

#[test]
fn rule_5_and_7_hold_for_every_pair() {
    for pair in oracle::pairs() {
        let document = oracle::open_pair(&pair);
        execute_is_accounted_for(&document);
        groups_count_every_tick_once(&document);
        what_is_off_the_graph_is_listed(&document);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rule_5_and_7_hold_for_generated_pairs(pair in generated::pair()) {
        let document = pair.open();
        prop_assert_eq!(view(&document).blocks().len(), 1);
        execute_is_accounted_for(&document);
        groups_count_every_tick_once(&document);
        what_is_off_the_graph_is_listed(&document);
        // Kernels of mapped instructions are on a node with their handle.
        let view = view(&document);
        if let (Some(graph), Some(attribution)) = (view.matches[0].graph, view.attribution(0)) {
            let graph = &view.graphs()[graph];
            for (event, belongs) in view.blocks()[0].events.iter().zip(&attribution.events) {
                if let (EventKind::NativeCall, Some(handles)) = (event.kind, &belongs.handles) {
                    let handle_of = |n: &NodeId| graph.debug_handles[n.index()];
                    prop_assert!(belongs.nodes.iter().all(|n| handle_of(n).is_some_and(|h| handles.contains(&h))));
                }
            }
        }
    }
}
