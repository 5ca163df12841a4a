//! Which event belongs to which nodes, which method a block ran, and whether the pair fits.
//!
//! * [`kernels`]: what a block says of each instruction.
//! * [`claim`]: the instructions of a method claim the nodes of its graph; partitions.
//! * [`attribute`]: events become costs with owners.
//! * [`align`], [`estimate`]: delegate ops that nothing ties to the graph, put on operators by
//!   kind and order.
//! * [`correlated`]: measured and estimated owners together.
//! * [`off_graph`]: what of a block's time is on no node, and why.
//! * [`grouping`]: groups by partition and native island.
//! * [`carry`]: claims on one graph carried over to another of the same method.
//! * [`fit`]: how well a block and a method belong together.

pub mod align;
pub mod attribute;
pub mod carry;
pub mod claim;
pub mod correlated;
pub mod estimate;
pub mod fit;
pub mod grouping;
pub mod kernels;
pub mod off_graph;

pub use attribute::{Attribution, Cost, Unmapped};
pub use claim::{Claims, Partition};
pub use correlated::Correlated;
pub use estimate::{Estimate, Estimates};
pub use fit::Fit;
pub use kernels::Kernels;
pub use off_graph::{OffGraph, off_graph};
