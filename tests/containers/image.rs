//! The engine as machines without systemd need it, and an image of busybox.

use batchyard::ContainerEngine;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Once;

/// The image's name.
pub(crate) const IMAGE: &str = "localhost/batchyard-test:latest";

const OPTIONS: [&str; 2] = ["--cgroup-manager=cgroupfs", "--runtime=runc"];

/// The engine, and the image is there.
pub(crate) fn engine() -> ContainerEngine {
    static MADE: Once = Once::new();
    MADE.call_once(make);
    let engine = ContainerEngine::new("podman");
    let engine = OPTIONS
        .iter()
        .fold(engine, |engine, option| engine.option(option));
    engine
        .run_option("--network=host")
        .run_option("--ulimit=nofile=1024:1024")
        .run_option("--ulimit=nproc=1024:1024")
}

fn make() {
    let directory = tempfile::tempdir().expect("a directory");
    let bin = directory.path().join("image/bin");
    std::fs::create_dir_all(&bin).expect("can be made");
    std::fs::copy("/bin/busybox", bin.join("busybox")).expect("busybox-static is there");
    for name in ["sh", "sleep", "cat", "env", "touch"] {
        symlink("busybox", bin.join(name)).expect("can be made");
    }
    let archive = directory.path().join("image.tar");
    let mut tar = Command::new("tar");
    tar.arg("-C")
        .arg(directory.path().join("image"))
        .arg("-cf")
        .arg(&archive)
        .arg(".");
    assert!(tar.status().expect("tar is there").success());
    import(&archive);
}

fn import(archive: &Path) {
    let mut import = Command::new("podman");
    import.args(OPTIONS).arg("import").arg(archive).arg(IMAGE);
    let done = import.stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(done.expect("podman is there").success());
}

/// The containers that there are, by name, which have this in it.
pub(crate) fn containers_of(label: &str) -> Vec<String> {
    let mut list = Command::new("podman");
    list.args(OPTIONS)
        .args(["ps", "--all", "--format={{.Names}}"])
        .arg(format!("--filter=label={label}"));
    let said = list.output().expect("podman is there").stdout;
    let names = String::from_utf8_lossy(&said);
    names.lines().map(str::to_owned).collect()
}
