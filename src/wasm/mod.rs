//! The boundary: one session in a worker. Coarse calls; bulk goes out as typed arrays,
//! copied once; the rest as plain objects in the shapes of `www/src/protocol.ts`.
//!
//! Nothing here decides anything: each call is one of [`crate::document::Document`]'s.

mod blob;
mod columns;

use std::rc::Rc;

use serde::Serialize;
use wasm_bindgen::prelude::*;

use crate::document::Document;
use crate::error::{Code, Error};
use crate::model::Grouping;
use crate::source::ByteSource;

/// An opened set of files, and everything that can be asked of it.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Session {
    document: Document,
}

/// A value as a plain JavaScript object.
fn plain<T: Serialize>(value: &T) -> Result<JsValue, JsValue> {
    let serializer = serde_wasm_bindgen::Serializer::new().serialize_missing_as_null(true);
    value.serialize(&serializer).map_err(JsValue::from)
}

/// An error as a plain object: code, message, place, next.
fn thrown(error: Error) -> JsValue {
    let text = JsValue::from_str(&error.to_string());
    plain(&error).unwrap_or(text)
}

fn answer<T: Serialize>(result: crate::error::Result<T>) -> Result<JsValue, JsValue> {
    plain(&result.map_err(thrown)?)
}

fn grouping(name: &str) -> Result<Grouping, JsValue> {
    match name {
        "module" => Ok(Grouping::Module),
        "delegate" => Ok(Grouping::Delegate),
        "flat" => Ok(Grouping::Flat),
        other => Err(thrown(Error::new(Code::NotFound, format!("there is no grouping `{other}`")))),
    }
}

#[wasm_bindgen]
impl Session {
    /// A session with nothing open.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Session::default()
    }

    /// Begins to open these Blobs under these names. Their bytes are asked for by `next`.
    #[wasm_bindgen]
    pub fn begin(&mut self, names: Vec<String>, blobs: Vec<web_sys::Blob>) {
        let files = names
            .into_iter()
            .zip(blobs)
            .map(|(name, blob)| {
                let source: Rc<dyn ByteSource> = Rc::new(blob::BlobSource::new(blob));
                (name, source)
            })
            .collect();
        self.document.begin(files);
    }

    /// The byte range wanted next, or undefined.
    #[wasm_bindgen]
    pub fn next(&mut self) -> Result<JsValue, JsValue> {
        let Some(range) = self.document.next_range() else { return Ok(JsValue::UNDEFINED) };
        #[derive(Serialize)]
        struct Out<'a> {
            file: u32,
            offset: f64,
            length: f64,
            name: &'a str,
            what: &'a str,
            done: f64,
            total: f64,
        }
        plain(&Out {
            file: range.file,
            offset: range.offset as f64,
            length: range.length as f64,
            name: &range.name,
            what: &range.what,
            done: range.done as f64,
            total: range.total as f64,
        })
    }

    /// The next bytes of that range. False when the rest of it is of no use.
    #[wasm_bindgen]
    pub fn feed(&mut self, bytes: &[u8]) -> bool {
        self.document.feed(bytes)
    }

    /// Ends the opening.
    #[wasm_bindgen]
    pub fn finish(&mut self) -> Result<JsValue, JsValue> {
        plain(&self.document.finish())
    }

    /// Gives the opening up; what was open stays.
    #[wasm_bindgen]
    pub fn abort(&mut self) {
        self.document.abort();
    }

    /// Bytes read by the opening that is going on.
    #[wasm_bindgen(js_name = bytesRead)]
    pub fn bytes_read(&self) -> f64 {
        self.document.bytes_read() as f64
    }

    /// Closes everything.
    #[wasm_bindgen(js_name = closeAll)]
    pub fn close_all(&mut self) -> Result<JsValue, JsValue> {
        plain(&self.document.close_all())
    }

    /// Header and choosers of a view.
    #[wasm_bindgen]
    pub fn view(&self, view: u32) -> Result<JsValue, JsValue> {
        answer(self.document.view_info(view))
    }

    /// Takes a block as a run of a method.
    #[wasm_bindgen(js_name = setMethod)]
    pub fn set_method(&mut self, view: u32, block: u32, method: Option<String>) -> Result<JsValue, JsValue> {
        answer(self.document.set_method(view, block, method.as_deref()))
    }

    /// Reads a graph that was only listed.
    #[wasm_bindgen(js_name = loadGraph)]
    pub fn load_graph(&mut self, view: u32, graph: u32) -> Result<JsValue, JsValue> {
        answer(self.document.load_graph(view, graph))
    }

    /// Opens the module that a delegate call carries.
    #[wasm_bindgen(js_name = openInside)]
    pub fn open_inside(&mut self, view: u32, graph: u32, node: u32) -> Result<JsValue, JsValue> {
        answer(self.document.open_inside(view, graph, node))
    }

    /// Groups to open first.
    #[wasm_bindgen(js_name = initialExpansion)]
    pub fn initial_expansion(&self, view: u32, graph: u32, by: &str) -> Result<Vec<u32>, JsValue> {
        self.document.initial_expansion(view, graph, grouping(by)?).map_err(thrown)
    }

    /// A drawing with these groups open.
    #[wasm_bindgen]
    pub fn scene(&self, view: u32, graph: u32, by: &str, expanded: &[u32]) -> Result<JsValue, JsValue> {
        let scene = self.document.scene(view, graph, grouping(by)?, expanded).map_err(thrown)?;
        let claims = self.document.view(view).map_err(thrown)?.claims_of(graph as usize).cloned().unwrap_or_default();
        columns::scene(&scene, &claims, graph, by)
    }

    /// One metric of a block on a graph.
    #[wasm_bindgen]
    pub fn overlay(
        &self,
        view: u32,
        graph: u32,
        block: u32,
        by: &str,
        metric: &str,
        estimates: bool,
    ) -> Result<JsValue, JsValue> {
        let which = metric.parse().map_err(thrown)?;
        let overlay = self.document.overlay(view, graph, block, grouping(by)?, which, estimates).map_err(thrown)?;
        columns::overlay(&overlay, graph, block, by, metric)
    }

    /// All that is known of a node.
    #[wasm_bindgen(js_name = nodeDetails)]
    pub fn node_details(&self, view: u32, graph: u32, block: Option<u32>, node: u32) -> Result<JsValue, JsValue> {
        answer(self.document.node_details(view, graph, block, node))
    }

    /// All that is known of a group.
    #[wasm_bindgen(js_name = groupDetails)]
    pub fn group_details(
        &self,
        view: u32,
        graph: u32,
        block: Option<u32>,
        by: &str,
        group: u32,
        estimates: bool,
    ) -> Result<JsValue, JsValue> {
        answer(self.document.group_details(view, graph, block, grouping(by)?, group, estimates))
    }

    /// All that is known of a partition.
    #[wasm_bindgen(js_name = partitionDetails)]
    pub fn partition_details(
        &self,
        view: u32,
        graph: u32,
        block: Option<u32>,
        partition: u32,
    ) -> Result<JsValue, JsValue> {
        answer(self.document.partition_details(view, graph, block, partition))
    }

    /// Values and statistics of a parameter, buffer or constant of a node.
    #[wasm_bindgen(js_name = tensorValues)]
    pub fn tensor_values(&self, view: u32, graph: u32, node: u32, name: &str) -> Result<JsValue, JsValue> {
        answer(self.document.tensor_values(view, graph, node, name))
    }

    /// The groups around a node.
    #[wasm_bindgen]
    pub fn locate(&self, view: u32, graph: u32, by: &str, node: u32) -> Result<JsValue, JsValue> {
        answer(self.document.locate(view, graph, grouping(by)?, node))
    }

    /// A page of the events of a block.
    #[wasm_bindgen]
    pub fn events(&self, view: u32, block: u32, from: u32, count: u32) -> Result<JsValue, JsValue> {
        answer(self.document.events(view, block, from, count))
    }
}
