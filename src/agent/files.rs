//! Files that go into an attempt's working directory, and files that come out of it.

use crate::model::{Content, LaunchError, OutputFiles, PickUp, ResourceFile, UploadError, leaves};
use globset::{Candidate, GlobBuilder, GlobMatcher};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Puts files into a working directory, which is new, so that nothing in it leads out of it.
pub(super) fn put(files: &[ResourceFile], directory: &Path) -> Result<(), LaunchError> {
    for file in files {
        if leaves(&file.name) {
            return Err(LaunchError::Outside(file.name.clone()));
        }
        put_one(file, &directory.join(&file.name))
            .map_err(|cause| LaunchError::File(file.name.clone(), cause))?;
    }
    Ok(())
}

fn put_one(file: &ResourceFile, target: &Path) -> io::Result<()> {
    target.parent().map_or(Ok(()), fs::create_dir_all)?;
    match &file.source.content {
        Content::Path(source) => copy(source, target)?,
        Content::Bytes(bytes) => File::create_new(target)?.write_all(bytes)?,
    }
    if file.source.executable {
        let mode = target.metadata()?.permissions().mode();
        fs::set_permissions(target, fs::Permissions::from_mode(mode | 0o700))?;
    }
    Ok(())
}

/// Only what is a file: a pipe or a device would be read for ever.
fn copy(source: &Path, target: &Path) -> io::Result<()> {
    match source.metadata()?.is_file() {
        true => fs::copy(source, target).map(drop),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{} is no file", source.display()),
        )),
    }
}

/// Picks up what was asked for; into a directory of its own, what is wanted nowhere else. Returns where it lies, by name.
pub(super) fn pick_up(
    wanted: &[OutputFiles],
    succeeded: bool,
    working: &Path,
    own: &Path,
) -> Result<Vec<PathBuf>, UploadError> {
    let is_due = |files: &&OutputFiles| match files.when {
        PickUp::OnSuccess => succeeded,
        PickUp::OnFailure => !succeeded,
        PickUp::Always => true,
    };
    let mut found = Vec::new();
    for files in wanted.iter().filter(is_due) {
        let target = files.to.clone().unwrap_or_else(|| own.to_owned());
        for name in matching(files, working)? {
            let at = target.join(&name);
            place(&working.join(&name), &at)
                .map_err(|cause| UploadError::new(&name, &at, cause))?;
            found.push(at);
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// The files in a directory that match, by their names in it. Links lead who knows where, and are not followed.
fn matching(files: &OutputFiles, directory: &Path) -> Result<Vec<PathBuf>, UploadError> {
    let matcher = matcher(files)?;
    let mut found = Vec::new();
    for entry in walkdir::WalkDir::new(directory).min_depth(1) {
        let Ok(entry) = entry else { continue };
        let name = entry.path().strip_prefix(directory).unwrap_or(entry.path());
        if entry.file_type().is_file() && matcher.is_match_candidate(&Candidate::new(name)) {
            found.push(name.to_owned());
        }
    }
    Ok(found)
}

fn matcher(files: &OutputFiles) -> Result<GlobMatcher, UploadError> {
    let pattern = Path::new(&files.pattern);
    let bad = |cause: io::Error| UploadError::new(pattern, pattern, cause);
    if leaves(pattern) {
        let message = "it leads out of the working directory; use a relative pattern without `..`";
        return Err(bad(io::Error::new(io::ErrorKind::InvalidInput, message)));
    }
    let glob = GlobBuilder::new(&files.pattern)
        .literal_separator(true)
        .build();
    glob.map(|glob| glob.compile_matcher())
        .map_err(|cause| bad(io::Error::new(io::ErrorKind::InvalidInput, cause)))
}

/// Puts a file to where it is wanted: whole, or not at all.
fn place(from: &Path, to: &Path) -> io::Result<()> {
    let parent = to.parent().unwrap_or(to);
    fs::create_dir_all(parent)?;
    let mut copy = tempfile::Builder::new()
        .prefix(".batchyard-")
        .tempfile_in(parent)?;
    io::copy(&mut File::open(from)?, &mut copy)?;
    copy.as_file()
        .set_permissions(from.metadata()?.permissions())?;
    copy.persist(to).map(drop).map_err(|failed| failed.error)
}
