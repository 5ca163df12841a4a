//! etscope shows where an ExecuTorch model spends its time.
//!
//! The crate decodes an ETRecord (the exported graph) and an ETDump (the runtime
//! profile), attributes measured ticks to graph nodes, and lays the graph out.
//!
//! Constraints that shape every module:
//! * It runs as WebAssembly over files of more than a gigabyte, so no module but
//!   [`source`] sees a whole file, and bulk data is skipped, never held.
//! * Nothing but `wasm` knows JavaScript, a clock or a file system: everything is
//!   plain Rust over byte slices and is tested natively.
//! * Input is untrusted. A bad part is a [`diagnostics::Diagnostics`] entry and
//!   costs that part; what cannot be shown at all is an [`error::Error`]. Nothing
//!   panics, and every bound stands in [`limits`].
//! * Ids are `u32` newtypes and tables are columns; ticks are integers and carry
//!   their unit in their name or type.

pub mod archive;
pub mod correlate;
pub mod diagnostics;
pub mod document;
pub mod error;
pub mod etdump;
pub mod etrecord;
pub mod export;
pub mod layout;
pub mod limits;
pub mod model;
pub mod overlay;
pub mod profile;
pub mod scene;
pub mod source;
#[cfg(target_arch = "wasm32")]
pub mod wasm;
