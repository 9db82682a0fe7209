//! The memory of this process, as the kernel counts it.

/// What was resident at some moment.
#[derive(Clone, Copy, Debug)]
pub struct Mark(u64);

impl Mark {
    /// What is resident now.
    pub fn now() -> Self {
        Self(status("VmRSS:"))
    }

    /// Bytes that are resident now and weren't at the mark.
    pub fn growth(self) -> u64 {
        status("VmRSS:").saturating_sub(self.0)
    }

    /// Bytes by which the process's peak lies above the mark. The peak is that of the process's whole life.
    pub fn peak_growth(self) -> u64 {
        status("VmHWM:").saturating_sub(self.0)
    }
}

/// A size in `/proc/self/status`, in bytes; zero where there is no such file.
fn status(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
