//! What the backends write of their ops, and what becomes of it.

mod generated;
mod oracle;

use etscope::document::Document;
use etscope::document::info::EventInfo;
use etscope::model::Grouping;
use etscope::overlay::Metric;
use generated::{Logged, dump};
use oracle::{fixtures, view};

fn rows(document: &Document) -> Vec<EventInfo> {
    document.events(0, 0, 0, 100).unwrap().rows
}

/// A dump of one delegate call from 1000 to 2000 with these events inside.
fn call(inside: Vec<Logged>) -> Vec<u8> {
    let mut events = inside;
    events.push(Logged::new("DELEGATE_CALL", 0, 1000, 2000));
    events.push(Logged::execute(990, 2010));
    dump(&[events])
}

fn self_ticks(document: &Document, name: &str) -> u64 {
    let block = &view(document).blocks()[0];
    let event =
        block.events.iter().find(|e| &*e.name == name || e.delegate_id.as_ref().is_some_and(|d| d.to_string() == name));
    event.unwrap().self_samples[0]
}

#[test]
fn figures_of_qnn_are_not_taken_out_of_the_call() {
    let figure = |text: &str, value: u64| Logged::new("", 0, 0, value).text(text);
    let document = generated::open(vec![call(vec![
        figure("Accelerator (execute) time (us)", 400),
        figure("Number of HVX threads used (count)", 4),
        figure("DDR spill (bytes)", 300),
        figure("aten_conv2d_default:OpId_21", 250),
    ])]);
    let rows = rows(&document);
    let units: Vec<&str> = rows.iter().filter(|r| r.kind == "delegate-op").map(|r| r.unit).collect();
    assert_eq!(units, ["us", "count", "bytes", "counter"]);
    assert!(rows.iter().filter(|r| r.kind == "delegate-op").all(|r| r.writer == Some("QNN")));
    assert_eq!(rows[0].label.as_deref(), Some("Accelerator (execute) time"));
    // Nothing of the call is anywhere else.
    assert_eq!(self_ticks(&document, "DELEGATE_CALL"), 1000);
    assert!(view(&document).blocks()[0].events.iter().all(|e| !e.other_clock));
}

#[test]
fn shaders_of_vulkan_lie_in_the_phase_that_ran_them() {
    let shader = |n: u32, start: u64, end: u64| {
        let id = format!(
            r#"{{"operator": {{"name": "aten.add.Tensor"}}, "kernel_name": "binary_add_{n}", "operator_id": {n}, "dispatch_id": {n}}}"#
        );
        Logged::new("", 0, start, end).text(&id)
    };
    let document = generated::open(vec![call(vec![
        // On the GPU's clock.
        shader(1, 70_000, 70_300),
        shader(2, 70_300, 70_500),
        Logged::new("", 0, 1000, 1050).text("ETVK_COPY_INPUTS"),
        Logged::new("", 0, 1050, 1900).text("ETVK_EXECUTE"),
        Logged::new("", 0, 1900, 1990).text("ETVK_COPY_OUTPUTS"),
    ])]);
    assert_eq!(self_ticks(&document, "DELEGATE_CALL"), 10);
    assert_eq!(self_ticks(&document, "ETVK_EXECUTE"), 350);
    let rows = rows(&document);
    assert_eq!(rows[0].label.as_deref(), Some("binary_add_1"));
    assert_eq!(rows[0].writer, Some("Vulkan"));
    assert!(rows[0].fields.iter().any(|f| f.name == "operator.name" && f.value == "aten.add.Tensor"));
}

#[test]
fn a_shader_is_found_by_its_operator_and_by_no_other_number_in_it() {
    // The corpus's Vulkan record has keys 0 to 5 for its one call.
    let id = r#"{"operator": {"name": "x", "id": 5}, "kernel_name": "k", "operator_id": 3, "dispatch_id": 9}"#;
    let record = std::fs::read(fixtures().join("corpus/delegate_vulkan.etrecord")).unwrap();
    let document = generated::open(vec![record, call(vec![Logged::new("", 0, 1000, 1400).text(id)])]);
    let found = &rows(&document)[0];
    let by_number = {
        let record = std::fs::read(fixtures().join("corpus/delegate_vulkan.etrecord")).unwrap();
        let number = Logged { number: 3, ..Logged::new("", 0, 1000, 1400) };
        let document = generated::open(vec![record, call(vec![number])]);
        rows(&document)[0].debug_handles.clone()
    };
    assert!(!by_number.is_empty());
    assert_eq!(found.debug_handles, by_number);
}

#[test]
fn rule_11_times_of_a_cost_model_are_estimates() {
    let record = std::fs::read(fixtures().join("corpus/delegate_coreml.etrecord")).unwrap();
    let op = |id: &str, start, end| {
        let metadata =
            br#"{"operatorName": "ios17.conv", "estimatedCost": 0.5, "preferredComputeUnit": "Neural Engine"}"#;
        Logged::new("", 0, start, end).text(id).metadata(metadata)
    };
    let document = generated::open(vec![
        record,
        call(vec![
            op("aten_conv2d_default_cast_fp16:conv", 1000, 1500),
            op("aten_relu_default_cast_fp16:relu", 1500, 2000),
        ]),
    ]);
    let rows = rows(&document);
    assert_eq!(rows[0].writer, Some("Core ML"));
    assert_eq!(rows[0].unit, "modelled-ticks");
    assert_eq!(rows[0].nodes.len(), 1, "the map says which node");
    let view = view(&document);
    // The call keeps all that was measured.
    let attribution = view.attribution(0).unwrap();
    assert_eq!(attribution.costs.len(), 1);
    assert_eq!(attribution.costs[0].samples, [1000]);
    let on = |estimates| document.overlay(0, 0, 0, Grouping::Flat, Metric::Total, estimates).unwrap().nodes;
    let node = rows[0].nodes[0] as usize;
    assert_eq!((on(false)[node], on(true)[node]), (1000.0, 500.0));
}

#[test]
fn phases_of_vgf_nest_and_metadata_is_readable() {
    let document = generated::open(vec![call(vec![
        Logged::new("", 0, 1100, 1200).text("VGF_COPY_INPUTS"),
        Logged::new("", 0, 1200, 1700).text("VGF_DISPATCH_AND_WAIT"),
        Logged::new("", 0, 1050, 1900).text("VGF_EXECUTE").metadata(br#"{"statistics": "AAEC", "runs": 1}"#),
    ])]);
    assert_eq!(self_ticks(&document, "VGF_EXECUTE"), 250);
    assert_eq!(self_ticks(&document, "DELEGATE_CALL"), 150);
    let rows = rows(&document);
    assert!(rows.iter().filter(|r| r.kind == "delegate-op").all(|r| r.writer == Some("VGF")));
    assert_eq!(rows[2].metadata.as_deref(), Some("{\n  \"statistics\": \"AAEC\",\n  \"runs\": 1\n}"));
}

#[test]
fn metadata_that_is_no_text_is_shown_as_digits() {
    let neutron = |number, code: u8, start, end| Logged { number, ..Logged::new("", 0, start, end) }.metadata(&[code]);
    let document = generated::open(vec![call(vec![
        neutron(0, 17, 1000, 1100),
        neutron(1, 0, 1100, 1900),
        Logged::new("", 0, 1900, 1950).text("own").metadata(b"\x00\x01abc\xff"),
    ])]);
    let rows = rows(&document);
    assert_eq!(rows[0].writer, Some("Neutron"));
    assert_eq!(rows[0].fields[0].value, "17");
    assert_eq!(rows[1].label.as_deref(), Some("profiling dump"));
    assert!(rows[2].metadata.as_deref().unwrap().starts_with("00 01 61 62 63 ff"));
    assert!(rows[2].metadata.as_deref().unwrap().ends_with("..abc."));
}

#[test]
fn phases_of_ethos_u_are_scopes_inside_the_call() {
    let document = generated::open(vec![call(vec![
        Logged::new("+EthosUBackend::execute()NPU", 0, 1100, 1800),
        Logged::new("EthosUBackend::execute()", 0, 1010, 1990),
    ])]);
    let rows = rows(&document);
    assert_eq!(rows[0].writer, Some("Ethos-U"));
    assert_eq!(self_ticks(&document, "EthosUBackend::execute()"), 280);
}

#[test]
fn rule_9_another_backend_than_the_record_has_is_a_reason() {
    let record = std::fs::read(fixtures().join("corpus/gap_xnnpack.etrecord")).unwrap();
    let shader = r#"{"operator": {}, "kernel_name": "conv2d", "operator_id": 1, "dispatch_id": 1}"#;
    let of = |text: &str| {
        let document = generated::open(vec![record.clone(), call(vec![Logged::new("", 0, 1000, 1400).text(text)])]);
        view(&document).pair_fit().unwrap()
    };
    let (right, wrong) = (of("Convolution (NHWC, F32) IGEMM #1"), of(shader));
    assert!(wrong.score < right.score, "{} {}", wrong.score, right.score);
    assert!(wrong.reasons[0].contains("called Vulkan, the record has XnnpackBackend there"), "{:?}", wrong.reasons);
    assert!(!right.reasons.iter().any(|r| r.contains("called")), "{:?}", right.reasons);
}
