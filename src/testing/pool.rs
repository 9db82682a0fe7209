//! The façade of test pools.

use super::faults::When;
use super::stage::Stage;
use super::trace::Trace;
use crate::engine::Engine;
use crate::executor::{Executor, Feed, NodeSpec, Offer};
use crate::model::Result;
use crate::pool::Pool;
use async_trait::async_trait;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// How many slots the node of a test pool has, if nothing is said of nodes.
const SLOTS: u32 = 4;

/// A [`Pool`] for unit tests: without threads, in simulated time, in an order that a seed chooses.
///
/// Pass it to the code under test where that takes a `&Pool`. It goes on
///
/// - when someone blocks in [`Run::wait`](crate::Run::wait) or in `output(..).wait()`, or polls their futures: until what
///   is waited for has ended, time passing as needed. If that can't come any more, since a task hangs or no node is left,
///   waiting fails with [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) and says why; a future stays pending;
/// - in [`advance`](TestPool::advance) and [`run_until_idle`](TestPool::run_until_idle);
/// - when it is [closed](Pool::close) or dropped.
///
/// A body takes no time, unless a test says [how much](When::takes); what it really takes doesn't count. Asynchronous
/// bodies are polled on the same thread, in no runtime: what needs tokio's fails there. A [resize](Pool::resize) is the
/// first node's.
///
/// See the [module](super) for an example.
pub struct TestPool {
    /// Dropped first: the stage carries out what closing it takes.
    pool: Pool,
    stage: Arc<Stage>,
}

impl TestPool {
    /// A pool of one node with four slots.
    pub fn new(seed: u64) -> Self {
        Self::with_nodes(seed, [NodeSpec::new(SLOTS)])
    }

    /// A pool of these nodes. Their labels are their names; one without any is called `node 1`, `node 2` and so on, in the
    /// order of joining.
    pub fn with_nodes(seed: u64, nodes: impl IntoIterator<Item = NodeSpec>) -> Self {
        let nodes: Vec<_> = nodes.into_iter().collect();
        let engine = Engine::by_hand();
        let stage = Stage::new(engine.clone(), seed);
        let offer = nodes.iter().map(|node| node.capacity.clone());
        let offer = Offer::in_process().nodes(offer);
        nodes.into_iter().for_each(|node| stage.join(node));
        TestPool {
            pool: Pool::by_hand(Inline(offer), engine),
            stage,
        }
    }

    /// What is to happen to a task instead of what its body does: finish the sentence. It holds for attempts that begin
    /// from now on. The task is meant by its name, or its name in its job as `job/task`; `array[3]` is an element, `array`
    /// all of them.
    pub fn when(&self, task: impl Into<String>) -> When<'_> {
        When::new(&self.stage, task.into())
    }

    /// How much simulated time has passed.
    pub fn now(&self) -> Duration {
        self.stage.now()
    }

    /// Lets so much time pass. Whatever can be done in it is done, each thing at its time.
    pub fn advance(&self, time: Duration) {
        self.stage.advance_to(self.now().saturating_add(time));
    }

    /// Does what can be done without time passing.
    pub fn run_until_idle(&self) {
        while self.stage.act() {}
    }

    /// A node more.
    pub fn join(&self, node: NodeSpec) {
        self.stage.join(node);
    }

    /// A node is lost now, with what runs there; it doesn't come back. Its tasks are tried again on others.
    ///
    /// # Panics
    /// If there is no such node.
    #[track_caller]
    pub fn lose_node(&self, name: &str) {
        let lost = self.stage.lose_named(name);
        assert!(lost, "there is no node `{name}` to lose");
    }

    /// A node is lost at a moment, if it is there then: so long after the pool was made.
    pub fn lose_node_at(&self, name: impl Into<String>, time: Duration) {
        self.stage.lose_later(name.into(), time);
    }

    /// What has happened so far.
    pub fn trace(&self) -> Trace {
        self.stage.trace()
    }

    pub(super) fn stage(&self) -> &Stage {
        &self.stage
    }
}

impl Deref for TestPool {
    type Target = Pool;

    fn deref(&self) -> &Pool {
        &self.pool
    }
}

impl fmt::Debug for TestPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestPool")
            .field("now", &self.now())
            .finish_non_exhaustive()
    }
}

/// What the pool believes to run on. The stage does the work.
struct Inline(Offer);

#[async_trait]
impl Executor for Inline {
    fn offer(&self) -> Offer {
        self.0.clone()
    }

    async fn serve(&self, _: Feed) -> Result<()> {
        Ok(())
    }
}
