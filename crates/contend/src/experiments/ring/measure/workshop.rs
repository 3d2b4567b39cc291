//! A temporary folder in which the contestants that are programs are built and run. It is gone when it is dropped.

use super::program::{self, Errand, Stopped};
use crate::experiments::ring::contestants::{Contestant, Recipe, Runs, Source, Toolchain, filled};
use crate::interruption::Interruption;
use anyhow::Context;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// The folder, with a copy of every contestant's sources.
pub struct Workshop {
    folder: TempDir,
    /// Where the copy of a folder lies.
    copies: BTreeMap<String, PathBuf>,
}

/// A program that can be run: the words before THREADS and HOPS.
#[derive(Clone, Debug, PartialEq)]
pub struct Ready {
    pub words: Vec<String>,
    pub environment: Vec<String>,
    pub folder: PathBuf,
}

/// What became of a contestant that is a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Readiness {
    Ready(Ready),
    /// Its toolchain is not here: these packages bring it.
    Absent(String),
    NotBuilt(String),
}

/// A slow compiler on a busy machine takes a while.
const BUILD_TIMEOUT: Duration = Duration::from_secs(300);
const CHECK_TIMEOUT: Duration = Duration::from_secs(60);

impl Workshop {
    /// # Errors
    /// There is no place for temporary files.
    pub fn open(sources: &[Source]) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("contend-ring-").tempdir();
        let folder = folder.context("no folder for building contestants; TMPDIR may name a better place")?;
        let mut copies = BTreeMap::new();
        for source in sources {
            let number = copies.len();
            let copy: &PathBuf =
                copies.entry(source.folder.clone()).or_insert_with(|| folder.path().join(number.to_string()));
            std::fs::create_dir_all(copy)?;
            std::fs::write(copy.join(&source.name), &source.content)?;
        }
        Ok(Self { folder, copies })
    }

    /// Somewhere to run what has no folder of its own.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Finds toolchains, and builds unless only `looking`; folders side by side on so many `workers`.
    ///
    /// # Errors
    /// A program that could not be waited for. When interrupted, what is missing is simply not there.
    pub fn prepare(
        &self,
        contestants: &[&Contestant],
        looking: bool,
        workers: usize,
        interruption: &Interruption,
        note: impl Fn(&str) + Sync,
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
                let mut bench = Bench { workshop: self, interruption, built: BTreeMap::new() };
                for recipe in recipes.iter().take_while(|_| !interruption.asked()) {
                    note(&format!("building {}", recipe.name));
                    if let Some(readiness) = bench.prepare(recipe, looking) {
                        done.lock().expect("nobody panics with it").insert(recipe.name.clone(), readiness);
                    }
                }
            }
        };
        std::thread::scope(|scope| (0..workers.max(1)).for_each(|_| drop(scope.spawn(work))));
        done.into_inner().expect("nobody panics with it")
    }
}

/// The work on one folder.
struct Bench<'a> {
    workshop: &'a Workshop,
    interruption: &'a Interruption,
    /// Several contestants may share a build.
    built: BTreeMap<Vec<String>, Result<(), String>>,
}

impl Bench<'_> {
    /// `None` if it was interrupted.
    fn prepare(&mut self, recipe: &Recipe, looking: bool) -> Option<Readiness> {
        let out = &self.workshop.copies[&recipe.folder];
        let suits = |words: &[String]| matches!(self.perform(words, out, CHECK_TIMEOUT), Ok(Ok(())));
        let Some(toolchain) = Toolchain::find(recipe, out, suits) else {
            return (!self.interruption.asked()).then(|| Readiness::Absent(recipe.package.clone()));
        };
        if let Some(build) = recipe.build.as_ref().filter(|_| !looking) {
            let words = filled(build, &toolchain, out);
            let known = self.built.get(&words).cloned();
            let outcome = match known {
                Some(outcome) => outcome,
                None => self.perform(&words, out, BUILD_TIMEOUT).ok()?,
            };
            self.built.insert(words, outcome.clone());
            if let Err(why) = outcome {
                return Some(Readiness::NotBuilt(why));
            }
        }
        Some(Readiness::Ready(Ready {
            words: filled(&recipe.run, &toolchain, out),
            environment: recipe.environment.iter().flat_map(|words| words.split(' ')).map(str::to_owned).collect(),
            folder: out.clone(),
        }))
    }

    /// Whether the command succeeded, and if not, why; an error if it was interrupted.
    fn perform(&self, words: &[String], folder: &Path, timeout: Duration) -> Result<Result<(), String>, ()> {
        let errand = Errand { words, environment: &[], folder, cpu: None, timeout };
        Ok(match program::run(&errand, self.interruption, None, |_| ()) {
            Ok(ended) if ended.status.success() => Ok(()),
            Ok(ended) => Err(ended.last_words()),
            Err(Stopped::Interrupted) => return Err(()),
            Err(Stopped::TimedOut) => Err(format!("it took longer than {} s", timeout.as_secs())),
            Err(Stopped::Refused(error)) => Err(error.to_string()),
        })
    }
}
