//! Rule 11: delegate ops that no map ties to the graph are put on the operators that they most
//! likely ran, as estimates beside what was measured.

mod oracle;

use etscope::document::view::View;
use etscope::model::graph::op_base;
use etscope::model::{Grouping, Hierarchy};
use etscope::overlay::{Metric, Ownership};
use etscope::profile::{EventId, EventKind};
use oracle::{open, open_pair, pairs, view};

/// Ticks of delegate ops without a map, and those of them that have an estimate, all blocks.
fn placed(view: &View) -> (u64, u64) {
    let (mut all, mut placed) = (0, 0);
    for (b, block) in view.blocks().iter().enumerate() {
        let (Some(attribution), Some(estimates)) = (view.attribution(b), view.estimates(b)) else { continue };
        for (id, event) in (0..).zip(&block.events) {
            if event.kind == EventKind::DelegateOp && attribution.events[id as usize].handles.is_none() {
                let ticks: u64 = event.self_samples.iter().sum();
                all += ticks;
                if estimates.of_event(EventId(id)).is_some() {
                    placed += ticks;
                }
            }
        }
    }
    (all, placed)
}

/// The estimates of the first block that has any: the delegate op, and the operators.
fn told(view: &View) -> Vec<(String, Vec<String>, f64)> {
    let report = view.report("ns");
    let blocks = report["blocks"].as_array().unwrap();
    let estimated = |e: &&serde_json::Value| e["estimated"] == true;
    let block = blocks.iter().find(|b| b["events"].as_array().unwrap().iter().any(|e| estimated(&e))).unwrap();
    let graph = &view.graphs()[0];
    let op = |name: &str| {
        let node = graph.nodes().find(|n| *graph.names[n.index()] == *name).unwrap();
        op_base(graph.op(node)).to_owned()
    };
    let events = block["events"].as_array().unwrap().iter().filter(estimated);
    events
        .map(|e| {
            let ops = match e["carried_ops"].as_array() {
                Some(ops) => ops.iter().map(|o| op_base(o.as_str().unwrap()).to_owned()).collect(),
                None => e["nodes"].as_array().unwrap().iter().map(|n| op(n.as_str().unwrap())).collect(),
            };
            (e["delegate_debug_identifier"].as_str().unwrap().to_owned(), ops, e["confidence"].as_f64().unwrap())
        })
        .collect()
}

#[test]
fn rule_11_all_delegate_time_of_xnnpack_lands_on_operators() {
    let mut with_ops = 0;
    for pair in pairs().iter().filter(|p| p.name.contains("xnnpack")) {
        let document = open_pair(pair);
        let (all, placed) = placed(view(&document));
        assert!(placed as f64 >= 0.95 * all as f64, "{}: {placed} of {all}", pair.name);
        with_ops += u32::from(all > 0);
    }
    assert_eq!(with_ops, 7);
}

#[test]
fn rule_11_ops_are_on_operators_of_their_kind_with_what_was_fused_into_them() {
    for pair in pairs().iter().filter(|p| p.name.contains("xnnpack") && !p.name.contains("figures")) {
        let document = open_pair(pair);
        for (name, ops, confidence) in told(view(&document)) {
            let first = ops[0].as_str();
            let fits = match name.split([' ', '(']).next().unwrap() {
                "Convolution" => first == "convolution",
                // A convolution over single points runs as a matrix product.
                "Fully" => ["linear", "addmm", "convolution", "bmm", "mm"].contains(&first),
                "Add" => first == "add",
                "Softmax" => first == "_softmax",
                "Max" => first.starts_with("max_pool2d"),
                "Mean" | "Global" => first == "mean",
                "Transpose" if confidence > 0.6 => ["permute_copy", "transpose_copy"].contains(&first),
                _ => true,
            };
            assert!(fits, "{}: {name} on {ops:?}", pair.name);
            assert!((0.6..=1.0).contains(&confidence), "{}: {name} {confidence}", pair.name);
        }
    }
    let document = open(&["old_v101_xnnpack.etrecord", "old_v101_xnnpack.etdp"]);
    let told = told(view(&document));
    let ops: Vec<Vec<&str>> = told.iter().map(|(_, ops, _)| ops.iter().map(String::as_str).collect()).collect();
    let fused = vec!["convolution", "_native_batch_norm_legit_no_training", "relu"];
    assert_eq!(ops, [vec!["convolution"], fused, vec!["convolution"], vec!["linear"], vec!["_softmax"]], "{told:?}");
}

#[test]
fn rule_11_estimates_change_no_measured_total() {
    for pair in pairs() {
        let document = open_pair(&pair);
        let view = view(&document);
        for b in 0..view.blocks().len() {
            let (Some(graph), Some(estimates)) = (view.matches[b].graph, view.estimates(b)) else { continue };
            let (b, graph) = (u32::try_from(b).unwrap(), u32::try_from(graph).unwrap());
            for grouping in [Grouping::Module, Grouping::Delegate, Grouping::Flat] {
                let [measured, shown] =
                    [false, true].map(|e| document.overlay(0, graph, b, grouping, Metric::Total, e).unwrap());
                let root = Hierarchy::ROOT.index();
                assert_eq!(measured.groups[root].to_bits(), shown.groups[root].to_bits(), "{}", pair.name);
                assert_ne!(shown.group_state[root], Ownership::Estimated, "{}", pair.name);
                for (g, state) in shown.group_state.iter().enumerate() {
                    // What is not marked as an estimate is what was measured.
                    if *state != Ownership::Estimated && *state != Ownership::Nothing {
                        assert_eq!(measured.groups[g].to_bits(), shown.groups[g].to_bits(), "{}", pair.name);
                    }
                    assert!(shown.groups[g].is_nan() || shown.groups[g] <= measured.groups[g], "{}", pair.name);
                }
                let marked = shown.node_state.iter().filter(|s| **s == Ownership::Estimated).count();
                let on_nodes = estimates.list.iter().any(|e| !e.owners.is_empty());
                assert_eq!(marked > 0, on_nodes, "{}", pair.name);
            }
            for estimate in &estimates.list {
                let call = &view.blocks()[b as usize].events[estimate.call.index()];
                assert_eq!(estimate.samples.len(), call.samples.len());
                assert!(estimate.samples.iter().zip(&call.samples).all(|(op, call)| op <= call), "{}", pair.name);
            }
        }
    }
}

#[test]
fn rule_11_where_kinds_disagree_nothing_is_guessed() {
    let document = open(&["mv2_xnnpack.etrecord", "gap_xnnpack.etdp"]);
    let view = view(&document);
    let mut refused = 0;
    for b in 0..view.blocks().len() {
        let Some(estimates) = view.estimates(b) else { continue };
        refused += estimates.refused.len();
        let calls: Vec<EventId> = estimates.refused.iter().map(|(call, _)| *call).collect();
        assert!(estimates.list.iter().all(|e| !calls.contains(&e.call)));
    }
    assert!(refused > 0);
}
