//! What a benchmark ran on.

#![allow(
    clippy::disallowed_methods,
    reason = "what the kernel says of the machine; no files of a store"
)]

use std::fs;
use std::path::Path;

/// The machine, as far as it tells.
#[derive(Debug, Clone, Default)]
pub(super) struct Machine {
    /// The processor's model.
    pub(super) cpu: Option<String>,
    /// Cores that this process may use.
    pub(super) cores: Option<u64>,
    pub(super) memory: Option<u64>,
    /// The distribution.
    pub(super) os: Option<String>,
    pub(super) kernel: String,
    /// The kind of file system that the stores are on.
    pub(super) file_system: Option<String>,
}

impl Machine {
    pub(super) fn look(stores: &Path) -> Machine {
        let uname = rustix::system::uname();
        let kernel = [uname.sysname(), uname.release(), uname.machine()];
        Machine {
            cpu: value("/proc/cpuinfo", "model name", ':'),
            cores: std::thread::available_parallelism()
                .ok()
                .map(|cores| cores.get() as u64),
            memory: value("/proc/meminfo", "MemTotal", ':').and_then(|text| {
                let kib: u64 = text.strip_suffix("kB")?.trim().parse().ok()?;
                kib.checked_mul(1024)
            }),
            os: value("/etc/os-release", "PRETTY_NAME", '='),
            kernel: kernel
                .map(|part| part.to_string_lossy().into_owned())
                .join(" "),
            file_system: file_system(stores),
        }
    }
}

/// The value of a name in a file of lines.
fn value(file: &str, name: &str, separator: char) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(separator)?;
        let value = value.trim().trim_matches('"');
        (found.trim() == name && !value.is_empty()).then(|| value.to_owned())
    })
}

/// The kind of file system, from the mount that has the path.
fn file_system(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mounts = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let at = fields.next()?.replace("\\040", " ");
        let kind = fields.next()?;
        path.starts_with(&at).then_some((at.len(), kind))
    });
    // The last of equal ones lies above the others.
    let (_, kind) = mounts.max_by_key(|(length, _)| *length)?;
    Some(kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_machine_tells_what_it_is() {
        let machine = Machine::look(Path::new("/proc"));
        assert!(machine.cores.unwrap() > 0);
        assert!(machine.memory.unwrap() > 1 << 20);
        assert!(machine.kernel.starts_with("Linux "), "{}", machine.kernel);
        assert_eq!(machine.file_system.as_deref(), Some("proc"));
    }
}
