//! The bytes of a log: a header, then frames, each a group with what is needed to know that it is whole.
//!
//! ```text
//! header:  "BYJOURNL"  format u32  file id u128  crc u32        32 bytes
//! frame:   "bYfr"  number u32  length u32  crc u32  group       16 bytes and the group
//! ```
//!
//! Integers are little-endian. A frame's sum covers the file's id, its number, its length and the group: so a frame of
//! another file, or one in another place, is none, and a group may hold the bytes of a log.

use crc32fast::Hasher;

/// The format that this version writes.
pub(crate) const FORMAT: u32 = 1;

pub(super) const HEADER: usize = 32;
pub(super) const HEAD: usize = 16;

const MAGIC: &[u8; 8] = b"BYJOURNL";
pub(super) const MARK: &[u8; 4] = b"bYfr";

/// Tells the files apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FileId(pub(super) [u8; 16]);

/// What a file's first bytes say.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Header {
    Of(FileId),
    Newer(u32),
    Damaged,
    Foreign,
}

/// What precedes a group.
pub(super) struct Head {
    pub(super) number: u32,
    pub(super) len: u32,
    sum: u32,
}

pub(super) fn header(id: FileId) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    bytes[12..28].copy_from_slice(&id.0);
    let sum = crc32fast::hash(&bytes[..28]);
    bytes[28..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// The format is looked at before the sum: that of a later one may cover other bytes.
pub(super) fn read_header(bytes: &[u8]) -> Header {
    if !bytes.starts_with(MAGIC) {
        return Header::Foreign;
    }
    let Some(bytes) = bytes.first_chunk::<HEADER>() else {
        return Header::Damaged;
    };
    let whole = crc32fast::hash(&bytes[..28]) == number_at(bytes, 28);
    match number_at(bytes, 8) {
        FORMAT if whole => {
            let mut id = [0; 16];
            id.copy_from_slice(&bytes[12..28]);
            Header::Of(FileId(id))
        }
        newer if newer > FORMAT && newer < 1 << 16 => Header::Newer(newer),
        _ => Header::Damaged,
    }
}

/// A whole frame; `None` for a group of four gigabytes or more.
pub(super) fn frame(id: FileId, number: u32, group: &[u8]) -> Option<Vec<u8>> {
    let len = u32::try_from(group.len()).ok()?;
    let mut bytes = Vec::with_capacity(HEAD + group.len());
    bytes.extend_from_slice(MARK);
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.extend_from_slice(&len.to_le_bytes());
    bytes.extend_from_slice(&sum(id, number, group).to_le_bytes());
    bytes.extend_from_slice(group);
    Some(bytes)
}

impl Head {
    /// Of bytes that may be a frame's first; `None` if they can't.
    pub(super) fn of(bytes: &[u8]) -> Option<Head> {
        let bytes = bytes.first_chunk::<HEAD>()?;
        bytes.starts_with(MARK).then(|| Head {
            number: number_at(bytes, 4),
            len: number_at(bytes, 8),
            sum: number_at(bytes, 12),
        })
    }

    pub(super) fn is_of(&self, id: FileId, group: &[u8]) -> bool {
        sum(id, self.number, group) == self.sum
    }
}

fn sum(id: FileId, number: u32, group: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&id.0);
    hasher.update(&number.to_le_bytes());
    hasher.update(&(group.len() as u64).to_le_bytes());
    hasher.update(group);
    hasher.finalize()
}

fn number_at(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
    four.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
