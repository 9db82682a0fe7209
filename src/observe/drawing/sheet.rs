//! What is drawn of a graph: all of it, or its layers if it is large.

use super::Drawing;
use crate::graph::Graph;
use crate::model::Counts;
use petgraph::algo::toposort;
use petgraph::visit::{EdgeRef, IntoEdgeReferences, IntoNeighbors};
use std::collections::BTreeSet;

/// More boxes than these nobody can look at.
const MOST_BOXES: usize = 300;
const MOST_EDGES: usize = 1_500;

/// Boxes, and what leads from one to another.
pub(in crate::observe) struct Sheet {
    pub(in crate::observe) boxes: Vec<Box>,
    pub(super) edges: Vec<(usize, usize)>,
    /// In words, what was left out.
    pub(in crate::observe) note: Option<String>,
}

pub(in crate::observe) struct Box {
    pub(in crate::observe) label: String,
    pub(in crate::observe) counts: Counts,
    /// How many of its tasks are in a body, as far as that is known.
    pub(super) running: bool,
    /// How many steps it is from the beginning, at most.
    pub(super) layer: usize,
}

impl Sheet {
    pub(super) fn of(drawing: &Drawing) -> Self {
        let graph = drawing.graph();
        let layers = layers(&graph);
        let edges = (&graph).edge_references().count();
        match graph.nodes().len() > MOST_BOXES || edges > MOST_EDGES {
            false => Self::whole(drawing, &graph, &layers),
            true => Self::in_layers(drawing, &graph, &layers),
        }
    }

    fn whole(drawing: &Drawing, graph: &Graph<'_>, layers: &[usize]) -> Self {
        let boxes = graph.nodes().iter().map(|node| Box {
            label: node.to_string(),
            counts: drawing.counts(node.id),
            running: drawing.state(node.id) == crate::TaskState::Running,
            layer: layers[node.id.index()],
        });
        let edges = graph.edge_references();
        Sheet {
            boxes: boxes.collect(),
            edges: edges
                .map(|edge| (edge.source().index(), edge.target().index()))
                .collect(),
            note: None,
        }
    }

    /// One box a layer; where there are too many layers, one for several.
    fn in_layers(drawing: &Drawing, graph: &Graph<'_>, layers: &[usize]) -> Self {
        let deepest = layers.iter().copied().max().unwrap_or(0);
        let together = deepest / MOST_BOXES + 1;
        let mut boxes: Vec<Box> = (0..=deepest / together).map(Box::empty).collect();
        let mut nodes = vec![0_usize; boxes.len()];
        for node in graph.nodes() {
            let at = layers[node.id.index()] / together;
            nodes[at] += 1;
            boxes[at].counts.add_all(&drawing.counts(node.id), 1);
        }
        for (place, nodes) in boxes.iter_mut().zip(&nodes) {
            place.label = format!("{nodes} nodes, {} tasks", place.counts.total);
        }
        let ends = graph
            .edge_references()
            .map(|edge| (edge.source(), edge.target()));
        let ends = ends.map(|(from, to)| {
            (
                layers[from.index()] / together,
                layers[to.index()] / together,
            )
        });
        let edges: BTreeSet<_> = ends.filter(|(from, to)| from + 1 == *to).collect();
        let note = format!(
            "{} nodes are too many to draw: each box stands for {} of the {} layers of the graph",
            graph.nodes().len(),
            if together == 1 {
                "one".to_owned()
            } else {
                together.to_string()
            },
            deepest + 1,
        );
        Sheet {
            boxes,
            edges: edges.into_iter().collect(),
            note: Some(note),
        }
    }
}

impl Box {
    pub(super) fn empty(layer: usize) -> Self {
        Box {
            label: String::new(),
            counts: Counts::default(),
            running: false,
            layer,
        }
    }
}

/// Of each node, how many edges the longest way to it has.
fn layers(graph: &Graph<'_>) -> Vec<usize> {
    let mut layers = vec![0; graph.nodes().len()];
    // What was frozen has no cycle.
    for node in toposort(graph, None).unwrap_or_default() {
        let next = layers[node.index()] + 1;
        for after in graph.neighbors(node) {
            layers[after.index()] = layers[after.index()].max(next);
        }
    }
    layers
}
