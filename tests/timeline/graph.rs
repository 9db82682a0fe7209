//! Pictures of the graph.

use crate::{mixed, recorded};

#[test]
fn graphviz_gets_every_node_with_its_state_and_every_edge_with_its_kind() {
    let (_, run) = recorded(2, mixed());
    let dot = run.drawing().dot().to_string();
    for expected in [
        "digraph \"mixed\" {",
        "[label=\"list\", ",
        "tooltip=\"list: succeeded\"",
        "tooltip=\"fetch[20]: failed\"",
        "tooltip=\"never: skipped\"",
        "0 -> 1;",
        "1 -> 2 [label=\"each\"];",
        "[label=\"all\"];",
    ] {
        assert!(dot.contains(expected), "{expected:?} in\n{dot}");
    }
}

#[test]
fn a_picture_shows_how_many_elements_stand_how() {
    let (_, run) = recorded(2, mixed());
    let svg = run.drawing().svg().to_string();
    assert!(
        svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""),
        "{svg}"
    );
    for expected in [
        "<title>fetch[20]: 19 succeeded, 1 failed</title>",
        "<title>sort[20]: 19 succeeded, 1 skipped</title>",
        "<title>never: skipped</title>",
        "prefers-color-scheme: dark",
    ] {
        assert!(svg.contains(expected), "{expected:?} in\n{svg}");
    }
}
