//! The tokens of a program's JSON become a [`Program`], one node or tensor at a time.

use super::parts::{Reader, size, tensor_meta};
use super::{Program, SymbolRange};
use crate::error::{Code, Error, Result};
use crate::etrecord::json::scan::{Scanner, Sink};
use crate::etrecord::json::value::{Builder, Keys, Value};
use crate::etrecord::lowered::Lowered;
use crate::limits;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The object around a lowered module.
    Lowered,
    Program,
    GraphModule,
    Graph,
    Nodes,
    Tensors,
    Symbols,
    /// The object that a quoted module is in.
    Skipped,
}

#[derive(Debug)]
enum Collect {
    Program(Box<Program>),
    Lowered(Box<Lowered>),
    /// The program of the module that the text, one JSON string, quotes.
    Quoted,
}

/// The sink that turns the tokens of a program's JSON into a [`Program`].
#[derive(Debug)]
pub struct ProgramSink {
    start: Place,
    places: Vec<Place>,
    key: Vec<u8>,
    builder: Builder,
    keys: Keys,
    collect: Collect,
    nested: Nested,
    nodes: usize,
    saw_graph: bool,
}

/// The state of reading a string that may hold a lowered module.
#[derive(Debug, Default)]
enum Nested {
    /// This string cannot hold one.
    #[default]
    No,
    /// It can; nothing of it has come yet.
    Perhaps { at: u64 },
    /// It starts like one: its text is scanned as it comes.
    Yes { at: u64, scanner: Box<Scanner<ProgramSink>>, failed: bool },
}

impl Default for ProgramSink {
    fn default() -> Self {
        ProgramSink::starting(Place::Program, Collect::Program(Box::default()))
    }
}

impl ProgramSink {
    /// For one JSON string that quotes a lowered module: the program inside that is collected.
    pub(in crate::etrecord) fn of_quoted_module() -> Self {
        ProgramSink::starting(Place::Skipped, Collect::Quoted)
    }

    fn starting(start: Place, collect: Collect) -> Self {
        ProgramSink {
            start,
            places: Vec::new(),
            key: Vec::new(),
            builder: Builder::default(),
            keys: Keys::default(),
            collect,
            nested: Nested::No,
            nodes: 0,
            saw_graph: false,
        }
    }

    /// What was read; whole when the text was.
    ///
    /// # Errors
    /// [`Code::UnexpectedShape`] when nothing like a graph was met.
    pub fn into_program(self) -> Result<Program> {
        let shape = || {
            Error::new(Code::UnexpectedShape, "this JSON is not an exported program: it has no graph_module.graph")
                .advise("Save the record with ExecuTorch's generate_etrecord.")
        };
        match self.collect {
            Collect::Program(program) if self.saw_graph => Ok(*program),
            _ => Err(shape()),
        }
    }

    fn begin(&mut self, object: bool) {
        if self.builder.is_open() {
            if object {
                self.builder.begin_object()
            } else {
                self.builder.begin_array()
            }
            return;
        }
        let place = match (self.places.last(), self.key.as_slice(), object) {
            (None, _, true) => Some(self.start),
            (Some(Place::Lowered), b"original_module", true) => Some(Place::Program),
            (Some(Place::Program), b"graph_module", true) => Some(Place::GraphModule),
            (Some(Place::GraphModule), b"graph", true) => Some(Place::Graph),
            (Some(Place::Graph), b"nodes", false) => Some(Place::Nodes),
            (Some(Place::Graph), b"tensor_values", true) => Some(Place::Tensors),
            (Some(Place::Graph), b"sym_int_values" | b"sym_bool_values" | b"sym_float_values", true) => {
                Some(Place::Symbols)
            }
            _ => None,
        };
        match place {
            Some(place) => {
                self.saw_graph |= place == Place::Graph;
                self.places.push(place);
                self.key.clear();
            }
            None if object => self.builder.begin_object(),
            None => self.builder.begin_array(),
        }
    }

    fn end(&mut self) -> Result<()> {
        if !self.builder.is_open() {
            self.places.pop();
            return Ok(());
        }
        let value = self.builder.end()?;
        self.deliver(value)
    }

    fn add(&mut self, value: Value) -> Result<()> {
        let value = self.builder.add(value)?;
        self.deliver(value)
    }

    fn deliver(&mut self, value: Option<Value>) -> Result<()> {
        let Some(value) = value else { return Ok(()) };
        let key = std::str::from_utf8(&self.key).unwrap_or("");
        match (&mut self.collect, self.places.last()) {
            (_, None | Some(Place::Skipped)) => {}
            (Collect::Program(program), Some(Place::Nodes)) => {
                self.nodes += 1;
                if self.nodes > limits::NODES {
                    return Err(Error::new(Code::LimitReached, format!("more than {} nodes", limits::NODES)));
                }
                let mut reader = Reader { diagnostics: &mut program.diagnostics };
                let node = reader.node(value, self.nodes - 1);
                program.graph.nodes.extend(node);
            }
            (Collect::Program(program), Some(Place::Tensors)) => {
                if let Some(meta) = tensor_meta(&value) {
                    program.graph.tensors.insert(key.into(), meta);
                }
            }
            (Collect::Program(program), Some(Place::Symbols)) => {
                program.graph.symbols.insert(key.into(), size(&value));
            }
            (Collect::Program(program), Some(Place::Graph)) => {
                let mut reader = Reader { diagnostics: &mut program.diagnostics };
                match key {
                    "inputs" => program.graph.inputs = reader.args(value, "graph.inputs"),
                    "outputs" => program.graph.outputs = reader.args(value, "graph.outputs"),
                    "nodes" | "tensor_values" => program.diagnostics.add(
                        "program-shape",
                        "A part of an exported program is not of the shape that ExecuTorch writes; it is left out.",
                        || format!("graph_module.graph.{key}"),
                    ),
                    _ => {}
                }
            }
            (Collect::Program(program), Some(Place::GraphModule)) => {
                if key == "signature" {
                    program.signature(&value);
                }
            }
            (Collect::Program(program), Some(_)) => match key {
                "range_constraints" => {
                    // Open ends are null, infinite, or the largest integer.
                    let end =
                        |range: &Value, name| range.get(name).and_then(Value::as_int).filter(|n| n.abs() < 1 << 62);
                    program.ranges = value
                        .members()
                        .iter()
                        .map(|(symbol, range)| {
                            let range = SymbolRange { min: end(range, "min_val"), max: end(range, "max_val") };
                            (symbol.as_ref().into(), range)
                        })
                        .collect();
                }
                "dialect" => program.dialect = value.as_str().unwrap_or_default().into(),
                "schema_version" => {
                    let part = |name| value.get(name).and_then(Value::as_int);
                    program.schema_version = match &value {
                        Value::Int(major) => Some((*major, 0)),
                        _ => part("major").zip(part("minor")),
                    };
                }
                _ => {}
            },
            (Collect::Lowered(lowered), Some(Place::Lowered)) => lowered.field(key, &value),
            (Collect::Lowered(lowered), Some(Place::Nodes)) => {
                self.nodes += 1;
                if self.nodes <= limits::NODES {
                    lowered.node(&value);
                }
            }
            (Collect::Lowered(_) | Collect::Quoted, Some(_)) => {}
        }
        Ok(())
    }
}

impl Sink for ProgramSink {
    fn begin_object(&mut self, _: u64) -> Result<()> {
        self.begin(true);
        Ok(())
    }
    fn end_object(&mut self, _: u64) -> Result<()> {
        self.end()
    }
    fn begin_array(&mut self, _: u64) -> Result<()> {
        self.begin(false);
        Ok(())
    }
    fn end_array(&mut self, _: u64) -> Result<()> {
        self.end()
    }
    fn key(&mut self, key: &[u8]) -> Result<()> {
        if self.builder.is_open() {
            self.builder.key(key, &mut self.keys);
        } else {
            self.key.clear();
            self.key.extend_from_slice(key);
        }
        Ok(())
    }
    fn begin_string(&mut self, at: u64) -> Result<()> {
        if matches!(self.collect, Collect::Quoted) {
            let module = ProgramSink::starting(Place::Lowered, Collect::Program(Box::default()));
            self.nested = Nested::Yes { at, scanner: Box::new(Scanner::new(module)), failed: false };
            return Ok(());
        }
        self.builder.begin_string(at);
        let can = matches!(self.collect, Collect::Program(_))
            && self.places.last() == Some(&Place::Nodes)
            && self.builder.pending_key() == Some("as_string");
        self.nested = if can { Nested::Perhaps { at } } else { Nested::No };
        Ok(())
    }
    fn string_bytes(&mut self, bytes: &[u8], plain: bool) -> Result<()> {
        if let Nested::Perhaps { at } = self.nested {
            self.nested = match bytes.first() {
                Some(b'{') => {
                    let sink = ProgramSink::starting(Place::Lowered, Collect::Lowered(Box::default()));
                    Nested::Yes { at, scanner: Box::new(Scanner::new(sink)), failed: false }
                }
                _ => Nested::No,
            };
        }
        if let Nested::Yes { scanner, failed, .. } = &mut self.nested
            && !*failed
        {
            let fed = if plain { scanner.feed_plain(bytes) } else { scanner.feed(bytes) };
            if matches!(self.collect, Collect::Quoted) {
                return fed;
            }
            *failed = fed.is_err();
        }
        self.builder.string_bytes(bytes);
        Ok(())
    }
    fn end_string(&mut self, at: u64) -> Result<()> {
        let nested = std::mem::take(&mut self.nested);
        if let Nested::Yes { at: start, mut scanner, failed } = nested {
            if matches!(self.collect, Collect::Quoted) {
                scanner.finish()?;
                *self = scanner.into_sink();
                return Ok(());
            }
            let complete = !failed && scanner.finish().is_ok();
            if let Collect::Lowered(mut lowered) = scanner.into_sink().collect
                && !lowered.backend.is_empty()
            {
                lowered.offset = start;
                lowered.length = at - start;
                lowered.complete = complete;
                return self.add(Value::Lowered(lowered));
            }
        }
        let value = self.builder.end_string(at)?;
        self.deliver(value)
    }
    fn integer(&mut self, value: i64) -> Result<()> {
        self.add(Value::Int(value))
    }
    fn float(&mut self, value: f64) -> Result<()> {
        self.add(Value::Float(value))
    }
    fn boolean(&mut self, value: bool) -> Result<()> {
        self.add(Value::Bool(value))
    }
    fn null(&mut self) -> Result<()> {
        self.add(Value::Null)
    }
}
