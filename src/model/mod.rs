//! The graph: nodes, edges, namespaces and groups, in columns.

pub mod hierarchy;
pub mod ids;
