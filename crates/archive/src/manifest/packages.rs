//! Versions of the packages that a figure may depend on, from the lists that Debian's and Alpine's tools keep.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Compilers, runtimes and libraries whose code is measured or measures; a name may go on with a version (`gcc-12`).
const PACKAGES: &[&str] = &[
    "binutils",
    "cargo",
    "clang",
    "erlang-base",
    "g++",
    "gcc",
    "ghc",
    "golang",
    "golang-go",
    "libabsl-dev",
    "libc6",
    "libck-dev",
    "libgcc-s1",
    "libnsync-dev",
    "libstdc++6",
    "musl",
    "nodejs",
    "ocaml",
    "openjdk-17-jdk-headless",
    "openjdk-21-jdk-headless",
    "python3",
    "rustc",
];

/// Those that are installed below `root`; none where no such list can be read.
pub fn installed(root: &Path) -> BTreeMap<String, String> {
    let list = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let debian = versions(&list("var/lib/dpkg/status"), "Package: ", "Version: ");
    debian.into_iter().chain(versions(&list("lib/apk/db/installed"), "P:", "V:")).collect()
}

/// A list of paragraphs with a line of the name and, after it, one of the version.
fn versions(list: &str, name_mark: &str, version_mark: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for paragraph in list.split("\n\n") {
        let field = |mark: &str| paragraph.lines().find_map(|line| line.strip_prefix(mark));
        if let (Some(name), Some(version)) = (field(name_mark).filter(|name| is_wanted(name)), field(version_mark)) {
            found.push((name.to_owned(), version.to_owned()));
        }
    }
    found
}

fn is_wanted(name: &str) -> bool {
    let stem =
        name.rsplit_once('-').filter(|(_, version)| version.parse::<f64>().is_ok()).map_or(name, |(stem, _)| stem);
    PACKAGES.contains(&name) || PACKAGES.contains(&stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wanted_packages_are_found_with_their_versions() {
        let list = "Package: gcc-12\nStatus: install ok installed\nVersion: 12.2.0-14\n\nPackage: vim\nVersion: 9\n\n\
                    Package: libc6\nVersion: 2.36-9\nDescription: x\n Version: not this\n";
        let found = versions(list, "Package: ", "Version: ");
        let pair = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        assert_eq!(found, [pair("gcc-12", "12.2.0-14"), pair("libc6", "2.36-9")]);
    }
}
