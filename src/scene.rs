//! Expanded groups become a drawing: boxes, labels and routes in columns.
//!
//! Each open group is laid out on its own, innermost first, and is then one box of the
//! group around it. An edge that leaves an open group passes its border at a port.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::layout::{self, Item, Link, Pin};
use crate::model::{Group, GroupId, Hierarchy, NodeId, PartitionId};

/// What a drawing is made of.
pub struct SceneInput<'a> {
    /// The groups.
    pub hierarchy: &'a Hierarchy,
    /// Data edges; they may repeat.
    pub edges: &'a [(NodeId, NodeId)],
    /// Label and second line of a node.
    pub node_label: &'a dyn Fn(NodeId) -> (String, String),
    /// The partition of each node.
    pub node_partition: &'a [Option<PartitionId>],
}

/// A drawing. One unit is one CSS pixel at zoom 1. Columns of items and of edges.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scene {
    /// Width of it all.
    pub width: f32,
    /// Height of it all.
    pub height: f32,
    /// 0 a node, 1 a closed group, 2 an open group. An open group comes before its items.
    pub kinds: Vec<u8>,
    /// Node or group id, by kind.
    pub ids: Vec<u32>,
    /// Index of the open group an item lies in, or -1.
    pub parents: Vec<i32>,
    /// x, y, width and height of each item.
    pub boxes: Vec<f32>,
    /// What is written on each item.
    pub labels: Vec<String>,
    /// Its second line.
    pub sublabels: Vec<String>,
    /// The partition that all of an item belongs to, or -1.
    pub partition_of: Vec<i32>,
    /// Item at which each edge starts.
    pub edge_from: Vec<u32>,
    /// Item at which it ends.
    pub edge_to: Vec<u32>,
    /// How many data edges it stands for.
    pub edge_weight: Vec<u32>,
    /// 0 drawn along its route, 1 drawn as two ends.
    pub edge_style: Vec<u8>,
    /// The first point of each edge, and one past the last.
    pub edge_start: Vec<u32>,
    /// x and y of all points.
    pub edge_points: Vec<f32>,
}

/// Kind of an item that is a node.
pub const NODE: u8 = 0;
/// Kind of an item that is a closed group.
pub const CLOSED: u8 = 1;
/// Kind of an item that is an open group.
pub const OPEN: u8 = 2;

const LABEL_ADVANCE: f32 = 8.1;
const SUBLABEL_ADVANCE: f32 = 6.7;
const MIN_WIDTH: f32 = 128.0;
const MAX_WIDTH: f32 = 270.0;
const NODE_HEIGHT: f32 = 60.0;
const GROUP_HEIGHT: f32 = 64.0;
/// Height of an open group's title.
const HEADER: f32 = 34.0;
const PADDING: f32 = 18.0;
/// How many items a first view is to show at most.
const SCREENFUL: usize = 40;
/// With fewer items than this there is too little to see: a larger group is opened all the same.
const TOO_FEW: usize = 14;
/// As many items as that group may have.
const LARGEST: usize = 110;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Thing {
    Node(NodeId),
    Group(GroupId),
}

fn text_width(label: &str, sublabel: &str, room: f32) -> f32 {
    let label = label.chars().count() as f32 * LABEL_ADVANCE;
    let sublabel = sublabel.chars().count() as f32 * SUBLABEL_ADVANCE;
    (label.max(sublabel) + room).clamp(MIN_WIDTH, MAX_WIDTH).round()
}

/// The second line of a group.
fn group_sublabel(class: &str, nodes: u32) -> String {
    let nodes = if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") };
    if class.is_empty() { nodes } else { format!("{class} · {nodes}") }
}

/// Groups to open first: the largest, while a screenful is not exceeded. Siblings of one class
/// are opened together or not at all, so that repeated blocks look alike; and so is a group
/// with nothing in it but another group.
pub fn initial_expansion(input: &SceneInput<'_>) -> Vec<GroupId> {
    let groups = &input.hierarchy.groups;
    let content = |id: GroupId| groups.get(id.index()).map_or(0, |g| g.groups.len() + g.nodes.len());
    // The group whose content is seen once it is opened, with those on the way to it.
    let chain = |id: GroupId| {
        let mut chain = vec![id];
        while let Some(group) = chain.last().and_then(|id| groups.get(id.index()))
            && group.nodes.is_empty()
            && let [only] = group.groups[..]
        {
            chain.push(only);
        }
        chain
    };
    #[derive(Default)]
    struct Batch {
        chains: Vec<Vec<GroupId>>,
        /// How many more items are shown once it is open.
        gain: usize,
        nodes: u32,
    }
    let batches = |children: &[GroupId]| {
        let mut by_class: Vec<(&str, Batch)> = Vec::new();
        for id in children {
            let Some(group) = groups.get(id.index()) else { continue };
            let found = by_class.iter().position(|(class, _)| *class == group.class && !class.is_empty());
            let at = found.unwrap_or(by_class.len());
            if at == by_class.len() {
                by_class.push((&group.class, Batch::default()));
            }
            let batch = &mut by_class[at].1;
            let chain = chain(*id);
            batch.gain += chain.last().map_or(0, |last| content(*last)).saturating_sub(1);
            batch.nodes += group.node_count;
            batch.chains.push(chain);
        }
        by_class.into_iter().map(|(_, batch)| batch)
    };
    let mut shown = content(Hierarchy::ROOT);
    let mut open = Vec::new();
    let mut closed: Vec<Batch> = groups.first().map(|g| batches(&g.groups).collect()).unwrap_or_default();
    loop {
        let most = if shown < TOO_FEW { LARGEST } else { SCREENFUL };
        // A single node says no more than the closed group around it.
        let fits = |batch: &Batch| shown + batch.gain <= most && (batch.gain > 0 || shown < TOO_FEW);
        let next = (0..closed.len()).filter(|i| fits(&closed[*i])).max_by_key(|i| (closed[*i].nodes, usize::MAX - i));
        let Some(i) = next else { break };
        let batch = closed.remove(i);
        shown += batch.gain;
        for chain in &batch.chains {
            if let Some(group) = chain.last().and_then(|last| groups.get(last.index())) {
                closed.extend(batches(&group.groups));
            }
        }
        open.extend(batch.chains.into_iter().flatten());
    }
    open.sort_unstable();
    open
}

/// One open group while it is laid out.
#[derive(Debug, Default)]
struct Level {
    children: Vec<Thing>,
    index: FxHashMap<Thing, usize>,
    /// Ports: (coming in, item the edge ends at outside or starts from inside) to box index.
    ports: BTreeMap<(bool, Thing), usize>,
    items: Vec<Item>,
    links: Vec<Link>,
    link_of: FxHashMap<(usize, usize, Option<Thing>, Option<Thing>), usize>,
    placement: layout::Placement,
}

/// Draws the graph with these groups open.
pub fn build(input: &SceneInput<'_>, expanded: &[GroupId]) -> Scene {
    let hierarchy = input.hierarchy;
    if hierarchy.groups.is_empty() {
        return Scene::default();
    }
    let wanted: FxHashSet<GroupId> = expanded.iter().copied().collect();
    // Open groups, outer ones first: a group's id is larger than its parent's.
    let mut open = vec![false; hierarchy.groups.len()];
    for (i, group) in hierarchy.groups.iter().enumerate() {
        open[i] = group.parent.is_none_or(|p| open[p.index()] && wanted.contains(&GroupId::from(i)));
    }
    let mut levels: BTreeMap<GroupId, Level> = BTreeMap::new();
    for (i, group) in hierarchy.groups.iter().enumerate().filter(|(i, _)| open[*i]) {
        let mut level = Level::default();
        // Nodes and groups in the order of their first node.
        let mut children: Vec<(NodeId, Thing)> = group.nodes.iter().map(|n| (*n, Thing::Node(*n))).collect();
        children.extend(group.groups.iter().map(|g| (first_node(hierarchy, *g), Thing::Group(*g))));
        children.sort_unstable();
        level.children = children.into_iter().map(|(_, thing)| thing).collect();
        level.index = level.children.iter().enumerate().map(|(i, thing)| (*thing, i)).collect();
        level.items = vec![Item::default(); level.children.len()];
        levels.insert(GroupId::from(i), level);
    }

    let visible: Vec<Thing> = (0..hierarchy.home.len()).map(|i| visible(hierarchy, &open, NodeId::from(i))).collect();
    let mut weights: BTreeMap<(Thing, Thing), u32> = BTreeMap::new();
    for (from, to) in input.edges {
        let (Some(a), Some(b)) = (visible.get(from.index()), visible.get(to.index())) else { continue };
        if a != b {
            *weights.entry((*a, *b)).or_default() += 1;
        }
    }
    let lines: Vec<Line> =
        weights.iter().map(|((a, b), weight)| Line::new(hierarchy, &mut levels, *a, *b, *weight)).collect();

    // Inner levels first.
    let ids: Vec<GroupId> = levels.keys().rev().copied().collect();
    for id in ids {
        place(input, &mut levels, id, &open);
    }
    collect(input, &levels, &open, &lines)
}

fn first_node(hierarchy: &Hierarchy, group: GroupId) -> NodeId {
    let mut first = NodeId(u32::MAX);
    let mut todo = vec![group];
    while let Some(id) = todo.pop() {
        let Some(group) = hierarchy.groups.get(id.index()) else { continue };
        first = group.nodes.first().copied().unwrap_or(first).min(first);
        todo.extend(&group.groups);
    }
    first
}

/// What stands for a node: itself, or the outermost closed group around it.
fn visible(hierarchy: &Hierarchy, open: &[bool], node: NodeId) -> Thing {
    let mut thing = Thing::Node(node);
    for group in hierarchy.ancestors(node) {
        if !open[group.index()] {
            thing = Thing::Group(group);
        }
    }
    thing
}

fn parent_of(hierarchy: &Hierarchy, thing: Thing) -> GroupId {
    match thing {
        Thing::Node(node) => hierarchy.home.get(node.index()).copied().unwrap_or(Hierarchy::ROOT),
        Thing::Group(group) => hierarchy.groups.get(group.index()).and_then(|g| g.parent).unwrap_or(Hierarchy::ROOT),
    }
}

/// The open groups around a thing with the child that holds it, innermost first.
fn way_out(hierarchy: &Hierarchy, thing: Thing) -> Vec<(GroupId, Thing)> {
    let mut way = Vec::new();
    let mut child = thing;
    loop {
        let group = parent_of(hierarchy, child);
        way.push((group, child));
        if group == Hierarchy::ROOT {
            return way;
        }
        child = Thing::Group(group);
    }
}

/// A drawn edge: the links that it is made of, from start to end.
struct Line {
    from: Thing,
    to: Thing,
    weight: u32,
    links: Vec<(GroupId, usize)>,
}

impl Line {
    fn new(hierarchy: &Hierarchy, levels: &mut BTreeMap<GroupId, Level>, from: Thing, to: Thing, weight: u32) -> Line {
        let (mut out, mut into) = (way_out(hierarchy, from), way_out(hierarchy, to));
        // Both end in the root; what they share there is around both.
        let mut common = None;
        while let (Some(a), Some(b)) = (out.last(), into.last()) {
            if a.0 != b.0 {
                break;
            }
            common = Some((*a, *b));
            out.pop();
            into.pop();
        }
        let mut links = Vec::new();
        let mut inner_from = None;
        for (group, child) in &out {
            let level = levels.entry(*group).or_default();
            links.push((*group, level.link_to_port(*child, inner_from, from)));
            inner_from = Some(from);
        }
        let mut inward = Vec::new();
        let mut inner_to = None;
        for (group, child) in &into {
            let level = levels.entry(*group).or_default();
            inward.push((*group, level.link_from_port(*child, inner_to, to)));
            inner_to = Some(to);
        }
        if let Some((a, b)) = common {
            let level = levels.entry(a.0).or_default();
            links.push((a.0, level.across(a.1, inner_from, b.1, inner_to)));
        }
        inward.reverse();
        links.extend(inward);
        Line { from, to, weight, links }
    }
}

impl Level {
    fn port(&mut self, coming_in: bool, end: Thing) -> usize {
        let next = self.items.len();
        let port = *self.ports.entry((coming_in, end)).or_insert(next);
        if port == next {
            let pin = if coming_in { Pin::First } else { Pin::Last };
            self.items.push(Item { width: 6.0, height: 0.0, pin });
        }
        port
    }

    fn add(&mut self, from: usize, to: usize, from_port: Option<Thing>, to_port: Option<Thing>) -> usize {
        let next = self.links.len();
        let link = *self.link_of.entry((from, to, from_port, to_port)).or_insert(next);
        if link == next {
            self.links.push(Link { from, to, from_x: None, to_x: None });
        }
        link
    }

    fn child(&self, thing: Thing) -> usize {
        self.index.get(&thing).copied().unwrap_or(0)
    }

    /// From a child to the port at the lower border.
    fn link_to_port(&mut self, child: Thing, child_port: Option<Thing>, end: Thing) -> usize {
        let from = self.child(child);
        let to = self.port(false, end);
        self.add(from, to, child_port, None)
    }

    /// From the port at the upper border to a child.
    fn link_from_port(&mut self, child: Thing, child_port: Option<Thing>, end: Thing) -> usize {
        let from = self.port(true, end);
        let to = self.child(child);
        self.add(from, to, None, child_port)
    }

    /// From a child to another.
    fn across(&mut self, a: Thing, a_port: Option<Thing>, b: Thing, b_port: Option<Thing>) -> usize {
        let (from, to) = (self.child(a), self.child(b));
        self.add(from, to, a_port, b_port)
    }
}

/// Width of an open group: that of what is in it or of its title.
fn open_width(about: &Group, level: &Level) -> f32 {
    let sublabel = group_sublabel(&about.class, about.node_count);
    let title = (about.label.chars().count() + 2 + sublabel.chars().count()) as f32 * LABEL_ADVANCE;
    (level.placement.width + 2.0 * PADDING).max(title.min(420.0) + 60.0)
}

/// Where what is in an open group starts, from the group's left side: it stands in the middle.
fn inset(about: &Group, level: &Level) -> f32 {
    (open_width(about, level) - level.placement.width) / 2.0
}

/// Where a port of an open group lies, from the group's left side.
fn port_x(about: &Group, level: &Level, coming_in: bool, end: Thing) -> Option<f32> {
    let port = *level.ports.get(&(coming_in, end))?;
    let item = level.items.get(port)?;
    Some(inset(about, level) + level.placement.at.get(port)?.0 + item.width / 2.0)
}

fn size_of(input: &SceneInput<'_>, levels: &BTreeMap<GroupId, Level>, thing: Thing, open: &[bool]) -> (f32, f32) {
    match thing {
        Thing::Node(node) => {
            let (label, sublabel) = (input.node_label)(node);
            (text_width(&label, &sublabel, 24.0), NODE_HEIGHT)
        }
        Thing::Group(group) => {
            let Some(about) = input.hierarchy.groups.get(group.index()) else { return (MIN_WIDTH, GROUP_HEIGHT) };
            let sublabel = group_sublabel(&about.class, about.node_count);
            let titled = text_width(&about.label, &sublabel, 52.0);
            match levels.get(&group).filter(|_| open[group.index()]) {
                Some(level) => (open_width(about, level), level.placement.height + HEADER + PADDING),
                None => (titled, GROUP_HEIGHT),
            }
        }
    }
}

fn place(input: &SceneInput<'_>, levels: &mut BTreeMap<GroupId, Level>, id: GroupId, open: &[bool]) {
    let Some(mut level) = levels.remove(&id) else { return };
    for i in 0..level.children.len() {
        let (width, height) = size_of(input, levels, level.children[i], open);
        level.items[i] = Item { width, height, pin: Pin::Free };
    }
    let ends: Vec<_> = level.link_of.iter().map(|(key, link)| (*key, *link)).collect();
    for ((from, to, from_port, to_port), link) in ends {
        let inner = |child: usize, coming_in: bool, end: Option<Thing>| {
            let (Some(Thing::Group(group)), Some(end)) = (level.children.get(child), end) else { return None };
            port_x(input.hierarchy.groups.get(group.index())?, levels.get(group)?, coming_in, end)
        };
        level.links[link].from_x = inner(from, false, from_port);
        level.links[link].to_x = inner(to, true, to_port);
    }
    level.placement = layout::layout(&level.items, &level.links);
    levels.insert(id, level);
}

fn collect(input: &SceneInput<'_>, levels: &BTreeMap<GroupId, Level>, open: &[bool], lines: &[Line]) -> Scene {
    let mut scene = Scene::default();
    let hierarchy = input.hierarchy;
    let Some(root) = levels.get(&Hierarchy::ROOT) else { return scene };
    const MARGIN: f32 = 20.0;
    scene.width = root.placement.width + 2.0 * MARGIN;
    scene.height = root.placement.height + 2.0 * MARGIN;
    let mut origin: FxHashMap<GroupId, (f32, f32)> = FxHashMap::default();
    origin.insert(Hierarchy::ROOT, (MARGIN, MARGIN));
    let mut item_of: FxHashMap<Thing, u32> = FxHashMap::default();
    // Open groups before what is in them.
    let mut todo: Vec<(GroupId, i32)> = vec![(Hierarchy::ROOT, -1)];
    while let Some((id, parent)) = todo.pop() {
        let Some(level) = levels.get(&id) else { continue };
        let (left, top) = origin.get(&id).copied().unwrap_or_default();
        for (i, thing) in level.children.iter().enumerate() {
            let item = u32::try_from(scene.kinds.len()).unwrap_or(u32::MAX);
            item_of.insert(*thing, item);
            let (x, y) = level.placement.at.get(i).copied().unwrap_or_default();
            let (x, y) = (left + x, top + y);
            let (label, sublabel, partition) = match thing {
                Thing::Node(node) => {
                    scene.kinds.push(NODE);
                    scene.ids.push(node.0);
                    let (label, sublabel) = (input.node_label)(*node);
                    (label, sublabel, input.node_partition.get(node.index()).copied().flatten())
                }
                Thing::Group(group) => {
                    let is_open = open[group.index()];
                    scene.kinds.push(if is_open { OPEN } else { CLOSED });
                    scene.ids.push(group.0);
                    let about = &hierarchy.groups[group.index()];
                    if is_open {
                        let inset = levels.get(group).map_or(PADDING, |level| inset(about, level));
                        origin.insert(*group, (x + inset, y + HEADER));
                        todo.push((*group, i32::try_from(item).unwrap_or(-1)));
                    }
                    (about.label.clone(), group_sublabel(&about.class, about.node_count), about.partition)
                }
            };
            scene.parents.push(parent);
            scene.boxes.extend([x, y, level.items[i].width, level.items[i].height]);
            scene.labels.push(label);
            scene.sublabels.push(sublabel);
            scene.partition_of.push(partition.and_then(|p| i32::try_from(p.0).ok()).unwrap_or(-1));
        }
    }
    scene.edge_start.push(0);
    for line in lines {
        let (Some(from), Some(to)) = (item_of.get(&line.from), item_of.get(&line.to)) else { continue };
        let first = scene.edge_points.len();
        let mut stub = false;
        for (group, link) in &line.links {
            let (Some(level), Some((left, top))) = (levels.get(group), origin.get(group)) else { continue };
            let Some(route) = level.placement.routes.get(*link) else { continue };
            stub |= route.stub;
            for point in route.points.chunks_exact(2) {
                let (x, mut y) = (left + point[0], top + point[1]);
                // Ports stand on the border, which is a title or a padding away.
                let link = &level.links[*link];
                let at_border = |item: usize| level.items.get(item).is_some_and(|i| i.pin != Pin::Free);
                if *group != Hierarchy::ROOT {
                    if at_border(link.from) && point[1] <= 0.01 {
                        y = top - HEADER;
                    } else if at_border(link.to) && point[1] >= level.placement.height - 0.01 {
                        y = top + level.placement.height + PADDING;
                    }
                }
                let end = scene.edge_points.len();
                let same = end >= first + 2
                    && (scene.edge_points[end - 2] - x).abs() < 0.01
                    && (scene.edge_points[end - 1] - y).abs() < 0.01;
                if !same {
                    scene.edge_points.extend([x, y]);
                }
            }
        }
        scene.edge_from.push(*from);
        scene.edge_to.push(*to);
        scene.edge_weight.push(line.weight);
        scene.edge_style.push(u8::from(stub));
        scene.edge_start.push(u32::try_from(scene.edge_points.len() / 2).unwrap_or(u32::MAX));
    }
    scene
}
