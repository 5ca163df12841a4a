//! The grouping by delegate: partitions, and the native islands between them.

use std::collections::VecDeque;

use super::claim::Claims;
use crate::model::graph::HierarchyBuilder;
use crate::model::modules::short_class;
use crate::model::{Graph, GroupId, Hierarchy, NodeId, NodeKind};

/// Groups the nodes by the partition that runs them. What stays native is grouped by how
/// many changes between native and delegated lie before it, so that the groups form no cycle.
/// Inside each group the modules stay.
pub fn by_delegate(graph: &Graph, claims: &Claims) -> Hierarchy {
    let levels = levels(graph, claims);
    let mut island_of_level: Vec<u32> = levels
        .iter()
        .zip(graph.nodes())
        .filter(|(_, node)| is_native(graph, claims, *node))
        .map(|(level, _)| *level)
        .collect();
    island_of_level.sort_unstable();
    island_of_level.dedup();

    let mut tree = HierarchyBuilder::default();
    for node in graph.nodes() {
        let i = node.index();
        if matches!(graph.kinds[i], NodeKind::Inputs | NodeKind::Outputs) {
            tree.place(node, Hierarchy::ROOT);
            continue;
        }
        let partition = claims.partition_of.get(i).copied().flatten();
        let mut group = match partition {
            Some(id) => {
                let partition = &claims.partitions[id.index()];
                let group = tree.child(Hierarchy::ROOT, u64::from(id.0) << 1, || {
                    (partition.label(), partition.path(), partition.backend.to_string())
                });
                if let Some(group) = tree.group(group) {
                    group.partition = Some(id);
                }
                group
            }
            None => {
                let island = island_of_level.binary_search(&levels[i]).unwrap_or(0);
                tree.child(Hierarchy::ROOT, (island as u64) << 1 | 1, || {
                    (format!("native {}", island + 1), format!("native/{}", island + 1), String::new())
                })
            }
        };
        if graph.kinds[i] != NodeKind::Delegate {
            group = inside_modules(graph, &mut tree, group, node);
        }
        tree.place(node, group);
    }
    let mut hierarchy = tree.finish();
    mark_partitions(&mut hierarchy, claims);
    hierarchy
}

fn is_native(graph: &Graph, claims: &Claims, node: NodeId) -> bool {
    let ends = matches!(graph.kinds[node.index()], NodeKind::Inputs | NodeKind::Outputs);
    !ends && claims.partition_of.get(node.index()).copied().flatten().is_none()
}

fn inside_modules(graph: &Graph, tree: &mut HierarchyBuilder, top: GroupId, node: NodeId) -> GroupId {
    let mut group = top;
    let outer = tree.group(top).map_or(String::new(), |g| g.path.clone());
    for module in graph.modules.chain(graph.homes[node.index()]) {
        group = tree.child(group, u64::from(module) << 1, || {
            (
                graph.modules.label(module).to_owned(),
                format!("{outer}/{}", graph.modules.namespace(module)),
                short_class(&graph.modules.get(module).class).to_owned(),
            )
        });
    }
    group
}

/// Says of each group whether all of its nodes are in one partition.
pub fn mark_partitions(hierarchy: &mut Hierarchy, claims: &Claims) {
    #[derive(Clone, Copy, PartialEq)]
    enum All {
        Nothing,
        Of(Option<crate::model::PartitionId>),
        Mixed,
    }
    let mut all = vec![All::Nothing; hierarchy.groups.len()];
    let merge = |a: All, b: All| match (a, b) {
        (All::Nothing, other) | (other, All::Nothing) => other,
        (a, b) if a == b => a,
        _ => All::Mixed,
    };
    // A group's id is larger than its parent's: inner groups come first from the back.
    for index in (0..hierarchy.groups.len()).rev() {
        let group = &hierarchy.groups[index];
        let mut state = all[index];
        for node in &group.nodes {
            state = merge(state, All::Of(claims.partition_of.get(node.index()).copied().flatten()));
        }
        all[index] = state;
        if let Some(parent) = group.parent {
            all[parent.index()] = merge(all[parent.index()], state);
        }
        hierarchy.groups[index].partition = match state {
            All::Of(partition) if index != 0 => partition,
            _ => None,
        };
    }
}

/// For each node how many changes between native and delegated lie on the longest way to it.
/// A partition is one step, whatever it holds; a way around in a circle is cut where it starts.
fn levels(graph: &Graph, claims: &Claims) -> Vec<u32> {
    // Units: one for each partition, one for each other node.
    let partitions = claims.partitions.len();
    let unit = |node: NodeId| match claims.partition_of.get(node.index()).copied().flatten() {
        Some(partition) => partition.index(),
        None => partitions + node.index(),
    };
    let units = partitions + graph.len();
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); units];
    let mut missing = vec![0_u32; units];
    for edge in &graph.edges {
        let (from, to) = (unit(edge.from), unit(edge.to));
        if from != to {
            out[from].push(to);
            missing[to] += 1;
        }
    }
    let mut level = vec![0_u32; units];
    let mut done = vec![false; units];
    let mut ready: VecDeque<usize> = (0..units).filter(|u| missing[*u] == 0).collect();
    let mut next_stuck = 0;
    loop {
        let Some(u) = ready.pop_front() else {
            // A circle: go on with the first unit that waits.
            while next_stuck < units && done[next_stuck] {
                next_stuck += 1;
            }
            if next_stuck == units {
                break;
            }
            ready.push_back(next_stuck);
            continue;
        };
        if std::mem::replace(&mut done[u], true) {
            continue;
        }
        for to in std::mem::take(&mut out[u]) {
            let step = u32::from((u < partitions) != (to < partitions) || (u < partitions && to < partitions));
            if !done[to] {
                level[to] = level[to].max(level[u] + step);
                missing[to] = missing[to].saturating_sub(1);
                if missing[to] == 0 {
                    ready.push_back(to);
                }
            }
        }
    }
    graph.nodes().map(|node| level[unit(node)]).collect()
}
