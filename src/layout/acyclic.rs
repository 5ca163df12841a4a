//! Turns circles open: which edges are taken backwards.

use super::Link;

/// An edge that goes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forward {
    /// Index of the link.
    pub link: usize,
    /// The upper box.
    pub upper: usize,
    /// The lower box.
    pub lower: usize,
    /// True when the link itself goes up.
    pub reversed: bool,
}

/// Orients all links but those from a box to itself. An edge that closes a circle, met depth
/// first in the order of the boxes, is turned.
pub fn orient(n: usize, links: &[Link]) -> Vec<Forward> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (i, link) in links.iter().enumerate() {
        if link.from != link.to {
            out[link.from].push(i);
        }
    }
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; n];
    let mut reversed = vec![false; links.len()];
    let mut stack: Vec<(usize, usize)> = Vec::new();
    for start in 0..n {
        if state[start] != State::New {
            continue;
        }
        state[start] = State::Open;
        stack.push((start, 0));
        while let Some((node, next)) = stack.last_mut() {
            let Some(link) = out[*node].get(*next).copied() else {
                state[*node] = State::Done;
                stack.pop();
                continue;
            };
            *next += 1;
            let to = links[link].to;
            match state[to] {
                State::New => {
                    state[to] = State::Open;
                    stack.push((to, 0));
                }
                State::Open => reversed[link] = true,
                State::Done => {}
            }
        }
    }
    let oriented = links.iter().enumerate().filter(|(_, l)| l.from != l.to).map(|(link, l)| {
        let (upper, lower) = if reversed[link] { (l.to, l.from) } else { (l.from, l.to) };
        Forward { link, upper, lower, reversed: reversed[link] }
    });
    oriented.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_edge_that_closes_a_circle_is_turned() {
        let link = |from, to| Link { from, to, ..Link::default() };
        let forward = orient(3, &[link(0, 1), link(1, 2), link(2, 0), link(1, 1)]);
        assert_eq!(forward.iter().map(|f| f.reversed).collect::<Vec<_>>(), vec![false, false, true]);
        assert_eq!((forward[2].upper, forward[2].lower), (0, 2));
    }
}
