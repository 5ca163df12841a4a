//! From the columns of an ETDump to event blocks.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::delegates::{Unit, is_modelled, is_phase, is_shader, unit_of};
use super::tree::{self, Entry, Tree, VulkanPart};
use super::{Block, DelegateId, EXECUTE, Event, EventId, EventKind, Logged, Profile, Split};
use crate::diagnostics::Diagnostics;
use crate::etdump::{Dump, TextId};

/// What tells the events of a run apart.
type Signature = (TextId, i32, i32, i32, TextId);

/// What runs of one block have in common: name, bundled input, signatures in order.
type Shape = (TextId, Option<i32>, Box<[u32]>);

/// Gathers the runs of a dump into blocks.
pub fn build(dump: &Dump) -> Profile {
    let mut profile = Profile { diagnostics: dump.diagnostics.clone(), ..Profile::default() };
    let names: Vec<Rc<str>> = dump.texts.iter().map(|name| Rc::from(&**name)).collect();
    let kinds: Vec<Option<NameKind>> = dump.texts.iter().map(|name| name_kind(name)).collect();
    let writings: Vec<Writing> = dump.texts.iter().map(|id| writing(id)).collect();
    let mut signatures: FxHashMap<Signature, u32> = FxHashMap::default();
    // Room for the first run: those that follow are mostly alike.
    signatures.reserve(dump.runs.iter().map(|run| run.events.len()).max().unwrap_or(0));
    let mut shapes: FxHashMap<Shape, usize> = FxHashMap::default();
    // Where a signature stands among the events of the run at hand: (run + 1, position).
    let mut positions: Vec<(u32, u32)> = Vec::new();
    let mut entries: Vec<Entry> = Vec::new();
    for (run_index, run) in dump.runs.iter().enumerate() {
        let stamp = u32::try_from(run_index + 1).unwrap_or(u32::MAX);
        let mut order: Vec<u32> = Vec::new();
        let mut firsts: Vec<usize> = Vec::new();
        let mut position_of: Vec<u32> = Vec::with_capacity(run.events.len());
        entries.clear();
        entries.reserve(run.events.len());
        order.reserve(run.events.len());
        firsts.reserve(run.events.len());
        for i in run.events.clone() {
            let signature =
                (dump.names[i], dump.chains[i], dump.instructions[i], dump.delegate_ids[i], dump.delegate_texts[i]);
            let next = u32::try_from(signatures.len()).unwrap_or(u32::MAX);
            let id = *signatures.entry(signature).or_insert(next);
            if id as usize >= positions.len() {
                positions.push((0, 0));
            }
            let slot = &mut positions[id as usize];
            if slot.0 != stamp {
                *slot = (stamp, u32::try_from(order.len()).unwrap_or(u32::MAX));
                order.push(id);
                firsts.push(i);
            }
            position_of.push(slot.1);
            entries.push(Entry {
                kind: kind_of(dump, &kinds, i),
                chain: dump.chains[i],
                instruction: dump.instructions[i],
                start: dump.starts[i],
                ticks: ticks(dump, i, &mut profile.diagnostics),
                unit: match writings[dump.delegate_texts[i] as usize].unit {
                    Unit::Ticks if is_modelled(dump.metadata_of(i)) => Unit::Modelled,
                    unit => unit,
                },
                vulkan: writings[dump.delegate_texts[i] as usize].vulkan,
            });
        }
        let tree = tree::build(&entries);
        let next = profile.blocks.len();
        let block = *shapes.entry((run.name, run.bundled_input_index, order.into_boxed_slice())).or_insert(next);
        if block == next {
            profile.blocks.push(Block {
                name: dump.text(run.name).into(),
                bundled_input_index: run.bundled_input_index,
                events: firsts.iter().map(|i| new_event(dump, &kinds, &names, *i)).collect(),
                ..Block::default()
            });
        }
        let Profile { blocks, diagnostics, .. } = &mut profile;
        add_run(&mut blocks[block], run_index, dump, run.events.start, &entries, &position_of, &tree, diagnostics);
    }
    super::allocations::add(dump, &names, &mut profile);
    let name_of = |id: TextId| names.get(id as usize).cloned().unwrap_or_else(|| "".into());
    let logged = dump.debug_events.iter().map(|event| Logged {
        run: event.run,
        name: name_of(event.name),
        chain: event.chain,
        instruction: u32::try_from(event.instruction).ok(),
        delegate_id: delegate_id(event.delegate_id, dump.text(event.delegate_text)),
        value: event.value.clone(),
        output: event.output,
    });
    profile.logged = logged.collect();
    profile
}

fn delegate_id(id: i32, text: &str) -> Option<DelegateId> {
    match (id, text) {
        (-1, "") => None,
        (-1, text) => Some(DelegateId::Text(text.into())),
        (id, _) => Some(DelegateId::Int(id)),
    }
}

/// What a delegate debug id tells of its entries.
#[derive(Debug, Clone, Copy)]
struct Writing {
    unit: Unit,
    vulkan: Option<VulkanPart>,
}

fn writing(id: &str) -> Writing {
    let vulkan = match () {
        () if is_shader(id) => Some(VulkanPart::Shader),
        () if is_phase(id) => Some(VulkanPart::Phase),
        () => None,
    };
    Writing { unit: unit_of(id), vulkan }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameKind {
    Execute,
    Operator,
    Native,
    Delegate,
}

fn name_kind(name: &str) -> Option<NameKind> {
    match name {
        EXECUTE => Some(NameKind::Execute),
        "OPERATOR_CALL" => Some(NameKind::Operator),
        "DELEGATE_CALL" => Some(NameKind::Delegate),
        _ => name.starts_with("native_call_").then_some(NameKind::Native),
    }
}

fn kind_of(dump: &Dump, kinds: &[Option<NameKind>], i: usize) -> EventKind {
    if dump.delegate_ids[i] != -1 || !dump.text(dump.delegate_texts[i]).is_empty() {
        return EventKind::DelegateOp;
    }
    if dump.chains[i] < 0 {
        return EventKind::Framework;
    }
    match kinds.get(dump.names[i] as usize).copied().flatten() {
        Some(NameKind::Execute) => EventKind::Framework,
        Some(NameKind::Operator) => EventKind::OperatorCall,
        Some(NameKind::Delegate) => EventKind::DelegateCall,
        Some(NameKind::Native) => EventKind::NativeCall,
        None => EventKind::Scope,
    }
}

/// The length of an event. A 32-bit counter may have wrapped around between start and end.
fn ticks(dump: &Dump, i: usize, diagnostics: &mut Diagnostics) -> u64 {
    const WRAP: u64 = 1 << 32;
    let (start, end) = (dump.starts[i], dump.ends[i]);
    match end.checked_sub(start) {
        Some(ticks) => ticks,
        None if start < WRAP => end + WRAP - start,
        None => {
            diagnostics.add(
                "event-backwards",
                "An event ends before it starts, by more than a wrapped 32-bit counter explains; it counts as 0 ticks.",
                || format!("{} from {start} to {end}", dump.text(dump.names[i])),
            );
            0
        }
    }
}

fn new_event(dump: &Dump, kinds: &[Option<NameKind>], names: &[Rc<str>], i: usize) -> Event {
    let delegate_id = delegate_id(dump.delegate_ids[i], dump.text(dump.delegate_texts[i]));
    let kind = kind_of(dump, kinds, i);
    let instruction = if kind == EventKind::Framework { None } else { u32::try_from(dump.instructions[i]).ok() };
    Event {
        name: names.get(dump.names[i] as usize).cloned().unwrap_or_else(|| "".into()),
        kind,
        chain: dump.chains[i],
        instruction,
        delegate_id,
        parent: None,
        samples: Vec::new(),
        self_samples: Vec::new(),
        calls: Vec::new(),
        starts: Vec::new(),
        unit: Unit::Ticks,
        metadata: Box::default(),
        other_clock: false,
    }
}

#[allow(clippy::too_many_arguments, reason = "one caller; the parts of one run")]
fn add_run(
    block: &mut Block,
    run_index: usize,
    dump: &Dump,
    first: usize,
    entries: &[Entry],
    position_of: &[u32],
    tree: &Tree,
    diagnostics: &mut Diagnostics,
) {
    let run = block.run_indices.len();
    block.run_indices.push(u32::try_from(run_index).unwrap_or(u32::MAX));
    block.entries += entries.len() as u64;
    for event in &mut block.events {
        event.samples.push(0);
        event.self_samples.push(0);
        event.calls.push(0);
        event.starts.push(0);
    }
    let mut split = Split::default();
    let mut executes = false;
    let (mut native, mut delegate, mut operators, mut in_operators) = (0_u64, 0_u64, 0_u64, 0_u64);
    for (i, entry) in entries.iter().enumerate() {
        let event = &mut block.events[position_of[i] as usize];
        if event.calls[run] == 0 {
            event.starts[run] = entry.start;
            if event.parent.is_none() {
                event.parent = tree.parents[i].map(|p| EventId(position_of[p]));
            }
        }
        event.calls[run] = event.calls[run].saturating_add(1);
        event.samples[run] = event.samples[run].saturating_add(entry.ticks);
        event.self_samples[run] = event.self_samples[run].saturating_add(tree.self_ticks[i]);
        event.other_clock |= tree.other_clock[i];
        if tree.units[i] != Unit::Ticks {
            event.unit = tree.units[i];
        }
        if event.metadata.is_empty() {
            event.metadata = dump.metadata_of(first + i).into();
        }
        match entry.kind {
            EventKind::NativeCall => {
                native = native.saturating_add(entry.ticks);
                let operator = tree.parents[i].is_some_and(|p| entries[p].kind == EventKind::OperatorCall);
                in_operators = in_operators.saturating_add(if operator { entry.ticks } else { 0 });
            }
            EventKind::DelegateCall => delegate = delegate.saturating_add(entry.ticks),
            EventKind::OperatorCall => operators = operators.saturating_add(entry.ticks),
            EventKind::Framework if event.is_execute() => {
                executes = true;
                split.execute = split.execute.saturating_add(entry.ticks);
            }
            _ => {}
        }
    }
    if !executes {
        return;
    }
    split.native = native;
    split.delegate = delegate;
    split.framework_tax = operators.saturating_sub(in_operators);
    let parts = split.native.saturating_add(split.delegate).saturating_add(split.framework_tax);
    if parts > split.execute {
        diagnostics.add(
            "parts-exceed-execute",
            "The kernels and delegate calls of a run take longer than its Method::execute; their sum is shown as execute.",
            || format!("run_data[{run_index}]: {parts} of {} ticks", split.execute),
        );
        split.execute = parts;
    }
    split.rest = split.execute - parts;
    block.splits.get_or_insert_default().push(split);
}
