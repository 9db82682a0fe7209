//! Long-lived processes that other rooms talk to, such as Python workers: started, found and ended as commands are.

use super::environment::{self, Environment};
use super::program;
use super::sys::{Child, Leash, Start, Tree, Watchdog};
use crate::model::LaunchError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long what came of a process is killed over and over.
const KILL_PATIENCE: Duration = Duration::from_secs(10);

/// The processes of one run: none of them outlives the application.
pub(crate) struct Companions {
    leash: Leash,
    #[cfg(feature = "process")]
    oom: super::oom::OomWatch,
    /// Its end is the watchdog's.
    _watchdog: Option<Watchdog>,
}

/// One such process, and all that came of it.
pub(crate) struct Companion {
    child: Child,
    tree: Tree,
}

/// How a process ended.
pub(crate) enum Ended {
    /// With this exit code.
    Exited(i32),
    /// Of this signal.
    Killed(i32),
}

impl Companions {
    pub(crate) fn new() -> Self {
        let leash = Leash::new();
        let _watchdog = Watchdog::start(&leash).ok();
        Companions {
            leash,
            #[cfg(feature = "process")]
            oom: super::oom::OomWatch::new(),
            _watchdog,
        }
    }

    /// Whether the system has killed something for want of memory since this was last asked.
    #[cfg(feature = "process")]
    pub(crate) fn memory_was_short(&self) -> bool {
        self.oom.has_struck()
    }

    /// Starts one, with the application's environment and what is added to it.
    pub(crate) fn start(
        &self,
        program: &OsStr,
        args: &[OsString],
        variables: &[(OsString, OsString)],
        directory: &Path,
        streams: [BorrowedFd<'_>; 3],
    ) -> Result<Companion, LaunchError> {
        let mut environment = Environment::new();
        let inherited = std::env::vars_os();
        for (name, value) in inherited.chain(variables.iter().cloned()) {
            environment.set(name, value);
        }
        let path = program::find(program, &environment, directory)?;
        let arguments = [program]
            .into_iter()
            .chain(args.iter().map(OsString::as_os_str));
        let args: Vec<CString> = arguments
            .map(environment::argument)
            .collect::<Result<_, _>>()?;
        let leash = self.leash.another();
        let env = environment.into_strings(leash.clone())?;
        let child = Child::start(&Start {
            program: &environment::path(&path)?,
            args: &args,
            env: &env,
            directory: &environment::path(directory)?,
            streams,
        });
        let child = child.map_err(|error| program::explain(error, &path, &args, &env))?;
        let tree = Tree::new(child.pid(), leash, &[]);
        Ok(Companion { child, tree })
    }
}

impl Companion {
    /// Kills it, and its group.
    #[cfg(feature = "process")]
    pub(crate) fn kill(&self) {
        self.child.signal_group(Signal::KILL);
    }

    /// Asks it to end.
    #[cfg(feature = "python")]
    pub(crate) fn ask(&self) {
        self.child.signal_group(Signal::TERM);
    }

    /// Waits for its end, at most so long. Returns whether it came.
    pub(crate) fn ends_within(&self, limit: Duration) -> bool {
        let Ok(limit) = Timespec::try_from(limit) else {
            return false;
        };
        let mut ended = [PollFd::new(&self.child, PollFlags::IN)];
        poll(&mut ended, Some(&limit)).is_ok_and(|ready| ready > 0)
    }

    /// Kills it, if it has not ended, and everything that came of it; tells how it ended.
    pub(crate) fn end(self) -> io::Result<Ended> {
        let until = Instant::now() + KILL_PATIENCE;
        self.child.signal_group(Signal::KILL);
        loop {
            let left = self.tree.descendants();
            left.iter().for_each(|process| process.signal(Signal::KILL));
            let Some(last) = left.last().filter(|_| Instant::now() < until) else {
                break;
            };
            let mut gone = [PollFd::new(last, PollFlags::IN)];
            let _ = poll(
                &mut gone,
                Some(&Timespec {
                    tv_sec: 1,
                    tv_nsec: 0,
                }),
            );
        }
        let end = self.child.reap()?;
        Ok(match end.signal {
            Some(signal) => Ended::Killed(signal),
            None => Ended::Exited(end.code.unwrap_or_default()),
        })
    }
}
