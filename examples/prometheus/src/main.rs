//! Serves a pool's metrics to Prometheus.
//!
//!     cargo run -p batchyard-prometheus                         # runs a job, asks itself once, and ends
//!     cargo run -p batchyard-prometheus -- 127.0.0.1:9184       # goes on, and answers whoever asks there
//!     curl http://127.0.0.1:9184/metrics
//!
//! Names and labels are in `docs/observability.md`.

use batchyard::{BoxError, Job, Pool, TaskSettings, ThreadExecutor, fallible};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::sleep;
use std::time::Duration;

fn main() -> Result<(), BoxError> {
    let given = std::env::args().nth(1);
    let listener = TcpListener::bind(given.as_deref().unwrap_or("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    println!("http://{address}/metrics");
    serve(listener, PrometheusBuilder::new().install_recorder()?);

    let pool = Pool::new(ThreadExecutor::all_cores()?);
    pool.record_metrics()?;
    work(&pool)?;
    match given {
        None => println!("{}", once_counted(address)?),
        Some(_) => loop {
            sleep(Duration::from_secs(1));
            work(&pool)?;
        },
    }
    Ok(())
}

fn work(pool: &Pool) -> Result<(), BoxError> {
    if let Err(error) = pool.submit(job())?.wait() {
        println!("{error}");
    }
    Ok(())
}

/// Answers from a thread of its own.
fn serve(listener: TcpListener, handle: PrometheusHandle) {
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Whoever asked may have gone.
            let _ = answer(stream, &handle);
        }
    });
}

/// Asks until the end of the run is counted, which is a few milliseconds after the end.
fn once_counted(address: SocketAddr) -> std::io::Result<String> {
    loop {
        let text = ask(address)?;
        if text.contains("\nbatchyard_runs_total{") {
            return Ok(text);
        }
        sleep(Duration::from_millis(5));
    }
}

/// Asks as Prometheus does.
fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut client = TcpStream::connect(address)?;
    client.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    let mut text = String::new();
    client.read_to_string(&mut text)?;
    Ok(text
        .split_once("\r\n\r\n")
        .map_or(String::new(), |(_, body)| body.to_owned()))
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
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        serve(listener, PrometheusBuilder::new().install_recorder()?);
        let pool = Pool::new(ThreadExecutor::new(2)?);
        pool.record_metrics()?;
        let counts = pool.submit(job())?.wait();
        assert!(counts.is_err(), "some of it fails");

        let text = once_counted(address)?;
        let scrape = Scrape::parse(text.lines().map(|line| Ok(line.to_owned())))?;
        assert_eq!(value(&scrape, "batchyard_runs_total", "failed"), Some(1.0));
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
