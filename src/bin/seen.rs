//! The program `seen`.

fn main() {}
