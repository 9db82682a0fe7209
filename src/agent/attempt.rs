//! One attempt of a command, step by step.

use super::capture::{Capture, last_words};
use super::container::{Contained, Fate, Order};
use super::directory::{AttemptDirectory, Leavings};
use super::environment::container;
use super::launch::Launch;
use super::supervise::{Cause, Supervised, Supervision};
use super::sys::{Child, End, Tree};
use super::{Agent, Assignment, Site, Stop, files};
use crate::model::{
    BoxError, Captured, Command, CommandFailure, CommandOutput, CommandRules, Container, Ending,
    ExitCode, FileUploadError, Kept, LaunchError, LiveStream, PreProcessingError, Retention,
    Straggler, UploadError, Usage,
};
use rustix::process::Resource;
use std::borrow::Cow;
use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How much of its standard error an error quotes.
const LAST_WORDS: u64 = 2 << 10;

/// One attempt, until it has ended.
pub(super) struct Attempt<'a> {
    agent: &'a Agent,
    site: &'a Site,
    command: &'a Command,
    assignment: &'a Assignment<'a>,
    stop: &'a Stop,
    rules: CommandRules,
    /// When its time began.
    begun: Instant,
    directory: AttemptDirectory,
}

/// What is known when all of its processes have ended.
struct Ended {
    ending: Option<Ending>,
    streams: [Captured; 2],
    lost: Option<io::Error>,
    usage: Usage,
    stragglers: Vec<Straggler>,
}

impl<'a> Attempt<'a> {
    pub(super) fn begin(
        agent: &'a Agent,
        site: &'a Site,
        command: &'a Command,
        assignment: &'a Assignment<'a>,
        stop: &'a Stop,
    ) -> Result<Self, LaunchError> {
        Ok(Attempt {
            agent,
            command,
            assignment,
            stop,
            rules: CommandRules::of(&command.settings, assignment.settings),
            begun: Instant::now(),
            directory: site.root.attempt()?,
            site,
        })
    }

    /// Runs the command to its end.
    pub(super) fn run(self) -> Result<CommandOutput, BoxError> {
        match self.execute() {
            Ok(ended) => self.conclude(ended),
            Err(error) => Err(PreProcessingError::new(error).into()),
        }
    }

    fn execute(&self) -> Result<Ended, LaunchError> {
        let working = self.directory.working();
        files::put(&self.command.files, &working)?;
        let agent = self.agent;
        let variables =
            agent
                .surroundings
                .of(self.command, &self.rules, self.assignment, &self.directory);
        let leash = agent.leash.another();
        let container = container(self.command, self.assignment);
        let contained = container
            .map(|container| self.contain(container, &leash))
            .transpose()?;
        let (command, variables) = match container.zip(contained.as_ref()) {
            None => (Cow::Borrowed(self.command), variables),
            Some((container, contained)) => {
                let wrapped = contained.wrap(container, variables, &self.order(&leash))?;
                (Cow::Owned(wrapped.0), wrapped.1)
            }
        };
        let launch = Launch::prepare(&command, variables, &working, leash)?;
        let (child, pipes) = launch.start(self.stop)?;
        let started = Instant::now();
        if contained.is_none() {
            self.limit(&child);
        }
        let tree = Tree::new(child.pid(), launch.into_leash(), &pipes);
        let supervised = self.supervise(&child, &tree, pipes);
        let end = child.reap().map_err(LaunchError::Stolen)?;
        let ended = self.judge(&end, supervised, started.elapsed());
        match contained {
            None => Ok(ended),
            Some(contained) => self.of_program(ended, &contained),
        }
    }

    fn contain(&self, container: &Container, leash: &CStr) -> Result<Contained, LaunchError> {
        if let Some(problem) = container.problem() {
            return Err(LaunchError::NoContainer(problem));
        }
        let engine = self.agent.engine(self.site)?;
        Ok(Contained::new(engine, container, leash))
    }

    fn order<'b>(&'b self, leash: &'b CStr) -> Order<'b> {
        Order {
            command: self.command,
            rules: &self.rules,
            assignment: self.assignment,
            directory: &self.directory,
            leash,
        }
    }

    /// Tells how the program in a container ended from how the engine did.
    fn of_program(&self, mut ended: Ended, contained: &Contained) -> Result<Ended, LaunchError> {
        let Some(Ending::Code(code)) = ended.ending else {
            return Ok(ended);
        };
        match contained.fate(code) {
            Fate::Ended => Ok(ended),
            Fate::OutOfMemory => {
                ended.ending = Some(Ending::OutOfMemory);
                Ok(ended)
            }
            Fate::NeverStarted => {
                let said = last_words(&ended.streams[1], LAST_WORDS);
                let written = ended.streams.iter().filter_map(Captured::path);
                drop(Leavings::new(
                    written.map(Path::to_owned).collect(),
                    self.directory.root(),
                ));
                Err(contained.never_started(said))
            }
        }
    }

    /// The system's limits hold from a moment after the start. One beyond the application's own can't be set, and isn't.
    fn limit(&self, child: &Child) {
        let rules = &self.rules;
        let seconds = |limit: Duration| limit.as_secs() + u64::from(limit.subsec_nanos() > 0);
        if let Some(limit) = rules.cpu_time_limit {
            let _ = child.limit(Resource::Cpu, seconds(limit));
        }
        if let Some(files) = rules.open_files_limit {
            let _ = child.limit(Resource::Nofile, files);
        }
        if let Some(niceness) = rules.niceness {
            let _ = child.set_niceness(niceness);
        }
    }

    fn supervise(&self, child: &Child, tree: &Tree, [stdout, stderr]: [OwnedFd; 2]) -> Supervised {
        let live = |name| Arc::new(LiveStream::new(self.output(name), self.rules.output_limit));
        let [to_stdout, to_stderr] = ["stdout.txt", "stderr.txt"].map(live);
        (self.assignment.show)([to_stdout.clone(), to_stderr.clone()]);
        let streams = [
            Capture::new(stdout, to_stdout),
            Capture::new(stderr, to_stderr),
        ];
        let time = self.assignment.time_limit;
        let until = time.and_then(|limit| self.begun.checked_add(limit));
        Supervision::new(child, tree, self.stop, &self.rules, streams, until).run()
    }

    /// Where something of the attempt is put that outlives it.
    fn output(&self, what: &str) -> PathBuf {
        let name = format!("{}-{what}", self.assignment.key);
        self.directory.root().output(&name)
    }

    fn judge(&self, end: &End, supervised: Supervised, wall: Duration) -> Ended {
        let [(stdout, lost), (stderr, lost_too)] = supervised.streams.map(Capture::end);
        Ended {
            ending: self.ending(end, supervised.cause),
            streams: [stdout, stderr],
            lost: lost.or(lost_too),
            usage: Usage {
                wall,
                user: end.user,
                system: end.system,
                peak_memory: end.peak_memory,
                bytes_read: end.bytes_read,
                bytes_written: end.bytes_written,
            },
            stragglers: supervised.stragglers,
        }
    }

    /// How the command ended, if not well. What we did to it goes before what became of the program.
    fn ending(&self, end: &End, cause: Option<Cause>) -> Option<Ending> {
        let time_limit = self.assignment.time_limit.unwrap_or_default();
        match (cause, end.code, end.signal) {
            (Some(Cause::Cancelled), ..) => Some(Ending::Cancelled),
            (Some(Cause::TimeLimit), ..) => Some(Ending::TimeLimit(time_limit)),
            (Some(Cause::MemoryLimit(bytes)), ..) => Some(Ending::MemoryLimit(bytes)),
            (_, Some(0), _) => None,
            (_, Some(code), _) => Some(Ending::Code(code)),
            (_, None, Some(9)) if self.agent.oom.has_struck() => Some(Ending::OutOfMemory),
            (_, None, signal) => Some(Ending::Signal(signal.unwrap_or_default())),
        }
    }

    /// Picks up files, removes what is not kept, and says how it went.
    fn conclude(self, mut ended: Ended) -> Result<CommandOutput, BoxError> {
        let (files, upload) = match self.pick_up(&mut ended) {
            Ok(files) => (files, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let (ending, [stdout, stderr]) = (ended.ending, ended.streams);
        let last_words = match ending {
            Some(_) => last_words(&stderr, LAST_WORDS),
            None => String::new(),
        };
        let streams = [&stdout, &stderr]
            .into_iter()
            .filter_map(|stream| stream.path());
        let leavings = streams
            .map(Path::to_owned)
            .chain(self.own_files(&files))
            .collect();
        let (directory, kept) = self.retain(ending, upload.is_none(), leavings);
        let output = CommandOutput {
            stdout,
            stderr,
            files,
            usage: ended.usage,
            stragglers: ended.stragglers,
            directory,
            kept,
        };
        let exit = ending.map_or(Some(0), Ending::code);
        match (ending, upload.zip(exit)) {
            (_, Some((error, code))) => {
                Err(FileUploadError::new(error).after(ExitCode(code)).into())
            }
            (Some(ending), None) => Err(CommandFailure::new(ending, output, last_words).into()),
            (None, None) => Ok(output),
        }
    }

    fn pick_up(&self, ended: &mut Ended) -> Result<Vec<PathBuf>, UploadError> {
        let own = self.output("files");
        if let Some(cause) = ended.lost.take() {
            return Err(UploadError::new("what it wrote", &own, cause));
        }
        match ended.ending {
            Some(Ending::Cancelled) => Ok(Vec::new()),
            ending => {
                let working = self.directory.working();
                files::pick_up(&self.command.outputs, ending.is_none(), &working, &own)
            }
        }
    }

    /// Where files were put that were wanted nowhere else.
    fn own_files(&self, files: &[PathBuf]) -> Option<PathBuf> {
        let own = self.output("files");
        files
            .iter()
            .any(|file| file.starts_with(&own))
            .then_some(own)
    }

    /// Gives the working directory back, or leaves it and says where it is; then what else there is stays too. Otherwise
    /// whoever holds what is returned keeps that.
    fn retain(
        self,
        ending: Option<Ending>,
        complete: bool,
        leavings: Vec<PathBuf>,
    ) -> (Option<PathBuf>, Option<Kept>) {
        let is_over = ending.is_none() && complete || ending == Some(Ending::Cancelled);
        let stays = match self.rules.retention {
            Retention::Keep => true,
            Retention::Remove => false,
            Retention::RemoveOnSuccess => !is_over,
        };
        if stays {
            let working = self.directory.working();
            self.directory.leave();
            return (Some(working), None);
        }
        let leavings = Leavings::new(leavings, self.directory.root());
        (None, leavings.map(|leavings| Arc::new(leavings) as Kept))
    }
}
