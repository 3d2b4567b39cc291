//! The program: found as the shell would, and looked at before it is started.

use anyhow::Context;
use blame::names::{Elf, message, open_regular};
use harness::UsageError;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::iter::Peekable;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::Chars;

/// A program that can be watched.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    /// The program as it was called, with its arguments.
    pub words: Vec<OsString>,
    /// The program that the kernel starts for a script.
    pub interpreter: Option<PathBuf>,
    /// The reason why the program cannot load contend's libraries; `None` where it can.
    pub no_library: Option<&'static str>,
    /// Whether the program itself, without its libraries, calls locks of the C library.
    pub calls_locks: bool,
}

/// A script whose interpreter is a script, and so on: the kernel goes as far.
const SCRIPTS: usize = 5;

impl Program {
    /// Finds a program that can load contend's libraries.
    ///
    /// # Errors
    /// There is no program of that name, or it cannot load the library.
    pub fn find_dynamic(words: &[OsString]) -> Result<Self, UsageError> {
        let program = Self::find(words)?;
        match program.no_library {
            Some(why) => Err(UsageError(format!("{}: {why}", program.path.display()))),
            None => Ok(program),
        }
    }

    /// Finds the program.
    ///
    /// # Errors
    /// There is no program of that name, or the kernel cannot start it.
    pub fn find(words: &[OsString]) -> Result<Self, UsageError> {
        let name = words.first().ok_or_else(|| {
            UsageError(
                "no program to trace; put it after `--`, as in `contend trace -- ./server --its flags`, or \
                 attach to a process with `--pid PID`"
                    .into(),
            )
        })?;
        let path = executable(name, None)?;
        let refuse = |why: anyhow::Error| UsageError(format!("{}: {why:#}", path.display()));
        let mut interpreter = None;
        for _ in 0..SCRIPTS {
            let file: &Path = interpreter.as_deref().unwrap_or(&path);
            match look(file).map_err(refuse)? {
                Kind::Script { interpreter: next } => interpreter = Some(next),
                Kind::Program { no_library, calls_locks } => {
                    return Ok(Self { path, words: words.to_vec(), interpreter, no_library, calls_locks });
                }
            }
        }
        Err(refuse(anyhow::anyhow!("its chain of interpreters has {SCRIPTS} or more scripts")))
    }

    /// Returns the language that it is written in, if that has its own locks and the file names it.
    pub fn language(&self) -> Option<&'static str> {
        let file = open_regular(self.interpreter.as_ref().unwrap_or(&self.path)).ok()?;
        language(&Elf::open(file, ROOM)?)
    }

    /// Returns the command that starts it, called by the name that the user typed.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.arg0(&self.words[0]).args(&self.words[1..]);
        command
    }
}

/// Finds the file that a name means: in PATH, or from a directory on if the name has a slash.
///
/// # Errors
/// There is none of that name, or one that cannot be executed.
pub fn executable(name: &OsStr, directory: Option<&Path>) -> Result<PathBuf, UsageError> {
    let is_program =
        |path: &Path| path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        let from_here = directory.map_or_else(|| path.clone(), |directory| directory.join(&path));
        return match from_here.metadata() {
            Err(error) => Err(UsageError(format!("{}: {}{}", from_here.display(), message(&error), hint(name)))),
            Ok(_) if !is_program(&from_here) => {
                Err(UsageError(format!("{}: not an executable file", from_here.display())))
            }
            Ok(_) => Ok(path),
        };
    }
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let all = std::env::split_paths(&directories).map(|directory| directory.join(name)).find(|path| is_program(path));
    all.ok_or_else(|| {
        let quotes = if name.is_empty() { "''" } else { "" };
        UsageError(format!("{quotes}{}: command not found in PATH{}", name.display(), hint(name)))
    })
}

/// Returns the advice for a name that has the arguments in it.
fn hint(name: &OsStr) -> &'static str {
    let has_blanks = name.as_bytes().contains(&b' ');
    if has_blanks { "; omit the quotes, so that the program and its arguments are separate words" } else { "" }
}

/// The kind of a file that can be started.
enum Kind {
    Script { interpreter: PathBuf },
    Program { no_library: Option<&'static str>, calls_locks: bool },
}

/// Looks at the file; an error says why it cannot be traced.
fn look(path: &Path) -> anyhow::Result<Kind> {
    let file = open_regular(path).map_err(|refusal| anyhow::anyhow!("{refusal}"));
    let mut file = file.context("cannot be read, so contend cannot check whether it can be traced")?;
    let mut bytes = Vec::new();
    file.by_ref()
        .take(64 << 10)
        .read_to_end(&mut bytes)
        .map_err(|error| anyhow::anyhow!("cannot be read: {}", message(&error)))?;
    if let Some(line) = bytes.strip_prefix(b"#!") {
        let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
        let word = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        return Ok(Kind::Script { interpreter: PathBuf::from(OsStr::from_bytes(word)) });
    }
    let no_library = elf(&bytes)?;
    let found = file.metadata()?;
    let changes_user = found.mode() & 0o4000 != 0 && found.uid() != rustix::process::geteuid().as_raw();
    let changes_group = found.mode() & 0o2000 != 0 && found.gid() != rustix::process::getegid().as_raw();
    if changes_user || changes_group {
        anyhow::bail!(
            "set-uid or set-gid program, which ignores LD_PRELOAD; run contend as the user that it changes to"
        );
    }
    let elf = Elf::open(file, ROOM);
    let is_of_go = elf.as_ref().and_then(language) == Some(GO);
    let no_library = no_library.map(|why| if is_of_go { "a Go program, whose locks are Go's own" } else { why });
    Ok(Kind::Program { no_library, calls_locks: calls_locks(elf.as_ref()) })
}

/// The begins of the names of the C library's locks.
const LOCKS: [&[u8]; 8] = [
    b"pthread_mutex_",
    b"pthread_rwlock_",
    b"pthread_spin_",
    b"pthread_cond_",
    b"pthread_barrier_",
    b"sem_",
    b"mtx_",
    b"cnd_",
];
/// Bytes of a program's names of dynamic symbols; a program with more is taken for one that calls locks.
const ROOM: u64 = 32 << 20;

/// Returns whether the program's dynamic symbols have a lock of the C library among them; `true` if they are unknown.
fn calls_locks(elf: Option<&Elf>) -> bool {
    let names = elf.and_then(|elf| elf.bytes(elf.section(".dynstr")?));
    let is_lock = |name: &[u8]| LOCKS.iter().any(|begin| name.starts_with(begin));
    names.is_none_or(|names| names.split(|byte| *byte == 0).any(is_lock))
}

const GO: &str = "Go";

/// Returns the language of a program by what its compiler left in the file.
fn language(elf: &Elf) -> Option<&'static str> {
    let is_of_rust = |comment: &[u8]| comment.windows(6).any(|word| word == b"rustc ");
    if elf.section(".go.buildinfo").is_some() {
        return Some(GO);
    }
    elf.bytes(elf.section(".comment")?).filter(|comment| is_of_rust(comment)).map(|_| "Rust")
}

/// Checks that it is a program for this machine; returns why it cannot load the library.
fn elf(bytes: &[u8]) -> anyhow::Result<Option<&'static str>> {
    const INTERPRETER: u32 = 3;
    let word = |at: usize| bytes.get(at..at + 2).map(|two| u16::from_ne_bytes([two[0], two[1]]));
    if !bytes.starts_with(b"\x7fELF") {
        anyhow::bail!("neither a program nor a script with an interpreter");
    }
    if bytes.get(4) != Some(&2) {
        anyhow::bail!("32-bit program; contend and its library are 64-bit");
    }
    let machine = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    if word(18) != Some(machine) {
        anyhow::bail!("built for another machine architecture");
    }
    let long = |at: usize| bytes.get(at..at + 8).and_then(|eight| Some(u64::from_ne_bytes(eight.try_into().ok()?)));
    let (start, size, count) = (long(32), word(54), word(56));
    let (Some(start), Some(size), Some(count)) = (start, size, count) else { anyhow::bail!("truncated ELF header") };
    let kind = |place: u16| {
        let at = usize::try_from(start).ok()?.checked_add(usize::from(place) * usize::from(size))?;
        bytes.get(at..at.checked_add(4)?).map(|four| u32::from_ne_bytes([four[0], four[1], four[2], four[3]]))
    };
    if let Some(place) = (0..count).find(|place| kind(*place) == Some(INTERPRETER)) {
        let at = usize::try_from(start)? + usize::from(place) * usize::from(size);
        let loader = long(at + 8).and_then(|offset| bytes.get(usize::try_from(offset).ok()?..)).unwrap_or_default();
        let loader = loader.split(|byte| *byte == 0).next().unwrap_or_default();
        let is_musl = loader.windows(7).any(|name| name == b"ld-musl");
        return Ok(is_musl.then_some("linked with musl, while contend's library needs the GNU C library"));
    }
    Ok(Some("statically linked, so no library can intercept its locks; link it dynamically"))
}

// A command as it is typed into a shell, split into words where no shell is needed to understand it.
//
// A shell takes a millisecond of each run, and starts processes that are then measured too. Words and quotes need none.

/// A command in words, or one that a shell must run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLine {
    Words(Vec<String>),
    Shell(String),
}

/// These characters mean something to a shell wherever they are not quoted.
const SPECIAL: &str = "|&;<>()$`*?[]\n";
/// These do so where a word begins.
const SPECIAL_FIRST: &str = "~#!";

impl CommandLine {
    /// Splits a command by the rules of POSIX shells: spaces, both kinds of quotes, and backslashes.
    ///
    /// # Errors
    /// It is empty; a quote has no end.
    pub fn of(text: &str) -> Result<Self, UsageError> {
        let shell = || Ok(Self::Shell(text.to_owned()));
        let (mut words, mut word): (Vec<String>, Option<String>) = (Vec::new(), None);
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            let is_first = word.is_none();
            match letter {
                ' ' | '\t' => words.extend(word.take()),
                '\'' => {
                    let quoted = word.get_or_insert_default();
                    loop {
                        match letters.next() {
                            Some('\'') => break,
                            Some(letter) => quoted.push(letter),
                            None => return Err(unfinished(text, '\'')),
                        }
                    }
                }
                '"' => {
                    if !in_double_quotes(&mut letters, word.get_or_insert_default(), text)? {
                        return shell();
                    }
                }
                '\\' => match letters.next() {
                    Some('\n') | None => return shell(),
                    Some(letter) => word.get_or_insert_default().push(letter),
                },
                letter if SPECIAL.contains(letter) || (is_first && SPECIAL_FIRST.contains(letter)) => return shell(),
                // An assignment before the command.
                '=' if words.is_empty() => return shell(),
                letter => word.get_or_insert_default().push(letter),
            }
        }
        words.extend(word);
        match words.first() {
            Some(first) if !first.is_empty() => Ok(Self::Words(words)),
            _ => Err(UsageError(format!("{text:?}: empty command"))),
        }
    }
}

/// Reads the rest of a word in double quotes; `false` where a shell would replace a part of it.
fn in_double_quotes(letters: &mut Peekable<Chars<'_>>, word: &mut String, text: &str) -> Result<bool, UsageError> {
    loop {
        match letters.next() {
            Some('"') => return Ok(true),
            Some('$' | '`') => return Ok(false),
            Some('\\') if letters.peek().is_some_and(|next| "\"\\$`".contains(*next)) => word.extend(letters.next()),
            Some(letter) => word.push(letter),
            None => return Err(unfinished(text, '"')),
        }
    }
}

fn unfinished(text: &str, quote: char) -> UsageError {
    UsageError(format!("{text}: the quote {quote} has no end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_quotes_need_no_shell() {
        let words = |text: &str| match CommandLine::of(text).unwrap() {
            CommandLine::Words(words) => words,
            CommandLine::Shell(_) => panic!("{text} needs no shell"),
        };
        assert_eq!(words("./old --flag  x"), ["./old", "--flag", "x"]);
        assert_eq!(words(r#"p 'a b' "c d" e\ f '' g'h'"i""#), ["p", "a b", "c d", "e f", "", "ghi"]);
        assert_eq!(words(r#"p "a\"b\\c\d""#), ["p", r#"a"b\c\d"#]);
        assert_eq!(words("p --n=1 a~b a#b {x}"), ["p", "--n=1", "a~b", "a#b", "{x}"]);
    }

    #[test]
    fn commands_with_a_meaning_for_the_shell_are_given_to_it() {
        for text in
            ["a | b", "a > b", "X=1 a", "a $HOME", "a \"$HOME\"", "a *.c", "~/a", "a; b", "a `b`", "a &&b", "a\\"]
        {
            assert_eq!(CommandLine::of(text).unwrap(), CommandLine::Shell(text.into()), "{text}");
        }
    }

    #[test]
    fn empty_commands_and_open_quotes_are_refused() {
        for text in ["", "  ", "''", "a 'b", "a \"b"] {
            assert!(CommandLine::of(text).is_err(), "{text}");
        }
    }
}
