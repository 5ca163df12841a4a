//! Records and dumps made up from a seed: valid, but as odd as real ones get.

#![allow(dead_code)]

use std::io::{Cursor, Write};
use std::rc::Rc;

use etscope::document::Document;
use etscope::etdump::generated as fb;
use etscope::source::ByteSource;
use flatbuffers::FlatBufferBuilder;
use proptest::prelude::*;
use serde_json::json;
use zip::write::SimpleFileOptions;

/// A node of the graph.
#[derive(Debug, Clone)]
pub struct Op {
    /// One of [`OPS`].
    pub op: usize,
    /// Several nodes may have one debug handle.
    pub handle: i64,
    /// Which modules it is in, outermost first.
    pub modules: Vec<u8>,
    /// How many of the nodes before it, counted back, it reads.
    pub reads: Vec<u8>,
    /// The delegate that runs it.
    pub partition: Option<u8>,
}

/// What the runtime measured of one instruction.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Ticks of its parts; of a kernel the first, of a delegate call each an op inside.
    pub ticks: Vec<u32>,
    /// Ticks around the parts.
    pub around: u32,
    /// The kind of its delegate debug ids: 0 numbers, 1 texts, 2 texts that hold a key, 3 names
    /// of kinds.
    pub ids: u8,
    /// Whether the record knows it.
    pub mapped: bool,
    /// Whether the delegate's ops tick on another, faster clock.
    pub other_clock: bool,
}

/// A record and a dump of it.
#[derive(Debug, Clone)]
pub struct Pair {
    pub ops: Vec<Op>,
    pub ran: Vec<Ran>,
    /// Per run, the ticks of `Method::execute` around its instructions, and a factor of all times.
    pub runs: Vec<(u32, u16)>,
    /// A kernel that the record knows nothing of.
    pub stranger: bool,
}

pub const OPS: [(&str, &str); 8] = [
    ("aten.convolution.default", "convolution"),
    ("aten.add.Tensor", "add"),
    ("aten.relu.default", "relu"),
    ("aten.addmm.default", "addmm"),
    ("aten._softmax.default", "_softmax"),
    ("aten.permute_copy.default", "permute_copy"),
    ("aten.mean.dim", "mean"),
    ("aten.cat.default", "cat"),
];

const KINDS: [&str; 6] = [
    "Convolution (NHWC, F32) IGEMM",
    "Add (ND)",
    "Fully Connected (NC, F32) GEMM",
    "Softmax (NC, F32)",
    "Transpose (ND, X32)",
    "Clamp (NC, F32)",
];

fn op() -> impl Strategy<Value = Op> {
    let modules = prop::collection::vec(0..3_u8, 0..4);
    let reads = prop::collection::vec(0..6_u8, 0..3);
    (0..OPS.len(), 1..12_i64, modules, reads, prop::option::weighted(0.4, 0..3_u8))
        .prop_map(|(op, handle, modules, reads, partition)| Op { op, handle, modules, reads, partition })
}

fn ran() -> impl Strategy<Value = Ran> {
    (
        prop::collection::vec(0..5000_u32, 1..6),
        0..400_u32,
        0..4_u8,
        prop::bool::weighted(0.9),
        prop::bool::weighted(0.1),
    )
        .prop_map(|(ticks, around, ids, mapped, other_clock)| Ran { ticks, around, ids, mapped, other_clock })
}

/// Any pair.
pub fn pair() -> impl Strategy<Value = Pair> {
    let ops = prop::collection::vec(op(), 1..24);
    let runs = prop::collection::vec((0..1000_u32, 1..5_u16), 1..5);
    (ops, prop::collection::vec(ran(), 24), runs, any::<bool>()).prop_map(|(ops, ran, runs, stranger)| Pair {
        ops,
        ran,
        runs,
        stranger,
    })
}

/// An instruction: the nodes it runs, and its partition.
struct Instruction {
    nodes: Vec<usize>,
    partition: Option<u8>,
}

impl Pair {
    fn instructions(&self) -> Vec<Instruction> {
        let mut all: Vec<Instruction> = Vec::new();
        for (node, op) in self.ops.iter().enumerate() {
            let known = all.iter_mut().find(|i| op.partition.is_some() && i.partition == op.partition);
            match known {
                Some(known) => known.nodes.push(node),
                None => all.push(Instruction { nodes: vec![node], partition: op.partition }),
            }
        }
        all
    }

    fn program(&self) -> serde_json::Value {
        let tensor = json!({
            "dtype": 7, "sizes": [{ "as_int": 4 }], "requires_grad": false, "device": { "type": "cpu" },
            "strides": [{ "as_int": 1 }], "storage_offset": { "as_int": 0 }, "layout": 7
        });
        let name = |i: usize| format!("node_{i}");
        let mut values = serde_json::Map::new();
        values.insert("x".to_owned(), tensor.clone());
        let nodes: Vec<_> = (0..self.ops.len())
            .map(|i| {
                let op = &self.ops[i];
                values.insert(name(i), tensor.clone());
                let read = |back: &u8| match i.checked_sub(1 + usize::from(*back)) {
                    Some(node) => name(node),
                    None => "x".to_owned(),
                };
                let inputs: Vec<_> = op
                    .reads
                    .iter()
                    .enumerate()
                    .map(
                        |(n, back)| json!({ "name": format!("in{n}"), "arg": { "as_tensor": { "name": read(back) } } }),
                    )
                    .collect();
                let mut path = String::new();
                let mut stack = vec!["L__self__,,torch.Root".to_owned()];
                for module in &op.modules {
                    path.push_str(&format!("{}m{module}", if path.is_empty() { "" } else { "." }));
                    stack.push(format!("L__self___{},{path},torch.M{module}", path.replace('.', "_")));
                }
                json!({
                    "name": name(i),
                    "target": format!("executorch.exir.dialects.edge.ops.{}", OPS[op.op].0),
                    "inputs": inputs,
                    "outputs": [{ "as_tensor": { "name": name(i) } }],
                    "metadata": { "debug_handle": op.handle.to_string(), "nn_module_stack": stack.join(";") },
                })
            })
            .collect();
        let last = json!({ "as_tensor": { "name": name(self.ops.len() - 1) } });
        json!({
            "graph_module": {
                "graph": {
                    "inputs": [{ "as_tensor": { "name": "x" } }], "outputs": [last.clone()], "nodes": nodes,
                    "tensor_values": values, "sym_int_values": {}, "sym_bool_values": {},
                    "is_single_tensor_return": false, "custom_obj_values": {}
                },
                "signature": {
                    "input_specs": [{ "user_input": { "arg": { "as_tensor": { "name": "x" } } } }],
                    "output_specs": [{ "user_output": { "arg": last } }]
                },
                "module_call_graph": []
            },
            "opset_version": { "aten": 10 }, "range_constraints": {},
            "schema_version": { "major": 8, "minor": 2 }, "dialect": "EDGE", "verifiers": []
        })
    }

    /// The bytes of the record.
    pub fn record(&self) -> Vec<u8> {
        let (mut handles, mut delegates) = (serde_json::Map::new(), serde_json::Map::new());
        for (id, instruction) in self.instructions().iter().enumerate() {
            let ran = &self.ran[id];
            if !ran.mapped {
                continue;
            }
            let listed: Vec<i64> = instruction.nodes.iter().map(|n| self.ops[*n].handle).collect();
            if instruction.partition.is_some() {
                handles.insert(id.to_string(), json!(listed));
                let mut ids = serde_json::Map::new();
                for part in 0..ran.ticks.len() {
                    let at = |n: usize| listed[n % listed.len()];
                    let key = match ran.ids {
                        0 => part.to_string(),
                        1 | 2 => format!("op_{part}"),
                        _ => continue,
                    };
                    ids.insert(key, json!([at(part), at(part + 1)]));
                }
                delegates.insert(id.to_string(), json!({ "name": "SomeBackend", "delegate_map": ids }));
            } else {
                handles.insert(id.to_string(), json!(listed[0]));
            }
        }
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let mut put = |name: &str, bytes: &[u8]| {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        };
        put("ETRECORD_V0", b"");
        put("edge_dialect_exported_program/forward", self.program().to_string().as_bytes());
        put("debug_handle_map", json!({ "forward": handles }).to_string().as_bytes());
        put("delegate_map", json!({ "forward": delegates }).to_string().as_bytes());
        zip.finish().unwrap().into_inner()
    }

    /// The bytes of the dump.
    pub fn dump(&self) -> Vec<u8> {
        let instructions = self.instructions();
        let mut now = 1_000_u64;
        let mut runs = Vec::new();
        for (around, factor) in &self.runs {
            let mut events = Vec::new();
            let begin = now;
            now += u64::from(*around);
            for (id, instruction) in instructions.iter().enumerate() {
                let ran = &self.ran[id];
                let id = i32::try_from(id).unwrap();
                let outer = now;
                now += u64::from(ran.around);
                let inner = now;
                if instruction.partition.is_some() {
                    let mut at = now;
                    for (n, base) in ran.ticks.iter().enumerate() {
                        let ticks = u64::from(*base) * u64::from(*factor);
                        let fast = if ran.other_clock { 1000 } else { 1 };
                        let op = Logged::new("", id, at, at + ticks * fast);
                        events.push(match ran.ids {
                            0 => Logged { number: i32::try_from(n).unwrap(), ..op },
                            1 => op.text(&format!("op_{n}")),
                            2 => op.text(&format!("backend op_{n} (fused)")),
                            _ => op.text(&format!("{} #{}", KINDS[(n + *base as usize) % KINDS.len()], n + 1)),
                        });
                        at += ticks;
                    }
                    now = at + u64::from(ran.around);
                    events.push(Logged::new("DELEGATE_CALL", id, inner, now));
                } else {
                    now += u64::from(ran.ticks[0]) * u64::from(*factor);
                    let name = OPS[self.ops[instruction.nodes[0]].op].1;
                    events.push(Logged::new(&format!("native_call_{name}.out"), id, inner, now));
                    now += u64::from(ran.around);
                    events.push(Logged::new("OPERATOR_CALL", id, outer, now));
                }
            }
            if self.stranger {
                events.push(Logged::new("native_call_odd.out", 999, now, now + 17));
                now += 17;
            }
            now += 3;
            events.push(Logged::execute(begin, now));
            now += 50;
            runs.push(events);
        }
        dump(&runs)
    }

    /// Both, opened together.
    pub fn open(&self) -> Document {
        open(vec![self.record(), self.dump()])
    }
}

/// Opens files, all of which must be good.
pub fn open(files: Vec<Vec<u8>>) -> Document {
    let mut document = Document::default();
    let name = |(i, bytes)| (format!("file {i}"), Rc::new(bytes) as Rc<dyn ByteSource>);
    let result = document.open(files.into_iter().enumerate().map(name).collect());
    assert!(result.rejected.is_empty(), "{:?}", result.rejected);
    document
}

/// One logged event.
#[derive(Debug, Clone)]
pub struct Logged {
    pub name: String,
    pub chain: i32,
    pub instruction: i32,
    pub number: i32,
    pub text: String,
    pub metadata: Vec<u8>,
    pub start: u64,
    pub end: u64,
}

impl Logged {
    /// An event of an instruction.
    pub fn new(name: &str, instruction: i32, start: u64, end: u64) -> Self {
        let (text, metadata) = (String::new(), Vec::new());
        Logged { name: name.to_owned(), chain: 0, instruction, number: -1, text, metadata, start, end }
    }

    /// `Method::execute`.
    pub fn execute(start: u64, end: u64) -> Self {
        Logged { chain: -1, ..Logged::new("Method::execute", -1, start, end) }
    }

    /// With this delegate debug id.
    pub fn text(self, text: &str) -> Self {
        Logged { text: text.to_owned(), ..self }
    }

    /// With this delegate metadata.
    pub fn metadata(self, metadata: &[u8]) -> Self {
        Logged { metadata: metadata.to_vec(), ..self }
    }
}

/// A dump of these runs, each an `Execute`.
pub fn dump(runs: &[Vec<Logged>]) -> Vec<u8> {
    let mut b = FlatBufferBuilder::new();
    let runs: Vec<_> = runs
        .iter()
        .map(|events| {
            let events: Vec<_> = events.iter().map(|e| event(&mut b, e)).collect();
            let events = Some(b.create_vector(&events));
            let name = Some(b.create_vector(&b"Execute"[..]));
            let args = fb::RunDataArgs { name, bundled_input_index: -1, events, allocators: None };
            fb::RunData::create(&mut b, &args)
        })
        .collect();
    let run_data = Some(b.create_vector(&runs));
    let dump = fb::ETDump::create(&mut b, &fb::ETDumpArgs { version: 0, run_data });
    b.finish_size_prefixed(dump, Some("ED00"));
    b.finished_data().to_vec()
}

fn event<'a>(b: &mut FlatBufferBuilder<'a>, of: &Logged) -> flatbuffers::WIPOffset<fb::Event<'a>> {
    let args = fb::ProfileEventArgs {
        name: Some(b.create_vector(of.name.as_bytes())),
        chain_index: of.chain,
        instruction_id: of.instruction,
        delegate_debug_id_int: of.number,
        delegate_debug_id_str: (!of.text.is_empty()).then(|| b.create_vector(of.text.as_bytes())),
        delegate_debug_metadata: (!of.metadata.is_empty()).then(|| b.create_vector(&of.metadata)),
        start_time: of.start,
        end_time: of.end,
    };
    let profile_event = Some(fb::ProfileEvent::create(b, &args));
    fb::Event::create(b, &fb::EventArgs { profile_event, allocation_event: None, debug_event: None })
}
