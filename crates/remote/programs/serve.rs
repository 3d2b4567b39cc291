//! `contend serve`.

fn main() -> std::process::ExitCode {
    remote::serve()
}
