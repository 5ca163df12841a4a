//! Opening files step by step, driven from outside: whoever drives it asks for the byte
//! range that is wanted next, and feeds it.

use std::cell::Cell;
use std::rc::Rc;

use super::info::{FileKind, RejectedFile};
use crate::error::{Code, Error, Result};
use crate::etdump;
use crate::etrecord::record::{Reader, Record};
use crate::limits;
use crate::profile::{self, Profile};
use crate::source::{ByteSource, Windowed};

/// A byte range that is wanted next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// Which of the files given to `begin`.
    pub file: u32,
    /// Offset in it.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// The file's name.
    pub name: String,
    /// What is read, for users.
    pub what: String,
    /// Bytes read before this range, over all files.
    pub done: u64,
    /// Bytes to be read in all, as far as known.
    pub total: u64,
}

/// What became of one file.
pub(super) enum Opened {
    Record(Box<Record>),
    Dump(Profile),
}

pub(super) struct Done {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) bytes_read: u64,
    pub(super) kind: FileKind,
    pub(super) content: Opened,
    /// Still readable, for parts that are asked for later.
    pub(super) source: Rc<dyn ByteSource>,
}

enum State {
    Waiting,
    Record(Box<Reader>),
    Dump(Vec<u8>),
    Over,
}

struct Pending {
    name: String,
    source: Rc<Windowed<Counted>>,
    read: Rc<Cell<u64>>,
    state: State,
}

/// Counts the bytes that are read from a source.
struct Counted {
    inner: Rc<dyn ByteSource>,
    read: Rc<Cell<u64>>,
}

impl ByteSource for Counted {
    fn len(&self) -> u64 {
        self.inner.len()
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.read.set(self.read.get() + buf.len() as u64);
        self.inner.read_at(offset, buf)
    }
}

/// Files being opened.
pub struct Opening {
    files: Vec<Pending>,
    at: usize,
    pub(super) done: Vec<Done>,
    pub(super) rejected: Vec<RejectedFile>,
    asked: u64,
}

impl std::fmt::Debug for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opening").field("files", &self.files.len()).field("at", &self.at).finish_non_exhaustive()
    }
}

const CHOOSE_OTHER: &str =
    "Choose an .etrecord written by generate_etrecord, or an .etdp written by the ETDump runtime.";

impl Opening {
    /// Starts with these files.
    pub fn new(files: Vec<(String, Rc<dyn ByteSource>)>) -> Self {
        let files = files
            .into_iter()
            .map(|(name, inner)| {
                let read = Rc::new(Cell::new(0));
                let source = Rc::new(Windowed::new(Counted { inner, read: read.clone() }));
                Pending { name, source, read, state: State::Waiting }
            })
            .collect();
        Opening { files, at: 0, done: Vec::new(), rejected: Vec::new(), asked: 0 }
    }

    /// The range wanted next; `None` when all files are read or rejected. A file that cannot
    /// be read is rejected here, and the next one is begun.
    pub fn next_range(&mut self) -> Option<Range> {
        while self.at < self.files.len() {
            match self.step() {
                Ok(Some((offset, length, what))) => {
                    let file = &self.files[self.at];
                    let done = self.asked;
                    self.asked += length;
                    return Some(Range {
                        file: u32::try_from(self.at).unwrap_or(u32::MAX),
                        offset,
                        length,
                        name: file.name.clone(),
                        what,
                        done,
                        total: self.asked,
                    });
                }
                Ok(None) => self.at += 1,
                Err(error) => self.reject(error),
            }
        }
        None
    }

    fn reject(&mut self, error: Error) {
        let file = &mut self.files[self.at];
        file.state = State::Over;
        self.rejected.push(RejectedFile { name: file.name.clone(), bytes: file.source.len(), error });
        self.at += 1;
    }

    /// Goes on with the current file. The range it wants, or `None` when it is finished.
    fn step(&mut self) -> Result<Option<(u64, u64, String)>> {
        let file = &mut self.files[self.at];
        match std::mem::replace(&mut file.state, State::Over) {
            State::Waiting => {
                let bytes = file.source.len();
                match sniff(&*file.source)? {
                    FileKind::Etdump => {
                        if bytes > limits::ETDUMP_BYTES {
                            return Err(Error::new(
                                Code::LimitReached,
                                format!("this ETDump has {bytes} bytes, at most {} are read", limits::ETDUMP_BYTES),
                            )
                            .advise("Record fewer runs, or leave out debug data."));
                        }
                        // Within the limit, and the file has as many bytes.
                        file.state = State::Dump(Vec::with_capacity(usize::try_from(bytes).unwrap_or(0)));
                        Ok(Some((0, bytes, "runtime profile".to_owned())))
                    }
                    FileKind::Etrecord => {
                        file.state = State::Record(Box::new(Reader::open(file.source.clone())?));
                        self.step()
                    }
                }
            }
            State::Record(mut reader) => match reader.wanted()? {
                Some(wanted) => {
                    file.state = State::Record(reader);
                    Ok(Some((wanted.offset, wanted.length, wanted.what.to_string())))
                }
                None => {
                    let record = reader.finish()?;
                    self.finish_file(FileKind::Etrecord, Opened::Record(Box::new(record)));
                    Ok(None)
                }
            },
            State::Dump(bytes) => {
                let dump = etdump::decode(&bytes)?;
                drop(bytes);
                self.finish_file(FileKind::Etdump, Opened::Dump(profile::build(&dump)));
                Ok(None)
            }
            State::Over => Ok(None),
        }
    }

    fn finish_file(&mut self, kind: FileKind, content: Opened) {
        let file = &self.files[self.at];
        file.source.forget();
        self.done.push(Done {
            name: file.name.clone(),
            bytes: file.source.len(),
            bytes_read: file.read.get(),
            kind,
            content,
            source: file.source.clone(),
        });
    }

    /// Takes the next bytes of the range that was asked for, in any chunking. False when the
    /// rest of the range is of no use: the next range may then be asked for at once.
    pub fn feed(&mut self, bytes: &[u8]) -> bool {
        let Some(file) = self.files.get_mut(self.at) else { return false };
        file.read.set(file.read.get() + bytes.len() as u64);
        let outcome = match &mut file.state {
            State::Record(reader) => reader.feed(bytes),
            State::Dump(held) => {
                held.extend_from_slice(bytes);
                Ok(true)
            }
            _ => Ok(false),
        };
        outcome.unwrap_or_else(|error| {
            self.reject(error);
            false
        })
    }

    /// Bytes read so far, over all files.
    pub fn bytes_read(&self) -> u64 {
        self.files.iter().map(|f| f.read.get()).sum()
    }

    /// Opens to the end, reading from the sources themselves.
    pub fn run(&mut self) {
        const PIECE: u64 = 1 << 20;
        let mut buffer = Vec::new();
        while let Some(range) = self.next_range() {
            let Some(source) = self.files.get(self.at).map(|f| f.source.clone()) else { return };
            let read = self.files[self.at].read.clone();
            let mut at = 0;
            while at < range.length {
                let n = PIECE.min(range.length - at);
                buffer.resize(usize::try_from(n).unwrap_or(0), 0);
                let before = read.get();
                if let Err(error) = source.read_at(range.offset + at, &mut buffer) {
                    self.reject(error);
                    break;
                }
                // `feed` counts them.
                read.set(before);
                if !self.feed(&buffer) {
                    break;
                }
                at += n;
            }
        }
    }
}

/// What a file is, by its content.
fn sniff(source: &dyn ByteSource) -> Result<FileKind> {
    let len = source.len();
    if len == 0 {
        return Err(Error::new(Code::EmptyFile, "the file is empty").advise(CHOOSE_OTHER));
    }
    let mut head = vec![0; usize::try_from(len.min(64)).unwrap_or(0)];
    source.read_at(0, &mut head)?;
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return Ok(FileKind::Etrecord);
    }
    if etdump::looks_like(&head) {
        return Ok(FileKind::Etdump);
    }
    // A zip may have bytes before it; its end record is what counts.
    let tail = usize::try_from(len.min(66 << 10)).unwrap_or(0);
    let mut end = vec![0; tail];
    source.read_at(len - tail as u64, &mut end)?;
    if memchr::memmem::rfind(&end, b"PK\x05\x06").is_some() {
        return Ok(FileKind::Etrecord);
    }
    let is = |at: usize, id: &[u8]| head.get(at..at + id.len()) == Some(id);
    let error = |message: &str| Error::new(Code::UnknownFile, message);
    Err(if is(4, b"ET12") || is(8, b"ET12") || is(4, b"ET13") {
        error("this is an ExecuTorch program (.pte), which holds neither the graph's names nor the times")
            .advise("Save an ETRecord while exporting, and an ETDump while running it.")
    } else if head.iter().all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace()) {
        error("this is a text file, neither an ETRecord nor an ETDump").advise(CHOOSE_OTHER)
    } else {
        error("this is neither an ETRecord (a zip) nor an ETDump (a flatbuffer with the id ED00)").advise(CHOOSE_OTHER)
    })
}
