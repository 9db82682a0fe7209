//! One line about what to change.

use super::Report;
use std::time::Duration;

/// A scorer that runs shorter than this is called too often, if calling it costs much.
const SHORT: Duration = Duration::from_millis(5);

pub(super) fn of(report: &Report) -> String {
    let batches = report.mini_batches.total;
    let Some(mean) = u32::try_from(batches)
        .ok()
        .filter(|&many| many > 0)
        .map(|many| report.scorer_time() / many)
    else {
        return "there was nothing to score".into();
    };
    let slowest = report
        .slowest()
        .first()
        .map(|batch| batch.run_time)
        .unwrap_or_default();
    let workers = u64::from(report.workers);
    if report.mini_batches.failed * 10 > batches {
        return "many mini-batches failed: read the errors before you score more".into();
    }
    if batches < workers {
        return format!(
            "{workers} workers had {batches} mini-batches between them: make these smaller, or use fewer workers"
        );
    }
    if report.overhead_share() > 0.2 && mean < SHORT {
        return format!(
            "mini-batches are too small: a call takes {mean:.1?}, and as much is lost around it; make them larger"
        );
    }
    if slowest * 4 > report.wall && report.workers > 1 && report.efficiency() < 0.9 {
        return format!(
            "the slowest mini-batch took {slowest:.1?} of {:.1?}: make mini-batches smaller, so that no worker waits for it",
            report.wall
        );
    }
    if report.efficiency() < 0.7 {
        return "workers stood idle: look at how long `init` takes, and whether reading the input keeps up".into();
    }
    "mini-batches have a good size: nothing to change".into()
}
