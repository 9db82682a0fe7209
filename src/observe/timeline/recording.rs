//! A listener that writes down what it hears.

use super::recorder::Recorder;
use super::{Drawing, Summary, Timeline};
use crate::engine::Engine;
use crate::observe::events::{Events, Update};
use crate::observe::{NodeSnapshot, RunId};
use crate::sync::lock;
use crate::{Pool, Run};
use futures::Stream;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

/// Tasks can end faster than anybody writes it down.
const CAPACITY: usize = 1 << 22;

/// Records when the attempts of a pool's runs start and end, from the moment it is made until it is dropped: see
/// [`Pool::record_timelines`].
///
/// Of each run the first two million attempts are kept, at about a hundred bytes each, until it is
/// [forgotten](Recording::forget); those after them are counted.
///
/// Up to four million events wait for the thread that reads them; when there are more, what they told is
/// [lost](Timeline::lost_events).
#[must_use = "what happens is recorded for as long as this is held"]
pub struct Recording {
    engine: Weak<Engine>,
    shared: Arc<Shared>,
    thread: Option<Thread>,
}

struct Shared {
    /// None, once nobody wants to hear any more.
    events: Mutex<Option<Events>>,
    recorder: Mutex<Recorder>,
}

impl Pool {
    /// Records timelines from now on, for pictures of what ran where and when. A thread reads the pool's
    /// [events](Pool::events) for it, so each task costs what it costs to be listened to.
    ///
    /// ```
    /// use batchyard::{Job, Pool, ThreadExecutor};
    ///
    /// let pool = Pool::new(ThreadExecutor::new(2)?);
    /// let recording = pool.record_timelines();
    /// let mut job = Job::new("drawn");
    /// job.array("squares", 100, |n: &usize| n * n);
    /// let run = pool.submit(job)?;
    /// run.wait()?;
    /// let timeline = recording.timeline(&run).expect("it was submitted after the recording began");
    /// assert_eq!(timeline.attempts().len(), 100);
    /// # let directory = tempfile::tempdir()?;
    /// std::fs::write(directory.path().join("timeline.json"), timeline.chrome_trace().to_string())?;
    /// std::fs::write(directory.path().join("timeline.html"), timeline.html().to_string())?;
    /// # Ok::<(), batchyard::BoxError>(())
    /// ```
    pub fn record_timelines(&self) -> Recording {
        Recording::new(self.events().capacity(CAPACITY))
    }
}

impl Recording {
    fn new(events: Events) -> Self {
        let engine = Arc::downgrade(events.engine());
        let shared = Arc::new(Shared {
            events: Mutex::new(Some(events)),
            recorder: Mutex::default(),
        });
        let (listening, thread) = (shared.clone(), std::thread::Builder::new());
        let thread = thread.name("batchyard-timeline".into());
        // Without a thread, what happens is read when it is asked for.
        let thread = thread.spawn(move || listening.listen()).ok();
        Recording {
            engine,
            shared,
            thread: thread.map(|thread| thread.thread().clone()),
        }
    }

    /// What has happened in a run so far; after its [end](Run::wait), all of it. None of a run of another pool, and of one
    /// that had ended before the recording began.
    pub fn timeline(&self, run: &Run) -> Option<Timeline> {
        let run = run.inner();
        let engine = self
            .engine
            .upgrade()
            .filter(|engine| Arc::ptr_eq(engine, run.engine()))?;
        engine.enter_events();
        self.shared.read(Waker::noop());
        let summary = Summary::of(run);
        let drawing = Drawing::of(run);
        let recorder = lock(&self.shared.recorder);
        let recorded = recorder.runs.get(&RunId::of(run))?;
        let nodes: Vec<NodeSnapshot> = recorder.nodes.values().cloned().collect();
        Some(Timeline {
            run: recorded.name.clone(),
            nodes,
            attempts: recorded.attempts.clone(),
            begun: recorded.begun,
            until: recorded.ended.unwrap_or_else(|| engine.now()),
            lost: recorder.lost,
            omitted: recorded.omitted,
            drawing,
            summary,
        })
    }

    /// Lets go of what was recorded of a run. If it has not ended, what happens from now on is recorded.
    pub fn forget(&self, run: &Run) {
        let recorded = lock(&self.shared.recorder)
            .runs
            .remove(&RunId::of(run.inner()));
        // It may be the last to hold the job, which is the user's: not under the lock.
        drop(recorded);
    }
}

impl Shared {
    /// Reads whatever comes, until there is no more.
    fn listen(&self) {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        while self.read(&waker) {
            std::thread::park();
        }
    }

    /// Reads what there is. Returns whether there may be more; `waker` is woken then.
    fn read(&self, waker: &Waker) -> bool {
        let mut cx = Context::from_waker(waker);
        loop {
            let next = match &mut *lock(&self.events) {
                None => return false,
                Some(events) => Pin::new(events)
                    .poll_next(&mut cx)
                    .map(|update| self.note(update)),
            };
            match next {
                Poll::Pending => return true,
                Poll::Ready(None) => return false,
                // What it holds may be the user's, and is dropped here, with no lock held.
                Poll::Ready(Some(update)) => drop(update),
            }
        }
    }

    /// Under the lock of the events, so that they are noted in their order.
    fn note(&self, update: Option<Update>) -> Option<Update> {
        update.inspect(|update| lock(&self.recorder).take_in(update))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let events = lock(&self.shared.events).take();
        drop(events);
        self.thread.iter().for_each(Thread::unpark);
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").finish_non_exhaustive()
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
