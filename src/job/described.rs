//! What was said of a job, for those who write it down.

use super::{Job, Rules};
use crate::graph::GraphSource;
use crate::model::{Command, CommandSettings, FailurePolicy, Sweep, TaskOrder, TaskSettings};
use std::collections::HashSet;
use std::time::Duration;

/// A job as it was described.
pub(crate) struct Described<'a> {
    pub(crate) failure_policy: FailurePolicy,
    pub(crate) priority: i32,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) task_order: Option<TaskOrder>,
    pub(crate) max_parallel_tasks: Option<u32>,
    pub(crate) rules: Rules,
    pub(crate) open: bool,
    pub(crate) defaults: &'a TaskSettings,
    pub(crate) command_settings: &'a CommandSettings,
    pub(crate) nodes: Vec<DescribedNode<'a>>,
}

/// A task or array as it was described. Others are told of by position.
pub(crate) struct DescribedNode<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) label: String,
    /// None of a body that is something else.
    pub(crate) command: Option<(&'a Command, Option<&'a Sweep>)>,
    pub(crate) settings: Option<&'a TaskSettings>,
    pub(crate) keep: bool,
    pub(crate) after: Vec<u32>,
    pub(crate) after_any_outcome: Vec<u32>,
}

impl Job {
    pub(crate) fn described(&self) -> Described<'_> {
        Described {
            failure_policy: self.whole.policy,
            priority: self.whole.priority,
            time_limit: self.whole.time_limit,
            task_order: self.whole.task_order,
            max_parallel_tasks: self.whole.max_parallel_tasks,
            rules: self.whole.rules,
            open: self.whole.open,
            defaults: &self.defaults,
            command_settings: &self.command_settings,
            nodes: self.described_nodes(),
        }
    }

    fn described_nodes(&self) -> Vec<DescribedNode<'_>> {
        let count = self.units.len() as u32;
        let mut nodes: Vec<_> = (0..count).map(|node| self.described_node(node)).collect();
        for &node in &self.kept {
            nodes[node as usize].keep = true;
        }
        let loose = self.loose_pairs();
        self.edges(&mut |from, to| {
            let node = &mut nodes[to as usize];
            match loose.contains(&(from, to)) {
                true => node.after_any_outcome.push(from),
                false => node.after.push(from),
            }
        });
        for node in &mut nodes {
            for after in [&mut node.after, &mut node.after_any_outcome] {
                after.sort_unstable();
                after.dedup();
            }
        }
        nodes
    }

    fn described_node(&self, node: u32) -> DescribedNode<'_> {
        DescribedNode {
            name: self.labels.get(&node).map(|name| &**name),
            label: self.label(node),
            command: self.units[node as usize].command(),
            settings: self.settings.get(&node),
            keep: false,
            after: Vec::new(),
            after_any_outcome: Vec::new(),
        }
    }

    /// Edges that any outcome passes. Where success is waited for too, that counts.
    fn loose_pairs(&self) -> HashSet<(u32, u32)> {
        let mut pairs: HashSet<_> = self.any_outcome.iter().copied().collect();
        pairs.retain(|&(from, to)| !self.edges.had(from, to));
        let strict = self.order_only.iter().copied().chain(self.named_edges());
        strict.for_each(|pair| {
            pairs.remove(&pair);
        });
        pairs
    }
}
