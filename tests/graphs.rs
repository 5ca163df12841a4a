//! Rule 12: the exported program beside the edge program, with the time carried back to it, and
//! the modules inside delegate calls as graphs of their own.

mod oracle;

use etscope::document::Document;
use etscope::document::info::{GraphInfo, ViewInfo};
use etscope::model::graph::op_base;
use etscope::model::{Grouping, Hierarchy, NodeId};
use etscope::overlay::{Metric, Overlay};
use etscope::profile::EventKind;
use oracle::{open, open_pair, pairs, view};

fn exported(info: &ViewInfo) -> Option<&GraphInfo> {
    info.graphs.iter().find(|g| g.kind == "exported")
}

fn root(overlay: &Overlay) -> f64 {
    let root = overlay.groups[Hierarchy::ROOT.index()];
    if root.is_nan() { 0.0 } else { root }
}

fn execute_block(document: &Document) -> u32 {
    document.view_info(0).unwrap().blocks.iter().find(|b| b.graph.is_some()).unwrap().id
}

#[test]
fn rule_12_all_time_of_the_edge_program_is_on_the_exported_program_too() {
    let mut tried = 0;
    for pair in pairs().iter().filter(|p| p.name != "mismatched") {
        let mut document = open_pair(pair);
        let info = document.view_info(0).unwrap();
        let Some(graph) = exported(&info).map(|g| (g.id, g.loaded)) else { continue };
        assert!(!graph.1, "it is not read before it is asked for");
        let info = document.load_graph(0, graph.0).unwrap();
        assert!(exported(&info).unwrap().loaded);
        assert!(exported(&info).unwrap().nodes > 0);
        for block in info.blocks.iter().filter(|b| b.graph == Some(0)) {
            let on =
                |graph: u32, grouping| document.overlay(0, graph, block.id, grouping, Metric::Total, false).unwrap();
            for grouping in [Grouping::Module, Grouping::Delegate, Grouping::Flat] {
                let (edge, exported) = (root(&on(0, grouping)), root(&on(graph.0, grouping)));
                assert_eq!(edge, exported, "{} {grouping:?}", pair.name);
            }
            tried += u32::from(block.attributed > 0.0);
        }
    }
    assert!(tried > 20, "{tried}");
}

#[test]
fn rule_12_time_is_on_the_users_own_ops() {
    let mut document = open(&["tiny_cnn.etrecord", "tiny_cnn.etdp"]);
    let info = document.view_info(0).unwrap();
    let graph = exported(&info).unwrap().id;
    document.load_graph(0, graph).unwrap();
    let block = execute_block(&document);
    let view = view(&document);
    let of = view.graph(graph as usize).unwrap();
    let linear = of.nodes().find(|n| op_base(of.op(*n)) == "linear").unwrap();
    // One linear is two kernels of the edge program.
    let details = document.node_details(0, graph, Some(block), linear.0).unwrap();
    let kernels: Vec<&str> = details.events.iter().filter(|e| e.kind == "native-call").map(|e| &*e.name).collect();
    assert_eq!(kernels, ["native_call_permute_copy.out", "native_call_addmm.out"]);
    assert_eq!(details.debug_handle, Some(5));
    let ticks = |name: &str| -> u64 {
        let block = &view.blocks()[block as usize];
        block
            .events
            .iter()
            .filter(|e| &*e.name == name && e.kind == EventKind::NativeCall)
            .flat_map(|e| &e.samples)
            .sum()
    };
    let overlay = document.overlay(0, graph, block, Grouping::Flat, Metric::Total, false).unwrap();
    let both = document.node_details(0, graph, Some(block), linear.0).unwrap().events;
    let both: f64 = both.iter().filter(|e| e.kind == "native-call").map(|e| e.stats.total).sum();
    assert_eq!(overlay.nodes[linear.index()], both);
    assert!(both <= (ticks(kernels[0]) + ticks(kernels[1])) as f64);
}

#[test]
fn rule_12_a_delegate_call_opens_as_the_module_that_was_lowered() {
    let mut document = open(&["opt125m_xnnpack.etrecord", "opt125m_xnnpack.etdp"]);
    let block = execute_block(&document);
    let edge = &view(&document).graphs()[0];
    let calls: Vec<NodeId> = edge.nodes().filter(|n| edge.lowered(*n).is_some()).collect();
    assert_eq!(calls.len(), 50);
    let mut ops_on_nodes = 0;
    for call in calls {
        let listed: Vec<String> =
            view(&document).graphs()[0].lowered(call).unwrap().ops.iter().map(|op| op.target.to_string()).collect();
        let info = document.open_inside(0, 0, call.0).unwrap();
        let graph = info.graph.unwrap();
        assert_eq!(info.graphs[graph as usize].kind, "inside");
        let view = view(&document);
        let of = view.graph(graph as usize).unwrap();
        let ops: Vec<&str> = of.nodes().map(|n| of.op(n)).filter(|op| !op.is_empty()).collect();
        assert_eq!(ops, listed, "the same operators as were read while the string went by");
        assert!(!of.edges.is_empty());
        // Its time is that of the call, and the ops of the delegate are on its nodes.
        let details = document.node_details(0, 0, Some(block), call.0).unwrap();
        let measured = details.events.iter().find(|e| e.kind == "delegate-call").unwrap().stats.total;
        let on = document.overlay(0, graph, block, Grouping::Flat, Metric::Total, false).unwrap();
        assert_eq!(root(&on), measured);
        let shown = document.overlay(0, graph, block, Grouping::Flat, Metric::Total, true).unwrap();
        assert_eq!(root(&shown), measured);
        ops_on_nodes += shown.node_state.iter().filter(|s| **s == etscope::overlay::Ownership::Estimated).count();
    }
    assert!(ops_on_nodes > 300, "{ops_on_nodes}");
}

#[test]
fn rule_12_ops_with_a_map_are_on_the_nodes_inside() {
    let mut tried = 0;
    for pair in pairs() {
        let mut document = open_pair(&pair);
        let info = document.view_info(0).unwrap();
        for graph in info.graphs.iter().filter(|g| g.kind == "edge") {
            let of = &view(&document).graphs()[graph.id as usize];
            let calls: Vec<NodeId> = of.nodes().filter(|n| of.lowered(*n).is_some_and(|l| l.complete)).collect();
            for call in calls {
                let opened = document.open_inside(0, graph.id, call.0);
                let info = opened.unwrap_or_else(|e| panic!("{}: {e}", pair.name));
                // Opened twice it is the same.
                let again = document.open_inside(0, graph.id, call.0).unwrap();
                assert_eq!(again.graph, info.graph);
                assert_eq!(again.graphs.len(), info.graphs.len());
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn a_node_without_a_module_and_a_graph_that_is_not_there_are_errors() {
    let mut document = open(&["tiny_cnn.etrecord", "tiny_cnn.etdp"]);
    assert!(document.open_inside(0, 0, 1).is_err());
    assert!(document.open_inside(0, 0, 9999).is_err());
    assert!(document.open_inside(0, 99, 1).is_err());
    assert!(document.load_graph(0, 99).is_err());
    assert!(document.load_graph(9, 0).is_err());
    // What was only listed answers with an error and not with a panic.
    assert!(document.scene(0, 1, Grouping::Module, &[]).is_err());
    assert!(document.node_details(0, 1, None, 0).is_err());
    assert!(document.overlay(0, 1, 0, Grouping::Module, Metric::Avg, true).is_err());
}
