//! What is added to a job while it runs: described like a job of its own, with ties to what the run has already.

use super::settings::JobSettings;
use super::{Frozen, Job};
use crate::model::{Defect, DefectKind, JobTag, MAX_INDEX, TaskId};
use crate::work::{MAX_IMPORTS, Places, TaskRef, Upstream, import};
use std::collections::HashMap;
use std::ops::Range;

/// The numbers that what is described together gives its nodes and its elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Numbers {
    pub(crate) nodes: Range<u32>,
    pub(crate) elements: Range<u32>,
}

/// What ties an addition to the run.
#[derive(Default)]
pub(crate) struct Ties {
    /// By ascending node.
    pub(crate) late: Vec<Late>,
    /// Outputs that it reads, in the order of their imports.
    pub(crate) imports: Vec<Import>,
    /// Dependencies by name that none of its own tasks has.
    pub(crate) named: Vec<(u32, String)>,
}

/// A dependency on what the run has already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Late {
    /// The node that waits, counted within the addition.
    pub(crate) node: u32,
    /// Of what was described with the other. None for what was found by its name.
    pub(crate) job: Option<JobTag>,
    pub(crate) from: TaskId,
    pub(crate) needs: Needs,
}

/// What a dependency on what the run has already needs of the other's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Needs {
    /// Its output.
    Value,
    /// Each element, the output of the one at its own position.
    Each,
    /// Its success, or what its exit conditions count as that.
    Success,
    /// Nothing but that it has ended.
    End,
}

/// An output of what the run has already: of which node, and where it lies there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Import {
    pub(crate) job: JobTag,
    pub(crate) node: u32,
    pub(crate) at: u32,
}

impl Default for Numbers {
    fn default() -> Self {
        Numbers {
            nodes: 0..MAX_INDEX,
            elements: 0..MAX_INDEX,
        }
    }
}

impl Job {
    /// A job whose runs take [more tasks](crate::Run::add) while they run, also from [inside](crate::Context::add) its
    /// tasks. They end when they are [sealed](crate::Run::seal) and all tasks have ended.
    ///
    /// An open job's runs keep all outputs as long as they live themselves, since what is added later may read them.
    ///
    /// ```
    /// use batchyard::{Job, Pool, ThreadExecutor};
    ///
    /// let mut job = Job::open("readings");
    /// let first = job.task("first", (), || 20);
    /// let pool = Pool::new(ThreadExecutor::new(2)?);
    /// let run = pool.submit(job)?;
    ///
    /// let sum = run.add(|more| more.task("sum", &first, |first: &i32| first + 22))?;
    /// run.seal();
    /// assert_eq!(*run.output(&sum).wait()?, 42);
    /// assert_eq!(run.wait()?.succeeded, 2);
    /// # Ok::<(), batchyard::Error>(())
    /// ```
    pub fn open(name: impl Into<String>) -> Self {
        let mut job = Job::new(name);
        job.whole.open = true;
        job
    }

    /// An addition to a run of `first`, with numbers of its own.
    pub(crate) fn addition_to(first: &Frozen, numbers: Numbers) -> Self {
        let mut job = Job::new(first.name.clone());
        job.whole = JobSettings::of(first);
        job.defaults = first.defaults.clone();
        #[cfg(feature = "command")]
        job.command_settings(first.command_settings.clone());
        job.elements = numbers.elements.start;
        job.numbers = numbers;
        job.ties = Some(Box::default());
        job
    }

    pub(crate) fn tag(&self) -> JobTag {
        self.tag
    }

    /// How many of the numbers were used.
    pub(crate) fn used(&self) -> (u32, u32) {
        (
            self.units.len() as u32,
            self.elements - self.numbers.elements.start,
        )
    }

    /// What is wrong with an addition to a run of `first`, as far as it can tell by itself.
    pub(crate) fn changes_whole(&self, first: &Frozen) -> Option<Defect> {
        (self.whole != JobSettings::of(first)).then_some(Defect {
            index: None,
            task: None,
            kind: DefectKind::JobSettings,
        })
    }

    /// Takes out what ties it to the run. Its own names have been looked at first.
    pub(crate) fn take_ties(&mut self) -> Ties {
        let mut ties = self.ties.take().map(|ties| *ties).unwrap_or_default();
        let (own, named) = std::mem::take(&mut self.by_name)
            .into_iter()
            .partition(|(_, name)| self.names.contains_key(name.as_str()));
        self.by_name = own;
        ties.named = named;
        ties
    }

    pub(crate) fn names(&self) -> &HashMap<std::sync::Arc<str>, u32> {
        &self.names
    }

    /// The node follows a task that the run has already: an edge that the flow doesn't know.
    #[cold]
    pub(super) fn follow_earlier(&mut self, node: u32, before: TaskRef, needs: Needs) {
        let late = Late {
            node,
            job: Some(before.job),
            from: before.task,
            needs,
        };
        match &mut self.ties {
            Some(ties) => ties.late.push(late),
            None => self.defect(node, DefectKind::ForeignHandle),
        }
    }

    /// The places of inputs of which some may be outputs of what the run has already.
    #[cold]
    pub(super) fn import(&mut self, places: &mut impl Places, upstreams: &[Upstream]) {
        let mut upstreams = upstreams.iter();
        places.relocate(&mut |at| match upstreams.next() {
            Some(input) if input.job != self.tag => self.import_one(input, at),
            _ => at,
        });
    }

    /// Where an input lies from here, which lies `at` there.
    pub(super) fn import_one(&mut self, input: &Upstream, at: u32) -> u32 {
        let Some(ties) = &mut self.ties else {
            return at;
        };
        let number = ties.imports.len() as u32;
        if number == MAX_IMPORTS {
            self.defect(self.units.len() as u32, DefectKind::TooManyDependencies);
            return at;
        }
        ties.imports.push(Import {
            job: input.job,
            node: input.node,
            at,
        });
        import(number)
    }
}

impl Needs {
    /// Whether what waits may go on after an end without success; with `satisfied`, exit conditions count it as one.
    pub(crate) fn passes(self, satisfied: bool) -> bool {
        match self {
            Needs::Value | Needs::Each => false,
            Needs::Success => satisfied,
            Needs::End => true,
        }
    }
}

impl Late {
    /// Whether it is between elements.
    pub(crate) fn is_each(&self) -> bool {
        self.needs == Needs::Each
    }
}

impl Upstream {
    /// The other node, for an edge.
    pub(super) fn task(&self) -> TaskRef {
        TaskRef {
            job: self.job,
            task: TaskId(self.node),
        }
    }
}
