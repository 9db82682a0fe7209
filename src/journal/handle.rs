//! A run's journal, from its opening to the run that writes it.

use super::fault::Place;
use super::files::Files;
use super::fit::Fit;
use super::record::Record;
use super::reuse::Reuse;
use super::revive::Revival;
use super::snapshot::{self, encoded};
use super::state::State;
use super::submission::Submission;
use super::told::now;
use super::writer::{Writer, written_of};
use super::{FileStore, JournalError, Pace, Store};
use crate::engine::{self, Durable, Engine, Past, Survey};
use crate::job::FrozenJob;
use crate::model::{Error, ErrorKind, Offer, Result};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where a run is written down, so that it can go on after its program was killed: see
/// [`Pool::submit_durable`](crate::Pool::submit_durable) and the [module](crate::journal).
///
/// One journal holds one run. While it is open, nobody else can open it.
pub struct Journal {
    store: Box<dyn Store>,
    place: Place,
    state: State,
    pace: Pace,
    warnings: Vec<String>,
}

impl Journal {
    /// A new journal, for a run that begins now.
    ///
    /// # Errors
    /// [`Journal`](crate::ErrorKind::Journal), with a [`JournalError`] as its cause: [`Exists`](JournalError::Exists) if
    /// there is such a file; [`Held`](JournalError::Held) if somebody is about to make it; or why it can't be made.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let store = FileStore::create(path.clone())?;
        Self::of(Box::new(store), Place::File(path))
    }

    /// The journal of a run that is to go on. A missing one is an error, and never a fresh start.
    ///
    /// # Errors
    /// [`Journal`](crate::ErrorKind::Journal), with a [`JournalError`] as its cause.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let store = FileStore::open(path.clone())?;
        Self::of(Box::new(store), Place::File(path))
    }

    /// [Opens](Self::open) the journal if there is one, and [creates](Self::create) it if there is no such file.
    ///
    /// # Errors
    /// As those.
    pub fn open_or_create(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        match path.try_exists() {
            Ok(false) => Self::create(path),
            _ => Self::open(path),
        }
    }

    /// A new journal in a store of your own.
    ///
    /// # Errors
    /// [`Journal`](crate::ErrorKind::Journal): [`Exists`](JournalError::Exists) if it has groups already; or what the
    /// store returns.
    pub fn create_in(store: impl Store) -> Result<Self> {
        let journal = Self::of(Box::new(store), Place::Store)?;
        match journal.state.read {
            0 => Ok(journal),
            _ => Err(journal.place.error(JournalError::Exists)),
        }
    }

    /// The journal in a store of your own, of a run that is to go on.
    ///
    /// # Errors
    /// [`Journal`](crate::ErrorKind::Journal): [`Missing`](JournalError::Missing) if there are no groups; or what the store
    /// returns.
    pub fn open_in(store: impl Store) -> Result<Self> {
        let journal = Self::of(Box::new(store), Place::Store)?;
        match journal.state.read {
            0 => Err(journal.place.error(JournalError::Missing)),
            _ => Ok(journal),
        }
    }

    fn of(mut store: Box<dyn Store>, place: Place) -> Result<Self> {
        let state = State::load(&mut *store).map_err(|error| place.error(error))?;
        Ok(Journal {
            warnings: store.warnings(),
            store,
            place,
            state,
            pace: Pace::default(),
        })
    }

    /// Writes each completion as soon as it can, those together that are ready at the same time, and not only now and then.
    /// Nobody is ever told of one that is not written, either way: this is about how much may have to be done again.
    pub fn every_completion(mut self) -> Self {
        self.pace = Pace::EveryCompletion;
        self
    }

    /// Writes what has happened when somebody waits for it, and else at least that often. Default: every 50 ms.
    pub fn at_most_behind(mut self, time: Duration) -> Self {
        self.pace = Pace::Behind(time.max(Duration::from_millis(1)));
        self
    }

    /// What was mended when it was opened, in words for people: most likely, that what was being written when the program was
    /// killed was cut off.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Begins a run, or goes on with it, and writes it down from then on.
    pub(super) fn begin(
        mut self,
        engine: &Arc<Engine>,
        job: &FrozenJob,
        offer: &Offer,
    ) -> Result<(Arc<engine::Run>, Reuse)> {
        refuse_open(job)?;
        let files = self.files_for(job)?;
        let survey = Survey::of(job.inner());
        let mut submission = Submission::of(job.inner(), &survey, now())?;
        let durable = Arc::new(Durable::default());
        if let Some(old) = &self.state.submission {
            submission.at = old.at;
        }
        let carried = Duration::from_millis(now().saturating_sub(submission.at));
        let run = engine.prepare((job, offer), durable.clone(), carried);
        let (past, reuse) = match self.state.submission.is_some() {
            false => {
                *durable.written() = written_of(&run, std::iter::empty());
                self.append(&[Record::Submitted(Box::new(submission))])?;
                (Past::default(), Reuse::default())
            }
            true => self.revive(&run, submission, &survey, files.as_ref())?,
        };
        let had_ended = self.state.finished.is_some();
        let reuse = Reuse {
            warnings: std::mem::take(&mut self.warnings),
            ..reuse
        };
        self.load_checkpoints(&run);
        run.tell_events(Some(run.now()));
        let started = engine.go_on(&run, offer, past);
        let started = started.inspect_err(|_| run.tell_events(None));
        // What it had ended with is in the journal.
        let finished = had_ended && run.has_ended();
        durable.set_end(finished);
        let Journal {
            store, place, pace, ..
        } = self;
        let kept = (store, place.clone(), files);
        let writer = Writer::new(&run, durable, kept, pace, survey);
        started?;
        writer.start().map_err(|error| place.error(error))?;
        Ok((run, reuse))
    }

    fn revive(
        &mut self,
        run: &engine::Run,
        submission: Submission,
        survey: &Survey,
        files: Option<&Files>,
    ) -> Result<(Past, Reuse)> {
        let Some(old) = self.state.submission.as_deref() else {
            return Ok((Past::default(), Reuse::default()));
        };
        let fit = Fit::of(old, &submission);
        if fit.is_foreign() && old.job != submission.job {
            let job = old.job.clone();
            return Err(self.place.error(JournalError::OtherJob { job }));
        }
        let revival = Revival::new(run, (&self.state, files), &fit, &submission);
        let (past, reuse) = revival.run(survey);
        match fit.is_same() {
            true => self.append(&[Record::Opened(now())])?,
            false => self.rewrite(submission, &fit, &past)?,
        }
        if let Some(durable) = run.durable() {
            *durable.written() = written_of(run, past.ended().map(|(ids, _)| ids));
        }
        Ok((past, reuse))
    }

    /// The journal is now of another job: what is left of the old one, in its numbers.
    fn rewrite(&mut self, submission: Submission, fit: &Fit, past: &Past) -> Result<()> {
        let state = State::moved(&self.state, submission, fit, past);
        let mut groups = snapshot::groups(&state);
        let replaced = self.store.replace(&mut groups);
        replaced.map_err(|error| self.place.error(error))?;
        self.state = state;
        Ok(())
    }

    /// Where commands' files are kept: beside the journal, so that it must be a file.
    fn files_for(&self, job: &FrozenJob) -> Result<Option<Files>> {
        let units = job.inner().units.iter().zip(0..);
        let command = units.into_iter().find(|(unit, _)| unit.kind().command);
        match (&self.place, command) {
            (Place::File(path), _) => Ok(Some(Files::beside(path))),
            (Place::Store, None) => Ok(None),
            (Place::Store, Some((_, node))) => Err(Error::new(
                ErrorKind::Unsupported,
                "is a command, whose files can only be kept beside a journal that is a file; use `Journal::create`",
            )
            .in_job(job.name())
            .of_task(job.inner().node_label(node))),
        }
    }

    fn load_checkpoints(&mut self, run: &engine::Run) {
        let checkpoints = std::mem::take(&mut self.state.checkpoints);
        let saved = checkpoints.into_iter();
        let saved = saved.map(|(task, bytes)| (crate::model::TaskId(task), bytes));
        run.checkpoints().last.extend(saved);
    }

    fn append(&mut self, records: &[Record]) -> Result<()> {
        let appended = self.store.append(&encoded(records));
        appended.map_err(|error| self.place.error(error))
    }
}

/// What is added while a job runs would have to be described in the journal, body and all.
fn refuse_open(job: &FrozenJob) -> Result<()> {
    match job.inner().open {
        false => Ok(()),
        true => Err(Error::new(
            ErrorKind::Unsupported,
            "is open, and a journal can't hold tasks that are added while it runs; describe all of them before",
        )
        .in_job(job.name())),
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}
