//! The graph as a picture.

use super::layout::{HEIGHT, Layout};
use super::sheet::{Box, Sheet};
use super::text::{Clipped, Escaped, STYLE};
use std::fmt;

const MARGIN: f64 = 16.0;
/// Labels are clipped to so many letters, each of about this width.
const LETTERS: usize = 26;
const LETTER: f64 = 7.2;

/// A sheet as an SVG picture.
pub(in crate::observe) struct Svg(pub(in crate::observe) Sheet);

impl fmt::Display for Svg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<f64> = self.0.boxes.iter().map(width).collect();
        let layout = Layout::of(&self.0, &widths);
        let (width, height) = (layout.size.0 + 2.0 * MARGIN, layout.size.1 + 2.0 * MARGIN);
        write!(
            f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\"><title>job graph</title>\
             <style>{STYLE}</style><g transform=\"translate({MARGIN} {MARGIN})\">"
        )?;
        layout
            .edges
            .iter()
            .try_for_each(|edge| draw_edge(f, edge))?;
        let boxes = self.0.boxes.iter().zip(&layout.boxes).zip(&widths);
        for ((place, &at), &width) in boxes {
            draw_box(f, place, at, width)?;
        }
        f.write_str("</g></svg>\n")
    }
}

fn width(place: &Box) -> f64 {
    let letters = place.label.chars().count().clamp(6, LETTERS);
    letters as f64 * LETTER + 20.0
}

/// A smooth line with an arrowhead.
fn draw_edge(f: &mut fmt::Formatter<'_>, points: &[(f64, f64)]) -> fmt::Result {
    let [(x, y), rest @ ..] = points else {
        return Ok(());
    };
    write!(f, "<path class=\"edge\" d=\"M{x:.1} {y:.1}")?;
    let mut last = (*x, *y);
    for &(x, y) in rest {
        let bend = (x - last.0) / 2.0;
        let (one, other) = (last.0 + bend, x - bend);
        write!(f, "C{one:.1} {:.1} {other:.1} {y:.1} {x:.1} {y:.1}", last.1)?;
        last = (x, y);
    }
    let (x, y) = last;
    write!(
        f,
        "\"/><path class=\"tip\" d=\"M{x:.1} {y:.1}l-7 -3.5v7z\"/>"
    )
}

/// A box with its label, and a strip that shows how its tasks stand.
fn draw_box(
    f: &mut fmt::Formatter<'_>,
    place: &Box,
    (x, y): (f64, f64),
    width: f64,
) -> fmt::Result {
    let label = Escaped(Clipped(&place.label, LETTERS));
    let (full, middle) = (Escaped(&place.label), width / 2.0);
    write!(
        f,
        "<g transform=\"translate({x:.1} {y:.1})\"><title>{full}: {}</title>\
         <rect class=\"box\" width=\"{width:.1}\" height=\"{HEIGHT}\" rx=\"6\"/>\
         <text x=\"{middle:.1}\" y=\"18\" text-anchor=\"middle\">{label}</text>",
        in_words(place)
    )?;
    let (mut left, room) = (8.0, width - 16.0);
    for (class, tasks) in shares(place) {
        let share = room * tasks as f64 / place.counts.total.max(1) as f64;
        write!(
            f,
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"25\" width=\"{share:.1}\" height=\"5\"/>"
        )?;
        left += share;
    }
    f.write_str("</g>")
}

/// How many tasks stand how.
fn shares(place: &Box) -> impl Iterator<Item = (&'static str, u64)> {
    let counts = &place.counts;
    let open = counts.unfinished();
    let open_state = if place.running { "running" } else { "waiting" };
    let shares = [
        ("succeeded", counts.succeeded),
        ("failed", counts.failed),
        ("skipped", counts.skipped),
        ("cancelled", counts.cancelled),
        (open_state, open),
    ];
    shares.into_iter().filter(|(_, tasks)| *tasks > 0)
}

fn in_words(place: &Box) -> String {
    let words = shares(place).map(|(class, tasks)| match place.counts.total {
        1 => class.to_owned(),
        _ => format!("{tasks} {class}"),
    });
    words.collect::<Vec<_>>().join(", ")
}
