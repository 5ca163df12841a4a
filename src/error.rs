//! The one error type: what went wrong, where, and what to do about it.

use std::fmt;

use serde::Serialize;

/// A stable name of a kind of error, shown to users and searched for in docs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Code {
    /// The file is neither an ETRecord nor an ETDump.
    UnknownFile,
    /// The file has no bytes.
    EmptyFile,
    /// Reading bytes of the file failed (moved, changed, no permission).
    ReadFailed,
    /// The zip directory is missing, cut off or contradicts the file.
    BadArchive,
    /// A zip that is not an ETRecord, or an ETRecord without any graph.
    NotAnEtrecord,
    /// One entry of the archive cannot be read (checksum, compression, bounds).
    BadEntry,
    /// JSON text is malformed.
    BadJson,
    /// JSON is well formed, but not of the shape that ExecuTorch writes.
    UnexpectedShape,
    /// The ETDump flatbuffer is malformed.
    BadEtdump,
    /// The ETDump is of a layout that is known and not supported.
    UnsupportedEtdump,
    /// A limit of this program was reached; see `limits`.
    LimitReached,
    /// The caller asked for something that is not there.
    NotFound,
    /// The user cancelled.
    Cancelled,
}

impl Code {
    /// The code as users see it, for example `bad-archive`.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::UnknownFile => "unknown-file",
            Code::EmptyFile => "empty-file",
            Code::ReadFailed => "read-failed",
            Code::BadArchive => "bad-archive",
            Code::NotAnEtrecord => "not-an-etrecord",
            Code::BadEntry => "bad-entry",
            Code::BadJson => "bad-json",
            Code::UnexpectedShape => "unexpected-shape",
            Code::BadEtdump => "bad-etdump",
            Code::UnsupportedEtdump => "unsupported-etdump",
            Code::LimitReached => "limit-reached",
            Code::NotFound => "not-found",
            Code::Cancelled => "cancelled",
        }
    }
}

/// Nothing can be shown of the thing asked for; says what, where and what next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Error {
    /// The kind of error.
    pub code: Code,
    /// One sentence: what is wrong.
    pub message: String,
    /// Where: an entry, a path in the JSON, a byte offset. Empty when it is the whole file.
    pub place: String,
    /// What the user can do next.
    pub next: String,
}

/// The result of everything that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error with no place and no advice yet.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error { code, message: message.into(), place: String::new(), next: String::new() }
    }

    /// Says where it happened. An inner place is kept behind the outer one.
    pub fn at(mut self, place: impl Into<String>) -> Self {
        let place = place.into();
        self.place = if self.place.is_empty() { place } else { format!("{place}, {}", self.place) };
        self
    }

    /// Says what the user can do next, unless something closer to the cause already did.
    pub fn advise(mut self, next: impl Into<String>) -> Self {
        if self.next.is_empty() {
            self.next = next.into();
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)?;
        if !self.place.is_empty() {
            write!(f, " ({})", self.place)?;
        }
        if !self.next.is_empty() {
            write!(f, " {}", self.next)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
