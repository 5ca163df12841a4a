//! Malformed inputs, each derived from a good file: refused with a message that says what to
//! do, opened in part with a diagnostic, or opened. Never a panic, a hang or a blow-up.

mod everything;
mod oracle;
mod zips;

use std::io::Cursor;

use etscope::document::Document;
use etscope::document::info::OpenResult;
use etscope::etdump::generated as fb;
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive};
use zips::Entries;

const GRAPH: &str = "edge_dialect_exported_program/forward";

fn file(name: &str) -> Vec<u8> {
    std::fs::read(oracle::fixtures().join("corpus").join(name)).unwrap()
}

fn entries() -> Entries {
    zips::entries(file("tiny_cnn.etrecord"))
}

fn deflated(entries: &Entries) -> Vec<u8> {
    zips::pack_as(zips::borrowed(entries), zips::by(CompressionMethod::Deflated))
}

fn pack(entries: &Entries) -> Vec<u8> {
    zips::pack_as(zips::borrowed(entries), zips::by(CompressionMethod::Stored))
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
    opens("deflated", deflated(&entries()));
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
    opens("bomb beside the graph", deflated(&bomb));
    let bomb = [br#"{"graph_module": ""#.to_vec(), b"A".repeat(64 << 20), br#""}"#.to_vec()].concat();
    partial("bomb as the graph", deflated(&with(GRAPH, bomb)), "graph-unreadable");
}

/// An entry as a directory tells of it, true or not.
struct Told<'a> {
    name: &'a str,
    deflated: bool,
    size: u64,
    crc: u32,
    data: &'a [u8],
    /// Where the directory says its header is: at that of the entry of this index.
    at: usize,
}

fn told<'a>(name: &'a str, data: &'a [u8], at: usize) -> Told<'a> {
    Told { name, deflated: false, size: data.len() as u64, crc: crc32fast::hash(data), data, at }
}

/// A zip, all sizes as zip64, that says what it is told.
fn zip_of(entries: &[Told<'_>]) -> Vec<u8> {
    let le = |n: usize, bytes: usize| n.to_le_bytes()[..bytes].to_vec();
    let header = |e: &Told<'_>, central: bool, at: u64| {
        let mut extra: Vec<u8> = [le(1, 2), le(if central { 24 } else { 16 }, 2)].concat();
        extra.extend(e.size.to_le_bytes());
        extra.extend((e.data.len() as u64).to_le_bytes());
        if central {
            extra.extend(at.to_le_bytes());
        }
        let full = le(0xffff_ffff, 4);
        let mut out = if central { [b"PK\x01\x02".to_vec(), le(45, 2)].concat() } else { b"PK\x03\x04".to_vec() };
        out.extend([le(45, 2), le(0, 2), le(if e.deflated { 8 } else { 0 }, 2), le(0, 2), le(0x5c21, 2)].concat());
        out.extend(e.crc.to_le_bytes());
        out.extend([full.clone(), full.clone(), le(e.name.len(), 2), le(extra.len(), 2)].concat());
        if central {
            out.extend([le(0, 2), le(0, 2), le(0, 2), le(0, 4), full].concat());
        }
        out.extend(e.name.as_bytes());
        out.extend(extra);
        out
    };
    let (mut out, mut starts) = (Vec::new(), Vec::new());
    for entry in entries {
        starts.push(out.len() as u64);
        if entry.at == starts.len() - 1 {
            out.extend(header(entry, false, 0));
            out.extend(entry.data);
        }
    }
    let directory = out.len();
    entries.iter().for_each(|e| out.extend(header(e, true, starts[e.at])));
    let length = out.len() - directory;
    let (count, end) = (entries.len(), out.len());
    out.extend([b"PK\x06\x06".to_vec(), le(44, 8), le(45, 2), le(45, 2), le(0, 4), le(0, 4)].concat());
    out.extend([le(count, 8), le(count, 8), le(length, 8), le(directory, 8)].concat());
    out.extend([b"PK\x06\x07".to_vec(), le(0, 4), le(end, 8), le(1, 4)].concat());
    out.extend([b"PK\x05\x06".to_vec(), le(0, 4), le(0xffff, 2), le(0xffff, 2)].concat());
    out.extend([le(0xffff_ffff, 4), le(0xffff_ffff, 4), le(0, 2)].concat());
    out
}

#[test]
fn zip64_archives_open() {
    let text = graph_text();
    opens("zip64", zip_of(&[told("ETRECORD_V0", b"", 0), told(GRAPH, &text, 1)]));
    let large = SimpleFileOptions::default().large_file(true);
    opens("large files", zips::pack_as(zips::borrowed(&entries()), large));
}

#[test]
fn of_two_entries_with_one_name_the_last_counts() {
    let text = graph_text();
    let entries = [told("ETRECORD_V0", b"", 0), told(GRAPH, b"{}", 1), told(GRAPH, &text, 2)];
    let document = opens("twice", zip_of(&entries));
    assert!(!oracle::view(&document).graphs()[0].is_empty());
}

#[test]
fn entries_that_lie_over_each_other_are_read_once() {
    let text = graph_text();
    let names: Vec<String> = (0..1000).map(|i| format!("edge_dialect_exported_program/m{i}")).collect();
    let mut entries = vec![told("ETRECORD_V0", b"", 0)];
    entries.extend(names.iter().map(|name| told(name, &text, 1)));
    let bytes = zip_of(&entries);
    assert!(bytes.len() < text.len() + 200 * 1001);
    // The local header names one of them; a reader that minds it refuses the others as well.
    let (document, result) = open("overlapping", bytes);
    assert!(result.rejected.is_empty(), "{:?}", result.rejected);
    assert_eq!(oracle::view(&document).graphs().len(), 1);
    let odd = document.view_info(0).unwrap().diagnostics;
    assert_eq!(odd.iter().filter(|d| d.code == "graph-unreadable").map(|d| d.count).sum::<u64>(), 999);
}

/// Deflated `unit` repeated: a block with a full flush can be repeated as it is.
fn bomb(unit: u8, times: usize) -> Vec<u8> {
    let mut deflate = flate2::Compress::new(flate2::Compression::best(), false);
    let mut block = Vec::with_capacity(64 << 10);
    deflate.compress_vec(&vec![unit; 1 << 20], &mut block, flate2::FlushCompress::Full).unwrap();
    assert_eq!(deflate.total_in(), 1 << 20);
    let mut out = block.repeat(times);
    out.extend([3, 0]);
    out
}

#[test]
fn ten_gigabytes_in_ten_megabytes_are_not_unpacked() {
    let text = graph_text();
    let size = 10_u64 << 30;
    for (name, unit) in [("zeros", 0), ("spaces", b' ')] {
        let data = bomb(unit, 10 << 10);
        let graph = |name| Told { name, deflated: true, size, crc: 0, data: &data, at: 1 };
        refuse(name, zip_of(&[told("ETRECORD_V0", b"", 0), graph(GRAPH)]));
        let map = [told("ETRECORD_V0", b"", 0), graph("debug_handle_map"), told(GRAPH, &text, 2)];
        partial(name, zip_of(&map), "map-unreadable");
        let beside = [told("ETRECORD_V0", b"", 0), graph("edge_dialect_exported_program/b"), told(GRAPH, &text, 2)];
        partial(name, zip_of(&beside), "graph-unreadable");
        // A size that is not true does not help.
        let lie = Told { size: 1 << 20, ..graph(GRAPH) };
        refuse(name, zip_of(&[told("ETRECORD_V0", b"", 0), lie]));
    }
}

#[test]
fn odd_json_opens() {
    let insert = |text: Vec<u8>| {
        replaced(br#"{"graph_module""#, &[b"{".to_vec(), text, br#""graph_module""#.to_vec()].concat(), 1)
    };
    let key = [b"\"".to_vec(), b"k".repeat(50 << 20), b"\": 1, ".to_vec()].concat();
    let document = opens("a key of 50 MB", pack(&with(GRAPH, insert(key))));
    assert_eq!(document.view_info(0).unwrap().diagnostics, []);
    let long = "n".repeat(100_000);
    let renamed = String::from_utf8(graph_text()).unwrap().replace("aten_relu_default", &long);
    let document = opens("a name of 100 kB", pack(&with(GRAPH, renamed)));
    assert!(oracle::view(&document).graphs()[0].names.iter().any(|name| **name == *long));
    opens(
        "a key twice",
        pack(&with(
            GRAPH,
            insert(br#""graph_module": {"graph": {"nodes": []}}, "dialect": 1, "dialect": 2, "#.to_vec()),
        )),
    );
    opens("lone surrogates", pack(&with(GRAPH, replaced(br#""aten_"#, br#""\ud800aten_\udfff\ud83d"#, 9))));
    opens("empty keys", pack(&with(GRAPH, insert(br#""": {"": [{}]}, "#.to_vec()))));
    let nested = [br#""deep": "#.to_vec(), b"[".repeat(100_000), b"]".repeat(100_000), b", ".to_vec()].concat();
    partial("deep beside the graph", pack(&with(GRAPH, insert(nested))), "graph-unreadable");
}

#[test]
fn a_damaged_method_costs_itself_only() {
    let bytes = file("multi_method.etrecord");
    let mut zip = ZipArchive::new(Cursor::new(&bytes)).unwrap();
    let graphs: Vec<(String, u64, u64)> = (0..zip.len())
        .filter_map(|i| {
            let entry = zip.by_index_raw(i).unwrap();
            let name = entry.name().unwrap().into_owned();
            let graph = name.starts_with("edge_dialect")
                && !["_state_dict", "_constants", "_inputs"].iter().any(|s| name.ends_with(s));
            graph.then(|| (name, entry.data_start().unwrap(), entry.size()))
        })
        .collect();
    assert!(graphs.len() > 1);
    for (name, start, size) in &graphs {
        let mut damaged = bytes.clone();
        let at = usize::try_from(start + size - 60).unwrap();
        damaged[at..at + 40].reverse();
        let document = opens(name, damaged);
        let view = oracle::view(&document);
        assert_eq!(view.graphs().len(), graphs.len() - 1, "{name}");
        assert!(document.view_info(0).unwrap().diagnostics.iter().any(|d| d.code == "graph-unreadable"));
    }
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

/// A dump whose events share one vector of `shared` bytes as metadata, name, id or shape.
fn sharing(events: usize, shared: usize, as_what: &str) -> Vec<u8> {
    let mut b = flatbuffers::FlatBufferBuilder::new();
    let bytes = b.create_vector(&vec![b'a'; shared]);
    let numbers = b.create_vector(&vec![1_i64; shared / 8]);
    let list: Vec<_> = (0..events)
        .map(|i| {
            let mut event = fb::EventArgs::default();
            if as_what == "shape" {
                let tensor = fb::TensorArgs { sizes: Some(numbers), strides: Some(numbers), ..Default::default() };
                let tensor = Some(fb::Tensor::create(&mut b, &tensor));
                let value = Some(fb::Value::create(&mut b, &fb::ValueArgs { val: 5, tensor, ..Default::default() }));
                let debug = fb::DebugEventArgs { debug_entry: value, ..Default::default() };
                event.debug_event = Some(fb::DebugEvent::create(&mut b, &debug));
            } else {
                let mut profile = fb::ProfileEventArgs { end_time: i as u64, ..Default::default() };
                match as_what {
                    "metadata" => profile.delegate_debug_metadata = Some(bytes),
                    "name" => profile.name = Some(bytes),
                    _ => profile.delegate_debug_id_str = Some(bytes),
                }
                event.profile_event = Some(fb::ProfileEvent::create(&mut b, &profile));
            }
            fb::Event::create(&mut b, &event)
        })
        .collect();
    let events = Some(b.create_vector(&list));
    let run = fb::RunData::create(&mut b, &fb::RunDataArgs { events, ..Default::default() });
    let run_data = Some(b.create_vector(&[run]));
    let root = fb::ETDump::create(&mut b, &fb::ETDumpArgs { version: 0, run_data });
    b.finish_size_prefixed(root, Some("ED00"));
    b.finished_data().to_vec()
}

#[test]
fn what_events_share_does_not_unfold() {
    for as_what in ["metadata", "name", "id", "shape"] {
        opens(as_what, sharing(2_000, 1_000, as_what));
        let bytes = sharing(50_000, 1 << 20, as_what);
        assert!(bytes.len() < 8 << 20);
        refuse(as_what, bytes);
    }
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
