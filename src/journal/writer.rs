//! Writes down what happens in a run: a thread that looks at it now and then, writes what it finds as one group, and lets
//! those know who wait for it to be written.

use super::fault::Place;
use super::files::Files;
use super::record::{Bytes, End, Ended, Finished, Record, TaskRecord, write};
use super::spans::Spans;
use super::state::State;
use super::told::now;
use super::{Pace, Store};
use crate::engine::{Durable, Found, Report, Run, Survey, Written};
use crate::model::{Error, ErrorKind, Panic, TaskId, TaskState};
use crate::work::CodecError;
use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// A group is not much longer. Longer outputs have groups of their own.
const GROUP: usize = 4 << 20;

/// How often a run is looked at whose every completion is to be written.
const OFTEN: Duration = Duration::from_millis(1);

/// Of the time, at most this part is spent with looking.
const SHARE: u32 = 8;

/// A journal is made shorter when it has more than twice what matters, and this.
const SLACK: u64 = 1 << 20;

/// What the writer of a run's journal needs.
pub(super) struct Writer {
    run: Weak<Run>,
    durable: Arc<Durable>,
    store: Box<dyn Store>,
    place: Place,
    /// Where commands' files are kept, if the journal is a file.
    files: Option<Files>,
    pace: Pace,
    survey: Survey,
    /// Attempts that were written down as running.
    running: HashMap<TaskId, u32>,
    /// The run's end has been written.
    finished: bool,
    /// How large the store was when it held nothing but what matters.
    compact: u64,
}

impl Writer {
    pub(super) fn new(
        run: &Arc<Run>,
        durable: Arc<Durable>,
        (store, place, files): (Box<dyn Store>, Place, Option<Files>),
        pace: Pace,
        survey: Survey,
    ) -> Self {
        Writer {
            run: Arc::downgrade(run),
            durable,
            compact: store.size(),
            store,
            place,
            files,
            pace,
            survey,
            running: HashMap::new(),
            finished: false,
        }
    }

    /// Goes on until nobody has the run any more, or something can't be written.
    pub(super) fn start(mut self) -> std::io::Result<()> {
        let durable = self.durable.clone();
        let write = move || {
            let durable = self.durable.clone();
            let panicked = catch_unwind(AssertUnwindSafe(|| self.write_all()));
            if let Err(panic) = panicked {
                self.fail(self.place.error(Panic::from_payload(panic)));
            }
            // Whoever waits for the writer may open the journal then.
            drop(self);
            durable.close();
        };
        let thread = std::thread::Builder::new().name("batchyard-journal".into());
        thread
            .spawn(write)
            .map(drop)
            .inspect_err(|_| durable.close())
    }

    fn write_all(&mut self) {
        let mut rest = Duration::ZERO;
        loop {
            let (asked, left) = self.durable.wait(self.patience(rest));
            let Some(run) = self.run.upgrade() else {
                return;
            };
            let begun = Instant::now();
            let (ended, looked) = (run.has_ended(), run.now());
            if let Err(error) = self.write_new(&run, ended) {
                return self.stop(&run, error);
            }
            // What happens later is told when it is written.
            run.tell_events((!self.finished).then_some(looked));
            self.durable.answer(asked);
            if ended && left {
                return run.tell_events(None);
            }
            rest = begun.elapsed() * SHARE;
        }
    }

    /// How long to wait for a call.
    fn patience(&self, rest: Duration) -> Option<Duration> {
        let pace = match self.pace {
            Pace::EveryCompletion => OFTEN.max(rest.min(Duration::from_millis(50))),
            Pace::Behind(most) => most,
        };
        (!self.finished).then_some(pace)
    }

    /// Writes what has happened since. `ended` was asked before anything else is looked at.
    fn write_new(&mut self, run: &Arc<Run>, ended: bool) -> Result<(), Error> {
        let again = run.take_again();
        if !again.is_empty() && self.finished {
            self.finished = false;
            self.durable.set_end(false);
            self.append(&[Record::GoesOn])?;
        }
        self.forget(&again)?;
        let found = self.survey.look(run, &self.durable.written());
        let report = run.report();
        // Tasks were cancelled with the pool, not by anybody who meant them.
        let stopped = report.stopped.as_ref().map(Error::kind);
        let closing = stopped.is_some_and(ErrorKind::ends_no_durable_run);
        let mut records = self.of_report(&report);
        self.checkpoints(run, &mut records);
        self.write_found(run, &found, closing, records)?;
        if !closing && ended && !self.finished {
            self.finish(run, &report)?;
        }
        if self.store.size() > 2 * self.compact + SLACK {
            self.compact()?;
        }
        Ok(())
    }

    /// Tasks that are to run again.
    fn forget(&mut self, again: &[TaskId]) -> Result<(), Error> {
        if again.is_empty() {
            return Ok(());
        }
        let ranges: Vec<_> = again.iter().map(|task| task.0..task.0 + 1).collect();
        self.append(&[Record::Again(Spans::new(&ranges))])
    }

    fn of_report(&mut self, report: &Report) -> Vec<Record> {
        let now = now();
        let tasks = report.tasks.iter();
        let record = |known| Box::new(TaskRecord::of(known, now));
        let mut records: Vec<_> = tasks
            .map(|(task, known)| Record::Task(task.0, record(known)))
            .collect();
        let new = report.running.iter().copied();
        let known = &self.running;
        let new = new.filter(|(task, attempt)| known.get(task) != Some(attempt));
        let new: Vec<_> = new.map(|(task, attempt)| (task.0, attempt)).collect();
        if !new.is_empty() {
            records.push(Record::Running(new));
        }
        self.running = report.running.iter().copied().collect();
        records
    }

    fn checkpoints(&self, run: &Run, records: &mut Vec<Record>) {
        let mut checkpoints = run.checkpoints();
        for task in std::mem::take(&mut checkpoints.new) {
            if run.ended_state(task).is_none() {
                let last = checkpoints.last.get(&task).cloned();
                let bytes = Bytes(last.unwrap_or_default());
                records.push(Record::Checkpoint(task.0, bytes));
            }
        }
    }

    /// Writes ends, in groups that are closed since the ends are in order, and lets go of the outputs.
    fn write_found(
        &mut self,
        run: &Run,
        found: &Found,
        closing: bool,
        first: Vec<Record>,
    ) -> Result<(), Error> {
        let mut group = Group::new(first);
        for (ids, state) in &found.spans {
            if closing && matches!(state, TaskState::Cancelled | TaskState::Skipped) {
                continue;
            }
            match state {
                TaskState::Succeeded => self.write_succeeded(run, ids, &mut group)?,
                other => group.end(ids.clone(), End::of(*other), &[]),
            }
        }
        self.flush(&mut group)?;
        if !found.is_empty() {
            found.enter(&mut self.durable.written());
            self.durable.announce();
        }
        Ok(())
    }

    fn write_succeeded(
        &mut self,
        run: &Run,
        ids: &Range<u32>,
        group: &mut Group,
    ) -> Result<(), Error> {
        let mut bytes = Vec::new();
        for id in ids.clone() {
            let Some((node, index)) = run.job().locate(TaskId(id)) else {
                continue;
            };
            bytes.clear();
            let end = self.encode(run, node, index, &mut bytes);
            group.end(id..id + 1, end, &bytes);
            if group.is_full() {
                self.flush(group)?;
            }
        }
        Ok(())
    }

    /// Adds the bytes of an output, if it can be written down.
    fn encode(&mut self, run: &Run, node: u32, index: u32, to: &mut Vec<u8>) -> End {
        let encoded = encode(run, node, index, to).is_ok();
        let files = self.files.as_mut();
        let files = files.filter(|_| run.job().units[node as usize].kind().command);
        let kept = match files.filter(|_| encoded) {
            None => encoded,
            Some(files) => files.keep(to).map(|bytes| *to = bytes).is_ok(),
        };
        match kept {
            true => End::Succeeded,
            false => {
                to.clear();
                End::SucceededUnkept
            }
        }
    }

    fn flush(&mut self, group: &mut Group) -> Result<(), Error> {
        let records = group.take();
        match records.is_empty() {
            true => Ok(()),
            false => self.append(&records),
        }
    }

    fn finish(&mut self, run: &Run, report: &Report) -> Result<(), Error> {
        let stopped = report.stopped.as_ref();
        let finished = Finished {
            at: now(),
            stopped: stopped.map(super::record::ErrorRecord::of),
            counts: run.counts_of_ended(),
        };
        self.append(&[Record::Finished(Box::new(finished))])?;
        self.finished = true;
        self.durable.set_end(true);
        self.durable.announce();
        Ok(())
    }

    fn append(&mut self, records: &[Record]) -> Result<(), Error> {
        let mut group = Vec::new();
        let failed = |error: CodecError| self.place.error(error);
        for record in records {
            write(record, &mut group).map_err(failed)?;
        }
        let files = self.files.as_mut().map_or(Ok(()), Files::sync);
        files.map_err(|error| self.place.error(error))?;
        let appended = self.store.append(&group);
        appended.map_err(|error| self.place.error(error))
    }

    /// Makes the journal as short as it can be.
    fn compact(&mut self) -> Result<(), Error> {
        let failed = |place: &Place, error| place.error(error);
        let state = State::load(&mut *self.store).map_err(|error| failed(&self.place, error))?;
        if state.live() * 2 + SLACK < self.store.size() {
            let mut groups = super::snapshot::groups(&state);
            let replaced = self.store.replace(&mut groups);
            replaced.map_err(|error| failed(&self.place, error))?;
        }
        self.compact = self.store.size();
        Ok(())
    }

    fn stop(&self, run: &Run, error: Error) {
        let error = error.in_job(run.name());
        self.fail(error.clone());
        run.stop(error);
        run.tell_events(None);
    }

    fn fail(&self, error: Error) {
        self.durable.fail(error);
    }
}

/// Adds the bytes of an output that is held, and lets it go.
fn encode(run: &Run, node: u32, index: u32, to: &mut Vec<u8>) -> Result<(), CodecError> {
    let (unit, values) = (&run.job().units[node as usize], &run.flow().first.values);
    let encode = || unit.encode_output(values, index, to);
    let encoded = catch_unwind(AssertUnwindSafe(encode));
    unit.let_go(values, index);
    encoded.unwrap_or_else(|_| Err(CodecError::panicked()))
}

/// Records on their way into one group.
pub(super) struct Group {
    records: Vec<Record>,
    end: End,
    ranges: Vec<Range<u32>>,
    lengths: Vec<u32>,
    outputs: Vec<u8>,
}

impl Group {
    pub(super) fn new(records: Vec<Record>) -> Self {
        Group {
            records,
            end: End::Succeeded,
            ranges: Vec::new(),
            lengths: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// Whether it is to be written before more is added to it.
    pub(super) fn is_full(&self) -> bool {
        self.outputs.len() + 8 * self.ranges.len() > GROUP
    }

    /// Tasks have ended, each with this output.
    pub(super) fn end(&mut self, ids: Range<u32>, end: End, output: &[u8]) {
        if end != self.end {
            self.close_record();
            self.end = end;
        }
        for _ in ids.clone() {
            self.lengths.push(output.len() as u32);
            self.outputs.extend_from_slice(output);
        }
        match self.ranges.last_mut() {
            Some(last) if last.end == ids.start => last.end = ids.end,
            _ => self.ranges.push(ids),
        }
    }

    fn close_record(&mut self) {
        let ranges = std::mem::take(&mut self.ranges);
        if ranges.is_empty() {
            return;
        }
        let mut lengths = std::mem::take(&mut self.lengths);
        let first = lengths.first().copied().unwrap_or(0);
        if lengths.iter().all(|len| *len == first) {
            lengths.truncate(usize::from(first > 0));
        }
        self.records.push(Record::Ended(Ended {
            end: self.end,
            tasks: Spans::new(&ranges),
            lengths,
            outputs: Bytes(std::mem::take(&mut self.outputs)),
        }));
    }

    pub(super) fn take(&mut self) -> Vec<Record> {
        self.close_record();
        std::mem::take(&mut self.records)
    }
}

/// Everything that is written in [`Written`] is in the store.
pub(super) fn written_of(run: &Run, ended: impl Iterator<Item = Range<u32>>) -> Written {
    let mut written = Written::new(run.job());
    for ids in ended {
        ids.for_each(|id| written.set(TaskId(id), true));
    }
    written
}
