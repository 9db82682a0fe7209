//! What goes over the socket between parent and child: a length of four bytes, and as many bytes.

use std::io::{self, Read};
use std::ops::Range;
use thiserror::Error;

/// How much is read at once, if nothing says that there is more.
const CHUNK: usize = 64 << 10;

/// What a buffer may hold when it is empty: one large frame must not cost memory for ever.
const KEPT: usize = 4 << 20;

/// The bytes of a length.
pub(super) const HEADER: usize = 4;

/// A value is larger than what parent and child may send each other in one piece: the cause of its task's failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error(
    "{what} has {len} bytes, more than the {limit} that a frame may have; raise `ProcessExecutor::frame_limit`, or pass the name of a file"
)]
pub struct FrameTooLarge {
    pub(super) what: &'static str,
    pub(super) len: usize,
    pub(super) limit: usize,
}

/// Leaves room for the length at the beginning of a new frame.
pub(super) fn begin(frame: &mut Vec<u8>) {
    if frame.capacity() > KEPT {
        *frame = Vec::new();
    }
    frame.clear();
    frame.extend_from_slice(&[0; HEADER]);
}

/// Writes the length of a frame that is complete.
pub(super) fn end(frame: &mut [u8]) {
    end_with(frame, 0);
}

/// As [`end`], of one that so many more bytes belong to.
pub(super) fn end_with(frame: &mut [u8], more: usize) {
    let len = u32::try_from(frame.len() - HEADER + more).unwrap_or(u32::MAX);
    frame[..HEADER].copy_from_slice(&len.to_le_bytes());
}

/// Frames that arrive in pieces.
#[derive(Default)]
pub(super) struct Incoming {
    buffer: Vec<u8>,
    /// Where the next frame begins, and where what has arrived ends.
    start: usize,
    end: usize,
    limit: usize,
}

/// What a read brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrival {
    Something,
    /// Not even a byte, now.
    Nothing,
    /// The other end is closed.
    End,
}

impl Incoming {
    pub(super) fn new(limit: usize) -> Self {
        Incoming {
            limit,
            ..Incoming::default()
        }
    }

    /// The next frame, if it has arrived whole.
    ///
    /// # Errors
    /// If it says to be longer than frames may be.
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let frame = self.frame()?;
        Ok(frame.map(|frame| {
            self.start = frame.end;
            &self.buffer[frame]
        }))
    }

    /// Whether there is a next frame.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub(super) fn has_frame(&self) -> io::Result<bool> {
        self.frame().map(|frame| frame.is_some())
    }

    fn frame(&self) -> io::Result<Option<Range<usize>>> {
        let from = self.start + HEADER;
        let frame = self.announced()?.map(|len| from..from + len);
        Ok(frame.filter(|frame| frame.end <= self.end))
    }

    /// Reads what is there, as much of it as belongs to a frame or is little.
    pub(super) fn read(&mut self, from: &mut impl Read) -> io::Result<Arrival> {
        let wanted = self
            .announced()?
            .map_or(CHUNK, |len| (len + HEADER).max(CHUNK));
        self.make_room(wanted);
        match from.read(&mut self.buffer[self.end..]) {
            Ok(0) => Ok(Arrival::End),
            Ok(read) => {
                self.end += read;
                Ok(Arrival::Something)
            }
            Err(error) if is_nothing(&error) => Ok(Arrival::Nothing),
            Err(error) => Err(error),
        }
    }

    /// The length that the next frame says to have.
    fn announced(&self) -> io::Result<Option<usize>> {
        let header = self.buffer[self.start..self.end].first_chunk::<HEADER>();
        let Some(header) = header else {
            return Ok(None);
        };
        let len = usize::try_from(u32::from_le_bytes(*header)).unwrap_or(usize::MAX);
        if len > self.limit {
            let message = format!("a frame of {len} bytes, with a limit of {}", self.limit);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(Some(len))
    }

    /// Moves what has arrived to the front, with room for a frame so long.
    fn make_room(&mut self, wanted: usize) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == 0 && self.buffer.len() > KEPT && wanted <= KEPT {
            self.buffer = Vec::new();
        }
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
    }
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives so many bytes at a time.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(to.len()).min(self.0.len());
            to[..len].copy_from_slice(&self.0[..len]);
            self.0 = &self.0[len..];
            Ok(len)
        }
    }

    fn read_all(bytes: &[u8], piece: usize, limit: usize) -> io::Result<Vec<Vec<u8>>> {
        let (mut from, mut incoming) = (Pieces(bytes, piece), Incoming::new(limit));
        let mut frames = Vec::new();
        loop {
            while let Some(frame) = incoming.next()? {
                frames.push(frame.to_vec());
            }
            if incoming.read(&mut from)? == Arrival::End {
                return Ok(frames);
            }
        }
    }

    proptest! {
        #[test]
        fn frames_arrive_whole_in_whatever_pieces(
            sent in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..10),
            piece in 1usize..400,
        ) {
            let mut bytes = Vec::new();
            for payload in &sent {
                let mut frame = Vec::new();
                begin(&mut frame);
                frame.extend_from_slice(payload);
                end(&mut frame);
                bytes.extend(frame);
            }
            prop_assert_eq!(read_all(&bytes, piece, 300).expect("sound"), sent);
        }

        #[test]
        fn whatever_arrives_is_frames_or_an_error(
            bytes in prop::collection::vec(any::<u8>(), 0..2000),
            piece in 1usize..100,
        ) {
            let _ = read_all(&bytes, piece, 1000);
        }
    }

    #[test]
    fn a_frame_beyond_the_limit_is_refused_before_it_has_arrived() {
        let error = read_all(&[255, 0, 0, 0], 4, 254).expect_err("refused");
        assert!(error.to_string().contains("255"), "{error}");
    }
}
