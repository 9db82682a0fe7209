//! A node of the graph as the engine runs it: a body with its inputs and its output, the types forgotten.

use super::body::{Body, BoxFuture, Flow};
use super::call::{Call, commit};
use super::function::AnyFunction;
use super::inputs::{Args, Places, Prepend};
use super::travel::Travels;
use super::values::{Slot, Values};
use crate::model::{BoxError, Panic};
#[cfg(feature = "data")]
use crate::model::{Command, Sweep};
use std::any::Any;
use std::marker::PhantomData;

/// One node's work. The engine calls it for a single task, or for a span of an array's elements.
pub(crate) trait Unit: Travels + Send + Sync {
    /// Runs the task, or the elements of the call's span until one does not succeed at once.
    ///
    /// After `Done` for a single task on a lane, the lane is inside the gate.
    fn call(&self, call: &Call<'_>) -> Step;

    /// Lets go of the inputs of a task, or element, that has succeeded. Elements on a lane do it themselves.
    fn release(&self, values: &Values, index: u32);

    /// Lets go of what an array as a whole wanted, when all its elements have succeeded.
    fn finish(&self, _values: &Values) {}

    /// Drops the outputs that are left: the run is over.
    fn clear(&self, values: &Values);

    /// How many dependents (and keepers) read the output.
    fn set_wanted(&mut self, wanted: u32);

    /// What kind of body this is.
    fn kind(&self) -> Kind;

    /// The slot of its output: `Slot<T>`.
    fn output(&self) -> &dyn Any;

    /// See [`Body::command`].
    #[cfg(feature = "data")]
    fn command(&self) -> Option<(&Command, Option<&Sweep>)>;
}

/// How a call went.
pub(crate) enum Step {
    /// It succeeded. `release` says that the unit's inputs are to be let go.
    Done { release: bool },
    /// The node is an array: its elements are ready.
    Open,
    /// The node is the policy's to start, not the lane's.
    Queue,
    /// The body failed, for the element at the cursor.
    Failed(BoxError),
    /// The attempt no longer counted when the body returned: its output was dropped.
    Stale,
    /// The body waits: the future goes on elsewhere.
    Later(Later),
}

/// An asynchronous body on its way. It resolves to whether the output still counted, or to the body's error.
pub(crate) type Later = BoxFuture<Result<bool, BoxError>>;

/// What an executor must be able to do to run a unit.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) asynchronous: bool,
    pub(crate) command: bool,
    pub(crate) function: Option<&'static dyn AnyFunction>,
    /// It has inputs: outputs of other tasks.
    pub(crate) reads: bool,
    /// Lanes leave it to the policy.
    pub(crate) queued: bool,
    /// It is an array.
    pub(crate) elements: bool,
}

/// Where outputs go, and how many want them.
pub(super) struct Output<T> {
    slot: Slot<T>,
    wanted: u32,
}

impl<T: Send + Sync + 'static> Output<T> {
    /// # Safety
    /// As [`Values::put`].
    #[inline]
    unsafe fn put(&self, values: &Values, index: u32, len: u32, value: T) -> Option<T> {
        // SAFETY: the caller's.
        unsafe { values.put(self.slot, index as usize, len as usize, value, self.wanted) }
    }
}

#[cfg(feature = "codec")]
impl<T: Send + Sync + 'static> Output<T> {
    /// An output that is there, and that the caller holds: as a dependent, or with a pin.
    pub(super) fn get<'v>(&self, values: &'v Values, index: u32) -> &'v T {
        // SAFETY: what this may be asked for.
        unsafe { values.get(self.slot, index as usize) }
    }

    /// Lets go of an output that was held to be written down.
    #[cfg(feature = "journal")]
    pub(super) fn let_go(&self, values: &Values, index: u32, len: u32) {
        // SAFETY: what this may be asked for: it is held, once, and nobody reads it on that account any more.
        unsafe { values.release(self.slot, index as usize, len as usize) }
    }

    /// The output of a task that has not begun, and that nobody else begins meanwhile.
    pub(super) fn restore(&self, values: &Values, index: u32, len: u32, value: T) {
        let replaced = self.replace(values, index, len, value);
        Panic::ignore(|| drop(replaced));
    }

    /// As [`put`](Self::put), where the current attempt can't become another meanwhile.
    pub(super) fn replace(&self, values: &Values, index: u32, len: u32, value: T) -> Option<T> {
        // SAFETY: what this may be asked for.
        unsafe { self.put(values, index, len, value) }
    }
}

/// A body and what its call needs, for single tasks. One allocation a task.
pub(super) struct Task<B, P, T, A, M> {
    pub(super) body: B,
    places: P,
    pub(super) output: Output<T>,
    types: PhantomData<fn(A, M)>,
}

/// As [`Task`], for arrays.
pub(super) struct Elements<B, P, T, A, M, S> {
    pub(super) body: B,
    source: S,
    places: P,
    pub(super) output: Output<T>,
    pub(super) len: u32,
    types: PhantomData<fn(A, M)>,
}

/// The unit of a single task.
#[inline]
pub(crate) fn task_unit<B, P, M>(body: B, places: P, slot: Slot<B::Output>) -> Box<dyn Unit>
where
    B: Body<P::Args, M>,
    P: Places,
    M: 'static,
{
    Box::new(Task {
        body,
        places,
        output: Output { slot, wanted: 1 },
        types: PhantomData::<fn(P::Args, M)>,
    })
}

/// The unit of an array whose elements read the elements of others.
pub(crate) fn each_unit<B, P, M>(
    body: B,
    places: P,
    slot: Slot<B::Output>,
    len: u32,
) -> Box<dyn Unit>
where
    B: Body<P::Args, M>,
    P: Places,
    M: 'static,
{
    let output = Output { slot, wanted: 1 };
    Box::new(Elements {
        body,
        source: (),
        places,
        output,
        len,
        types: PhantomData::<fn(P::Args, M)>,
    })
}

/// The unit of an array with items of its own.
pub(crate) fn map_unit<I, B, P, M>(
    body: B,
    items: Vec<I>,
    places: P,
    slot: Slot<B::Output>,
) -> Box<dyn Unit>
where
    I: Send + Sync + 'static,
    P: Places,
    P::Args: Prepend<I>,
    B: Body<<P::Args as Prepend<I>>::Prepended, M>,
    M: 'static,
{
    let (len, output) = (items.len() as u32, Output { slot, wanted: 1 });
    Box::new(Elements {
        body,
        source: Items(items),
        places,
        output,
        len,
        types: PhantomData,
    })
}

/// The unit of an array whose elements read their index.
pub(crate) fn index_unit<B, P, M>(
    body: B,
    len: u32,
    places: P,
    slot: Slot<B::Output>,
) -> Box<dyn Unit>
where
    P: Places,
    P::Args: Prepend<usize>,
    B: Body<<P::Args as Prepend<usize>>::Prepended, M>,
    M: 'static,
{
    Box::new(Elements {
        body,
        source: Indexes,
        places,
        output: Output { slot, wanted: 1 },
        len,
        types: PhantomData,
    })
}

impl<B, P, M> Task<B, P, B::Output, P::Args, M>
where
    B: Body<P::Args, M>,
    P: Places,
{
    /// What the body reads. Asked for when everything that the task reads has succeeded.
    #[inline]
    pub(super) fn args<'v>(&self, values: &'v Values) -> <P::Args as Args>::Refs<'v> {
        // SAFETY: what this may be asked for.
        unsafe { self.places.get(values, 0) }
    }

    /// Stores what the body returned, if the attempt still counts.
    #[inline]
    pub(super) fn end(&self, call: &Call<'_>, flow: Flow<B::Output>) -> Step {
        match flow {
            Flow::Now(value) => {
                // SAFETY: committed: this is the current attempt.
                let put = |value| unsafe { self.output.put(call.values, 0, 1, value) };
                if call.commit(value, put) {
                    Step::Done { release: P::OWNED }
                } else {
                    Step::Stale
                }
            }
            Flow::Failed(error) => Step::Failed(error),
            Flow::Later(future) => Step::Later(later(
                call,
                future,
                self.output.slot,
                self.output.wanted,
                0,
                1,
            )),
        }
    }
}

impl<B, P, M> Unit for Task<B, P, B::Output, P::Args, M>
where
    B: Body<P::Args, M>,
    P: Places,
    M: 'static,
{
    #[inline]
    fn call(&self, call: &Call<'_>) -> Step {
        self.end(call, self.body.start(call, self.args(call.values)))
    }

    fn release(&self, values: &Values, _: u32) {
        // SAFETY: called once, for a task that has succeeded and was counted by its inputs.
        unsafe {
            self.places.release(values, 0);
            self.places.finish(values);
        }
    }

    fn clear(&self, values: &Values) {
        // SAFETY: called once, when the run is over and nobody holds it.
        unsafe { values.clear(self.output.slot, 1) }
    }

    fn set_wanted(&mut self, wanted: u32) {
        self.output.wanted = wanted;
    }

    fn kind(&self) -> Kind {
        kind::<P, P::Args, B, M>(&self.body)
    }

    fn output(&self) -> &dyn Any {
        &self.output.slot
    }

    #[cfg(feature = "data")]
    fn command(&self) -> Option<(&Command, Option<&Sweep>)> {
        self.body.command()
    }
}

/// How an array's elements get their arguments: from places alone, or from an item and places.
pub(super) trait Source<P: Places>: Send + Sync {
    type Args: Args;

    /// Whether it has something of its own for each element.
    #[cfg(feature = "journal")]
    const STORED: bool;

    /// # Safety
    /// As [`Places::get`].
    unsafe fn get<'v>(
        &'v self,
        places: &P,
        values: &'v Values,
        index: &'v usize,
    ) -> <Self::Args as Args>::Refs<'v>;
}

/// The source of arrays that have nothing but their indexes.
pub(super) struct Indexes;

impl<P: Places> Source<P> for () {
    type Args = P::Args;

    #[cfg(feature = "journal")]
    const STORED: bool = false;

    #[inline]
    unsafe fn get<'v>(
        &'v self,
        places: &P,
        values: &'v Values,
        index: &'v usize,
    ) -> <P::Args as Args>::Refs<'v> {
        // SAFETY: the caller's.
        unsafe { places.get(values, *index) }
    }
}

/// What has an item for each element.
pub(super) trait ItemOf: Send + Sync {
    type Item: 'static;

    /// Whether there is more to it than its index.
    #[cfg(feature = "journal")]
    const STORED: bool;

    fn item<'v>(&'v self, index: &'v usize) -> &'v Self::Item;
}

impl<S: ItemOf, P: Places> Source<P> for S
where
    P::Args: Prepend<S::Item>,
{
    type Args = <P::Args as Prepend<S::Item>>::Prepended;

    #[cfg(feature = "journal")]
    const STORED: bool = S::STORED;

    #[inline]
    unsafe fn get<'v>(
        &'v self,
        places: &P,
        values: &'v Values,
        index: &'v usize,
    ) -> <Self::Args as Args>::Refs<'v> {
        // SAFETY: the caller's.
        let rest = unsafe { places.get(values, *index) };
        <P::Args as Prepend<S::Item>>::prepend(self.item(index), rest)
    }
}

impl ItemOf for Indexes {
    type Item = usize;

    #[cfg(feature = "journal")]
    const STORED: bool = false;

    #[inline]
    fn item<'v>(&'v self, index: &'v usize) -> &'v usize {
        index
    }
}

/// The items of an array. The destructor of one that panics keeps no other from being dropped.
pub(super) struct Items<I>(Vec<I>);

impl<I> Drop for Items<I> {
    fn drop(&mut self) {
        Panic::ignore_dropping(std::mem::take(&mut self.0));
    }
}

impl<I: Send + Sync + 'static> ItemOf for Items<I> {
    type Item = I;

    #[cfg(feature = "journal")]
    const STORED: bool = true;

    #[inline]
    fn item<'v>(&'v self, index: &'v usize) -> &'v I {
        &self.0[*index]
    }
}

impl<B, P, A, M, S> Elements<B, P, B::Output, A, M, S>
where
    A: Args,
    S: Source<P, Args = A>,
    B: Body<A, M>,
    P: Places,
{
    /// What the body reads for an element. Asked for when everything that the element reads has succeeded.
    #[inline]
    pub(super) fn args<'v>(&'v self, values: &'v Values, index: &'v usize) -> A::Refs<'v> {
        // SAFETY: what this may be asked for.
        unsafe { self.source.get(&self.places, values, index) }
    }

    /// Stores an element's output, if the attempt still counts.
    #[inline]
    pub(super) fn store(&self, call: &Call<'_>, index: u32, value: B::Output) -> bool {
        // SAFETY: committed: this is the current attempt.
        let put = |value| unsafe { self.output.put(call.values, index, self.len, value) };
        call.commit(value, put)
    }
}

impl<B, P, A, M, S> Unit for Elements<B, P, B::Output, A, M, S>
where
    A: Args,
    S: Source<P, Args = A>,
    B: Body<A, M>,
    P: Places,
    M: 'static,
{
    fn call(&self, call: &Call<'_>) -> Step {
        while let Some(index) = call.element() {
            let at = index as usize;
            match self.body.start(call, self.args(call.values, &at)) {
                Flow::Now(value) => {
                    if !self.store(call, index, value) {
                        return Step::Stale;
                    }
                    call.advance();
                    if let Some(lane) = &call.lane {
                        lane.turnstile.leave();
                        self.release(call.values, index);
                    }
                }
                Flow::Failed(error) => return Step::Failed(error),
                Flow::Later(future) => {
                    let Output { slot, wanted } = self.output;
                    return Step::Later(later(call, future, slot, wanted, index, self.len));
                }
            }
        }
        if call.opens_array() {
            Step::Open
        } else {
            Step::Done { release: false }
        }
    }

    fn release(&self, values: &Values, index: u32) {
        // SAFETY: called once, for an element that has succeeded.
        unsafe { self.places.release(values, index as usize) }
    }

    fn finish(&self, values: &Values) {
        // SAFETY: once, when all elements have succeeded.
        unsafe { self.places.finish(values) }
    }

    fn clear(&self, values: &Values) {
        // SAFETY: called once, when the run is over and nobody holds it.
        unsafe { values.clear(self.output.slot, self.len as usize) }
    }

    fn set_wanted(&mut self, wanted: u32) {
        self.output.wanted = wanted;
    }

    fn kind(&self) -> Kind {
        Kind {
            elements: true,
            ..kind::<P, A, B, M>(&self.body)
        }
    }

    fn output(&self) -> &dyn Any {
        &self.output.slot
    }

    #[cfg(feature = "data")]
    fn command(&self) -> Option<(&Command, Option<&Sweep>)> {
        self.body.command()
    }
}

/// A unit that only the policy starts: a lane that finds it ready hands it over.
pub(crate) struct Queued(pub(super) Box<dyn Unit>);

impl Queued {
    /// Hides a unit from lanes.
    pub(crate) fn hide(unit: &mut Box<dyn Unit>) {
        let nothing = task_unit::<_, _, super::body::Plain>(|| (), (), Slot::nowhere());
        let hidden = std::mem::replace(unit, nothing);
        *unit = Box::new(Queued(hidden));
    }
}

impl Unit for Queued {
    fn call(&self, call: &Call<'_>) -> Step {
        if call.lane.is_some() {
            Step::Queue
        } else {
            self.0.call(call)
        }
    }

    fn release(&self, values: &Values, index: u32) {
        self.0.release(values, index);
    }

    fn finish(&self, values: &Values) {
        self.0.finish(values);
    }

    fn clear(&self, values: &Values) {
        self.0.clear(values);
    }

    fn set_wanted(&mut self, wanted: u32) {
        self.0.set_wanted(wanted);
    }

    fn kind(&self) -> Kind {
        Kind {
            queued: true,
            ..self.0.kind()
        }
    }

    fn output(&self) -> &dyn Any {
        self.0.output()
    }

    #[cfg(feature = "data")]
    fn command(&self) -> Option<(&Command, Option<&Sweep>)> {
        self.0.command()
    }
}

/// Of places, only those of no inputs take no room.
fn kind<P: Places, A: Args, B: Body<A, M>, M>(body: &B) -> Kind {
    Kind {
        asynchronous: B::ASYNCHRONOUS,
        command: B::COMMAND,
        function: body.function(),
        reads: size_of::<P>() > 0,
        queued: false,
        elements: false,
    }
}

/// The rest of an asynchronous body: wait, then store the output if the attempt still counts.
fn later<T: Send + Sync + 'static>(
    call: &Call<'_>,
    future: BoxFuture<Result<T, BoxError>>,
    slot: Slot<T>,
    wanted: u32,
    index: u32,
    len: u32,
) -> Later {
    let (host, task) = (call.host.clone(), call.task());
    let attempt = (call.attempt, call.instance.index);
    let storage = host.clone().storage_of(task);
    Box::pin(async move {
        let value = future.await?;
        // SAFETY: `commit` puts only for the current attempt.
        let put = |value| unsafe {
            storage
                .values()
                .put(slot, index as usize, len as usize, value, wanted)
        };
        Ok(commit(&host, task, attempt, value, put))
    })
}
