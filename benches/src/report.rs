//! A table for people, or one JSON object a line for scripts.

use crate::case::Case;
use crate::row::{Figures, Row};
use std::process::ExitCode;

/// The contender that all are compared with.
pub const LIMIT: &str = "limit";

/// How a contender is compared with the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Against {
    /// As a multiple of the limit's time.
    Times,
    /// As the part of the limit's speed that is reached: the limit is the ideal.
    Efficiency,
}

/// Prints shapes as they are done.
#[derive(Debug)]
pub struct Report {
    json: bool,
    against: Against,
    notes: Vec<String>,
    begun: bool,
    failed: bool,
}

impl Report {
    /// A report that says how many times the limit a contender takes.
    pub fn times(json: bool) -> Self {
        Self {
            json,
            against: Against::Times,
            notes: Vec::new(),
            begun: false,
            failed: false,
        }
    }

    /// A report that says which part of the ideal, the limit, a contender reaches.
    pub fn efficiency(json: bool) -> Self {
        Self {
            against: Against::Efficiency,
            ..Self::times(json)
        }
    }

    /// Prints the rows of a shape.
    pub fn shape(&mut self, bench: &str, rows: &[Row]) {
        let limit = rows.iter().find(|row| row.case.contender == LIMIT);
        let limit = limit.and_then(Row::figures);
        if !self.json {
            self.head(bench);
        }
        for row in rows {
            match row.figures() {
                Some(figures) if self.json => self.object(bench, &row.case, figures, limit),
                Some(figures) => self.line(&row.case, figures, limit),
                None => self.notes.extend(row.note()),
            }
        }
        self.failed |= rows.iter().any(Row::has_failed);
        self.note_fewer_tasks(rows);
    }

    fn note_fewer_tasks(&mut self, rows: &[Row]) {
        let most = rows.iter().map(|row| row.case.tasks).max();
        for Row { case, .. } in rows.iter().filter(|row| Some(row.case.tasks) < most) {
            let note = format!(
                "{} has fewer tasks: more would take too long",
                case.contender
            );
            self.notes.push(note);
        }
    }

    /// Prints the notes; fails if a contender did.
    pub fn finish(mut self) -> ExitCode {
        self.notes.sort();
        self.notes.dedup();
        let notes = self.notes.iter();
        if self.json {
            notes.for_each(|note| eprintln!("{note}"))
        } else {
            notes.for_each(|note| println!("{note}"))
        }
        ExitCode::from(u8::from(self.failed))
    }

    fn head(&mut self, bench: &str) {
        if std::mem::replace(&mut self.begun, true) {
            println!();
            return;
        }
        let against = if self.against == Against::Times {
            "x limit"
        } else {
            "of ideal"
        };
        println!(
            "{bench:<14} {:<14} {:>10} {:>11} {:>11} {against:>9} {:>9} {:>11} {:>9}",
            "contender", "tasks", "ns/task", "min", "by min", "build ns", "B/task"
        );
    }

    fn line(&self, case: &Case, figures: Figures, limit: Option<Figures>) {
        let Figures {
            ns,
            ns_min,
            build_ns,
            bytes,
        } = figures;
        let by_median = self.versus(limit.map(|limit| limit.ns), ns);
        let by_min = self.versus(limit.map(|limit| limit.ns_min), ns_min);
        println!(
            "{:<14} {:<14} {:>10} {ns:>11.2} {ns_min:>11.2} {by_median:>9} {by_min:>9} {build_ns:>11.1} {bytes:>9.1}",
            case.shape, case.contender, case.tasks
        );
    }

    fn versus(&self, limit: Option<f64>, ns: f64) -> String {
        match (limit, self.against) {
            (None, _) => "-".into(),
            (Some(limit), Against::Times) => format!("{:.2}x", ns / limit),
            (Some(limit), Against::Efficiency) => format!("{:.1}%", 100.0 * limit / ns),
        }
    }

    fn object(&self, bench: &str, case: &Case, figures: Figures, limit: Option<Figures>) {
        let Figures {
            ns,
            ns_min,
            build_ns,
            bytes,
        } = figures;
        let efficiency = match (limit, self.against) {
            (Some(limit), Against::Efficiency) => format!(r#","efficiency":{:.4}"#, limit.ns / ns),
            _ => String::new(),
        };
        println!(
            r#"{{"bench":"{bench}","shape":"{}","contender":"{}","tasks":{},"ns_per_task":{ns:.3},"ns_min":{ns_min:.3},"build_ns_per_task":{build_ns:.3},"bytes_per_task":{bytes:.2}{efficiency}}}"#,
            case.shape, case.contender, case.tasks
        );
    }
}
