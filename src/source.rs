//! Random access to the bytes of a file, without the file.

use std::cell::RefCell;
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
    file: RefCell<std::fs::File>,
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
        Ok(FileSource { file: RefCell::new(file), len: meta.len() })
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

/// A range of a source.
#[derive(Debug)]
pub struct Part<S> {
    source: S,
    start: u64,
    len: u64,
}

impl<S: ByteSource> Part<S> {
    /// `len` bytes from `start`.
    ///
    /// # Errors
    /// [`Code::ReadFailed`] when the range is not inside the source.
    pub fn new(source: S, start: u64, len: u64) -> Result<Self> {
        if start.checked_add(len).is_none_or(|end| end > source.len()) {
            return Err(out_of_range(start, usize::try_from(len).unwrap_or(usize::MAX), source.len()));
        }
        Ok(Part { source, start, len })
    }
}

impl<S: ByteSource> ByteSource for Part<S> {
    fn len(&self) -> u64 {
        self.len
    }
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        if offset.checked_add(buf.len() as u64).is_none_or(|end| end > self.len) {
            return Err(out_of_range(offset, buf.len(), self.len));
        }
        self.source.read_at(self.start + offset, buf)
    }
}

/// How many bytes [`Windowed`] fetches at a time. A Blob read costs about 2 ms whatever
/// its size, and an ETRecord of 500 MB must open with less than 1 % of it read, so the
/// window is a compromise: the directory and the small entries behind it fit into one.
pub const READAHEAD: usize = 256 << 10;
/// How many windows are kept: the start, the end, and one in between.
const KEPT: usize = 3;

/// A source that answers small reads out of larger ones.
#[derive(Debug)]
pub struct Windowed<S> {
    source: S,
    /// Offset and bytes, the last used one at the end.
    windows: RefCell<Vec<(u64, Vec<u8>)>>,
}

impl<S: ByteSource> Windowed<S> {
    /// Starts without anything read.
    pub fn new(source: S) -> Self {
        Windowed { source, windows: RefCell::default() }
    }

    /// Lets go of what was read.
    pub fn forget(&self) {
        self.windows.take();
    }
}

impl<S: ByteSource> ByteSource for Windowed<S> {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let len = self.source.len();
        let inside = offset.checked_add(buf.len() as u64).is_some_and(|end| end <= len);
        if !inside || buf.len() > READAHEAD {
            return self.source.read_at(offset, buf);
        }
        let mut windows = self.windows.borrow_mut();
        let part = |start: u64, bytes: &[u8]| {
            let at = usize::try_from(offset.checked_sub(start)?).ok()?;
            Some(at..at + buf.len()).filter(|range| range.end <= bytes.len())
        };
        let found = windows.iter().position(|(start, bytes)| part(*start, bytes).is_some());
        let window = match found {
            Some(found) => windows.remove(found),
            None => {
                // Near the end take the last window whole: the end record, the directory and
                // the small entries before it are then one read.
                let last = len.saturating_sub(READAHEAD as u64);
                let start = offset.min(last);
                let mut bytes = vec![0; usize::try_from((len - start).min(READAHEAD as u64)).unwrap_or(0)];
                self.source.read_at(start, &mut bytes)?;
                if windows.len() == KEPT {
                    windows.remove(0);
                }
                (start, bytes)
            }
        };
        if let Some(bytes) = part(window.0, &window.1).and_then(|range| window.1.get(range)) {
            buf.copy_from_slice(bytes);
        }
        windows.push(window);
        Ok(())
    }
}

/// `Read + Seek` over a [`ByteSource`], for the `zip` crate.
#[derive(Debug)]
pub struct Seeking<S> {
    source: S,
    position: u64,
}

impl<S: ByteSource> Seeking<S> {
    /// Starts at offset 0.
    pub fn new(source: S) -> Self {
        Seeking { source, position: 0 }
    }
}

impl<S: ByteSource> io::Read for Seeking<S> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = self.source.len().saturating_sub(self.position);
        let n = buf.len().min(READAHEAD).min(usize::try_from(left).unwrap_or(usize::MAX));
        self.source.read_at(self.position, &mut buf[..n]).map_err(io::Error::other)?;
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    struct Counting {
        bytes: Vec<u8>,
        reads: Cell<usize>,
    }

    impl ByteSource for Counting {
        fn len(&self) -> u64 {
            self.bytes.len() as u64
        }
        fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
            self.reads.set(self.reads.get() + 1);
            self.bytes.as_slice().read_at(offset, buf)
        }
    }

    #[test]
    fn small_reads_come_out_of_windows_and_are_the_bytes_of_the_source() {
        let bytes: Vec<u8> = (0..3 * READAHEAD + 7).map(|i| (i * 31 % 251) as u8).collect();
        let source = Windowed::new(Counting { bytes: bytes.clone(), reads: Cell::new(0) });
        let end = bytes.len() as u64;
        let check = |offset: u64, n: usize| {
            let mut buf = vec![0; n];
            source.read_at(offset, &mut buf).unwrap();
            assert!(buf == bytes[offset as usize..][..n], "{n} bytes at {offset}");
        };
        for (offset, n) in [(0, 64), (end - 22, 22), (end - 4000, 46), (30, 90), (end - 100_000, 100_000), (0, 0)] {
            check(offset, n);
        }
        assert_eq!(source.source.reads.get(), 2);
        check(READAHEAD as u64 - 5, 10);
        check(end - 1, 1);
        check(READAHEAD as u64 + 5, 10);
        assert_eq!(source.source.reads.get(), 3);
        check(1, READAHEAD + 1);
        assert!(source.read_at(end - 3, &mut [0; 4]).is_err());
        assert!(source.read_at(u64::MAX, &mut [0; 4]).is_err());
    }
}
