//! The call tree of one run. Events are logged when they end, so whatever an event lies in
//! is logged behind it.

use rustc_hash::FxHashMap;

use super::{EventKind, Unit};

/// One entry of a run, with its times put straight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) kind: EventKind,
    pub(super) chain: i32,
    pub(super) instruction: i32,
    pub(super) start: u64,
    pub(super) ticks: u64,
    /// What its figures are, as far as the entry alone tells.
    pub(super) unit: Unit,
    pub(super) vulkan: Option<VulkanPart>,
}

/// What an entry of Vulkan measures. Shaders run inside a phase, on another clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VulkanPart {
    Phase,
    Shader,
}

impl Entry {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.ticks)
    }

    fn holds(&self, inner: &Entry) -> bool {
        inner.start >= self.start && inner.end() <= self.end()
    }
}

/// The entry met last for each chain and instruction. Nearly all are of chain 0 and of small
/// numbers, which need no hashing.
struct Latest {
    dense: Vec<u32>,
    rest: FxHashMap<(i32, i32), usize>,
}

impl Latest {
    const NONE: u32 = u32::MAX;

    fn new(entries: usize) -> Self {
        Latest { dense: vec![Latest::NONE; entries], rest: FxHashMap::default() }
    }

    fn slot(&self, (chain, instruction): (i32, i32)) -> Option<usize> {
        usize::try_from(instruction).ok().filter(|i| chain == 0 && *i < self.dense.len())
    }

    fn insert(&mut self, key: (i32, i32), entry: usize) {
        match (self.slot(key), u32::try_from(entry)) {
            (Some(slot), Ok(entry)) => self.dense[slot] = entry,
            _ => {
                self.rest.insert(key, entry);
            }
        }
    }

    fn get(&self, key: (i32, i32)) -> Option<usize> {
        match self.slot(key) {
            Some(slot) if self.dense[slot] != Latest::NONE => Some(self.dense[slot] as usize),
            _ => self.rest.get(&key).copied(),
        }
    }
}

/// How many of the framework's own events that follow are tried as the one around an event.
const FRAMEWORK_TRIED: usize = 16;

/// The tree of a run.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The entry around each entry.
    pub(super) parents: Vec<Option<usize>>,
    /// Delegate calls whose ops cannot fit in them.
    pub(super) other_clock: Vec<bool>,
    /// What the figures of each entry are.
    pub(super) units: Vec<Unit>,
    /// Ticks of each entry without those of its children.
    pub(super) self_ticks: Vec<u64>,
}

pub(super) fn build(entries: &[Entry]) -> Tree {
    let n = entries.len();
    let mut tree = Tree {
        parents: vec![None; n],
        other_clock: vec![false; n],
        units: entries.iter().map(|e| e.unit).collect(),
        self_ticks: entries.iter().map(|e| e.ticks).collect(),
    };
    // From the back: what lies around an event has been met when the event is.
    let mut calls = Latest::new(n);
    let mut operators = Latest::new(n);
    let mut framework: Vec<usize> = Vec::new();
    let mut inside: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for i in (0..n).rev() {
        let entry = &entries[i];
        let key = (entry.chain, entry.instruction);
        let within = |candidates: &[usize]| {
            candidates.iter().rev().take(FRAMEWORK_TRIED).copied().find(|f| entries[*f].holds(entry))
        };
        let numbered = entry.instruction >= 0 && entry.chain >= 0;
        tree.parents[i] = match entry.kind {
            EventKind::Framework => {
                let parent = within(&framework);
                framework.push(i);
                parent
            }
            EventKind::OperatorCall => {
                operators.insert(key, i);
                within(&framework)
            }
            EventKind::DelegateCall => {
                calls.insert(key, i);
                within(&framework)
            }
            EventKind::NativeCall => {
                let operator = operators.get(key).filter(|o| numbered && entries[*o].holds(entry));
                operator.or_else(|| within(&framework))
            }
            EventKind::DelegateOp | EventKind::Scope => match calls.get(key).filter(|_| numbered) {
                Some(call) => {
                    inside.entry(call).or_default().push(i);
                    Some(call)
                }
                None => within(&framework),
            },
        };
    }

    // Inside a delegate call: ops in ops, scopes in scopes, by containment.
    for (call, mut list) in inside {
        list.reverse();
        for i in &list {
            // A figure and not a span: it starts nowhere.
            let figure = entries[*i].kind == EventKind::DelegateOp && entries[*i].start == 0 && entries[call].start > 0;
            if figure && tree.units[*i] == Unit::Ticks {
                tree.units[*i] = Unit::Counter;
            }
        }
        for kind in [EventKind::DelegateOp, EventKind::Scope] {
            let mut members: Vec<usize> = list
                .iter()
                .copied()
                .filter(|i| entries[*i].kind == kind && entries[call].holds(&entries[*i]))
                .filter(|i| tree.units[*i].is_measured_time() && entries[*i].vulkan != Some(VulkanPart::Shader))
                .collect();
            // Outer ones first: earlier start, later end, logged later.
            members.sort_by_key(|i| (entries[*i].start, std::cmp::Reverse(entries[*i].end()), std::cmp::Reverse(*i)));
            let mut open: Vec<usize> = Vec::new();
            for i in members {
                let entry = &entries[i];
                // What has no length at a border lies in neither side.
                let around = |outer: &usize| {
                    entries[*outer].holds(entry) && *outer > i && entries[*outer].ticks > entry.ticks && entry.ticks > 0
                };
                while open.last().is_some_and(|outer| !around(outer)) {
                    open.pop();
                }
                if let Some(outer) = open.last() {
                    tree.parents[i] = Some(*outer);
                }
                if entry.ticks > 0 {
                    open.push(i);
                }
            }
        }
        place_shaders(entries, &list, &mut tree);
        let ops = list.iter().filter(|i| entries[**i].kind == EventKind::DelegateOp && tree.parents[**i] == Some(call));
        let measured = ops.filter(|i| tree.units[**i].is_measured_time());
        let sum = measured.fold(0_u64, |sum, i| sum.saturating_add(entries[*i].ticks));
        tree.other_clock[call] = sum > entries[call].ticks;
    }
    for (i, entry) in entries.iter().enumerate() {
        let Some(parent) = tree.parents[i] else { continue };
        let elsewhere = entry.kind == EventKind::DelegateOp && tree.other_clock[parent];
        if !elsewhere && tree.units[i].is_measured_time() {
            tree.self_ticks[parent] = tree.self_ticks[parent].saturating_sub(entry.ticks);
        }
    }
    tree
}
/// Puts the shaders of a call inside the longest phase of it that can hold them.
fn place_shaders(entries: &[Entry], list: &[usize], tree: &mut Tree) {
    let part = |part| move |i: &usize| entries[*i].vulkan == Some(part);
    let shaders: Vec<usize> = list.iter().copied().filter(part(VulkanPart::Shader)).collect();
    let sum = shaders.iter().fold(0_u64, |sum, i| sum.saturating_add(entries[*i].ticks));
    let phases = list.iter().copied().filter(part(VulkanPart::Phase));
    let around = phases.filter(|p| entries[*p].ticks >= sum).max_by_key(|p| (entries[*p].ticks, *p));
    if let Some(phase) = around {
        shaders.iter().for_each(|shader| tree.parents[*shader] = Some(phase));
    }
}
