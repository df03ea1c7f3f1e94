//! Makes the list of URLs that the figures in docs/performance.md are taken on:
//! the distinct lines of a folder of corpora.
//!
//! ```text
//! cargo run --release --example union -- [--all] FOLDER OUT
//! ```
//!
//! Reads every file of the folder that ends in `.zst`, in the order of their names.
//! Blank lines, `file:` URLs and lines over 400 bytes are left out; of equal lines
//! the first stays, so that the order is that of first occurrence. Prints how many
//! there are, their mean length, and the XXH3 (64 bits, seed 0) of what was
//! written. With `--all` nothing is left out, and repeats are kept: a stream for
//! checks rather than figures.
#![allow(
    clippy::disallowed_methods,
    reason = "an example is no part of the store"
)]

use std::collections::HashSet;
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

const LONGEST: usize = 400;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let all = args.first().is_some_and(|arg| arg == Path::new("--all"));
    if all {
        args.remove(0);
    }
    let [folder, out] = args.as_slice() else {
        return Err("usage: union [--all] FOLDER OUT".into());
    };
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, std::io::Error>>()?;
    files.retain(|path| path.extension().is_some_and(|e| e == "zst"));
    files.sort();
    if files.is_empty() {
        return Err(format!("no .zst files in {}", folder.display()).into());
    }
    let texts = files
        .iter()
        .map(|path| decompress(path).map_err(|e| format!("{}: {e}", path.display()).into()))
        .collect::<Result<Vec<Vec<u8>>, Box<dyn Error>>>()?;

    let mut known: HashSet<&[u8]> = HashSet::new();
    let mut hash = Xxh3::new();
    let mut bytes = 0;
    let mut count = 0u64;
    let mut writer = BufWriter::with_capacity(1 << 20, File::create(out)?);
    for line in texts
        .iter()
        .flat_map(|text| text.split(|&byte| byte == b'\n'))
    {
        let wanted = line.len() <= LONGEST && !line.starts_with(b"file:");
        if !line.is_empty() && (all || wanted && known.insert(line)) {
            count += 1;
            for part in [line, b"\n"] {
                writer.write_all(part)?;
                hash.update(part);
            }
            bytes += line.len();
        }
    }
    writer.flush()?;
    println!(
        "{} URLs, mean length {:.1} bytes, xxh3 {:016x}",
        count,
        bytes as f64 / count.max(1) as f64,
        hash.digest()
    );
    Ok(())
}

fn decompress(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut file = BufReader::new(File::open(path)?);
    let mut text = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(&mut file)?.read_to_end(&mut text)?;
    Ok(text)
}
