//! Dense ids, each its own type, so that one cannot stand for another.

use serde::Serialize;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into a column.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            fn from(index: usize) -> Self {
                // Every table is bounded far below 2^32 by `limits`.
                $name(u32::try_from(index).unwrap_or(u32::MAX))
            }
        }
    };
}

id! {
    /// A node of one graph.
    NodeId
}
id! {
    /// A group of one hierarchy; 0 is the root, which is never drawn.
    GroupId
}
id! {
    /// A graph of one record.
    GraphId
}
id! {
    /// A string of a [`super::Strings`] table.
    StrId
}
id! {
    /// A partition of one graph: the nodes that one delegate call runs.
    PartitionId
}
