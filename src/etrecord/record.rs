//! The container: which entries an ETRecord has, and reading the ones that are needed.
//!
//! Reading is driven from outside ([`Reader::wanted`], [`Reader::feed`]): a browser
//! brings the bytes with several reads in flight, a native caller from a file.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use super::json::scan::Scanner;
use super::json::value::{self, Value};
use super::maps::{self, FORWARD, Maps};
use super::program::{Program, ProgramSink};
use crate::archive::{Archive, Entry, EntryFeed, Packing};
use crate::diagnostics::Diagnostics;
use crate::error::{Code, Error, Result};
use crate::limits;
use crate::source::ByteSource;

/// The entry that makes a zip an ETRecord.
pub const MARKER: &str = "ETRECORD_V0";

/// One program of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordProgram {
    /// The archive entry it was read from.
    pub entry: Box<str>,
    /// The method it is, under the name the maps use.
    pub method: Box<str>,
    /// The program.
    pub program: Program,
}

/// An opened ETRecord.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    /// Its edge dialect programs, in directory order; other programs when no edge dialect
    /// program could be read.
    pub programs: Vec<RecordProgram>,
    /// Entries with other graphs, which were not read: the exported program, and whatever was
    /// recorded beside. [`super::on_demand`] reads them.
    pub others: Vec<Box<str>>,
    /// The maps, by method.
    pub maps: Maps,
    /// The id that the lineage of nodes gives the exported graph; recorded since release 1.0.
    pub export_graph_id: Option<i64>,
    /// What was odd, of all its parts.
    pub diagnostics: Diagnostics,
}

/// A byte range that the reader wants fed next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Offset in the file.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// What it is: the name of the entry.
    pub what: Box<str>,
}

struct Reading {
    entry: Box<str>,
    feed: EntryFeed,
    scanner: Scanner<ProgramSink>,
    failed: Option<Error>,
    left: u64,
    /// Read on after the JSON broke: the checksum tells a damaged file from odd content.
    check: bool,
}

/// Reads a record, step by step.
pub struct Reader {
    archive: Archive,
    edge: VecDeque<Box<str>>,
    fallback: VecDeque<Box<str>>,
    reading: Option<Reading>,
    record: Record,
    broken: Vec<(Box<str>, Option<Program>, Error)>,
    /// Where the graphs lie that were asked for: by start, the end and the name.
    taken: BTreeMap<u64, (u64, Box<str>)>,
    /// Unpacked bytes of those that are deflated.
    inflated: u64,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("archive", &self.archive).finish_non_exhaustive()
    }
}

/// The method of a program's entry, as the entry says it.
pub(super) fn method_of(entry: &str) -> &str {
    entry.split_once('/').map_or(FORWARD, |(_, method)| method)
}

fn is_bulk(name: &str) -> bool {
    ["_state_dict", "_constants", "_example_inputs"].iter().any(|suffix| name.ends_with(suffix))
}

fn module_of(name: &str) -> &str {
    name.split_once('/').map_or(name, |(module, _)| module)
}

impl Reader {
    /// Reads the directory and the small entries.
    ///
    /// # Errors
    /// [`Code::BadArchive`] when it is no whole zip; [`Code::NotAnEtrecord`] when the marker
    /// or every graph is missing.
    pub fn open(source: Rc<dyn ByteSource>) -> Result<Self> {
        let mut archive = Archive::open(source)?;
        let names = archive.names();
        if !names.iter().any(|n| n == MARKER) {
            // A cut-off record can show the directory of a zip that was nested in it.
            let nested = names.iter().any(|n| n.ends_with("data.pkl") || n.contains("/data/"));
            let error = if nested {
                Error::new(
                    Code::NotAnEtrecord,
                    "the directory at the end is that of saved weights, not of an ETRecord: the file is cut off, \
                     or it is a torch.save file",
                )
                .advise("Copy or download the .etrecord again, whole.")
            } else {
                Error::new(Code::NotAnEtrecord, format!("this zip is not an ETRecord: it has no entry {MARKER}"))
                    .advise("Choose a file written by generate_etrecord or ETRecord.save.")
            };
            return Err(error);
        }
        let programs = |wanted: fn(&str) -> bool| {
            let mut list: VecDeque<Box<str>> = VecDeque::new();
            for name in names.iter().filter(|n| wanted(module_of(n)) && !is_bulk(n) && !n.ends_with('/')) {
                if !list.iter().any(|known| **known == **name) {
                    list.push_back(name.as_str().into());
                }
            }
            list
        };
        let edge: VecDeque<Box<str>> = programs(|module| module == "edge_dialect_exported_program");
        let mut fallback = programs(|module| module == "exported_program");
        fallback.extend(programs(|module| module == "et_dialect_graph_module"));
        // Extra graphs are kept as `{module}/{method}`, whatever the module is called.
        fallback.extend(
            names
                .iter()
                .filter(|n| n.contains('/') && !is_bulk(n) && !n.ends_with('/') && !n.starts_with(['.', '/']))
                .filter(|n| {
                    !matches!(
                        module_of(n),
                        "edge_dialect_exported_program" | "exported_program" | "et_dialect_graph_module"
                    )
                })
                .filter(|n| names.iter().any(|other| other.strip_prefix(n.as_str()) == Some("_state_dict")))
                .map(|n| n.as_str().into()),
        );
        if edge.is_empty() && fallback.is_empty() {
            return Err(Error::new(Code::NotAnEtrecord, "the record holds no graph")
                .advise("Save it again with the edge program: generate_etrecord(path, edge_program, program)."));
        }
        let mut record = Record::default();
        type Take = fn(&Value, &mut Maps, &mut Diagnostics);
        let small: [(&str, Take); 3] = [
            ("debug_handle_map", maps::debug_handles),
            ("delegate_map", maps::delegates),
            ("instruction_id_to_num_outs_map", maps::outputs),
        ];
        for (name, take) in small {
            if let Some(value) = small_entry(&mut archive, name, &mut record.diagnostics) {
                take(&value, &mut record.maps, &mut record.diagnostics);
            } else if name == "debug_handle_map" {
                record.diagnostics.add(
                    "no-debug-handle-map",
                    "The record has no debug handle map, so that measured time cannot be put on its nodes by handle.",
                    || name.to_owned(),
                );
            }
        }
        if let Some(value) = small_entry(&mut archive, "export_graph_id", &mut record.diagnostics) {
            record.export_graph_id = value.as_int();
        }
        Ok(Reader {
            archive,
            edge,
            fallback,
            reading: None,
            record,
            broken: Vec::new(),
            taken: BTreeMap::new(),
            inflated: 0,
        })
    }

    /// The bytes wanted next: first those of an entry that is being read, then those of the
    /// next entry; `None` when all is read.
    ///
    /// # Errors
    /// [`Code::BadEntry`] when the archive is damaged where a graph lies.
    pub fn wanted(&mut self) -> Result<Option<Wanted>> {
        loop {
            if let Some(reading) = &self.reading {
                if reading.left > 0 && (reading.check || reading.failed.is_none()) {
                    return Ok(None);
                }
                self.end_entry()?;
            }
            let name = match self.edge.pop_front() {
                Some(name) => name,
                None if self.record.programs.is_empty() => match self.fallback.pop_front() {
                    Some(name) => name,
                    None => return Ok(None),
                },
                None => return Ok(None),
            };
            let entry = match self.locate(&name) {
                Ok(entry) => entry,
                Err(error) => {
                    self.spoiled(name, error)?;
                    continue;
                }
            };
            self.reading = Some(Reading {
                entry: name.clone(),
                feed: EntryFeed::new(&entry),
                scanner: Scanner::new(ProgramSink::default()),
                failed: None,
                left: entry.packed,
                check: entry.packed.max(entry.size) <= limits::CHECKED_AFTER_FAILURE_BYTES,
            });
            if entry.packed > 0 {
                return Ok(Some(Wanted { offset: entry.offset, length: entry.packed, what: name }));
            }
        }
    }

    /// Finds a graph. Two that share bytes, and more unpacked bytes than any record has, would
    /// make reading take far longer than the size of the file lets expect.
    fn locate(&mut self, name: &str) -> Result<Entry> {
        let entry = self.archive.locate(name)?;
        let end = entry.offset + entry.packed;
        let before = self.taken.range(..end).next_back();
        if let Some((_, (_, other))) =
            before.filter(|(_, (other_end, _))| entry.packed > 0 && entry.offset < *other_end)
        {
            let message = format!("the directory puts it where {other} lies");
            return Err(Error::new(Code::BadEntry, message)
                .at(name)
                .advise("Save the record again, or unzip it and zip it again."));
        }
        if entry.packed > 0 {
            self.taken.insert(entry.offset, (end, name.into()));
        }
        if entry.packing == Packing::Deflated {
            self.inflated = self.inflated.saturating_add(entry.size);
            if self.inflated > limits::INFLATED_BYTES {
                let message = format!("the compressed graphs unpack to more than {} bytes", limits::INFLATED_BYTES);
                return Err(Error::new(Code::LimitReached, message)
                    .at(name)
                    .advise("Unzip the record and zip it again without compression."));
            }
        }
        Ok(entry)
    }

    /// A damaged graph costs itself when there are others; alone, it is the record that is damaged.
    fn spoiled(&mut self, entry: Box<str>, error: Error) -> Result<()> {
        if self.edge.is_empty() && self.record.programs.is_empty() {
            return Err(error);
        }
        self.broken.push((entry, None, error));
        Ok(())
    }

    /// Takes the next bytes of the range that [`Self::wanted`] gave. False when the rest of
    /// the range is of no use.
    ///
    /// # Errors
    /// [`Code::BadEntry`] when the packed stream is damaged.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<bool> {
        let Some(reading) = &mut self.reading else { return Ok(false) };
        reading.left = reading.left.saturating_sub(bytes.len() as u64);
        let Reading { entry, feed, scanner, failed, check, .. } = reading;
        let fed = feed.feed(bytes, &mut |unpacked| {
            if failed.is_none() {
                *failed = scanner.feed(unpacked).err();
            }
            match failed {
                // When there is no checksum to see, a broken text is read no further.
                Some(error) if !*check => Err(error.clone()),
                _ => Ok(()),
            }
        });
        match fed {
            Err(_) if failed.is_some() && !*check => Ok(false),
            Err(error) => {
                let entry = entry.clone();
                self.reading = None;
                self.spoiled(entry, error)?;
                Ok(false)
            }
            Ok(()) => Ok(failed.is_none() || *check),
        }
    }

    fn end_entry(&mut self) -> Result<()> {
        let Some(reading) = self.reading.take() else { return Ok(()) };
        let Reading { entry, feed, mut scanner, failed, check, .. } = reading;
        if (check || failed.is_none())
            && let Err(error) = feed.finish()
        {
            return self.spoiled(entry, error);
        }
        let error = failed.or_else(|| scanner.finish().err());
        let program = scanner.into_sink().into_program();
        let (program, error) = match (program, error) {
            (Ok(program), None) if program.graph.nodes.is_empty() && !program.diagnostics.is_empty() => {
                let error = Error::new(Code::UnexpectedShape, "the exported program has no nodes that could be read");
                (Some(program), Some(error))
            }
            (Ok(program), error) => (Some(program), error),
            (Err(shape), error) => (None, Some(error.unwrap_or(shape))),
        };
        match (program, error) {
            (Some(program), None) => self.take(entry, program),
            (program, error) => {
                let error = error.unwrap_or_else(|| Error::new(Code::UnexpectedShape, "it cannot be read"));
                self.broken.push((entry, program, error));
            }
        }
        Ok(())
    }

    fn take(&mut self, entry: Box<str>, mut program: Program) {
        self.record.diagnostics.extend(&program.diagnostics);
        program.diagnostics = Diagnostics::default();
        let method = method_of(&entry).into();
        self.record.programs.push(RecordProgram { entry, method, program });
    }

    /// The record, once nothing is wanted any more.
    ///
    /// # Errors
    /// The first error met in a graph, when no graph could be read.
    pub fn finish(mut self) -> Result<Record> {
        let whole = !self.record.programs.is_empty();
        let broken = std::mem::take(&mut self.broken);
        let mut first = None;
        for (entry, program, error) in broken {
            let error = error.at(entry.to_string());
            let message = if whole {
                "A graph of the record cannot be read; what else the record holds is shown."
            } else {
                "A graph of the record can only be read in part; that part is shown."
            };
            match program {
                Some(program) if !whole && !program.graph.nodes.is_empty() => {
                    self.record.diagnostics.add("graph-unreadable", message, || error.to_string());
                    self.take(entry, program);
                }
                _ if whole => self.record.diagnostics.add("graph-unreadable", message, || error.to_string()),
                _ => {}
            }
            first.get_or_insert(error);
        }
        if self.record.programs.is_empty() {
            return Err(first
                .unwrap_or_else(|| Error::new(Code::NotAnEtrecord, "the record holds no graph"))
                .advise("Save the record again with ExecuTorch's generate_etrecord."));
        }
        self.record.others = std::mem::take(&mut self.fallback).into();
        name_methods(&mut self.record);
        Ok(self.record)
    }
}

/// A single program is saved as `forward`, while the maps keep its real name.
fn name_methods(record: &mut Record) {
    let Record { programs, maps, .. } = record;
    if let [only] = programs.as_mut_slice()
        && !maps.contains_key(&only.method)
        && maps.len() == 1
        && let Some(name) = maps.keys().next()
    {
        only.method = name.clone();
    }
}

/// A small JSON entry; `None` when it is missing or, with a diagnostic, when it cannot be read.
fn small_entry(archive: &mut Archive, name: &str, diagnostics: &mut Diagnostics) -> Option<Value> {
    if !archive.names().iter().any(|n| n == name) {
        return None;
    }
    match archive.read(name).and_then(|bytes| value::parse(&bytes).map_err(|e| e.at(name))) {
        Ok(value) => Some(value),
        Err(error) => {
            diagnostics.add(
                "map-unreadable",
                "One of the record's maps cannot be read; the rest of the record is shown without it.",
                || error.to_string(),
            );
            None
        }
    }
}
