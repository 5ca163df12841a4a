//! Random access to the bytes of a file, without the file.

use std::io;

use crate::error::{Code, Error, Result};

/// Bytes that can be read at any offset. Implemented by slices, files and browser Blobs.
pub trait ByteSource {
    /// The number of bytes there are.
    fn len(&self) -> u64;

    /// True when there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buf` with the bytes at `offset`.
    ///
    /// # Errors
    /// [`Code::ReadFailed`] when the range is not inside the source or reading fails.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()>;
}

impl<T: ByteSource + ?Sized> ByteSource for &T {
    fn len(&self) -> u64 {
        (**self).len()
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        (**self).read_at(offset, buf)
    }
}

impl<T: ByteSource + ?Sized> ByteSource for std::rc::Rc<T> {
    fn len(&self) -> u64 {
        (**self).len()
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        (**self).read_at(offset, buf)
    }
}

/// The error of a range that does not lie inside a source.
pub(crate) fn out_of_range(offset: u64, len: usize, have: u64) -> Error {
    Error::new(Code::ReadFailed, format!("{len} bytes at offset {offset} were asked for, the file has {have}"))
        .advise("The file may have been cut off while copying; copy it again.")
}

impl ByteSource for [u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let range = usize::try_from(offset).ok().and_then(|at| Some(at..at.checked_add(buf.len())?));
        match range.and_then(|r| self.get(r)) {
            Some(bytes) => {
                buf.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(out_of_range(offset, buf.len(), ByteSource::len(self))),
        }
    }
}

impl ByteSource for Vec<u8> {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.as_slice().read_at(offset, buf)
    }
}

/// A file of the operating system.
#[cfg(not(target_arch = "wasm32"))]
#[derive(Debug)]
pub struct FileSource {
    file: std::cell::RefCell<std::fs::File>,
    len: u64,
}

#[cfg(not(target_arch = "wasm32"))]
impl FileSource {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// [`Code::ReadFailed`] when the file cannot be opened.
    pub fn open(path: &std::path::Path) -> Result<Self> {
        let failed = |e: io::Error| {
            Error::new(Code::ReadFailed, format!("cannot open the file: {e}")).at(path.display().to_string())
        };
        let file = std::fs::File::open(path).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        if meta.is_dir() {
            return Err(Error::new(Code::ReadFailed, "this is a folder, not a file").at(path.display().to_string()));
        }
        Ok(FileSource { file: std::cell::RefCell::new(file), len: meta.len() })
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl ByteSource for FileSource {
    fn len(&self) -> u64 {
        self.len
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        use std::io::{Read, Seek, SeekFrom};
        if offset.checked_add(buf.len() as u64).is_none_or(|end| end > self.len) {
            return Err(out_of_range(offset, buf.len(), self.len));
        }
        let mut file = self.file.borrow_mut();
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| file.read_exact(buf))
            .map_err(|e| Error::new(Code::ReadFailed, format!("reading failed at offset {offset}: {e}")))
    }
}

/// How many bytes [`Seeking`] fetches at a time. A Blob read costs about 2 ms whatever
/// its size, and an ETRecord of 500 MB must open with less than 1 % of it read, so the
/// window is a compromise: the directory and the small entries behind it fit into one.
pub const READAHEAD: usize = 256 << 10;

/// `Read + Seek` over a [`ByteSource`], with one window of readahead, for the `zip` crate.
#[derive(Debug)]
pub struct Seeking<S> {
    source: S,
    position: u64,
    window: Vec<u8>,
    window_at: u64,
    fetched: u64,
}

impl<S: ByteSource> Seeking<S> {
    /// Starts at offset 0 with an empty window.
    pub fn new(source: S) -> Self {
        Seeking { source, position: 0, window: Vec::new(), window_at: 0, fetched: 0 }
    }

    /// How many bytes were read from the source so far.
    pub fn fetched(&self) -> u64 {
        self.fetched
    }

    fn fill(&mut self) -> Result<()> {
        let len = self.source.len();
        let inside = self.position >= self.window_at && self.position < self.window_at + self.window.len() as u64;
        if inside || self.position >= len {
            return Ok(());
        }
        // Near the end take the last window whole: the end record, the directory and the
        // small entries before it are then one read.
        let start =
            if len - self.position < READAHEAD as u64 { len.saturating_sub(READAHEAD as u64) } else { self.position };
        let want = usize::try_from((len - start).min(READAHEAD as u64)).unwrap_or(READAHEAD);
        self.window.resize(want, 0);
        self.window_at = start;
        if let Err(e) = self.source.read_at(start, &mut self.window) {
            self.window.clear();
            return Err(e);
        }
        self.fetched += want as u64;
        Ok(())
    }
}

impl<S: ByteSource> io::Read for Seeking<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.fill().map_err(io::Error::other)?;
        let at = match self.position.checked_sub(self.window_at).map(usize::try_from) {
            Some(Ok(at)) if at < self.window.len() => at,
            _ => return Ok(0),
        };
        let n = buf.len().min(self.window.len() - at);
        buf[..n].copy_from_slice(&self.window[at..at + n]);
        self.position += n as u64;
        Ok(n)
    }
}

impl<S: ByteSource> io::Seek for Seeking<S> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        let target = match to {
            io::SeekFrom::Start(at) => Some(at),
            io::SeekFrom::End(by) => self.source.len().checked_add_signed(by),
            io::SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = target.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "seek before the start"))?;
        Ok(self.position)
    }
}
