//! Resource classes: each distinct request is one small integer.

use super::ClassId;
use super::names::Names;
use super::needs::{Needs, Request};
use super::rank::Position;
use rustc_hash::FxHashMap;

/// All classes there have been.
#[derive(Default)]
pub(super) struct Classes {
    classes: Vec<Class>,
    ids: FxHashMap<Request, ClassId>,
    pub(super) names: Names,
}

pub(super) struct Class {
    pub(super) needs: Needs,
    /// Its tasks have several instances.
    pub(super) gang: Option<Gang>,
    pub(super) hold: Hold,
    /// Apart, so that what each decision looks at lies close together.
    pub(super) request: Box<Request>,
}

/// The instances of a task that start together or not at all.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Gang {
    pub(super) instances: u32,
    /// Several may share a node.
    pub(super) packed: bool,
}

/// What is kept for the first task of a class, or why nothing needs to be.
#[derive(Default)]
pub(super) struct Hold {
    /// The reservation: nodes, and for how many tasks each.
    pub(super) places: Vec<(u32, u32)>,
    /// How far the reserved node was from having room, at some time. It has come nearer since, unless something more
    /// urgent ran there.
    pub(super) shortfall: u64,
    /// A node that had room.
    pub(super) witness: u32,
    /// No node could ever hold it, as of this epoch.
    pub(super) hopeless: u32,
    /// Where the class is in the order.
    pub(super) head: Option<Position>,
}

impl Classes {
    /// The class of a request, and whether it is new.
    pub(super) fn intern(&mut self, request: &Request) -> (ClassId, bool) {
        if let Some(&class) = self.ids.get(request) {
            return (class, false);
        }
        let class = ClassId(self.classes.len() as u32);
        let needs = Needs::new(request, &mut self.names);
        self.classes.push(Class {
            needs,
            gang: request.gang(),
            hold: Hold::default(),
            request: Box::new(request.clone()),
        });
        self.ids.insert(request.clone(), class);
        (class, true)
    }

    pub(super) fn get(&self, class: ClassId) -> &Class {
        &self.classes[class.0 as usize]
    }

    pub(super) fn get_mut(&mut self, class: ClassId) -> &mut Class {
        &mut self.classes[class.0 as usize]
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = ClassId> + use<> {
        (0..self.classes.len() as u32).map(ClassId)
    }
}
