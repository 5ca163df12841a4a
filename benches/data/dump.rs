//! A large ETDump, the same each time.

use etscope::etdump::generated as fb;
use flatbuffers::FlatBufferBuilder;

/// One profile event with its chain and instruction.
fn event<'a>(
    b: &mut FlatBufferBuilder<'a>,
    name: u32,
    (chain_index, instruction_id): (i32, i32),
    time: std::ops::Range<u64>,
) -> flatbuffers::WIPOffset<fb::Event<'a>> {
    let args = fb::ProfileEventArgs {
        name: Some(flatbuffers::WIPOffset::new(name)),
        chain_index,
        instruction_id,
        start_time: time.start,
        end_time: time.end,
        ..Default::default()
    };
    let profile_event = Some(fb::ProfileEvent::create(b, &args));
    fb::Event::create(b, &fb::EventArgs { profile_event, ..Default::default() })
}

/// A dump of about this many events in two runs.
pub fn dump(events: usize) -> Vec<u8> {
    let mut b = FlatBufferBuilder::with_capacity(1 << 24);
    let text = |b: &mut FlatBufferBuilder<'_>, text: &str| b.create_vector(text.as_bytes()).value();
    let kernels: Vec<u32> = ["addmm", "permute_copy", "add", "mul", "_softmax", "bmm", "native_layer_norm"]
        .iter()
        .map(|op| text(&mut b, &format!("native_call_{op}.out")))
        .collect();
    let (call, execute, block) =
        (text(&mut b, "OPERATOR_CALL"), text(&mut b, "Method::execute"), text(&mut b, "Execute"));
    let mut seed = 7_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    let mut t = 1_000_000_u64;
    let mut runs = Vec::new();
    for _ in 0..2 {
        let begin = t;
        let mut list = Vec::new();
        for i in 0..(events / 2 - 1) / 2 {
            let cost = 500 + random() % 200_000;
            let id = i32::try_from(i).unwrap_or(0);
            list.push(event(&mut b, kernels[i % kernels.len()], (0, id), t + 40..t + 40 + cost));
            list.push(event(&mut b, call, (0, id), t..t + cost + 80));
            t += cost + 100;
        }
        list.push(event(&mut b, execute, (-1, 0), begin..t));
        let list = Some(b.create_vector(&list));
        let name = Some(flatbuffers::WIPOffset::new(block));
        runs.push(fb::RunData::create(&mut b, &fb::RunDataArgs { name, events: list, ..Default::default() }));
    }
    let run_data = Some(b.create_vector(&runs));
    let root = fb::ETDump::create(&mut b, &fb::ETDumpArgs { version: 0, run_data });
    b.finish_size_prefixed(root, Some("ED00"));
    b.finished_data().to_vec()
}
