//! Every event of every pair equals ExecuTorch's Inspector, except where the rules of
//! attribution differ on purpose; each such place names its rule.

mod oracle;

use etscope::correlate::attribute::Belongs;
use etscope::profile::{Block, Event, EventKind, Stats};
use oracle::{OracleEvent, open_pair, pairs, view};
use serde_json::Value;

/// Nanoseconds of a millisecond.
const TICKS_PER_MS: f64 = 1e6;

fn numbers(value: &Option<Value>) -> Vec<i64> {
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_i64).collect(),
        Some(Value::Number(n)) => n.as_i64().into_iter().collect(),
        _ => Vec::new(),
    }
}

fn text(value: &Option<Value>) -> Option<String> {
    match value {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(other.to_string()),
    }
}

/// The Inspector names delegate events after their id.
fn same_name(event: &Event, oracle: &OracleEvent) -> bool {
    let name = oracle.name.as_deref().unwrap_or("");
    let id = event.delegate_id.as_ref().map(|id| id.to_string());
    let same_id = id == text(&oracle.delegate_debug_identifier);
    let instruction = match event.kind {
        // Rule 6: framework events have no instruction; the Inspector shows 0 for them.
        EventKind::Framework => true,
        _ => event.instruction.map(i64::from) == oracle.instruction_id.filter(|i| *i >= 0),
    };
    same_id && instruction && (name == &*event.name || id.as_deref() == Some(name))
}

/// Our samples in the Inspector's unit. It converts both ends of delegate ops before it
/// subtracts them, so that their samples are differences of large doubles; the same
/// arithmetic is done here.
fn in_unit(event: &Event, scale: f64) -> Vec<f64> {
    let convert = |(ticks, start): (&u64, &u64)| match event.kind {
        EventKind::DelegateOp => (start + ticks) as f64 / scale - *start as f64 / scale,
        _ => *ticks as f64 / scale,
    };
    event.samples.iter().zip(&event.starts).map(convert).collect()
}

fn samples_agree(event: &Event, oracle: &OracleEvent, scale: f64) -> bool {
    let raw = oracle.raw.clone().unwrap_or_default();
    let ours = in_unit(event, scale);
    raw.len() == ours.len() && raw.iter().zip(ours).all(|(raw, ours)| close(*raw, ours))
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}

fn statistics_agree(event: &Event, oracle: &OracleEvent, scale: f64) -> bool {
    let samples = in_unit(event, scale);
    let Some(ours) = Stats::of_f64(&samples) else { return oracle.avg.is_none() };
    [
        (oracle.avg, ours.avg),
        (oracle.min, ours.min),
        (oracle.max, ours.max),
        (oracle.p10, ours.p10),
        (oracle.p50, ours.p50),
        (oracle.p90, ours.p90),
    ]
    .iter()
    .all(|(theirs, ours)| theirs.is_some_and(|theirs| close(theirs, *ours)))
}

/// Rule 6: handles, and which kinds of events have none.
fn handles_agree(event: &Event, belongs: Option<&Belongs>, oracle: &OracleEvent) -> bool {
    let theirs = numbers(&oracle.debug_handles);
    let Some(belongs) = belongs else { return true };
    match event.kind {
        EventKind::Framework => belongs.handles.is_none(),
        // A delegate op has the handles of the delegate map; where its instruction calls no
        // delegate, the Inspector takes those of the instruction.
        EventKind::DelegateOp if belongs.partition.is_none() => belongs.handles.is_none(),
        _ => {
            let mut ours = belongs.handles.clone().unwrap_or_default();
            let mut theirs = theirs;
            ours.sort_unstable();
            theirs.sort_unstable();
            ours.dedup();
            theirs.dedup();
            ours == theirs
        }
    }
}

fn check(
    pair: &oracle::Pair,
    block: &Block,
    theirs: &oracle::OracleBlock,
    belongs: &dyn Fn(usize) -> Option<Belongs>,
) -> usize {
    let scale = if pair.cycles { 1.0 } else { TICKS_PER_MS };
    let mut free = vec![true; block.events.len()];
    let mut checked = 0;
    for event in &theirs.events {
        if event.raw.is_none() {
            // An event that only logged a value; those are not part of a profile.
            continue;
        }
        let found: Vec<usize> =
            (0..block.events.len()).filter(|i| free[*i] && same_name(&block.events[*i], event)).collect();
        let place = format!("{}, {}: {:?} {:?}", pair.name, block.name, event.name, event.instruction_id);
        let agrees = |i: &usize| samples_agree(&block.events[*i], event, scale);
        // Where an instruction logged a value under another name, the Inspector shows that name
        // on its call and kernel as well.
        let renamed = (0..block.events.len()).find(|i| {
            let ours = &block.events[*i];
            let call = matches!(ours.kind, EventKind::OperatorCall | EventKind::NativeCall | EventKind::DelegateCall);
            free[*i] && call && ours.instruction.map(i64::from) == event.instruction_id && agrees(i)
        });
        let best = found.iter().copied().find(agrees).or(renamed);
        let Some(i) = best.or(found.first().copied()) else { panic!("{place} is missing") };
        free[i] = false;
        let ours = &block.events[i];
        if ours.calls.iter().any(|calls| *calls > 1) {
            // Rule 2: repeats in one run are one event whose sample is their sum; the Inspector
            // keeps the last of them, which cannot be longer than the sum.
            for (raw, ticks) in event.raw.iter().flatten().zip(&ours.samples) {
                assert!(*raw * scale <= *ticks as f64 * (1.0 + 1e-9) + 1.0, "{place}");
            }
        } else if pair.name == "odd_wraparound" && !samples_agree(ours, event, scale) {
            // Rule 10: a 32-bit counter wraps at 2^32; the Inspector's interval is one tick short.
            let raw = event.raw.as_ref().unwrap()[0] * scale;
            assert!((ours.samples[0] as f64 - raw - 1.0).abs() < 1e-3, "{place}: {raw} and {}", ours.samples[0]);
        } else {
            assert!(samples_agree(ours, event, scale), "{place}: {:?} and {:?}", event.raw, ours.samples);
            assert!(statistics_agree(ours, event, scale), "{place}");
        }
        let belongs = belongs(i);
        assert!(handles_agree(ours, belongs.as_ref(), event), "{place}: {:?} and {belongs:?}", event.debug_handles);
        if event.is_delegated_op == Some(true) {
            assert_eq!(ours.kind, EventKind::DelegateOp, "{place}");
        }
        checked += 1;
    }
    // Debug-only events apart, nothing of ours is unknown to the Inspector.
    let left: Vec<&str> = (0..free.len()).filter(|i| free[*i]).map(|i| &*block.events[i].name).collect();
    assert!(left.is_empty(), "{}, {}: only ours: {left:?}", pair.name, block.name);
    checked
}

#[test]
fn every_event_equals_the_inspectors() {
    let (mut events, mut compared) = (0, 0);
    for pair in pairs() {
        let theirs = oracle::oracle(&pair.name);
        let document = open_pair(&pair);
        let view = view(&document);
        if theirs.error.is_some() {
            // The Inspector failed on this pair; it opened here.
            assert!(view.dump.is_some() && view.record.is_some(), "{}", pair.name);
            continue;
        }
        // The Inspector leaves out runs without events.
        let blocks: Vec<usize> = (0..view.blocks().len()).filter(|b| !view.blocks()[*b].events.is_empty()).collect();
        let theirs: Vec<_> = theirs.blocks.into_iter().filter(|b| b.events.iter().any(|e| e.raw.is_some())).collect();
        assert_eq!(blocks.len(), theirs.len(), "{}", pair.name);
        for (b, theirs) in blocks.into_iter().zip(&theirs) {
            let block = &view.blocks()[b];
            assert_eq!(*block.name, *theirs.name, "{}", pair.name);
            assert_eq!(
                block.bundled_input_index.map(i64::from),
                theirs.bundled_input_index.filter(|i| *i >= 0),
                "{}",
                pair.name
            );
            let attribution = view.attribution(b);
            events += check(&pair, block, theirs, &|i| attribution.as_ref().map(|a| a.events[i].clone()));
        }
        compared += 1;
    }
    // All pairs but those that the Inspector refuses, and all of their events.
    assert_eq!(compared, 33);
    assert!(events > 4000, "{events}");
}

#[test]
fn backends_equal_the_inspectors() {
    for pair in pairs() {
        let theirs = oracle::oracle(&pair.name);
        let document = open_pair(&pair);
        let view = view(&document);
        if theirs.error.is_some() || view.pair_fit().is_none_or(|f| f.score < 0.85) {
            continue;
        }
        let info = document.view_info(0).unwrap();
        for block in info.blocks.iter().filter(|b| b.graph.is_some()) {
            let rows = document.events(0, block.id, 0, 10_000).unwrap().rows;
            let theirs = theirs.blocks.iter().filter(|b| b.name == block.name).flat_map(|b| &b.events);
            for event in theirs.filter(|e| e.delegate_backend_name.is_some() && e.raw.is_some()) {
                let ours = rows.iter().find(|r| {
                    r.instruction.map(i64::from) == event.instruction_id
                        && r.delegate_debug_id == text(&event.delegate_debug_identifier)
                        && matches!(r.kind.as_str(), "delegate-call" | "delegate-op")
                });
                let ours = ours.unwrap_or_else(|| panic!("{}: {event:?}", pair.name));
                assert_eq!(ours.backend, event.delegate_backend_name, "{}", pair.name);
            }
        }
    }
}

/// `scalar_tensor.default` of `aten.scalar_tensor.default`.
fn without_namespace(op: &str) -> &str {
    let op = op.strip_prefix("_operator.").unwrap_or(op);
    op.match_indices('.').rev().nth(1).map_or(op, |(at, _)| &op[at + 1..])
}

/// The op types of an event are the targets of the nodes that bear its handles.
#[test]
fn op_types_equal_the_inspectors() {
    let mut checked = 0;
    for pair in pairs() {
        let theirs = oracle::oracle(&pair.name);
        let document = open_pair(&pair);
        let view = view(&document);
        if theirs.error.is_some() || view.pair_fit().is_none_or(|f| f.score < 0.85) {
            continue;
        }
        for (b, block) in view.blocks().iter().enumerate() {
            let (Some(graph), Some(attribution)) = (view.matches[b].graph, view.attribution(b)) else { continue };
            let graph = &view.graphs()[graph];
            let theirs = theirs.blocks.iter().filter(|t| *t.name == *block.name).flat_map(|t| &t.events);
            for event in theirs.filter(|e| e.raw.is_some() && !e.op_types.is_empty()) {
                let ours = (0..block.events.len()).find(|i| same_name(&block.events[*i], event));
                let Some(ours) = ours.filter(|i| block.events[*i].kind != EventKind::Framework) else { continue };
                let handles = attribution.events[ours].handles.clone().unwrap_or_default();
                let mut ops: Vec<&str> = graph
                    .nodes()
                    .filter(|n| graph.debug_handles[n.index()].is_some_and(|h| handles.contains(&h)))
                    .map(|n| graph.op(n))
                    .collect();
                let mut expected: Vec<&str> = event.op_types.iter().map(String::as_str).collect();
                for list in [&mut ops, &mut expected] {
                    // The Inspector leaves the namespace out where the edge dialect kept a torch op.
                    list.iter_mut().for_each(|op| *op = without_namespace(op));
                    list.sort_unstable();
                    list.dedup();
                }
                assert_eq!(ops, expected, "{}: {:?} {:?}", pair.name, event.name, event.instruction_id);
                checked += 1;
            }
        }
    }
    assert!(checked > 1000, "{checked}");
}
