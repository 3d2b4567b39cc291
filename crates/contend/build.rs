//! Notes what the binary is built from and with.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    provenance::note();
}

mod provenance {
    use std::env;
    use std::path::Path;
    use std::process::Command;

    /// Notes what the binary is built from and with, for the manifests of records. Unknown values are empty.
    pub fn note() {
        // A new commit or other branch changes the log; an edit changes the sources.
        for path in [
            "../../.git/logs/HEAD",
            "../../libs/instruments/src",
            "../../libs/ulocks/src",
            "../../libs/protothreads/src",
            "../../libs/chance/src",
        ] {
            if Path::new(path).exists() {
                println!("cargo::rerun-if-changed={path}");
            }
        }
        println!("cargo::rerun-if-changed=src");
        let compiler = env::var("RUSTC").map(|rustc| said(&rustc, &["--version"])).unwrap_or_default();
        println!("cargo::rustc-env=CONTEND_REVISION={}", revision());
        println!("cargo::rustc-env=CONTEND_COMPILER={compiler}");
        println!("cargo::rustc-env=CONTEND_PROFILE={}", env::var("PROFILE").unwrap_or_default());
        println!("cargo::rustc-env=CONTEND_TARGET={}", env::var("TARGET").unwrap_or_default());
    }

    /// Returns the revision, with a `+` if a tracked source has been changed.
    fn revision() -> String {
        let revision = said("git", &["rev-parse", "--verify", "HEAD"]);
        let changed = !said("git", &["status", "--porcelain", "--untracked-files=no", "--", "../.."]).is_empty();
        if changed && !revision.is_empty() { revision + "+" } else { revision }
    }

    fn said(program: &str, arguments: &[&str]) -> String {
        let answer = Command::new(program).args(arguments).output().ok().filter(|answer| answer.status.success());
        answer.map(|answer| String::from_utf8_lossy(&answer.stdout).trim().to_owned()).unwrap_or_default()
    }
}
