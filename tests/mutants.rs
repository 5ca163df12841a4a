//! Mutants of real files: every stretch of bytes of each small one truncated, overwritten,
//! repeated or left out. Each gives a graph with diagnostics or an error; none panics.
//!
//! `ETSCOPE_MUTANTS` sets how many there are (100,000 when unset).

mod everything;
mod oracle;
mod zips;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use zip::CompressionMethod;

/// Larger files would take the time of many small ones.
const SMALL: u64 = 70_000;
/// The words that lengths, offsets and counts are overwritten with.
const WORDS: [u32; 8] = [0, 1, 4, 0x7F, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFF0, 0xFFFF_FFFF];
/// What JSON is overwritten with.
const TOKENS: [&[u8]; 16] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b",",
    b":",
    b"null",
    b"-1",
    b"1e999",
    b"\\ud800",
    b"\\",
    b"\xFF",
    b"true",
    b"NaN",
    b"99999999999999999999",
];

/// A small generator of numbers that are the same every time (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap()
    }
}

/// A file that is mutated: as a whole, or the content of its entries, which are packed again with
/// right checksums, so that the mutation reaches what reads them.
struct Subject {
    name: String,
    whole: Vec<u8>,
    entries: zips::Entries,
}

impl Subject {
    fn read(name: &str) -> Subject {
        let whole = std::fs::read(oracle::fixtures().join("corpus").join(name)).unwrap();
        let entries = zips::entries(whole.clone());
        Subject { name: name.to_owned(), whole, entries }
    }

    /// One mutant; `sweep` in 0..1 says where, so that together they reach every stretch.
    fn mutant(&self, numbers: &mut Numbers, sweep: f64) -> Vec<u8> {
        if self.entries.is_empty() || numbers.below(4) == 0 {
            return mutated(&self.whole, numbers, sweep);
        }
        let method = if numbers.below(8) == 0 { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        let total: usize = self.entries.iter().map(|(_, bytes)| bytes.len()).sum();
        let mut at = sweep * total as f64;
        let mutant = |(name, bytes): &(String, Vec<u8>)| {
            let here = at >= 0.0 && at < bytes.len() as f64;
            let within = at / bytes.len().max(1) as f64;
            at -= bytes.len() as f64;
            (name.clone(), if here { mutated(bytes, numbers, within) } else { bytes.clone() })
        };
        let entries = self.entries.iter().map(mutant).collect();
        zips::pack_as(zips::borrowed(&entries), zips::by(method))
    }
}

fn mutated(good: &[u8], numbers: &mut Numbers, sweep: f64) -> Vec<u8> {
    let at = ((sweep * good.len() as f64) as usize).min(good.len());
    let longest = good.len() - at;
    let length = [1, 2, 4, 8, 64, 1024][numbers.below(6)].min(longest);
    let stretch = at..at + length;
    match numbers.below(7) {
        0 => good[..at].to_vec(),
        1 => {
            let mut bytes = good.to_vec();
            let fill = [0, 0xFF, b'9', numbers.next() as u8][numbers.below(4)];
            bytes[stretch].fill(fill);
            bytes
        }
        2 => {
            let mut bytes = good.to_vec();
            bytes[stretch].fill_with(|| numbers.next() as u8);
            bytes
        }
        // Flatbuffers keep their offsets and counts at multiples of four.
        3 => {
            let mut bytes = good.to_vec();
            let at = at / 4 * 4;
            if let Some(word) = bytes.get_mut(at..at + 4) {
                word.copy_from_slice(&WORDS[numbers.below(WORDS.len())].to_le_bytes());
            }
            bytes
        }
        4 => [&good[..at], TOKENS[numbers.below(TOKENS.len())], &good[at + length..]].concat(),
        5 => [&good[..at], &good[stretch.clone()], &good[stretch], &good[at + length..]].concat(),
        _ => [&good[..at], &good[at + length..]].concat(),
    }
}

#[test]
fn every_mutant_is_a_graph_with_diagnostics_or_an_error() {
    let wanted: usize = std::env::var("ETSCOPE_MUTANTS").map_or(100_000, |n| n.parse().unwrap());
    let mut names: Vec<String> = std::fs::read_dir(oracle::fixtures().join("corpus"))
        .unwrap()
        .map(Result::unwrap)
        .filter(|e| e.metadata().unwrap().len() <= SMALL)
        .map(|e| e.file_name().into_string().unwrap())
        .filter(|n| n.ends_with(".etrecord") || n.ends_with(".etdp"))
        .collect();
    names.sort();
    let subjects: Vec<Subject> = names.iter().map(|name| Subject::read(name)).collect();
    // Small files get as many as large ones: their bytes are the dearer.
    let each = wanted.div_ceil(subjects.len());
    let (opened, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, Into::into) {
            scope.spawn(|| {
                while let Some(subject) = subjects.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let begun = Instant::now();
                    let mut slowest = (Duration::ZERO, 0);
                    for i in 0..each {
                        let one = Instant::now();
                        if run(subject, i, each) { &opened } else { &refused }.fetch_add(1, Ordering::Relaxed);
                        slowest = slowest.max((one.elapsed(), i));
                    }
                    eprintln!("{}: {each} in {:?}, slowest {slowest:?}", subject.name, begun.elapsed());
                }
            });
        }
    });
    let (opened, refused) = (opened.into_inner(), refused.into_inner());
    eprintln!("{opened} opened, {refused} refused");
    assert!(opened + refused >= wanted);
    // Both happen, or the mutations reach nothing.
    assert!(opened > wanted / 5 && refused > wanted / 20, "{opened} opened, {refused} refused");
}

/// Whether mutant `i` of a file was opened. What opens answers all questions.
fn run(subject: &Subject, i: usize, each: usize) -> bool {
    let mut numbers = Numbers(i as u64 ^ (subject.whole.len() as u64) << 32);
    let sweep = i as f64 / each as f64;
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mutant = subject.mutant(&mut numbers, sweep);
        let (mut document, result) = everything::open(vec![(&subject.name, mutant)]);
        for refusal in &result.rejected {
            let error = &refusal.error;
            assert!(error.message.len() > 10 && error.next.len() > 10, "{error:?}");
        }
        everything::use_all(&mut document);
        assert_eq!(result.current.is_some(), result.rejected.is_empty());
        result.current.is_some()
    }));
    outcome.unwrap_or_else(|_| panic!("mutant {i} of {each} of {}", subject.name))
}
