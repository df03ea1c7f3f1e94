//! A disk of a few MiB, mounted for real. The process that mounts it has a mount
//! namespace of its own, so that it is gone with the process, however that ends.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::Command;

/// A kind of file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disk {
    Tmpfs,
    /// With blocks of this size, as a file in memory that is a disk.
    Ext4(u32),
}

impl Disk {
    /// The kind that a number of the test's stands for.
    pub(crate) fn numbered(number: u32) -> Disk {
        match number {
            0 => Disk::Tmpfs,
            block => Disk::Ext4(block),
        }
    }

    /// Mounts an empty one at `dir`, or says why it cannot be.
    pub(crate) fn mount(self, mib: u64, dir: &Path) -> Result<(), String> {
        fs::create_dir_all(dir).unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        match self {
            Disk::Tmpfs => {
                let size = format!("size={mib}m");
                run(&["mount", "-t", "tmpfs", "-o", &size, "tmpfs", &text(dir)])
            }
            Disk::Ext4(block) => {
                let image = dir.with_extension("img");
                // Written, so that the disk below never runs full itself.
                fs::write(&image, vec![0; (mib << 20) as usize]).unwrap();
                let (image, block) = (text(&image), block.to_string());
                run(&[
                    "mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-b", &block, &image,
                ])?;
                run(&["mount", "-o", "loop", &image, &text(dir)])
            }
        }
    }
}

/// The command under which a process has a mount namespace of its own and may mount.
pub(crate) fn namespace() -> Result<&'static [&'static str], String> {
    const COMMANDS: [&[&str]; 2] = [
        &["unshare", "--mount"],
        // Enough for a tmpfs, without being root.
        &["unshare", "--map-root-user", "--mount"],
    ];
    let mut why = String::new();
    for command in COMMANDS {
        match run(&[command, &["true"]].concat()) {
            Ok(()) => return Ok(command),
            Err(error) => why = error,
        }
    }
    Err(why)
}

fn run(command: &[&str]) -> Result<(), String> {
    let said = |why: String| format!("`{}`: {}", command.join(" "), why.trim());
    match Command::new(command[0]).args(&command[1..]).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(said(String::from_utf8_lossy(&output.stderr).into())),
        Err(error) => Err(said(error.to_string())),
    }
}

/// Writes to a new file until the disk has no room for another byte.
pub(crate) fn take_all_room(file: &Path) {
    let mut file = fs::File::create(file).unwrap();
    for size in [64 << 10, 512, 1] {
        let bytes = vec![1; size];
        let full = std::iter::from_fn(|| Some(file.write_all(&bytes))).find_map(Result::err);
        assert_eq!(full.unwrap().kind(), ErrorKind::StorageFull);
    }
}

/// Takes this many bytes off the end of a file.
pub(crate) fn cut(file: &Path, bytes: u64) {
    let file = fs::File::options().write(true).open(file).unwrap();
    file.set_len(file.metadata().unwrap().len() - bytes)
        .unwrap();
}
