//! The program: found as the shell would, and looked at before it is started.

use super::names::open_regular;
use anyhow::Context;
use harness::UsageError;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A program that can be watched.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    /// As it was called, with its arguments.
    pub words: Vec<OsString>,
    /// What the kernel starts for a script.
    pub interpreter: Option<PathBuf>,
}

/// A script whose interpreter is a script, and so on: the kernel goes as far.
const SCRIPTS: usize = 5;

impl Program {
    /// Finds the program.
    ///
    /// # Errors
    /// There is none of that name, or one that cannot load the library.
    pub fn find(words: &[OsString]) -> Result<Self, UsageError> {
        let name = words.first().ok_or_else(|| {
            UsageError("no program is named; it stands behind --: `contend trace -- ./server --its flags`; or name a process that \
                 runs: `--pid 1234`"
                .into())
        })?;
        let path = found(name)?;
        let refuse = |why: anyhow::Error| UsageError(format!("{}: {why:#}", path.display()));
        let mut interpreter = None;
        for _ in 0..SCRIPTS {
            let file: &Path = interpreter.as_deref().unwrap_or(&path);
            match look(file).map_err(refuse)? {
                Some(next) => interpreter = Some(next),
                None => return Ok(Self { path, words: words.to_vec(), interpreter }),
            }
        }
        Err(refuse(anyhow::anyhow!("it is a script of a script of a script")))
    }
}

fn found(name: &OsStr) -> Result<PathBuf, UsageError> {
    let is_program =
        |path: &Path| path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return match path.metadata() {
            Err(error) => Err(UsageError(format!("{}: {error}", path.display()))),
            Ok(_) if !is_program(&path) => {
                Err(UsageError(format!("{}: it is no program that may be run", path.display())))
            }
            Ok(_) => Ok(path),
        };
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let all = std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| is_program(path));
    all.ok_or_else(|| UsageError(format!("{}: no folder of PATH has a program of this name", name.display())))
}

/// The interpreter, if it is a script; an error says why it cannot be watched.
fn look(path: &Path) -> anyhow::Result<Option<PathBuf>> {
    let file = open_regular(path).map_err(|refusal| anyhow::anyhow!("{refusal}"));
    let mut file = file.context("it cannot be read, so whether it can be watched is not known")?;
    let mut bytes = Vec::new();
    file.by_ref().take(64 << 10).read_to_end(&mut bytes).context("it cannot be read")?;
    if let Some(line) = bytes.strip_prefix(b"#!") {
        let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
        let word = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        return Ok(Some(PathBuf::from(OsStr::from_bytes(word))));
    }
    elf(&bytes)?;
    let found = file.metadata()?;
    let changes_user = found.mode() & 0o4000 != 0 && found.uid() != rustix::process::geteuid().as_raw();
    let changes_group = found.mode() & 0o2000 != 0 && found.gid() != rustix::process::getegid().as_raw();
    if changes_user || changes_group {
        anyhow::bail!(
            "it is set-uid or set-gid, and loads no library that its caller names; run contend as the user that it \
             becomes"
        );
    }
    Ok(None)
}

/// That it is a dynamically linked program of this machine's.
fn elf(bytes: &[u8]) -> anyhow::Result<()> {
    const INTERPRETER: u32 = 3;
    let word = |at: usize| bytes.get(at..at + 2).map(|two| u16::from_ne_bytes([two[0], two[1]]));
    if !bytes.starts_with(b"\x7fELF") {
        anyhow::bail!("it is neither a program nor a script with an interpreter");
    }
    if bytes.get(4) != Some(&2) {
        anyhow::bail!("it is a 32-bit program: contend's library is of 64 bits, as contend is");
    }
    let machine = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    if word(18) != Some(machine) {
        anyhow::bail!("it is a program of another machine");
    }
    let long = |at: usize| bytes.get(at..at + 8).and_then(|eight| Some(u64::from_ne_bytes(eight.try_into().ok()?)));
    let (start, size, count) = (long(32), word(54), word(56));
    let (Some(start), Some(size), Some(count)) = (start, size, count) else { anyhow::bail!("its header is cut short") };
    let kind = |place: u16| {
        let at = usize::try_from(start).ok()?.checked_add(usize::from(place) * usize::from(size))?;
        bytes.get(at..at.checked_add(4)?).map(|four| u32::from_ne_bytes([four[0], four[1], four[2], four[3]]))
    };
    if let Some(place) = (0..count).find(|place| kind(*place) == Some(INTERPRETER)) {
        let at = usize::try_from(start)? + usize::from(place) * usize::from(size);
        let loader = long(at + 8).and_then(|offset| bytes.get(usize::try_from(offset).ok()?..)).unwrap_or_default();
        let loader = loader.split(|byte| *byte == 0).next().unwrap_or_default();
        if loader.windows(7).any(|name| name == b"ld-musl") {
            anyhow::bail!(
                "it is linked with musl, and contend's library is one for the GNU C library; `--pid` needs none"
            );
        }
        return Ok(());
    }
    anyhow::bail!("it is statically linked, so that no library can stand before its locks; link it dynamically")
}
