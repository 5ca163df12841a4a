//! The zip around an ETRecord: its directory, and bounded reading of single entries.
//!
//! The `zip` crate reads the directory. Entries are fed, not read: whoever drives the
//! opening brings the packed bytes in any chunking ([`EntryFeed`]), so that the browser
//! can keep several reads in flight while one chunk is looked at.

use std::rc::Rc;

use flate2::{Decompress, FlushDecompress, Status};
use zip::{CompressionMethod, ZipArchive};

use crate::error::{Code, Error, Result};
use crate::limits;
use crate::source::{ByteSource, Seeking};

/// How the bytes of an entry are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// As they are.
    Stored,
    /// Raw deflate.
    Deflated,
}

/// Where an entry lies, and what its directory record promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its full name.
    pub name: String,
    /// How it is packed.
    pub packing: Packing,
    /// Offset of its packed bytes in the file.
    pub offset: u64,
    /// Packed size in bytes.
    pub packed: u64,
    /// Unpacked size in bytes.
    pub size: u64,
    /// CRC-32 of the unpacked bytes.
    pub crc32: u32,
}

/// An open archive: the directory, and the source behind it.
pub struct Archive {
    zip: ZipArchive<Seeking<Rc<dyn ByteSource>>>,
    source: Rc<dyn ByteSource>,
    names: Vec<String>,
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Archive").field("names", &self.names).finish_non_exhaustive()
    }
}

const COPY_AGAIN: &str = "The file may have been cut off while copying or downloading; get it again.";

impl Archive {
    /// Reads the directory at the end of `source`.
    ///
    /// # Errors
    /// [`Code::BadArchive`] when there is no directory or it contradicts the file,
    /// [`Code::LimitReached`] when it lists more than [`limits::ARCHIVE_ENTRIES`] entries.
    pub fn open(source: Rc<dyn ByteSource>) -> Result<Self> {
        let zip = ZipArchive::new(Seeking::new(source.clone())).map_err(|e| {
            Error::new(Code::BadArchive, format!("the zip directory at the end of the file cannot be read: {e}"))
                .advise(COPY_AGAIN)
        })?;
        if zip.len() > limits::ARCHIVE_ENTRIES {
            return Err(Error::new(
                Code::LimitReached,
                format!("the archive lists {} entries, more than {}", zip.len(), limits::ARCHIVE_ENTRIES),
            ));
        }
        let names = (0..zip.len())
            .map(|i| match zip.name_for_index(i) {
                Some(Ok(name)) => name.into_owned(),
                _ => format!("entry {i}"),
            })
            .collect();
        Ok(Archive { zip, source, names })
    }

    /// The names of the entries, in directory order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Finds an entry by its full name and reads its local header.
    ///
    /// # Errors
    /// [`Code::NotFound`] when there is none; [`Code::BadEntry`] when it is encrypted, packed in a
    /// way ExecuTorch never uses, or not inside the file; [`Code::LimitReached`] when it unpacks to more
    /// than [`limits::INFLATED_BYTES`].
    pub fn locate(&mut self, name: &str) -> Result<Entry> {
        let index = self
            .names
            .iter()
            .rposition(|n| n == name)
            .ok_or_else(|| Error::new(Code::NotFound, "the archive has no such entry").at(name))?;
        let bad = |message: String| Error::new(Code::BadEntry, message).at(name).advise(COPY_AGAIN);
        let file = self.zip.by_index_raw(index).map_err(|e| bad(format!("its header cannot be read: {e}")))?;
        if file.encrypted() {
            return Err(bad("it is encrypted".to_owned()).advise("Save the record without a password."));
        }
        let packing = match file.compression() {
            CompressionMethod::Stored => Packing::Stored,
            CompressionMethod::Deflated => Packing::Deflated,
            other => return Err(bad(format!("it is compressed with {other}, which ExecuTorch never uses"))),
        };
        let offset = file.data_start().ok_or_else(|| bad("its header gives no data".to_owned()))?;
        let entry = Entry {
            name: name.to_owned(),
            packing,
            offset,
            packed: file.compressed_size(),
            size: file.size(),
            crc32: file.crc32(),
        };
        if packing == Packing::Deflated && entry.size > limits::INFLATED_BYTES {
            let message = format!("it unpacks to {} bytes, more than {}", entry.size, limits::INFLATED_BYTES);
            return Err(Error::new(Code::LimitReached, message)
                .at(name)
                .advise("Unzip the record and zip it again without compression."));
        }
        let inside = offset.checked_add(entry.packed).is_some_and(|end| end <= self.source.len());
        let honest = match packing {
            Packing::Stored => entry.packed == entry.size,
            Packing::Deflated => entry.size / limits::INFLATE_RATIO <= entry.packed,
        };
        if !inside || !honest {
            return Err(bad(format!(
                "the directory gives it {} bytes ({} packed) at offset {offset}, which the file of {} bytes cannot hold",
                entry.size,
                entry.packed,
                self.source.len()
            )));
        }
        Ok(entry)
    }

    /// Reads a whole entry into memory.
    ///
    /// # Errors
    /// As [`Self::locate`] and [`EntryFeed`]; [`Code::LimitReached`] above [`limits::SMALL_ENTRY_BYTES`].
    pub fn read(&mut self, name: &str) -> Result<Vec<u8>> {
        let entry = self.locate(name)?;
        if entry.size > limits::SMALL_ENTRY_BYTES {
            return Err(Error::new(
                Code::LimitReached,
                format!("it has {} bytes, at most {} are read into memory", entry.size, limits::SMALL_ENTRY_BYTES),
            )
            .at(name));
        }
        let mut packed = vec![0; usize::try_from(entry.packed).unwrap_or(0)];
        self.source.read_at(entry.offset, &mut packed).map_err(|e| e.at(name))?;
        let mut out = Vec::with_capacity(usize::try_from(entry.size).unwrap_or(0).min(16 << 20));
        let mut feed = EntryFeed::new(&entry);
        feed.feed(&packed, &mut |bytes| {
            out.extend_from_slice(bytes);
            Ok(())
        })?;
        feed.finish()?;
        Ok(out)
    }
}

/// Unpacks and checks one entry from its packed bytes, which come in any chunking.
#[derive(Debug)]
pub struct EntryFeed {
    name: String,
    inflate: Option<Box<(Decompress, Vec<u8>)>>,
    inflate_done: bool,
    unpacked: u64,
    size: u64,
    /// `None` for an entry too large to be summed up at no cost.
    crc: Option<crc32fast::Hasher>,
    crc32: u32,
}

/// Unpacked bytes are handed on in pieces of this size.
const INFLATE_PIECE: usize = 64 << 10;

impl EntryFeed {
    /// Starts at the first packed byte.
    pub fn new(entry: &Entry) -> Self {
        let inflate = match entry.packing {
            Packing::Stored => None,
            Packing::Deflated => Some(Box::new((Decompress::new(false), vec![0; INFLATE_PIECE]))),
        };
        EntryFeed {
            name: entry.name.clone(),
            inflate,
            inflate_done: false,
            unpacked: 0,
            size: entry.size,
            crc: (entry.size <= limits::CHECKED_ENTRY_BYTES).then(crc32fast::Hasher::new),
            crc32: entry.crc32,
        }
    }

    /// Takes the next packed bytes and hands the unpacked ones to `sink`.
    ///
    /// # Errors
    /// What `sink` returns; [`Code::BadEntry`] when the deflate stream is broken or longer than promised.
    pub fn feed(&mut self, packed: &[u8], sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let Some(state) = &mut self.inflate else {
            self.unpacked += packed.len() as u64;
            if let Some(crc) = &mut self.crc {
                crc.update(packed);
            }
            return sink(packed);
        };
        let (inflate, piece) = &mut **state;
        let mut rest = packed;
        while !self.inflate_done {
            let (in_before, out_before) = (inflate.total_in(), inflate.total_out());
            let status = inflate.decompress(rest, piece, FlushDecompress::None).map_err(|e| {
                Error::new(Code::BadEntry, format!("its deflate stream is broken after {out_before} bytes: {e}"))
                    .at(self.name.as_str())
                    .advise(COPY_AGAIN)
            })?;
            let used = usize::try_from(inflate.total_in() - in_before).unwrap_or(rest.len());
            let made = usize::try_from(inflate.total_out() - out_before).unwrap_or(0);
            rest = rest.get(used..).unwrap_or(&[]);
            self.unpacked += made as u64;
            if self.unpacked > self.size {
                return Err(Error::new(Code::BadEntry, format!("it unpacks to more than its {} bytes", self.size))
                    .at(self.name.as_str())
                    .advise(COPY_AGAIN));
            }
            let bytes = piece.get(..made).unwrap_or(&[]);
            if let Some(crc) = &mut self.crc {
                crc.update(bytes);
            }
            sink(bytes)?;
            self.inflate_done = status == Status::StreamEnd;
            if made == 0 && (rest.is_empty() || used == 0) {
                break;
            }
        }
        Ok(())
    }

    /// Checks the length, and the CRC-32 of an entry up to [`limits::CHECKED_ENTRY_BYTES`], once all packed bytes were fed.
    ///
    /// # Errors
    /// [`Code::BadEntry`] when either differs from the directory.
    pub fn finish(self) -> Result<()> {
        let bad = |message: String| Err(Error::new(Code::BadEntry, message).at(self.name.as_str()).advise(COPY_AGAIN));
        if self.unpacked != self.size {
            return bad(format!("it has {} bytes where the directory says {}", self.unpacked, self.size));
        }
        let crc = self.crc.map_or(self.crc32, crc32fast::Hasher::finalize);
        if crc != self.crc32 {
            return bad(format!("its bytes do not match their CRC-32 ({crc:08x} instead of {:08x})", self.crc32));
        }
        Ok(())
    }
}
