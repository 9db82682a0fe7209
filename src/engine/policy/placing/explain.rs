//! Why something does not run, and what never will, in words.

use super::classes::Gang;
use super::names::Shortage;
use super::needs::{Request, Stock};
use super::{ClassId, NodeKey, Placing, Position, Rank, RunKey};
use crate::model::Capacity;
use std::fmt;

/// A request that no node could ever meet.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) struct TooLarge {
    pub(crate) request: Request,
    pub(crate) gang: Option<Gang>,
    /// The node that comes nearest; none when it is one that may be provisioned.
    pub(crate) nearest: Option<NodeKey>,
    /// What that node lacks. Nothing, when only a gang's tasks together are too many.
    pub(crate) lacks: Vec<Shortage>,
    /// How many of a gang's tasks could run at once.
    pub(crate) at_once: u32,
}

/// Nodes that the pool may come to have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Provision {
    pub(crate) capacity: Capacity,
    /// How many of them at most.
    pub(crate) nodes: u32,
}

/// Why a ready task does not run, node by node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Explanation {
    pub(crate) request: Request,
    pub(crate) gang: Option<Gang>,
    /// How many classes have more urgent tasks ready.
    pub(crate) before: usize,
    pub(crate) nodes: Vec<(NodeKey, Obstacle)>,
}

/// What keeps a task from running on a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Obstacle {
    /// It could not run there if nothing else did.
    TooSmall(Vec<Shortage>),
    /// Others hold what it needs.
    InUse(Vec<Shortage>),
    /// What is free is kept for these more urgent requests.
    Reserved(Vec<Request>),
    /// Nothing: it has room, and waits for the node to ask, its turn, its run's limit, or the rest of its gang.
    None,
}

impl Placing {
    /// Whether the request could ever be met, by nodes that have joined or by those that may be provisioned. With
    /// neither, nothing is known, and nothing refused.
    pub(crate) fn fits_ever(
        &self,
        class: ClassId,
        provisions: &[Provision],
    ) -> Result<(), TooLarge> {
        self.could_fit(class, None, provisions)
    }

    /// The same for tasks that start together.
    pub(crate) fn gang_fits_ever(
        &self,
        class: ClassId,
        gang: Gang,
        provisions: &[Provision],
    ) -> Result<(), TooLarge> {
        self.could_fit(class, Some(gang), provisions)
    }

    fn could_fit(
        &self,
        class: ClassId,
        gang: Option<Gang>,
        provisions: &[Provision],
    ) -> Result<(), TooLarge> {
        let class = self.floor.classes.get(class);
        let all = self.capacities(provisions);
        let most = gang.map_or(1, Gang::on_one_node);
        let rooms = all
            .iter()
            .map(|(_, own, nodes)| own.times(&class.needs, most).saturating_mul(*nodes));
        let at_once = rooms.fold(0, u32::saturating_add);
        if all.is_empty() || at_once >= gang.map_or(1, |gang| gang.tasks) {
            return Ok(());
        }
        let nearest = all
            .iter()
            .min_by_key(|(_, own, _)| own.shortfall(&class.needs));
        let lacks =
            nearest.map(|(_, own, _)| own.shortages(&class.needs, &self.floor.classes.names));
        Err(TooLarge {
            request: (*class.request).clone(),
            gang,
            nearest: nearest.and_then(|&(key, ..)| key),
            lacks: lacks.unwrap_or_default(),
            at_once,
        })
    }

    /// What there is and may come to be, and how many times.
    fn capacities(&self, provisions: &[Provision]) -> Vec<(Option<NodeKey>, Stock, u32)> {
        let nodes = self
            .floor
            .nodes
            .iter()
            .map(|(key, node)| (Some(key), node.own.clone(), 1));
        let provisions = provisions.iter().map(|provision| {
            let names = &self.floor.classes.names;
            (
                None,
                Stock::new(&provision.capacity, &mut names.clone()),
                provision.nodes,
            )
        });
        nodes.chain(provisions).collect()
    }

    /// Why a ready task of this class and rank is not running.
    pub(crate) fn explain(&self, class: ClassId, gang: Option<Gang>, rank: Rank) -> Explanation {
        let position = Position::new(rank, u64::MAX, u32::MAX);
        let urgent =
            |&&(head, other, _): &&(Position, ClassId, RunKey)| other != class && head < position;
        let before: Vec<_> = self
            .ready
            .heads
            .iter()
            .take_while(|&&(head, ..)| head < position)
            .filter(urgent)
            .collect();
        let is_before = |other: ClassId| before.iter().any(|&&(_, class, _)| class == other);
        let nodes = self
            .floor
            .nodes
            .iter()
            .map(|(key, _)| (key, self.obstacle(key, class, &is_before)));
        Explanation {
            request: (*self.floor.classes.get(class).request).clone(),
            gang,
            before: before.len(),
            nodes: nodes.collect(),
        }
    }

    fn obstacle(
        &self,
        key: NodeKey,
        class: ClassId,
        is_before: &dyn Fn(ClassId) -> bool,
    ) -> Obstacle {
        let classes = &self.floor.classes;
        let needs = &classes.get(class).needs;
        let Some(node) = self.floor.nodes.get(key) else {
            return Obstacle::None;
        };
        let (never, now) = (
            node.own.shortages(needs, &classes.names),
            node.free.shortages(needs, &classes.names),
        );
        let mut left = node.free.clone();
        let urgent = || node.reserved.iter().filter(|&&(other, _)| is_before(other));
        urgent().for_each(|&(other, units)| left.withhold(&classes.get(other).needs, units));
        match left.fits(needs) {
            _ if !never.is_empty() => Obstacle::TooSmall(never),
            _ if !now.is_empty() => Obstacle::InUse(now),
            true => Obstacle::None,
            false => Obstacle::Reserved(
                urgent()
                    .map(|&(other, _)| (*classes.get(other).request).clone())
                    .collect(),
            ),
        }
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = if self.nearest.is_some() {
            "the largest node"
        } else {
            "the largest node there may be"
        };
        for (at, short) in self.lacks.iter().enumerate() {
            let (asks, has, what) = (short.asks, short.has, &short.dimension);
            write!(
                f,
                "{}asks for {asks} {what}; {node} has {has}",
                if at > 0 { ", and " } else { "" }
            )?;
        }
        match self.gang {
            Some(gang) if self.lacks.is_empty() => {
                let nodes = if gang.packed {
                    ""
                } else {
                    " on distinct nodes"
                };
                write!(
                    f,
                    "asks for {} tasks at once{nodes}, each with {}; ",
                    gang.tasks, self.request
                )?;
                write!(f, "the pool can run {} at once", self.at_once)
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.gang {
            Some(gang) => write!(f, "asks for {} × ({}) at once", gang.tasks, self.request)?,
            None => write!(f, "asks for {}", self.request)?,
        }
        if self.before > 0 {
            write!(
                f,
                "; more urgent tasks of {} other requests are ready",
                self.before
            )?;
        }
        if self.nodes.is_empty() {
            return f.write_str("; there is no node");
        }
        self.nodes
            .iter()
            .try_for_each(|(node, obstacle)| write!(f, "\nnode {}: {obstacle}", node.0))
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::TooSmall(lacks) => write!(f, "too small, it has {}", list(lacks)),
            Obstacle::InUse(lacks) => write!(f, "in use, it has free {}", list(lacks)),
            Obstacle::Reserved(requests) => write!(
                f,
                "kept for more urgent tasks that ask for {}",
                list(requests)
            ),
            Obstacle::None => f.write_str("has room"),
        }
    }
}

fn list(items: &[impl ToString]) -> String {
    items
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" and ")
}
