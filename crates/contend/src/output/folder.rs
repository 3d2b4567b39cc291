//! The directory that `--output` names where each part of a run has a record: a numbered file for each, which appears
//! whole.

use anyhow::{Context, ensure};
use harness::output::OutputFile;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use terminal::moment;

/// The files of one run.
pub struct Folder {
    path: PathBuf,
    /// The begin of their names: the experiment's name, and when the run began.
    prefix: String,
    extension: &'static str,
    written: RefCell<Written>,
}

#[derive(Default)]
struct Written {
    count: u32,
    left: VecDeque<PathBuf>,
}

impl Folder {
    /// Creates the directory if there is none, and chooses names that no file has.
    ///
    /// # Errors
    /// It cannot be created, or no file can be written there.
    pub fn open(path: &Path, experiment: &str, started_unix_s: u64, extension: &'static str) -> anyhow::Result<Self> {
        let named = format!("--output {}", path.display());
        ensure!(!path.exists() || path.is_dir(), "{named}: not a directory; --every writes a file for each record");
        fs::create_dir_all(path).with_context(|| format!("{named}: cannot create the directory"))?;
        let files = fs::read_dir(path).with_context(|| format!("{named}: cannot read the directory"))?;
        let files: Vec<String> = files.flatten().map(|file| file.file_name().to_string_lossy().into_owned()).collect();
        let begin = format!("{experiment}-{}", moment(started_unix_s).replace(' ', "T").replace(':', ""));
        let prefixes = std::iter::once(begin.clone()).chain((2..).map(|run| format!("{begin}-run{run}")));
        let is_free = |prefix: &String| !files.iter().any(|file| file.starts_with(&format!("{prefix}-0")));
        let prefix = { prefixes }.find(is_free).unwrap_or(begin);
        let folder = Self { path: path.to_owned(), prefix, extension, written: RefCell::default() };
        // A file that is not written is removed.
        OutputFile::open("--output", &folder.file(1))?;
        Ok(folder)
    }

    fn file(&self, number: u32) -> PathBuf {
        self.path.join(format!("{}-{number:06}.{}", self.prefix, self.extension))
    }

    /// Writes the next file, and removes the oldest ones of this run if more than `keep` are left.
    pub fn write(&self, content: &str, keep: Option<usize>) -> anyhow::Result<()> {
        let mut written = self.written.borrow_mut();
        let file = self.file(written.count + 1);
        OutputFile::open("--output", &file)?.write(content.as_bytes())?;
        written.count += 1;
        written.left.push_back(file);
        while written.left.len() > keep.unwrap_or(usize::MAX) {
            if let Some(oldest) = written.left.pop_front() {
                match fs::remove_file(&oldest) {
                    // Another program collected it.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    removed => removed.with_context(|| format!("{}: cannot remove the file", oldest.display()))?,
                }
            }
        }
        Ok(())
    }
}
