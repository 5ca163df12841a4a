//! Draws the edges: straight down where they can be, with one turn for each row otherwise;
//! turns between two rows lie on tracks of their own.

use super::acyclic::Forward;
use super::normalize::Rows;
use super::{GAP_Y, Item, Link, Placement, Route, TRACK};

/// Space between an edge's end and the corner of its box.
const CORNER: f32 = 8.0;
/// Length of the ends of an edge that is not drawn in full.
const STUB: f32 = 11.0;

/// Places the boxes and routes the edges.
pub fn draw(items: &[Item], links: &[Link], forward: &[Forward], rows: &Rows, x: &[f32]) -> Placement {
    let mut ends = ends(items, links, forward, rows, x);
    let mut heights = vec![0.0_f32; rows.rows.len()];
    for (row, cells) in rows.rows.iter().enumerate() {
        for item in cells.iter().filter_map(|c| rows.cells[*c].item) {
            heights[row] = heights[row].max(items[item].height);
        }
    }
    // The turns of each gap between rows: edge, step, from x to x.
    let mut turns: Vec<Vec<(usize, usize, f32, f32)>> = vec![Vec::new(); rows.rows.len()];
    let mut lanes: Vec<Vec<f32>> = Vec::with_capacity(forward.len());
    for (e, path) in rows.paths.iter().enumerate() {
        let mut lane = Vec::new();
        if let Some(path) = path {
            lane = path.iter().map(|c| x[*c]).collect();
            let last = lane.len() - 1;
            (lane[0], lane[last]) = ends[e];
            // A step to the side that is smaller than the eye can follow is none.
            if last == 1 && (lane[0] - lane[1]).abs() < 4.0 {
                let fixed = |side: Option<f32>| side.is_some();
                let link = &links[forward[e].link];
                let (from, to) = if forward[e].reversed { (link.to_x, link.from_x) } else { (link.from_x, link.to_x) };
                match (fixed(from), fixed(to)) {
                    (_, false) => lane[1] = lane[0],
                    (false, true) => lane[0] = lane[1],
                    (true, true) => {}
                }
                ends[e] = (lane[0], lane[1]);
            }
            for step in 0..last {
                if (lane[step] - lane[step + 1]).abs() > 0.5 {
                    turns[rows.row_of[path[step]]].push((e, step, lane[step], lane[step + 1]));
                }
            }
        }
        lanes.push(lane);
    }
    let mut track_of: rustc_hash::FxHashMap<(usize, usize), usize> = rustc_hash::FxHashMap::default();
    let mut tracks = vec![0_usize; rows.rows.len()];
    for (gap, list) in turns.iter_mut().enumerate() {
        // Turns to the left first from the left, then those to the right from the right, so
        // that lines that start side by side do not cross.
        list.sort_by(|a, b| a.2.min(a.3).total_cmp(&b.2.min(b.3)).then(a.0.cmp(&b.0)));
        let mut ends_at: Vec<f32> = Vec::new();
        for (e, step, a, b) in list.iter() {
            let free = ends_at.iter().position(|end| *end + TRACK < a.min(*b));
            let track = free.unwrap_or(ends_at.len());
            if track == ends_at.len() {
                ends_at.push(0.0);
            }
            ends_at[track] = a.max(*b);
            track_of.insert((*e, *step), track);
        }
        tracks[gap] = ends_at.len();
    }
    let mut tops = Vec::with_capacity(heights.len());
    let mut y = 0.0;
    for (row, height) in heights.iter().enumerate() {
        tops.push(y);
        let last = row + 1 == heights.len();
        y += height + if last { 0.0 } else { GAP_Y + TRACK * tracks[row].saturating_sub(1) as f32 };
    }
    let mut placement = Placement { at: vec![(0.0, 0.0); items.len()], ..Placement::default() };
    placement.routes = vec![Route::default(); links.len()];
    placement.height = y;
    for (c, cell) in rows.cells.iter().enumerate() {
        let left = x[c] - cell.width / 2.0;
        placement.width = placement.width.max(left + cell.width);
        if let Some(item) = cell.item {
            placement.at[item] = (left, tops[rows.row_of[c]]);
        }
    }
    for (e, edge) in forward.iter().enumerate() {
        let (from_top, to_top) = (placement.at[edge.upper].1, placement.at[edge.lower].1);
        let bottom = from_top + items[edge.upper].height;
        let (start, end) = ends[e];
        let mut points = vec![(start, bottom)];
        match &rows.paths[e] {
            Some(path) => {
                for step in 0..path.len() - 1 {
                    let (a, b) = (lanes[e][step], lanes[e][step + 1]);
                    if let Some(track) = track_of.get(&(e, step)) {
                        let row = rows.row_of[path[step]];
                        let turn = tops[row] + heights[row] + GAP_Y / 2.0 + TRACK * *track as f32;
                        points.push((a, turn));
                        points.push((b, turn));
                    }
                }
            }
            None => {
                points.push((start, bottom + STUB));
                points.push((end, to_top - STUB));
            }
        }
        points.push((end, to_top));
        if edge.reversed {
            points.reverse();
        }
        let route = &mut placement.routes[edge.link];
        route.points = points.into_iter().flat_map(|(x, y)| [x, y]).collect();
        route.stub = rows.paths[e].is_none();
    }
    placement
}

/// Where each oriented edge leaves its upper box and enters its lower one.
fn ends(items: &[Item], links: &[Link], forward: &[Forward], rows: &Rows, x: &[f32]) -> Vec<(f32, f32)> {
    let mut ends = vec![(0.0_f32, 0.0_f32); forward.len()];
    // For each box and side: wish, edge.
    let mut sides: Vec<[Vec<(f32, usize)>; 2]> = vec![Default::default(); items.len()];
    for (e, edge) in forward.iter().enumerate() {
        let (upper, lower) = (x[rows.cell_of[edge.upper]], x[rows.cell_of[edge.lower]]);
        let (next, previous) = match &rows.paths[e] {
            Some(path) => (path[1], path[path.len() - 2]),
            None => (rows.cell_of[edge.lower], rows.cell_of[edge.upper]),
        };
        // A line between two boxes goes down where the narrower one has its middle.
        let wider = items[edge.upper].width > items[edge.lower].width;
        let direct = if wider { lower } else { upper };
        let is_bend = |cell: usize| rows.cells[cell].item.is_none();
        let (out, into) =
            (if is_bend(next) { x[next] } else { direct }, if is_bend(previous) { x[previous] } else { direct });
        let stub = rows.paths[e].is_none();
        sides[edge.upper][0].push((if stub { upper } else { out }, e));
        sides[edge.lower][1].push((if stub { lower } else { into }, e));
    }
    for (item, both) in sides.iter_mut().enumerate() {
        if rows.cell_of[item] == usize::MAX {
            continue;
        }
        let half = items[item].width / 2.0;
        let (left, centre) = (x[rows.cell_of[item]] - half, x[rows.cell_of[item]]);
        for (side, list) in both.iter_mut().enumerate() {
            // A width first, so that rounding cannot turn the two around.
            let reach = (half - CORNER).max(0.0);
            let (low, high) = (centre - reach, centre + reach);
            list.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let space = if list.len() > 1 { (TRACK + 1.0).min((high - low) / (list.len() - 1) as f32) } else { 0.0 };
            let mut at = f32::NEG_INFINITY;
            let mut places: Vec<f32> = Vec::with_capacity(list.len());
            for (wish, _) in list.iter() {
                at = wish.clamp(low, high).max(at + space);
                places.push(at);
            }
            // Push back from the right side what ran over it.
            let mut limit = high;
            for place in places.iter_mut().rev() {
                *place = place.min(limit);
                limit = *place - space;
            }
            for ((_, e), place) in list.iter().zip(places) {
                let edge = &forward[*e];
                let link = &links[edge.link];
                let fixed = if (side == 0) != edge.reversed { link.from_x } else { link.to_x };
                let place = fixed.map_or(place.clamp(low, high), |offset| left + offset);
                if side == 0 {
                    ends[*e].0 = place;
                } else {
                    ends[*e].1 = place;
                }
            }
        }
    }
    ends
}
