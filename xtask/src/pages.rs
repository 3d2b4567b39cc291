//! Man pages and completions: the programs write their own.

use crate::compile::Binaries;
use crate::tool::run;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A shell, and where its completions lie below `/usr/share`; `*` is the program's name.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/*"),
    ("zsh", "zsh/vendor-completions/_*"),
    ("fish", "fish/vendor_completions.d/*.fish"),
];

/// Writes them below a folder that is laid out as `/usr/share`. Of another processor's programs a copy for this one
/// must be given: it is run.
///
/// # Errors
/// What a program says, or a folder that cannot be written.
pub fn write(runnable: &Binaries, share: &Path) -> anyhow::Result<()> {
    let man = share.join("man/man1");
    fs::create_dir_all(&man)?;
    for program in runnable.programs.iter().filter(|program| program.describes_itself) {
        let path = runnable.path(program.name);
        run(Command::new(&path).arg("man").arg(&man))?;
        for (shell, place) in SHELLS {
            let place = share.join(place.replace('*', program.name));
            fs::create_dir_all(place.parent().unwrap_or(share))?;
            run(Command::new(&path).args(["completions", shell, "--output"]).arg(&place))?;
        }
    }
    Ok(())
}
