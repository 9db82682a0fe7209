//! Serves a pool's metrics to Prometheus.
//!
//!     cargo run -p batchyard-prometheus
//!     curl http://127.0.0.1:9184/metrics
//!
//! It runs a job again and again, and answers whoever asks. Names and labels are in `docs/observability.md`.

use batchyard::{BoxError, Job, Pool, TaskSettings, ThreadExecutor, fallible};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

fn main() -> Result<(), BoxError> {
    let handle = PrometheusBuilder::new().install_recorder()?;
    let listener = TcpListener::bind("127.0.0.1:9184")?;
    println!("http://{}/metrics", listener.local_addr()?);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Whoever asked may have gone.
            let _ = answer(stream, &handle);
        }
    });
    let pool = Pool::new(ThreadExecutor::all_cores()?);
    pool.record_metrics()?;
    loop {
        let run = pool.submit(job())?;
        if let Err(error) = run.wait() {
            println!("{error}");
        }
    }
}

/// Some work, of which now and then some fails.
fn job() -> Job {
    let mut job = Job::new("numbers");
    job.defaults(TaskSettings::new().max_retries(1));
    let squares = job.array("squares", 100, |n: &usize| n * n);
    let checked = job.each(
        "checked",
        &squares,
        fallible(|n: &usize| match n % 97 {
            1 => Err("leaves 1"),
            _ => Ok(*n),
        }),
    );
    job.reduce("sum", &checked, |all: &[usize]| all.iter().sum::<usize>());
    job
}

/// Answers one request, whatever it asks for.
fn answer(mut stream: TcpStream, handle: &PrometheusHandle) -> std::io::Result<()> {
    let request = BufReader::new(stream.try_clone()?);
    for line in request.lines() {
        if line?.is_empty() {
            break;
        }
    }
    let body = handle.render();
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_parse::{Scrape, Value};
    use std::io::Read;

    fn value(scrape: &Scrape, name: &str, outcome: &str) -> Option<f64> {
        let sample = scrape.samples.iter().find(|sample| {
            sample.metric == name
                && sample.labels.get("job") == Some("numbers")
                && sample.labels.get("outcome") == Some(outcome)
        });
        match sample?.value {
            Value::Counter(value) | Value::Gauge(value) | Value::Untyped(value) => Some(value),
            _ => None,
        }
    }

    #[test]
    fn what_is_served_is_prometheus_text_with_the_counts_of_the_run() -> Result<(), BoxError> {
        let handle = PrometheusBuilder::new().install_recorder()?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let pool = Pool::new(ThreadExecutor::new(2)?);
        pool.record_metrics()?;
        let counts = pool.submit(job())?.wait();
        assert!(counts.is_err(), "some of it fails");

        let scrape = loop {
            let mut client = TcpStream::connect(listener.local_addr()?)?;
            client.write_all(b"GET /metrics HTTP/1.1\r\n\r\n")?;
            answer(listener.accept()?.0, &handle)?;
            let mut text = String::new();
            client.read_to_string(&mut text)?;
            let (_, body) = text.split_once("\r\n\r\n").ok_or("a head and a body")?;
            let scrape = Scrape::parse(body.lines().map(|line| Ok(line.to_owned())))?;
            // The recorder hears of the end a little after it.
            if value(&scrape, "batchyard_runs_total", "failed") == Some(1.0) {
                break scrape;
            }
            std::thread::yield_now();
        };
        let tasks = |outcome| value(&scrape, "batchyard_tasks_total", outcome).unwrap_or(0.0);
        assert_eq!(tasks("succeeded") + tasks("failed"), 200.0);
        assert_eq!(tasks("skipped"), 1.0);
        assert!(tasks("failed") > 0.0);
        let attempts = value(&scrape, "batchyard_attempts_total", "failed");
        assert_eq!(
            attempts,
            Some(2.0 * tasks("failed")),
            "each was tried twice"
        );
        Ok(())
    }
}
