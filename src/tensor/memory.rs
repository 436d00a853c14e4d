//! Memory that is free, and whether what is about to be allocated fits into it.
//!
//! In: a number of bytes, known before they are allocated. Out: nothing, or a refusal that gives both
//! figures. A system that overcommits grants every allocation and kills the process when the pages are
//! touched: nobody would be told why.
//!
//! Free is the least of what the machine has left (`MemAvailable`), what the control group may still
//! take, and what is left of the address space (`ulimit -v`). Elsewhere than on Linux nothing is known,
//! and nothing is refused.

use std::fmt;
use std::path::Path;

use crate::diagnostic::{Code, Diagnostic, Result};

/// Less is not worth reading files of the system for.
const SMALL: u64 = 16 << 20;

/// Refuses what does not fit into the memory that is free; more than half of it is announced by a
/// warning. `what` names what takes it, `remedy` says what would take less.
///
/// # Errors
/// [`Code::Memory`].
pub fn room(bytes: u64, what: &dyn Fn() -> String, remedy: &str) -> Result<()> {
    if bytes < SMALL {
        return Ok(());
    }
    match free() {
        Some(free) => fits(bytes, free, what, remedy),
        None => Ok(()),
    }
}

fn fits(bytes: u64, free: u64, what: &dyn Fn() -> String, remedy: &str) -> Result<()> {
    if bytes > free {
        return Err(Diagnostic::new(
            Code::Memory,
            format!("{} needs {} of memory, but {} are free", what(), Bytes(bytes), Bytes(free)),
        )
        .help(remedy));
    }
    if bytes > free / 2 {
        tracing::warn!("{} takes {} of {} of free memory", what(), Bytes(bytes), Bytes(free));
    }
    Ok(())
}

/// A number of bytes as people read it: `1.5 GB`.
#[derive(Clone, Copy)]
pub(crate) struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["kB", "MB", "GB", "TB", "PB", "EB"];
        let mut n = self.0 as f64 / 1e3;
        let mut unit = 0;
        while n >= 999.95 && unit + 1 < units.len() {
            n /= 1e3;
            unit += 1;
        }
        write!(f, "{n:.1} {}", units[unit])
    }
}

/// The bytes that this process may still take; `None` if nothing says so.
pub(crate) fn free() -> Option<u64> {
    free_below(Path::new("/"))
}

/// As [`free`], of the system whose files are below `root`.
fn free_below(root: &Path) -> Option<u64> {
    let machine = number_after(&read(root, "proc/meminfo")?, "MemAvailable:").map(|k| k << 10);
    [machine, control_group(root), address_space(root)].into_iter().flatten().min()
}

fn read(root: &Path, path: &str) -> Option<String> {
    std::fs::read_to_string(root.join(path)).ok()
}

/// The number behind `key`, which begins a line.
fn number_after(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What `ulimit -v` leaves; an allocation beyond it ends the process.
fn address_space(root: &Path) -> Option<u64> {
    let most = number_after(&read(root, "proc/self/limits")?, "Max address space")?;
    let taken = number_after(&read(root, "proc/self/status")?, "VmSize:")?;
    Some(most.saturating_sub(taken << 10))
}

/// What the process's control groups leave, inner and outer ones.
fn control_group(root: &Path) -> Option<u64> {
    let mut least: Option<u64> = None;
    for line in read(root, "proc/self/cgroup")?.lines() {
        // `0::/path` of version 2, `4:memory:/path` of version 1.
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (base, most, taken, cache) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "),
            c if c.split(',').any(|c| c == "memory") => (
                "sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "total_inactive_file ",
            ),
            _ => continue,
        };
        let base = Path::new(base);
        let group = base.join(path.trim_start_matches('/'));
        for folder in group.ancestors().take_while(|folder| folder.starts_with(base)) {
            let text = |name: &str| read(root, folder.join(name).to_str()?);
            let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
            // `max` where there is no limit.
            let (Some(most), Some(taken)) = (number(most), number(taken)) else { continue };
            // Pages of files that were read once are given back when asked for.
            let cached =
                text("memory.stat").and_then(|stat| number_after(&stat, cache)).unwrap_or(0);
            let left = most.saturating_sub(taken.saturating_sub(cached));
            least = Some(least.map_or(left, |least| least.min(left)));
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    fn asked(bytes: u64) -> Result<()> {
        fits(bytes, 2 * GB, &|| "a thing".to_string(), "ask for less")
    }

    #[test]
    fn what_does_not_fit_is_refused_with_both_figures_and_a_remedy() {
        assert!(asked(GB / 2).is_ok());
        assert!(asked(2 * GB).is_ok());
        let error = asked(2 * GB + GB / 2).unwrap_err();
        assert_eq!(error.code, Code::Memory);
        assert_eq!(error.message, "a thing needs 2.5 GB of memory, but 2.0 GB are free");
        assert_eq!(error.help.as_deref(), Some("ask for less"));
    }

    #[test]
    fn bytes_are_printed_with_one_digit() {
        let text = |n| Bytes(n).to_string();
        assert_eq!(text(0), "0.0 kB");
        assert_eq!(text(999_999), "1.0 MB");
        assert_eq!(text(17_300_000_000), "17.3 GB");
        assert_eq!(text(u64::MAX), "18.4 EB");
    }

    fn machine(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        free_below(root.path())
    }

    #[test]
    fn the_least_of_machine_control_group_and_address_space_is_free() {
        let memory = ("proc/meminfo", "MemTotal:  8000 kB\nMemAvailable:   4000 kB\n");
        assert_eq!(machine(&[]), None);
        assert_eq!(machine(&[memory]), Some(4000 << 10));
        let limits = ("proc/self/limits", "Max address space         3000000   unlimited  bytes\n");
        let status = ("proc/self/status", "Name: x\nVmSize:\t   1000 kB\n");
        assert_eq!(machine(&[memory, limits, status]), Some(3_000_000 - (1000 << 10)));
        let unlimited = ("proc/self/limits", "Max address space  unlimited  unlimited  bytes\n");
        assert_eq!(machine(&[memory, unlimited, status]), Some(4000 << 10));
    }

    #[test]
    fn the_limit_of_an_outer_control_group_holds_for_inner_ones() {
        let memory = ("proc/meminfo", "MemAvailable: 400000 kB\n");
        let second = [
            memory,
            ("proc/self/cgroup", "0::/outer/inner\n"),
            ("sys/fs/cgroup/outer/inner/memory.max", "max\n"),
            ("sys/fs/cgroup/outer/inner/memory.current", "1000\n"),
            ("sys/fs/cgroup/outer/memory.max", "9000\n"),
            ("sys/fs/cgroup/outer/memory.current", "5000\n"),
            ("sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 2000\n"),
        ];
        assert_eq!(machine(&second), Some(6000));
        let first = [
            memory,
            ("proc/self/cgroup", "5:cpu:/a\n4:memory:/b\n"),
            ("sys/fs/cgroup/memory/b/memory.limit_in_bytes", "7000\n"),
            ("sys/fs/cgroup/memory/b/memory.usage_in_bytes", "8000\n"),
        ];
        assert_eq!(machine(&first), Some(0));
    }
}
