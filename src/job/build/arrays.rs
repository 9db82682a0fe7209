//! Adding task arrays.

use super::{Job, collect};
use crate::graph::Dependency;
use crate::job::addition::Needs;
use crate::job::frozen::{ArrayPart, array_of_node};
use crate::model::{Defect, DefectKind, Name};
use crate::work::{
    Array, Body, EachInputs, Inputs, Prepend, Slot, Unit, Upstream, each_unit, index_unit, map_unit,
};

impl Job {
    /// Adds a task array with one element for each item, which its body reads by reference.
    ///
    /// An array is one object, however long: a million elements cost their items, a few bits, and their outputs.
    pub fn map<A, B, M>(
        &mut self,
        name: impl Into<Name>,
        items: impl IntoIterator<Item = A>,
        body: B,
    ) -> Array<B::Output>
    where
        A: Send + Sync + 'static,
        B: Body<<() as Prepend<A>>::Prepended, M>,
        M: 'static,
    {
        self.map_with(name, items, (), body)
    }

    /// As [`map`](Job::map); every element's body also reads `inputs`, whole, after its item.
    pub fn map_with<A, I, B, M>(
        &mut self,
        name: impl Into<Name>,
        items: impl IntoIterator<Item = A>,
        inputs: I,
        body: B,
    ) -> Array<B::Output>
    where
        A: Send + Sync + 'static,
        I: Inputs,
        I::Args: Prepend<A>,
        B: Body<<I::Args as Prepend<A>>::Prepended, M>,
        M: 'static,
    {
        let node = self.begin_node(name.into());
        let (items, panicked) = collect(items);
        self.defects.extend(panicked.map(|defect| Defect {
            task: Some(self.label(node)),
            index: None,
            ..defect
        }));
        let mut upstreams = Vec::new();
        inputs.upstreams(&mut |input| upstreams.push(input));
        let mut places = inputs.places();
        self.import(&mut places, &upstreams);
        let len = self.array_len(node, items.len());
        let slot = self.place(node, len);
        self.end_array(map_unit(body, items, places, slot), &upstreams, len, slot)
    }

    /// Adds a task array of so many elements, each of which reads its index. It costs no memory for them but a few bits,
    /// and their outputs.
    ///
    /// ```
    /// # let mut job = batchyard::Job::new("simulate");
    /// let energies = job.array("simulate", 1_000, |seed: &usize| (*seed as f64).sin());
    /// ```
    pub fn array<B, M>(&mut self, name: impl Into<Name>, len: usize, body: B) -> Array<B::Output>
    where
        B: Body<<() as Prepend<usize>>::Prepended, M>,
        M: 'static,
    {
        self.array_with(name, len, (), body)
    }

    /// As [`array`](Job::array); every element's body also reads `inputs`, whole, after its index.
    pub fn array_with<I, B, M>(
        &mut self,
        name: impl Into<Name>,
        len: usize,
        inputs: I,
        body: B,
    ) -> Array<B::Output>
    where
        I: Inputs,
        I::Args: Prepend<usize>,
        B: Body<<I::Args as Prepend<usize>>::Prepended, M>,
        M: 'static,
    {
        let node = self.begin_node(name.into());
        let mut upstreams = Vec::new();
        inputs.upstreams(&mut |input| upstreams.push(input));
        let mut places = inputs.places();
        self.import(&mut places, &upstreams);
        let len = self.array_len(node, len);
        let slot = self.place(node, len);
        let unit = index_unit(body, len, places, slot);
        self.end_array(unit, &upstreams, len, slot)
    }

    /// Adds a task array with one element for each element of another, whose output its body reads.
    ///
    /// An element runs as soon as the one it reads has succeeded. `inputs` is a `&Array`, or a tuple that begins with
    /// one; further `&Array`s are read element by element too, `&Handle`s and [`all`](crate::all)`(&array)` whole.
    pub fn each<I, B, M>(&mut self, name: impl Into<Name>, inputs: I, body: B) -> Array<B::Output>
    where
        I: EachInputs,
        B: Body<I::Args, M>,
        M: 'static,
    {
        let node = self.begin_node(name.into());
        let mut upstreams = Vec::new();
        inputs.upstreams(&mut |input| upstreams.push(input));
        let len = upstreams.first().map_or(0, |first| first.len);
        let uneven = upstreams
            .iter()
            .find(|input| input.kind == Dependency::Each && input.len != len);
        if let Some(other) = uneven {
            self.defect(node, DefectKind::LengthMismatch(len, other.len));
        }
        let mut places = inputs.places();
        self.import(&mut places, &upstreams);
        let len = self.array_len(node, len as usize);
        let slot = self.place(node, len);
        self.end_array(each_unit(body, places, slot, len), &upstreams, len, slot)
    }
}

/// The steps of adding an array.
impl Job {
    fn end_array<T>(
        &mut self,
        unit: Box<dyn Unit>,
        upstreams: &[Upstream],
        len: u32,
        slot: Slot<T>,
    ) -> Array<T> {
        let node = self.units.len() as u32;
        let mut each = Vec::new();
        for &input in upstreams {
            match input.kind {
                // Without elements nothing happens element by element: the array waits for the other as a whole.
                Dependency::Each if len == 0 => self.depend(node, input),
                Dependency::Each if input.job == self.tag => {
                    self.want(input);
                    each.extend(self.array_of(self.local(input.task())));
                }
                Dependency::Each => self.follow_earlier(node, input.task(), Needs::Each),
                _ => self.depend(node, input),
            }
        }
        each.sort_unstable();
        each.dedup();
        let (array, first) = (self.arrays.len() as u32, self.elements);
        each.iter()
            .for_each(|&from| self.arrays[from as usize].each_to.push(array));
        self.arrays.push(ArrayPart::new(node, first, len, each));
        self.elements += len;
        self.end_node(unit);
        Array {
            job: self.tag,
            node: self.number(node),
            slot,
            first,
            len,
        }
    }

    /// The length of a new array; none if the job would hold too many elements.
    fn array_len(&mut self, node: u32, len: usize) -> u32 {
        let room = (self.numbers.elements.end - self.elements) as usize;
        if len > room {
            self.defect(node, DefectKind::TooManyTasks);
            return 0;
        }
        len as u32
    }

    pub(in crate::job) fn array_of(&self, node: u32) -> Option<u32> {
        array_of_node(&self.arrays, node).map(|array| array as u32)
    }
}
