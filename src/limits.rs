//! Every bound of the program, in one place. Each one met is an error or a
//! diagnostic that names it.

/// Largest ETDump that is read into memory, in bytes.
pub const ETDUMP_BYTES: u64 = 1 << 30;
/// Vectors of an ETDump may be shared, but not unfold to more than this many times its bytes, or
/// [`ETDUMP_SHARED_BYTES`] when that is more. What the runtime writes unfolds to less than twice.
pub const ETDUMP_SHARING: usize = 8;
/// See [`ETDUMP_SHARING`].
pub const ETDUMP_SHARED_BYTES: usize = 256 << 20;
/// Most events of one ETDump.
pub const EVENTS: usize = 16_000_000;
/// Most runs (`run_data` entries) of one ETDump.
pub const RUNS: usize = 4_000_000;
/// Most entries of an archive whose directory is read.
pub const ARCHIVE_ENTRIES: usize = 1_000_000;
/// Largest small archive entry (a map, an id) that is read into memory, in bytes.
pub const SMALL_ENTRY_BYTES: u64 = 256 << 20;
/// Longest JSON string that is kept, in bytes; longer ones are skipped and their place is noted, and
/// longer keys are cut.
pub const JSON_STRING_BYTES: usize = 1 << 20;
/// Deepest nesting of JSON.
pub const JSON_DEPTH: usize = 1024;
/// Most values of one JSON subtree that is held at a time (one node, one tensor).
pub const JSON_SUBTREE_VALUES: usize = 4_000_000;
/// Most nodes of all graphs of one record.
pub const NODES: usize = 4_000_000;
/// Deepest nesting of modules in a namespace; what is deeper shares the last group.
pub const NAMESPACE_DEPTH: usize = 128;
/// A deflated entry may not unpack to more than this many bytes for each byte packed.
pub const INFLATE_RATIO: u64 = 2_000;
/// A deflated entry, and all deflated graphs of a record, may unpack to at most this many bytes.
/// ExecuTorch stores its entries as they are; those may be as large as the file.
pub const INFLATED_BYTES: u64 = 2 << 30;
/// The checksum of an entry of at most this many bytes is checked. Of larger ones the JSON is
/// read all the same, but summing them up would take as long as reading them.
pub const CHECKED_ENTRY_BYTES: u64 = 64 << 20;
/// An entry of at most this many bytes, packed and unpacked, is read to its end after its JSON
/// broke, to tell by its checksum whether the file is damaged.
pub const CHECKED_AFTER_FAILURE_BYTES: u64 = 64 << 20;
/// Largest pickle of a weight archive that is read, in bytes.
pub const PICKLE_BYTES: u64 = 64 << 20;
/// Of a larger tensor a sample of so many bytes is read.
pub const TENSOR_SAMPLE_BYTES: u64 = 1 << 20;
