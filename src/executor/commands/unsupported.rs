//! Where there is no agent, an executor offers no commands, and is given none.

use crate::executor::{Lease, LeaseId};
use crate::work::Launcher;
use std::convert::Infallible;

/// Runs no commands.
#[derive(Debug)]
pub(in crate::executor) struct Commands;

impl Commands {
    pub(in crate::executor) const SUPPORTED: bool = false;

    pub(in crate::executor) fn new(_: super::Workplace, _: bool) -> Self {
        Commands
    }

    pub(in crate::executor) fn of<'a>(&'a self, _: &'a Lease) -> Option<Infallible> {
        None
    }

    pub(in crate::executor) fn stop(&self, _: LeaseId) {}
}

/// Where commands would work.
#[cfg(not(feature = "command"))]
#[derive(Clone, Default, Debug)]
pub(in crate::executor) struct Workplace {}

impl Launcher for Infallible {
    #[cfg(feature = "command")]
    fn launch(&self, _: &crate::model::Command) -> crate::work::Launched {
        match *self {}
    }
}
