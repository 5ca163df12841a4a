//! Carries what is known of one graph over to another graph of the same method: the nodes of
//! the edge program say in their lineage which node of the exported program they came from.

use rustc_hash::FxHashMap;

use super::claim::{Claims, Partition};
use crate::etrecord::lineage::origins;
use crate::etrecord::program::Arg;
use crate::model::{Graph, NodeId, NodeKind};

/// For each node of the edge graph the nodes of another graph that it came from.
///
/// Of the steps of a lineage that name a node of the other graph, those count that were in the
/// graph of this id; without any, the oldest. A node inside control flow came from one inside
/// the same branch.
pub fn came_from(edge: &Graph, other: &Graph, graph_id: Option<i64>) -> Vec<Vec<NodeId>> {
    let is_op = |graph: &Graph, n: NodeId| !matches!(graph.kinds[n.index()], NodeKind::Inputs | NodeKind::Outputs);
    let names = |graph: &Graph| -> FxHashMap<Box<str>, NodeId> {
        graph.nodes().filter(|n| is_op(graph, *n)).map(|n| (graph.names[n.index()].clone(), n)).collect()
    };
    let (ours, theirs) = (names(edge), names(other));
    let mut all: Vec<Vec<NodeId>> = Vec::with_capacity(edge.len());
    for node in edge.nodes() {
        let steps = edge.sources[node.index()].meta("from_node").map(origins).unwrap_or_default();
        // The same branch, by its number, of what its control flow node came from.
        let branch = branch(&edge.names[node.index()]).and_then(|(owner, branch)| {
            let owner = *ours.get(owner)?;
            let number = branches(edge, owner).position(|name| name == branch)?;
            let origin = *all.get(owner.index())?.first()?;
            Some(format!("{}/{}/", other.names[origin.index()], branches(other, origin).nth(number)?))
        });
        let known = |name: &str| match &branch {
            Some(branch) => theirs.get(&*format!("{branch}{name}")).copied(),
            None => theirs.get(name).copied(),
        };
        let mut found: Vec<NodeId> = steps
            .iter()
            .filter(|s| graph_id.is_some() && s.graph_id == graph_id)
            .filter_map(|s| known(&s.name))
            .collect();
        if found.is_empty() {
            let named: Vec<(u32, NodeId)> = steps.iter().filter_map(|s| Some((s.depth, known(&s.name)?))).collect();
            let oldest = named.iter().map(|(depth, _)| *depth).max();
            found = named.into_iter().filter(|(depth, _)| Some(*depth) == oldest).map(|(_, n)| n).collect();
        }
        // A call of a delegate came from all that was lowered into it.
        let lowered = edge.lowered(node).into_iter().flat_map(|lowered| &lowered.ops);
        found.extend(lowered.flat_map(|op| &*op.came_from).filter_map(|name| known(name)));
        found.sort_unstable();
        found.dedup();
        all.push(found);
    }
    all
}

/// The names of the graphs that a control flow node runs.
fn branches(graph: &Graph, node: NodeId) -> impl Iterator<Item = &str> {
    graph.sources[node.index()].inputs.iter().filter_map(|(_, arg)| match arg {
        Arg::Graph(name, _) => Some(&**name),
        _ => None,
    })
}

/// The control flow node and the branch of a node inside one: `cond` and `submodule_0` of
/// `cond/submodule_0/add`.
fn branch(name: &str) -> Option<(&str, &str)> {
    let (path, _) = name.rsplit_once('/')?;
    path.rsplit_once('/')
}

/// Gives the nodes of the other graph the debug handles of the edge nodes that came from them;
/// a node that became several has the handle of the first.
pub fn carry_handles(edge: &Graph, came_from: &[Vec<NodeId>], other: &mut Graph) {
    for (node, origins) in edge.nodes().zip(came_from) {
        for origin in origins {
            if let Some(slot @ None) = other.debug_handles.get_mut(origin.index()) {
                *slot = edge.debug_handles[node.index()];
            }
        }
    }
}

/// The claims on the edge graph as claims on the other: whatever ran an edge node ran the nodes
/// that it came from.
pub fn carry_claims(claims: &Claims, came_from: &[Vec<NodeId>], nodes: usize) -> Claims {
    let carried = |list: &[NodeId]| {
        let mut all: Vec<NodeId> = list.iter().filter_map(|n| came_from.get(n.index())).flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let partitions: Vec<Partition> =
        claims.partitions.iter().map(|p| Partition { nodes: carried(&p.nodes), ..p.clone() }).collect();
    let natives = claims.natives.iter().map(|(instruction, list)| (*instruction, carried(list))).collect();
    Claims::new(partitions, natives, nodes)
}

/// The claims on the module that a delegate call carries: its partition runs all of it.
pub fn inside_claims(partition: &Partition, graph: &Graph) -> Claims {
    let inside = |n: &NodeId| matches!(graph.kinds[n.index()], NodeKind::Op | NodeKind::Control | NodeKind::Delegate);
    let nodes = graph.nodes().filter(inside).collect();
    Claims::new(vec![Partition { nodes, ..partition.clone() }], Default::default(), graph.len())
}
