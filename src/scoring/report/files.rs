//! The report as files, in the layout that users of Azure ML know.

use super::{MiniBatchReport, Report};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Writes `job_result.txt`, `user/error.txt` and `sys/job_report/*.csv` into the folder of the logs.
pub(in crate::scoring) fn write(report: &Report, logs: &Path, verdict: &str) -> io::Result<()> {
    let tables = logs.join("sys/job_report");
    fs::create_dir_all(&tables)?;
    fs::create_dir_all(logs.join("user"))?;
    fs::write(
        logs.join("job_result.txt"),
        format!("{verdict}\n{report}\n"),
    )?;
    fs::write(logs.join("user/error.txt"), errors(report))?;
    mini_batches(report, &tables.join("processed_mini-batches.csv"))?;
    summary(
        report,
        "Process",
        &tables.join("process_summary.csv"),
        |batch| batch.worker.to_string(),
    )?;
    summary(report, "Node", &tables.join("node_summary.csv"), |_| {
        "0".into()
    })
}

fn errors(report: &Report) -> String {
    let failures = report
        .failures()
        .filter_map(|batch| Some((batch.index, batch.failure.as_ref()?)));
    failures
        .map(|(index, failure)| {
            format!(
                "mini-batch {index}: {} ({})\n{}\n\n",
                failure.category, failure.origin, failure.message
            )
        })
        .collect()
}

fn mini_batches(report: &Report, path: &Path) -> io::Result<()> {
    let mut writer = csv::Writer::from_path(path)?;
    writer.write_record([
        "Mini-batch Id",
        "Picked Count",
        "Process",
        "Start Time",
        "Total",
        "Succeeded",
        "Failed",
        "Elapsed Seconds",
        "Process Seconds",
        "Run Method Seconds",
        "Status",
        "Error Category",
        "Error Message",
        "Detail",
    ])?;
    for batch in &report.table {
        writer.write_record(row(batch))?;
    }
    writer.flush()
}

fn row(batch: &MiniBatchReport) -> [String; 14] {
    let succeeded = batch.rows.min(batch.items);
    let failure = batch.failure.as_ref();
    let category = failure.map(|failure| failure.category.to_string());
    let message = failure.map(|failure| {
        failure
            .message
            .lines()
            .last()
            .unwrap_or_default()
            .to_owned()
    });
    [
        batch.index.to_string(),
        batch.picked.to_string(),
        batch.worker.to_string(),
        seconds(batch.started),
        batch.items.to_string(),
        succeeded.to_string(),
        (batch.items - succeeded).to_string(),
        seconds(batch.elapsed),
        seconds(batch.process_time),
        seconds(batch.run_time),
        category.clone().unwrap_or_else(|| "RUN_DONE".into()),
        category.unwrap_or_default(),
        message.unwrap_or_default(),
        failure
            .map(|failure| failure.origin.clone())
            .unwrap_or_default(),
    ]
}

/// The mini-batches by who processed them.
fn summary(
    report: &Report,
    title: &str,
    path: &Path,
    of: impl Fn(&MiniBatchReport) -> String,
) -> io::Result<()> {
    let mut groups: BTreeMap<String, (u64, u64, u64, Duration)> = BTreeMap::new();
    for batch in &report.table {
        let (batches, succeeded, failed, time) = groups.entry(of(batch)).or_default();
        let rows = batch.rows.min(batch.items);
        *batches += 1;
        *succeeded += rows;
        *failed += batch.items - rows;
        *time += batch.run_time;
    }
    let mut writer = csv::Writer::from_path(path)?;
    writer.write_record([
        title,
        "Mini-batches",
        "Succeeded",
        "Failed",
        "Run Method Seconds",
    ])?;
    for (name, (batches, succeeded, failed, time)) in groups {
        let row = [
            name,
            batches.to_string(),
            succeeded.to_string(),
            failed.to_string(),
            seconds(time),
        ];
        writer.write_record(row)?;
    }
    writer.flush()
}

fn seconds(time: Duration) -> String {
    format!("{:.6}", time.as_secs_f64())
}
