//! The graph: nodes, edges, namespaces and groups, in columns.

pub mod graph;
pub mod hierarchy;
pub mod ids;
pub mod modules;
pub mod strings;

pub use graph::{Graph, NodeKind};
pub use hierarchy::{Group, Grouping, Hierarchy};
pub use ids::{GraphId, GroupId, NodeId, PartitionId, StrId};
