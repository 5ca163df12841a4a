//! Taking records apart and packing them again.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::io::{Cursor, Read, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Entries by name, in the order of the directory.
pub type Entries = Vec<(String, Vec<u8>)>;

/// The entries of a zip; none when it is no zip.
pub fn entries(bytes: Vec<u8>) -> Entries {
    let Ok(mut zip) = ZipArchive::new(Cursor::new(bytes)) else { return Vec::new() };
    (0..zip.len())
        .map(|i| {
            let mut entry = zip.by_index(i).unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            (entry.name().unwrap().into_owned(), bytes)
        })
        .collect()
}

/// A zip of these entries.
pub fn pack_as<'a>(entries: impl IntoIterator<Item = (&'a str, &'a [u8])>, options: SimpleFileOptions) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        zip.start_file(name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Options for a way of packing.
pub fn by(method: CompressionMethod) -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(method)
}

/// Entries as [`pack_as`] takes them.
pub fn borrowed(entries: &Entries) -> impl Iterator<Item = (&str, &[u8])> {
    entries.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
}
