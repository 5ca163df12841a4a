//! Makes the files of the browser benchmark: `make_bench_data FOLDER`.
//!
//! They are the structure twins of the tests with weights of the real size: bulk that is
//! never read is left sparse, bulk inside the JSON is written.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

#[path = "../benches/data/dump.rs"]
mod dump;

type Error = Box<dyn std::error::Error>;

const EDGE: &str = "edge_dialect_exported_program/forward";

/// A zip of stored entries, written front to back.
struct Zip {
    file: File,
    directory: Vec<u8>,
    entries: u16,
    at: u64,
}

impl Zip {
    fn create(path: &Path) -> Result<Self, Error> {
        Ok(Zip { file: File::create(path)?, directory: Vec::new(), entries: 0, at: 0 })
    }

    fn header(name: &str, crc: u32, size: u32) -> Vec<u8> {
        let mut out = Vec::new();
        for value in [20_u16, 0, 0, 0, 0x5C21] {
            out.extend(value.to_le_bytes());
        }
        for value in [crc, size, size] {
            out.extend(value.to_le_bytes());
        }
        out.extend(u16::try_from(name.len()).unwrap_or(0).to_le_bytes());
        out.extend(0_u16.to_le_bytes());
        out
    }

    fn begin(&mut self, name: &str, crc: u32, size: u64) -> Result<(), Error> {
        let header = Zip::header(name, crc, u32::try_from(size)?);
        self.directory.extend(b"PK\x01\x02\x14\x00");
        self.directory.extend(&header);
        self.directory.extend([0; 10]);
        self.directory.extend(u32::try_from(self.at)?.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.entries += 1;
        self.file.write_all(b"PK\x03\x04")?;
        self.file.write_all(&header)?;
        self.file.write_all(name.as_bytes())?;
        self.at += 4 + header.len() as u64 + name.len() as u64 + size;
        Ok(())
    }

    fn entry(&mut self, name: &str, pieces: &[&[u8]]) -> Result<(), Error> {
        let mut crc = crc32fast::Hasher::new();
        pieces.iter().for_each(|piece| crc.update(piece));
        let size = pieces.iter().map(|piece| piece.len() as u64).sum();
        self.begin(name, crc.finalize(), size)?;
        for piece in pieces {
            self.file.write_all(piece)?;
        }
        Ok(())
    }

    /// An entry of zeros that takes no room on the disk.
    fn zeros(&mut self, name: &str, size: u64) -> Result<(), Error> {
        let mut crc = crc32fast::Hasher::new();
        let block = vec![0; 1 << 20];
        let mut left = size;
        while left > 0 {
            let n = left.min(block.len() as u64);
            crc.update(&block[..usize::try_from(n)?]);
            left -= n;
        }
        self.begin(name, crc.finalize(), size)?;
        self.file.seek(SeekFrom::Current(i64::try_from(size)?))?;
        Ok(())
    }

    fn finish(mut self) -> Result<(), Error> {
        self.file.write_all(&self.directory)?;
        self.file.write_all(b"PK\x05\x06\0\0\0\0")?;
        self.file.write_all(&self.entries.to_le_bytes())?;
        self.file.write_all(&self.entries.to_le_bytes())?;
        self.file.write_all(&u32::try_from(self.directory.len())?.to_le_bytes())?;
        self.file.write_all(&u32::try_from(self.at)?.to_le_bytes())?;
        self.file.write_all(&[0, 0])?;
        Ok(())
    }
}

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/corpus").join(name)
}

fn entries(name: &str) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut zip = zip::ZipArchive::new(File::open(corpus(name))?)?;
    let mut all = Vec::new();
    for i in 0..zip.len() {
        let mut entry = zip.by_index(i)?;
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        all.push((entry.name()?.into_owned(), bytes));
    }
    Ok(all)
}

/// The record of a twin with saved weights of this many bytes.
fn with_weights(name: &str, out: &Path, bytes: u64) -> Result<(), Error> {
    let mut zip = Zip::create(out)?;
    for (name, content) in entries(name)? {
        if name == format!("{EDGE}_state_dict") {
            zip.zeros(&name, bytes)?;
        } else {
            zip.entry(&name, &[&content])?;
        }
    }
    zip.finish()
}

/// The record of the XNNPACK twin, its JSON blown up to this size: each lowered module's
/// base64 grows, inside the escaped JSON of its string.
fn with_lowered_bulk(name: &str, out: &Path, json_bytes: usize, weights: u64) -> Result<(), Error> {
    let mut zip = Zip::create(out)?;
    for (name, content) in entries(name)? {
        if name == format!("{EDGE}_state_dict") {
            zip.zeros(&name, weights)?;
            continue;
        }
        if name != EDGE {
            zip.entry(&name, &[&content])?;
            continue;
        }
        let marks: [&[u8]; 2] = [br#"\"processed_bytes\": \""#, br#"\"original_state_dict\": \""#];
        let mut cuts = Vec::new();
        for mark in marks {
            cuts.extend(
                content.windows(mark.len()).enumerate().filter(|(_, w)| *w == mark).map(|(i, _)| i + mark.len()),
            );
        }
        cuts.sort_unstable();
        if cuts.is_empty() {
            return Err("the twin has no lowered module".into());
        }
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut seed = 7_u64;
        let each = (json_bytes - content.len()) / cuts.len() / 4 * 4;
        let bulk: Vec<u8> = (0..each)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                DIGITS[(seed >> 58) as usize]
            })
            .collect();
        let mut pieces: Vec<&[u8]> = Vec::new();
        let mut at = 0;
        for cut in cuts {
            pieces.push(&content[at..cut]);
            pieces.push(&bulk);
            at = cut;
        }
        pieces.push(&content[at..]);
        zip.entry(&name, &pieces)?;
    }
    zip.finish()
}

fn main() -> Result<(), Error> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("usage: make_bench_data FOLDER")?);
    std::fs::create_dir_all(&folder)?;
    let portable = folder.join("opt125m_portable_503mb.etrecord");
    if !portable.exists() {
        with_weights("opt125m_portable.etrecord", &portable, 501_100_000)?;
    }
    let xnnpack = folder.join("opt125m_xnnpack_1637mb.etrecord");
    if !xnnpack.exists() {
        with_lowered_bulk("opt125m_xnnpack.etrecord", &xnnpack, 1_320_000_000, 317_000_000)?;
    }
    let mobilenet = folder.join("mobilenetv2_30mb.etrecord");
    if !mobilenet.exists() {
        with_weights("mobilenetv2_fp32_ethosu.etrecord", &mobilenet, 28_600_000)?;
    }
    let events = folder.join("200000_events.etdp");
    std::fs::write(&events, dump::dump(200_000))?;
    for path in [portable, xnnpack, mobilenet, events] {
        println!("{} {}", path.display(), std::fs::metadata(&path)?.len());
    }
    Ok(())
}
