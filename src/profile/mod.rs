//! Runs become event blocks: distinct events with a sample for each run, a call tree, and
//! where the execute time went.
//!
//! * [`build`]: from an ETDump to blocks.
//! * [`tree`]: which event lies in which, within one run.
//! * [`allocations`]: what its allocators gave out.
//! * [`stats`]: statistics over runs.
//! * [`scale`]: what a tick is.

pub mod allocations;
mod blocks;
pub mod delegates;
pub mod scale;
pub mod stats;
mod tree;

use std::fmt;
use std::rc::Rc;

use crate::diagnostics::Diagnostics;
use crate::etdump::LoggedValue;

pub use allocations::Allocator;
pub use blocks::build;
pub use delegates::Unit;
pub use scale::TimeScale;
pub use stats::Stats;

/// The name of the event around all that a run executes.
const EXECUTE: &str = "Method::execute";

/// An event of a block, by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId(pub u32);

impl EventId {
    /// The id as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What an ETDump measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Profile {
    /// The blocks, in order of their first run.
    pub blocks: Vec<Block>,
    /// Values that were logged, in file order.
    pub logged: Vec<Logged>,
    /// What was odd.
    pub diagnostics: Diagnostics,
}

/// A value that a run logged.
#[derive(Debug, Clone, PartialEq)]
pub struct Logged {
    /// Index of the run in `run_data`.
    pub run: u32,
    /// Its name; may be empty.
    pub name: Rc<str>,
    /// The chain.
    pub chain: u64,
    /// The instruction.
    pub instruction: Option<u32>,
    /// Delegate debug id.
    pub delegate_id: Option<DelegateId>,
    /// What was logged.
    pub value: LoggedValue,
    /// True for an output of the program.
    pub output: bool,
}

/// Runs of one name, one bundled input and one signature.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Block {
    /// The runs' name, for example `Execute`.
    pub name: Box<str>,
    /// The bundled input that was run.
    pub bundled_input_index: Option<i32>,
    /// Which `run_data` entries, in file order.
    pub run_indices: Vec<u32>,
    /// Profile events over all of them.
    pub entries: u64,
    /// Distinct events, in order of first appearance.
    pub events: Vec<Event>,
    /// Where the execute time went, for each run; `None` without a `Method::execute`.
    pub splits: Option<Vec<Split>>,
    /// Its allocators that gave out memory.
    pub allocators: Vec<Allocator>,
}

impl Block {
    /// The events around an event, the nearest first.
    pub fn around<'a>(&'a self, event: &Event) -> impl Iterator<Item = (EventId, &'a Event)> {
        let step = |event: &Event| event.parent.and_then(|id| Some((id, self.events.get(id.index())?)));
        // As many as there are events at most: a chain of parents cannot keep this going.
        std::iter::successors(step(event), move |(_, event)| step(event)).take(self.events.len())
    }
}

/// What an event measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventKind {
    /// The runtime itself: loading, `Method::init`, `Method::execute`.
    Framework,
    /// One instruction of the program with all the runtime does for it.
    OperatorCall,
    /// A kernel.
    NativeCall,
    /// A call of a delegate.
    DelegateCall,
    /// Something inside a delegate, with a delegate debug id.
    DelegateOp,
    /// Any other measured scope.
    Scope,
}

impl EventKind {
    /// The kind as reports and the page write it.
    pub fn as_str(self) -> &'static str {
        match self {
            EventKind::Framework => "framework",
            EventKind::OperatorCall => "operator-call",
            EventKind::NativeCall => "native-call",
            EventKind::DelegateCall => "delegate-call",
            EventKind::DelegateOp => "delegate-op",
            EventKind::Scope => "scope",
        }
    }
}

/// A delegate debug id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DelegateId {
    /// A number; 0 is one.
    Int(i32),
    /// A text.
    Text(Box<str>),
}

impl fmt::Display for DelegateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DelegateId::Int(id) => write!(f, "{id}"),
            DelegateId::Text(id) => f.write_str(id),
        }
    }
}

/// One distinct event of a block. Its columns have one entry for each run.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its name; may be empty.
    pub name: Rc<str>,
    /// What it measures.
    pub kind: EventKind,
    /// The chain; negative for the runtime's own events.
    pub chain: i32,
    /// The instruction; `None` for the runtime's own events.
    pub instruction: Option<u32>,
    /// Its delegate debug id.
    pub delegate_id: Option<DelegateId>,
    /// The event around it.
    pub parent: Option<EventId>,
    /// Ticks, summed over the calls of each run.
    pub samples: Vec<u64>,
    /// Ticks without those of its children on the same clock.
    pub self_samples: Vec<u64>,
    /// Calls.
    pub calls: Vec<u32>,
    /// Tick at which the first call started.
    pub starts: Vec<u64>,
    /// What its figures are.
    pub unit: Unit,
    /// Delegate metadata of the first call that has some.
    pub metadata: Box<[u8]>,
    /// For a delegate call: its ops cannot fit in it, so they tick on another clock.
    pub other_clock: bool,
}

impl Event {
    /// Whether it is `Method::execute`.
    pub fn is_execute(&self) -> bool {
        self.kind == EventKind::Framework && &*self.name == EXECUTE
    }
}

/// Where one run's execute time went, in ticks: the four parts add up to `execute`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Split {
    /// `Method::execute`; the sum of the parts where those are longer, which is a diagnostic.
    pub execute: u64,
    /// Kernels.
    pub native: u64,
    /// Delegate calls.
    pub delegate: u64,
    /// `OPERATOR_CALL`s without their kernels.
    pub framework_tax: u64,
    /// Everything else.
    pub rest: u64,
}
