//! Opening files and asking for all that the page can ask for, so that nothing of an odd file
//! stays untouched.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::rc::Rc;

use etscope::document::Document;
use etscope::document::info::{OpenResult, ViewInfo};
use etscope::model::Grouping;
use etscope::overlay::Metric;
use etscope::source::ByteSource;

const GROUPINGS: [Grouping; 3] = [Grouping::Module, Grouping::Delegate, Grouping::Flat];

pub fn open(files: Vec<(&str, Vec<u8>)>) -> (Document, OpenResult) {
    let source = |(name, bytes): (&str, Vec<u8>)| (name.to_owned(), Rc::new(bytes) as Rc<dyn ByteSource>);
    let mut document = Document::default();
    let result = document.open(files.into_iter().map(source).collect());
    (document, result)
}

/// Reads every graph that is only listed, and the insides of every delegate call. What cannot be
/// read is an error that says what to do.
fn load_all(document: &mut Document, view: u32) -> ViewInfo {
    let info = document.view_info(view).unwrap();
    for graph in &info.graphs {
        if graph.loaded {
            for node in 0..graph.nodes {
                if let Some(lowered) = document.node_details(view, graph.id, None, node).unwrap().lowered
                    && lowered.ops > 0
                {
                    let _ = document.open_inside(view, graph.id, node);
                }
            }
        } else if let Err(error) = document.load_graph(view, graph.id) {
            assert!(error.message.len() > 10, "{error:?}");
        }
    }
    document.view_info(view).unwrap()
}

/// Draws and asks for everything.
pub fn use_all(document: &mut Document) {
    let mut view = 0;
    while document.view_info(view).is_ok() {
        use_view(document, view);
        view += 1;
    }
}

fn use_view(document: &mut Document, view: u32) {
    let info = load_all(document, view);
    let block = info.blocks.first().map(|b| b.id);
    for graph in info.graphs.iter().filter(|g| g.loaded) {
        for grouping in GROUPINGS {
            let open = document.initial_expansion(view, graph.id, grouping).unwrap();
            let scene = document.scene(view, graph.id, grouping, &open).unwrap();
            assert!(scene.boxes.iter().all(|v| v.is_finite()));
            document.group_details(view, graph.id, block, grouping, 0, true).unwrap();
            for block in &info.blocks {
                document.overlay(view, graph.id, block.id, grouping, Metric::P90, true).unwrap();
            }
        }
        for partition in 0..graph.partitions {
            document.partition_details(view, graph.id, block, partition).unwrap();
        }
        for node in 0..graph.nodes {
            document.locate(view, graph.id, Grouping::Module, node).unwrap();
            for argument in document.node_details(view, graph.id, block, node).unwrap().arguments {
                // Weights that cannot be read are an error, never more.
                let _ = document.tensor_values(view, graph.id, node, &argument.text);
            }
        }
    }
    for block in &info.blocks {
        document.events(view, block.id, 0, 100).unwrap();
    }
    document.view(view).unwrap().report("ns");
}
