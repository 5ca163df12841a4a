//! Native decoding: a large ETDump to event blocks, and the records of the tests.

use std::hint::black_box;
use std::rc::Rc;

use criterion::{Criterion, criterion_group, criterion_main};
use etscope::document::Document;
use etscope::etdump;
use etscope::profile;
use etscope::source::{ByteSource, FileSource};

#[path = "data/dump.rs"]
mod data;

fn open(record: &str, dump: &str) -> Document {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/corpus");
    let file = |name: &str| -> (String, Rc<dyn ByteSource>) {
        let source = FileSource::open(&folder.join(name)).unwrap_or_else(|e| panic!("{e}"));
        (name.to_owned(), Rc::new(source))
    };
    let mut document = Document::default();
    document.open(vec![file(record), file(dump)]);
    document
}

fn benches(c: &mut Criterion) {
    let bytes = data::dump(200_000);
    c.bench_function("decode 200,000 events to blocks", |b| {
        b.iter_with_large_drop(|| profile::build(&etdump::decode(black_box(&bytes)).unwrap_or_default()));
    });
    c.bench_function("verify and read 200,000 events", |b| b.iter(|| etdump::decode(black_box(&bytes))));
    c.bench_function("open the OPT-125M portable pair", |b| {
        b.iter(|| open("opt125m_portable.etrecord", "opt125m_portable.etdp"));
    });
    let document = open("opt125m_portable.etrecord", "opt125m_portable.etdp");
    c.bench_function("lay out the OPT-125M graph flat", |b| {
        b.iter(|| document.scene(0, 0, etscope::model::Grouping::Flat, &[]));
    });
}

criterion_group! { name = decode; config = Criterion::default().sample_size(10); targets = benches }
criterion_main!(decode);
