//! Draws the chart of the README from what the benchmark `dag` prints as JSON.
//!
//!     cargo run --example benchmark_chart                                  # what docs/benchmarks.jsonl has
//!     cargo run --example benchmark_chart -- figures.jsonl chart.svg
//!
//! An empty line stands between two runs: each is compared with its own limit. A row for each contender, the fastest first, and in it a dot for each shape of graph: how many times as long an empty
//! task took as with the limit, which is the least that the machine needs.

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

/// What the others are divided by.
const LIMIT: &str = "limit";

const LEFT: f64 = 130.0;
const DECADE: f64 = 170.0;
/// Powers of ten: from a third of the limit to ten thousand times it.
const FROM: f64 = -0.5;
const TO: i32 = 4;
const TOP: f64 = 64.0;
const ROW: f64 = 26.0;
const STYLE: &str = "\
    svg { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; --paper: #ffffff; --ink: #1f2328; \
      --faint: #6b7280; --line: #d5d9df; background: var(--paper); } \
    @media (prefers-color-scheme: dark) { svg { --paper: #12161c; --ink: #e6e9ee; --faint: #99a2ad; --line: #2c333d; } } \
    text { fill: var(--ink); } .faint { fill: var(--faint); font-size: 12px; } .ours { font-weight: 700; } \
    line { stroke: var(--line); } .limit { stroke: var(--ink); } .span { stroke: var(--faint); stroke-width: 2; opacity: 0.5; }";

/// A line of the benchmark's JSON, as far as it is drawn.
#[derive(Deserialize)]
struct Figure {
    shape: String,
    contender: String,
    ns_per_task: f64,
}

/// What contenders took, as a multiple of the limit, by shape.
struct Chart(Vec<(String, Multiples)>);

type Multiples = BTreeMap<String, f64>;

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
    fn of(text: &str) -> Result<Self, BoxError> {
        let mut contenders = BTreeMap::<String, Multiples>::new();
        for run in text.split("\n\n") {
            let lines = run.lines().filter(|line| line.starts_with('{'));
            let figures: Vec<Figure> = lines.map(serde_json::from_str).collect::<Result<_, _>>()?;
            let (limits, others): (Vec<_>, Vec<_>) =
                figures.into_iter().partition(|it| it.contender == LIMIT);
            for Figure {
                shape,
                contender,
                ns_per_task,
            } in others
            {
                let limit = limits.iter().find(|limit| limit.shape == shape);
                let limit = limit.ok_or("a shape without its limit")?.ns_per_task;
                let multiples = contenders.entry(contender).or_default();
                multiples.insert(shape, ns_per_task / limit);
            }
        }
        let mut contenders: Vec<_> = contenders.into_iter().collect();
        contenders.sort_by(|(_, one), (_, other)| mean(one).total_cmp(&mean(other)));
        Ok(Chart(contenders))
    }
}

/// In powers, as they are drawn.
fn mean(multiples: &Multiples) -> f64 {
    let sum: f64 = multiples.values().map(|times| times.ln()).sum();
    sum / multiples.len() as f64
}

impl Display for Chart {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let width = x(10_f64.powi(TO)) + 30.0;
        let bottom = TOP + ROW * self.0.len() as f64;
        write!(
            f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {0}\" width=\"{width}\" height=\"{0}\" \
             role=\"img\"><title>what a task costs</title><style>{STYLE}</style>",
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
    let what = "Time for an empty task, as a multiple of the least that the machine needs, by shape of the graph";
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
    for power in 0..=TO {
        let (times, text) = (10_f64.powi(power), bottom + 20.0);
        let (x, class) = (x(times), if power == 0 { "limit" } else { "" });
        write!(
            f,
            "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>\
             <text class=\"faint\" x=\"{x:.1}\" y=\"{text}\" text-anchor=\"middle\">{times} ×</text>"
        )?;
    }
    Ok(())
}

fn write_row(f: &mut Formatter<'_>, y: f64, contender: &str, multiples: &Multiples) -> fmt::Result {
    let class = if contender == "batchyard" { "ours" } else { "" };
    let (text, label) = (LEFT - 12.0, y + 4.0);
    let least = multiples.values().copied().fold(f64::MAX, f64::min);
    let most = multiples.values().copied().fold(0.0, f64::max);
    write!(
        f,
        "<text class=\"{class}\" x=\"{text}\" y=\"{label}\" text-anchor=\"end\">{contender}</text>\
         <line class=\"span\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\"/>",
        x(least),
        x(most)
    )?;
    for (shape, colour) in SHAPES {
        if let Some(&times) = multiples.get(shape) {
            write!(
                f,
                "<circle cx=\"{:.1}\" cy=\"{y}\" r=\"5\" fill=\"{colour}\">\
                 <title>{contender}, {shape}: {times:.2} times the limit</title></circle>",
                x(times)
            )?;
        }
    }
    Ok(())
}

/// Each power of ten takes the same room.
fn x(times: f64) -> f64 {
    LEFT + DECADE * (times.log10().clamp(FROM, f64::from(TO)) - FROM)
}
