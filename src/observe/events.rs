//! The stream of events.

use super::event::{Event, RunId, RunName};
use super::snapshot::Snapshot;
use crate::engine::{Delivery, Engine, Entry, Fact, Run, Standing};
use crate::job::Frozen;
use futures::Stream;
use serde::Serialize;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

/// Everything that happens to runs, tasks and nodes, as a stream for any runtime: see
/// [`Pool::events`](crate::Pool::events) and [`Run::events`](crate::Run::events).
///
/// The first item is a [`Snapshot`]: how everything stood when the stream was made. Then come the events, each once, in
/// the order in which they happened, a few milliseconds late at most.
///
/// A reader never slows a run. Events that it has not taken are kept for it, up to a [capacity](Events::capacity); when
/// there are more, they are thrown away, and it is told how many it missed, and then how everything stands.
///
/// While nobody listens, no event is made. Dropping the stream ends the listening.
///
/// ```
/// use batchyard::{EventKind, Job, Pool, ThreadExecutor, Update};
///
/// let pool = Pool::new(ThreadExecutor::new(2)?);
/// let events = pool.events();
/// let mut job = Job::new("seen");
/// job.task("hello", (), || ());
/// pool.submit(job)?.wait()?;
/// drop(pool);
///
/// let started = |update: &Update| matches!(update, Update::Event(event)
///     if matches!(event.kind, EventKind::AttemptStarted { .. }));
/// assert_eq!(events.blocking().filter(started).count(), 1);
/// # Ok::<(), batchyard::Error>(())
/// ```
#[must_use = "events are made for as long as the stream is held"]
pub struct Events {
    engine: Arc<Engine>,
    listener: u64,
    pool_started: SystemTime,
    runs: HashMap<u64, Arc<Frozen>>,
    next: VecDeque<Update>,
    entries: VecDeque<Entry>,
}

/// What the stream yields.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Update {
    /// How everything stands: at the beginning, and whenever events were lost. Events after it have happened after it.
    Snapshot(Snapshot),
    /// Something happened.
    Event(Event),
    /// The reader was too slow, and so many events are lost. A snapshot follows.
    Lagged(u64),
}

impl Events {
    pub(crate) fn of_pool(engine: &Arc<Engine>) -> Self {
        Self::new(engine, None)
    }

    pub(crate) fn of_run(run: &Arc<Run>) -> Self {
        Self::new(run.engine(), Some(run))
    }

    fn new(engine: &Arc<Engine>, run: Option<&Arc<Run>>) -> Self {
        Events {
            listener: engine.add_listener(run),
            pool_started: engine.started_at(),
            engine: engine.clone(),
            runs: HashMap::new(),
            next: VecDeque::new(),
            entries: VecDeque::new(),
        }
    }

    /// How many events are kept for a reader that does not take them. Default 65,536, of 64 bytes each.
    pub fn capacity(self, events: usize) -> Self {
        self.engine.chronicle().set_capacity(self.listener, events);
        self
    }

    /// The time of day of an event's [`at`](Event::at), by this machine's clock.
    pub fn wall_clock(&self, at: Duration) -> SystemTime {
        self.pool_started + at
    }

    /// The same for callers that are not asynchronous: an iterator that blocks until there is something. Not for bodies of
    /// the same pool: they would keep their slots while they wait.
    pub fn blocking(self) -> impl Iterator<Item = Update> + Send {
        futures::executor::block_on_stream(self)
    }

    #[cfg(feature = "timeline")]
    pub(super) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Takes what has been delivered.
    fn take_in(&mut self, lost: u64, standing: Option<Standing>, entries: VecDeque<Entry>) {
        if lost > 0 {
            self.next.push_back(Update::Lagged(lost));
        }
        if let Some(standing) = standing {
            let runs = standing.runs.iter();
            self.runs = runs.map(|run| (run.run, run.job.clone())).collect();
            let snapshot = Snapshot::new(standing, self.pool_started);
            self.next.push_back(Update::Snapshot(snapshot));
        }
        self.entries = entries;
    }

    fn next_event(&mut self) -> Option<Update> {
        let entry = self.entries.pop_front()?;
        let (run, fact) = (entry.record.run, &entry.record.fact);
        if let Fact::RunSubmitted(job) = fact {
            self.runs.insert(run, job.clone());
        }
        let job = match fact {
            Fact::RunEnded(_) => self.runs.remove(&run),
            fact if fact.is_of_node() => None,
            _ => self.runs.get(&run).cloned(),
        };
        let id = RunId(run);
        let name = job.map(|job| RunName { id, job });
        Some(Update::Event(Event::new(entry, name)))
    }
}

impl Stream for Events {
    type Item = Update;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Update>> {
        let this = &mut *self;
        loop {
            let next = this.next.pop_front().or_else(|| this.next_event());
            if next.is_some() {
                return Poll::Ready(next);
            }
            match this.engine.chronicle().deliver(this.listener, cx.waker()) {
                Delivery::Nothing => return Poll::Pending,
                Delivery::Over => return Poll::Ready(None),
                Delivery::News {
                    lost,
                    standing,
                    entries,
                } => this.take_in(lost, standing, entries),
            }
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.engine.remove_listener(self.listener);
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl fmt::Display for Update {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Update::Event(event) => event.fmt(f),
            Update::Lagged(events) => write!(f, "{events} events were lost"),
            Update::Snapshot(snapshot) => {
                write!(
                    f,
                    "{} runs and {} nodes",
                    snapshot.runs.len(),
                    snapshot.nodes.len()
                )
            }
        }
    }
}
