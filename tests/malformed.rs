//! Malformed inputs, each derived from a good file: refused with a message that says what to
//! do, opened in part with a diagnostic, or opened. Never a panic, a hang or a blow-up.

mod everything;
mod oracle;

use std::io::{Cursor, Read, Write};

use etscope::document::Document;
use etscope::document::info::OpenResult;
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

const GRAPH: &str = "edge_dialect_exported_program/forward";

type Entries = Vec<(String, Vec<u8>)>;

fn file(name: &str) -> Vec<u8> {
    std::fs::read(oracle::fixtures().join("corpus").join(name)).unwrap()
}

fn entries() -> Entries {
    let mut zip = ZipArchive::new(Cursor::new(file("tiny_cnn.etrecord"))).unwrap();
    (0..zip.len())
        .map(|i| {
            let mut entry = zip.by_index(i).unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            (entry.name().unwrap().into_owned(), bytes)
        })
        .collect()
}

fn pack_as(entries: &Entries, method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        zip.start_file(name.as_str(), SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn pack(entries: &Entries) -> Vec<u8> {
    pack_as(entries, CompressionMethod::Stored)
}

fn with(name: &str, bytes: impl Into<Vec<u8>>) -> Entries {
    let bytes = bytes.into();
    let mut all = entries();
    all.iter_mut().filter(|(n, _)| n == name).for_each(|(_, b)| *b = bytes.clone());
    all
}

fn without(names: &[&str]) -> Entries {
    entries().into_iter().filter(|(n, _)| !names.contains(&n.as_str())).collect()
}

fn graph_text() -> Vec<u8> {
    entries().into_iter().find(|(n, _)| n == GRAPH).unwrap().1
}

fn replaced(from: &[u8], to: &[u8], times: usize) -> Vec<u8> {
    let text = graph_text();
    let mut out = Vec::new();
    let (mut at, mut done) = (0, 0);
    while at < text.len() {
        if done < times && text[at..].starts_with(from) {
            out.extend_from_slice(to);
            at += from.len();
            done += 1;
        } else {
            out.push(text[at]);
            at += 1;
        }
    }
    assert!(done > 0, "nothing was replaced");
    out
}

/// The graph with its JSON changed.
fn edited(edit: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(&graph_text()).unwrap();
    edit(&mut value);
    pack(&with(GRAPH, serde_json::to_vec(&value).unwrap()))
}

fn nodes(value: &mut Value) -> &mut Vec<Value> {
    value["graph_module"]["graph"]["nodes"].as_array_mut().unwrap()
}

fn open(name: &str, bytes: Vec<u8>) -> (Document, OpenResult) {
    everything::open(vec![(name, bytes)])
}

fn refuse(name: &str, bytes: Vec<u8>) {
    let (_, result) = open(name, bytes);
    assert_eq!(result.rejected.len(), 1, "{name} was opened");
    let error = &result.rejected[0].error;
    assert!(error.message.len() > 10 && error.next.len() > 10, "{name}: {error:?}");
}

fn opens(name: &str, bytes: Vec<u8>) -> Document {
    let (mut document, result) = open(name, bytes);
    assert!(result.rejected.is_empty(), "{name}: {:?}", result.rejected);
    everything::use_all(&mut document);
    document
}

fn partial(name: &str, bytes: Vec<u8>, code: &str) {
    let document = opens(name, bytes);
    let codes: Vec<&str> = document.view_info(0).unwrap().diagnostics.iter().map(|d| d.code).collect();
    assert!(codes.contains(&code), "{name}: {codes:?}");
}

/// Overwrites the sizes or the offset of an entry in the central directory.
fn lie(at: usize, value: &[u8]) -> Vec<u8> {
    let mut bytes = file("tiny_cnn.etrecord");
    let name = GRAPH.as_bytes();
    let directory = (0..bytes.len() - 46 - name.len())
        .rev()
        .find(|i| {
            bytes[*i..].starts_with(b"PK\x01\x02")
                && bytes[i + 46..].starts_with(name)
                && bytes[i + 28] as usize == name.len()
        })
        .unwrap();
    bytes[directory + at..directory + at + value.len()].copy_from_slice(value);
    bytes
}

#[test]
fn records_that_are_none_or_are_damaged_are_refused() {
    let good = file("tiny_cnn.etrecord");
    refuse("empty", Vec::new());
    refuse("half", good[..good.len() / 2].to_vec());
    refuse("tail", good[..good.len() - 10].to_vec());
    refuse("no marker", pack(&without(&["ETRECORD_V0"])));
    refuse("only marker", pack(&vec![("ETRECORD_V0".to_owned(), Vec::new())]));
    refuse("other zip", pack(&vec![("word/document.xml".to_owned(), b"<w/>".to_vec())]));
    refuse("size lies", lie(20, &[0, 0, 0, 0xC0, 0, 0, 0, 0xC0]));
    refuse("offset lies", lie(42, &[0xF0, 0xFF, 0xFF, 0x7F]));
    let text = graph_text();
    let tail = &text[text.len() - 40..];
    let at = good.windows(40).position(|w| w == tail).unwrap();
    let mut damaged = good.clone();
    damaged[at..at + 40].reverse();
    refuse("checksum", damaged);
}

#[test]
fn parts_that_are_missing_or_odd_cost_themselves_only() {
    opens("no edge graph", pack(&without(&[GRAPH])));
    opens("no weights", pack(&without(&[&format!("{GRAPH}_state_dict"), &format!("{GRAPH}_example_inputs")])));
    partial("no handle map", pack(&without(&["debug_handle_map"])), "no-debug-handle-map");
    opens("no delegate map", pack(&without(&["delegate_map", "instruction_id_to_num_outs_map"])));
    partial("handle map a list", pack(&with("debug_handle_map", "[1, 2, 3]")), "map-value");
    partial("handle map no JSON", pack(&with("debug_handle_map", "{\"forward\"")), "map-unreadable");
    let odd = r#"{"forward": {"0": null, "1": "x", "2": [1, null, "3"], "-1": 4, "99999999999": 5, "3": 1e3}}"#;
    partial("handle map odd", pack(&with("debug_handle_map", odd)), "map-value");
    let text = graph_text();
    for (name, graph) in [
        ("ends early", text[..text.len() / 3].to_vec()),
        ("pickle", b"\x80\x04pickle".to_vec()),
        ("wrong shape", br#"{"graph_module": {"graph": {"nodes": {}, "inputs": 3}}}"#.to_vec()),
        ("empty object", b"{}".to_vec()),
        ("nothing", Vec::new()),
        ("deep arrays", [b"[".repeat(100_000), b"]".repeat(100_000)].concat()),
        ("deep objects", [br#"{"a":"#.repeat(100_000), b"1".to_vec(), b"}".repeat(100_000)].concat()),
        ("long string", [br#"{"graph_module": ""#.to_vec(), b"A".repeat(16 << 20), br#""}"#.to_vec()].concat()),
    ] {
        // The exported program of the record is shown instead.
        partial(name, pack(&with(GRAPH, graph)), "graph-unreadable");
    }
    let alone: Entries =
        with(GRAPH, &text[..text.len() / 2]).into_iter().filter(|(n, _)| !n.starts_with("exported_program")).collect();
    partial("ends early, alone", pack(&alone), "graph-unreadable");
}

#[test]
fn odd_graphs_open() {
    opens("not UTF-8", pack(&with(GRAPH, replaced(b"aten_", b"at\xff\xfe_", 3))));
    opens("NaN", pack(&with(GRAPH, replaced(br#""as_int": 1}"#, br#""as_float": NaN}"#, 1))));
    opens("minus infinity", pack(&with(GRAPH, replaced(br#""as_int": 1}"#, br#""as_float": -Infinity}"#, 1))));
    let digits = [br#""as_int": "#.to_vec(), b"9".repeat(400), b"}".to_vec()].concat();
    opens("huge number", pack(&with(GRAPH, replaced(br#""as_int": 1}"#, &digits, 1))));
    partial(
        "dangling",
        edited(|v| nodes(v)[0]["inputs"][0]["arg"] = json!({"as_tensor": {"name": "no_such_value"}})),
        "value-without-node",
    );
    opens(
        "circle",
        edited(|v| {
            let last = nodes(v).last().unwrap()["outputs"][0].clone();
            nodes(v)[0]["inputs"][0]["arg"] = last;
        }),
    );
    partial(
        "twice",
        edited(|v| {
            let first = nodes(v)[0].clone();
            nodes(v).push(first);
        }),
        "duplicate-node",
    );
    opens(
        "metadata",
        edited(|v| {
            let odd = [
                json!(null),
                json!({}),
                json!({"debug_handle": "x", "nn_module_stack": ";;,,", "stack_trace": "\u{0}", "from_node": "[{"}),
                json!({"debug_handle": "-5"}),
            ];
            for (i, node) in nodes(v).iter_mut().enumerate() {
                node["metadata"] = odd[i % 4].clone();
            }
        }),
    );
    partial(
        "future",
        edited(|v| {
            v["schema_version"] = json!({"major": 99, "minor": 0});
            nodes(v)[0]["inputs"][0]["arg"] = json!({"as_something_new": {"a": 1}});
        }),
        "argument-kind",
    );
    partial(
        "nodes that are none",
        edited(|v| nodes(v).extend([json!(3), json!(null), json!("x"), json!({})])),
        "node-shape",
    );
}

#[test]
fn odd_archives_open() {
    opens("deflated", pack_as(&entries(), CompressionMethod::Deflated));
    opens("prefixed", [b"#!/bin/sh\n".repeat(20), file("tiny_cnn.etrecord")].concat());
    let mut more = entries();
    more.extend([
        ("../../evil".to_owned(), b"{}".to_vec()),
        ("/abs/olute".to_owned(), b"{}".to_vec()),
        ("x".repeat(4000), b"{}".to_vec()),
        ("new_map_v9".to_owned(), b"{}".to_vec()),
    ]);
    opens("more entries", pack(&more));
    let bomb = with(&format!("{GRAPH}_state_dict"), vec![0; 64 << 20]);
    opens("bomb beside the graph", pack_as(&bomb, CompressionMethod::Deflated));
    let bomb = [br#"{"graph_module": ""#.to_vec(), b"A".repeat(64 << 20), br#""}"#.to_vec()].concat();
    partial("bomb as the graph", pack_as(&with(GRAPH, bomb), CompressionMethod::Deflated), "graph-unreadable");
}

/// Position of a vector field of a flatbuffer table.
fn vector_at(bytes: &[u8], table: usize, field: usize) -> usize {
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let vtable = (table as i64 - i64::from(u32_at(table) as i32)) as usize;
    let at = table + usize::from(u16::from_le_bytes(bytes[vtable + 4 + 2 * field..][..2].try_into().unwrap()));
    at + u32_at(at) as usize
}

#[test]
fn dumps_that_are_none_or_are_damaged_are_refused() {
    let good = file("tiny_cnn.etdp");
    let set = |at: usize, value: u32| {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    let root = 4 + u32::from_le_bytes(good[4..8].try_into().unwrap()) as usize;
    let runs = vector_at(&good, root, 1);
    refuse("short", good[..11].to_vec());
    refuse("half", good[..good.len() / 2].to_vec());
    refuse("id", [&good[..8], b"XX99", &good[12..]].concat());
    refuse("text", b"Profil\xe9\n".repeat(50));
    refuse("root", set(4, 0xFFFF_FFF0));
    refuse("vtable", set(root, 0x7FFF_FFF0));
    refuse("length", set(runs, 0x7FFF_FFFF));
    refuse("element", set(runs + 4, 0x7FFF_FFF0));
    opens("trailing bytes", [good.clone(), vec![0; 64]].concat());
    let run = runs + 4 + u32::from_le_bytes(good[runs + 4..runs + 8].try_into().unwrap()) as usize;
    let name = vector_at(&good, run, 0);
    let mut bytes = good.clone();
    bytes[name + 4..name + 6].copy_from_slice(b"\xff\xfe");
    opens("name", bytes);
    let events = vector_at(&good, run, 3);
    let at = |i: usize| u32::from_le_bytes(good[events + 4 * i..events + 4 * i + 4].try_into().unwrap());
    let mut bytes = good.clone();
    for i in 0..at(0) {
        let place = events + 4 + 4 * i as usize;
        bytes[place..place + 4].copy_from_slice(&(at(1).saturating_sub(4 * i)).to_le_bytes());
    }
    opens("shared events", bytes);
}

#[test]
fn any_changed_byte_is_survived() {
    for (name, step) in [("tiny_cnn.etdp", 1), ("odd_debug_values.etdp", 3), ("tiny_cnn.etrecord", 97)] {
        let good = file(name);
        for at in (0..good.len()).step_by(step) {
            for flip in [0x01, 0x80, 0xFF] {
                let mut bytes = good.clone();
                bytes[at] ^= flip;
                let (document, result) = open(name, bytes);
                if result.current.is_some() {
                    document.view_info(0).unwrap();
                }
            }
        }
    }
}
