//! Columns as typed arrays of their own: no view of wasm memory leaves a call.

use js_sys::{Array, Float32Array, Float64Array, Int32Array, Object, Reflect, Uint8Array, Uint32Array};
use wasm_bindgen::prelude::*;

use super::plain;
use crate::correlate::Claims;
use crate::document::details::partition_ref;
use crate::model::PartitionId;
use crate::overlay::{Overlay, Ownership};
use crate::scene::Scene;

fn set(object: &Object, key: &str, value: impl Into<JsValue>) -> Result<(), JsValue> {
    Reflect::set(object, &JsValue::from_str(key), &value.into()).map(|_| ())
}

fn texts(list: &[String]) -> Array {
    list.iter().map(|text| JsValue::from_str(text)).collect()
}

pub(super) fn scene(scene: &Scene, claims: &Claims, graph: u32, grouping: &str) -> Result<JsValue, JsValue> {
    let out = Object::new();
    set(&out, "graph", graph)?;
    set(&out, "grouping", grouping)?;
    set(&out, "width", scene.width)?;
    set(&out, "height", scene.height)?;
    set(&out, "kinds", Uint8Array::from(&scene.kinds[..]))?;
    set(&out, "ids", Uint32Array::from(&scene.ids[..]))?;
    set(&out, "parents", Int32Array::from(&scene.parents[..]))?;
    set(&out, "boxes", Float32Array::from(&scene.boxes[..]))?;
    set(&out, "labels", texts(&scene.labels))?;
    set(&out, "sublabels", texts(&scene.sublabels))?;
    set(&out, "partitionOf", Int32Array::from(&scene.partition_of[..]))?;
    let partitions: Vec<_> =
        (0..claims.partitions.len()).map(|i| partition_ref(claims, PartitionId::from(i))).collect();
    set(&out, "partitions", plain(&partitions)?)?;
    set(&out, "edgeFrom", Uint32Array::from(&scene.edge_from[..]))?;
    set(&out, "edgeTo", Uint32Array::from(&scene.edge_to[..]))?;
    set(&out, "edgeWeight", Uint32Array::from(&scene.edge_weight[..]))?;
    set(&out, "edgeStyle", Uint8Array::from(&scene.edge_style[..]))?;
    set(&out, "edgeStart", Uint32Array::from(&scene.edge_start[..]))?;
    set(&out, "edgePoints", Float32Array::from(&scene.edge_points[..]))?;
    Ok(out.into())
}

pub(super) fn overlay(
    overlay: &Overlay,
    graph: u32,
    block: u32,
    grouping: &str,
    metric: &str,
) -> Result<JsValue, JsValue> {
    let states = |list: &[Ownership]| {
        let bytes: Vec<u8> = list.iter().map(|state| *state as u8).collect();
        Uint8Array::from(&bytes[..])
    };
    let out = Object::new();
    set(&out, "graph", graph)?;
    set(&out, "block", block)?;
    set(&out, "metric", metric)?;
    set(&out, "grouping", grouping)?;
    set(&out, "nodes", Float64Array::from(&overlay.nodes[..]))?;
    set(&out, "nodeState", states(&overlay.node_state))?;
    set(&out, "groups", Float64Array::from(&overlay.groups[..]))?;
    set(&out, "groupState", states(&overlay.group_state))?;
    set(&out, "nodeShare", Float64Array::from(&overlay.node_share[..]))?;
    set(&out, "groupShare", Float64Array::from(&overlay.group_share[..]))?;
    Ok(out.into())
}
