//! Which jobs an executor can't run, said before anything of them is started.

use super::Frozen;
use crate::model::Offer;
use crate::work::{AnyFunction, Kind};
use std::borrow::Cow;
use std::collections::HashMap;

/// Why a body can't be run, in words that follow its task's name.
type Why = Cow<'static, str>;

impl Frozen {
    /// The first task that an executor with this offer can't run, and why.
    pub(crate) fn unsupported(&self, offer: &Offer) -> Option<(String, Why)> {
        let mut refusals = Refusals {
            offer,
            functions: HashMap::new(),
        };
        if refusals.are_none() {
            return None;
        }
        let mut units = self.units.iter().enumerate();
        units.find_map(|(node, unit)| {
            let why = refusals.of(unit.kind())?;
            Some((self.node_label(node as u32), why))
        })
    }
}

struct Refusals<'a> {
    offer: &'a Offer,
    /// Those that were looked at, by their addresses: most tasks of a job have few functions.
    functions: HashMap<usize, bool>,
}

impl Refusals<'_> {
    /// Whether the executor can run everything.
    fn are_none(&self) -> bool {
        let offer = self.offer;
        let all = offer.closures && offer.asynchronous && offer.functions && offer.commands;
        all && offer.known.is_none()
    }

    fn of(&mut self, kind: Kind) -> Option<Why> {
        let offer = self.offer;
        let why = match kind {
            Kind {
                asynchronous: true, ..
            } if !offer.asynchronous => {
                "waits, which this pool's executor can't do; use a body that blocks"
            }
            Kind {
                function: Some(function),
                ..
            } if offer.functions => return self.of_function(function),
            Kind { command: true, .. } if offer.commands => return None,
            Kind { command: true, .. } => {
                "is a command, which this pool's executor can't run: it may need Linux"
            }
            _ if offer.closures => return None,
            Kind {
                function: Some(_), ..
            } => "is a function, which this pool's executor can't run",
            _ => "is a closure, which can't leave this process; use a `Function`",
        };
        Some(why.into())
    }

    fn of_function(&mut self, function: &'static dyn AnyFunction) -> Option<Why> {
        let known = self.offer.known.as_ref()?;
        let address = std::ptr::from_ref(function).cast::<()>() as usize;
        let is_known = self.functions.entry(address);
        let is_known = *is_known.or_insert_with(|| known.contains(&function.fingerprint()));
        (!is_known).then(|| {
            let fingerprint = function.fingerprint();
            format!("is the function {fingerprint}, which this pool's executor does not know; add it to its registry").into()
        })
    }
}
