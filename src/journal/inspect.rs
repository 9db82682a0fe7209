//! Looking at a journal from outside: of a run that has ended, was killed, or is going on in another process.

use super::fault::about;
use super::log::{FileStore, readable};
use super::record::{AttemptEndRecord, AttemptRecord, TaskRecord};
use super::snapshot::encoded;
use super::state::State;
use super::submission::Submission;
use super::{JournalError, Record, Store};
use crate::model::{Counts, ELEMENT, Result, TaskCounters, TaskId, TaskState};
use std::fmt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What a journal says of its run: see [`inspect`].
#[derive(Debug)]
pub struct Inspection {
    state: State,
    damaged: Option<u64>,
}

/// What a journal says of one task.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InspectedTask {
    /// Its number in the journal.
    pub id: TaskId,
    /// Its name, or a description.
    pub label: String,
    /// How it stands: a task that had begun, and of which no end is known, is running; what is behind it is waiting.
    pub state: TaskState,
    /// The last attempt that is known to have begun. Quick tasks that succeed at once leave no trace of it.
    pub attempt: u32,
    /// How often it was run again, and why.
    pub counters: TaskCounters,
    /// Why it failed.
    pub error: Option<String>,
    /// How many bytes its output takes.
    pub output_bytes: u64,
    /// Its attempts that are on record.
    pub attempts: Vec<InspectedAttempt>,
}

/// What a journal says of an attempt.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InspectedAttempt {
    /// From 1.
    pub number: u32,
    /// Since the job was first submitted; unknown for a task that was never timed.
    pub started: Option<Duration>,
    /// Since the job was first submitted.
    pub ended: Duration,
    /// How it ended, in words.
    pub end: String,
}

/// Reads a journal without changing it, also while a run writes it: then what it says is true of a moment ago. What a crash
/// left at its end of a group that had not been written is left out.
///
/// ```
/// # use batchyard::{Function, Job, Pool, ThreadExecutor, journal::{self, Journal}};
/// # static HALF: Function<u64, u64> = Function::fallible("half", |n| match n % 2 {
/// #     0 => Ok(n / 2),
/// #     _ => Err("odd".into()),
/// # });
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("halves.journal");
/// # let mut job = Job::new("halves");
/// # job.map("half", [2u64, 3], &HALF);
/// # let pool = Pool::new(ThreadExecutor::new(1)?);
/// # let _ = pool.submit_durable(job, Journal::create(&path)?)?.wait();
/// let inspection = journal::inspect(&path)?;
/// println!("{inspection}");
/// assert_eq!(inspection.counts().failed, 1);
/// let failed = inspection.failed().next().unwrap();
/// assert_eq!(failed.label, "half[1]");
/// assert!(failed.error.unwrap().contains("odd"));
/// # Ok::<(), batchyard::Error>(())
/// ```
///
/// # Errors
/// [`Journal`](crate::ErrorKind::Journal), with a [`JournalError`] as its cause: it is not there, or no journal, or of a later
/// format, or was never submitted to.
pub fn inspect(path: impl AsRef<Path>) -> Result<Inspection> {
    let path = path.as_ref();
    let inspection = || -> std::result::Result<_, crate::BoxError> {
        let (groups, damaged) = readable(path)?;
        let mut state = State::default();
        for group in groups {
            state.add(&group)?;
        }
        Ok(Inspection { state, damaged })
    };
    inspection().map_err(|error| about(path, error))
}

/// What could be copied of a damaged journal: see [`salvage`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Salvaged {
    /// How many groups were whole.
    pub groups: usize,
    /// Where the damage begins, in bytes from the start of the file; nothing, if there is none.
    pub damaged_at: Option<u64>,
}

/// Copies what can still be read of a damaged journal to a new one, which can be opened. What was lost is run again, and what
/// waited for it.
///
/// # Errors
/// [`Journal`](crate::ErrorKind::Journal): the damaged one can't be read at all, or doesn't say what the job was; or there is
/// a file in the place of the new one.
pub fn salvage(damaged: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<Salvaged> {
    let (damaged, to) = (damaged.as_ref(), to.as_ref());
    let read = || -> std::result::Result<_, crate::BoxError> {
        let (groups, damaged_at) = readable(damaged)?;
        let mut state = State::default();
        // What refers to a group that was lost can't be used, and isn't missed.
        let usable = groups.into_iter().filter(|group| state.add(group).is_ok());
        let usable: Vec<_> = usable.collect();
        match state.submission {
            Some(_) => Ok((usable, damaged_at)),
            None => Err(JournalError::Nonsense(NO_JOB.to_owned()).into()),
        }
    };
    let (groups, damaged_at) = read().map_err(|error| about(damaged, error))?;
    let mut store = FileStore::create(to)?;
    let copied = groups.len();
    let replaced = store.replace(&mut groups.into_iter());
    replaced.map_err(|error| about(to, error))?;
    Ok(Salvaged {
        groups: copied,
        damaged_at,
    })
}

/// Makes a journal forget that a task, or an array by the name of its node, has ended: with the next run it is run again, and
/// so is what waits for it. Nobody else may have the journal meanwhile. Returns how many tasks are forgotten.
///
/// (One that failed is run again by [`Run::reactivate`](crate::Run::reactivate), too, when its journal is open.)
///
/// # Errors
/// [`Journal`](crate::ErrorKind::Journal): the journal can't be opened, or has no task of this label.
pub fn forget(path: impl AsRef<Path>, label: &str) -> Result<u64> {
    let path = path.as_ref();
    let mut store = FileStore::open(path)?;
    let failed = |error| about(path, error);
    let state = State::load(&mut store).map_err(failed)?;
    let ids: Vec<u32> = match &state.submission {
        Some(submission) => submission.labelled(label),
        None => Vec::new(),
    };
    if ids.is_empty() {
        let unknown = JournalError::Nonsense(format!("it has no task `{label}`"));
        return Err(about(path, unknown));
    }
    let ended: Vec<_> = ids
        .into_iter()
        .filter(|id| state.end_of(*id).is_some())
        .collect();
    let ranges: Vec<_> = ended.iter().map(|id| *id..id + 1).collect();
    let mut records = vec![Record::Again(super::spans::Spans::new(&ranges))];
    let forgotten = ended.iter().filter(|id| state.tasks.contains_key(id));
    records.extend(forgotten.map(|id| Record::Task(*id, Box::default())));
    let appended = store.append(&encoded(&records));
    appended.map_err(failed)?;
    Ok(ended.len() as u64)
}

const NO_JOB: &str = "nothing that can be read says what the job was";

impl Inspection {
    /// The job's name; nothing, if none was submitted yet.
    pub fn job(&self) -> Option<&str> {
        Some(&self.state.submission.as_ref()?.job)
    }

    /// When the job was first submitted.
    pub fn submitted(&self) -> Option<SystemTime> {
        let submission = self.state.submission.as_ref()?;
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(submission.at))
    }

    /// How often the run was gone on with.
    pub fn openings(&self) -> u32 {
        self.state.openings
    }

    /// Whether all tasks have ended.
    pub fn has_ended(&self) -> bool {
        self.state.finished.is_some()
    }

    /// Why the run was ended before all its tasks were, if it was.
    pub fn stopped(&self) -> Option<String> {
        let stopped = self.state.finished.as_ref()?.stopped.as_ref()?;
        Some(stopped.error(self.job().unwrap_or_default()).to_string())
    }

    /// Where the file is damaged, or ends in what a crash left of a group: in bytes from its start.
    pub fn damaged_at(&self) -> Option<u64> {
        self.damaged
    }

    /// How many tasks stand where. What had begun and isn't known to have ended counts as running.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for id in self.ids() {
            counts.add(self.state_of(id), 1);
        }
        counts
    }

    /// All tasks, each element of an array being one.
    pub fn tasks(&self) -> impl Iterator<Item = InspectedTask> + '_ {
        self.ids().map(|id| self.task(id))
    }

    /// Those that have failed.
    pub fn failed(&self) -> impl Iterator<Item = InspectedTask> + '_ {
        let failed = self
            .ids()
            .filter(|&id| self.state_of(id) == TaskState::Failed);
        failed.map(|id| self.task(id))
    }

    fn ids(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match &self.state.submission {
            Some(submission) => Box::new(submission.ids()),
            None => Box::new(std::iter::empty()),
        }
    }

    fn state_of(&self, id: u32) -> TaskState {
        match self.state.end_of(id) {
            Some(end) => end.state(),
            None if self.state.running.contains_key(&id) && !self.has_ended() => TaskState::Running,
            None => TaskState::Waiting,
        }
    }

    fn task(&self, id: u32) -> InspectedTask {
        let empty = TaskRecord::default();
        let known = self.state.tasks.get(&id).unwrap_or(&empty);
        let job = self.job().unwrap_or_default();
        let failure = known.failure.as_ref();
        let submission = self.state.submission.as_ref();
        InspectedTask {
            id: TaskId(id),
            label: submission.map_or_else(String::new, |submission| submission.label(id)),
            state: self.state_of(id),
            attempt: self.state.last_attempt(id),
            counters: known.counters,
            error: failure.map(|(_, error)| error.error(job).to_string()),
            output_bytes: self.state.output_of(id).len() as u64,
            attempts: known.attempts.iter().map(InspectedAttempt::of).collect(),
        }
    }
}

impl InspectedAttempt {
    fn of(record: &AttemptRecord) -> Self {
        InspectedAttempt {
            number: record.number,
            started: record.started.map(Duration::from_millis),
            ended: Duration::from_millis(record.ended),
            end: match &record.end {
                AttemptEndRecord::Succeeded => "succeeded".to_owned(),
                AttemptEndRecord::Failed(error) => {
                    let causes = error.causes.iter();
                    let words = std::iter::once(&error.message).chain(causes);
                    words.map(String::as_str).collect::<Vec<_>>().join(": ")
                }
                AttemptEndRecord::Cancelled => "cancelled".to_owned(),
                AttemptEndRecord::Returned(why) => format!("returned ({why:?})"),
            },
        }
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(job) = self.job() else {
            return f.write_str("no job was submitted yet");
        };
        let counts = self.counts();
        let state = match self.has_ended() {
            true => "has ended",
            false => "has not ended",
        };
        write!(
            f,
            "job `{job}` {state}: of {} tasks {} succeeded, {} failed, {} were skipped and {} cancelled",
            counts.total, counts.succeeded, counts.failed, counts.skipped, counts.cancelled
        )?;
        if let Some(at) = self.damaged {
            write!(f, "\nthe file can't be read from byte {at} on")?;
        }
        for task in self.failed().take(10) {
            let error = task.error.unwrap_or_default();
            write!(f, "\n  `{}` failed: {error}", task.label)?;
        }
        Ok(())
    }
}

impl Submission {
    /// All tasks, by id: single ones, then elements.
    pub(super) fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        let is_array = |node: &u32| {
            let found = self.arrays.binary_search_by_key(node, |array| array.node);
            found.is_ok()
        };
        let singles = (0..self.nodes()).filter(move |node| !is_array(node));
        let elements = self.arrays.iter().map(|array| array.len).sum::<u32>();
        singles.chain((0..elements).map(|number| ELEMENT | number))
    }

    /// What a task is called.
    pub(super) fn label(&self, id: u32) -> String {
        let (node, index) = self.place(id);
        let found = self.labels.binary_search_by_key(&node, |(node, _)| *node);
        let name = match found.ok().and_then(|at| self.labels.get(at)) {
            Some((_, name)) => name.clone(),
            None if index.is_some() => format!("array {node}"),
            None => format!("task {node}"),
        };
        match index {
            Some(index) => format!("{name}[{index}]"),
            None => name,
        }
    }

    /// The tasks of a label: one, or all elements of an array.
    fn labelled(&self, label: &str) -> Vec<u32> {
        let is_it = |id: &u32| {
            let own = self.label(*id);
            let whole = own.strip_suffix(']').and_then(|own| own.rsplit_once('['));
            own == label || whole.is_some_and(|(name, _)| name == label)
        };
        self.ids().filter(is_it).collect()
    }

    /// The node of a task, and its index if it is an element.
    fn place(&self, id: u32) -> (u32, Option<u32>) {
        if id & ELEMENT == 0 {
            return (id, None);
        }
        let mut number = id & !ELEMENT;
        for array in &self.arrays {
            if number < array.len {
                return (array.node, Some(number));
            }
            number -= array.len;
        }
        (0, Some(number))
    }
}
