//! Records of other releases: a record of the newest one, spelled as the older ones spelled it,
//! gives the same graph. The spellings are those of ExecuTorch's serializer at each release;
//! records that releases 0.6, 0.7 and 1.0 wrote themselves are in the corpus.

mod everything;
mod oracle;
mod zips;

use etscope::document::Document;
use etscope::model::Graph;
use serde_json::{Map, Value, json};
use zip::write::SimpleFileOptions;

const EDGE: &str = "edge_dialect_exported_program";
const RECORDS: [&str; 4] =
    ["tiny_cnn.etrecord", "dynamic_shapes.etrecord", "control_cond.etrecord", "mv2_portable.etrecord"];

struct Record(zips::Entries);

impl Record {
    fn read(name: &str) -> Self {
        let bytes = std::fs::read(oracle::fixtures().join("corpus").join(name)).unwrap();
        Record(zips::entries(bytes))
    }

    fn rename(mut self, from: &str, to: &str) -> Self {
        let mut found = false;
        for (name, _) in &mut self.0 {
            if let Some(rest) = name.strip_prefix(from) {
                *name = format!("{to}{rest}");
                found = true;
            }
        }
        assert!(found, "no {from}");
        self
    }

    fn without(mut self, start: &str) -> Self {
        let before = self.0.len();
        self.0.retain(|(name, _)| !name.starts_with(start));
        assert!(self.0.len() < before, "no {start}");
        self
    }

    fn edit(mut self, name: &str, edit: impl Fn(&mut Value)) -> Self {
        let (_, bytes) = self.0.iter_mut().find(|(n, _)| n == name).unwrap();
        let mut value = serde_json::from_slice(bytes).unwrap();
        edit(&mut value);
        *bytes = serde_json::to_vec(&value).unwrap();
        self
    }

    fn edit_edge(self, edit: impl Fn(&mut Value)) -> Self {
        self.edit(&format!("{EDGE}/forward"), edit)
    }

    fn open(&self) -> Document {
        let bytes = zips::pack_as(zips::borrowed(&self.0), SimpleFileOptions::default());
        let (mut document, result) = everything::open(vec![("record.etrecord", bytes)]);
        assert!(result.rejected.is_empty(), "{:?}", result.rejected);
        everything::use_all(&mut document);
        document
    }
}

fn graph(document: &Document) -> &Graph {
    &oracle::view(document).graphs()[0]
}

/// All that a user can see of the nodes, edges and values.
fn content(document: &Document) -> Vec<String> {
    let graph = graph(document);
    let mut out: Vec<String> = Vec::new();
    for node in graph.nodes() {
        let mut details = document.node_details(0, 0, None, node.0).unwrap();
        details.metadata.clear();
        out.push(format!("{} {details:?}", graph.names[node.index()]));
    }
    out.extend(graph.edges.iter().map(|e| format!("{:?}", (e.from, e.to))));
    out
}

fn codes(document: &Document) -> Vec<(&'static str, u64)> {
    document.view_info(0).unwrap().diagnostics.iter().map(|d| (d.code, d.count)).collect()
}

/// The record's graph is the same in another spelling, and nothing is odd about it.
fn same(name: &str, spell: impl Fn(Record) -> Record) {
    let (plain, spelled) = (Record::read(name).open(), spell(Record::read(name)).open());
    assert_eq!(content(&plain), content(&spelled), "{name}");
    assert_eq!(codes(&plain), codes(&spelled), "{name}");
}

/// Every object of the JSON, the innermost first.
fn each_object(value: &mut Value, edit: &impl Fn(&mut Map<String, Value>)) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(|v| each_object(v, edit));
            edit(map);
        }
        Value::Array(items) => items.iter_mut().for_each(|v| each_object(v, edit)),
        _ => {}
    }
}

#[test]
fn before_1_2_the_edge_program_has_no_method_in_its_name() {
    for name in RECORDS {
        same(name, |record| record.rename(&format!("{EDGE}/forward"), EDGE));
    }
}

#[test]
fn before_1_0_there_is_no_exported_program_and_no_output_map() {
    for name in RECORDS {
        same(name, |record| {
            let record = record.without("exported_program").without("export_graph_id");
            record.without("instruction_id_to_num_outs_map")
        });
    }
}

#[test]
fn the_first_releases_called_it_a_graph_module() {
    for name in RECORDS {
        let plain = Record::read(name).open();
        let spelled = Record::read(name)
            .without("exported_program")
            .rename(&format!("{EDGE}/forward"), "et_dialect_graph_module/forward")
            .open();
        assert_eq!(content(&plain), content(&spelled));
        assert_eq!(oracle::view(&spelled).graphs()[0].method.as_ref(), "forward");
    }
}

#[test]
fn every_schema_version_reads_alike() {
    for version in
        [json!(1), json!({"major": -1, "minor": -1}), json!({"major": 5, "minor": 3}), json!({"major": 8, "minor": 9})]
    {
        same("tiny_cnn.etrecord", |record| record.edit_edge(|v| v["schema_version"] = version.clone()));
    }
    same("tiny_cnn.etrecord", |record| record.edit_edge(|v| drop(v.as_object_mut().unwrap().remove("schema_version"))));
}

#[test]
fn unions_of_2023_spell_every_kind_with_nulls() {
    const KINDS: [&str; 8] =
        ["as_none", "as_tensor", "as_tensors", "as_int", "as_ints", "as_sym_int", "as_graph", "as_optional_tensors"];
    for name in RECORDS {
        same(name, |record| {
            record.edit_edge(|program| {
                each_object(program, &|map| {
                    let union = map.len() == 1 && map.keys().all(|k| k.starts_with("as_") && k != "as_none");
                    if union {
                        for kind in KINDS {
                            map.entry(kind).or_insert(Value::Null);
                        }
                    }
                });
            })
        });
    }
}

#[test]
fn tensors_of_2023_are_wrapped() {
    for name in RECORDS {
        same(name, |record| {
            record.edit_edge(|program| {
                let tensors = program["graph_module"]["graph"]["tensor_values"].as_object_mut().unwrap();
                tensors.values_mut().for_each(|t| *t = json!({"val": null, "meta": t.take()}));
            })
        });
    }
}

#[test]
fn nodes_without_names_are_named_by_their_outputs() {
    let record = Record::read("tiny_cnn.etrecord").edit_edge(|program| {
        for node in program["graph_module"]["graph"]["nodes"].as_array_mut().unwrap() {
            node.as_object_mut().unwrap().remove("name");
        }
    });
    assert_eq!(graph(&Record::read("tiny_cnn.etrecord").open()).names, graph(&record.open()).names);
}

#[test]
fn dialects_and_verifiers_may_be_missing_or_new() {
    for dialect in [json!("EDGE"), json!("ATEN"), json!("TRAINING"), json!("SOMETHING_NEW"), json!(null), json!(3)] {
        same("tiny_cnn.etrecord", |record| {
            record.edit_edge(|v| {
                v["dialect"] = dialect.clone();
                v.as_object_mut().unwrap().remove("verifiers");
            })
        });
    }
}

#[test]
fn fields_that_are_new_change_nothing() {
    same("control_cond.etrecord", |record| {
        record.edit_edge(|program| {
            program["future"] = json!({"a": [1, {"b": null}]});
            program["graph_module"]["future"] = json!([[]]);
            program["graph_module"]["graph"]["future"] = json!({"nodes": [1]});
            for node in program["graph_module"]["graph"]["nodes"].as_array_mut().unwrap() {
                node["future"] = json!({"as_tensor": {"name": "x"}});
            }
        })
    });
}

#[test]
fn argument_kinds_are_read_and_new_ones_kept_as_text() {
    let kinds = [
        (json!({"as_none": []}), ""),
        (json!({"as_int": -7}), "-7"),
        (json!({"as_ints": [1, 2]}), "[1, 2]"),
        (json!({"as_float": 0.5}), "0.5"),
        (json!({"as_floats": [0.5, 1.5]}), "[0.5, 1.5]"),
        (json!({"as_bool": false}), "False"),
        (json!({"as_bools": [true, false]}), "[True, False]"),
        (json!({"as_string": "gelu"}), "gelu"),
        (json!({"as_strings": ["a", "b"]}), "[a, b]"),
        (json!({"as_sym_int": {"as_int": 5}}), "5"),
        (json!({"as_sym_ints": [{"as_int": 5}, {"as_int": 6}]}), "[5, 6]"),
        (json!({"as_sym_bool": {"as_bool": true}}), "True"),
        (json!({"as_scalar_type": 7}), "torch.float32"),
        (json!({"as_memory_format": 2}), "torch.channels_last"),
        (json!({"as_layout": 7}), "torch.strided"),
        (json!({"as_device": {"type": "cuda", "index": 1}}), "cuda:1"),
        (json!({"as_operator": "aten.add"}), "aten.add"),
        (json!({"as_custom_obj": {"name": "obj", "class_fqn": "a.B"}}), "obj"),
        (json!({"as_novelty": {"x": 1}}), "as_novelty: {x: 1}"),
    ];
    let record = Record::read("tiny_cnn.etrecord").edit_edge(|program| {
        let node = &mut program["graph_module"]["graph"]["nodes"][0];
        let named = kinds.iter().enumerate().map(|(i, (arg, _))| json!({"name": format!("k{i}"), "arg": arg}));
        node["inputs"].as_array_mut().unwrap().extend(named);
    });
    let document = record.open();
    let first = graph(&document).nodes().find(|n| !graph(&document).op(*n).is_empty()).unwrap();
    let details = document.node_details(0, 0, None, first.0).unwrap();
    for (i, (arg, text)) in kinds.iter().enumerate() {
        let shown = details.arguments.iter().find(|a| a.name == format!("k{i}")).unwrap();
        assert_eq!(
            if text.is_empty() { &shown.kind } else { &shown.text },
            if text.is_empty() { "none" } else { text },
            "{arg}"
        );
    }
    assert!(codes(&document).contains(&("argument-kind", 1)), "{:?}", codes(&document));
}

#[test]
fn optional_tensors_keep_their_places() {
    let record = Record::read("tiny_cnn.etrecord").edit_edge(|program| {
        let node = &mut program["graph_module"]["graph"]["nodes"][1];
        let first = node["inputs"][0]["arg"].clone();
        let list = json!({"as_optional_tensors": [first, {"as_none": []}]});
        node["inputs"].as_array_mut().unwrap().push(json!({"name": "indices", "arg": list}));
    });
    let document = record.open();
    let any = graph(&document).nodes().any(|node| {
        let details = document.node_details(0, 0, None, node.0).unwrap();
        details.arguments.iter().any(|a| a.name.starts_with("indices") && a.producer.is_some())
    });
    assert!(any);
}

#[test]
fn symbolic_sizes_show_their_hint_and_range() {
    let document = Record::read("dynamic_shapes.etrecord").open();
    let mut lines: Vec<String> = Vec::new();
    for node in graph(&document).nodes() {
        let details = document.node_details(0, 0, None, node.0).unwrap();
        lines.extend(details.outputs.into_iter().flat_map(|o| o.symbols));
    }
    for expected in ["s77 was 4 while exporting", "2*s77 was 8 while exporting", "s77 is from 2 to 16"] {
        assert!(lines.iter().any(|line| line == expected), "{expected} not in {lines:?}");
    }
}
