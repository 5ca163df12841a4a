//! Everything that Arm's ETRecord adapter for Model Explorer shows of a graph is in ours: the
//! same nodes, edges, attributes, inputs and outputs. What differs on purpose is listed here.

mod oracle;

use std::collections::{BTreeMap, BTreeSet};

use etscope::document::Document;
use etscope::document::info::{Argument, NodeDetails, TensorInfo};
use etscope::model::{Graph, NodeId, NodeKind};
use oracle::{adapter, open, pairs};
use serde_json::Value;

/// Defaults of operators' schemas that the adapter fills in from PyTorch. Programs are written
/// without them.
const DEFAULTS: [(&str, &str); 20] = [
    ("alpha", "1"),
    ("approximate", "none"),
    ("beta", "1"),
    ("ceil_mode", "False"),
    ("count_include_pad", "True"),
    ("device", "None"),
    ("dilation", "[1, 1]"),
    ("divisor_override", "None"),
    ("dtype", "None"),
    ("groups", "1"),
    ("implicit", "False"),
    ("keepdim", "False"),
    ("layout", "None"),
    ("non_blocking", "False"),
    ("out_dtype", "None"),
    ("padding", "[0, 0]"),
    ("pin_memory", "None"),
    ("step", "1"),
    ("stride", "[1, 1]"),
    ("stride", "[]"),
];

/// What the adapter shows of one graph, by node id.
struct Theirs {
    id: String,
    nodes: BTreeMap<String, Value>,
}

fn graphs(adapter: &Value) -> Vec<Theirs> {
    let graphs = adapter["collections"].as_array().into_iter().flatten().flat_map(|c| c["graphs"].as_array().unwrap());
    graphs
        .map(|graph| Theirs {
            id: graph["id"].as_str().unwrap().to_owned(),
            nodes: graph["nodes"].as_array().unwrap().iter().map(|n| (text(&n["id"]), n.clone())).collect(),
        })
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The adapter's id of a node.
fn id_of(graph: &Graph, node: NodeId) -> String {
    match graph.kinds[node.index()] {
        NodeKind::Inputs => "GraphInputs".to_owned(),
        NodeKind::Outputs => "GraphOutputs".to_owned(),
        _ => format!("{}_", graph.names[node.index()]),
    }
}

/// Its spelling of a tensor's values: six of them, with six decimals.
fn values(document: &Document, graph: u32, node: u32, argument: &Argument) -> Result<String, String> {
    let v = document.tensor_values(0, graph, node, &argument.text).map_err(|e| e.to_string())?;
    let shape: Vec<String> = v.shape.iter().map(f64::to_string).collect();
    let first: Vec<String> = v.first.iter().take(6).map(|t| format!("{:.6}", number(t))).collect();
    let more = if v.count > 6.0 { ", ..." } else { "" };
    let total = if v.count > 6.0 { format!(" ({} total)", v.count) } else { String::new() };
    Ok(format!("shape=[{}], dtype=torch.{}, values=[{}{more}]{total}", shape.join(", "), v.dtype, first.join(", ")))
}

/// Whether `_operator.add` is its `add`.
fn ours_is(op: &str, label: &str) -> bool {
    op.rsplit('.').next() == Some(label)
}

fn number(text: &str) -> f64 {
    match text {
        "True" => 1.0,
        "False" => 0.0,
        other => other.parse().unwrap(),
    }
}

#[derive(Default)]
struct Found {
    checked: BTreeMap<&'static str, usize>,
    missing: Vec<String>,
}

impl Found {
    fn check(&mut self, what: &'static str, good: bool, place: impl FnOnce() -> String) {
        *self.checked.entry(what).or_default() += 1;
        if !good {
            self.missing.push(format!("{what}: {}", place()));
        }
    }
}

fn compare(document: &Document, at: u32, graph: &Graph, theirs: &Theirs, found: &mut Found) {
    let ours: BTreeMap<String, NodeId> = graph.nodes().map(|n| (id_of(graph, n), n)).collect();
    let edges: BTreeSet<(String, u32, String)> =
        graph.edges.iter().map(|e| (id_of(graph, e.from), e.output, id_of(graph, e.to))).collect();
    for (id, node) in &theirs.nodes {
        let Some(our) = ours.get(id) else {
            found.check("node", false, || format!("{} {id}", theirs.id));
            continue;
        };
        found.check("node", true, String::new);
        let details = document.node_details(0, at, None, our.0).unwrap();
        let place = || format!("{} {id}", theirs.id);
        // Its label of an operator is ours of the module; nodes of partitions it files elsewhere.
        let label = node["label"].as_str().unwrap();
        let filed = text(&node["namespace"]);
        if matches!(graph.kinds[our.index()], NodeKind::Op) {
            // What no module of its own makes it labels by op, as we do all.
            let by_op = label.contains("::") || ours_is(&details.op, label);
            found.check("class", by_op || details.module_class.as_deref() == Some(label), || {
                format!("{} {id}: theirs {label}, ours {:?}", theirs.id, details.module_class)
            });
            match filed.strip_prefix("delegates/").and_then(|f| f.split('/').next()) {
                // We keep the module beside the partition. Rule 6: a native node is in no partition,
                // though one lists its handle too.
                Some(backend) => {
                    let natively = details.partition.is_none() && !details.instructions.is_empty();
                    let same = details.partition.as_ref().is_some_and(|p| p.backend == backend);
                    found.check("partition", same || natively, || {
                        format!("{} {id}: theirs {filed}, ours {:?}", theirs.id, details.partition)
                    });
                }
                None => found.check("module", details.namespace == filed, || {
                    format!(
                        "{} {id}: theirs {label} in {filed}, ours {:?} in {}",
                        theirs.id, details.module_class, details.namespace
                    )
                }),
            }
        }
        attributes(document, at, &details, node, found, &place);
        for edge in node["in"].as_array().unwrap() {
            let (from, output) = (text(&edge[0]), text(&edge[1]));
            let of = |index: u32| edges.contains(&(from.clone(), index, id.clone()));
            let known = if from == "GraphInputs" {
                let name = output.trim_end_matches('_');
                let inputs = document.node_details(0, at, None, ours["GraphInputs"].0).unwrap().outputs;
                // It takes lifted constants for inputs; to us they are constants.
                let constant =
                    details.arguments.iter().any(|a| a.producer.is_none() && a.target.as_deref() == Some(name));
                constant || inputs.iter().position(|i| i.name == name).is_some_and(|i| of(u32::try_from(i).unwrap()))
            } else if output.contains(':') {
                // It says `0:0` for each output of a tuple; ours is the one that is read.
                (0..1000).any(of)
            } else {
                of(output.parse().unwrap())
            };
            found.check("edge", known, || format!("{} {from}[{output}] -> {id}: {:?}", theirs.id, details.arguments));
        }
        let outputs = node["outputs"].as_array().unwrap();
        for (i, output) in outputs.iter().filter(|o| !text(&o["id"]).starts_with("_lifted_tensor_constant")).enumerate()
        {
            let our = details.outputs.get(i);
            found.check("output shape", our.is_some_and(|o| o.shape == text(&output["Shape"])), || {
                format!("{} {id} {i}: {:?} {output}", theirs.id, our)
            });
            if let Some(dtype) = output["DType"].as_str() {
                found.check("output dtype", our.is_some_and(|o| format!("[torch.{}]", o.dtype) == dtype), || {
                    format!("{} {id} {i}: {:?} {dtype}", theirs.id, our)
                });
            }
        }
        inputs(&details, node, found, &place);
    }
}

fn attributes(
    document: &Document,
    at: u32,
    ours: &NodeDetails,
    theirs: &Value,
    found: &mut Found,
    place: &dyn Fn() -> String,
) {
    for (name, value) in theirs["attrs"].as_object().unwrap() {
        let value = value.as_str().unwrap();
        // It names parameters by the last part of their path.
        let last = |target: &str| target.rsplit('.').next() == Some(name);
        let named = || ours.arguments.iter().filter(|a| a.name == *name || a.target.as_deref().is_some_and(last));
        let (good, our) = match name.as_str() {
            "Node Name" => (format!("{}_", ours.name) == value, ours.name.clone()),
            // It leaves the library out of what is not of the edge dialect.
            "Op Type" => (ours.op == value || ours.op.ends_with(&format!(".{value}")), ours.op.clone()),
            "CONST" => (ours.arguments.iter().any(|a| a.text == value), format!("{:?}", ours.arguments)),
            "debug_handle" => {
                (ours.debug_handle.map(|h| h.to_string()).as_deref() == Some(value), format!("{:?}", ours.debug_handle))
            }
            "Output Shapes" => {
                let shapes: Vec<&str> = ours.outputs.iter().map(|o| &*o.shape).collect();
                (shapes.join(", ") == value, shapes.join(", "))
            }
            _ if value.contains("values=[") => {
                let ours: Vec<String> =
                    named().map(|a| values(document, at, ours.id, a).unwrap_or_else(|e| e)).collect();
                (ours.iter().any(|o| o == value), format!("{ours:?}"))
            }
            // A default of the operator's schema, which the record does not hold.
            _ if named().next().is_none() => (DEFAULTS.contains(&(name.as_str(), value)), "nothing".to_owned()),
            _ => {
                let ours: Vec<String> = named()
                    .map(|a| match &a.tensor {
                        Some(t) if value.starts_with("shape=") => {
                            format!("shape={}, dtype=[torch.{}]", t.shape, t.dtype)
                        }
                        _ => a.text.clone(),
                    })
                    .collect();
                (ours.iter().any(|o| o == value), format!("{ours:?}"))
            }
        };
        found.check("attribute", good, || format!("{} {name}: theirs {value}, ours {our}", place()));
    }
}

fn inputs(ours: &NodeDetails, theirs: &Value, found: &mut Found, place: &dyn Fn() -> String) {
    for input in theirs["inputs"].as_array().unwrap() {
        let source = text(&input["Source Node"]);
        // It leaves arguments that are None out and shifts the names of what follows; the source of
        // a constant still has the right one: `stride_0`.
        let shifted = source.rsplit_once('_').map_or("", |(name, _)| name);
        let name = input["Arg Name"].as_str().unwrap_or_default();
        if theirs["id"] == "GraphOutputs" && input["Source Node"].is_null() {
            // All outputs in one.
            let shapes: Vec<&str> =
                ours.arguments.iter().filter_map(|a| a.tensor.as_ref()).map(|t| &*t.shape).collect();
            found.check("input", shapes.join(", ") == text(&input["Shape"]), || {
                format!("{} {input} {shapes:?}", place())
            });
            continue;
        }
        let good = ours.arguments.iter().any(|a| {
            let base = a.name.split('[').next().unwrap();
            let tensor = |good: &dyn Fn(&TensorInfo) -> bool| a.tensor.as_ref().is_some_and(good);
            match input["Const Value"].as_str() {
                Some(value) => (name.is_empty() || base == name || base == shifted) && a.text == value,
                // It gives the shapes of all outputs of the source; ours is that of the one that is read.
                None => {
                    input["Shape"].as_str().is_none_or(|shapes| tensor(&|t| shapes.contains(&t.shape)))
                        && input["DType"]
                            .as_str()
                            .is_none_or(|dtype| tensor(&|t| format!("[torch.{}]", t.dtype) == dtype))
                        && (source.is_empty()
                            || a.producer.is_some()
                            || a.text.trim_end_matches('_') == source.trim_end_matches('_'))
                        && (name.is_empty() || base == name)
                }
            }
        });
        found.check("input", good, || format!("{} {input}", place()));
    }
}

#[test]
fn everything_the_adapter_shows_is_in_the_graph() {
    let mut found = Found::default();
    let mut seen = BTreeSet::new();
    for pair in pairs() {
        let Some(oracle) = adapter(&pair.name) else { continue };
        if !seen.insert(pair.etrecord.clone()) {
            continue;
        }
        let document = open(&[&pair.etrecord]);
        let view = document.view(0).unwrap();
        for theirs in graphs(&oracle) {
            let at = view
                .graphs()
                .iter()
                .position(|g| *g.method == *theirs.id)
                .unwrap_or_else(|| panic!("{} has no {}", pair.name, theirs.id));
            compare(&document, u32::try_from(at).unwrap(), &view.graphs()[at], &theirs, &mut found);
        }
    }
    assert!(found.missing.is_empty(), "{} are missing:\n{}", found.missing.len(), found.missing.join("\n"));
    for (what, least) in [
        ("node", 400),
        ("edge", 400),
        ("attribute", 2800),
        ("input", 1500),
        ("output shape", 500),
        ("module", 80),
        ("partition", 270),
    ] {
        assert!(found.checked[what] >= least, "only {} of {what} were checked", found.checked[what]);
    }
}
