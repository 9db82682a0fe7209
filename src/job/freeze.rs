//! Checks a job, and lays it out in the form in which it is run.

use super::addition::Late;
use super::build::Job;
use super::distinct::DistinctSettings;
use super::frozen::{Frozen, FrozenJob, element_wise_edges, is_each};
use crate::graph::{Csr, FreezeError, GraphSource};
use crate::model::{Defect, DefectKind, Error, Result, TaskSettings};
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};

impl Job {
    /// Whether the job can be run as described.
    ///
    /// # Errors
    /// [`InvalidJob`](crate::ErrorKind::InvalidJob), listing everything that is wrong.
    pub fn check(&self) -> Result<()> {
        let defects = self.all_defects();
        if defects.is_empty() {
            Ok(())
        } else {
            Err(Error::invalid_job(&self.name, defects))
        }
    }

    /// Everything that is wrong, as far as the job can tell by itself.
    pub(crate) fn all_defects(&self) -> Vec<Defect> {
        let unknown = self
            .by_name
            .iter()
            .filter(|(_, name)| self.ties.is_none() && !self.names.contains_key(name.as_str()));
        let unknown = unknown
            .map(|(node, name)| self.defect_of(*node, DefectKind::UnknownName(name.clone())));
        let defects = self.defects.iter().cloned().chain(unknown);
        let defects = defects.chain(self.exit_defects());
        defects.chain(self.waiting_circle()).collect()
    }

    /// The job in the form in which it is run: compact, immutable, and run as often as you like.
    ///
    /// # Errors
    /// As [`check`](Job::check).
    pub fn freeze(self) -> Result<FrozenJob> {
        self.check()?;
        self.lay_out(&[]).map(FrozenJob::new)
    }

    /// Lays out a job that was found sound. `late` are its ties to what a run has already.
    pub(crate) fn lay_out(mut self, late: &[Late]) -> Result<Frozen> {
        let room = self.numbers.nodes.len();
        if self.units.len() > room {
            return Err(self.too_many(&FreezeError::TooMany));
        }
        for (before, after) in self.named_edges() {
            self.add_order(before, after);
        }
        let whole = late.iter().filter(|late| !late.is_each());
        let held: Vec<_> = whole.map(|late| late.node).collect();
        let frozen = self.edges.freeze(&held);
        let mut csr = frozen.map_err(|why| self.too_many(&why))?;
        self.count_conditions(&mut csr, late);
        self.count_wanted();
        self.settings
            .values_mut()
            .for_each(|settings| *settings = std::mem::take(settings).or(&self.defaults));
        let loose = self.loose_edges(&csr);
        let settings = self.settings.values().chain([&self.defaults]);
        let acts_on_success = settings.into_iter().any(TaskSettings::acts_on_success);
        let queued = self.queue_units();
        let requests = self.distinct_requests();
        let tasks = self.len();
        Ok(Frozen {
            base: self.numbers.nodes.start,
            open: self.whole.open,
            late: late.into(),
            elements: self.numbers.elements.start..self.elements,
            first_counts: Mutex::new(csr.in_degrees.to_vec()),
            csr,
            tag: self.tag,
            name: self.name,
            policy: self.whole.policy,
            units: self.units.into_boxed_slice(),
            arrays: self.arrays.into_boxed_slice(),
            tasks,
            layout: self.layout,
            owners: self.owners,
            #[cfg(feature = "journal")]
            inputs: self.inputs.into_pairs(),
            labels: self.labels,
            names: self.names,
            priority: self.whole.priority,
            time_limit: self.whole.time_limit,
            task_order: self.whole.order(),
            max_parallel_tasks: self.whole.max_parallel_tasks,
            rules: self.whole.rules,
            loose,
            acts_on_success,
            queued,
            asynchronous: self.asynchronous,
            requests,
            defaults: self.defaults,
            settings: DistinctSettings::new(self.settings),
            #[cfg(feature = "command")]
            command_settings: self.command_settings,
            reverse: OnceLock::new(),
        })
    }
}

/// The steps of freezing.
impl Job {
    /// The dependencies by name that a task of that name exists for.
    pub(super) fn named_edges(&self) -> Vec<(u32, u32)> {
        let edge = |(node, name): &(u32, String)| Some((*self.names.get(name.as_str())?, *node));
        self.by_name.iter().filter_map(edge).collect()
    }

    /// A cycle, if there is one. Dependencies on earlier tasks can't make one, so most jobs need no search.
    fn waiting_circle(&self) -> Option<Defect> {
        let backward = |(before, after): &(u32, u32)| before >= after;
        if !self.edges.may_have_cycle() && !self.named_edges().iter().any(backward) {
            return None;
        }
        let path = self.graph().find_cycle()?;
        let mut names: Vec<_> = path.iter().map(|&node| self.label(node)).collect();
        names.extend(names.first().cloned());
        Some(Defect {
            index: None,
            task: None,
            kind: DefectKind::Cycle(names),
        })
    }

    /// Tells each owned output how many will let go of it; one more than they are keeps it for the run.
    fn count_wanted(&mut self) {
        self.kept.sort_unstable();
        for &owner in &self.owners {
            let readers = self.wanted[owner as usize];
            // Whoever is added to an open job may read it, too.
            let kept = readers == 0 || self.whole.open || self.kept.binary_search(&owner).is_ok();
            self.units[owner as usize].set_wanted(readers + u32::from(kept));
        }
    }

    /// What each array's elements wait for. Arrays that wait only for other arrays' elements are no sources.
    fn count_conditions(&mut self, csr: &mut Csr, late: &[Late]) {
        let mut late_each = HashMap::<u32, u32>::new();
        let each = late.iter().filter(|late| late.is_each());
        each.for_each(|late| *late_each.entry(late.node).or_default() += 1);
        for part in &mut self.arrays {
            let late = late_each.get(&part.node).copied().unwrap_or_default();
            let each = part.each_from.len() as u32 + late;
            let waits_as_a_whole = each == 0 || csr.in_degrees[part.node as usize] > 0;
            part.conditions = each + u32::from(waits_as_a_whole);
        }
        if !late_each.is_empty() || self.arrays.iter().any(|part| !part.each_from.is_empty()) {
            let opens = |node: u32| {
                let array = self.array_of(node);
                let each = |array: u32| !self.arrays[array as usize].each_from.is_empty();
                !array.is_some_and(each) && !late_each.contains_key(&node)
            };
            csr.sources = csr
                .sources
                .iter()
                .copied()
                .filter(|&node| opens(node))
                .collect();
        }
    }

    fn too_many(&self, why: &FreezeError) -> Error {
        let defect = match why {
            FreezeError::Crowded(node) => self.defect_of(*node, DefectKind::TooManyDependencies),
            _ => Defect {
                index: None,
                task: None,
                kind: DefectKind::TooManyTasks,
            },
        };
        Error::invalid_job(&self.name, vec![defect])
    }
}

impl GraphSource for Job {
    fn node_count(&self) -> u32 {
        self.units.len() as u32
    }

    fn edges(&self, visit: &mut dyn FnMut(u32, u32)) {
        self.edges.edges(visit);
        self.named_edges()
            .into_iter()
            .for_each(|(before, after)| visit(before, after));
        element_wise_edges(&self.arrays, visit);
    }

    fn name(&self, node: u32) -> Option<&str> {
        self.labels.get(&node).map(|name| &**name)
    }

    fn tasks(&self, node: u32) -> u32 {
        self.array_of(node)
            .map_or(1, |array| self.arrays[array as usize].len)
    }

    fn is_array(&self, node: u32) -> bool {
        self.array_of(node).is_some()
    }

    fn is_each(&self, from: u32, to: u32) -> bool {
        is_each(&self.arrays, from, to)
    }
}
