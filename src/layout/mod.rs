//! Layered layout of one level of boxes, top to bottom. Knows ids and sizes only.
//!
//! The stages, each a file: [`acyclic`] turns circles open, [`rank`] puts boxes in rows,
//! [`normalize`] cuts long edges into steps, [`order`] untangles the rows, [`position`]
//! gives them x, [`route`] draws the edges. Everything is iterative and deterministic.

pub mod acyclic;
pub mod normalize;
pub mod order;
pub mod position;
pub mod rank;
pub mod route;

/// Where in the rows a box must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pin {
    /// Wherever its edges put it.
    #[default]
    Free,
    /// In the first row: a port for what comes from outside.
    First,
    /// In the last row: a port for what goes outside.
    Last,
}

/// A box to be placed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Item {
    /// Width.
    pub width: f32,
    /// Height.
    pub height: f32,
    /// Where it must be.
    pub pin: Pin,
}

/// An edge to be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Link {
    /// Index of the box it leaves.
    pub from: usize,
    /// Index of the box it enters.
    pub to: usize,
    /// Where it must leave, from the box's left side; anywhere when `None`.
    pub from_x: Option<f32>,
    /// Where it must enter, from the box's left side; anywhere when `None`.
    pub to_x: Option<f32>,
}

/// How an edge is drawn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Route {
    /// Corners, x and y in turn, from the bottom of the first box to the top of the other.
    pub points: Vec<f32>,
    /// True when only its two ends are worth drawing: it is long, or one of very many.
    pub stub: bool,
}

/// The result.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Placement {
    /// Left and top of each box.
    pub at: Vec<(f32, f32)>,
    /// The route of each edge; without points for an edge from a box to itself.
    pub routes: Vec<Route>,
    /// Width of it all.
    pub width: f32,
    /// Height of it all.
    pub height: f32,
}

/// Space between boxes of a row.
pub const GAP_X: f32 = 24.0;
/// Space between rows without any edge that turns there.
pub const GAP_Y: f32 = 26.0;
/// Space between parallel lines.
pub const TRACK: f32 = 7.0;

/// Places boxes and draws edges. Coordinates start at 0, 0.
pub fn layout(items: &[Item], links: &[Link]) -> Placement {
    let mut linked = vec![false; items.len()];
    for link in links.iter().filter(|l| l.from != l.to) {
        linked[link.from] = true;
        linked[link.to] = true;
    }
    let forward = acyclic::orient(items.len(), links);
    let ranks = rank::assign(items, &linked, &forward);
    let mut rows = normalize::normalize(items, links, &linked, &forward, &ranks);
    order::untangle(&mut rows);
    let x = position::assign(&rows);
    let mut placement = route::draw(items, links, &forward, &rows, &x);
    grid(items, &linked, &mut placement);
    placement
}

/// Boxes without any edge stand in a grid below the rest.
fn grid(items: &[Item], linked: &[bool], placement: &mut Placement) {
    let alone: Vec<usize> = (0..items.len()).filter(|i| !linked[*i]).collect();
    if alone.is_empty() {
        return;
    }
    let mean: f32 = alone.iter().map(|i| items[*i].width + GAP_X).sum::<f32>() / alone.len() as f32;
    let wish = ((alone.len() as f32).sqrt().ceil() * mean).max(placement.width);
    let top = if placement.height > 0.0 { placement.height + GAP_Y } else { 0.0 };
    let (mut x, mut y, mut row) = (0.0_f32, top, 0.0_f32);
    for i in alone {
        if x > 0.0 && x + items[i].width > wish {
            x = 0.0;
            y += row + GAP_Y;
            row = 0.0;
        }
        placement.at[i] = (x, y);
        x += items[i].width + GAP_X;
        row = row.max(items[i].height);
        placement.width = placement.width.max(x - GAP_X);
        placement.height = placement.height.max(y + row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn boxes(n: usize) -> Vec<Item> {
        (0..n).map(|i| Item { width: 96.0 + (i % 5) as f32 * 20.0, height: 56.0, pin: Pin::Free }).collect()
    }

    fn check(items: &[Item], links: &[Link]) -> Placement {
        let placement = layout(items, links);
        for (i, item) in items.iter().enumerate() {
            let (x, y) = placement.at[i];
            assert!(x.is_finite() && y.is_finite() && x >= -0.01 && y >= -0.01);
            assert!(x + item.width <= placement.width + 0.01 && y + item.height <= placement.height + 0.01);
        }
        let mut by_y: Vec<usize> = (0..items.len()).collect();
        by_y.sort_by(|a, b| placement.at[*a].1.total_cmp(&placement.at[*b].1));
        for (k, a) in by_y.iter().enumerate() {
            for b in &by_y[k + 1..] {
                let ((ax, ay), (bx, by)) = (placement.at[*a], placement.at[*b]);
                if by >= ay + items[*a].height {
                    break;
                }
                let slack = 0.01 + ax.max(bx) * 1e-5;
                let apart = ax + items[*a].width <= bx + slack || bx + items[*b].width <= ax + slack;
                assert!(apart || by >= ay + items[*a].height, "boxes {a} and {b} overlap");
            }
        }
        for (link, route) in links.iter().zip(&placement.routes) {
            if link.from == link.to {
                assert!(route.points.is_empty());
                continue;
            }
            let n = route.points.len();
            assert!(n >= 4 && n % 2 == 0);
            let (from, to) = (placement.at[link.from], placement.at[link.to]);
            // Far to the right single precision is coarser than at 0.
            let ends = |x: f32, at: (f32, f32), item: &Item| {
                x >= at.0 - 0.01 - at.0 * 1e-5 && x <= at.0 + item.width + 0.01 + at.0 * 1e-5
            };
            assert!(ends(route.points[0], from, &items[link.from]));
            assert!(ends(route.points[n - 2], to, &items[link.to]));
        }
        placement
    }

    fn chain(n: usize) -> Vec<Link> {
        (1..n).map(|i| Link { from: i - 1, to: i, ..Link::default() }).collect()
    }

    #[test]
    fn boxes_narrower_than_their_corners_are_placed() {
        // At many places, so that sums of single precision are rounded both ways.
        for step in 0..200 {
            let width = 3.0 + step as f32 * 0.07;
            let items = vec![Item { width, height: 40.0, pin: Pin::Free }; 60];
            let links: Vec<Link> = (1..60).map(|i| Link { from: 0, to: i, ..Link::default() }).collect();
            check(&items, &links);
        }
    }

    #[test]
    fn a_chain_is_straight_and_goes_down() {
        let items = vec![Item { width: 100.0, height: 40.0, pin: Pin::Free }; 50];
        let placement = check(&items, &chain(50));
        let first = placement.at[0].0;
        assert!(placement.at.iter().all(|(x, _)| (x - first).abs() < 0.01));
        assert!(placement.at.windows(2).all(|w| w[1].1 > w[0].1 + 40.0));
        assert!(placement.routes.iter().all(|r| r.points.len() == 4));
    }

    #[test]
    fn a_source_of_a_whole_chain_leaves_it_straight_and_narrow() {
        // A mask that every layer of a chain reads, and a way around each layer.
        for layers in [5, 8, 12, 30] {
            let mut links = Vec::new();
            for layer in 1..=layers {
                links.push(Link { from: 0, to: layer, ..Link::default() });
                if layer > 1 {
                    links.push(Link { from: layer - 1, to: layer, ..Link::default() });
                }
                if layer > 2 {
                    links.push(Link { from: layer - 2, to: layer, ..Link::default() });
                }
            }
            let items = vec![Item { width: 100.0, height: 40.0, pin: Pin::Free }; layers + 1];
            let placement = check(&items, &links);
            let first = placement.at[1].0;
            assert!(placement.at[1..].iter().all(|(x, _)| (x - first).abs() < 0.01), "{:?}", placement.at);
            assert!(placement.width < 400.0, "{layers} layers are {} wide", placement.width);
        }
    }

    #[test]
    fn what_only_one_box_reads_stands_right_above_it() {
        // A chain of 6, and a chain of 2 that only the last box of the first one reads.
        let mut links = chain(6);
        links.push(Link { from: 6, to: 7, ..Link::default() });
        links.push(Link { from: 7, to: 5, ..Link::default() });
        let placement = check(&[Item { width: 100.0, height: 40.0, pin: Pin::Free }; 8], &links);
        assert_eq!(placement.at[7].1, placement.at[4].1);
        assert_eq!(placement.at[6].1, placement.at[3].1);
    }

    #[test]
    fn nothing_one_box_circles_and_stars_are_laid_out() {
        assert_eq!(layout(&[], &[]), Placement::default());
        check(&boxes(1), &[]);
        check(&boxes(3), &[Link { from: 0, to: 0, ..Link::default() }]);
        let mut circle = chain(4);
        circle.push(Link { from: 3, to: 0, ..Link::default() });
        check(&boxes(4), &circle);
        let star: Vec<Link> = (1..2000).map(|to| Link { from: 0, to, ..Link::default() }).collect();
        check(&boxes(2000), &star);
        check(&boxes(5000), &chain(5000));
        check(&boxes(300), &[]);
    }

    proptest! {
        #[test]
        fn any_graph_is_laid_out_without_overlap(n in 1_usize..40, pairs in prop::collection::vec((0_usize..40, 0_usize..40), 0..90)) {
            let links: Vec<Link> =
                pairs.into_iter().map(|(a, b)| Link { from: a % n, to: b % n, ..Link::default() }).collect();
            let first = check(&boxes(n), &links);
            prop_assert_eq!(first, layout(&boxes(n), &links));
        }
    }
}
