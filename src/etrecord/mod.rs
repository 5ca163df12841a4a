//! What an ETRecord holds: the exported programs, the maps that tie the runtime's
//! instruction ids to their nodes, and the weights.

pub mod json;
pub mod lineage;
pub mod lowered;
pub mod maps;
pub mod on_demand;
pub mod program;
pub mod record;
pub mod tensors;
