//! The report example: its output is as `schemas/report.schema.json` says, and a file it
//! cannot read gives one line and a failing exit.

mod oracle;

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// Tests are built together with the examples; they lie beside the test's own folder.
fn report(arguments: &[&str]) -> Output {
    let mut folder = std::env::current_exe().unwrap();
    folder.pop();
    folder.pop();
    let program: PathBuf = folder.join("examples").join(format!("report{}", std::env::consts::EXE_SUFFIX));
    Command::new(program).args(arguments).current_dir(oracle::fixtures().join("corpus")).output().unwrap()
}

/// The parts of JSON Schema that the schema uses.
fn check(schema: &Value, value: &Value, place: &str) {
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array) {
        assert!(allowed.contains(value), "{place}: {value}");
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return,
    };
    let is = |kind: &&str| match *kind {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{place}: the schema has a type {other}"),
    };
    assert!(kinds.iter().any(is), "{place}: {value} is none of {kinds:?}");
    if let Some(items) = value.as_array() {
        items.iter().enumerate().for_each(|(i, item)| check(&schema["items"], item, &format!("{place}[{i}]")));
    }
    if let Some(members) = value.as_object() {
        for required in schema["required"].as_array().into_iter().flatten() {
            assert!(members.contains_key(required.as_str().unwrap()), "{place} lacks {required}");
        }
        for (key, member) in members {
            let known = schema["properties"].get(key);
            check(
                known.unwrap_or_else(|| panic!("{place}.{key} is not in the schema")),
                member,
                &format!("{place}.{key}"),
            );
        }
    }
}

#[test]
fn every_report_is_as_the_schema_says() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/report.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    for pair in oracle::pairs() {
        let output = report(&[&pair.etdump, &pair.etrecord, "--scale", if pair.cycles { "cycles" } else { "ns" }]);
        assert!(output.status.success(), "{}", pair.name);
        check(&schema, &serde_json::from_slice(&output.stdout).unwrap(), &pair.name);
    }
    for alone in ["tiny_cnn.etrecord", "tiny_cnn.etdp"] {
        let output = report(&[alone]);
        assert!(output.status.success());
        check(&schema, &serde_json::from_slice(&output.stdout).unwrap(), alone);
    }
}

#[test]
fn a_method_can_be_chosen() {
    let output = report(&["multi_method.etrecord", "multi_method.etdp", "--method", "encode"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let methods: Vec<&Value> = value["blocks"].as_array().unwrap().iter().map(|b| &b["method"]).collect();
    assert!(methods.iter().all(|m| m.is_null() || *m == "encode"), "{methods:?}");
}

#[test]
fn what_cannot_be_read_is_one_line_and_a_failure() {
    for arguments in [
        &["pairs.json"][..],
        &["no_such_file"],
        &["tiny_cnn.etdp", "--scale", "fortnights"],
        &["tiny_cnn.etdp", "--scale"],
        &["--frobnicate"],
        &[],
        &["multi_method.etrecord", "multi_method.etdp", "--method", "nope"],
    ] {
        let output = report(arguments);
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.len() > 10, "{text}");
    }
}
