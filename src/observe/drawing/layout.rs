//! A layered layout: columns from left to right, few crossings, short edges.
//!
//! Sugiyama's method in its simplest form. An edge over several columns gets a *knot* in each between, so that it goes
//! around what is there; columns are put in the order of the middles of their neighbours, there and back a few times;
//! then everything moves towards its neighbours as far as the order allows.

use super::sheet::Sheet;

pub(super) const HEIGHT: f64 = 38.0;
const ROW_GAP: f64 = 14.0;
const KNOT: f64 = 6.0;
const COLUMN_GAP: f64 = 56.0;
const SWEEPS: usize = 8;

/// Where everything is.
pub(super) struct Layout {
    /// Left and upper edges of boxes.
    pub(super) boxes: Vec<(f64, f64)>,
    /// Of each edge, the points it goes through: first the right edge of a box, last the left one of another.
    pub(super) edges: Vec<Vec<(f64, f64)>>,
    pub(super) size: (f64, f64),
}

/// A box, or a knot of an edge.
struct Item {
    column: usize,
    height: f64,
    left: Vec<usize>,
    right: Vec<usize>,
    /// Its middle.
    y: f64,
}

struct Grid {
    items: Vec<Item>,
    columns: Vec<Vec<usize>>,
    /// Of each edge, the items it goes through.
    ways: Vec<Vec<usize>>,
}

impl Layout {
    /// `widths` are those of the boxes.
    pub(super) fn of(sheet: &Sheet, widths: &[f64]) -> Self {
        let mut grid = Grid::of(sheet);
        (0..SWEEPS).for_each(|_| grid.sort());
        grid.stack();
        (0..SWEEPS).for_each(|_| grid.straighten());
        grid.place(widths)
    }
}

impl Grid {
    fn of(sheet: &Sheet) -> Self {
        let items = sheet
            .boxes
            .iter()
            .map(|place| Item::new(place.layer, HEIGHT));
        let mut grid = Grid {
            items: items.collect(),
            columns: Vec::new(),
            ways: Vec::new(),
        };
        for &(from, to) in &sheet.edges {
            grid.lead(from, to);
        }
        let last = grid.items.iter().map(|item| item.column).max();
        grid.columns = vec![Vec::new(); last.map_or(0, |last| last + 1)];
        for (at, item) in grid.items.iter().enumerate() {
            grid.columns[item.column].push(at);
        }
        grid
    }

    /// Leads an edge through the columns between its ends.
    fn lead(&mut self, from: usize, to: usize) {
        let mut way = vec![from];
        for column in self.items[from].column + 1..self.items[to].column {
            way.push(self.items.len());
            self.items.push(Item::new(column, KNOT));
        }
        way.push(to);
        for pair in way.windows(2) {
            self.items[pair[0]].right.push(pair[1]);
            self.items[pair[1]].left.push(pair[0]);
        }
        self.ways.push(way);
    }

    /// Orders each column by the middles of its neighbours: first from the left, then from the right.
    fn sort(&mut self) {
        self.number();
        for column in 0..self.columns.len() {
            self.sort_column(column, |item| &item.left);
        }
        for column in (0..self.columns.len()).rev() {
            self.sort_column(column, |item| &item.right);
        }
    }

    /// Until they are placed, the heights of items are their places in their columns.
    fn number(&mut self) {
        for column in &self.columns {
            for (place, &item) in column.iter().enumerate() {
                self.items[item].y = place as f64;
            }
        }
    }

    fn sort_column(&mut self, column: usize, neighbours: fn(&Item) -> &Vec<usize>) {
        let mut order = std::mem::take(&mut self.columns[column]);
        let middle = |&item: &usize| self.middle(item, neighbours).unwrap_or(self.items[item].y);
        let mut keyed: Vec<_> = order.drain(..).map(|item| (middle(&item), item)).collect();
        keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (place, &(_, item)) in keyed.iter().enumerate() {
            self.items[item].y = place as f64;
        }
        self.columns[column] = keyed.into_iter().map(|(_, item)| item).collect();
    }

    fn middle(&self, item: usize, neighbours: fn(&Item) -> &Vec<usize>) -> Option<f64> {
        let neighbours = neighbours(&self.items[item]);
        let sum: f64 = neighbours.iter().map(|&other| self.items[other].y).sum();
        (!neighbours.is_empty()).then(|| sum / neighbours.len() as f64)
    }

    /// Puts the items of each column under one another, all columns around the same line.
    fn stack(&mut self) {
        for column in &self.columns {
            let all: f64 = column
                .iter()
                .map(|&item| self.items[item].height + ROW_GAP)
                .sum();
            let mut y = -all / 2.0;
            for &item in column {
                let height = self.items[item].height;
                self.items[item].y = y + height / 2.0;
                y += height + ROW_GAP;
            }
        }
    }

    /// Moves everything towards the middle of its neighbours, and keeps the order and the gaps.
    fn straighten(&mut self) {
        for column in (0..self.columns.len()).chain((0..self.columns.len()).rev()) {
            let wanted: Vec<f64> = self.columns[column]
                .iter()
                .map(|&item| self.wish(item))
                .collect();
            let down = self.pack(column, &wanted, false);
            let up = self.pack(column, &wanted, true);
            // The mean of two lists that keep the gaps keeps them too.
            for (at, &item) in self.columns[column].iter().enumerate() {
                self.items[item].y = (down[at] + up[at]) / 2.0;
            }
        }
    }

    fn wish(&self, item: usize) -> f64 {
        let sides = [
            self.middle(item, |item| &item.left),
            self.middle(item, |item| &item.right),
        ];
        match sides {
            [Some(left), Some(right)] => (left + right) / 2.0,
            [one, other] => one.or(other).unwrap_or(self.items[item].y),
        }
    }

    /// As near to what is wanted as those before allow: from the top, or from the bottom.
    fn pack(&self, column: usize, wanted: &[f64], from_bottom: bool) -> Vec<f64> {
        let column = &self.columns[column];
        let mut placed = wanted.to_vec();
        let half = |at: usize| self.items[column[at]].height / 2.0;
        let gap = |one: usize, other: usize| half(one) + ROW_GAP + half(other);
        match from_bottom {
            false => (1..column.len()).for_each(|at| {
                placed[at] = placed[at].max(placed[at - 1] + gap(at - 1, at));
            }),
            true => (0..column.len().saturating_sub(1)).rev().for_each(|at| {
                placed[at] = placed[at].min(placed[at + 1] - gap(at, at + 1));
            }),
        }
        placed
    }

    fn place(&self, widths: &[f64]) -> Layout {
        let top = self
            .items
            .iter()
            .map(|item| item.y - item.height / 2.0)
            .fold(0.0, f64::min);
        let bottom = self
            .items
            .iter()
            .map(|item| item.y + item.height / 2.0)
            .fold(top, f64::max);
        let (lefts, rights) = self.columns_at(widths);
        let y = |item: usize| self.items[item].y - top;
        let boxes =
            (0..widths.len()).map(|at| (lefts[self.items[at].column], y(at) - HEIGHT / 2.0));
        let edges = self.ways.iter().map(|way| {
            let mut points = Vec::new();
            for (at, &item) in way.iter().enumerate() {
                let left = lefts[self.items[item].column];
                let right = match item < widths.len() {
                    true => left + widths[item],
                    false => rights[self.items[item].column],
                };
                let leaves = (at + 1 < way.len()).then_some((right, y(item)));
                let arrives = (at > 0).then_some((left, y(item)));
                points.extend(arrives.into_iter().chain(leaves));
            }
            points
        });
        Layout {
            boxes: boxes.collect(),
            edges: edges.collect(),
            size: (rights.last().copied().unwrap_or(0.0), bottom - top),
        }
    }

    /// The left and right edges of columns, each as wide as its widest box.
    fn columns_at(&self, widths: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut x = 0.0;
        let column = |column: &Vec<usize>| {
            let widths = column.iter().filter_map(|&item| widths.get(item));
            let left = x;
            let right = left + widths.copied().fold(0.0, f64::max);
            x = right + COLUMN_GAP;
            (left, right)
        };
        self.columns.iter().map(column).unzip()
    }
}

impl Item {
    fn new(column: usize, height: f64) -> Self {
        Item {
            column,
            height,
            left: Vec::new(),
            right: Vec::new(),
            y: 0.0,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::sheet::{Box, Sheet};
    use super::*;

    fn sheet(layers: &[usize], edges: &[(usize, usize)]) -> Sheet {
        let boxes = layers.iter().map(|&layer| Box::empty(layer));
        Sheet {
            boxes: boxes.collect(),
            edges: edges.to_vec(),
            note: None,
        }
    }

    #[test]
    fn boxes_of_a_column_do_not_overlap_and_edges_lead_to_the_right() {
        let edges = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4), (0, 4)];
        let layout = Layout::of(&sheet(&[0, 1, 1, 1, 2], &edges), &[100.0; 5]);
        let mut middles: Vec<f64> = layout.boxes[1..4].iter().map(|&(_, y)| y).collect();
        middles.sort_by(f64::total_cmp);
        assert!(middles.windows(2).all(|pair| pair[1] - pair[0] >= HEIGHT));
        for edge in &layout.edges {
            assert!(
                edge.windows(2).all(|pair| pair[0].0 <= pair[1].0),
                "{edge:?}"
            );
        }
        assert!(layout.size.0 > 300.0);
    }

    #[test]
    fn two_chains_that_are_given_crosswise_do_not_cross() {
        let layout = Layout::of(&sheet(&[0, 0, 1, 1], &[(0, 3), (1, 2)]), &[50.0; 4]);
        let above = |one: usize, other: usize| layout.boxes[one].1 < layout.boxes[other].1;
        assert_eq!(above(0, 1), above(3, 2));
    }

    #[test]
    fn nothing_is_laid_out_as_nothing() {
        let layout = Layout::of(&sheet(&[], &[]), &[]);
        assert_eq!((layout.size, layout.boxes.len()), ((0.0, 0.0), 0));
    }
}
