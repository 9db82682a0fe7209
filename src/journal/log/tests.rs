//! What a crash may leave, byte for byte: a double of the disk records what was written and when it was synced, and each
//! state that the disk could be in after a crash is opened.

#![allow(
    clippy::expect_used,
    reason = "the disk of the tests may panic, too; clippy.toml allows it only in the tests themselves"
)]

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

/// What is lost or kept as a unit when power fails.
const SECTOR: usize = 16;

/// Everything that was done to a disk.
#[derive(Clone, Debug)]
enum Done {
    Written(u64, Vec<u8>),
    Synced,
    Cut(u64),
    Replaced(Vec<u8>),
}

/// A disk in memory that remembers what was done to it.
#[derive(Clone, Default)]
struct Double {
    content: Vec<u8>,
    done: Arc<Mutex<Vec<Done>>>,
}

impl Double {
    fn new(content: Vec<u8>) -> Self {
        let done = Arc::default();
        Double { content, done }
    }

    fn note(&self, done: Done) {
        self.done.lock().expect("no panic").push(done);
    }
}

impl Disk for Double {
    fn reader(&mut self, from: u64) -> io::Result<Box<dyn Read + '_>> {
        let mut cursor = Cursor::new(&self.content);
        cursor.set_position(from);
        Ok(Box::new(cursor))
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.content.len() as u64)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        write(&mut self.content, at as usize, bytes);
        self.note(Done::Written(at, bytes.to_vec()));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.note(Done::Synced);
        Ok(())
    }

    fn cut(&mut self, at: u64) -> io::Result<()> {
        self.content.truncate(at as usize);
        self.note(Done::Cut(at));
        Ok(())
    }

    fn replace(
        &mut self,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut content = Vec::new();
        write(&mut content)?;
        self.content.clone_from(&content);
        self.note(Done::Replaced(content));
        Ok(())
    }
}

fn write(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    content.resize(content.len().max(at + bytes.len()), 0);
    content[at..at + bytes.len()].copy_from_slice(bytes);
}

/// What a log is asked to do.
#[derive(Clone, Debug)]
enum Step {
    Append(Vec<u8>),
    Replace(Vec<Vec<u8>>),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    // Groups that contain marks, so that a frame is looked for in the wrong places.
    let byte = prop_oneof![Just(MARK.to_vec()), vec(any::<u8>(), 0..40)];
    let group = vec(byte, 0..4).prop_map(|parts| parts.concat());
    prop_oneof![
        6 => group.clone().prop_map(Step::Append),
        1 => vec(group, 0..3).prop_map(Step::Replace),
        1 => Just(Step::Reopen),
    ]
}

/// What the log held before and after each thing that was done to the disk.
struct History {
    start: Vec<u8>,
    done: Vec<Done>,
    /// After how many of `done` the log held which groups.
    held: Vec<(usize, Vec<Vec<u8>>)>,
}

fn play(steps: &[Step]) -> History {
    let start = frame::header(FileId::unique()).to_vec();
    let disk = Double::new(start.clone());
    let done = disk.done.clone();
    let mut log = Log::open(disk).expect("a header opens");
    let mut groups = Vec::new();
    let mut held = vec![(0, Vec::new())];
    for step in steps {
        match step {
            Step::Append(group) => {
                log.append(group).expect("appends");
                groups.push(group.clone());
            }
            Step::Replace(new) => {
                log.replace(&mut new.iter().cloned()).expect("replaces");
                groups.clone_from(new);
            }
            Step::Reopen => log = Log::open(log.disk).expect("opens"),
        }
        held.push((done.lock().expect("no panic").len(), groups.clone()));
    }
    let done = done.lock().expect("no panic").clone();
    History { start, done, held }
}

/// Every state the disk may be in if the power fails after so many things were done: what was synced is there; of what
/// wasn't, each sector is old or new, and the file may end anywhere in it.
fn images(history: &History, after: usize, chosen: u64) -> Vec<Vec<u8>> {
    let mut synced = history.start.clone();
    let mut pending: Option<(usize, Vec<u8>)> = None;
    for done in &history.done[..after] {
        match done {
            Done::Written(at, bytes) => pending = Some((*at as usize, bytes.clone())),
            Done::Synced => {
                if let Some((at, bytes)) = pending.take() {
                    write(&mut synced, at, &bytes);
                }
            }
            Done::Cut(at) => synced.truncate(*at as usize),
            Done::Replaced(content) => synced.clone_from(content),
        }
    }
    let Some((at, bytes)) = pending else {
        return vec![synced];
    };
    let torn = (0..=bytes.len()).map(|len| {
        let mut image = synced.clone();
        write(&mut image, at, &bytes[..len]);
        image
    });
    let sectors: Vec<_> = bytes.chunks(SECTOR).collect();
    let reordered = (0..16u64).map(|salt| {
        let kept = chosen.rotate_left(salt as u32 * 4) ^ salt;
        let mut image = synced.clone();
        for (sector, bytes) in sectors.iter().enumerate() {
            if kept >> (sector % 64) & 1 == 1 {
                write(&mut image, at + sector * SECTOR, bytes);
            }
        }
        image
    });
    torn.chain(reordered).collect()
}

fn groups_of(image: Vec<u8>) -> Vec<Vec<u8>> {
    let mut log = Log::open(Double::new(image)).expect("a crash leaves nothing that doesn't open");
    let mut groups = Vec::new();
    let each = &mut |group: &[u8]| {
        groups.push(group.to_vec());
        Ok(())
    };
    log.read(each).expect("what was opened is read");
    groups
}

proptest! {
    #[test]
    fn whatever_a_crash_leaves_opens_with_what_was_acknowledged_and_nothing_else(
        steps in vec(step(), 1..8),
        chosen in any::<u64>(),
    ) {
        let history = play(&steps);
        for after in 0..=history.done.len() {
            let before = history.held.iter().rev().find(|(done, _)| *done <= after);
            let next = history.held.iter().find(|(done, _)| *done >= after);
            let (before, next) = (&before.expect("the start").1, &next.expect("the end").1);
            for image in images(&history, after, chosen) {
                let groups = groups_of(image);
                prop_assert!(&groups == before || &groups == next, "{groups:?}");
            }
        }
    }

    #[test]
    fn a_changed_bit_is_noticed_wherever_it_is(
        groups in vec(vec(any::<u8>(), 0..30), 1..5),
        at in any::<proptest::sample::Index>(),
        bit in 0..8u8,
    ) {
        let steps: Vec<_> = groups.iter().cloned().map(Step::Append).collect();
        let history = play(&steps);
        let [mut image] = <[_; 1]>::try_from(images(&history, history.done.len(), 0)).expect("all is synced");
        let at = at.index(image.len());
        image[at] ^= 1 << bit;
        match Log::open(Double::new(image)) {
            Err(error) => prop_assert!(!matches!(error, JournalError::Io(_)), "{error}"),
            // In the last group, it can't be told from one that was torn.
            Ok(log) => prop_assert!(log.cut.is_some() && usize::from(log.next as u8) == groups.len() - 1),
        }
    }

    #[test]
    fn bytes_of_any_kind_are_refused_or_read_and_never_a_panic(
        bytes in vec(any::<u8>(), 0..200),
        whole in any::<bool>(),
    ) {
        let mut image = frame::header(FileId([7; 16])).to_vec();
        image.truncate(if whole { HEADER } else { 8 });
        image.extend(bytes);
        let _ = Log::open(Double::new(image));
    }
}

#[test]
fn damage_before_the_end_is_an_error_that_says_where() {
    let steps = [b"first", b"other", b"third"].map(|group| Step::Append(group.to_vec()));
    let history = play(&steps);
    let [mut image] = <[_; 1]>::try_from(images(&history, history.done.len(), 0)).expect("synced");
    let second = HEADER + HEAD + 5;
    image[second + HEAD] ^= 1;
    let Err(JournalError::Damaged { offset }) = Log::open(Double::new(image)) else {
        panic!("damage is an error");
    };
    assert_eq!(offset, second as u64);
}

#[test]
fn a_frame_inside_a_group_is_not_taken_for_one_of_the_log() {
    let steps = [Step::Append(b"inner".to_vec())];
    let history = play(&steps);
    let inner = images(&history, history.done.len(), 0).remove(0);
    let outer = play(&[Step::Append(inner)]);
    // The outer frame is torn behind the inner one.
    let image = images(&outer, outer.done.len(), 0).remove(0);
    let torn = image[..image.len() - 1].to_vec();
    assert_eq!(groups_of(torn), Vec::<Vec<u8>>::new());
}
