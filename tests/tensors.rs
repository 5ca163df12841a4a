//! Weights and constants of real records: their values can be read, and are of the type and shape
//! that the program says. That the values are right is held against Arm's adapter in `adapter.rs`.

mod oracle;

use etscope::error::Code;
use oracle::{open, pairs};

#[test]
fn every_parameter_and_constant_of_every_record_is_read() {
    let mut records: Vec<String> = pairs().into_iter().map(|p| p.etrecord).collect();
    records.sort();
    records.dedup();
    let mut read = 0;
    for record in records {
        let document = open(&[&record]);
        for (g, graph) in document.view(0).unwrap().graphs().iter().enumerate() {
            let g = u32::try_from(g).unwrap();
            for node in graph.nodes() {
                let details = document.node_details(0, g, None, node.0).unwrap();
                for argument in details.arguments {
                    if !matches!(&*argument.kind, "parameter" | "buffer" | "constant") {
                        continue;
                    }
                    let place = format!("{record} {} {}", details.name, argument.text);
                    let said = argument.tensor.unwrap();
                    match document.tensor_values(0, g, node.0, &argument.text) {
                        Ok(values) => {
                            let shape: Vec<String> = values.shape.iter().map(f64::to_string).collect();
                            assert_eq!(
                                (&values.dtype, format!("[{}]", shape.join(", "))),
                                (&said.dtype, said.shape),
                                "{place}"
                            );
                            let bars: f64 = values.histogram.iter().flat_map(|h| &h.counts).sum();
                            assert_eq!(bars + values.not_finite, values.seen, "{place}");
                            assert_eq!(values.first.len(), (values.count as usize).min(16), "{place}");
                            read += 1;
                        }
                        Err(error) => panic!("{place}: {error}"),
                    }
                }
            }
        }
    }
    assert!(read > 1500, "{read}");
}

#[test]
fn what_has_no_values_in_the_record_says_so() {
    let document = open(&["tiny_cnn.etrecord"]);
    let details = document.node_details(0, 0, None, 1).unwrap();
    let input = details.arguments.iter().find(|a| a.kind == "input").unwrap();
    let error = document.tensor_values(0, 0, 1, &input.text).unwrap_err();
    assert_eq!(error.code, Code::NotFound);
    assert!(document.tensor_values(0, 0, 1, "no such name").is_err());
    assert!(document.tensor_values(0, 0, 999, "x").is_err());
}
