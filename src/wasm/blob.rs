//! A browser Blob as a [`ByteSource`]. Only in a worker: reading is synchronous there.

use wasm_bindgen::JsCast;

use crate::error::{Code, Error, Result};
use crate::source::{ByteSource, out_of_range};

/// A file that the user chose.
#[derive(Debug)]
pub(super) struct BlobSource {
    blob: web_sys::Blob,
}

impl BlobSource {
    pub(super) fn new(blob: web_sys::Blob) -> Self {
        BlobSource { blob }
    }
}

impl ByteSource for BlobSource {
    fn len(&self) -> u64 {
        // A Blob's size is a whole number below 2^53.
        self.blob.size() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let end = offset.checked_add(buf.len() as u64).filter(|end| *end <= self.len());
        let Some(end) = end else { return Err(out_of_range(offset, buf.len(), self.len())) };
        let failed = || {
            Error::new(Code::ReadFailed, format!("the browser could not read the file at offset {offset}"))
                .advise("The file may have been moved or changed since it was chosen; choose it again.")
        };
        let slice = self.blob.slice_with_f64_and_f64(offset as f64, end as f64).map_err(|_| failed())?;
        let reader = web_sys::FileReaderSync::new().map_err(|_| failed())?;
        let bytes = reader.read_as_array_buffer(&slice).map_err(|_| failed())?;
        let bytes = js_sys::Uint8Array::new(bytes.unchecked_ref());
        if bytes.length() as usize != buf.len() {
            return Err(failed());
        }
        bytes.copy_to(buf);
        Ok(())
    }
}
