//! The conversation with a Python process: frames over a socket, each waited for only so long.

use crate::scoring::scorer::Stop;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How often one who waits looks whether that is still wanted.
const GLANCE: Duration = Duration::from_millis(50);

/// Two lengths, a JSON object and bytes: see `driver.py`.
pub(super) struct Line {
    socket: UnixStream,
}

/// Why nothing came, or went.
#[derive(Debug)]
pub(super) enum Silence {
    TimedOut,
    /// Nobody wants it any more.
    Stopped,
    /// The other end is closed.
    Closed,
}

impl Line {
    pub(super) fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_read_timeout(Some(GLANCE))?;
        socket.set_write_timeout(Some(GLANCE))?;
        Ok(Line { socket })
    }

    pub(super) fn say(
        &mut self,
        message: &Value,
        body: &[&[u8]],
        limit: Duration,
        stop: Stop<'_>,
    ) -> Result<(), Silence> {
        let text = message.to_string();
        let body_len: usize = body.iter().map(|part| part.len()).sum();
        let lengths =
            [text.len(), body_len].map(|len| u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes());
        let patience = Patience::new(limit, stop);
        let mut frame = lengths.concat();
        frame.extend_from_slice(text.as_bytes());
        for part in [&frame[..]].iter().chain(body) {
            self.write(part, &patience)?;
        }
        Ok(())
    }

    pub(super) fn hear(
        &mut self,
        limit: Duration,
        stop: Stop<'_>,
    ) -> Result<(Value, Vec<u8>), Silence> {
        let patience = Patience::new(limit, stop);
        let lengths = self.read(8, &patience)?;
        let length =
            |at: usize| lengths[at..at + 4].try_into().map_or(0, u32::from_le_bytes) as usize;
        let text = self.read(length(0), &patience)?;
        let body = self.read(length(4), &patience)?;
        let message = serde_json::from_slice(&text).map_err(|_| Silence::Closed)?;
        Ok((message, body))
    }

    fn read(&mut self, len: usize, patience: &Patience<'_>) -> Result<Vec<u8>, Silence> {
        let mut bytes = vec![0; len];
        let mut filled = 0;
        while filled < len {
            filled += patience.go_on(self.socket.read(&mut bytes[filled..]))?;
        }
        Ok(bytes)
    }

    fn write(&mut self, bytes: &[u8], patience: &Patience<'_>) -> Result<(), Silence> {
        let mut written = 0;
        while written < bytes.len() {
            written += patience.go_on(self.socket.write(&bytes[written..]))?;
        }
        Ok(())
    }
}

/// How long somebody waits.
struct Patience<'a> {
    until: Option<Instant>,
    stop: Stop<'a>,
}

impl<'a> Patience<'a> {
    fn new(limit: Duration, stop: Stop<'a>) -> Self {
        let until = Instant::now().checked_add(limit);
        Patience { until, stop }
    }

    /// How far one step went: nowhere, if it may be taken again.
    fn go_on(&self, step: io::Result<usize>) -> Result<usize, Silence> {
        use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
        match step {
            Ok(0) => Err(Silence::Closed),
            Ok(bytes) => Ok(bytes),
            Err(error) if !matches!(error.kind(), Interrupted | TimedOut | WouldBlock) => {
                Err(Silence::Closed)
            }
            Err(_) if (self.stop)() => Err(Silence::Stopped),
            Err(_) if self.until.is_some_and(|until| Instant::now() >= until) => {
                Err(Silence::TimedOut)
            }
            Err(_) => Ok(0),
        }
    }
}
