//! Groups over the nodes of a graph: one tree for each way of grouping.

use serde::{Deserialize, Serialize};

use super::ids::{GroupId, NodeId, PartitionId};

/// How nodes are gathered into groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grouping {
    /// By `nn.Module`, as the namespace says.
    Module,
    /// By delegate partition, and by the native islands between partitions.
    Delegate,
    /// No groups.
    Flat,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The group around it; `None` for the root alone.
    pub parent: Option<GroupId>,
    /// What is written on it.
    pub label: String,
    /// Its full path: the namespace, or the partition.
    pub path: String,
    /// The module class, the backend, or empty.
    pub class: String,
    /// Groups directly inside, in order of their first node.
    pub groups: Vec<GroupId>,
    /// Nodes directly inside, in file order.
    pub nodes: Vec<NodeId>,
    /// Nodes inside at any depth.
    pub node_count: u32,
    /// The partition it stands for, or that all of its nodes belong to.
    pub partition: Option<PartitionId>,
}

/// A tree of groups over all nodes of a graph. Group 0 is the root; a group's id is
/// larger than its parent's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    /// The groups, by [`GroupId`].
    pub groups: Vec<Group>,
    /// The innermost group of each node, by [`NodeId`].
    pub home: Vec<GroupId>,
}

impl Hierarchy {
    /// The root.
    pub const ROOT: GroupId = GroupId(0);

    /// The groups around a node, innermost first, the root last.
    pub fn ancestors(&self, node: NodeId) -> impl Iterator<Item = GroupId> + '_ {
        let first = self.home.get(node.index()).copied();
        std::iter::successors(first, |g| self.groups.get(g.index()).and_then(|g| g.parent))
    }
}
