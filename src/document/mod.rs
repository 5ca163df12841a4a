//! The facade: the set of files that are open, and the views they give.

pub mod details;
pub mod extra;
pub mod info;
pub mod opening;
pub mod values;
pub mod view;
mod writing;

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::diagnostics::Diagnostics;
use crate::error::{Code, Error, Result};
use crate::etrecord::maps::Maps;
use crate::etrecord::tensors::TensorArchive;
use crate::model::{Graph, Grouping};
use crate::overlay::{self, Metric, Overlay};
use crate::profile::Profile;
use crate::scene::{self, Scene, SceneInput};
use crate::source::ByteSource;

use info::{OpenResult, OpenedFile, ViewInfo, ViewRef};
use opening::{Opened, Opening, Range};
use view::{View, index, match_blocks, pair_fit};

/// An open record.
pub struct RecordDoc {
    /// Its file.
    pub file: OpenedFile,
    /// Its graphs.
    pub graphs: Vec<Graph>,
    /// Entries with graphs that were not read.
    pub others: Vec<Box<str>>,
    /// The id that lineages give the exported graph.
    pub export_graph_id: Option<i64>,
    /// Its maps.
    pub maps: Maps,
    /// What was odd about it.
    pub diagnostics: Diagnostics,
    /// For parts that are read later.
    pub source: Rc<dyn ByteSource>,
    /// Weights that were asked for, by entry.
    archives: RefCell<FxHashMap<Box<str>, Rc<TensorArchive>>>,
}

impl std::fmt::Debug for RecordDoc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordDoc").field("file", &self.file).finish_non_exhaustive()
    }
}

/// An open dump.
#[derive(Debug)]
pub struct DumpDoc {
    /// Its file.
    pub file: OpenedFile,
    /// What it says.
    pub profile: Profile,
}

/// Everything that is open.
#[derive(Debug, Default)]
pub struct Document {
    records: Vec<Rc<RecordDoc>>,
    dumps: Vec<Rc<DumpDoc>>,
    views: Vec<View>,
    opening: Option<Opening>,
    next_file: u32,
}

impl Document {
    /// Begins to open files, under the names they are to be shown by. What is open stays
    /// open. An opening that was not finished is dropped.
    pub fn begin(&mut self, files: Vec<(String, Rc<dyn ByteSource>)>) {
        self.opening = Some(Opening::new(files));
    }

    /// The byte range that is wanted next; `None` when [`Self::finish`] may be called.
    pub fn next_range(&mut self) -> Option<Range> {
        self.opening.as_mut().and_then(Opening::next_range)
    }

    /// The next bytes of the range that was asked for; false when the rest of it is of no use.
    pub fn feed(&mut self, bytes: &[u8]) -> bool {
        self.opening.as_mut().is_some_and(|opening| opening.feed(bytes))
    }

    /// Bytes read by the opening that is going on.
    pub fn bytes_read(&self) -> u64 {
        self.opening.as_ref().map_or(0, Opening::bytes_read)
    }

    /// Gives the opening up. What was open before stays.
    pub fn abort(&mut self) {
        self.opening = None;
    }

    /// Ends the opening: pairs what was opened, with what was open before as well.
    pub fn finish(&mut self) -> OpenResult {
        let Some(opening) = self.opening.take() else { return self.summary(Vec::new(), None) };
        let mut fresh = Vec::new();
        for done in opening.done {
            let file = OpenedFile {
                id: self.next_file,
                name: done.name,
                kind: done.kind,
                bytes: done.bytes,
                bytes_read: done.bytes_read,
            };
            self.next_file += 1;
            fresh.push(file.id);
            match done.content {
                Opened::Record(record) => {
                    let mut diagnostics = record.diagnostics;
                    let graphs: Vec<Graph> = record.programs.into_iter().map(Graph::new).collect();
                    graphs.iter().for_each(|graph| diagnostics.extend(&graph.diagnostics));
                    let record = RecordDoc {
                        file,
                        graphs,
                        maps: record.maps,
                        others: record.others,
                        export_graph_id: record.export_graph_id,
                        diagnostics,
                        source: done.source,
                        archives: RefCell::default(),
                    };
                    self.records.push(Rc::new(record));
                }
                Opened::Dump(profile) => self.dumps.push(Rc::new(DumpDoc { file, profile })),
            }
        }
        if !fresh.is_empty() {
            self.pair();
        }
        // Of the views with something new: the one with most of it, then the best fit.
        let is_new = |id: Option<u32>| id.is_some_and(|id| fresh.contains(&id));
        let current = self
            .views
            .iter()
            .enumerate()
            .map(|(i, view)| {
                let new = usize::from(is_new(view.record.as_ref().map(|r| r.file.id)))
                    + usize::from(is_new(view.dump.as_ref().map(|d| d.file.id)));
                (i, new, view.pair_fit().map_or(0.0, |f| f.score))
            })
            .filter(|(_, new, _)| *new > 0)
            .max_by(|a, b| a.1.cmp(&b.1).then(a.2.total_cmp(&b.2)).then(b.0.cmp(&a.0)));
        self.summary(opening.rejected, current.map(|(i, ..)| index(i)))
    }

    /// Opens files to the end, natively.
    pub fn open(&mut self, files: Vec<(String, Rc<dyn ByteSource>)>) -> OpenResult {
        self.begin(files);
        if let Some(opening) = &mut self.opening {
            opening.run();
        }
        self.finish()
    }

    /// Closes everything.
    pub fn close_all(&mut self) -> OpenResult {
        let next_file = self.next_file;
        *self = Document { next_file, ..Document::default() };
        self.summary(Vec::new(), None)
    }

    fn summary(&self, rejected: Vec<info::RejectedFile>, current: Option<u32>) -> OpenResult {
        let mut files: Vec<OpenedFile> = self.records.iter().map(|r| r.file.clone()).collect();
        files.extend(self.dumps.iter().map(|d| d.file.clone()));
        files.sort_by_key(|f| f.id);
        let views = self.views.iter().enumerate().map(|(i, view)| {
            let (record, dump) = (view.record.as_ref().map(|r| &r.file), view.dump.as_ref().map(|d| &d.file));
            let label = match (record, dump) {
                (Some(record), Some(dump)) => format!("{} + {}", record.name, dump.name),
                (Some(file), None) | (None, Some(file)) => file.name.clone(),
                (None, None) => String::new(),
            };
            ViewRef {
                id: index(i),
                record: record.map(|f| f.id),
                dump: dump.map(|f| f.id),
                label,
                fit: view.pair_fit().map(|f| f.score),
            }
        });
        let current = current.or_else(|| self.views.len().checked_sub(1).map(index));
        OpenResult { views: views.collect(), files, rejected, current }
    }

    /// Pairs each dump with the record that fits it best; a record without a dump is a view
    /// of its own. Views that stay keep what the user chose in them.
    fn pair(&mut self) {
        let mut pairs: Vec<(Option<usize>, Option<usize>)> = Vec::new();
        let none = FxHashMap::default();
        let mut taken = vec![0_usize; self.records.len()];
        for (d, dump) in self.dumps.iter().enumerate() {
            let blocks = &dump.profile.blocks;
            let mut best: Option<(usize, f64)> = None;
            for (r, record) in self.records.iter().enumerate() {
                let maps = |g: usize| record.maps.get(&record.graphs[g].method).cloned().unwrap_or_default();
                let score =
                    pair_fit(blocks, &match_blocks(&record.graphs, maps, blocks, &none)).map_or(0.0, |f| f.score);
                // Of records that fit alike, one that has no dump yet.
                let better = best.is_none_or(|(known, known_score)| {
                    score > known_score || (score == known_score && taken[r] < taken[known])
                });
                if better {
                    best = Some((r, score));
                }
            }
            if let Some((r, _)) = best {
                taken[r] += 1;
            }
            pairs.push((best.map(|(r, _)| r), Some(d)));
        }
        pairs.extend((0..self.records.len()).filter(|r| taken[*r] == 0).map(|r| (Some(r), None)));
        pairs.sort_by_key(|(r, d)| (r.map_or(usize::MAX, |r| r), *d));
        let mut old = std::mem::take(&mut self.views);
        for (r, d) in pairs {
            let (record, dump) = (r.map(|r| self.records[r].clone()), d.map(|d| self.dumps[d].clone()));
            let same = |view: &View| {
                view.record.as_ref().map(|r| r.file.id) == record.as_ref().map(|r| r.file.id)
                    && view.dump.as_ref().map(|d| d.file.id) == dump.as_ref().map(|d| d.file.id)
            };
            match old.iter().position(same) {
                Some(at) => self.views.push(old.swap_remove(at)),
                None => self.views.push(View::new(record, dump)),
            }
        }
    }

    /// A view.
    ///
    /// # Errors
    /// [`Code::NotFound`] when there is none of that index.
    pub fn view(&self, view: u32) -> Result<&View> {
        self.views.get(view as usize).ok_or_else(|| not_found("view", view))
    }

    /// Everything the header and the choosers need.
    ///
    /// # Errors
    /// As [`Self::view`].
    pub fn view_info(&self, view: u32) -> Result<ViewInfo> {
        Ok(self.view(view)?.info(view))
    }

    /// Takes a block as a run of this method; `None` goes back to the best fit.
    ///
    /// # Errors
    /// [`Code::NotFound`] when view, block or method do not exist.
    pub fn set_method(&mut self, view: u32, block: u32, method: Option<&str>) -> Result<ViewInfo> {
        let of = self.views.get_mut(view as usize).ok_or_else(|| not_found("view", view))?;
        if block as usize >= of.blocks().len() {
            return Err(not_found("block", block));
        }
        if let Some(method) = method
            && !of.graphs().iter().any(|g| *g.method == *method)
        {
            return Err(Error::new(Code::NotFound, format!("the record has no method `{method}`")));
        }
        of.choose(block as usize, method);
        self.view_info(view)
    }

    /// Reads a graph that was only listed.
    ///
    /// # Errors
    /// [`Code::NotFound`] when view or graph do not exist; what reading the graph gives.
    pub fn load_graph(&mut self, view: u32, graph: u32) -> Result<ViewInfo> {
        let of = self.views.get_mut(view as usize).ok_or_else(|| not_found("view", view))?;
        of.load(graph as usize)?;
        self.view_info(view)
    }

    /// Opens the module that a delegate call carries as a graph of its own; `graph` of the answer
    /// is that graph.
    ///
    /// # Errors
    /// [`Code::NotFound`] when view, graph or node do not exist or the node carries no module; what
    /// reading it gives.
    pub fn open_inside(&mut self, view: u32, graph: u32, node: u32) -> Result<ViewInfo> {
        let of = self.views.get_mut(view as usize).ok_or_else(|| not_found("view", view))?;
        let inside = of.list_inside(graph as usize, crate::model::NodeId(node))?;
        of.load(inside)?;
        let info = self.view_info(view)?;
        Ok(ViewInfo { graph: Some(index(inside)), ..info })
    }

    /// Groups to open first, so that a screenful shows.
    ///
    /// # Errors
    /// [`Code::NotFound`] when view or graph do not exist.
    pub fn initial_expansion(&self, view: u32, graph: u32, grouping: Grouping) -> Result<Vec<u32>> {
        self.with_scene(view, graph, grouping, |input| {
            scene::initial_expansion(input).into_iter().map(|g| g.0).collect()
        })
    }

    /// Draws a graph with these groups open.
    ///
    /// # Errors
    /// [`Code::NotFound`] when view or graph do not exist.
    pub fn scene(&self, view: u32, graph: u32, grouping: Grouping, expanded: &[u32]) -> Result<Scene> {
        let expanded: Vec<crate::model::GroupId> = expanded.iter().map(|g| crate::model::GroupId(*g)).collect();
        self.with_scene(view, graph, grouping, |input| scene::build(input, &expanded))
    }

    fn with_scene<T>(
        &self,
        view: u32,
        graph: u32,
        grouping: Grouping,
        act: impl FnOnce(&SceneInput<'_>) -> T,
    ) -> Result<T> {
        let view = self.view(view)?;
        let missing = || not_found("graph", graph);
        let of = view.graph(graph as usize).ok_or_else(missing)?;
        let hierarchy = view.hierarchy(graph as usize, grouping).ok_or_else(missing)?;
        let edges: Vec<_> = of.edges.iter().map(|e| (e.from, e.to)).collect();
        let input = SceneInput {
            hierarchy: &hierarchy,
            edges: &edges,
            node_label: &|node| (of.label(node), of.sublabel(node)),
            node_partition: &view.claims_of(graph as usize).ok_or_else(missing)?.partition_of,
        };
        Ok(act(&input))
    }

    /// One metric of a block on a graph; nothing but NaN when the block did not run it. With
    /// estimates, delegate ops that no map ties to the graph are shown where they most likely
    /// belong ([`crate::correlate::estimate`]).
    ///
    /// # Errors
    /// [`Code::NotFound`] when view, graph or block do not exist.
    pub fn overlay(
        &self,
        view: u32,
        graph: u32,
        block: u32,
        grouping: Grouping,
        metric: Metric,
        estimates: bool,
    ) -> Result<Overlay> {
        let view = self.view(view)?;
        let hierarchy = view.hierarchy(graph as usize, grouping).ok_or_else(|| not_found("graph", graph))?;
        let of = view.blocks().get(block as usize).ok_or_else(|| not_found("block", block))?;
        Ok(match view.attribution_on(graph as usize, Some(block as usize)) {
            Some((block, attribution)) => {
                let estimates = if estimates { view.estimates_on(graph as usize, block) } else { None };
                overlay::overlay(&hierarchy, of, &attribution, estimates.as_deref(), metric)
            }
            None => Overlay::nothing(&hierarchy),
        })
    }
}

pub(crate) fn not_found(what: &str, id: u32) -> Error {
    Error::new(Code::NotFound, format!("there is no {what} {id}"))
}
