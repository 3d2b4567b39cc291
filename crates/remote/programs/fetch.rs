//! `contend fetch`.

fn main() -> std::process::ExitCode {
    remote::fetch()
}
