//! A terminal of tmux, with a server of its own.

use crate::watchdog::PATIENCE;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Instant;
use tempfile::TempDir;

pub(crate) struct Terminal {
    directory: TempDir,
}

impl Terminal {
    /// A terminal of this width, in which a test of this program runs, alone.
    pub(crate) fn running(test: &str, width: u16) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let terminal = Terminal { directory };
        let program = std::env::current_exe().unwrap();
        let go_on = format!("{}={}", crate::GO_ON, terminal.path("go-on").display());
        let width = width.to_string();
        let mut begin = terminal.tmux();
        begin
            .args([
                "-f",
                "/dev/null",
                "new-session",
                "-d",
                "-x",
                &width,
                "-y",
                "24",
            ])
            .args(["env", "-u", "CI", "TERM=screen-256color", &go_on])
            .arg(program)
            .args(["--exact", test, "--nocapture"])
            // What the program leaves on the screen is looked at when it has ended, too.
            .args([";", "set-option", "-g", "remain-on-exit", "on"]);
        terminal.run(&mut begin);
        terminal
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What is on the screen, as soon as it is what is waited for.
    pub(crate) fn until(&self, enough: impl Fn(&[String]) -> bool) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let screen = self.run(self.tmux().args(["capture-pane", "-p"]));
            let text = String::from_utf8(screen.stdout).expect("UTF-8");
            let lines: Vec<_> = text.lines().map(str::to_owned).collect();
            if enough(&lines) {
                return lines;
            }
            // Sooner than the test is given up, so that the terminal is ended.
            assert!(begun.elapsed() < PATIENCE / 2, "{lines:#?}");
            std::thread::yield_now();
        }
    }

    fn tmux(&self) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.arg("-u").arg("-S").arg(self.path("socket"));
        tmux
    }

    fn run(&self, command: &mut Command) -> Output {
        let output = command.output().expect("tmux is installed");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {said}");
        output
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux().arg("kill-server").output();
    }
}
