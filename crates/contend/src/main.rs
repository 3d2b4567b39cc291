//! The command: flags in, one experiment, its record out.

fn main() -> std::process::ExitCode {
    contend::run()
}
