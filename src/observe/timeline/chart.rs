//! Charts over time: which slot did what, and how many were busy.

use super::{AttemptTimes, Timeline};
use crate::observe::drawing::{Clipped, Escaped, STYLE};
use crate::observe::event::NodeId;
use crate::observe::progress::Short;
use std::collections::HashMap;
use std::fmt;

/// More bars than these are drawn as shares of time.
const MOST_BARS: usize = 2_000;
/// More slots than these share rows.
const MOST_ROWS: usize = 48;
/// How many shares a row is divided into, and how many points a curve has.
const SHARES: usize = 240;
const POINTS: usize = 240;

const LEFT: f64 = 150.0;
const WIDTH: f64 = 850.0;
const ROW: f64 = 22.0;
const AXIS: f64 = 26.0;
const CURVE: f64 = 110.0;
/// A label needs so much of a bar for each of its letters.
const LETTER: f64 = 7.0;

/// What each slot did.
pub(super) struct Gantt<'a> {
    timeline: &'a Timeline,
    rows: Vec<Row>,
    row_of: HashMap<(NodeId, u32), usize>,
}

struct Row {
    label: String,
    slots: usize,
}

impl<'a> Gantt<'a> {
    pub(super) fn new(timeline: &'a Timeline) -> Self {
        let slots = timeline.slots();
        let together = slots.len().div_ceil(MOST_ROWS).max(1);
        let row = |slots: &[(NodeId, u32)]| Row {
            label: label(timeline, slots),
            slots: slots.len(),
        };
        let rows = slots.chunks(together).map(row).collect();
        let places = slots.iter().enumerate();
        Gantt {
            timeline,
            rows,
            row_of: places.map(|(at, &slot)| (slot, at / together)).collect(),
        }
    }

    /// In words, what the chart leaves out.
    pub(super) fn note(&self) -> Option<String> {
        let attempts = self.timeline.attempts.len();
        let shared = self.rows.iter().any(|row| row.slots > 1);
        self.in_shares().then(|| {
            let rows = if shared {
                ", and several slots in one row"
            } else {
                ""
            };
            format!(
                "{attempts} attempts are too many to draw each: shown is how much of the time \
                 was spent in attempts{rows}"
            )
        })
    }

    fn in_shares(&self) -> bool {
        self.timeline.attempts.len() > MOST_BARS || self.rows.iter().any(|row| row.slots > 1)
    }

    fn draw_rows(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, row) in self.rows.iter().enumerate() {
            let (y, text) = (at as f64 * ROW, at as f64 * ROW + 15.0);
            write!(
                f,
                "<rect class=\"row\" x=\"{LEFT}\" y=\"{y}\" width=\"{WIDTH}\" height=\"18\"/>\
                 <text class=\"faint\" x=\"{:.0}\" y=\"{text:.0}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                Escaped(Clipped(&row.label, 24))
            )?;
        }
        Ok(())
    }

    fn draw_bars(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.timeline
            .attempts
            .iter()
            .try_for_each(|attempt| self.draw_bar(f, attempt))
    }

    fn row(&self, attempt: &AttemptTimes) -> usize {
        let slot = (attempt.node, attempt.slot);
        self.row_of.get(&slot).copied().unwrap_or(0)
    }

    fn draw_bar(&self, f: &mut fmt::Formatter<'_>, attempt: &AttemptTimes) -> fmt::Result {
        let timeline = self.timeline;
        let row = self.row(attempt);
        let x = LEFT + WIDTH * timeline.fraction(attempt.started);
        let end = LEFT + WIDTH * timeline.fraction(timeline.end_of(attempt));
        // The shortest are seen, too.
        let (width, y) = ((end - x).max(0.8), row as f64 * ROW);
        let (label, class) = (timeline.run.task_label(attempt.task), attempt.outcome);
        write!(
            f,
            "<g><title>{}</title><rect class=\"{class}\" x=\"{x:.2}\" y=\"{y}\" \
             width=\"{width:.2}\" height=\"18\" rx=\"2\"/>",
            Escaped(in_words(timeline, attempt, &label))
        )?;
        if label.chars().count() as f64 * LETTER + 6.0 < width {
            let (x, y) = (x + 4.0, y + 13.0);
            let label = Escaped(&label);
            write!(
                f,
                "<text class=\"on\" x=\"{x:.1}\" y=\"{y}\">{label}</text>"
            )?;
        }
        f.write_str("</g>")
    }

    /// For each row, how much of each share of the time was spent in attempts.
    fn draw_shares(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut busy = vec![[0.0_f64; SHARES]; self.rows.len()];
        let mut failed = vec![[false; SHARES]; self.rows.len()];
        for attempt in &self.timeline.attempts {
            let row = self.row(attempt);
            self.timeline.spread(attempt, &mut busy[row]);
            if attempt.outcome == super::AttemptOutcome::Failed {
                let end = self.timeline.fraction(self.timeline.end_of(attempt));
                failed[row][((end * SHARES as f64) as usize).min(SHARES - 1)] = true;
            }
        }
        let step = WIDTH / SHARES as f64;
        for (at, row) in self.rows.iter().enumerate() {
            for share in 0..SHARES {
                let part = (busy[at][share] / row.slots as f64).min(1.0);
                let class = if failed[at][share] {
                    "failed"
                } else {
                    "succeeded"
                };
                let (x, height) = (LEFT + step * share as f64, 18.0 * part);
                let y = at as f64 * ROW + 18.0 - height;
                if part > 0.0 {
                    write!(
                        f,
                        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{step:.2}\" \
                         height=\"{height:.1}\"/>"
                    )?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Gantt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows.len() as f64 * ROW;
        begin(f, rows + AXIS, "attempts over time")?;
        self.draw_rows(f)?;
        draw_axis(f, self.timeline, rows)?;
        match self.in_shares() {
            true => self.draw_shares(f)?,
            false => self.draw_bars(f)?,
        }
        f.write_str("</g></svg>\n")
    }
}

/// How many slots were busy.
pub(super) struct Utilisation<'a>(pub(super) &'a Timeline);

impl Utilisation<'_> {
    /// On average, in the time of each point.
    fn busy(&self) -> Vec<f64> {
        let mut busy = vec![0.0; POINTS];
        for attempt in &self.0.attempts {
            self.0.spread(attempt, &mut busy);
        }
        busy
    }

    /// Over the whole time, as a share of what the slots could have done.
    pub(super) fn mean(&self) -> f64 {
        let slots = self.0.slots().len().max(1) as f64;
        self.busy().iter().sum::<f64>() / POINTS as f64 / slots
    }
}

impl fmt::Display for Utilisation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slots = self.0.slots().len().max(1);
        begin(f, CURVE + AXIS + 8.0, "busy slots over time")?;
        let height = |busy: f64| 8.0 + CURVE * (1.0 - (busy / slots as f64).min(1.0));
        for (slots, y) in [(slots, height(slots as f64)), (0, height(0.0))] {
            write!(
                f,
                "<line class=\"rule\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\"/>\
                 <text class=\"faint\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{slots} busy</text>",
                LEFT + WIDTH,
                LEFT - 8.0,
                y + 4.0
            )?;
        }
        draw_axis(f, self.0, CURVE + 8.0)?;
        let step = WIDTH / POINTS as f64;
        let mut line = String::new();
        for (at, &busy) in self.busy().iter().enumerate() {
            let (from, to, y) = (
                LEFT + step * at as f64,
                LEFT + step * (at + 1) as f64,
                height(busy),
            );
            line += &format!("L{from:.1} {y:.1}L{to:.1} {y:.1}");
        }
        let (start, bottom, end) = (LEFT, height(0.0), LEFT + WIDTH);
        write!(
            f,
            "<path class=\"area\" d=\"M{start} {bottom}{line}L{end} {bottom}Z\"/>\
             <path class=\"curve\" d=\"M{}\"/>",
            &line[1..]
        )?;
        f.write_str("</g></svg>\n")
    }
}

impl Timeline {
    /// Every slot that was used, in order.
    pub(super) fn slots(&self) -> Vec<(NodeId, u32)> {
        let mut slots: Vec<_> = self
            .attempts
            .iter()
            .map(|attempt| (attempt.node, attempt.slot))
            .collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// Adds an attempt to shares of the whole time: to each, how much of it the attempt took.
    fn spread(&self, attempt: &AttemptTimes, shares: &mut [f64]) {
        let all = shares.len() as f64;
        let from = self.fraction(attempt.started) * all;
        let to = self.fraction(self.end_of(attempt)) * all;
        let last = (to as usize).min(shares.len() - 1);
        for (share, part) in shares
            .iter_mut()
            .enumerate()
            .take(last + 1)
            .skip(from as usize)
        {
            let share = share as f64;
            *part += (to.min(share + 1.0) - from.max(share)).max(0.0);
        }
    }
}

fn begin(f: &mut fmt::Formatter<'_>, height: f64, title: &str) -> fmt::Result {
    let width = LEFT + WIDTH + 20.0;
    write!(
        f,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {:.0}\" width=\"{width}\" \
         height=\"{0:.0}\" role=\"img\"><title>{title}</title><style>{STYLE}</style>\
         <g transform=\"translate(0 8)\">",
        height + 16.0
    )
}

/// Lines and times, under what is drawn next.
fn draw_axis(f: &mut fmt::Formatter<'_>, timeline: &Timeline, y: f64) -> fmt::Result {
    let (span, text) = (timeline.span(), y + 18.0);
    for tenth in (0..=10).step_by(2) {
        let x = LEFT + WIDTH * f64::from(tenth) / 10.0;
        let time = match tenth {
            0 => "0".to_owned(),
            _ => Short(span * tenth / 10).to_string(),
        };
        write!(
            f,
            "<line class=\"rule\" x1=\"{x}\" x2=\"{x}\" y1=\"0\" y2=\"{}\"/>\
             <text class=\"faint\" x=\"{x}\" y=\"{text}\" text-anchor=\"middle\">{time}</text>",
            y + 4.0
        )?;
    }
    Ok(())
}

fn label(timeline: &Timeline, slots: &[(NodeId, u32)]) -> String {
    let [(node, slot), rest @ ..] = slots else {
        return String::new();
    };
    let node_label = timeline.node_label(*node);
    match rest.last() {
        None => format!("{node_label}, slot {slot}"),
        Some((last, to)) if last == node => format!("{node_label}, slots {slot}–{to}"),
        Some((last, _)) => format!("{node} to {last}"),
    }
}

/// What stands beside a bar when it is pointed at.
fn in_words(timeline: &Timeline, attempt: &AttemptTimes, label: &str) -> String {
    let took = Short(timeline.length_of(attempt));
    let number = attempt.attempt;
    let mut words = format!(
        "{label}, attempt {number}: {} after {took}",
        attempt.outcome
    );
    if let Some(wait) = attempt.wait() {
        words += &format!(", waited {}", Short(wait));
    }
    if let Some(reason) = &attempt.reason {
        words += &format!("; {}", Clipped(reason, 200));
    }
    words
}
