//! What this process may use of its machine: cores and memory.

use super::NodeSpec;
use std::fs;
use std::num::NonZero;
use std::path::Path;

/// A node with so many slots, and what this process may use.
pub(super) fn node(slots: u32) -> NodeSpec {
    let cores = u32::try_from(cores()).unwrap_or(u32::MAX);
    NodeSpec::new(slots)
        .async_slots(0)
        .cpus(cores)
        .memory(bytes())
}

/// How many cores this process may use.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// The machine's memory, or what the process's control groups (version 1 or 2) leave it of that, in bytes. 0 where nobody
/// says.
fn bytes() -> u64 {
    let total = fs::read_to_string("/proc/meminfo").ok();
    let total = total.and_then(|text| total_in(&text)).unwrap_or(0);
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = groups.lines().filter_map(limit_of_group);
    limits.fold(total, u64::min)
}

/// `MemTotal` of `/proc/meminfo`, which is in KiB.
fn total_in(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// The lowest limit of a group and of those that it is in, given as a line of `/proc/self/cgroup`.
fn limit_of_group(line: &str) -> Option<u64> {
    let (directory, file, group) = place_of_group(line)?;
    let group = Path::new(group.trim_start_matches('/'));
    let limits = group.ancestors().filter_map(|group| {
        let limit = fs::read_to_string(Path::new(directory).join(group).join(file)).ok()?;
        // Version 2 says `max` where there is none.
        limit.trim().parse().ok()
    });
    limits.min()
}

/// Where a group's memory limit stands: the hierarchy's directory, the file, and the group's path.
fn place_of_group(line: &str) -> Option<(&'static str, &'static str, &str)> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, group) = rest.split_once(':')?;
    if controllers.is_empty() {
        return Some(("/sys/fs/cgroup", "memory.max", group));
    }
    let is_memory = controllers.split(',').any(|name| name == "memory");
    is_memory.then_some(("/sys/fs/cgroup/memory", "memory.limit_in_bytes", group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_memory_is_read_in_kib() {
        let text = "MemTotal:       24576 kB\nMemFree:  1 kB\n";
        assert_eq!(total_in(text), Some(24_576 * 1024));
        assert_eq!(total_in("MemFree: 1 kB"), None);
    }

    #[test]
    fn groups_of_both_versions_are_found() {
        let v2 = place_of_group("0::/user.slice/a:b");
        assert_eq!(
            v2,
            Some(("/sys/fs/cgroup", "memory.max", "/user.slice/a:b"))
        );
        let v1 = place_of_group("5:memory,cpu:/docker/1");
        let file = "memory.limit_in_bytes";
        assert_eq!(v1, Some(("/sys/fs/cgroup/memory", file, "/docker/1")));
        assert_eq!(place_of_group("4:cpu:/docker/1"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_has_memory() {
        assert!(bytes() > 0);
    }
}
