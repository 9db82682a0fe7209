//! One child: its start, the conversation with it, its end.

use super::board::Board;
use super::death::ChildDied;
use super::frames::{self, Arrival, Incoming};
use super::logging;
use super::printed::Streams;
use super::protocol::{Said, Setup, VARIABLE, VERSION};
use super::settings::Settings;
use crate::agent::{Companion, Companions, Stop};
use crate::model::{Fingerprint, LaunchError};
use crate::work::{AnyFunction, encode, take};
use rustc_hash::FxHashMap;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{self, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use thiserror::Error;

/// How long a program may take until it calls `init`.
const START_PATIENCE: Duration = Duration::from_secs(30);

/// How often one who waits for a child's initialisation looks whether that is still wanted.
const GLANCE: Duration = Duration::from_millis(50);

/// How long a child that is no longer needed may take to end by itself.
const END_PATIENCE: Duration = Duration::from_millis(500);

pub(super) struct Child {
    companion: Companion,
    socket: UnixStream,
    incoming: Incoming,
    pub(super) board: Board,
    pub(super) streams: Streams,
    functions: Vec<Fingerprint>,
    /// Where it has the functions that were looked for, by their addresses here.
    places: FxHashMap<usize, Result<u32, Unknown>>,
    /// How many items it was sent.
    pub(super) served: u64,
    /// How much memory it had when it was last weighed.
    pub(super) resident: u64,
}

/// What a child, or the wait for it, had to say.
pub(super) enum Heard {
    /// A message, and what followed it.
    Said(Said, Vec<u8>),
    /// The request to stop.
    Stop,
    /// Nothing in that time.
    Nothing,
    /// The child is gone, or talks nonsense.
    End,
}

/// Why there is no child.
#[derive(Debug, Error)]
pub(super) enum StartError {
    #[error("no child process could be started: {0}")]
    Launch(#[from] LaunchError),
    #[error("no child process could be started: {0}")]
    System(#[from] io::Error),
    #[error("the child process did not get ready: {0}")]
    Refused(String),
    #[error("{0}, before it was ready; is `batchyard::init` the first that its `main` calls?")]
    Died(ChildDied),
    #[error(
        "the child process did not call `batchyard::init` within {START_PATIENCE:?}; it must be the first that its `main` calls"
    )]
    Silent,
    #[error(
        "the child process speaks version {0} of the protocol, and this program {VERSION}; build both with the same batchyard"
    )]
    Version(u32),
    #[error("the pool is closed")]
    Closed,
}

/// A child does not know a function as its parent does.
#[derive(Clone, Debug, Error)]
pub(super) enum Unknown {
    #[error("the child process does not know {0}; add it to its registry")]
    Missing(Box<Fingerprint>),
    #[error(
        "the child process knows the function as {theirs}, its parent as {ours}; build both anew, or raise the version"
    )]
    Differs {
        ours: Box<Fingerprint>,
        theirs: Box<Fingerprint>,
    },
}

impl Child {
    /// Starts a child, and waits until it is ready.
    pub(super) fn start(
        settings: &Settings,
        companions: &Companions,
        is_wanted: impl Fn() -> bool,
    ) -> Result<Self, StartError> {
        let (socket, theirs) = UnixStream::pair()?;
        let (board, streams) = (Board::new()?, Streams::new()?);
        let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let [stdout, stderr] = &streams.files;
        let companion = companions.start(
            &settings.program,
            &settings.args,
            &[(VARIABLE.into(), "1".into())],
            &directory,
            [theirs.as_fd(), stdout.as_fd(), stderr.as_fd()],
        )?;
        drop(theirs);
        let mut child = Child {
            companion,
            socket,
            incoming: Incoming::new(settings.frame_limit as usize),
            board,
            streams,
            functions: Vec::new(),
            places: FxHashMap::default(),
            served: 0,
            resident: 0,
        };
        match child.greet(settings, is_wanted) {
            Ok(()) => Ok(child),
            Err(StartError::Closed) => Err(StartError::Closed),
            Err(error) => Err(child.explain(error, companions)),
        }
    }

    fn greet(
        &mut self,
        settings: &Settings,
        is_wanted: impl Fn() -> bool,
    ) -> Result<(), StartError> {
        // What can't be sent is found out by listening.
        let _ = self.hand_over_board();
        self.socket.set_nonblocking(true)?;
        let frame = setup(settings)?;
        let (mut sending, begun) = (&frame[..], Instant::now());
        loop {
            match self.talk(&mut sending, None, Some(GLANCE)) {
                Heard::Said(Said::Hello { version, functions }, _) => {
                    self.functions = functions;
                    if version != VERSION {
                        return Err(StartError::Version(version));
                    }
                }
                Heard::Said(Said::Ready, _) => return Ok(()),
                Heard::Said(Said::Refused(why), _) => return Err(StartError::Refused(why)),
                Heard::End => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Heard::Nothing if !is_wanted() => return Err(StartError::Closed),
                Heard::Nothing if self.functions.is_empty() && begun.elapsed() > START_PATIENCE => {
                    return Err(StartError::Silent);
                }
                _ => (),
            }
        }
    }

    /// Sends what is left of a frame, and waits: for a message, for a request to stop, and at most so long.
    pub(super) fn talk(
        &mut self,
        sending: &mut &[u8],
        stop: Option<&Stop>,
        wait: Option<Duration>,
    ) -> Heard {
        let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
        loop {
            match self.message() {
                Ok(Some((said, more))) => return Heard::Said(said, more),
                Ok(None) => (),
                Err(_) => return Heard::End,
            }
            self.send(sending);
            let mut flags = PollFlags::IN;
            flags.set(PollFlags::OUT, !sending.is_empty());
            let mut awaited = vec![PollFd::new(&self.socket, flags)];
            awaited.extend(stop.map(|stop| PollFd::new(stop, PollFlags::IN)));
            match poll(&mut awaited, wait.as_ref()) {
                Ok(0) => return Heard::Nothing,
                Ok(_)
                    if awaited
                        .get(1)
                        .is_some_and(|stop| !stop.revents().is_empty()) =>
                {
                    return Heard::Stop;
                }
                _ => (),
            }
            match self.incoming.read(&mut &self.socket) {
                Ok(Arrival::End) | Err(_) => return Heard::End,
                Ok(_) => (),
            }
        }
    }

    /// A message that has arrived whole, and what follows it.
    fn message(&mut self) -> io::Result<Option<(Said, Vec<u8>)>> {
        let Some(frame) = self.incoming.next()? else {
            return Ok(None);
        };
        let (said, more) = take(frame).map_err(io::Error::other)?;
        Ok(Some((said, more.to_vec())))
    }

    /// Sends what has room. To a child that is gone, nothing: what it said before is still to be heard.
    fn send(&mut self, sending: &mut &[u8]) {
        while !sending.is_empty() {
            match (&self.socket).write(sending) {
                Ok(sent) => *sending = &sending[sent..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => *sending = &[],
            }
        }
    }

    /// Sends the descriptor of the memory that both share.
    fn hand_over_board(&self) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let descriptors = [self.board.as_fd()];
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
        let flags = SendFlags::NOSIGNAL;
        sendmsg(&self.socket, &[IoSlice::new(&[0])], &mut control, flags)?;
        Ok(())
    }

    /// Where it has a function.
    pub(super) fn place_of(&mut self, function: &'static dyn AnyFunction) -> Result<u32, Unknown> {
        let address = std::ptr::from_ref(function).cast::<()>() as usize;
        let functions = &self.functions;
        let place = self.places.entry(address);
        place
            .or_insert_with(|| find(functions, function.fingerprint()))
            .clone()
    }

    /// It has done enough: it ends by itself, or is ended.
    pub(super) fn retire(self) {
        drop(self.socket);
        self.companion.ends_within(END_PATIENCE);
        let _ = self.companion.end();
    }

    /// Ends it, and what came of it.
    pub(super) fn kill(&self) {
        self.companion.kill();
    }

    /// How it died. `None` if it was killed.
    pub(super) fn bury(self, companions: &Companions) -> Option<ChildDied> {
        self.companion.ends_within(END_PATIENCE);
        let [_, stderr] = self.streams.rest();
        let ended = self.companion.end();
        ChildDied::new(ended, || companions.memory_was_short(), &stderr)
    }

    /// Why it was never ready: if it died, that says more.
    fn explain(self, error: StartError, companions: &Companions) -> StartError {
        match error {
            StartError::System(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let died = self.bury(companions);
                died.map_or(StartError::System(error), StartError::Died)
            }
            error => error,
        }
    }
}

fn setup(settings: &Settings) -> io::Result<Vec<u8>> {
    let setup = Setup {
        frame_limit: settings.frame_limit,
        init: settings.init.clone(),
        weigh: settings.recycle_above.is_some(),
        log_level: logging::level(),
    };
    let mut frame = Vec::new();
    frames::begin(&mut frame);
    encode(&setup, &mut frame).map_err(io::Error::other)?;
    frames::end(&mut frame);
    Ok(frame)
}

fn find(functions: &[Fingerprint], ours: Fingerprint) -> Result<u32, Unknown> {
    if let Some(place) = functions.iter().position(|theirs| *theirs == ours) {
        return Ok(u32::try_from(place).unwrap_or(u32::MAX));
    }
    let same_name = functions.iter().filter(|theirs| theirs.name == ours.name);
    let nearest = same_name.min_by_key(|theirs| theirs.version != ours.version);
    Err(match nearest.cloned() {
        Some(theirs) => Unknown::Differs {
            ours: Box::new(ours),
            theirs: Box::new(theirs),
        },
        None => Unknown::Missing(Box::new(ours)),
    })
}
