//! Programs that are read when asked for: another entry of the record, or the module that a
//! delegate call carries inside its node.

use std::rc::Rc;

use super::json::scan::Scanner;
use super::lowered::Lowered;
use super::program::{Program, ProgramSink};
use super::record::{RecordProgram, method_of};
use crate::archive::{Archive, Entry, EntryFeed, Packing};
use crate::error::{Code, Error, Result};
use crate::source::ByteSource;

/// How many bytes are read at a time.
const PIECE: u64 = 1 << 20;

/// Reads the program of an entry.
///
/// # Errors
/// [`Code::BadEntry`] when the entry is damaged, [`Code::BadJson`] and
/// [`Code::UnexpectedShape`] when it is no program.
pub fn read_program(source: Rc<dyn ByteSource>, name: &str) -> Result<RecordProgram> {
    let entry = Archive::open(source.clone())?.locate(name)?;
    let mut scanner = Scanner::new(ProgramSink::default());
    let mut feed = EntryFeed::new(&entry);
    pieces(&*source, entry.offset, entry.packed, |bytes| {
        feed.feed(bytes, &mut |unpacked| scanner.feed(unpacked))?;
        Ok(true)
    })
    .map_err(|e| e.at(name.to_owned()))?;
    feed.finish().map_err(|e| e.at(name.to_owned()))?;
    let read = scanner.finish().and_then(|()| scanner.into_sink().into_program());
    let program = read.map_err(|e| e.at(name.to_owned()))?;
    Ok(RecordProgram { entry: name.into(), method: method_of(name).into(), program })
}

/// Reads the original module inside a lowered one, from its range in the entry it stands in.
///
/// # Errors
/// As [`read_program`].
pub fn read_lowered(source: Rc<dyn ByteSource>, name: &str, lowered: &Lowered) -> Result<Program> {
    let entry = Archive::open(source.clone())?.locate(name)?;
    let mut scanner = Scanner::new(ProgramSink::of_quoted_module());
    // The range is that of a JSON string without its quotes.
    scanner.feed(b"\"")?;
    range(&source, &entry, lowered.offset, lowered.length, |bytes| scanner.feed(bytes))
        .map_err(|e| e.at(name.to_owned()))?;
    scanner.feed(b"\"")?;
    scanner.finish()?;
    scanner.into_sink().into_program().map_err(|_| {
        Error::new(Code::UnexpectedShape, "the lowered module holds no original program")
            .at(name.to_owned())
            .advise("Records of ExecuTorch 0.4 and later keep the module that was lowered; save the record again.")
    })
}

/// The unpacked bytes of a range of an entry, in pieces. A stored entry is read from there, of
/// a packed one all that comes before has to be unpacked.
fn range(
    source: &Rc<dyn ByteSource>,
    entry: &Entry,
    offset: u64,
    length: u64,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let end = offset.saturating_add(length);
    if entry.packing == Packing::Stored {
        if end > entry.packed {
            return Err(Error::new(Code::BadEntry, "the lowered module ends behind its entry"));
        }
        return pieces(&**source, entry.offset + offset, length, |bytes| take(bytes).map(|()| true));
    }
    let mut feed = EntryFeed::new(entry);
    let mut at = 0_u64;
    pieces(&**source, entry.offset, entry.packed, |bytes| {
        feed.feed(bytes, &mut |unpacked| {
            let from = offset.saturating_sub(at).min(unpacked.len() as u64);
            let to = end.saturating_sub(at).min(unpacked.len() as u64);
            at += unpacked.len() as u64;
            // Both are within the piece.
            if from < to { take(&unpacked[from as usize..to as usize]) } else { Ok(()) }
        })?;
        Ok(at < end)
    })
}

/// Reads a range in pieces, until it ends or no more is wanted.
fn pieces(
    source: &dyn ByteSource,
    offset: u64,
    length: u64,
    mut take: impl FnMut(&[u8]) -> Result<bool>,
) -> Result<()> {
    let mut buffer = Vec::new();
    let mut at = 0;
    while at < length {
        let n = PIECE.min(length - at);
        buffer.resize(usize::try_from(n).unwrap_or(0), 0);
        source.read_at(offset + at, &mut buffer)?;
        if !take(&buffer)? {
            break;
        }
        at += n;
    }
    Ok(())
}
