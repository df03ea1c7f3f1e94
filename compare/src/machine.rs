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

/// The version of a package that this program was built with, by its lock file.
pub(crate) fn version(package: &str) -> Option<String> {
    let lock = include_str!("../Cargo.lock");
    let about = |name: &str| {
        let name = format!("name = \"{name}\"");
        lock.split("[[package]]").find(|part| part.contains(&name))
    };
    // Where there are several, the list of what this package needs says which one it is.
    let needed = format!("\"{package} ");
    let own = about(env!("CARGO_PKG_NAME"))?.split_once(&needed);
    let value = own.map(|(_, rest)| rest).or_else(|| {
        let (_, rest) = about(package)?.split_once("version = \"")?;
        Some(rest)
    });
    Some(value?.split_once('"')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use crate::rivals::Name;
    use clap::ValueEnum;

    #[test]
    fn every_store_has_a_version() {
        for name in Name::value_variants() {
            let version = super::version(name.package());
            let digit = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
            assert!(version.as_deref().is_some_and(digit), "{name}: {version:?}");
        }
        // Others need older ones.
        let set = super::version("hashbrown").unwrap();
        assert!(set.starts_with("0.17."), "{set}");
    }
}
