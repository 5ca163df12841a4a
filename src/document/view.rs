//! One view: a record, a dump, or both, and what follows from them. Costly parts are made
//! when they are asked for, and kept.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::extra::{self, ExtraGraph};
use super::info::{AllocatorInfo, BlockInfo, FitInfo, GraphInfo, OffGraphInfo, SplitInfo, ViewInfo};
use super::{DumpDoc, RecordDoc};
use crate::correlate::estimate::estimate;
use crate::correlate::fit::{MISMATCH_BELOW, fit};
use crate::correlate::grouping::{by_delegate, mark_partitions};
use crate::correlate::{Attribution, Claims, Estimates, Fit, Kernels, OffGraph, attribute, claim, off_graph};
use crate::diagnostics::Diagnostics;
use crate::etrecord::maps::MethodMaps;
use crate::export::report::{ReportBlock, ReportGraph, ReportInput, report};
use crate::model::{Graph, Grouping, Hierarchy};
use crate::profile::{Block, EventKind, Stats};

/// How one block was taken.
#[derive(Debug, Clone, Default)]
pub struct BlockMatch {
    /// The graph of the method it is a run of.
    pub graph: Option<usize>,
    /// How well it fits that method.
    pub fit: Option<Fit>,
}

/// A record with a dump of it, or one of the two.
#[derive(Debug)]
pub struct View {
    /// The record.
    pub record: Option<Rc<RecordDoc>>,
    /// The dump.
    pub dump: Option<Rc<DumpDoc>>,
    /// What the user chose instead of the best fit, by block.
    chosen: FxHashMap<usize, Box<str>>,
    /// How each block was taken.
    pub matches: Vec<BlockMatch>,
    /// Who runs which node, by graph of the record.
    pub claims: Vec<Rc<Claims>>,
    /// Graphs that are read when asked for; they are numbered behind those of the record.
    pub extras: Vec<ExtraGraph>,
    hierarchies: RefCell<FxHashMap<(usize, Grouping), Rc<Hierarchy>>>,
    /// By graph and block.
    attributions: RefCell<FxHashMap<(usize, usize), Rc<Attribution>>>,
    /// By graph and block.
    estimates: RefCell<FxHashMap<(usize, usize), Rc<Estimates>>>,
}

impl View {
    /// Matches the blocks of the dump with the methods of the record.
    pub fn new(record: Option<Rc<RecordDoc>>, dump: Option<Rc<DumpDoc>>) -> Self {
        let extras = record.as_deref().map(extra::listed).unwrap_or_default();
        let mut view = View {
            record,
            dump,
            chosen: FxHashMap::default(),
            matches: Vec::new(),
            claims: Vec::new(),
            extras,
            hierarchies: RefCell::default(),
            attributions: RefCell::default(),
            estimates: RefCell::default(),
        };
        view.update();
        view
    }

    /// The blocks of the dump.
    pub fn blocks(&self) -> &[Block] {
        self.dump.as_ref().map_or(&[], |d| &d.profile.blocks)
    }

    /// The graphs of the record.
    pub fn graphs(&self) -> &[Graph] {
        self.record.as_ref().map_or(&[], |r| &r.graphs)
    }

    /// Any graph that was read.
    pub fn graph(&self, graph: usize) -> Option<&Graph> {
        let read = self.graphs();
        match graph.checked_sub(read.len()) {
            None => read.get(graph),
            Some(extra) => self.extras.get(extra)?.loaded.as_ref().map(|l| &l.graph),
        }
    }

    /// Who runs which node of any graph that was read.
    pub fn claims_of(&self, graph: usize) -> Option<&Rc<Claims>> {
        match graph.checked_sub(self.graphs().len()) {
            None => self.claims.get(graph),
            Some(extra) => self.extras.get(extra)?.loaded.as_ref().map(|l| &l.claims),
        }
    }

    /// The graph of the record that blocks of a graph's method are matched with.
    fn matched_graph(&self, graph: usize) -> Option<usize> {
        match graph.checked_sub(self.graphs().len()) {
            None => Some(graph),
            Some(extra) => self.extras.get(extra)?.of,
        }
    }

    /// The maps of a graph's method.
    pub fn maps(&self, graph: usize) -> MethodMaps {
        let (Some(record), Some(graph)) = (&self.record, self.graph(graph)) else {
            return MethodMaps::default();
        };
        record.maps.get(&graph.method).cloned().unwrap_or_default()
    }

    /// Takes a block as a run of this method; `None` goes back to the best fit.
    pub fn choose(&mut self, block: usize, method: Option<&str>) {
        match method {
            Some(method) => self.chosen.insert(block, method.into()),
            None => self.chosen.remove(&block),
        };
        self.update();
    }

    fn update(&mut self) {
        self.matches = match_blocks(self.graphs(), |graph| self.maps(graph), self.blocks(), &self.chosen);
        self.claims = (0..self.graphs().len())
            .map(|graph| {
                let ran = self.blocks().iter().zip(&self.matches).filter(|(_, m)| m.graph == Some(graph));
                let kernels = Kernels::of(ran.map(|(block, _)| block));
                Rc::new(claim::claim(&self.graphs()[graph], &self.maps(graph), &kernels))
            })
            .collect();
        for at in 0..self.extras.len() {
            let Some(loaded) = &self.extras[at].loaded else { continue };
            let claims = Rc::new(self.claims_on(&self.extras[at], loaded));
            if let Some(loaded) = &mut self.extras[at].loaded {
                loaded.claims = claims;
            }
        }
        self.hierarchies.borrow_mut().clear();
        self.attributions.borrow_mut().clear();
        self.estimates.borrow_mut().clear();
    }

    /// The groups of a graph.
    pub fn hierarchy(&self, graph: usize, grouping: Grouping) -> Option<Rc<Hierarchy>> {
        if let Some(known) = self.hierarchies.borrow().get(&(graph, grouping)) {
            return Some(known.clone());
        }
        let (of, claims) = (self.graph(graph)?, self.claims_of(graph)?);
        let hierarchy = match grouping {
            Grouping::Delegate => by_delegate(of, claims),
            Grouping::Module => {
                let mut hierarchy = of.by_module();
                mark_partitions(&mut hierarchy, claims);
                hierarchy
            }
            Grouping::Flat => of.flat(),
        };
        let hierarchy = Rc::new(hierarchy);
        self.hierarchies.borrow_mut().insert((graph, grouping), hierarchy.clone());
        Some(hierarchy)
    }

    /// The events of a block on the graph of its method.
    pub fn attribution(&self, block: usize) -> Option<Rc<Attribution>> {
        self.attribution_at(self.matches.get(block)?.graph?, block)
    }

    fn attribution_at(&self, graph: usize, block: usize) -> Option<Rc<Attribution>> {
        if let Some(known) = self.attributions.borrow().get(&(graph, block)) {
            return Some(known.clone());
        }
        let (of, claims, block_of) = (self.graph(graph)?, self.claims_of(graph)?, self.blocks().get(block)?);
        let made = Rc::new(attribute::attribute(of, &self.maps(graph), claims, block_of));
        self.attributions.borrow_mut().insert((graph, block), made.clone());
        Some(made)
    }

    /// What of a block no node of the graph of its method shows; empty without that graph.
    pub fn off_graph(&self, block: usize) -> Vec<OffGraph> {
        let attribution = self.attribution(block);
        attribution.map(|attribution| off_graph(&self.blocks()[block], &attribution)).unwrap_or_default()
    }

    /// Where delegate ops that nothing ties to the graph of a block's method most likely belong.
    pub fn estimates(&self, block: usize) -> Option<Rc<Estimates>> {
        self.estimates_on(self.matches.get(block)?.graph?, block)
    }

    /// Likewise on any graph of that method.
    pub fn estimates_on(&self, graph: usize, block: usize) -> Option<Rc<Estimates>> {
        if let Some(known) = self.estimates.borrow().get(&(graph, block)) {
            return Some(known.clone());
        }
        let (_, attribution) = self.attribution_on(graph, Some(block))?;
        let (of, claims) = (self.graph(graph)?, self.claims_of(graph)?);
        let made = Rc::new(estimate(of, claims, &self.blocks()[block], &attribution));
        self.estimates.borrow_mut().insert((graph, block), made.clone());
        Some(made)
    }

    /// The attribution of a block, if the block ran the method of this graph.
    pub fn attribution_on(&self, graph: usize, block: Option<usize>) -> Option<(usize, Rc<Attribution>)> {
        let block = block?;
        let ran = self.matches.get(block)?.graph?;
        (self.matched_graph(graph)? == ran).then(|| Some((block, self.attribution_at(graph, block)?)))?
    }

    /// How well record and dump belong together: the mean over the blocks, by their entries.
    /// `None` when one of them is missing or no block ran an instruction.
    pub fn pair_fit(&self) -> Option<Fit> {
        self.record.as_ref()?;
        pair_fit(self.blocks(), &self.matches)
    }

    /// Everything the header and the choosers need.
    pub fn info(&self, id: u32) -> ViewInfo {
        let mut diagnostics = Diagnostics::default();
        if let Some(record) = &self.record {
            diagnostics.extend(&record.diagnostics);
        }
        if let Some(dump) = &self.dump {
            diagnostics.extend(&dump.profile.diagnostics);
        }
        let blocks: Vec<BlockInfo> = (0..self.blocks().len()).map(|i| self.block_info(i, &mut diagnostics)).collect();
        // The block that shows most: one with times on nodes, then the one of most time.
        let block = (0..blocks.len()).max_by(|a, b| {
            let weight = |i: &usize| {
                let block = &blocks[*i];
                (block.graph.is_some(), block.execute.map_or(0.0, |e| e.total), std::cmp::Reverse(*i))
            };
            let (a, b) = (weight(a), weight(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2))
        });
        let graph = block.and_then(|b| blocks[b].graph).or_else(|| (!self.graphs().is_empty()).then_some(0));
        let fit = self.pair_fit();
        ViewInfo {
            id,
            record: self.record.as_ref().map(|r| r.file.clone()),
            dump: self.dump.as_ref().map(|d| d.file.clone()),
            graphs: (0..self.graphs().len() + self.extras.len()).map(|i| self.graph_info(i)).collect(),
            block: block.map(index),
            graph,
            methods: self.graphs().iter().map(|g| g.method.to_string()).collect(),
            diagnostics: diagnostics.iter().cloned().collect(),
            mismatch: fit.filter(|f| f.score < MISMATCH_BELOW).as_ref().map(FitInfo::from),
            blocks,
        }
    }

    /// The report of this view, with every diagnostic.
    pub fn report(&self, scale: &str) -> serde_json::Value {
        let info = self.info(0);
        let attributions: Vec<_> = (0..self.blocks().len()).map(|i| self.attribution(i)).collect();
        let estimates: Vec<_> = (0..self.blocks().len()).map(|i| self.estimates(i)).collect();
        let graphs: Vec<ReportGraph<'_>> =
            self.graphs().iter().zip(&self.claims).map(|(graph, claims)| ReportGraph { graph, claims }).collect();
        let blocks: Vec<ReportBlock<'_>> = self
            .blocks()
            .iter()
            .enumerate()
            .map(|(i, block)| ReportBlock {
                block,
                graph: self.matches[i].graph,
                fit: self.matches[i].fit.as_ref(),
                attribution: attributions[i].as_deref(),
                estimates: estimates[i].as_deref(),
            })
            .collect();
        report(&ReportInput { graphs: &graphs, blocks: &blocks, diagnostics: &info.diagnostics, scale })
    }

    fn graph_info(&self, i: usize) -> GraphInfo {
        let extra = i.checked_sub(self.graphs().len()).and_then(|at| self.extras.get(at));
        let (graph, claims) = (self.graph(i), self.claims_of(i));
        let mut backends: Vec<String> = Vec::new();
        for partition in claims.iter().flat_map(|c| &c.partitions) {
            if !backends.iter().any(|b| **b == *partition.backend) {
                backends.push(partition.backend.to_string());
            }
        }
        let method = extra.map(|e| &e.method).or(graph.map(|g| &g.method));
        GraphInfo {
            id: index(i),
            label: self.graph_label(i),
            method: method.map(|m| m.to_string()).unwrap_or_default(),
            kind: extra.map(ExtraGraph::kind).or(graph.map(|g| extra::kind_of(&g.entry))).unwrap_or("other"),
            loaded: graph.is_some(),
            nodes: graph.map_or(0, |g| index(g.len())),
            edges: graph.map_or(0, |g| index(g.edges.len())),
            partitions: claims.map_or(0, |c| index(c.partitions.len())),
            backends,
        }
    }

    fn block_info(&self, i: usize, diagnostics: &mut Diagnostics) -> BlockInfo {
        let block = &self.blocks()[i];
        let matched = &self.matches[i];
        let execute: Option<Vec<u64>> = block.splits.as_ref().map(|splits| splits.iter().map(|s| s.execute).collect());
        let mean = |samples: &[u64]| Stats::of(samples).map_or(0.0, |s| s.avg);
        let mut attributed = 0.0;
        if let Some(attribution) = self.attribution(i) {
            attributed =
                attribution.costs.iter().filter(|c| !c.owners.is_empty()).map(|c| mean(&c.samples)).sum::<f64>();
            for (event, belongs) in block.events.iter().zip(&attribution.events) {
                let place = || format!("{}: {}", block.name, event_place(event));
                let attributable = matches!(event.kind, EventKind::NativeCall | EventKind::DelegateCall);
                if let (Some(reason), true) = (belongs.unmapped, attributable) {
                    diagnostics.add(
                        "event-without-node",
                        "The time of an event is on no node of the graph; the table of events says why for each.",
                        || format!("{}: {}", place(), reason.as_str()),
                    );
                }
                if belongs.inexact {
                    diagnostics.add(
                        "delegate-id-inexact",
                        "A delegate debug id was matched by a word in it, not by all of it.",
                        place,
                    );
                }
            }
        }
        let calls = block.events.iter().filter(|e| e.kind == EventKind::DelegateCall);
        BlockInfo {
            id: index(i),
            name: block.name.to_string(),
            runs: index(block.run_indices.len()),
            bundled_input_index: block.bundled_input_index,
            events: index(block.events.len()),
            entries: block.entries,
            method: matched.graph.map(|g| self.graphs()[g].method.to_string()),
            graph: matched.graph.map(index),
            fit: matched.fit.as_ref().map(FitInfo::from),
            execute: execute.as_deref().and_then(Stats::of).map(Into::into),
            split: block.splits.as_deref().and_then(SplitInfo::mean),
            delegate_calls: calls.map(|e| crate::overlay::calls_per_run(&e.calls)).sum(),
            attributed,
            allocators: block.allocators.iter().map(AllocatorInfo::of).collect(),
            off_graph: self.off_graph(i).iter().map(|off| OffGraphInfo::of(block, off)).collect(),
            estimates: self.estimates(i).map_or(0, |e| index(e.list.len())),
        }
    }
}

/// A name for an event in a diagnostic.
fn event_place(event: &crate::profile::Event) -> String {
    match event.instruction {
        Some(instruction) => format!("{} (instruction {instruction})", event.name),
        None => event.name.to_string(),
    }
}

pub(super) fn index(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}

/// Finds for each block the graph whose method fits best; the first of equals.
pub(super) fn match_blocks(
    graphs: &[Graph],
    maps: impl Fn(usize) -> MethodMaps,
    blocks: &[Block],
    chosen: &FxHashMap<usize, Box<str>>,
) -> Vec<BlockMatch> {
    let maps: Vec<MethodMaps> = (0..graphs.len()).map(maps).collect();
    let mut matches = Vec::with_capacity(blocks.len());
    for (i, block) in blocks.iter().enumerate() {
        let kernels = Kernels::of([block]);
        let mut best = BlockMatch::default();
        for (g, graph) in graphs.iter().enumerate() {
            let Some(fit) = fit(graph, &maps[g], &kernels) else { continue };
            let forced = chosen.get(&i);
            let better = best.fit.as_ref().is_none_or(|known| fit.score > known.score);
            if forced.map_or(better, |method| **method == *graph.method) {
                best = BlockMatch { graph: Some(g), fit: Some(fit) };
            }
        }
        matches.push(best);
    }
    matches
}

/// The mean fit of the blocks, weighted by their entries, and the reasons of the worst.
pub(super) fn pair_fit(blocks: &[Block], matches: &[BlockMatch]) -> Option<Fit> {
    let fits: Vec<(f64, &Fit)> =
        blocks.iter().zip(matches).filter_map(|(b, m)| Some((b.entries as f64, m.fit.as_ref()?))).collect();
    let weight: f64 = fits.iter().map(|(w, _)| w).sum();
    if weight <= 0.0 {
        return None;
    }
    let score = fits.iter().map(|(w, fit)| w * fit.score).sum::<f64>() / weight;
    let worst = fits.iter().min_by(|a, b| a.1.score.total_cmp(&b.1.score))?;
    Some(Fit { score, reasons: worst.1.reasons.clone() })
}
