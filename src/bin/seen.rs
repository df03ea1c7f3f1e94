//! The program `seen`; all of it is in `seendb::cli`.

fn main() -> std::process::ExitCode {
    seendb::cli::run()
}
