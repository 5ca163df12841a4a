//! Cuts edges that cross rows into steps from row to row.

use super::acyclic::Forward;
use super::{Item, Link, Pin};

/// Edges across more rows than this are drawn as two ends only.
pub const LONGEST: usize = 8;
/// A box with more edges than this out of it is a hub: those of its edges that cross rows
/// are drawn as two ends only.
pub const HUB: usize = 8;

/// What stands in a row: a box, or a bend of an edge that passes through.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// The box; `None` for a bend.
    pub item: Option<usize>,
    /// Its width.
    pub width: f32,
}

/// A step of an edge from a cell to one in the next row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The upper cell.
    pub upper: usize,
    /// The lower cell.
    pub lower: usize,
    /// By how much the lower cell is to the right of the upper one when the step is straight;
    /// not 0 where an edge must leave or enter a box beside its middle.
    pub shift: f32,
}

/// The rows with their cells, and the edges as paths through them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rows {
    /// All cells.
    pub cells: Vec<Cell>,
    /// The row of each cell.
    pub row_of: Vec<usize>,
    /// Cells of each row, from left to right.
    pub rows: Vec<Vec<usize>>,
    /// All steps.
    pub steps: Vec<Step>,
    /// For each oriented edge its cells from top to bottom; `None` for those drawn as two ends.
    pub paths: Vec<Option<Vec<usize>>>,
    /// Cell of each box.
    pub cell_of: Vec<usize>,
}

/// Width of a bend.
const BEND: f32 = 6.0;

/// Builds the rows.
pub fn normalize(items: &[Item], links: &[Link], linked: &[bool], forward: &[Forward], ranks: &[usize]) -> Rows {
    let mut rows = Rows { cell_of: vec![usize::MAX; items.len()], ..Rows::default() };
    let count = (0..items.len()).filter(|i| linked[*i]).map(|i| ranks[i] + 1).max().unwrap_or(0);
    rows.rows = vec![Vec::new(); count];
    for (i, item) in items.iter().enumerate().filter(|(i, _)| linked[*i]) {
        rows.cell_of[i] = rows.cells.len();
        rows.rows[ranks[i]].push(rows.cells.len());
        rows.row_of.push(ranks[i]);
        rows.cells.push(Cell { item: Some(i), width: item.width });
    }
    let mut fan = vec![0_usize; items.len()];
    forward.iter().for_each(|edge| fan[edge.upper] += 1);
    for edge in forward {
        let (top, bottom) = (ranks[edge.upper], ranks[edge.lower]);
        let span = bottom.saturating_sub(top);
        let port = items[edge.upper].pin != Pin::Free || items[edge.lower].pin != Pin::Free;
        let longest = if port { 4 } else { LONGEST };
        if span == 0 || span > longest || (fan[edge.upper] > HUB && span > 2) {
            rows.paths.push(None);
            continue;
        }
        let mut path = vec![rows.cell_of[edge.upper]];
        for row in top + 1..bottom {
            path.push(rows.cells.len());
            rows.rows[row].push(rows.cells.len());
            rows.row_of.push(row);
            rows.cells.push(Cell { item: None, width: BEND });
        }
        path.push(rows.cell_of[edge.lower]);
        let link = &links[edge.link];
        let (out, into) = if edge.reversed { (link.to_x, link.from_x) } else { (link.from_x, link.to_x) };
        let aside = |item: usize, x: Option<f32>| x.map_or(0.0, |x| x - items[item].width / 2.0);
        let last = path.len() - 2;
        rows.steps.extend(path.windows(2).enumerate().map(|(i, w)| {
            let mut shift = 0.0;
            if i == 0 {
                shift += aside(edge.upper, out);
            }
            if i == last {
                shift -= aside(edge.lower, into);
            }
            Step { upper: w[0], lower: w[1], shift }
        }));
        rows.paths.push(Some(path));
    }
    rows
}

impl Rows {
    /// Cells above and below each cell that a step joins it with.
    pub fn neighbours(&self) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
        let mut above = vec![Vec::new(); self.cells.len()];
        let mut below = vec![Vec::new(); self.cells.len()];
        for step in &self.steps {
            above[step.lower].push(step.upper);
            below[step.upper].push(step.lower);
        }
        (above, below)
    }
}
