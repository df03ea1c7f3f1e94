//! Lets a process of its own measure, and reads its answers: what depends on a process
//! being fresh.

use crate::Outcome;
use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// Numbers by name, as a child printed them.
pub(crate) struct Answers(HashMap<String, f64>);

impl Answers {
    pub(crate) fn get(&self, name: &str) -> Outcome<f64> {
        let value = self.0.get(name);
        Ok(*value.ok_or_else(|| format!("the child did not tell {name}"))?)
    }
}

/// Runs this program with `--child`, a mode, a store, and files of URLs.
pub(crate) fn ask(mode: &str, store: &Path, questions: &[&Path]) -> Outcome<Answers> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--child", mode])
        .arg(store)
        .args(questions)
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("the child that was to {mode}: {}", output.status).into());
    }
    let mut answers = HashMap::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let (name, value) = line.split_once(": ").ok_or("a line without a name")?;
        answers.insert(name.to_string(), value.parse()?);
    }
    Ok(Answers(answers))
}
