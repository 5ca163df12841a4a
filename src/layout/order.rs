//! Untangles the rows: sweeps that sort each row by the middle of its neighbours.

use super::normalize::Rows;

/// Sweeps, down and up in turn.
const SWEEPS: usize = 12;

/// Reorders the cells of each row so that fewer edges cross; keeps the best order met.
pub fn untangle(rows: &mut Rows) {
    let (above, below) = rows.neighbours();
    let mut best = rows.rows.clone();
    let mut fewest = crossings(&rows.rows, &below, rows.cells.len());
    let mut place = vec![0.0_f32; rows.cells.len()];
    for sweep in 0..SWEEPS {
        if fewest == 0 {
            break;
        }
        for row in &rows.rows {
            row.iter().enumerate().for_each(|(i, cell)| place[*cell] = i as f32);
        }
        let down = sweep % 2 == 0;
        let count = rows.rows.len();
        for step in 1..count {
            let row = if down { step } else { count - 1 - step };
            let sides = if down { &above } else { &below };
            let mut keyed: Vec<(f32, usize)> = rows.rows[row]
                .iter()
                .map(|cell| {
                    let list = &sides[*cell];
                    let mean = list.iter().map(|c| place[*c]).sum::<f32>() / list.len() as f32;
                    (if list.is_empty() { place[*cell] } else { mean }, *cell)
                })
                .collect();
            // A stable sort: cells that do not care keep their order.
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (i, (_, cell)) in keyed.iter().enumerate() {
                rows.rows[row][i] = *cell;
                place[*cell] = i as f32;
            }
        }
        let now = crossings(&rows.rows, &below, rows.cells.len());
        if now < fewest {
            fewest = now;
            best = rows.rows.clone();
        }
    }
    rows.rows = best;
}

/// How many pairs of steps cross, counted with a binary indexed tree.
pub fn crossings(rows: &[Vec<usize>], below: &[Vec<usize>], cells: usize) -> u64 {
    let mut place = vec![0_usize; cells];
    for row in rows {
        row.iter().enumerate().for_each(|(i, cell)| place[*cell] = i);
    }
    let mut sum = 0_u64;
    for pair in rows.windows(2) {
        let width = pair[1].len();
        let mut tree = vec![0_u64; width + 1];
        let mut seen = 0_u64;
        for cell in &pair[0] {
            let mut ends: Vec<usize> = below[*cell].iter().map(|c| place[*c]).collect();
            ends.sort_unstable();
            for end in &ends {
                let (mut i, mut not_right) = (end + 1, 0);
                while i > 0 {
                    not_right += tree[i];
                    i &= i - 1;
                }
                sum += seen - not_right;
            }
            for end in ends {
                seen += 1;
                let mut i = end + 1;
                while i <= width {
                    tree[i] += 1;
                    i += i & i.wrapping_neg();
                }
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossings_are_counted() {
        let rows = vec![vec![0, 1], vec![2, 3]];
        assert_eq!(crossings(&rows, &[vec![3], vec![2], vec![], vec![]], 4), 1);
        assert_eq!(crossings(&rows, &[vec![2], vec![3], vec![], vec![]], 4), 0);
        assert_eq!(crossings(&rows, &[vec![2, 3], vec![2, 3], vec![], vec![]], 4), 1);
    }
}
