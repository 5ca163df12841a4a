//! Rows: each box below everything it depends on, and close to what depends on it.

use super::acyclic::Forward;
use super::{Item, Pin};

/// The row of each box; boxes without edges are left at 0.
pub fn assign(items: &[Item], linked: &[bool], forward: &[Forward]) -> Vec<usize> {
    let n = items.len();
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); n];
    let mut missing = vec![0_usize; n];
    for edge in forward {
        out[edge.upper].push(edge.lower);
        missing[edge.lower] += 1;
    }
    let base = usize::from(items.iter().any(|i| i.pin == Pin::First));
    let mut rank: Vec<usize> = items.iter().map(|i| if i.pin == Pin::First { 0 } else { base }).collect();
    let mut order: Vec<usize> = (0..n).filter(|i| missing[*i] == 0).collect();
    let mut next = 0;
    while next < order.len() {
        let node = order[next];
        next += 1;
        for lower in &out[node] {
            rank[*lower] = rank[*lower].max(rank[node] + 1);
            missing[*lower] -= 1;
            if missing[*lower] == 0 {
                order.push(*lower);
            }
        }
    }
    // What only leads to one reader, with all that it is made of, moves down to it.
    let mut own: Vec<bool> = items.iter().map(|i| i.pin == Pin::Free).collect();
    for node in &order {
        let leads_on = own[*node] && out[*node].len() == 1;
        for lower in out[*node].iter().filter(|_| !leads_on) {
            own[*lower] = false;
        }
    }
    for node in order.iter().rev() {
        if own[*node]
            && let Some(first) = out[*node].iter().map(|l| rank[*l]).min()
        {
            rank[*node] = first.saturating_sub(1).max(rank[*node]);
        }
    }
    let last = (0..n).filter(|i| linked[*i] && items[*i].pin != Pin::Last).map(|i| rank[i] + 1).max().unwrap_or(0);
    for (node, item) in items.iter().enumerate() {
        if item.pin == Pin::Last {
            rank[node] = last;
        }
    }
    rank
}
