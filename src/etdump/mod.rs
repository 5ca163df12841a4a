//! The ETDump flatbuffer: verified, then read into columns.
//!
//! `schemas/etdump.fbs` is the schema, [`generated`] what `flatc` makes of it.

#[allow(missing_docs, unsafe_code, unused_imports, clippy::all, dead_code, reason = "made by flatc; see schemas/")]
#[rustfmt::skip]
pub mod generated;

use flatbuffers::{InvalidFlatbuffer, VerifierOptions};
use rustc_hash::FxHashMap;

use crate::diagnostics::Diagnostics;
use crate::error::{Code, Error, Result};
use crate::limits;
use generated as fb;

/// The file identifier.
const ID: &[u8] = b"ED00";

/// True when these first bytes of a file are those of an ETDump: with a size prefix, as the
/// runtime writes it, or without, as Python's serializer does.
pub fn looks_like(head: &[u8]) -> bool {
    head.get(8..12) == Some(ID) || head.get(4..8) == Some(ID)
}

/// Index into [`Dump::texts`]; 0 is the empty text.
pub type TextId = u32;

/// One `run_data` entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its name, for example `Execute`.
    pub name: TextId,
    /// The bundled input that was run; `None` for the -1 of none.
    pub bundled_input_index: Option<i32>,
    /// Its profile events: a range of the columns of [`Dump`].
    pub events: std::ops::Range<usize>,
    /// Names of its allocators.
    pub allocators: Vec<TextId>,
}

/// One allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    /// Index of the run.
    pub run: u32,
    /// Which allocator of the run, counted from 1.
    pub allocator: i32,
    /// How many bytes.
    pub bytes: u64,
}

/// A tensor that was logged: where its bytes lie in the debug buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedTensor {
    /// The runtime's number of its type; not the serializer's numbers.
    pub scalar_type: i8,
    /// Its shape.
    pub sizes: Vec<i64>,
    /// Its strides, in elements.
    pub strides: Vec<i64>,
    /// Offset of its bytes in the debug buffer file.
    pub offset: i64,
}

/// A value that was logged.
#[derive(Debug, Clone, PartialEq)]
pub enum LoggedValue {
    /// None, or a kind that is not known.
    Null,
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A number, from a float or a double.
    Float(f64),
    /// A tensor.
    Tensor(LoggedTensor),
    /// Several tensors.
    Tensors(Vec<LoggedTensor>),
}

/// One debug event.
#[derive(Debug, Clone, PartialEq)]
pub struct DebugEvent {
    /// Index of the run.
    pub run: u32,
    /// Its name.
    pub name: TextId,
    /// The chain.
    pub chain: u64,
    /// The instruction, -1 for none.
    pub instruction: i32,
    /// Delegate debug id as a number, -1 for none.
    pub delegate_id: i32,
    /// Delegate debug id as a text, 0 for none.
    pub delegate_text: TextId,
    /// What was logged.
    pub value: LoggedValue,
    /// True for an output of the program.
    pub output: bool,
}

/// An ETDump: profile events in columns, the rest in lists.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dump {
    /// The `version` field.
    pub version: u32,
    /// Distinct texts, decoded; what is not UTF-8 in them is replaced.
    pub texts: Vec<Box<str>>,
    /// The runs.
    pub runs: Vec<Run>,
    /// Names.
    pub names: Vec<TextId>,
    /// Chains; negative for the framework's own events.
    pub chains: Vec<i32>,
    /// Instructions, -1 for none.
    pub instructions: Vec<i32>,
    /// Delegate debug ids that are numbers, -1 for none.
    pub delegate_ids: Vec<i32>,
    /// Delegate debug ids that are texts, 0 for none.
    pub delegate_texts: Vec<TextId>,
    /// Where each event's delegate metadata lies in `metadata_bytes`: start and length.
    pub metadata: Vec<(u32, u32)>,
    /// Start ticks.
    pub starts: Vec<u64>,
    /// End ticks.
    pub ends: Vec<u64>,
    /// Delegate metadata of all events.
    pub metadata_bytes: Vec<u8>,
    /// Allocations.
    pub allocations: Vec<Allocation>,
    /// Debug events.
    pub debug_events: Vec<DebugEvent>,
    /// What was odd.
    pub diagnostics: Diagnostics,
}

impl Dump {
    /// A text.
    pub fn text(&self, id: TextId) -> &str {
        self.texts.get(id as usize).map_or("", |t| t)
    }

    /// The delegate metadata of an event.
    pub fn metadata_of(&self, event: usize) -> &[u8] {
        let (start, len) = self.metadata.get(event).copied().unwrap_or_default();
        self.metadata_bytes.get(start as usize..start as usize + len as usize).unwrap_or_default()
    }
}

const RECORD_AGAIN: &str = "The file may be cut off or damaged; copy it from the device again.";

/// Reads an ETDump.
///
/// # Errors
/// [`Code::BadEtdump`] when it is no ETDump or is damaged, [`Code::UnsupportedEtdump`] for the
/// layout of July 2023, [`Code::LimitReached`] above the limits on runs and events.
pub fn decode(bytes: &[u8]) -> Result<Dump> {
    let root = verified(bytes)?;
    let mut dump = Dump { version: root.version(), ..Dump::default() };
    let mut texts = Texts::default();
    texts.id(&mut dump.texts, None);
    if dump.version > 1 {
        dump.diagnostics.add(
            "etdump-version",
            "The ETDump says that it is of a newer version than is known here; it is read as it is.",
            || format!("version {}", root.version()),
        );
    }
    let Some(runs) = root.run_data() else { return Ok(dump) };
    if runs.len() > limits::RUNS {
        return Err(Error::new(Code::LimitReached, format!("more than {} runs", limits::RUNS)));
    }
    let mut seen = 0_usize;
    for (index, run) in runs.iter().enumerate() {
        let name = texts.id(&mut dump.texts, run.name());
        let allocators: Vec<TextId> = run
            .allocators()
            .map(|list| list.iter().map(|a| texts.id(&mut dump.texts, a.name())).collect())
            .unwrap_or_default();
        let start = dump.names.len();
        let run_id = u32::try_from(index).unwrap_or(u32::MAX);
        if let Some(events) = run.events() {
            seen += events.len();
            if seen > limits::EVENTS {
                return Err(Error::new(Code::LimitReached, format!("more than {} events", limits::EVENTS))
                    .advise("Record fewer runs."));
            }
            dump.reserve(events.len());
            for (place, event) in events.iter().enumerate() {
                let (profile, allocation, debug) =
                    (event.profile_event(), event.allocation_event(), event.debug_event());
                let kinds =
                    usize::from(profile.is_some()) + usize::from(allocation.is_some()) + usize::from(debug.is_some());
                if kinds != 1 {
                    dump.diagnostics.add(
                        "event-kinds",
                        "An event of the ETDump holds none or several of its three kinds, where it must hold one.",
                        || format!("run_data[{index}].events[{place}]"),
                    );
                }
                if let Some(profile) = profile {
                    dump.profile_event(&mut texts, &profile);
                }
                if let Some(allocation) = allocation {
                    dump.allocations.push(Allocation {
                        run: run_id,
                        allocator: allocation.allocator_id(),
                        bytes: allocation.allocation_size(),
                    });
                }
                if let Some(debug) = debug {
                    dump.debug_event(&mut texts, run_id, &debug);
                }
            }
        } else if is_layout_of_2023_07(&run) {
            return Err(Error::new(
                Code::UnsupportedEtdump,
                "this ETDump has the layout of July 2023, which no release wrote",
            )
            .at(format!("run_data[{index}]"))
            .advise("Record it again with ExecuTorch 0.1 or later."));
        }
        dump.runs.push(Run {
            name,
            bundled_input_index: Some(run.bundled_input_index()).filter(|i| *i != -1),
            events: start..dump.names.len(),
            allocators,
        });
    }
    Ok(dump)
}

/// In July 2023 the third field of a run held profile blocks: tables of three fields, where
/// allocators have one.
fn is_layout_of_2023_07(run: &fb::RunData<'_>) -> bool {
    let wide = |allocator: fb::Allocator<'_>| {
        let slots = allocator._tab.vtable().num_fields();
        slots >= 3
    };
    run.bundled_input_index() != -1 && run.allocators().is_some_and(|list| !list.is_empty() && list.iter().all(wide))
}

fn verified(bytes: &[u8]) -> Result<fb::ETDump<'_>> {
    let prefixed = bytes.get(8..12) == Some(ID);
    if !prefixed && bytes.get(4..8) != Some(ID) {
        return Err(Error::new(Code::BadEtdump, "this is not an ETDump: the id ED00 is not where it must be")
            .at("byte 4 or 8")
            .advise("Choose an .etdp or .etdump file written by the ETDump runtime."));
    }
    // A table takes at least four bytes, so more of them than this share their bytes to no
    // good end. Vectors may be shared, but not so that they unfold to many times the file. So the
    // work of reading, and what is kept, stay in proportion to it.
    let options = VerifierOptions {
        max_tables: bytes.len() / 4 + 1,
        max_apparent_size: bytes.len().saturating_mul(limits::ETDUMP_SHARING).max(limits::ETDUMP_SHARED_BYTES),
        ..VerifierOptions::default()
    };
    let root = if prefixed {
        flatbuffers::size_prefixed_root_with_opts::<fb::ETDump<'_>>(&options, bytes)
    } else {
        flatbuffers::root_with_opts::<fb::ETDump<'_>>(&options, bytes)
    };
    root.map_err(|error| {
        Error::new(Code::BadEtdump, format!("the ETDump is damaged: {}", what(&error)))
            .at(place(&error))
            .advise(RECORD_AGAIN)
    })
}

fn what(error: &InvalidFlatbuffer) -> &'static str {
    match error {
        InvalidFlatbuffer::MissingRequiredField { .. } => "a field that must be there is missing",
        InvalidFlatbuffer::InconsistentUnion { .. } => "a union contradicts itself",
        InvalidFlatbuffer::Utf8Error { .. } => "a text is not UTF-8",
        InvalidFlatbuffer::MissingNullTerminator { .. } => "a text has no end",
        InvalidFlatbuffer::Unaligned { .. } => "a value is not aligned",
        InvalidFlatbuffer::RangeOutOfBounds { .. } => "a range lies outside the file",
        InvalidFlatbuffer::SignedOffsetOutOfBounds { .. } => "an offset points outside the file",
        InvalidFlatbuffer::TooManyTables => "it has more tables than its size allows",
        InvalidFlatbuffer::ApparentSizeTooLarge => "it unfolds to more than its size allows",
        InvalidFlatbuffer::DepthLimitReached => "its tables are nested too deep",
    }
}

/// Where the verifier stopped, as the innermost byte offset it names.
fn place(error: &InvalidFlatbuffer) -> String {
    match error {
        InvalidFlatbuffer::RangeOutOfBounds { range, .. } => format!("bytes {} to {}", range.start, range.end),
        InvalidFlatbuffer::Unaligned { position, .. } => format!("byte {position}"),
        InvalidFlatbuffer::SignedOffsetOutOfBounds { position, .. } => format!("byte {position}"),
        _ => "flatbuffer".to_owned(),
    }
}

/// Finds the id of a text: by where it lies, then by what it says.
#[derive(Default)]
struct Texts<'a> {
    by_place: FxHashMap<(usize, usize), TextId>,
    by_bytes: FxHashMap<&'a [u8], TextId>,
    /// Where metadata went, by where it lies.
    metadata: FxHashMap<(usize, usize), (u32, u32)>,
}

impl<'a> Texts<'a> {
    fn id(&mut self, texts: &mut Vec<Box<str>>, bytes: Option<flatbuffers::Vector<'a, u8>>) -> TextId {
        let bytes = bytes.map_or(&[][..], |v| v.bytes());
        let place = (bytes.as_ptr() as usize, bytes.len());
        if let Some(id) = self.by_place.get(&place) {
            return *id;
        }
        let id = *self.by_bytes.entry(bytes).or_insert_with(|| {
            let id = u32::try_from(texts.len()).unwrap_or(u32::MAX);
            // C strings may carry their end.
            let text = String::from_utf8_lossy(bytes);
            texts.push(text.trim_end_matches('\0').into());
            id
        });
        self.by_place.insert(place, id);
        id
    }
}

impl Dump {
    fn reserve(&mut self, events: usize) {
        self.names.reserve(events);
        self.chains.reserve(events);
        self.instructions.reserve(events);
        self.delegate_ids.reserve(events);
        self.delegate_texts.reserve(events);
        self.metadata.reserve(events);
        self.starts.reserve(events);
        self.ends.reserve(events);
    }

    fn profile_event<'a>(&mut self, texts: &mut Texts<'a>, event: &fb::ProfileEvent<'a>) {
        self.names.push(texts.id(&mut self.texts, event.name()));
        self.chains.push(event.chain_index());
        self.instructions.push(event.instruction_id());
        self.delegate_ids.push(event.delegate_debug_id_int());
        self.delegate_texts.push(match event.delegate_debug_id_str() {
            None => 0,
            some => texts.id(&mut self.texts, some),
        });
        let metadata = event.delegate_debug_metadata().map_or(&[][..], |v| v.bytes());
        let start = u32::try_from(self.metadata_bytes.len()).unwrap_or(u32::MAX);
        let len = u32::try_from(metadata.len()).unwrap_or(u32::MAX);
        let range = match metadata {
            [] => (start, 0),
            _ => *texts.metadata.entry((metadata.as_ptr() as usize, metadata.len())).or_insert_with(|| {
                if start < u32::MAX {
                    self.metadata_bytes.extend_from_slice(metadata);
                }
                (start, len)
            }),
        };
        self.metadata.push(range);
        self.starts.push(event.start_time());
        self.ends.push(event.end_time());
    }

    fn debug_event<'a>(&mut self, texts: &mut Texts<'a>, run: u32, event: &fb::DebugEvent<'a>) {
        let entry = event.debug_entry();
        let value = entry.as_ref().map_or(LoggedValue::Null, logged_value);
        let output = entry.and_then(|e| e.output()).is_some_and(|b| b.bool_val());
        let name = texts.id(&mut self.texts, event.name());
        let delegate_text = match event.delegate_debug_id_str() {
            None => 0,
            some => texts.id(&mut self.texts, some),
        };
        self.debug_events.push(DebugEvent {
            run,
            name,
            chain: event.chain_index(),
            instruction: event.instruction_id(),
            delegate_id: event.delegate_debug_id_int(),
            delegate_text,
            value,
            output,
        });
    }
}

fn logged_value(value: &fb::Value<'_>) -> LoggedValue {
    let found = match value.val() {
        1 => value.int_value().map(|v| LoggedValue::Int(v.int_val())),
        2 => value.bool_value().map(|v| LoggedValue::Bool(v.bool_val())),
        3 => value.float_value().map(|v| LoggedValue::Float(f64::from(v.float_val()))),
        4 => value.double_value().map(|v| LoggedValue::Float(v.double_val())),
        5 => value.tensor().map(|v| LoggedValue::Tensor(logged_tensor(&v))),
        6 => value
            .tensor_list()
            .and_then(|list| list.tensors())
            .map(|list| LoggedValue::Tensors(list.iter().map(|tensor| logged_tensor(&tensor)).collect())),
        _ => None,
    };
    found.unwrap_or(LoggedValue::Null)
}

fn logged_tensor(tensor: &fb::Tensor<'_>) -> LoggedTensor {
    let list = |v: Option<flatbuffers::Vector<'_, i64>>| v.map(|v| v.iter().collect()).unwrap_or_default();
    LoggedTensor {
        scalar_type: tensor.scalar_type(),
        sizes: list(tensor.sizes()),
        strides: list(tensor.strides()),
        offset: tensor.offset(),
    }
}
