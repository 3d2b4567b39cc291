//! The destination that `--output` names, checked before the measurement, written after it.

use super::csv;
use super::markdown;
use super::store::{Refused, Store, Stored};
use super::warnings::{self, Printed};
use anyhow::{Context, bail, ensure};
use archive::NotKept;
use harness::output::{
    Created, MODE, OutputFile, OutputFolder, eprint, eprint_line, json_line, print, print_document, print_json,
};
use harness::{AnyRecord, Format, Outcome, SharedFlags, THIS_RECORD, UsageError};
use instruments::warning::{Warning, WarningKind};
use serde::Serialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use terminal::{Page, escaped_text, moment};

/// The views of a record.
pub trait View {
    /// Returns tables and pictures that fit the page.
    fn show(&self, record: &AnyRecord, page: &Page) -> anyhow::Result<String>;

    /// Returns one closing screen, where the full text is long: stdout gets it instead.
    ///
    /// `whole` is the command that shows the rest.
    fn closing(&self, _: &AnyRecord, _whole: &str, _: &Page) -> anyhow::Result<Option<String>> {
        Ok(None)
    }

    /// Returns the words of the command that answers the next question of a reader, if there is one.
    ///
    /// # Errors
    /// The record cannot be read.
    fn next(&self, _: &AnyRecord) -> anyhow::Result<Option<Vec<String>>> {
        Ok(None)
    }

    /// Returns a whole page.
    ///
    /// # Errors
    /// The record has no page.
    fn page(&self, record: &AnyRecord) -> anyhow::Result<String>;

    /// Returns one of the experiment's additional layouts.
    ///
    /// # Errors
    /// It has none of that name.
    fn layout(&self, _: &AnyRecord, name: &str) -> anyhow::Result<String> {
        Err(no_such_layout(name))
    }
}

/// The error of a record that was printed or written, but not archived.
#[derive(Debug)]
pub struct NotArchived(String);

impl fmt::Display for NotArchived {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for NotArchived {}

/// The destination of a record.
pub struct Destination {
    format: Format,
    quiet: bool,
    place: Place,
    stream: Stream,
    store: Store,
    /// The archive as it was named on the command line, for commands that are printed.
    archive: Option<PathBuf>,
}

enum Place {
    /// The stream.
    Printed,
    File(OutputFile),
    Folder(Folder),
}

/// The stream for text that is not written to a file, or cannot be.
enum Stream {
    Stdout,
    Stderr,
}

impl Destination {
    /// Opens the destination before the measurement, so that an unwritable one costs no measurement.
    pub fn open(flags: &SharedFlags) -> anyhow::Result<Self> {
        Self::with(flags, Store::of(flags))
    }

    /// Opens the destination of a run whose parts have records: `--output` names a directory.
    ///
    /// # Errors
    /// As [`Self::open`]; or the records would go nowhere.
    pub fn of_parts(flags: &SharedFlags, experiment: &str, started_unix_s: u64) -> anyhow::Result<Self> {
        let (stdout, store) = (SharedFlags { output: None, ..flags.clone() }, Store::of(flags));
        let Some(path) = flags.output.as_ref().filter(|_| flags.writes_a_file()) else {
            if store.is_nowhere() {
                let problem = "--every: nothing would be saved, since the archive is switched off";
                return Err(UsageError(format!("{problem}; name a directory with --output")).into());
            }
            return Self::with(&stdout, store);
        };
        let extension = match &flags.format {
            Format::Text => "txt",
            Format::Json => "json",
            Format::Csv => "csv",
            Format::Markdown => "md",
            Format::Html => "html",
            Format::Own(_) => "out",
        };
        let folder = Folder::open(path, experiment, started_unix_s, extension)?;
        Ok(Self { place: Place::Folder(folder), ..Self::with(&stdout, store)? })
    }

    /// Leaves stdout to the program that is measured, unless the user asks for stdout: by a format for other programs, or
    /// by `--output -`.
    pub fn beside_program(self, flags: &SharedFlags) -> Self {
        let is_requested = flags.wants_record() && !flags.writes_a_file();
        Self { stream: if is_requested { Stream::Stdout } else { Stream::Stderr }, ..self }
    }

    /// Archives the record of a part of a run, and writes its file, while the run goes on.
    ///
    /// # Errors
    /// It cannot be archived or written.
    pub fn deliver_part(&self, mut record: AnyRecord, view: &dyn View, keep: Option<usize>) -> anyhow::Result<()> {
        if record.results.is_empty() {
            return Ok(());
        }
        let (stored, refusal) = self.keep(&mut record);
        announce(stored, self.quiet);
        if let Place::Folder(folder) = &self.place {
            folder.write(&self.content(&record, view)?, keep)?;
        }
        refusal.map_or(Ok(()), Err)
    }

    /// Opens the destination of a view of an archived record, which is not archived itself.
    ///
    /// # Errors
    /// The destination cannot be written; or it is a page, which a view is not.
    pub fn of_view(flags: &SharedFlags) -> anyhow::Result<Self> {
        if let (Format::Html, Some(path)) = (&flags.format, &flags.output) {
            let path = path.display();
            let how = "this command writes no HTML page; `contend report RECORD --output FILE.html` does";
            return Err(UsageError(format!("--output {path}: {how}")).into());
        }
        Self::with(flags, Store::nowhere())
    }

    fn with(flags: &SharedFlags, store: Store) -> anyhow::Result<Self> {
        let place = match &flags.output {
            None => Place::Printed,
            Some(path) if path.as_os_str() == "-" => Place::Printed,
            Some(path) => Place::File(OutputFile::open("--output", path)?),
        };
        let (format, archive) = (flags.format.clone(), flags.archive.clone());
        Ok(Self { format, quiet: flags.quiet, place, stream: Stream::Stdout, store, archive })
    }

    /// Archives the record, writes it, and prints its warnings on stderr.
    ///
    /// A record that cannot be archived gets an additional warning.
    ///
    /// # Errors
    /// The record has no results, or a file cannot be written after all: the record is then printed, so that the
    /// measurement is not lost.
    pub fn deliver(self, mut record: AnyRecord, view: &dyn View, kept: Option<usize>) -> anyhow::Result<Outcome> {
        let outcome = outcome(&record)?;
        if record.results.is_empty() {
            return Ok(outcome);
        }
        let (stored, refusal) = self.keep(&mut record);
        let (quiet, whole) = (self.quiet, self.whole(stored.as_ref()));
        if self.format == Format::Text
            && matches!(self.place, Place::Printed)
            && let Some(closing) = view.closing(&record, &whole, &self.page())?
        {
            // The warnings come first, so that they do not scroll the closing screen away.
            conclusion(&record.warnings, stored, quiet, refusal.is_some(), &whole);
            return self.present_text(&closing).and(refusal.map_or(Ok(outcome), Err));
        }
        let next = self.next(&record, view, stored.as_ref())?;
        let written = self.content(&record, view).and_then(|content| self.write_record(&content, kept));
        conclusion(&record.warnings, stored, quiet, refusal.is_some(), &whole);
        next.iter().for_each(|line| eprint_line(line));
        written.and(refusal.map_or(Ok(outcome), Err))
    }

    fn content(&self, record: &AnyRecord, view: &dyn View) -> anyhow::Result<String> {
        Ok(match &self.format {
            Format::Text => view.show(record, &self.page())?,
            Format::Json => json_line(record)?,
            Format::Csv => csv::rows(&record.results)?,
            Format::Markdown => markdown::of_record(record, &view.show(record, &Page::plain())?),
            Format::Html => view.page(record)?,
            Format::Own(name) => view.layout(record, name)?,
        })
    }

    /// Archives a record whose results were already printed, and prints its warnings.
    ///
    /// # Errors
    /// The record has no results.
    pub fn conclude(self, record: &AnyRecord) -> anyhow::Result<Outcome> {
        let outcome = outcome(record)?;
        if !record.results.is_empty() {
            let mut record = record.clone();
            let (stored, refusal) = self.keep(&mut record);
            let whole = self.whole(stored.as_ref());
            conclusion(&record.warnings, stored, self.quiet, refusal.is_some(), &whole);
            return refusal.map_or(Ok(outcome), Err);
        }
        Ok(outcome)
    }

    /// Returns the line with the command that a user may type next, for a user that reads the text.
    fn next(&self, record: &AnyRecord, view: &dyn View, stored: Option<&Stored>) -> anyhow::Result<Option<String>> {
        if self.quiet || self.format != Format::Text || !matches!(self.place, Place::Printed) {
            return Ok(None);
        }
        let Some(mut words) = view.next(record)? else { return Ok(None) };
        // The words after `--` are the user's program.
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let name = words[..end].iter().position(|word| word == THIS_RECORD);
        if name.is_some() || words.first().is_some_and(|word| word == "history") {
            let Some(stored) = stored else { return Ok(None) };
            if let Some(name) = name {
                archive::short(&stored.id).clone_into(&mut words[name]);
            }
            let archive = self.archive.iter().flat_map(|path| ["--archive".to_owned(), path.display().to_string()]);
            words.splice(end..end, archive);
        }
        let words: Vec<String> = words.iter().map(|word| archive::quoted(word.as_bytes())).collect();
        Ok(Some(format!("Next: contend {}", words.join(" "))))
    }

    /// Returns the command that shows all of a record, whether it was archived or not.
    fn whole(&self, stored: Option<&Stored>) -> String {
        match stored {
            Some(stored) => whole_record(&stored.id, self.archive.as_deref()),
            None => "in the record that --format json prints".to_owned(),
        }
    }

    /// Archives the record; returns its place in the archive, or, if the command fails without one, the error.
    fn keep(&self, record: &mut AnyRecord) -> (Option<Stored>, Option<anyhow::Error>) {
        match self.store.keep(record) {
            Ok(stored) => (stored, None),
            Err(Refused { warning, is_failure }) => {
                let message = || format!("{} [{}]\nhelp: {}", warning.message(), warning.code(), warning.remedy());
                let refusal = is_failure.then(|| NotArchived(message()).into());
                record.warnings.push(*warning);
                (None, refusal)
            }
        }
    }

    /// Writes the result of a view: as text, as the JSON of `answer`, or as `rows`.
    ///
    /// # Errors
    /// Views do not have the format, or a file cannot be written.
    pub fn present<A: Serialize, R: Serialize>(
        self,
        answer: &A,
        rows: &[R],
        text: impl FnOnce(&Page) -> String,
    ) -> anyhow::Result<()> {
        let content = match self.format {
            Format::Text => text(&self.page()),
            Format::Json => json_line(answer)?,
            Format::Csv => csv::rows(rows)?,
            Format::Markdown => markdown::block(&text(&Page::plain())),
            Format::Html => return Err(no_such_layout("html")),
            Format::Own(name) => return Err(no_such_layout(&name)),
        };
        self.present_text(&content)
    }

    /// Writes the text of a view.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn present_text(self, content: &str) -> anyhow::Result<()> {
        self.write_record(content, None)
    }

    /// Writes an archived record with these fields: as text, or as its JSON.
    ///
    /// # Errors
    /// As [`Self::present`], and the record cannot be shown.
    pub fn present_record(
        self,
        content: &[u8],
        fields: &Map<String, Value>,
        text: impl FnOnce(&Page) -> anyhow::Result<String>,
    ) -> anyhow::Result<()> {
        let content = match self.format {
            Format::Text => text(&self.page())?,
            Format::Json => String::from_utf8(content.to_vec())?,
            Format::Csv => {
                let results = fields.get("results").and_then(Value::as_array);
                csv::rows(results.context("the record has no results")?)?
            }
            Format::Markdown => markdown::block(&text(&Page::plain())?),
            Format::Html => return Err(no_such_layout("html")),
            Format::Own(name) => return Err(no_such_layout(&name)),
        };
        self.present_text(&content)
    }

    fn page(&self) -> Page {
        match (&self.place, &self.stream) {
            (Place::Printed, Stream::Stdout) => Page::of_stdout(),
            (Place::Printed, Stream::Stderr) => Page::of_stderr(),
            (Place::File(_) | Place::Folder(_), _) => Page::plain(),
        }
    }

    fn write_record(self, content: &str, kept: Option<usize>) -> anyhow::Result<()> {
        // JSON is for programs, byte for byte; all other formats may be read at a terminal later.
        let (print, content) = match self.format {
            Format::Json => (print_json as fn(&str) -> io::Result<()>, Cow::Borrowed(content)),
            _ => (print as _, escaped_text(content)),
        };
        let print = if matches!(self.stream, Stream::Stderr) { eprint } else { print };
        let instead = |error: anyhow::Error| {
            print(&content)?;
            Err(error.context("the record was printed instead"))
        };
        match self.place {
            Place::Printed => Ok(print(&content)?),
            Place::Folder(folder) => folder.write(&content, kept).or_else(instead),
            Place::File(file) => file.write(content.as_bytes()).or_else(instead),
        }
    }
}

/// Prints the warnings of a record, and the ID that it was saved under.
///
/// Most are left to the command that shows the record; a refusal to save it is printed as the error that ends the
/// command.
fn conclusion<'a>(
    warnings: impl IntoIterator<Item = &'a Warning>,
    stored: Option<Stored>,
    quiet: bool,
    is_refused: bool,
    whole: &str,
) {
    let (lost, warnings): (Vec<&Warning>, Vec<&Warning>) =
        warnings.into_iter().partition(|warning| warning.code() == NotKept::CODE);
    if !quiet {
        // The loss of the record is none of the warnings about its values, of which a few are printed.
        let lost = lost.into_iter().filter(|_| !is_refused);
        for (warnings, printed) in [(lost.collect(), Printed::All), (warnings, Printed::Few(whole))] {
            warnings::text(warnings, printed, &Page::of_stderr()).lines().for_each(eprint_line);
        }
    }
    announce(stored, quiet);
}

/// Prints the ID that a record was saved under, and tidies the archive.
fn announce(stored: Option<Stored>, quiet: bool) {
    let Some(stored) = stored else { return };
    if !quiet {
        eprint_line(&format!("archived as {}", stored.id));
    }
    stored.tidy();
}

/// Returns the command that shows all of a record; `archive` is named as on the command line.
pub fn whole_record(id: &str, archive: Option<&Path>) -> String {
    let named = archive.map_or_else(String::new, |archive| format!(" --archive {}", archive.display()));
    format!("contend history show {} --all{named}", archive::short(id))
}

fn no_such_layout(name: &str) -> anyhow::Error {
    UsageError(format!("--format {name}: available for the measurement only, not for a view")).into()
}

/// Prints a text, or writes it to the file that `--output` names.
pub fn print_or_write(text: &str, flags: &SharedFlags) -> anyhow::Result<()> {
    match flags.output.as_ref().filter(|_| flags.writes_a_file()) {
        Some(path) => OutputFile::open("--output", path)?.write(text.as_bytes()),
        None => Ok(print_document(text)?),
    }
}

/// Returns the outcome of a measurement with this record.
fn outcome(record: &AnyRecord) -> anyhow::Result<Outcome> {
    match (record.results.is_empty(), record.environment.interrupted) {
        (true, false) => bail!("nothing was measured; use a longer --seconds"),
        (true, true) => {
            eprint_line("interrupted before anything was measured");
            Ok(Outcome::Interrupted)
        }
        (false, true) => Ok(Outcome::Interrupted),
        (false, false) => Ok(Outcome::Done),
    }
}

/// The directory that `--output` names where each part of a run has a record: a numbered file for each, which appears
/// whole, and replaces no other.
struct Folder {
    path: PathBuf,
    folder: OutputFolder,
    /// The begin of their names: the experiment's name, and when the run began.
    begin: String,
    extension: &'static str,
    written: RefCell<Written>,
}

#[derive(Default)]
struct Written {
    count: u32,
    /// The number of other runs that were found to have the same begin of names.
    others: u32,
    left: VecDeque<Created>,
}

impl Folder {
    /// Creates the directory if there is none, and chooses names that no file has.
    ///
    /// # Errors
    /// It cannot be created, or no file can be written there.
    fn open(path: &Path, experiment: &str, started_unix_s: u64, extension: &'static str) -> anyhow::Result<Self> {
        let named = format!("--output {}", path.display());
        ensure!(!path.exists() || path.is_dir(), "{named}: not a directory; --every writes a file for each record");
        fs::create_dir_all(path).with_context(|| format!("{named}: cannot create the directory"))?;
        let files = fs::read_dir(path).with_context(|| format!("{named}: cannot read the directory"))?;
        let files: Vec<String> = files.flatten().map(|file| file.file_name().to_string_lossy().into_owned()).collect();
        let folder = OutputFolder::open(path).with_context(|| format!("{named}: cannot write a file"))?;
        let begin = format!("{experiment}-{}", moment(started_unix_s).replace(' ', "T").replace(':', ""));
        let is_free =
            |others: &u32| !files.iter().any(|file| file.starts_with(&format!("{}-0", prefix(&begin, *others))));
        let others = (0..).find(is_free).unwrap_or_default();
        let written = RefCell::new(Written { others, ..Written::default() });
        Ok(Self { path: path.to_owned(), folder, begin, extension, written })
    }

    /// Writes the next file, and removes the oldest ones of this run if more than `keep` are left.
    fn write(&self, content: &str, keep: Option<usize>) -> anyhow::Result<()> {
        let mut written = self.written.borrow_mut();
        written.count += 1;
        let shown = |name: &str| self.path.join(name).display().to_string();
        let created = loop {
            let name = format!("{}-{:06}.{}", prefix(&self.begin, written.others), written.count, self.extension);
            let created = self.folder.create(&name, MODE, content.as_bytes());
            match created.with_context(|| format!("{}: cannot write the file", shown(&name)))? {
                Some(created) => break created,
                // A run that began in the same minute has the name.
                None => written.others += 1,
            }
        };
        written.left.push_back(created);
        while written.left.len() > keep.unwrap_or(usize::MAX) {
            if let Some(oldest) = written.left.pop_front() {
                // Another program may have collected it.
                let removed = self.folder.remove(&oldest);
                removed.with_context(|| format!("{}: cannot remove the file", shown(oldest.name())))?;
            }
        }
        Ok(())
    }
}

/// Returns the begin of the names of a run, of which this many others have the same.
fn prefix(begin: &str, others: u32) -> String {
    if others == 0 { begin.to_owned() } else { format!("{begin}-run{}", others + 1) }
}
