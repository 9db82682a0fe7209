//! Starting a process, and taking leave of it: the two system interfaces that no safe library has whole.
//!
//! This is one of the crate's unsafe files. `posix_spawn` shares the parent's memory until the program begins, so that
//! starting one takes as long from a parent of many gigabytes as from a small one; `fork` does not. The standard library
//! takes it too, but leaves it for `fork` in some cases, and can't close what other code left open.
//!
//! Signal dispositions and the mask go back to their defaults, and the child leads a process group of its own, so that
//! a terminal's Ctrl-C reaches the application alone. There is no `PDEATHSIG`: it would follow the *thread* that spawned.

use rustix::process::Pid;
use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::ptr;
use std::time::Duration;

/// What to start, where and with what.
pub(crate) struct Start<'a> {
    pub(crate) program: &'a CStr,
    pub(crate) args: &'a [CString],
    pub(crate) env: &'a [CString],
    pub(crate) directory: &'a CStr,
    /// Standard input, output and error: descriptors above these three.
    pub(crate) streams: [BorrowedFd<'a>; 3],
}

/// What a process and those of its children that it has waited for used.
#[derive(Clone, Copy, Default)]
pub(crate) struct Used {
    pub(crate) user: Duration,
    pub(crate) system: Duration,
    pub(crate) peak_memory: u64,
}

impl Start<'_> {
    /// Starts the process; returns when its program has begun, or could not.
    pub(super) fn spawn(&self) -> io::Result<Pid> {
        let (actions, attributes) = (self.actions()?, Attributes::new()?);
        let (args, env) = (pointers(self.args), pointers(self.env));
        let mut pid = 0;
        // SAFETY: the strings and the null-terminated arrays of pointers to them outlive the call, and the actions and
        // attributes are initialised.
        check(unsafe {
            libc::posix_spawn(
                &mut pid,
                self.program.as_ptr(),
                &actions.0,
                &attributes.0,
                args.as_ptr().cast(),
                env.as_ptr().cast(),
            )
        })?;
        Pid::from_raw(pid).ok_or_else(|| io::Error::other("the new process has no id"))
    }

    fn actions(&self) -> io::Result<Actions> {
        let mut actions = Actions::new()?;
        for (target, stream) in (0..).zip(&self.streams) {
            actions.duplicate(stream, target)?;
        }
        actions.change_directory(self.directory)?;
        actions.close_from(3)?;
        Ok(actions)
    }
}

/// Waits for a child to end, if it has not, and takes it out of the system's table. Its id is free afterwards.
pub(super) fn reap(pid: Pid) -> io::Result<(ExitStatus, Used)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both point to storage of the right type for the length of the call.
    let wait = || unsafe {
        libc::wait4(
            pid.as_raw_nonzero().get(),
            &mut status,
            0,
            usage.as_mut_ptr(),
        )
    };
    retry(wait)?;
    // SAFETY: all zeroes is a valid `rusage`, and the system has filled it in.
    let usage = unsafe { usage.assume_init() };
    Ok((ExitStatus::from_raw(status), usage.into()))
}

/// Calls again what a signal interrupted.
fn retry(mut call: impl FnMut() -> libc::pid_t) -> io::Result<()> {
    loop {
        if call() >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// What the child does before its program begins.
struct Actions(libc::posix_spawn_file_actions_t);

impl Actions {
    fn new() -> io::Result<Self> {
        let mut actions = MaybeUninit::uninit();
        // SAFETY: initialises what it is given, or fails.
        check(unsafe { libc::posix_spawn_file_actions_init(actions.as_mut_ptr()) })?;
        // SAFETY: it did not fail.
        Ok(Actions(unsafe { actions.assume_init() }))
    }

    fn duplicate(&mut self, from: &BorrowedFd<'_>, target: i32) -> io::Result<()> {
        let from = from.as_raw_fd();
        // SAFETY: the actions are initialised.
        check(unsafe { libc::posix_spawn_file_actions_adddup2(&mut self.0, from, target) })
    }

    fn change_directory(&mut self, to: &CStr) -> io::Result<()> {
        // SAFETY: the actions are initialised, and copy the path.
        check(unsafe { libc::posix_spawn_file_actions_addchdir_np(&mut self.0, to.as_ptr()) })
    }

    /// Closes what code of others left open to be inherited.
    #[cfg(target_env = "gnu")]
    fn close_from(&mut self, first: i32) -> io::Result<()> {
        // SAFETY: the actions are initialised.
        check(unsafe { libc::posix_spawn_file_actions_addclosefrom_np(&mut self.0, first) })
    }

    #[cfg(not(target_env = "gnu"))]
    fn close_from(&mut self, _: i32) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: initialised, and not used any more.
        unsafe { libc::posix_spawn_file_actions_destroy(&mut self.0) };
    }
}

/// What the child is like.
struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    /// A group of its own, no signal blocked, none ignored.
    fn new() -> io::Result<Self> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: initialises what it is given, or fails.
        check(unsafe { libc::posix_spawnattr_init(attributes.as_mut_ptr()) })?;
        // SAFETY: it did not fail.
        let mut attributes = Attributes(unsafe { attributes.assume_init() });
        let flags = libc::POSIX_SPAWN_SETPGROUP
            | libc::POSIX_SPAWN_SETSIGMASK
            | libc::POSIX_SPAWN_SETSIGDEF;
        let (none, all) = (signals(libc::sigemptyset), signals(libc::sigfillset));
        let at = &mut attributes.0;
        // SAFETY: the attributes are initialised, and copy the sets.
        unsafe {
            check(libc::posix_spawnattr_setpgroup(at, 0))?;
            check(libc::posix_spawnattr_setsigmask(at, &none))?;
            check(libc::posix_spawnattr_setsigdefault(at, &all))?;
            check(libc::posix_spawnattr_setflags(at, flags as libc::c_short))?;
        }
        Ok(attributes)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: initialised, and not used any more.
        unsafe { libc::posix_spawnattr_destroy(&mut self.0) };
    }
}

fn signals(fill: unsafe extern "C" fn(*mut libc::sigset_t) -> i32) -> libc::sigset_t {
    let mut set = MaybeUninit::zeroed();
    // SAFETY: all zeroes is a valid set, which `fill` only changes.
    unsafe {
        fill(set.as_mut_ptr());
        set.assume_init()
    }
}

/// The strings as C has them: a null pointer ends the list.
fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    let pointers = strings.iter().map(|string| string.as_ptr());
    pointers.chain([ptr::null()]).collect()
}

/// These functions return the error instead of leaving it in `errno`.
fn check(code: i32) -> io::Result<()> {
    match code {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

impl From<libc::rusage> for Used {
    fn from(usage: libc::rusage) -> Self {
        let time = |time: libc::timeval| {
            let micros = u64::try_from(time.tv_usec).unwrap_or_default();
            let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
            Duration::from_secs(seconds) + Duration::from_micros(micros)
        };
        Used {
            user: time(usage.ru_utime),
            system: time(usage.ru_stime),
            peak_memory: u64::try_from(usage.ru_maxrss).unwrap_or_default() << 10,
        }
    }
}
