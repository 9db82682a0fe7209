//! A timeline as a page by itself.

use super::chart::{Gantt, Utilisation};
use super::{AttemptTimes, Timeline};
use crate::observe::drawing::{Clipped, Escaped, STYLE, Svg};
use crate::observe::progress::{Short, troubles};
use std::cmp::Reverse;
use std::fmt;

const SLOWEST: usize = 20;
const PAGE_STYLE: &str = include_str!("page.css");
/// Whatever the page may hold, nothing in it is run, and nothing is loaded.
const RULES: &str = "default-src 'none'; style-src 'unsafe-inline'";

pub(super) struct Page<'a>(pub(super) &'a Timeline);

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = Escaped(self.0.run.job());
        write!(
            f,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{RULES}\">\
             <meta name=\"viewport\" content=\"width=device-width\">\
             <meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title>\
             <style>{STYLE}{PAGE_STYLE}</style></head><body>\n"
        )?;
        self.write_head(f)?;
        self.write_failures(f)?;
        self.write_gantt(f)?;
        self.write_utilisation(f)?;
        self.write_graph(f)?;
        self.write_slowest(f)?;
        f.write_str("</body></html>\n")
    }
}

impl Page<'_> {
    fn write_head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Timeline { run, summary, .. } = self.0;
        let (took, outcome) = (Short(self.0.span()), summary.outcome());
        writeln!(
            f,
            "<h1>{}</h1><p>{outcome} after {took}</p>",
            Escaped(run.job())
        )?;
        let tasks = &summary.progress.tasks;
        f.write_str("<ul class=\"tiles\">")?;
        tile(f, tasks.total, "tasks")?;
        tile(f, tasks.succeeded, "succeeded")?;
        troubles(tasks).try_for_each(|(count, what)| tile(f, count, what))?;
        tile(f, self.0.attempts.len() as u64 + self.0.omitted, "attempts")?;
        let busy = Utilisation(self.0).mean() * 100.0;
        tile(f, format_args!("{busy:.0} %"), "of the slots' time used")?;
        f.write_str("</ul>\n")?;
        if self.0.lost > 0 || self.0.omitted > 0 {
            let Timeline { lost, omitted, .. } = self.0;
            writeln!(
                f,
                "<p>Missing: what {lost} lost events told, and {omitted} attempts.</p>"
            )?;
        }
        Ok(())
    }

    fn write_failures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = &self.0.summary;
        if summary.failures.is_empty() {
            return Ok(());
        }
        f.write_str("<h2>First failures</h2><table><tr><th>Task</th><th>Cause</th></tr>")?;
        for error in &summary.failures {
            let task = Escaped(Clipped(error.task().unwrap_or("?"), 100));
            let reason = error.reason();
            write!(
                f,
                "<tr><td>{task}</td><td>{}</td></tr>",
                Escaped(Clipped(reason, 500))
            )?;
        }
        writeln!(f, "</table>")
    }

    fn write_gantt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gantt = Gantt::new(self.0);
        f.write_str("<h2>Attempts</h2>")?;
        write_note(f, gantt.note())?;
        let outcomes = ["succeeded", "failed", "cancelled", "returned", "running"];
        write_key(f, &outcomes)?;
        writeln!(f, "<div class=\"wide\">{gantt}</div>")
    }

    fn write_utilisation(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chart = Utilisation(self.0);
        writeln!(f, "<h2>Utilisation</h2><div class=\"wide\">{chart}</div>")
    }

    fn write_slowest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "<h2>Slowest attempts</h2><table><tr><th>Task</th><th class=\"number\">Attempt</th>\
             <th>Where</th><th class=\"number\">Waited</th><th class=\"number\">Took</th>\
             <th>Outcome</th></tr>",
        )?;
        for attempt in self.0.slowest(SLOWEST) {
            let wait = attempt
                .wait()
                .map_or("–".to_owned(), |wait| Short(wait).to_string());
            let took = Short(self.0.length_of(attempt));
            let label = self.0.run.task_label(attempt.task);
            let (number, outcome) = (attempt.attempt, attempt.outcome);
            write!(
                f,
                "<tr><td>{}</td><td class=\"number\">{number}</td><td>{}, slot {}</td>\
                 <td class=\"number\">{wait}</td><td class=\"number\">{took}</td>\
                 <td>{outcome}</td></tr>",
                Escaped(Clipped(label, 100)),
                Escaped(Clipped(self.0.node_label(attempt.node), 60)),
                attempt.slot
            )?;
        }
        writeln!(f, "</table>")
    }

    fn write_graph(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sheet = self.0.drawing.sheet();
        f.write_str("<h2>Graph</h2>")?;
        write_note(f, sheet.note.clone())?;
        write_key(
            f,
            &[
                "succeeded",
                "failed",
                "skipped",
                "cancelled",
                "running",
                "waiting",
            ],
        )?;
        writeln!(f, "<div class=\"wide\">{}</div>", Svg(sheet))
    }
}

impl Timeline {
    /// Those that took longest, the longest first.
    fn slowest(&self, most: usize) -> Vec<&AttemptTimes> {
        let took = |attempt: &&AttemptTimes| Reverse(self.length_of(attempt));
        let mut attempts: Vec<_> = self.attempts.iter().collect();
        attempts.sort_by_key(took);
        attempts.truncate(most);
        attempts
    }
}

fn tile(f: &mut fmt::Formatter<'_>, value: impl fmt::Display, what: &str) -> fmt::Result {
    write!(f, "<li><b>{value}</b><span>{what}</span></li>")
}

fn write_note(f: &mut fmt::Formatter<'_>, note: Option<String>) -> fmt::Result {
    note.into_iter()
        .try_for_each(|note| write!(f, "<p>{}.</p>", Escaped(note)))
}

fn write_key(f: &mut fmt::Formatter<'_>, states: &[&str]) -> fmt::Result {
    f.write_str("<div class=\"key\">")?;
    for state in states {
        let sample = format!("<svg><rect class=\"{state}\" width=\"11\" height=\"11\"/></svg>");
        write!(f, "<span>{sample}{state}</span>")?;
    }
    f.write_str("</div>")
}
