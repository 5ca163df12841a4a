//! The x of each cell: rows are moved in turn as close to their neighbours as the order
//! and the space between cells allow.

use super::GAP_X;
use super::normalize::Rows;

/// Sweeps, down and up in turn.
const SWEEPS: usize = 14;

/// Centres of all cells; the leftmost side is at 0.
pub fn assign(rows: &Rows) -> Vec<f32> {
    let (above, below) = rows.neighbours();
    let mut x = vec![0.0_f32; rows.cells.len()];
    for row in &rows.rows {
        let mut at = 0.0;
        for (i, cell) in row.iter().enumerate() {
            if i > 0 {
                at += apart(rows, row[i - 1], *cell);
            }
            x[*cell] = at;
        }
        // Rows start out centred on one another.
        row.iter().for_each(|cell| x[*cell] -= at / 2.0);
    }
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        for step in 0..rows.rows.len() {
            let row = &rows.rows[if down { step } else { rows.rows.len() - 1 - step }];
            let (first, second) = if down { (&above, &below) } else { (&below, &above) };
            let mut wishes = Vec::with_capacity(row.len());
            for cell in row {
                let bend = rows.cells[*cell].item.is_none();
                // The spine of boxes is to be straight: what passes by counts only where no box is
                // next to this one.
                let places = |side: &[usize], boxes: bool| -> Vec<f32> {
                    let counts = |c: &&usize| !boxes || bend || rows.cells[**c].item.is_some();
                    side.iter().filter(counts).map(|c| x[*c]).collect()
                };
                let tries = [(&first[*cell], true), (&second[*cell], true), (&first[*cell], false)];
                let mut near = places(&second[*cell], false);
                for (side, boxes) in tries {
                    let found = places(side, boxes);
                    if !found.is_empty() {
                        near = found;
                        break;
                    }
                }
                // Long edges are to be straight, so bends pull harder.
                let weight = if bend { 6.0 } else { near.len().max(1) as f32 };
                wishes.push(match middle(&mut near) {
                    Some(wish) => (wish, weight),
                    None => (x[*cell], 0.1),
                });
            }
            settle(rows, row, &wishes, &mut x);
        }
    }
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

/// The median; of two in the middle their mean.
fn middle(values: &mut [f32]) -> Option<f32> {
    values.sort_by(f32::total_cmp);
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[n / 2]),
        n => Some((values[n / 2 - 1] + values[n / 2]) / 2.0),
    }
}

/// Gives a row the x that is nearest to its wishes (least squares) with everything apart:
/// neighbours that push each other become a block that moves as one.
fn settle(rows: &Rows, row: &[usize], wishes: &[(f32, f32)], x: &mut [f32]) {
    struct Block {
        first: usize,
        weight: f32,
        mean: f32,
    }
    let mut blocks: Vec<Block> = Vec::new();
    let mut offset = vec![0.0_f32; row.len()];
    for i in 0..row.len() {
        if i > 0 {
            offset[i] = offset[i - 1] + apart(rows, row[i - 1], row[i]);
        }
        let mut block = Block { first: i, weight: wishes[i].1, mean: wishes[i].0 - offset[i] };
        while blocks.last().is_some_and(|left| left.mean > block.mean) {
            let Some(left) = blocks.pop() else { break };
            let weight = left.weight + block.weight;
            block.mean = (left.mean * left.weight + block.mean * block.weight) / weight;
            block.weight = weight;
            block.first = left.first;
        }
        blocks.push(block);
    }
    for (b, block) in blocks.iter().enumerate() {
        let end = blocks.get(b + 1).map_or(row.len(), |next| next.first);
        for i in block.first..end {
            x[row[i]] = block.mean + offset[i];
        }
    }
}
