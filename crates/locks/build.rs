//! With the feature `c-peers`, compiles the shims to the C and C++ locks.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "c-peers")]
    peers::build();
}

#[cfg(feature = "c-peers")]
mod peers {
    use std::path::PathBuf;

    const SHIMS: &str = "src/peers";

    /// A library, and the shim to it.
    struct Library {
        name: &'static str,
        shim: &'static str,
        cpp: bool,
        /// The library that is linked; `None` for a library of headers.
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
            "cargo::error=the feature c-peers needs libraries that are not installed; on Debian: apt-get install {} \
             ({})",
            packages.join(" "),
            reasons.join("; ")
        );
    }

    impl Library {
        fn path(&self) -> PathBuf {
            [SHIMS, self.shim].iter().collect()
        }

        /// Returns the build of the shim: always optimised, since debug builds of a program use optimised libraries
        /// too.
        fn recipe(&self) -> cc::Build {
            let mut recipe = cc::Build::new();
            recipe.cpp(self.cpp).opt_level(2).warnings(true).extra_warnings(true).file(self.path());
            recipe
        }

        /// Compiles and links the shim once for the compiler's verdict: its messages about a missing header or library
        /// are not printed to the terminal.
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
