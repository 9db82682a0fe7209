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
    gang: Option<Gang>,
    /// What the node that comes nearest lacks. Nothing, when only a gang's instances together are too many.
    pub(crate) lacks: Vec<Shortage>,
    /// How many instances could run at once.
    pub(crate) at_once: u32,
}

/// Why a ready task does not run, node by node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Explanation {
    request: Request,
    /// How many classes have more urgent tasks ready.
    pub(crate) before: usize,
    /// By name.
    pub(crate) nodes: Vec<(String, Obstacle)>,
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
    /// Whether the request could ever be met: by nodes that have joined, or by those that are
    /// offered. While nothing is offered, nothing is known, and nothing refused.
    pub(crate) fn fits_ever(&self, class: ClassId, offered: &[Capacity]) -> Result<(), TooLarge> {
        let joined: Vec<_> = self
            .floor
            .nodes
            .iter()
            .map(|(_, node)| node.own.clone())
            .collect();
        let mut names = self.floor.classes.names.clone();
        let offered: Vec<_> = offered
            .iter()
            .map(|node| Stock::new(node, &mut names))
            .collect();
        if offered.is_empty() {
            return Ok(());
        }
        self.could_fit(class, &joined)
            .or_else(|_| self.could_fit(class, &offered))
    }

    fn could_fit(&self, class: ClassId, nodes: &[Stock]) -> Result<(), TooLarge> {
        let class = self.floor.classes.get(class);
        let gang = class.gang;
        let most = gang.map_or(1, Gang::on_one_node);
        let rooms = nodes.iter().map(|own| own.times(&class.needs, most));
        let at_once = rooms.fold(0, u32::saturating_add);
        if at_once >= gang.map_or(1, |gang| gang.instances) {
            return Ok(());
        }
        let nearest = nodes.iter().min_by_key(|own| own.shortfall(&class.needs));
        let lacks = nearest.map(|own| own.shortages(&class.needs, &self.floor.classes.names));
        Err(TooLarge {
            request: (*class.request).clone(),
            gang,
            lacks: lacks.unwrap_or_default(),
            at_once,
        })
    }

    /// Why a ready task of this class and rank is not running. `name` says what a node is called.
    pub(crate) fn explain(
        &self,
        class: ClassId,
        rank: Rank,
        name: &dyn Fn(NodeKey) -> String,
    ) -> Explanation {
        let position = Position::behind(rank);
        let urgent =
            |&(head, other, _): &(Position, ClassId, RunKey)| other != class && head < position;
        let before: Vec<_> = self.ready.heads.iter().filter(urgent).collect();
        let is_before = |other: ClassId| before.iter().any(|&(_, class, _)| class == other);
        let nodes = self
            .floor
            .nodes
            .iter()
            .map(|(key, _)| (name(key), self.obstacle(key, class, &is_before)));
        Explanation {
            request: (*self.floor.classes.get(class).request).clone(),
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
        let left = self.floor.left(key, is_before).unwrap_or_default();
        let urgent = || {
            node.reserved()
                .iter()
                .filter(|&&(other, _)| is_before(other))
        };
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

impl fmt::Display for NodeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.0)
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, short) in self.lacks.iter().enumerate() {
            let (asks, has, what) = (short.asks, short.has, &short.dimension);
            write!(
                f,
                "{}asks for {asks} {what}; the largest node has {has}",
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
                write!(f, "asks for {}, at once{nodes}; ", self.request)?;
                write!(f, "the pool can run {} at once", self.at_once)
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "asks for {}", self.request)?;
        if self.before > 0 {
            let requests = if self.before == 1 {
                "request"
            } else {
                "requests"
            };
            write!(
                f,
                "; more urgent tasks of {} other {requests} are ready",
                self.before
            )?;
        }
        if self.nodes.is_empty() {
            return f.write_str("; there is no node");
        }
        self.nodes
            .iter()
            .try_for_each(|(node, obstacle)| write!(f, "\n{node}: {obstacle}"))
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
