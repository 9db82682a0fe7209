//! Where a run finds its input and leaves its output.

use batchyard::scoring::Files;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A folder with some files `0000`, `0001` and so on, each with its number in it, for input; outputs go beside it.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new(files: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        let place = Place { folder };
        (0..files).for_each(|n| place.write(&format!("in/{n:04}"), n.to_string()));
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        self.read(name).lines().map(str::to_owned).collect()
    }

    pub(crate) fn files(&self) -> Files {
        Files::directory(self.path("in")).unwrap()
    }
}
