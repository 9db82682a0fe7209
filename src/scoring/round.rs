//! One run of a `ParallelRun`: what its tasks share, and what each of them does.

use super::fault::{Category, Fault, ScoringError};
use super::input::{Cut, Input, Plan, Source};
use super::ledger::{Ledger, output_error};
use super::mini_batch::MiniBatch;
use super::output::{Encoder, Scored, Sink};
use super::report::{self, Failure, MiniBatchReport, Report, Tally};
use super::scorer::{AnyScorer, Stop};
use super::settings::{LOSSES, Settings};
use super::staff::{Member, Staff};
use crate::model::{BoxError, Error, ErrorKind};
use crate::sync::lock;
use crate::work::Context;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the tasks of one run share: the output of its first task, which all others read.
///
/// An element of the array is a *permission* to score one mini-batch: its first attempt takes the next one from the source,
/// later attempts get the same again. So nobody has to know beforehand what the mini-batches are.
pub(super) struct Round {
    settings: Arc<Settings>,
    plan: Plan,
    encoder: Encoder,
    begun: Instant,
    logs: Option<PathBuf>,
    workers: u32,
    source: Mutex<Source>,
    flights: Mutex<HashMap<usize, Flight>>,
    staff: Staff,
    ledger: Mutex<Ledger>,
    ended: AtomicBool,
}

/// A mini-batch that was taken from the source and has no final outcome.
struct Flight {
    cut: Cut,
    /// The attempt of the element that has it now: what an earlier one returns is thrown away.
    attempt: u32,
    /// The last attempt that told how it went. The engine has ended the others.
    heard: u32,
    /// How many attempts have had it.
    picked: u32,
    /// How many tries it has used up, and how many workers died of it.
    tries: u32,
    losses: u32,
}

impl Round {
    pub(super) fn begin(
        scorer: &AnyScorer,
        input: &Input,
        settings: &Arc<Settings>,
        workers: u32,
    ) -> Result<Self, BoxError> {
        let plan = Plan::new(input, settings)?;
        let encoder = Encoder::new(settings.append.as_ref());
        let sink = settings
            .append
            .as_ref()
            .map(|append| Sink::begin(append).map_err(|cause| output_error(&append.path, &cause)));
        let logs = logs(settings, scorer)?;
        let staff = Staff::new(
            scorer.clone(),
            settings.clone(),
            encoder.clone(),
            logs.clone().unwrap_or_default(),
            workers,
        );
        Ok(Round {
            source: Mutex::new(plan.source()),
            flights: Mutex::default(),
            ledger: Mutex::new(Ledger::new(settings.thresholds, sink.transpose()?)),
            ended: AtomicBool::new(false),
            begun: Instant::now(),
            settings: settings.clone(),
            plan,
            encoder,
            logs,
            workers,
            staff,
        })
    }

    /// Makes a worker before anything is scored, so that its `init` is not a mini-batch's time.
    pub(super) fn hire(&self, cx: &Context) {
        match self.staff.hire(&|| self.is_over(cx)) {
            Ok(Some(member)) => self.staff.give_back(member),
            Ok(None) => {}
            Err(error) => self.end(error),
        }
    }

    /// Scores the next mini-batch, or the one that an earlier attempt of this element had. An error is worth another attempt;
    /// a mini-batch that has failed for good is entered in the ledger, and no error.
    pub(super) fn score(&self, cx: &Context, element: usize) -> Result<(), BoxError> {
        let stop = || self.is_over(cx);
        if stop() {
            return Ok(());
        }
        let Some((cut, picked)) = self.board(element, cx.attempt()) else {
            return Ok(());
        };
        let member = self.staff.take(&stop).unwrap_or_else(|error| {
            self.end(error);
            None
        });
        let Some(mut member) = member else {
            return Ok(());
        };
        let started = self.begun.elapsed();
        let outcome = self.call(&mut member, &cut, picked, &stop);
        let mut entry = MiniBatchReport {
            index: cut.index,
            items: cut.items,
            rows: 0,
            picked,
            worker: member.number,
            started,
            elapsed: self.begun.elapsed().saturating_sub(started),
            run_time: Duration::ZERO,
            process_time: Duration::ZERO,
            failure: None,
        };
        if let Ok(scored) = &outcome {
            (entry.rows, entry.run_time, entry.process_time) =
                (scored.rows, scored.run_time, scored.process_time);
        }
        match &outcome {
            Err(fault) if fault.worker_lost => self.staff.dismiss(member),
            Ok(scored) if scored.worn => self.staff.retire(member),
            _ => self.staff.give_back(member),
        }
        self.land(element, cx.attempt(), entry, outcome)
    }

    /// The element's mini-batch. `None` when there is none left, or its last try was ended by the engine.
    fn board(&self, element: usize, attempt: u32) -> Option<(Cut, u32)> {
        let mut flights = lock(&self.flights);
        let Some(flight) = flights.get_mut(&element) else {
            drop(flights);
            return self.board_next(element, attempt);
        };
        if flight.attempt != flight.heard {
            flight.tries += 1;
        }
        if flight.tries < self.settings.tries {
            flight.attempt = attempt;
            flight.picked += 1;
            return Some((flight.cut.clone(), flight.picked));
        }
        let flight = flights.remove(&element)?;
        drop(flights);
        self.time_out(&flight);
        None
    }

    fn board_next(&self, element: usize, attempt: u32) -> Option<(Cut, u32)> {
        let next = lock(&self.source).next();
        let cut = next.unwrap_or_else(|error| {
            self.end(error);
            None
        })?;
        let flight = Flight {
            cut: cut.clone(),
            attempt,
            heard: 0,
            picked: 1,
            tries: 0,
            losses: 0,
        };
        lock(&self.flights).insert(element, flight);
        Some((cut, 1))
    }

    fn call(
        &self,
        member: &mut Member,
        cut: &Cut,
        attempt: u32,
        stop: Stop<'_>,
    ) -> Result<Scored, Fault> {
        let header = lock(&self.source).header();
        let (items, partition) = cut
            .load(&self.plan, header)
            .map_err(|error| Fault::new(Category::LoadException, error))?;
        let batch = MiniBatch {
            index: cut.index,
            attempt,
            partition,
            items,
        };
        let scored = member.hand.score(&batch, &self.encoder, stop)?;
        lock(&self.ledger).admit(&scored)?;
        Ok(scored)
    }

    /// Enters the outcome of an attempt, unless another has taken its place.
    fn land(
        &self,
        element: usize,
        attempt: u32,
        entry: MiniBatchReport,
        outcome: Result<Scored, Fault>,
    ) -> Result<(), BoxError> {
        let mut flights = lock(&self.flights);
        let Some(flight) = flights
            .get_mut(&element)
            .filter(|flight| flight.attempt == attempt)
        else {
            return Ok(());
        };
        flight.heard = attempt;
        let fault = match outcome {
            Ok(scored) => {
                flights.remove(&element);
                drop(flights);
                return self.close(|ledger| ledger.succeed(entry, scored));
            }
            Err(fault) => fault,
        };
        if !flight.is_final(&fault, &self.settings) {
            return Err(fault.error);
        }
        let cut = flight.cut.clone();
        flights.remove(&element);
        drop(flights);
        let failure = self.failure(&cut, &fault);
        self.close(|ledger| ledger.fail(entry, failure))
    }

    /// The engine ended the last try, whose call goes on by itself.
    fn time_out(&self, flight: &Flight) {
        let limit = self.settings.call_timeout;
        let failure = self.failure(&flight.cut, &Fault::timed_out(limit));
        let entry = MiniBatchReport {
            index: flight.cut.index,
            items: flight.cut.items,
            rows: 0,
            picked: flight.picked,
            worker: u32::MAX,
            started: self.begun.elapsed().saturating_sub(limit),
            elapsed: limit,
            run_time: limit,
            process_time: Duration::ZERO,
            failure: None,
        };
        let _ = self.close(|ledger| ledger.fail(entry, failure));
    }

    fn failure(&self, cut: &Cut, fault: &Fault) -> Failure {
        Failure {
            category: fault.category,
            message: fault.error.to_string(),
            origin: cut.origin(&self.plan),
        }
    }

    fn close(&self, enter: impl FnOnce(&mut Ledger) -> bool) -> Result<(), BoxError> {
        if enter(&mut lock(&self.ledger)) {
            self.ended.store(true, Ordering::Release);
        }
        Ok(())
    }

    fn end(&self, reason: ScoringError) {
        lock(&self.ledger).end(reason);
        self.ended.store(true, Ordering::Release);
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    fn is_over(&self, cx: &Context) -> bool {
        self.has_ended() || cx.is_cancelled()
    }

    /// Everything is scored: sends the workers home, gives the output its name, and reports.
    pub(super) fn finish(&self) -> Result<Report, BoxError> {
        if !self.has_ended() && matches!(lock(&self.source).next(), Ok(Some(_))) {
            let grown = "the input has grown, or has more mini-batches than was said, and the rest was not scored; score what does not change, or raise `at_most`";
            self.end(ScoringError::Input(grown.into()));
        }
        let wall = self.begun.elapsed();
        let warnings = self.staff.send_home();
        let mut report = self.blank(wall);
        let mut ledger = lock(&self.ledger);
        warnings
            .into_iter()
            .for_each(|warning| ledger.warn(warning));
        let verdict = ledger.close(&mut report);
        drop(ledger);
        let told = verdict
            .as_ref()
            .map_or_else(ToString::to_string, |()| "succeeded".into());
        if let Some(logs) = &self.logs {
            report::write(&report, logs, &told)?;
        }
        verdict?;
        Ok(report)
    }

    fn blank(&self, wall: Duration) -> Report {
        Report {
            items: Tally::default(),
            mini_batches: Tally::default(),
            rows: 0,
            reruns: 0,
            workers: self.workers,
            wall,
            table: Vec::new(),
            output: None,
            logs: self.logs.clone(),
            left_out: lock(&self.source).left_out.clone(),
            warnings: Vec::new(),
        }
    }
}

impl Flight {
    /// Whether a fault was the last that the mini-batch may have. A worker that died of a signal uses no try: it may have
    /// been killed for no fault of the mini-batch's; but not more than a few.
    fn is_final(&mut self, fault: &Fault, settings: &Settings) -> bool {
        match fault.category {
            Category::Crashed => self.losses += 1,
            _ => self.tries += 1,
        }
        fault.is_permanent() || self.tries >= settings.tries || self.losses >= LOSSES
    }
}

/// The folder of the logs. If none was named, processes need one all the same, for what they print.
fn logs(settings: &Settings, scorer: &AnyScorer) -> Result<Option<PathBuf>, Error> {
    let made = match &settings.logs {
        Some(path) => std::fs::create_dir_all(path).map(|()| path.clone()),
        None if !scorer.0.has_processes() => return Ok(None),
        None => tempfile::Builder::new()
            .prefix("batchyard-scoring-")
            .tempdir()
            .map(tempfile::TempDir::keep),
    };
    let made = made.and_then(std::path::absolute).map_err(|cause| {
        let message = "can't make the folder of the logs; name one with `logs`";
        Error::new(ErrorKind::InvalidSetting, message).caused_by(cause)
    })?;
    Ok(Some(made))
}
