//! From the start of a program to the end of the last process that came of it.
//!
//! One thread waits for everything at once: the program's end, what it writes, the request to stop, the time. The child
//! is not reaped meanwhile, so its id, and its group's, can't become anybody else's.

use super::capture::Capture;
use super::stop::Stop;
use super::sys::{Child, Process, Tree};
use crate::model::{CommandRules, Straggler, Stragglers};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How often a command's memory is looked at, if it has a limit.
const MEMORY_INTERVAL: Duration = Duration::from_millis(100);

/// How long processes are killed over and over. Some wait for a device, and none can be killed then.
const KILL_PATIENCE: Duration = Duration::from_secs(10);

/// How long a killed process takes to disappear.
const KILL_INTERVAL: Duration = Duration::from_millis(5);

/// A command that has been started.
pub(super) struct Supervision<'a> {
    child: &'a Child,
    tree: &'a Tree,
    stop: &'a Stop,
    rules: &'a CommandRules,
    streams: [Capture; 2],
    buffer: Vec<u8>,
    /// When its time is over.
    until: Option<Instant>,
    /// When its memory is to be looked at, if it has a limit.
    weighed: Option<Instant>,
    phase: Phase,
    has_exited: bool,
    /// Descendants that were there when last looked.
    left: Vec<Process>,
    cause: Option<Cause>,
    stragglers: Vec<Straggler>,
}

/// Why we ended a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cause {
    Cancelled,
    TimeLimit,
    MemoryLimit(u64),
    /// Only what its program had left behind.
    Stragglers,
}

/// How it stands.
#[derive(Clone, Copy)]
enum Phase {
    Running,
    /// The program has exited, and others have until then.
    Leaving(Option<Instant>),
    /// All were asked to end, and have until then.
    Asked(Option<Instant>),
    /// All are being killed, until then.
    Killed(Instant),
    Over,
}

/// What a wait ended with.
struct Heard {
    spoke: [bool; 2],
    exited: bool,
    other: bool,
}

/// What came of it.
pub(super) struct Supervised {
    pub(super) streams: [Capture; 2],
    /// Why it was ended, if it was.
    pub(super) cause: Option<Cause>,
    pub(super) stragglers: Vec<Straggler>,
}

impl<'a> Supervision<'a> {
    pub(super) fn new(
        child: &'a Child,
        tree: &'a Tree,
        stop: &'a Stop,
        rules: &'a CommandRules,
        streams: [Capture; 2],
        until: Option<Instant>,
    ) -> Self {
        Supervision {
            child,
            tree,
            stop,
            rules,
            streams,
            buffer: Vec::new(),
            until,
            weighed: rules.memory_limit.map(|_| Instant::now()),
            phase: Phase::Running,
            has_exited: false,
            left: Vec::new(),
            cause: None,
            stragglers: Vec::new(),
        }
    }

    /// Stays until nothing of the command is left.
    pub(super) fn run(mut self) -> Supervised {
        while !matches!(self.phase, Phase::Over) {
            let heard = self.listen();
            self.has_exited |= heard.exited;
            if heard.exited {
                // Its own ends are closed by now: whoever holds one after this is a descendant.
                self.drain();
            }
            // Between two pieces of output there is nothing else to do.
            if self.read(heard.spoke) || heard.exited || heard.other || self.is_due() {
                self.phase = self.next();
            }
        }
        self.drain();
        Supervised {
            streams: self.streams,
            cause: self.cause,
            stragglers: self.stragglers,
        }
    }

    /// Waits until something happens, or it is time for something.
    fn listen(&self) -> Heard {
        let streams = self.streams.each_ref().map(Capture::pipe);
        let exit = (!self.has_exited).then(|| readable(self.child));
        let stop = self.cause.is_none().then(|| readable(self.stop));
        // What descendants do matters when the program has ended.
        let left = self.left.iter().filter(|_| self.has_exited).map(readable);
        let pipes = streams.iter().flatten().map(readable);
        let mut awaited: Vec<_> = pipes.chain(exit).chain(stop).chain(left).collect();
        let _ = poll(&mut awaited, self.timeout().map(timespec).as_ref());
        let mut happened = awaited.iter().map(|awaited| !awaited.revents().is_empty());
        Heard {
            spoke: streams.map(|pipe| pipe.is_some() && happened.next() == Some(true)),
            exited: !self.has_exited && happened.next() == Some(true),
            other: happened.any(|happened| happened),
        }
    }

    /// Takes what was written. Says whether a stream has come to its end.
    fn read(&mut self, spoke: [bool; 2]) -> bool {
        let mut has_ended = false;
        for (stream, _) in self
            .streams
            .iter_mut()
            .zip(spoke)
            .filter(|(_, spoke)| *spoke)
        {
            stream.read(&mut self.buffer);
            has_ended |= stream.pipe().is_none();
        }
        has_ended
    }

    /// Takes all that is there.
    fn drain(&mut self) {
        for stream in &mut self.streams {
            stream.drain(&mut self.buffer);
        }
    }

    /// Until when there is nothing to do by itself.
    fn timeout(&self) -> Option<Duration> {
        let until = match self.phase {
            Phase::Running => earlier(self.until, self.weighed),
            Phase::Leaving(until) => earlier(earlier(until, self.until), self.weighed),
            Phase::Asked(until) => until,
            Phase::Killed(_) => return Some(KILL_INTERVAL),
            Phase::Over => None,
        };
        until.map(|until| until.saturating_duration_since(Instant::now()))
    }

    fn is_due(&self) -> bool {
        matches!(self.phase, Phase::Killed(_)) || self.timeout() == Some(Duration::ZERO)
    }

    fn next(&mut self) -> Phase {
        let now = Instant::now();
        if self.has_exited {
            self.look();
            if self.left.is_empty() && (self.is_silent() || self.is_ending()) {
                return Phase::Over;
            }
        }
        if self.cause.is_none() {
            self.cause = self.reason_to_end(now);
            if self.cause.is_some() {
                return self.ask(now);
            }
        }
        match self.phase {
            Phase::Running if self.has_exited => Phase::Leaving(self.patience(now)),
            Phase::Asked(Some(until)) if now >= until => self.kill(now + KILL_PATIENCE),
            Phase::Killed(until) if now < until => self.kill(until),
            Phase::Killed(_) => Phase::Over,
            same => same,
        }
    }

    /// Looks for descendants. One that threw its environment away is known by the pipe that it holds.
    fn look(&mut self) {
        self.left = self.tree.descendants();
        if self.left.is_empty() && self.has_exited && !self.is_silent() {
            self.left = self.tree.holders();
        }
    }

    /// Whether nobody holds the other end of a pipe.
    fn is_silent(&self) -> bool {
        self.streams.iter().all(|stream| stream.pipe().is_none())
    }

    fn is_ending(&self) -> bool {
        matches!(self.phase, Phase::Asked(_) | Phase::Killed(_))
    }

    /// How long those that the program left behind have.
    fn patience(&self, now: Instant) -> Option<Instant> {
        match self.rules.stragglers {
            Stragglers::Kill(grace) => now.checked_add(grace),
            Stragglers::Await => None,
        }
    }

    fn reason_to_end(&mut self, now: Instant) -> Option<Cause> {
        if self.stop.is_requested() {
            return Some(Cause::Cancelled);
        }
        if self.until.is_some_and(|until| now >= until) {
            return Some(Cause::TimeLimit);
        }
        if matches!(self.phase, Phase::Leaving(Some(until)) if now >= until) {
            self.name_stragglers();
            return Some(Cause::Stragglers);
        }
        self.weigh(now)
    }

    fn weigh(&mut self, now: Instant) -> Option<Cause> {
        let limit = self
            .rules
            .memory_limit
            .filter(|_| self.weighed <= Some(now))?;
        self.weighed = now.checked_add(MEMORY_INTERVAL);
        let bytes = self.tree.resident();
        (bytes > limit).then_some(Cause::MemoryLimit(bytes))
    }

    fn name_stragglers(&mut self) {
        let named = |process: &Process| Straggler {
            pid: process.pid(),
            name: process.name().to_owned(),
        };
        self.stragglers = self.left.iter().map(named).collect();
    }

    /// Asks all to end.
    fn ask(&mut self, now: Instant) -> Phase {
        if matches!(self.cause, Some(Cause::MemoryLimit(_))) {
            return self.kill(now + KILL_PATIENCE);
        }
        self.signal(Signal::TERM);
        // A process that was stopped could not hear it.
        self.signal(Signal::CONT);
        Phase::Asked(now.checked_add(self.rules.kill_grace))
    }

    fn kill(&mut self, until: Instant) -> Phase {
        self.signal(Signal::KILL);
        Phase::Killed(until)
    }

    /// Sends a signal to the group, and to those that have left it.
    fn signal(&mut self, signal: Signal) {
        self.child.signal_group(signal);
        self.look();
        for process in &self.left {
            if !self.tree.is_in_group(process) {
                process.signal(signal);
            }
        }
    }
}

fn readable(of: &impl AsFd) -> PollFd<'_> {
    PollFd::new(of, PollFlags::IN)
}

fn earlier<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    one.into_iter().chain(other).min()
}

/// Rounded up, so that what is due is due when the wait ends.
fn timespec(duration: Duration) -> Timespec {
    let duration = duration.saturating_add(Duration::from_micros(1));
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
