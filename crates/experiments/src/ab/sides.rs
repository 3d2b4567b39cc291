//! The sides of a comparison: commands, with parameters, directories and revisions.

use super::flags::{Flags, Parameter};
use super::record::SideRecord;
use super::revisions::{OF_REPOSITORY, Worktrees};
use harness::UsageError;
use instruments::helper;
use launch::{CommandLine, executable};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command with its surroundings.
#[derive(Clone, Debug)]
pub struct Side {
    pub label: String,
    pub text: String,
    line: CommandLine,
    /// The file of the command; none for a shell's.
    program: Option<PathBuf>,
    /// Directories in which it runs, one for each build; none for contend's own.
    pub directories: Vec<PathBuf>,
    pub revision: Option<String>,
    pub commit: Option<String>,
    pub parameters: BTreeMap<String, String>,
    /// The side that it is compared with.
    pub compared_with: Option<usize>,
    pub is_control: bool,
}

/// More sides than this are not compared at once.
const MOST: usize = 64;
/// The variable whose length varies from run to run.
const PADDING: &str = "CONTEND_AB_PADDING";

impl Side {
    /// Makes the sides of these flags: for each combination of parameters, each command or revision.
    ///
    /// # Errors
    /// Fewer than two; a command that cannot be found; a parameter that no command uses.
    pub fn all(flags: &Flags, worktrees: Option<&Worktrees>) -> Result<Vec<Self>, UsageError> {
        check_number(flags)?;
        check_parameters(flags)?;
        let combinations = combinations(&flags.parameter);
        let mut sides: Vec<Self> = Vec::new();
        for parameters in &combinations {
            let first = sides.len();
            let mut of_combination: Vec<Self> = match worktrees {
                Some(worktrees) => worktrees
                    .revisions
                    .iter()
                    .map(|revision| {
                        let mut side = Self::of(&flags.commands[0], parameters, revision.directories.clone())?;
                        side.label = format!("{} @ {}", side.text, revision.name);
                        (side.revision, side.commit) = (Some(revision.name.clone()), Some(revision.commit.clone()));
                        Ok(side)
                    })
                    .collect::<Result<_, UsageError>>()?,
                None => {
                    let directory = |place: usize| match &flags.directory[..] {
                        [] => Vec::new(),
                        [all] => vec![all.clone()],
                        each => vec![each[place].clone()],
                    };
                    let commands = flags.commands.iter().enumerate();
                    commands
                        .map(|(place, command)| Self::of(command, parameters, directory(place)))
                        .collect::<Result<_, _>>()?
                }
            };
            // A single command with parameters is compared with its first combination, and several commands with the
            // first of them, each with the same parameters.
            let base = if of_combination.len() > 1 { first } else { 0 };
            for (place, side) in of_combination.iter_mut().enumerate() {
                side.compared_with = Some(base).filter(|base| first + place != *base);
            }
            sides.extend(of_combination);
        }
        if flags.control {
            let control = Self { compared_with: Some(0), is_control: true, ..sides[0].clone() };
            sides.push(Self { label: format!("control: {}", control.label), ..control });
        }
        if sides.len() > MOST {
            return Err(UsageError(format!("{} commands to compare; allowed: at most {MOST}", sides.len())));
        }
        // All sides start in the same way: a shell for one of them would cost the others nothing.
        if flags.shell || sides.iter().any(Self::needs_shell) {
            sides.iter_mut().for_each(|side| side.line = CommandLine::Shell(side.text.clone()));
        }
        for side in &mut sides {
            side.find()?;
        }
        name_alike(&mut sides);
        Ok(sides)
    }

    fn of(command: &str, parameters: &BTreeMap<String, String>, directories: Vec<PathBuf>) -> Result<Self, UsageError> {
        let replaced = |text: String, (name, value): (&String, &String)| text.replace(&format!("{{{name}}}"), value);
        let text = parameters.iter().fold(command.to_owned(), replaced);
        let used = parameters.iter().filter(|(name, _)| command.contains(&format!("{{{name}}}")));
        Ok(Self {
            label: text.clone(),
            line: CommandLine::of(&text)?,
            program: None,
            text,
            directories,
            revision: None,
            commit: None,
            parameters: used.map(|(name, value)| (name.clone(), value.clone())).collect(),
            compared_with: None,
            is_control: false,
        })
    }

    pub fn needs_shell(&self) -> bool {
        matches!(self.line, CommandLine::Shell(_))
    }

    /// Returns the words of a command that needs no shell.
    pub fn words(&self) -> Option<Vec<OsString>> {
        match &self.line {
            CommandLine::Words(words) => Some(words.iter().map(OsString::from).collect()),
            CommandLine::Shell(_) => None,
        }
    }

    /// Returns the directory of a build, by its number.
    pub fn directory(&self, build: usize) -> Option<&Path> {
        self.directories.get(build % self.directories.len().max(1)).map(PathBuf::as_path)
    }

    fn find(&mut self) -> Result<(), UsageError> {
        for directory in &self.directories {
            if !directory.is_dir() {
                return Err(UsageError(format!("--directory {}: not a directory", directory.display())));
            }
        }
        let CommandLine::Words(words) = &self.line else { return Ok(()) };
        for build in 0..self.directories.len().max(1) {
            let found = executable(OsStr::new(&words[0]), self.directory(build));
            let help = |UsageError(why): UsageError| {
                // A command without arguments is its own label.
                let label = if why.starts_with(&self.label) { String::new() } else { format!("{}: ", self.label) };
                UsageError(format!("{label}{why}\nhelp: use --shell if this is a command of the shell"))
            };
            self.program = Some(found.map_err(help)?);
        }
        Ok(())
    }

    /// Returns the command of a run, whose environment is longer by this number of bytes.
    ///
    /// # Errors
    /// It needs a shell, and there is none.
    pub fn command(
        &self,
        build: usize,
        variables: &[(String, OsString)],
        padding: Option<usize>,
    ) -> io::Result<Command> {
        let mut command = match (&self.line, &self.program) {
            (CommandLine::Words(words), Some(program)) => {
                let mut command = Command::new(program);
                command.arg0(&words[0]).args(&words[1..]);
                command
            }
            _ => helper::shell(&self.text)?,
        };
        self.directory(build).into_iter().for_each(|directory| _ = command.current_dir(directory));
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        padding.into_iter().for_each(|bytes| _ = command.env(PADDING, "x".repeat(bytes)));
        if self.revision.is_some() {
            OF_REPOSITORY.iter().for_each(|name| _ = command.env_remove(name));
        }
        Ok(command)
    }

    /// Returns the side as the record has it.
    pub fn record(&self) -> SideRecord {
        SideRecord {
            side: self.label.clone(),
            command: self.text.clone(),
            shell: self.needs_shell(),
            // A worktree is gone when the record is read.
            directory: self
                .directories
                .first()
                .filter(|_| self.revision.is_none())
                .map(|path| path.display().to_string()),
            revision: self.revision.clone(),
            commit: self.commit.clone(),
            parameters: self.parameters.clone(),
            compared_with: self.compared_with.map(|base| base as u64),
            is_control: self.is_control,
        }
    }
}

fn check_number(flags: &Flags) -> Result<(), UsageError> {
    let (commands, revisions) = (flags.commands.len(), flags.revisions.len());
    let directories = flags.directory.len();
    let fault = match (commands, revisions) {
        (0, _) => Some("no command to compare; type `contend ab './old --flags' './new --flags'`".to_owned()),
        (1, 0) if flags.parameter.is_empty() && !flags.control => {
            Some("one command to compare; add another, or --parameter, --revisions or --control".to_owned())
        }
        (1, 1) => Some("--revisions: one revision; allowed: two or more".to_owned()),
        (2.., 1..) => Some(format!("--revisions: {commands} commands; allowed: one, which each revision has")),
        _ if directories > 1 && directories != commands => {
            Some(format!("--directory: {directories} directories for {commands} commands; allowed: one, or one each"))
        }
        _ => None,
    };
    fault.map_or(Ok(()), |fault| Err(UsageError(fault)))
}

fn check_parameters(flags: &Flags) -> Result<(), UsageError> {
    let names: Vec<&String> = flags.parameter.iter().flat_map(|parameter| &parameter.names).collect();
    for (place, name) in names.iter().enumerate() {
        if names[..place].contains(name) {
            return Err(UsageError(format!("--parameter {name}: given twice")));
        }
        if !flags.commands.iter().any(|command| command.contains(&format!("{{{name}}}"))) {
            return Err(UsageError(format!("--parameter {name}: no command contains {{{name}}}")));
        }
    }
    Ok(())
}

/// Returns all combinations of the parameters' values.
fn combinations(parameters: &[Parameter]) -> Vec<BTreeMap<String, String>> {
    let with = |all: Vec<BTreeMap<String, String>>, parameter: &Parameter| {
        let one = |before: &BTreeMap<String, String>, values: &[String]| {
            let more = parameter.names.iter().cloned().zip(values.iter().cloned());
            before.clone().into_iter().chain(more).collect()
        };
        all.iter().flat_map(|before| parameter.values.iter().map(|values| one(before, values))).collect()
    };
    parameters.iter().fold(vec![BTreeMap::new()], with)
}

/// Numbers the sides that have one name.
fn name_alike(sides: &mut [Side]) {
    let names: Vec<String> = sides.iter().map(|side| side.label.clone()).collect();
    for (place, side) in sides.iter_mut().enumerate() {
        let before = names[..place].iter().filter(|name| **name == side.label).count();
        if before > 0 {
            side.label = format!("{} ({})", side.label, before + 1);
        }
    }
}
