//! The JSON scanner gives the same for every chunking, and what `serde_json` gives where
//! both read the text.

mod oracle;

use etscope::etrecord::json::scan::Scanner;
use etscope::etrecord::json::value::{TreeSink, Value, parse};
use etscope::etrecord::program::ProgramSink;
use proptest::prelude::*;

fn in_pieces(text: &[u8], cuts: &[usize]) -> Result<Value, String> {
    let mut scanner = Scanner::new(TreeSink::default());
    let mut at = 0;
    for cut in cuts {
        let end = (at + cut % 9).min(text.len());
        scanner.feed(&text[at..end]).map_err(|e| e.to_string())?;
        at = end;
    }
    scanner.feed(&text[at..]).map_err(|e| e.to_string())?;
    scanner.finish().map_err(|e| e.to_string())?;
    scanner.into_sink().root.ok_or_else(|| "empty".to_owned())
}

fn same(ours: &Value, theirs: &serde_json::Value) -> bool {
    match (ours, theirs) {
        (Value::Null, serde_json::Value::Null) => true,
        (Value::Bool(a), serde_json::Value::Bool(b)) => a == b,
        (Value::Int(a), serde_json::Value::Number(b)) => b.as_i64() == Some(*a),
        (Value::Float(a), serde_json::Value::Number(b)) => b.as_f64() == Some(*a),
        (Value::Text(a), serde_json::Value::String(b)) => **a == **b,
        (Value::Array(a), serde_json::Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), serde_json::Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, v)| b.get(&**k).is_some_and(|b| same(v, b)))
        }
        _ => false,
    }
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        (-1e9_f64..1e9).prop_map(serde_json::Value::from),
        "[a-z\"\\\\/\\n\u{0}-\u{1f}é😀]{0,12}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
            prop::collection::btree_map("[a-z]{1,4}", inner, 0..5)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn every_split_gives_what_serde_json_gives(value in json(), cuts in prop::collection::vec(0_usize..9, 0..60)) {
        let text = serde_json::to_vec(&value).unwrap();
        let ours = in_pieces(&text, &cuts).unwrap();
        prop_assert!(same(&ours, &value), "{ours:?} {value}");
    }

    #[test]
    fn bytes_of_any_kind_give_the_same_in_any_pieces(text in prop::collection::vec(prop::sample::select(b"{}[]\",:\\u12nNaInfity-+.e0tr \xff".to_vec()), 0..60), cuts in prop::collection::vec(0_usize..9, 0..60)) {
        let whole = in_pieces(&text, &[]).map(|v| format!("{v:?}"));
        let pieces = in_pieces(&text, &cuts).map(|v| format!("{v:?}"));
        prop_assert_eq!(whole, pieces);
    }
}

#[test]
fn pythons_words_are_numbers() {
    let value = parse(b"[NaN, Infinity, -Infinity, 1e400, -0.0]").unwrap();
    let floats: Vec<f64> =
        value.items().iter().map(|v| if let Value::Float(f) = v { *f } else { panic!("{v:?}") }).collect();
    assert!(floats[0].is_nan() && floats[1] == f64::INFINITY && floats[2] == f64::NEG_INFINITY);
    assert!(parse(b"[inf]").is_err() && parse(b"[nan]").is_err() && parse(b"[1 2]").is_err() && parse(b"").is_err());
}

/// A real program with lowered modules inside, in pieces of every small size.
#[test]
fn a_program_with_lowered_modules_is_the_same_in_any_pieces() {
    let path = oracle::fixtures().join("corpus/old_v101_xnnpack.etrecord");
    let mut zip = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut zip.by_name("edge_dialect_exported_program").unwrap(), &mut text).unwrap();
    let read = |size: usize| {
        let mut scanner = Scanner::new(ProgramSink::default());
        text.chunks(size).for_each(|piece| scanner.feed(piece).unwrap());
        scanner.finish().unwrap();
        scanner.into_sink().into_program().unwrap()
    };
    let whole = read(text.len());
    assert!(whole.graph.nodes.iter().any(|n| n.target.ends_with("executorch_call_delegate")));
    for size in [1, 2, 3, 7, 64, 1000, 4096] {
        assert!(read(size) == whole, "pieces of {size}");
    }
}
