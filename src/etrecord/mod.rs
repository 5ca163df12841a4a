//! What an ETRecord holds: the exported programs and the maps that tie the runtime's
//! instruction ids to their nodes.

pub mod json;
pub mod lowered;
pub mod maps;
pub mod program;
pub mod record;
