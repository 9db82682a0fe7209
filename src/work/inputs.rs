//! What a task reads: handles of other tasks, and how their outputs reach its body.
//!
//! Each kind of handle has a *place*: where its value will lie in a run, and how long the task wants it. Places are
//! taken when the job is built and hold nothing but offsets.

use super::handles::{Array, Handle, plain_copy};
use super::values::{Slot, Values};
use crate::graph::Dependency;
use crate::model::JobTag;
use std::marker::PhantomData;

/// One input of a task: `&Handle<T>`, whose body gets a `&T`, or `&Array<T>`, whose body gets all of it as a `&[T]`.
pub trait Input: sealed::Sealed {
    /// What the body gets a reference to.
    type Value: ?Sized + 'static;
    #[doc(hidden)]
    type Place: Place<Value = Self::Value>;
    #[doc(hidden)]
    fn place(&self) -> Self::Place;
    #[doc(hidden)]
    fn upstream(&self) -> Upstream;
}

/// One input of an element-wise array: as [`Input`], but `&Array<T>` gives each element the one of its own index, and
/// [`all`]`(&array)` gives each the whole.
pub trait EachInput: sealed::Sealed {
    /// What the body gets a reference to.
    type Value: ?Sized + 'static;
    #[doc(hidden)]
    type Place: Place<Value = Self::Value>;
    #[doc(hidden)]
    fn place(&self) -> Self::Place;
    #[doc(hidden)]
    fn upstream(&self) -> Upstream;
}

/// All inputs of a task: `()`, one [`Input`], or a tuple of up to six.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be the inputs of a task",
    note = "pass handles by reference: `()`, `&handle`, `&array`, or a tuple of up to six of these"
)]
pub trait Inputs: sealed::Sealed {
    #[doc(hidden)]
    type Args: Args;
    #[doc(hidden)]
    type Places: Places<Args = Self::Args>;
    #[doc(hidden)]
    fn places(&self) -> Self::Places;
    #[doc(hidden)]
    fn upstreams(&self, visit: &mut dyn FnMut(Upstream));
}

/// All inputs of an element-wise array: an [`Array`], or a tuple that begins with one, which gives the length.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be the inputs of an element-wise array",
    note = "pass `&array`, or a tuple that begins with one: `(&array, &handle, all(&other))`"
)]
pub trait EachInputs: sealed::Sealed {
    #[doc(hidden)]
    type Args: Args;
    #[doc(hidden)]
    type Places: Places<Args = Self::Args>;
    #[doc(hidden)]
    fn places(&self) -> Self::Places;
    #[doc(hidden)]
    fn upstreams(&self, visit: &mut dyn FnMut(Upstream));
}

/// The whole of an array as an input of each element of another: see [`all`].
#[derive(Debug)]
pub struct All<'a, T>(&'a Array<T>);

/// Gives each element of an array *all* outputs of another array, as a slice, instead of the one of its own index.
///
/// ```
/// # let mut job = batchyard::Job::new("all");
/// use batchyard::all;
///
/// let values = job.map("values", [1.0, 2.0, 5.0], |v: &f64| *v);
/// let shares = job.each("shares", (&values, all(&values)), |v: &f64, values: &[f64]| {
///     v / values.iter().sum::<f64>()
/// });
/// ```
pub fn all<T>(array: &Array<T>) -> All<'_, T> {
    All(array)
}

/// A node that a task depends on, and how.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Upstream {
    pub(crate) job: JobTag,
    pub(crate) node: u32,
    pub(crate) kind: Dependency,
    pub(crate) len: u32,
}

/// Where one input lies, and how it is let go.
#[doc(hidden)]
pub trait Place: Copy + Send + Sync + 'static {
    type Value: ?Sized + 'static;

    /// Whether letting go of it does anything.
    const OWNED: bool;

    /// It lies elsewhere: see [`Slot::relocate`].
    fn relocate(&mut self, to: &mut dyn FnMut(u32) -> u32);

    /// # Safety
    /// As [`Values::get`], for the consumer's element `index`.
    unsafe fn get<'v>(&self, values: &'v Values, index: usize) -> &'v Self::Value;

    /// Lets go of what only element `index` of the consumer wanted.
    ///
    /// # Safety
    /// As [`Values::release`].
    unsafe fn release(&self, values: &Values, index: usize);

    /// Lets go of what the whole consumer wanted.
    ///
    /// # Safety
    /// As [`Values::release`].
    unsafe fn finish(&self, values: &Values);
}

/// The output of a single task.
#[doc(hidden)]
pub struct One<T>(Slot<T>);

/// All outputs of an array.
#[doc(hidden)]
pub struct Whole<T>(Slot<T>, u32);

/// The output of the element of the same index.
#[doc(hidden)]
pub struct Same<T>(Slot<T>, u32);

plain_copy!(One, Whole, Same);

impl<T: Send + Sync + 'static> Place for One<T> {
    type Value = T;
    const OWNED: bool = std::mem::needs_drop::<T>();

    fn relocate(&mut self, to: &mut dyn FnMut(u32) -> u32) {
        self.0.relocate(to);
    }

    #[inline]
    unsafe fn get<'v>(&self, values: &'v Values, _: usize) -> &'v T {
        // SAFETY: the caller's.
        unsafe { values.get(self.0, 0) }
    }

    #[inline]
    unsafe fn release(&self, _: &Values, _: usize) {}

    #[inline]
    unsafe fn finish(&self, values: &Values) {
        // SAFETY: the caller's.
        unsafe { values.release(self.0, 0, 1) }
    }
}

impl<T: Send + Sync + 'static> Place for Whole<T> {
    type Value = [T];
    const OWNED: bool = std::mem::needs_drop::<T>();

    fn relocate(&mut self, to: &mut dyn FnMut(u32) -> u32) {
        self.0.relocate(to);
    }

    #[inline]
    unsafe fn get<'v>(&self, values: &'v Values, _: usize) -> &'v [T] {
        // SAFETY: the caller's.
        unsafe { values.slice(self.0, self.1 as usize) }
    }

    #[inline]
    unsafe fn release(&self, _: &Values, _: usize) {}

    unsafe fn finish(&self, values: &Values) {
        for index in 0..self.1 as usize {
            // SAFETY: the caller's.
            unsafe { values.release(self.0, index, self.1 as usize) }
        }
    }
}

impl<T: Send + Sync + 'static> Place for Same<T> {
    type Value = T;
    const OWNED: bool = std::mem::needs_drop::<T>();

    fn relocate(&mut self, to: &mut dyn FnMut(u32) -> u32) {
        self.0.relocate(to);
    }

    #[inline]
    unsafe fn get<'v>(&self, values: &'v Values, index: usize) -> &'v T {
        // SAFETY: the caller's.
        unsafe { values.get(self.0, index) }
    }

    #[inline]
    unsafe fn release(&self, values: &Values, index: usize) {
        // SAFETY: the caller's.
        unsafe { values.release(self.0, index, self.1 as usize) }
    }

    #[inline]
    unsafe fn finish(&self, _: &Values) {}
}

/// The types a body gets references to.
#[doc(hidden)]
pub trait Args: 'static {
    type Refs<'v>;
}

/// Stands for a reference to `T` in [`Args`].
#[doc(hidden)]
pub struct Ref<T: ?Sized>(PhantomData<fn(&T)>);

/// The places of all inputs of a task.
#[doc(hidden)]
pub trait Places: Copy + Send + Sync + 'static {
    type Args: Args;

    /// Whether letting go of them does anything.
    const OWNED: bool;

    /// They lie elsewhere: see [`Slot::relocate`], for each, in the order of the inputs.
    fn relocate(&mut self, to: &mut dyn FnMut(u32) -> u32);

    /// # Safety
    /// As [`Place::get`], for each.
    unsafe fn get<'v>(&self, values: &'v Values, index: usize) -> <Self::Args as Args>::Refs<'v>;

    /// # Safety
    /// As [`Place::release`], for each.
    unsafe fn release(&self, values: &Values, index: usize);

    /// # Safety
    /// As [`Place::finish`], for each.
    unsafe fn finish(&self, values: &Values);
}

/// Arguments with an array's own item before them.
#[doc(hidden)]
pub trait Prepend<A: 'static>: Args {
    type Prepended: Args;
    fn prepend<'v>(item: &'v A, rest: Self::Refs<'v>) -> <Self::Prepended as Args>::Refs<'v>;
}

impl<T: Send + Sync + 'static> Input for &Handle<T> {
    type Value = T;
    type Place = One<T>;

    fn place(&self) -> One<T> {
        One(self.slot)
    }

    fn upstream(&self) -> Upstream {
        Upstream {
            job: self.job,
            node: self.node,
            kind: Dependency::Task,
            len: 1,
        }
    }
}

impl<T: Send + Sync + 'static> Input for &Array<T> {
    type Value = [T];
    type Place = Whole<T>;

    fn place(&self) -> Whole<T> {
        Whole(self.slot, self.len)
    }

    fn upstream(&self) -> Upstream {
        Upstream {
            job: self.job,
            node: self.node,
            kind: Dependency::All,
            len: self.len,
        }
    }
}

impl<T: Send + Sync + 'static> EachInput for &Handle<T> {
    type Value = T;
    type Place = One<T>;

    fn place(&self) -> One<T> {
        Input::place(self)
    }

    fn upstream(&self) -> Upstream {
        Input::upstream(self)
    }
}

impl<T: Send + Sync + 'static> EachInput for &Array<T> {
    type Value = T;
    type Place = Same<T>;

    fn place(&self) -> Same<T> {
        Same(self.slot, self.len)
    }

    fn upstream(&self) -> Upstream {
        Upstream {
            job: self.job,
            node: self.node,
            kind: Dependency::Each,
            len: self.len,
        }
    }
}

impl<T: Send + Sync + 'static> EachInput for All<'_, T> {
    type Value = [T];
    type Place = Whole<T>;

    fn place(&self) -> Whole<T> {
        Input::place(&self.0)
    }

    fn upstream(&self) -> Upstream {
        Input::upstream(&self.0)
    }
}

impl<T: Send + Sync + 'static> EachInputs for &Array<T> {
    type Args = (Ref<T>,);
    type Places = (Same<T>,);

    fn places(&self) -> Self::Places {
        (EachInput::place(self),)
    }

    fn upstreams(&self, visit: &mut dyn FnMut(Upstream)) {
        visit(EachInput::upstream(self));
    }
}

macro_rules! single_inputs {
    ($($handle:ident => $place:ident, $value:ty;)*) => {$(
        impl<T: Send + Sync + 'static> Inputs for &$handle<T> {
            type Args = (Ref<$value>,);
            type Places = ($place<T>,);

            fn places(&self) -> Self::Places {
                (Input::place(self),)
            }

            #[inline]
            fn upstreams(&self, visit: &mut dyn FnMut(Upstream)) {
                visit(Input::upstream(self));
            }
        }
    )*};
}

single_inputs! {
    Handle => One, T;
    Array => Whole, [T];
}

macro_rules! tuples {
    ($($name:ident $index:tt),*) => {
        #[allow(clippy::unused_unit, clippy::needless_lifetimes, reason = "for no input at all the tuples are units")]
        const _: () = {
        impl<$($name: ?Sized + 'static),*> Args for ($(Ref<$name>,)*) {
            type Refs<'v> = ($(&'v $name,)*);
        }

        impl<Item: 'static, $($name: ?Sized + 'static),*> Prepend<Item> for ($(Ref<$name>,)*) {
            type Prepended = (Ref<Item>, $(Ref<$name>,)*);

            #[inline]
            fn prepend<'v>(item: &'v Item, _rest: Self::Refs<'v>) -> (&'v Item, $(&'v $name,)*) {
                (item, $(_rest.$index,)*)
            }
        }

        impl<$($name: Place),*> Places for ($($name,)*) {
            type Args = ($(Ref<$name::Value>,)*);
            const OWNED: bool = false $(|| $name::OWNED)*;

            fn relocate(&mut self, _to: &mut dyn FnMut(u32) -> u32) {
                $(self.$index.relocate(_to);)*
            }

            #[inline]
            unsafe fn get<'v>(&self, _values: &'v Values, _index: usize) -> ($(&'v $name::Value,)*) {
                // SAFETY: the caller's.
                ($(unsafe { self.$index.get(_values, _index) },)*)
            }

            #[inline]
            unsafe fn release(&self, _values: &Values, _index: usize) {
                // SAFETY: the caller's.
                $(unsafe { self.$index.release(_values, _index) };)*
            }

            #[inline]
            unsafe fn finish(&self, _values: &Values) {
                // SAFETY: the caller's.
                $(unsafe { self.$index.finish(_values) };)*
            }
        }

        impl<$($name: Input),*> Inputs for ($($name,)*) {
            type Args = ($(Ref<$name::Value>,)*);
            type Places = ($($name::Place,)*);

            fn places(&self) -> Self::Places {
                ($(self.$index.place(),)*)
            }

            #[inline]
            fn upstreams(&self, _visit: &mut dyn FnMut(Upstream)) {
                $(_visit(self.$index.upstream());)*
            }
        }

        impl<$($name: sealed::Sealed),*> sealed::Sealed for ($($name,)*) {}
        };
    };
}

tuples!();
tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);

/// One argument more than inputs can be: an item, and six inputs.
impl<A, B, C, D, E, F, G> Args for (Ref<A>, Ref<B>, Ref<C>, Ref<D>, Ref<E>, Ref<F>, Ref<G>)
where
    A: ?Sized + 'static,
    B: ?Sized + 'static,
    C: ?Sized + 'static,
    D: ?Sized + 'static,
    E: ?Sized + 'static,
    F: ?Sized + 'static,
    G: ?Sized + 'static,
{
    type Refs<'v> = (&'v A, &'v B, &'v C, &'v D, &'v E, &'v F, &'v G);
}

macro_rules! each_tuples {
    ($($name:ident $index:tt),*) => {
        impl<'a, T: Send + Sync + 'static, $($name: EachInput),*> EachInputs for (&'a Array<T>, $($name,)*) {
            type Args = (Ref<T>, $(Ref<$name::Value>,)*);
            type Places = (Same<T>, $($name::Place,)*);

            fn places(&self) -> Self::Places {
                (EachInput::place(&self.0), $(self.$index.place(),)*)
            }

            fn upstreams(&self, visit: &mut dyn FnMut(Upstream)) {
                visit(EachInput::upstream(&self.0));
                $(visit(self.$index.upstream());)*
            }
        }
    };
}

each_tuples!();
each_tuples!(A 1);
each_tuples!(A 1, B 2);
each_tuples!(A 1, B 2, C 3);
each_tuples!(A 1, B 2, C 3, D 4);
each_tuples!(A 1, B 2, C 3, D 4, E 5);

mod sealed {
    use super::{All, Array, Handle};

    #[allow(
        unreachable_pub,
        reason = "a sealed trait must be nameable in the signatures of those it seals"
    )]
    pub trait Sealed {}
    impl<T> Sealed for &Handle<T> {}
    impl<T> Sealed for &Array<T> {}
    impl<T> Sealed for All<'_, T> {}
}
