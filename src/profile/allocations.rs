//! What the runtime's allocators gave out in the runs of a block.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::Profile;
use crate::etdump::Dump;

/// One allocator of a block's runs. An ETDump records what was given out and never what was
/// given back: at most the sum of a run was in use at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allocator {
    /// Its name; `None` when the run has no allocator of that number.
    pub name: Option<Rc<str>>,
    /// Its number in its runs, counted from 1.
    pub number: i32,
    /// Allocations, for each run of the block.
    pub allocations: Vec<u32>,
    /// Their bytes, for each run.
    pub bytes: Vec<u64>,
    /// Sizes in bytes with the number of allocations over all runs, the largest first.
    pub sizes: Vec<(u64, u64)>,
}

impl Allocator {
    /// The most bytes that can have been in use at once: the largest sum of a run.
    pub fn peak(&self) -> u64 {
        self.bytes.iter().copied().max().unwrap_or(0)
    }

    /// The largest allocation, in bytes.
    pub fn largest(&self) -> u64 {
        self.sizes.first().map_or(0, |(bytes, _)| *bytes)
    }
}

/// Gives the blocks of a profile the allocations of their runs.
pub(super) fn add(dump: &Dump, names: &[Rc<str>], profile: &mut Profile) {
    if dump.allocations.is_empty() {
        return;
    }
    // Block, and place in the block, of each run.
    let mut place_of: FxHashMap<u32, (usize, usize)> = FxHashMap::default();
    for (b, block) in profile.blocks.iter().enumerate() {
        place_of.extend(block.run_indices.iter().enumerate().map(|(place, run)| (*run, (b, place))));
    }
    let mut known: FxHashMap<(usize, i32, Option<u32>), usize> = FxHashMap::default();
    let mut sizes: FxHashMap<(usize, usize, u64), u64> = FxHashMap::default();
    for allocation in &dump.allocations {
        let Some(&(b, place)) = place_of.get(&allocation.run) else { continue };
        let named = dump.runs.get(allocation.run as usize).and_then(|run| {
            let at = usize::try_from(allocation.allocator).ok()?.checked_sub(1)?;
            run.allocators.get(at).copied()
        });
        let block = &mut profile.blocks[b];
        let at = *known.entry((b, allocation.allocator, named)).or_insert_with(|| {
            block.allocators.push(Allocator {
                name: named.and_then(|id| names.get(id as usize)).cloned(),
                number: allocation.allocator,
                allocations: vec![0; block.run_indices.len()],
                bytes: vec![0; block.run_indices.len()],
                sizes: Vec::new(),
            });
            block.allocators.len() - 1
        });
        let allocator = &mut block.allocators[at];
        allocator.allocations[place] = allocator.allocations[place].saturating_add(1);
        allocator.bytes[place] = allocator.bytes[place].saturating_add(allocation.bytes);
        *sizes.entry((b, at, allocation.bytes)).or_default() += 1;
    }
    for ((b, at, bytes), count) in sizes {
        profile.blocks[b].allocators[at].sizes.push((bytes, count));
    }
    for allocator in profile.blocks.iter_mut().flat_map(|b| &mut b.allocators) {
        allocator.sizes.sort_unstable_by(|a, b| b.cmp(a));
    }
}
