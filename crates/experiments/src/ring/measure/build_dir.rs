//! A temporary directory in which the contestants that are programs are built and run; dropping it removes it.
//!
//! Every build has a separate copy of its sources: the files of one compiler might affect another.

use super::program::{self, ProcessSpec, Stopped};
use crate::ring::contestants::{Contestant, Recipe, Runs, Source, filled, find_toolchain};
use crate::ring::plan::Absent;
use anyhow::Context;
use harness::{Interruption, Progress};
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// The directory, and the sources that are copied into it.
pub struct BuildDir<'a> {
    /// The directory; a read-only root may have none, and programs that need no build run anyway.
    folder: Option<TempDir>,
    sources: &'a [Source],
    copies: AtomicUsize,
}

/// A program that can be run: the words before THREADS and HOPS.
#[derive(Clone, Debug, PartialEq)]
pub struct Ready {
    pub words: Vec<String>,
    pub environment: Vec<String>,
    pub folder: PathBuf,
}

/// The state of a contestant that is a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Readiness {
    Ready(Ready),
    /// Its toolchain is missing: these packages contain it.
    Absent(String),
    NotBuilt(String),
}

/// The time limit of a build, long enough for a slow compiler on a busy machine.
const BUILD_TIMEOUT: Duration = Duration::from_secs(300);

impl<'a> BuildDir<'a> {
    pub fn open(sources: &'a [Source]) -> anyhow::Result<Self> {
        // The mode does not depend on the umask, since programs are built and run here.
        let private = Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("contend-ring-").permissions(private).tempdir();
        let folder = match folder {
            Err(error) if std::env::var_os("TMPDIR").is_some() => {
                return Err(error).context("no writable directory for building contestants; set TMPDIR to one");
            }
            found => found.ok(),
        };
        Ok(Self { folder, sources, copies: AtomicUsize::new(0) })
    }

    /// Makes a new copy of a contestant's directory.
    fn copy(&self, of: &str) -> io::Result<PathBuf> {
        let copy = self.path().join(self.copies.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir(&copy)?;
        for source in self.sources.iter().filter(|source| source.folder == of) {
            std::fs::write(copy.join(&source.name), &source.content)?;
        }
        Ok(copy)
    }

    /// Returns the directory, for contestants that have none.
    pub fn path(&self) -> &Path {
        self.folder.as_ref().map_or(Path::new("/"), TempDir::path)
    }

    /// Finds toolchains, and builds unless only `looking`; directories in parallel on several `workers`.
    ///
    /// The check of a toolchain has `timeout`, as a run of its contestant has. When interrupted, the result lacks the
    /// rest.
    pub fn prepare(
        &self,
        contestants: &[&Contestant],
        looking: bool,
        timeout: Duration,
        workers: usize,
        interruption: &Interruption,
        progress: &Progress,
    ) -> BTreeMap<String, Readiness> {
        let mut folders: BTreeMap<&str, Vec<&Recipe>> = BTreeMap::new();
        for contestant in contestants {
            if let Runs::Program(recipe) = &contestant.runs {
                folders.entry(&recipe.folder).or_default().push(recipe);
            }
        }
        let folders: Vec<_> = folders.into_values().collect();
        let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let work = || {
            while let Some(recipes) = folders.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut folder_build =
                    FolderBuild { build_dir: self, interruption, looking, timeout, built: BTreeMap::new() };
                for recipe in recipes.iter().take_while(|_| !interruption.is_requested()) {
                    progress.note(&format!("building {}", recipe.name));
                    let readiness = folder_build.prepare(recipe).unwrap_or_else(|error| {
                        Some(Readiness::NotBuilt(format!("{}: {error}", self.path().display())))
                    });
                    let mut done = done.lock().expect("no thread panics with it");
                    done.extend(readiness.map(|readiness| (recipe.name.clone(), readiness)));
                }
            }
        };
        std::thread::scope(|scope| (0..workers.max(1)).for_each(|_| drop(scope.spawn(work))));
        done.into_inner().expect("no thread panics with it")
    }
}

/// Returns the words behind a guard.
///
/// Killing a compiler does not end its children; the guard receives a signal when this process ends, and kills its
/// whole group.
fn guarded(words: &[String]) -> Vec<String> {
    const GUARD: [&str; 4] = ["/bin/sh", "-c", "trap 'kill -9 0' TERM; \"$@\" & wait $!", "guard"];
    GUARD.into_iter().map(str::to_owned).chain(words.iter().cloned()).collect()
}

/// The build of one directory.
struct FolderBuild<'a> {
    build_dir: &'a BuildDir<'a>,
    interruption: &'a Interruption,
    looking: bool,
    /// The time limit of a check.
    timeout: Duration,
    /// The builds by tool and command: several contestants may share one.
    built: BTreeMap<(PathBuf, Option<String>), Built>,
}

/// The reasons why a command did not succeed.
enum Failed {
    Ended(String),
    TimedOut(String),
}

/// A build that has ended.
#[derive(Clone)]
struct Built {
    out: PathBuf,
    /// Its success, or the reason of its failure.
    outcome: Result<(), String>,
}

impl FolderBuild<'_> {
    /// Prepares a contestant; `None` if it was interrupted.
    fn prepare(&mut self, recipe: &Recipe) -> io::Result<Option<Readiness>> {
        if self.build_dir.folder.is_none() {
            return Ok(Some(Readiness::Absent(Absent::NO_FOLDER.to_owned())));
        }
        let folder = self.build_dir.path();
        let mut hung = None;
        let suits = |words: &[String]| match self.perform(words, folder, self.timeout) {
            Some(Err(Failed::TimedOut(why))) => {
                hung.get_or_insert(format!("the check of its toolchain: {why} (--timeout)"));
                false
            }
            outcome => matches!(outcome, Some(Ok(()))),
        };
        let Some(toolchain) = find_toolchain(recipe, folder, suits) else {
            if let Some(why) = hung {
                // Whether the toolchain is installed is unknown.
                return Ok(Some(Readiness::NotBuilt(why)));
            }
            return Ok((!self.interruption.is_requested()).then(|| Readiness::Absent(recipe.package.clone())));
        };
        let Some(Built { out, outcome }) = self.build(recipe, &toolchain)? else { return Ok(None) };
        if let Err(why) = outcome {
            return Ok(Some(Readiness::NotBuilt(why)));
        }
        Ok(Some(Readiness::Ready(Ready {
            words: filled(&recipe.run, &toolchain, &out),
            environment: recipe.environment.iter().flat_map(|words| words.split(' ')).map(str::to_owned).collect(),
            folder: out,
        })))
    }

    /// Builds a contestant; `None` if it was interrupted.
    fn build(&mut self, recipe: &Recipe, toolchain: &Path) -> io::Result<Option<Built>> {
        let key = (toolchain.to_owned(), recipe.build.clone());
        if let Some(known) = self.built.get(&key) {
            return Ok(Some(known.clone()));
        }
        let out = self.build_dir.copy(&recipe.folder)?;
        let outcome = match recipe.build.as_ref().filter(|_| !self.looking) {
            Some(build) => self.perform(&filled(build, toolchain, &out), &out, BUILD_TIMEOUT),
            None => Some(Ok(())),
        };
        let Some(outcome) = outcome else { return Ok(None) };
        let outcome = outcome.map_err(|(Failed::Ended(why) | Failed::TimedOut(why))| why);
        let built = Built { out, outcome };
        self.built.insert(key, built.clone());
        Ok(Some(built))
    }

    /// Runs the command, and returns its success or the reason of its failure; `None` if it was interrupted.
    fn perform(&self, words: &[String], folder: &Path, timeout: Duration) -> Option<Result<(), Failed>> {
        // Temporary files of a compiler are removed with the directory.
        let environment = [format!("TMPDIR={}", self.build_dir.path().display())];
        let spec = ProcessSpec {
            words: &guarded(words),
            environment: &environment,
            folder,
            cpu: None,
            timeout,
            is_guard: true,
        };
        Some(match program::run(&spec, self.interruption, None, |_| ()) {
            Ok(ended) if ended.status.success() => Ok(()),
            Ok(ended) => Err(Failed::Ended(ended.last_words())),
            Err(Stopped::Interrupted) => return None,
            Err(Stopped::TimedOut) => Err(Failed::TimedOut(format!("it took longer than {} s", timeout.as_secs_f64()))),
            Err(Stopped::Refused(error)) => Err(Failed::Ended(error.to_string())),
        })
    }
}
