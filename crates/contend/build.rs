//! Puts the sources of the thread ring's contestants into the binary, so that an installed one has them. With the feature
//! `c-peers`, compiles the shims to the C and C++ locks.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    contestants::embed();
    provenance::note();
    #[cfg(feature = "c-peers")]
    peers::build();
}

mod provenance {
    use std::env;
    use std::path::Path;
    use std::process::Command;

    /// Notes what the binary is built from and with, for the manifests of records. What is not known is empty.
    pub fn note() {
        // A new commit or other branch changes the log; an edit changes the sources.
        for path in
            ["../../.git/logs/HEAD", "../instruments/src", "../ulocks/src", "../protothreads/src", "../chance/src"]
        {
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

    /// The revision, with a `+` if a tracked source has been changed.
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

mod contestants {
    use std::fs;
    use std::path::{Path, PathBuf};

    const FOLDER: &str = "../../contestants";

    /// Writes a list of (path below the folder, content) for every file of every contestant.
    pub fn embed() {
        // Of a folder, cargo looks at every file below it.
        println!("cargo::rerun-if-changed={FOLDER}");
        let top = fs::canonicalize(FOLDER).expect("the contestants lie beside the crates");
        let mut files: Vec<PathBuf> =
            listed(&top).into_iter().filter(|path| path.is_dir()).flat_map(|f| listed(&f)).collect();
        files.sort();
        let entry = |path: &PathBuf| {
            let name = path.strip_prefix(&top).expect("it was found below the folder");
            format!("    ({:?}, include_str!({:?})),\n", name, path)
        };
        let list: String = files.iter().filter(|path| path.is_file()).map(entry).collect();
        let out = Path::new(&std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("contestants.rs");
        fs::write(out, format!("&[\n{list}]\n")).expect("OUT_DIR can be written");
    }

    fn listed(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("a folder of contestants can be read");
        entries.map(|entry| entry.expect("so can its entries").path()).collect()
    }
}

#[cfg(feature = "c-peers")]
mod peers {
    use std::path::PathBuf;

    const SHIMS: &str = "src/locks/peers";

    /// A library, and the shim to it.
    struct Library {
        name: &'static str,
        shim: &'static str,
        cpp: bool,
        /// What is linked; `None` for a library of headers.
        link: Option<&'static str>,
        debian: &'static str,
    }

    const LIBRARIES: [Library; 3] = [
        Library { name: "Concurrency Kit", shim: "ck.c", cpp: false, link: None, debian: "libck-dev" },
        Library { name: "nsync", shim: "nsync.c", cpp: false, link: Some("nsync"), debian: "libnsync-dev" },
        Library {
            name: "Abseil",
            shim: "abseil.cc",
            cpp: true,
            link: Some("absl_synchronization"),
            debian: "libabsl-dev",
        },
    ];

    pub fn build() {
        println!("cargo::rerun-if-changed={SHIMS}");
        let troubles: Vec<(&Library, String)> =
            LIBRARIES.iter().filter_map(|library| Some((library, library.probe().err()?))).collect();
        if troubles.is_empty() {
            LIBRARIES.iter().for_each(Library::compile);
            return;
        }
        let packages: Vec<&str> = troubles.iter().map(|(library, _)| library.debian).collect();
        let reasons: Vec<String> = troubles.iter().map(|(library, why)| format!("{}: {why}", library.name)).collect();
        println!(
            "cargo::error=the feature c-peers needs more than is here; on Debian: apt-get install {} ({})",
            packages.join(" "),
            reasons.join("; ")
        );
    }

    impl Library {
        fn path(&self) -> PathBuf {
            [SHIMS, self.shim].iter().collect()
        }

        /// How the shim is compiled: optimised always, since debug builds of a program use optimised libraries too.
        fn recipe(&self) -> cc::Build {
            let mut recipe = cc::Build::new();
            recipe.cpp(self.cpp).opt_level(2).warnings(true).extra_warnings(true).file(self.path());
            recipe
        }

        /// Compiles and links the shim once for the compiler's verdict: what it says of a missing header or library
        /// stays off the terminal.
        fn probe(&self) -> Result<(), String> {
            let compiler = self.recipe().try_get_compiler().map_err(|error| error.to_string())?;
            let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
            let mut command = compiler.to_command();
            command.arg("-shared").arg(self.path()).arg("-o").arg(out.join(self.shim).with_extension("probe"));
            command.args(self.link.map(|link| format!("-l{link}")));
            let outcome = command.output().map_err(|error| format!("{}: {error}", compiler.path().display()))?;
            if outcome.status.success() {
                return Ok(());
            }
            let said = String::from_utf8_lossy(&outcome.stderr);
            let line = said.lines().find(|line| line.contains("error") || line.contains("cannot find"));
            Err(line.or(said.lines().next()).unwrap_or("the compiler fails").trim().to_owned())
        }

        fn compile(&self) {
            self.recipe().compile(&format!("contend_{}", self.shim.replace('.', "_")));
            if let Some(link) = self.link {
                println!("cargo::rustc-link-lib=dylib={link}");
            }
        }
    }
}
