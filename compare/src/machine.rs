//! What the measurements ran on, in a line.

use std::fs;

pub(crate) fn describe() -> String {
    let cpu = value("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".into());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = value("/proc/meminfo", "MemTotal");
    let memory: Option<f64> =
        memory.and_then(|text| text.trim_end_matches("kB").trim().parse().ok());
    let gib = memory.unwrap_or_default() / f64::from(1 << 20);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "{cpu}, {cores} cores, {gib:.1} GiB, Linux {}",
        kernel.trim()
    )
}

fn value(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == name).then(|| value.trim().to_owned())
    })
}

/// The version of a package in the lock file that this program was built with.
pub(crate) fn version(package: &str) -> Option<String> {
    let lock = include_str!("../Cargo.lock");
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name).skip(1);
    let version = lines.next()?.strip_prefix("version = ")?;
    Some(version.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use crate::rivals::Name;
    use clap::ValueEnum;

    #[test]
    fn every_store_has_a_version() {
        for name in Name::value_variants() {
            assert!(super::version(name.package()).is_some(), "{name}");
        }
    }
}
