//! What a dump holds besides times: allocations, and values that were logged. The files were
//! written by ExecuTorch's own serializer; what is expected is what its generator was given.

mod oracle;

use etscope::etdump::LoggedValue;
use etscope::{etdump, profile};

fn profile_of(dump: &str) -> profile::Profile {
    let bytes = std::fs::read(oracle::fixtures().join("corpus").join(dump)).unwrap();
    profile::build(&etdump::decode(&bytes).unwrap())
}

#[test]
fn allocations_are_summed_by_allocator_and_run() {
    let profile = profile_of("odd_allocations.etdp");
    assert!(profile.blocks[0].allocators.is_empty());
    let seen: Vec<_> = profile.blocks[1]
        .allocators
        .iter()
        .map(|a| (a.name.as_deref(), a.number, &a.allocations[..], &a.bytes[..], a.peak(), a.largest(), &a.sizes[..]))
        .collect();
    let gib8 = 1_u64 << 33;
    assert_eq!(
        seen,
        [
            (Some("planned_memory"), 1, &[1][..], &[4096][..], 4096, 4096, &[(4096, 1)][..]),
            (Some("method_allocator"), 2, &[1], &[gib8], gib8, gib8, &[(gib8, 1)]),
            (None, 7, &[1], &[0], 0, 0, &[(0, 1)]),
        ]
    );
}

#[test]
fn logged_values_are_kept_with_their_kinds() {
    let logged = profile_of("odd_debug_values.etdp").logged;
    let kinds: Vec<_> = logged
        .iter()
        .map(|l| match &l.value {
            LoggedValue::Tensor(t) => format!("{} tensor {:?} at {}", l.name, t.sizes, t.offset),
            LoggedValue::Tensors(list) => format!("{} {} tensors", l.name, list.len()),
            other => format!("{} {other:?}", l.name),
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "native_call_a tensor [2, 3] at 0",
            "native_call_b 2 tensors",
            "native_call_c Int(-4611686018427387904)",
            "native_call_d Float(1e300)",
            "native_call_e Bool(true)",
            "native_call_f Float(0.5)",
            "native_call_g Null",
            "native_call_h tensor [4] at 1000000000000",
            " tensor [2, 3] at 0",
        ]
    );
    assert_eq!(logged[3].instruction, Some(3));
    let last = &logged[8];
    assert_eq!((last.chain, last.output), (u64::MAX, true));
    assert!(!logged[0].output);
}
