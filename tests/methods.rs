//! Rule 8: a record with several methods, and blocks matched to them by fit.

mod oracle;

use etscope::profile::EventKind;
use oracle::{open, view};

/// The methods of the blocks that ran instructions, in order.
fn methods(info: &etscope::document::info::ViewInfo) -> Vec<String> {
    info.blocks.iter().filter_map(|b| b.method.clone()).collect()
}

#[test]
fn rule_8_one_dump_of_two_methods_is_two_blocks_each_on_its_graph() {
    for (name, expected) in [("multi_method", ["encode", "decode"]), ("multi_forward", ["forward", "decode"])] {
        let document = open(&[&format!("{name}.etrecord"), &format!("{name}.etdp")]);
        let info = document.view_info(0).unwrap();
        assert_eq!(info.graphs.iter().filter(|g| g.kind == "edge").count(), 2, "{name}");
        assert_eq!(info.methods, expected, "{name}");
        assert_eq!(methods(&info), expected, "{name}");
        assert!(info.mismatch.is_none());
        for block in info.blocks.iter().filter(|b| b.method.is_some()) {
            assert_eq!(block.name, "Execute");
            assert_eq!(block.runs, 3);
            assert!(block.fit.as_ref().unwrap().score >= 0.98, "{name}: {:?}", block.fit);
            let graph = &info.graphs[block.graph.unwrap() as usize];
            assert_eq!(Some(&graph.method), block.method.as_ref());
        }
    }
}

#[test]
fn rule_8_methods_that_share_instruction_ids_are_told_apart_by_their_kernels() {
    let document = open(&["multi_method.etrecord", "multi_method.etdp"]);
    let view = view(&document);
    let mut seen = Vec::new();
    for (b, block) in view.blocks().iter().enumerate() {
        let (Some(graph), Some(attribution)) = (view.matches[b].graph, view.attribution(b)) else { continue };
        let graph = &view.graphs()[graph];
        for (event, belongs) in block.events.iter().zip(&attribution.events) {
            if event.kind == EventKind::NativeCall && event.instruction == Some(2) {
                let op = graph.op(belongs.nodes[0]).to_owned();
                seen.push((graph.method.to_string(), event.name.to_string(), op));
            }
        }
    }
    let of = |method: &str, kernel: &str, op: &str| (method.to_owned(), kernel.to_owned(), op.to_owned());
    assert_eq!(
        seen,
        [
            of("encode", "native_call_relu.out", "aten.relu.default"),
            of("decode", "native_call_gelu.out", "aten.gelu.default"),
        ]
    );
}

#[test]
fn rule_8_what_the_user_chose_is_kept() {
    let mut document = open(&["multi_method.etrecord", "multi_method.etdp"]);
    let info = document.view_info(0).unwrap();
    let block = info.blocks.iter().find(|b| b.method.as_deref() == Some("encode")).unwrap().id;
    let info = document.set_method(0, block, Some("decode")).unwrap();
    let chosen = &info.blocks[block as usize];
    assert_eq!(chosen.method.as_deref(), Some("decode"));
    // The fit says what it says, and the page warns.
    let score = chosen.fit.as_ref().unwrap().score;
    assert!(score < 0.98, "{score}");
    assert!(!chosen.fit.as_ref().unwrap().reasons.is_empty());
    // It stays when something else is opened, and until it is taken back.
    let more = oracle::fixtures().join("corpus/tiny_cnn.etrecord");
    let source = std::rc::Rc::new(etscope::source::FileSource::open(&more).unwrap());
    document.open(vec![("tiny".to_owned(), source)]);
    let views = (0..2).map(|v| document.view_info(v).unwrap());
    let kept =
        views.filter(|v| v.dump.is_some()).find(|v| v.record.as_ref().unwrap().name.starts_with("multi")).unwrap();
    assert_eq!(kept.blocks[block as usize].method.as_deref(), Some("decode"));
    let info = document.set_method(kept.id, block, None).unwrap();
    assert_eq!(info.blocks[block as usize].method.as_deref(), Some("encode"));
    let error = document.set_method(kept.id, block, Some("no_such")).unwrap_err();
    assert!(error.message.contains("no_such"), "{error:?}");
}
