//! The child's side: takes batches, runs their items one after another, and says what came of each.

use super::board::Board;
use super::frames::{Arrival, FrameTooLarge, Incoming};
use super::line::{Line, RunHere};
use super::logging;
use super::printed::Prints;
use super::protocol::{BatchHead, Failure, ItemHead, Place, Record, Said, Setup, VERSION};
use crate::model::{BoxError, Panic, Permanent, TaskId};
use crate::work::{AnyFunction, Context, Host, Instance, Registry, decode, encode, take};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many runs' worker-local states are kept.
const RUNS: usize = 8;

/// How often the child is weighed at most.
const WEIGHING_INTERVAL: Duration = Duration::from_millis(100);

/// Serves the parent at the other end of standard input until that is closed.
pub(super) fn serve(registry: &Registry) -> io::Result<()> {
    let mut socket = take_socket()?;
    let board = Board::open(receive(&socket)?)?;
    let line = Arc::new(Line::new(board, socket.try_clone()?));
    let mut incoming = Incoming::new(u32::MAX as usize);
    let Some(frame) = next(&mut incoming, &mut socket)? else {
        return Ok(());
    };
    let setup: Setup = decode(frame).map_err(io::Error::other)?;
    Panic::note_places();
    logging::forward(&line, setup.log_level);
    let mut server = Server::new(registry, &setup, line);
    server.greet()?;
    if let Err(why) = prepare(registry, &setup, &server.line) {
        return server.line.say(&Said::Refused(why), &[]);
    }
    server.line.say(&Said::Ready, &[])?;
    while let Some(frame) = next(&mut incoming, &mut socket)? {
        server.run(frame)?;
    }
    Ok(())
}

/// Standard input leads to the parent. Bodies find an empty one there instead, and so do the processes they start.
fn take_socket() -> io::Result<UnixStream> {
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(socket.into())
}

/// Receives a descriptor.
fn receive(socket: &UnixStream) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut buffers = [IoSliceMut::new(&mut byte)];
    recvmsg(socket, &mut buffers, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let received = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    received.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// The parent's next frame; `None` if there won't be one.
fn next<'a>(incoming: &'a mut Incoming, socket: &mut UnixStream) -> io::Result<Option<&'a [u8]>> {
    while !incoming.has_frame()? {
        if incoming.read(socket)? == Arrival::End {
            return Ok(None);
        }
    }
    incoming.next()
}

/// Calls the function that each child is to call first.
fn prepare(registry: &Registry, setup: &Setup, line: &Arc<Line>) -> Result<(), String> {
    let Some(init) = &setup.init else {
        return Ok(());
    };
    let function = registry.get(&init.function.name, init.function.version);
    let function = function.ok_or_else(|| format!("it does not know {}", init.function))?;
    let host = Arc::new(RunHere::new(line, "initialisation"));
    let context = context(&host, &ItemHead::default());
    let call = || function.call(&context, &init.argument, &mut Vec::new());
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(format!("its initialisation failed: {error}")),
        Err(panic) => {
            let panic = Panic::from_payload(panic);
            Err(format!("its initialisation failed: {panic}"))
        }
    }
}

/// What a child is between two frames.
struct Server {
    functions: Vec<&'static dyn AnyFunction>,
    line: Arc<Line>,
    limit: usize,
    /// When it was weighed, if it is to be.
    weighed: Option<Option<Instant>>,
    resident: u64,
    runs: VecDeque<(u64, Arc<RunHere>)>,
    prints: Prints,
    record: Vec<u8>,
}

impl Server {
    fn new(registry: &Registry, setup: &Setup, line: Arc<Line>) -> Self {
        let functions: Vec<_> = registry.iter().collect();
        Server {
            prints: Prints::new(functions.len()),
            functions,
            line,
            limit: setup.frame_limit as usize,
            weighed: setup.weigh.then_some(None),
            resident: 0,
            runs: VecDeque::new(),
            record: Vec::new(),
        }
    }

    fn greet(&self) -> io::Result<()> {
        let functions = self.functions.iter().map(|function| function.fingerprint());
        let said = Said::Hello {
            version: VERSION,
            functions: functions.collect(),
        };
        self.line.say(&said, &[])
    }

    /// Runs a batch.
    fn run(&mut self, frame: &[u8]) -> io::Result<()> {
        let (head, mut rest): (BatchHead<'_>, _) = take(frame).map_err(io::Error::other)?;
        let host = self.host(head.run, head.job);
        self.prints.begin();
        let (mut item, mut function) = (0, 0);
        while !rest.is_empty() {
            let (head, after): (ItemHead<'_>, _) = take(rest).map_err(io::Error::other)?;
            let (argument, after) = argument(after).ok_or(io::ErrorKind::InvalidData)?;
            rest = after;
            function = head.function;
            self.item(item, &head, argument, &host)?;
            item += 1;
        }
        if let Some(ranges) = self.prints.written_in_batch(function) {
            self.tell_printed(item.saturating_sub(1), item, ranges)?;
        }
        self.weigh();
        let said = Said::Done {
            resident: self.resident,
            written: self.prints.written(),
        };
        self.line.say(&said, &[])
    }

    /// The run, with the worker-local states that it has here.
    fn host(&mut self, run: u64, job: &str) -> Arc<RunHere> {
        if let Some((_, host)) = self.runs.iter().find(|(known, _)| *known == run) {
            return host.clone();
        }
        let host = Arc::new(RunHere::new(&self.line, job));
        self.runs.push_front((run, host.clone()));
        self.runs.truncate(RUNS);
        host
    }

    fn item(
        &mut self,
        item: u32,
        head: &ItemHead<'_>,
        argument: &[u8],
        host: &Arc<RunHere>,
    ) -> io::Result<()> {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        self.enter(item, head);
        match self.line.board.enter(item) {
            true => self.call(head, argument, host, &mut record),
            false => put(&Record::Skipped, &mut record),
        }
        if let Some(ranges) = self.prints.written_by_item(head.function) {
            self.tell_printed(item, 1, ranges)?;
        }
        self.tell(item, &record)?;
        self.record = record;
        Ok(())
    }

    fn enter(&self, item: u32, head: &ItemHead<'_>) {
        let mut current = self.line.current();
        current.enter(item, head.task, head.attempt, head.index);
        if let Some(name) = head.name {
            current.name = name.into();
        }
    }

    /// Calls the function; adds the record of what came of it.
    fn call(
        &self,
        head: &ItemHead<'_>,
        argument: &[u8],
        host: &Arc<RunHere>,
        record: &mut Vec<u8>,
    ) {
        let Some(function) = self.functions.get(head.function as usize) else {
            return fail(&"no such function".into(), record);
        };
        put(&Record::Succeeded, record);
        let context = context(host, head);
        let called = catch_unwind(AssertUnwindSafe(|| {
            let result = function.call(&context, argument, record);
            result
                .and_then(|()| self.check(record))
                .map_err(|error| Failure::of_error(&error))
        }));
        let failure = match called {
            Ok(Ok(())) => return,
            Ok(Err(failure)) => failure,
            Err(panic) => Failure::of_panic(Panic::from_payload(panic)),
        };
        record.clear();
        put(&Record::Failed(failure), record);
    }

    /// Whether a record can be sent.
    fn check(&self, record: &[u8]) -> Result<(), BoxError> {
        let (len, limit) = (record.len() + 64, self.limit);
        let what = "an output";
        match len <= limit {
            true => Ok(()),
            false => Err(Permanent::new(FrameTooLarge { what, len, limit }).into()),
        }
    }

    fn tell_printed(&self, item: u32, items: u32, ranges: [(u64, u64); 2]) -> io::Result<()> {
        let mut record = Vec::new();
        put(&Record::Printed { items, ranges }, &mut record);
        self.tell(item, &record)
    }

    /// On the board, if it has room.
    fn tell(&self, item: u32, record: &[u8]) -> io::Result<()> {
        match self.line.board.record(item, record) {
            true => Ok(()),
            false => self.line.say(&Said::Output { item }, record),
        }
    }

    fn weigh(&mut self) {
        let Some(weighed) = &mut self.weighed else {
            return;
        };
        let now = Instant::now();
        if weighed.is_none_or(|before| now - before >= WEIGHING_INTERVAL) {
            *weighed = Some(now);
            self.resident = resident();
        }
    }
}

/// The argument's bytes, and the rest.
fn argument(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*len) as usize)
}

fn context(host: &Arc<RunHere>, head: &ItemHead<'_>) -> Context {
    let place = head.place.as_ref();
    let instance = place.map_or(Instance::ONLY, Place::instance);
    let gpus = place.map(|place| place.gpus.clone().into());
    let host: Arc<dyn Host> = host.clone();
    let task = TaskId(head.task);
    Context::new(host, task, head.index, head.attempt, instance, true, gpus)
}

fn put(record: &Record, to: &mut Vec<u8>) {
    // Nothing in a record could refuse to be written.
    let _ = encode(record, to);
}

fn fail(error: &BoxError, record: &mut Vec<u8>) {
    put(&Record::Failed(Failure::of_error(error)), record);
}

/// How many bytes of memory this process has resident.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1);
    let pages: u64 = pages.and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64
}
