//! A list of very many files that stays small.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Paths, each folder stored once and the names one after another: some 16 bytes a file beside its name.
#[derive(Clone, Default)]
pub(in crate::scoring) struct Listing {
    folders: Vec<PathBuf>,
    names: Vec<u8>,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy)]
struct Entry {
    start: u64,
    len: u32,
    folder: u32,
}

/// Makes a [`Listing`].
#[derive(Default)]
pub(super) struct Lister {
    listing: Listing,
    known: HashMap<PathBuf, u32>,
    last: u32,
}

impl Listing {
    pub(in crate::scoring) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The path at an index that is in the list.
    pub(in crate::scoring) fn path(&self, index: usize) -> PathBuf {
        let entry = self.entries[index];
        self.folders[entry.folder as usize].join(from_bytes(self.name(entry)))
    }

    fn name(&self, entry: Entry) -> &[u8] {
        &self.names[entry.start as usize..][..entry.len as usize]
    }

    /// By folder, then name.
    fn sort(&mut self) {
        let mut order: Vec<u32> = (0..self.folders.len() as u32).collect();
        order.sort_by_key(|&folder| &self.folders[folder as usize]);
        let mut rank = vec![0; order.len()];
        for (place, &folder) in order.iter().enumerate() {
            rank[folder as usize] = place;
        }
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_by(|a, b| {
            let rank = |entry: &Entry| rank[entry.folder as usize];
            (rank(a), self.name(*a)).cmp(&(rank(b), self.name(*b)))
        });
        self.entries = entries;
    }
}

impl Lister {
    pub(super) fn push(&mut self, path: &Path) {
        let name = to_bytes(path.file_name().unwrap_or_default());
        let folder = self.folder(path.parent().unwrap_or(Path::new("")));
        let Listing { names, entries, .. } = &mut self.listing;
        entries.push(Entry {
            start: names.len() as u64,
            len: name.len() as u32,
            folder,
        });
        names.extend_from_slice(&name);
    }

    fn folder(&mut self, path: &Path) -> u32 {
        let folders = &mut self.listing.folders;
        if folders
            .get(self.last as usize)
            .is_none_or(|last| last != path)
        {
            self.last = *self.known.entry(path.to_owned()).or_insert_with(|| {
                folders.push(path.to_owned());
                folders.len() as u32 - 1
            });
        }
        self.last
    }

    /// By folder, then name.
    pub(super) fn sorted(mut self) -> Listing {
        self.listing.sort();
        self.in_order()
    }

    /// In the order in which they were pushed.
    pub(super) fn in_order(mut self) -> Listing {
        self.listing.names.shrink_to_fit();
        self.listing.entries.shrink_to_fit();
        self.listing
    }
}

#[cfg(unix)]
fn to_bytes(name: &OsStr) -> std::borrow::Cow<'_, [u8]> {
    std::os::unix::ffi::OsStrExt::as_bytes(name).into()
}

#[cfg(unix)]
fn from_bytes(name: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(name.to_vec())
}

/// Where names are not bytes, those that are no Unicode are not found again.
#[cfg(not(unix))]
fn to_bytes(name: &OsStr) -> std::borrow::Cow<'_, [u8]> {
    name.to_string_lossy().into_owned().into_bytes().into()
}

#[cfg(not(unix))]
fn from_bytes(name: &[u8]) -> OsString {
    String::from_utf8_lossy(name).into_owned().into()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn files_are_sorted_by_folder_then_name() {
        let mut lister = Lister::default();
        let paths = ["b/2", "a/9", "b/1", "a/c/0", "a/10"];
        paths.iter().for_each(|path| lister.push(Path::new(path)));
        let listing = lister.sorted();
        let paths: Vec<_> = (0..listing.len())
            .map(|index| listing.path(index))
            .collect();
        assert_eq!(
            paths,
            ["a/10", "a/9", "a/c/0", "b/1", "b/2"].map(PathBuf::from)
        );
    }

    #[test]
    fn a_million_files_take_little_room() {
        let mut lister = Lister::default();
        for file in 0..1_000_000 {
            lister.push(Path::new(&format!("/data/images/{file:08}.png")));
        }
        let listing = lister.sorted();
        let bytes = listing.names.capacity() + listing.entries.capacity() * size_of::<Entry>();
        assert!(bytes < 30 << 20, "{bytes} bytes");
        assert_eq!(
            listing.path(999_999),
            Path::new("/data/images/00999999.png")
        );
    }
}
