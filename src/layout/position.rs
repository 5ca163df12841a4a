//! The x of each cell. Cells that an edge can join by a straight line become one block
//! (the vertical alignment of Brandes and Köpf), blocks are packed side by side, and then
//! moved as a whole to where their other edges are shortest. Of the four ways to align, the
//! one with the shortest edges is kept.

use super::GAP_X;
use super::normalize::Rows;

/// Sweeps that move blocks, to the right and to the left in turn.
const SWEEPS: usize = 16;
/// How much a drawing's width counts against the length of its edges.
const WIDTH_COST: f64 = 2.0;

/// Centres of all cells; the leftmost side is at 0.
pub fn assign(rows: &Rows) -> Vec<f32> {
    let sides = Sides::new(rows);
    let barred = barred(rows, &sides);
    let mut best: Option<(f64, Vec<f32>)> = None;
    for way in 0..4 {
        let aligned = align(rows, &sides, &barred, way & 1 == 0, way & 2 == 0);
        let x = pack(rows, &aligned);
        let cost = cost(rows, &x);
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, x));
        }
    }
    let mut x = best.map(|(_, x)| x).unwrap_or_default();
    let left = (0..x.len()).map(|c| x[c] - rows.cells[c].width / 2.0).fold(f32::INFINITY, f32::min);
    if left.is_finite() {
        x.iter_mut().for_each(|x| *x -= left);
    }
    x
}

fn apart(rows: &Rows, left: usize, right: usize) -> f32 {
    let (a, b) = (&rows.cells[left], &rows.cells[right]);
    let gap = match (a.item, b.item) {
        (Some(_), Some(_)) => GAP_X,
        (None, None) => GAP_X / 3.0,
        _ => GAP_X / 2.0,
    };
    (a.width + b.width) / 2.0 + gap
}

/// The steps above and below each cell, in the order of the cells at their other ends.
struct Sides {
    /// Place of each cell in its row.
    place: Vec<usize>,
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
}

impl Sides {
    fn new(rows: &Rows) -> Sides {
        let n = rows.cells.len();
        let mut place = vec![0; n];
        for row in &rows.rows {
            row.iter().enumerate().for_each(|(i, cell)| place[*cell] = i);
        }
        let (mut above, mut below) = (vec![Vec::new(); n], vec![Vec::new(); n]);
        for (i, step) in rows.steps.iter().enumerate() {
            above[step.lower].push(i);
            below[step.upper].push(i);
        }
        above.iter_mut().for_each(|list| list.sort_by_key(|s| (place[rows.steps[*s].upper], *s)));
        below.iter_mut().for_each(|list| list.sort_by_key(|s| (place[rows.steps[*s].lower], *s)));
        Sides { place, above, below }
    }
}

/// Steps that may not be straight because they cross the middle part of a long edge.
fn barred(rows: &Rows, sides: &Sides) -> Vec<bool> {
    let mut barred = vec![false; rows.steps.len()];
    let bend = |cell: usize| rows.cells[cell].item.is_none();
    for pair in rows.rows.windows(2) {
        let (mut low, mut next) = (0, 0);
        for (i, cell) in pair[1].iter().enumerate() {
            let inner = sides.above[*cell].iter().map(|s| rows.steps[*s].upper).find(|u| bend(*u) && bend(*cell));
            let last = i + 1 == pair[1].len();
            if inner.is_none() && !last {
                continue;
            }
            let high = inner.map_or(pair[0].len(), |upper| sides.place[upper]);
            while next <= i {
                for step in &sides.above[pair[1][next]] {
                    let at = sides.place[rows.steps[*step].upper];
                    let is_inner = bend(rows.steps[*step].upper) && bend(pair[1][next]);
                    barred[*step] |= !is_inner && (at < low || at > high);
                }
                next += 1;
            }
            low = high.min(pair[0].len());
        }
    }
    barred
}

/// Blocks of cells that are joined by straight lines.
struct Aligned {
    /// The block of each cell.
    block: Vec<usize>,
    /// x of a cell within its block.
    shift: Vec<f32>,
    /// Cells of each block.
    blocks: Vec<Vec<usize>>,
}

/// Joins each cell with one in the row before: the middle one of those it has an edge with.
/// Lines between two boxes and within long edges come first: they are the spine.
fn align(rows: &Rows, sides: &Sides, barred: &[bool], down: bool, from_left: bool) -> Aligned {
    let n = rows.cells.len();
    let mut aligned = Aligned { block: vec![usize::MAX; n], shift: vec![0.0; n], blocks: Vec::new() };
    let count = rows.rows.len();
    let is_box = |cell: usize| rows.cells[cell].item.is_some();
    for k in 0..count {
        let row = &rows.rows[if down { k } else { count - 1 - k }];
        // The step by which each cell of the row is joined with the row before.
        let mut joined: Vec<Option<usize>> = vec![None; row.len()];
        let other = |step: usize| if down { rows.steps[step].upper } else { rows.steps[step].lower };
        for spine in [true, false] {
            // Lines must not cross: the place of the last one to each side.
            let places = |joined: &[Option<usize>], i: usize| joined[i].map(|s| sides.place[other(s)]);
            let mut bound = vec![usize::MAX; row.len()];
            let mut nearest = if from_left { usize::MAX } else { 0 };
            for n in 0..row.len() {
                let i = if from_left { row.len() - 1 - n } else { n };
                bound[i] = nearest;
                if let Some(place) = places(&joined, i) {
                    nearest = if from_left { place } else { place + 1 };
                }
            }
            // One more than the place, so that 0 stands for none.
            let mut passed = if from_left { 0 } else { usize::MAX };
            for n in 0..row.len() {
                let i = if from_left { n } else { row.len() - 1 - n };
                if let Some(place) = places(&joined, i) {
                    passed = if from_left { place + 1 } else { place };
                    continue;
                }
                let cell = row[i];
                let list: Vec<usize> = (if down { &sides.above } else { &sides.below })[cell]
                    .iter()
                    .copied()
                    .filter(|s| is_box(other(*s)) == is_box(cell) || !spine)
                    .collect();
                if list.is_empty() {
                    continue;
                }
                let (a, b) = ((list.len() - 1) / 2, list.len() / 2);
                for m in if from_left { [a, b] } else { [b, a] } {
                    let step = list[m];
                    let place = sides.place[other(step)];
                    let free = if from_left {
                        place >= passed && place < bound[i]
                    } else {
                        place < passed && place >= bound[i]
                    };
                    if free && !barred[step] {
                        joined[i] = Some(step);
                        passed = if from_left { place + 1 } else { place };
                        break;
                    }
                }
            }
        }
        for (cell, step) in row.iter().zip(joined) {
            let (block, shift) = match step {
                Some(step) => {
                    let by = rows.steps[step].shift;
                    let from = other(step);
                    (aligned.block[from], aligned.shift[from] + if down { by } else { -by })
                }
                None => (aligned.blocks.len(), 0.0),
            };
            if block == aligned.blocks.len() {
                aligned.blocks.push(Vec::new());
            }
            aligned.block[*cell] = block;
            aligned.shift[*cell] = shift;
            aligned.blocks[block].push(*cell);
        }
    }
    aligned
}

/// Places the blocks beside each other and then where their edges pull them.
fn pack(rows: &Rows, aligned: &Aligned) -> Vec<f32> {
    let n = aligned.blocks.len();
    // Neighbours of each block to both sides and the least distance.
    let mut right: Vec<Vec<(usize, f32)>> = vec![Vec::new(); n];
    let mut left: Vec<Vec<(usize, f32)>> = vec![Vec::new(); n];
    let mut missing = vec![0_usize; n];
    for row in &rows.rows {
        for pair in row.windows(2) {
            let (a, b) = (aligned.block[pair[0]], aligned.block[pair[1]]);
            if a == b {
                continue;
            }
            let least = apart(rows, pair[0], pair[1]) + aligned.shift[pair[0]] - aligned.shift[pair[1]];
            right[a].push((b, least));
            left[b].push((a, least));
            missing[b] += 1;
        }
    }
    let mut order: Vec<usize> = (0..n).filter(|b| missing[*b] == 0).collect();
    let mut at = vec![0.0_f32; n];
    let mut next = 0;
    while next < order.len() {
        let block = order[next];
        next += 1;
        for (b, least) in &right[block] {
            at[*b] = at[*b].max(at[block] + least);
            missing[*b] -= 1;
            if missing[*b] == 0 {
                order.push(*b);
            }
        }
    }
    // What pulls each block: other blocks and the distance at which the edge is straight.
    let mut pulls: Vec<Vec<(usize, f32)>> = vec![Vec::new(); n];
    for step in &rows.steps {
        let (a, b) = (aligned.block[step.upper], aligned.block[step.lower]);
        if a != b {
            let straight = aligned.shift[step.upper] + step.shift - aligned.shift[step.lower];
            pulls[b].push((a, straight));
            pulls[a].push((b, -straight));
        }
    }
    let mut wishes: Vec<f32> = Vec::new();
    for sweep in 0..SWEEPS {
        // From the right first: everything starts out pushed to the left.
        for k in 0..order.len() {
            let block = order[if sweep % 2 == 0 { order.len() - 1 - k } else { k }];
            if pulls[block].is_empty() {
                continue;
            }
            wishes.clear();
            wishes.extend(pulls[block].iter().map(|(other, by)| at[*other] + by));
            wishes.sort_by(f32::total_cmp);
            let (a, b) = (wishes[(wishes.len() - 1) / 2], wishes[wishes.len() / 2]);
            let low = left[block].iter().map(|(l, least)| at[*l] + least).fold(f32::NEG_INFINITY, f32::max);
            let high = right[block].iter().map(|(r, least)| at[*r] - least).fold(f32::INFINITY, f32::min);
            // Anywhere between the middle two is as good: the nearest to where it is.
            at[block] = at[block].clamp(a, b).min(high).max(low);
        }
    }
    (0..rows.cells.len()).map(|cell| at[aligned.block[cell]] + aligned.shift[cell]).collect()
}

/// Length of all edges sideways, with the width of it all.
fn cost(rows: &Rows, x: &[f32]) -> f64 {
    let edges: f64 = rows.steps.iter().map(|s| f64::from((x[s.upper] + s.shift - x[s.lower]).abs())).sum();
    let (mut left, mut right) = (f32::INFINITY, f32::NEG_INFINITY);
    for (cell, x) in rows.cells.iter().zip(x) {
        left = left.min(x - cell.width / 2.0);
        right = right.max(x + cell.width / 2.0);
    }
    edges + WIDTH_COST * f64::from((right - left).max(0.0))
}
