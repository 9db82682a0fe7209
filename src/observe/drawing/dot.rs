//! The graph in Graphviz's language.

use super::Drawing;
use crate::graph::Dependency;
use crate::model::TaskState;
use petgraph::visit::{EdgeRef, IntoEdgeReferences};
use std::fmt;

pub(super) struct Dot<'a>(pub(super) &'a Drawing);

impl fmt::Display for Dot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let graph = self.0.graph();
        writeln!(f, "digraph {} {{", Quoted(&self.0.job.name))?;
        writeln!(f, "  rankdir=LR;")?;
        writeln!(
            f,
            "  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];"
        )?;
        for node in graph.nodes() {
            let state = self.0.state(node.id);
            let tip = format!("{node}: {state}");
            let (id, fill) = (node.id.index(), colour(state));
            let label = Quoted(&node.to_string()).to_string();
            writeln!(
                f,
                "  {id} [label={label}, fillcolor=\"{fill}\", tooltip={}];",
                Quoted(&tip)
            )?;
        }
        for edge in (&graph).edge_references() {
            let label = match edge.weight() {
                Dependency::Task => String::new(),
                dependency => format!(" [label=\"{dependency}\"]"),
            };
            writeln!(
                f,
                "  {} -> {}{label};",
                edge.source().index(),
                edge.target().index()
            )?;
        }
        writeln!(f, "}}")
    }
}

/// On paper: pale, so that black letters can be read on it.
fn colour(state: TaskState) -> &'static str {
    match state {
        TaskState::Waiting => "#f1f3f5",
        TaskState::Ready => "#d0ebff",
        TaskState::Running => "#74c0fc",
        TaskState::Succeeded => "#b2f2bb",
        TaskState::Failed => "#ffa8a8",
        TaskState::Skipped => "#ffe8a3",
        TaskState::Cancelled => "#ced4da",
    }
}

/// A string of the language: only quotes and backslashes mean something in it.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escaped = self.0.replace('\\', "\\\\").replace('"', "\\\"");
        write!(f, "\"{}\"", escaped.replace(['\n', '\r'], "\\n"))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_inside_its_quotes() {
        assert_eq!(Quoted("a\"b\\").to_string(), r#""a\"b\\""#);
    }
}
