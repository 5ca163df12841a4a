//! The published figures of the example pairs, as far as the fixtures hold them, and the
//! rules of attribution on real pairs.

mod oracle;

use etscope::document::Document;
use etscope::document::info::{BlockInfo, EventInfo, SplitInfo};
use etscope::model::{Grouping, Hierarchy};
use etscope::overlay::Metric;
use etscope::profile::EventKind;
use oracle::{open, open_pair, pairs, view};

fn execute(document: &Document) -> BlockInfo {
    document.view_info(0).unwrap().blocks.into_iter().find(|b| &*b.name == "Execute").unwrap()
}

fn split(document: &Document) -> SplitInfo {
    execute(document).split.unwrap()
}

fn entries(document: &Document) -> u64 {
    document.view_info(0).unwrap().blocks.iter().map(|b| b.entries).sum()
}

fn rows(document: &Document) -> Vec<EventInfo> {
    document.events(0, execute(document).id, 0, 10_000).unwrap().rows
}

/// Ops by their ticks, most first.
fn hottest(document: &Document) -> Vec<(String, f64)> {
    let block = execute(document);
    let details = document.group_details(0, block.graph.unwrap(), Some(block.id), Grouping::Flat, 0, false).unwrap();
    details.op_types.into_iter().filter_map(|o| Some((o.op, o.ticks?))).collect()
}

#[test]
fn opt125m_portable() {
    let document = open(&["opt125m_portable.etrecord", "opt125m_portable_figures.etdp"]);
    assert_eq!(entries(&document), 1151);
    assert_eq!(execute(&document).delegate_calls, 0.0);
    assert_eq!(hottest(&document)[0].0, "addmm");
    assert_eq!(split(&document).execute, 9_082_182_138.0);
    assert_eq!(split(&document).delegate, 0.0);
    assert_eq!(execute(&document).fit.unwrap().score, 1.0);
}

#[test]
fn opt125m_xnnpack() {
    let document = open(&["opt125m_xnnpack.etrecord", "opt125m_xnnpack_figures.etdp"]);
    assert_eq!(entries(&document), 521);
    assert_eq!(execute(&document).delegate_calls, 50.0);
    let split = split(&document);
    assert_eq!(split.delegate, 116_700_000.0);
    assert!((split.native - 8_500_000.0).abs() < 1000.0);
    assert!((split.execute - 125_200_292.0).abs() < 1.0);
    let info = document.view_info(0).unwrap();
    assert_eq!(info.graphs[0].partitions, 50);
    assert_eq!(info.graphs[0].backends, ["XnnpackBackend"]);
    // Each call is on its own executorch_call_delegate node.
    let calls: Vec<_> = rows(&document).into_iter().filter(|r| r.kind == "delegate-call").collect();
    let mut nodes: Vec<u32> = calls.iter().flat_map(|c| c.nodes.clone()).collect();
    assert!(calls.iter().all(|c| c.nodes.len() == 1 && c.backend.as_deref() == Some("XnnpackBackend")));
    nodes.sort_unstable();
    nodes.dedup();
    assert_eq!(nodes.len(), 50);
}

#[test]
fn mobilenetv2_fp32_on_ethos_u() {
    let document = open(&["mobilenetv2_fp32_ethosu.etrecord", "mobilenetv2_fp32_ethosu.etdp"]);
    assert_eq!(entries(&document), 307);
    assert_eq!(execute(&document).delegate_calls, 0.0);
    assert_eq!(split(&document).execute, 394_945_008.0);
    let hottest = hottest(&document);
    assert_eq!(hottest[0].0, "convolution");
    assert!(hottest[0].1 > 0.5 * split(&document).execute);
}

#[test]
fn mobilenetv2_int8_on_ethos_u() {
    let document = open(&["mobilenetv2_int8_ethosu.etrecord", "mobilenetv2_int8_ethosu.etdp"]);
    assert_eq!(entries(&document), 13);
    assert_eq!(execute(&document).delegate_calls, 1.0);
    let split = split(&document);
    assert_eq!((split.execute, split.delegate), (6_589_965.0, 96_900.0));
    let rows = rows(&document);
    let call = rows.iter().find(|r| r.kind == "delegate-call").unwrap();
    assert_eq!((call.backend.as_deref(), call.stats.avg), (Some("EthosUBackend"), 96_900.0));
    let quantize = rows.iter().find(|r| r.name == "native_call_quantize_per_tensor.out").unwrap();
    assert_eq!((quantize.stats.avg, quantize.nodes.len()), (6_470_000.0, 1));
}

#[test]
fn mobilenetv2_with_lrn_on_ethos_u() {
    let document = open(&["mobilenetv2_lrn_int8_ethosu.etrecord", "mobilenetv2_lrn_int8_ethosu.etdp"]);
    assert_eq!(split(&document).execute, 1_699_996_463.0);
    let rows = rows(&document);
    let calls: Vec<f64> = rows.iter().filter(|r| r.kind == "delegate-call").map(|r| r.stats.avg).collect();
    assert_eq!(calls, [105_000.0, 47_000.0]);
    let convolution: Vec<_> = rows.iter().filter(|r| r.name == "native_call_convolution.out").collect();
    assert_eq!(convolution.len(), 1);
    assert_eq!(convolution[0].stats.avg, 1_670_000_000.0);
    assert_eq!(convolution[0].nodes.len(), 1);
    // Both partitions hold what was lowered, and the convolution between them stayed native.
    let claims = &view(&document).claims[0];
    assert_eq!(claims.partitions.len(), 2);
    assert!(claims.partitions.iter().all(|p| p.nodes.len() > 20));
    assert_eq!(claims.partition_of[convolution[0].nodes[0] as usize], None);
}

#[test]
fn rule_5_the_four_parts_add_up_in_every_run_of_every_pair() {
    let mut runs = 0;
    for pair in pairs() {
        let document = open_pair(&pair);
        for split in view(&document).blocks().iter().flat_map(|b| b.splits.iter().flatten()) {
            assert_eq!(
                split.execute,
                split.native + split.delegate + split.framework_tax + split.rest,
                "{}",
                pair.name
            );
            runs += 1;
        }
    }
    assert!(runs > 80, "{runs}");
}

/// Rule 7: the root shows native and delegated time to the last tick, but for what no node owns.
#[test]
fn rule_7_the_root_equals_what_was_attributed_in_every_grouping() {
    for pair in pairs() {
        let document = open_pair(&pair);
        let view = view(&document);
        for (b, block) in view.blocks().iter().enumerate() {
            let (Some(graph), Some(attribution), Some(splits)) =
                (view.matches[b].graph, view.attribution(b), &block.splits)
            else {
                continue;
            };
            let lost: u64 =
                attribution.costs.iter().filter(|c| c.owners.is_empty()).flat_map(|c| c.samples.iter()).sum();
            let parts: u64 = splits.iter().map(|s| s.native + s.delegate).sum();
            for grouping in [Grouping::Module, Grouping::Delegate, Grouping::Flat] {
                let (b, graph) = (u32::try_from(b).unwrap(), u32::try_from(graph).unwrap());
                let overlay = document.overlay(0, graph, b, grouping, Metric::Total, false).unwrap();
                let root = overlay.groups[Hierarchy::ROOT.index()];
                let root = if root.is_nan() { 0.0 } else { root };
                assert_eq!(root, (parts - lost) as f64, "{} {}", pair.name, block.name);
            }
        }
    }
}

#[test]
fn rule_7_every_kernel_of_opt_has_one_owner_where_names_tell_them_apart() {
    let document = open(&["opt125m_portable.etrecord", "opt125m_portable.etdp"]);
    let rows = rows(&document);
    let view = view(&document);
    let graph = &view.graphs()[0];
    let natives: Vec<_> = rows.iter().filter(|r| r.kind == "native-call").collect();
    assert_eq!(natives.len(), 574);
    for event in
        natives.iter().filter(|e| e.name == "native_call_addmm.out" || e.name == "native_call_permute_copy.out")
    {
        assert_eq!(event.nodes.len(), 1, "{event:?}");
        let op = graph.op(etscope::model::NodeId(event.nodes[0]));
        let base = event.name.trim_start_matches("native_call_").trim_end_matches(".out");
        assert!(op.contains(base), "{} on {op}", event.name);
    }
    assert!(natives.iter().all(|e| !e.nodes.is_empty()));
}

#[test]
fn rule_9_only_the_mismatched_pair_is_called_one() {
    for pair in pairs().iter().filter(|p| !p.name.starts_with("odd_")) {
        let info = open_pair(pair).view_info(0).unwrap();
        assert_eq!(info.mismatch.is_some(), pair.name == "mismatched", "{}: {:?}", pair.name, info.mismatch);
        if let Some(mismatch) = info.mismatch {
            assert!(!mismatch.reasons.is_empty());
        } else if info.blocks.iter().any(|b| b.graph.is_some()) {
            let best = info.blocks.iter().filter_map(|b| b.fit.as_ref()).map(|f| f.score).fold(0.0, f64::max);
            assert!(best >= 0.98, "{}: {best}", pair.name);
        }
    }
}

#[test]
fn rule_6_delegate_ops_are_found_by_their_ids() {
    for name in ["delegate_int_ids", "delegate_str_ids"] {
        let document = open(&[&format!("{name}.etrecord"), &format!("{name}.etdp")]);
        let ops: Vec<_> = rows(&document).into_iter().filter(|r| r.kind == "delegate-op").collect();
        assert!(ops.iter().filter(|op| !op.debug_handles.is_empty()).count() >= 5, "{name}");
        assert!(ops.iter().all(|op| !op.nodes.is_empty()), "{name}: every op belongs at least to its partition");
    }
}

#[test]
fn two_records_and_two_dumps_pair_up_by_fit() {
    let document = open(&["mv2_portable.etrecord", "tiny_cnn.etdp", "mv2_portable.etdp", "tiny_cnn.etrecord"]);
    for id in 0..2 {
        let info = document.view_info(id).unwrap();
        let stem = |file: Option<&etscope::document::info::OpenedFile>| {
            file.unwrap().name.split('.').next().unwrap().to_owned()
        };
        assert_eq!(stem(info.record.as_ref()), stem(info.dump.as_ref()));
        assert!(info.mismatch.is_none());
    }
}

#[test]
fn kernels_and_calls_of_good_pairs_are_all_on_nodes() {
    // Instructions that the emitter adds around loops and for mutated buffers are on no node.
    let added = ["control_cond", "control_map", "control_scan", "dynamic_shapes"];
    for pair in pairs().iter().filter(|p| !p.name.starts_with("odd_") && p.name != "mismatched") {
        let document = open_pair(pair);
        let view = view(&document);
        for (b, block) in view.blocks().iter().enumerate() {
            let Some(attribution) = view.attribution(b) else { continue };
            for (event, belongs) in block.events.iter().zip(&attribution.events) {
                if matches!(event.kind, EventKind::NativeCall | EventKind::DelegateCall)
                    && !added.contains(&&*pair.name)
                {
                    assert!(!belongs.nodes.is_empty(), "{}: {} {:?}", pair.name, event.name, event.instruction);
                }
            }
        }
    }
}
