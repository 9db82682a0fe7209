//! Draws the chart of the README from what the benchmark `dag` prints as JSON.
//!
//!     cargo run --example benchmark_chart                                  # what docs/benchmarks.jsonl has
//!     cargo run --example benchmark_chart -- figures.jsonl chart.svg
//!
//! A row for each contender, the fastest first, and in it a dot for each shape of graph.

use batchyard::BoxError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

/// Shapes, and their colours.
const SHAPES: [(&str, &str); 5] = [
    ("wide", "#3b82f6"),
    ("tree", "#2f9e6e"),
    ("grid", "#e0a526"),
    ("chain", "#b07cd8"),
    ("random", "#dc3545"),
];

const LEFT: f64 = 150.0;
const DECADE: f64 = 150.0;
const DECADES: u32 = 5;
const TOP: f64 = 64.0;
const ROW: f64 = 26.0;
const STYLE: &str = "\
    svg { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; --paper: #ffffff; --ink: #1f2328; \
      --faint: #6b7280; --line: #d5d9df; background: var(--paper); } \
    @media (prefers-color-scheme: dark) { svg { --paper: #12161c; --ink: #e6e9ee; --faint: #99a2ad; --line: #2c333d; } } \
    text { fill: var(--ink); } .faint { fill: var(--faint); font-size: 12px; } .ours { font-weight: 700; } \
    line { stroke: var(--line); } .span { stroke: var(--faint); stroke-width: 2; opacity: 0.5; }";

/// A line of the benchmark's JSON, as far as it is drawn.
#[derive(Deserialize)]
struct Figure {
    shape: String,
    contender: String,
    /// Of the fastest round.
    ns_min: f64,
}

/// Contenders with their nanoseconds a task, by shape.
struct Chart(Vec<(String, BTreeMap<String, f64>)>);

fn main() -> Result<(), BoxError> {
    let mut files = std::env::args_os().skip(1).map(PathBuf::from);
    let recorded = || Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/benchmarks.jsonl");
    let picture = || std::env::temp_dir().join("batchyard-benchmarks.svg");
    let from = files.next().unwrap_or_else(recorded);
    let to = files.next().unwrap_or_else(picture);
    let chart = Chart::of(&std::fs::read_to_string(from)?)?;
    std::fs::write(&to, chart.to_string())?;
    println!("{} contenders in {}", chart.0.len(), to.display());
    Ok(())
}

impl Chart {
    fn of(lines: &str) -> Result<Self, BoxError> {
        let mut contenders = BTreeMap::<String, BTreeMap<String, f64>>::new();
        for line in lines.lines().filter(|line| line.starts_with('{')) {
            let figure: Figure = serde_json::from_str(line)?;
            let shapes = contenders.entry(figure.contender).or_default();
            shapes.insert(figure.shape, figure.ns_min);
        }
        let mut contenders: Vec<_> = contenders.into_iter().collect();
        let mean = |shapes: &BTreeMap<String, f64>| {
            shapes.values().map(|ns| ns.ln()).sum::<f64>() / shapes.len() as f64
        };
        contenders.sort_by(|(_, one), (_, other)| mean(one).total_cmp(&mean(other)));
        Ok(Chart(contenders))
    }
}

impl Display for Chart {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let width = LEFT + DECADE * f64::from(DECADES) + 30.0;
        let bottom = TOP + ROW * self.0.len() as f64;
        write!(
            f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {0}\" width=\"{width}\" height=\"{0}\" \
             role=\"img\"><title>what one task costs</title><style>{STYLE}</style>",
            bottom + 34.0
        )?;
        write_key(f)?;
        write_axis(f, bottom)?;
        for (at, (contender, shapes)) in self.0.iter().enumerate() {
            write_row(f, TOP + ROW * (at as f64 + 0.5), contender, shapes)?;
        }
        writeln!(f, "</svg>")
    }
}

fn write_key(f: &mut Formatter<'_>) -> fmt::Result {
    let what =
        "Time for one empty task in a graph of a million (fewer: better), by shape of the graph";
    write!(f, "<text x=\"16\" y=\"24\">{what}</text>")?;
    for (at, (shape, colour)) in SHAPES.iter().enumerate() {
        let x = LEFT + 84.0 * at as f64;
        let text = x + 10.0;
        write!(
            f,
            "<circle cx=\"{x}\" cy=\"44\" r=\"5\" fill=\"{colour}\"/>\
             <text class=\"faint\" x=\"{text}\" y=\"48\">{shape}</text>"
        )?;
    }
    Ok(())
}

fn write_axis(f: &mut Formatter<'_>, bottom: f64) -> fmt::Result {
    for decade in 0..=DECADES {
        let (x, text) = (LEFT + DECADE * f64::from(decade), bottom + 20.0);
        let label = match decade {
            0..3 => format!("{} ns", 10_u32.pow(decade)),
            _ => format!("{} µs", 10_u32.pow(decade - 3)),
        };
        write!(
            f,
            "<line x1=\"{x}\" x2=\"{x}\" y1=\"{TOP}\" y2=\"{bottom}\"/>\
             <text class=\"faint\" x=\"{x}\" y=\"{text}\" text-anchor=\"middle\">{label}</text>"
        )?;
    }
    Ok(())
}

fn write_row(
    f: &mut Formatter<'_>,
    y: f64,
    contender: &str,
    shapes: &BTreeMap<String, f64>,
) -> fmt::Result {
    let class = if contender == "batchyard" { "ours" } else { "" };
    let (text, label) = (LEFT - 12.0, y + 4.0);
    write!(
        f,
        "<text class=\"{class}\" x=\"{text}\" y=\"{label}\" text-anchor=\"end\">{contender}</text>"
    )?;
    let (least, most) = shapes
        .values()
        .fold((f64::MAX, 0.0_f64), |(least, most), &ns| {
            (least.min(ns), most.max(ns))
        });
    write!(
        f,
        "<line class=\"span\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\"/>",
        x(least),
        x(most)
    )?;
    for (shape, colour) in SHAPES {
        if let Some(&ns) = shapes.get(shape) {
            write!(
                f,
                "<circle cx=\"{:.1}\" cy=\"{y}\" r=\"5\" fill=\"{colour}\">\
                 <title>{contender}, {shape}: {ns:.1} ns</title></circle>",
                x(ns)
            )?;
        }
    }
    Ok(())
}

/// Each power of ten takes the same room.
fn x(ns: f64) -> f64 {
    LEFT + DECADE * ns.log10().clamp(0.0, f64::from(DECADES))
}
