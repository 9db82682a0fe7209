//! A program that does what programs do to those who run them. Compiled by the tests that use it, with the standard
//! library alone. Its arguments are done one after another; each that takes a value is followed by it.

use std::io::{Read, Write};
use std::time::Duration;

unsafe extern "C" {
    fn fork() -> i32;
    fn setsid() -> i32;
    fn signal(signal: i32, handler: usize) -> usize;
    fn kill(pid: i32, signal: i32) -> i32;
    fn getpid() -> i32;
    fn close(fd: i32) -> i32;
}

const SIGTERM: i32 = 15;
const IGNORE: usize = 1;

fn main() {
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut text = || words.next().unwrap_or_default();
        match word.as_str() {
            "print" => print(text().as_bytes()),
            "out" => write_many(&mut std::io::stdout(), number(&text()), b'o'),
            "err" => write_many(&mut std::io::stderr(), number(&text()), b'e'),
            "both" => alternate(number(&text())),
            "bytes" => print(&(0..=255).collect::<Vec<u8>>()),
            "sleep" => std::thread::sleep(Duration::from_millis(number(&text()))),
            "allocate" => std::mem::forget(vec![1u8; number(&text()) as usize]),
            "spin" => loop {
                std::hint::spin_loop();
            },
            "read" => {
                let mut bytes = Vec::new();
                let _ = std::io::stdin().read_to_end(&mut bytes);
                println!("{} bytes", bytes.len());
            }
            "ignore-term" => unsafe {
                signal(SIGTERM, IGNORE);
            },
            "signal" => unsafe {
                kill(getpid(), number(&text()) as i32);
            },
            "exit" => std::process::exit(number(&text()) as i32),
            // The child goes on with the rest; the parent stops here, or after one more word of the child's.
            "leave" => leave(false, false),
            "leave-session" => leave(true, false),
            "leave-all" => leave(true, true),
            "touch" => std::fs::write(text(), "").expect("can be written"),
            "open" => open(number(&text())),
            "nothing" => {}
            other => panic!("{other}?"),
        }
    }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text} is no number"))
}

fn print(bytes: &[u8]) {
    let mut out = std::io::stdout();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

fn write_many(to: &mut dyn Write, bytes: u64, fill: u8) {
    let block = [fill; 4096];
    let mut left = bytes;
    while left > 0 {
        let now = left.min(4096) as usize;
        if to.write_all(&block[..now]).and_then(|()| to.flush()).is_err() {
            std::process::exit(7);
        }
        left -= now as u64;
    }
}

fn alternate(bytes: u64) {
    for _ in 0..bytes / 4096 {
        write_many(&mut std::io::stdout(), 4096, b'o');
        write_many(&mut std::io::stderr(), 4096, b'e');
    }
}

/// A child goes on, its parent exits. The child stays in the group, or leaves it with a session of its own and as a
/// grandchild; it keeps what it has open, or closes it.
fn leave(session: bool, closes: bool) {
    unsafe {
        if fork() != 0 {
            std::process::exit(0);
        }
        if session {
            setsid();
            if fork() != 0 {
                std::process::exit(0);
            }
        }
        if closes {
            (0..64).for_each(|fd| {
                close(fd);
            });
        }
    }
}

fn open(files: u64) {
    let open = || std::fs::File::open("/dev/null");
    let files: Vec<_> = (0..files).map_while(|_| open().ok()).collect();
    println!("{}", files.len());
}
