//! Words that users of other tools type: accepted where their meaning is clear, and otherwise answered in a sentence.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use std::ffi::{OsStr, OsString};

/// The formats that are also accepted as options of the same name.
const FORMATS: [&str; 3] = ["json", "csv", "markdown"];

/// Words in the place of a command, and the answer to each.
const COMMANDS: &[(&[&str], &str)] = &[
    (
        &["record", "stat", "strace", "perf", "ltrace", "attach", "profile"],
        "`contend trace -- PROGRAM` traces a program's locks, and `contend trace --pid PID` those of a running process",
    ),
    (&["cyclictest", "timerlat", "wakeup"], "`contend noise --wake 1ms --policy fifo:80` measures wake-up latency"),
    (
        &["oslat", "osnoise", "hwlat", "hwlatdetect", "jitter", "sysjitter", "rtla"],
        "`contend noise` measures the gaps of a running thread",
    ),
    (
        &["hyperfine", "bench", "benchmark", "time"],
        "`contend ab ./old ./new` compares programs, and `contend survey` measures this machine",
    ),
    (&["lock", "mutex", "semaphore"], "`contend latency` and `contend throughput` measure locks"),
    (&["locks"], "`contend latency --lock list` lists the locks"),
    (&["list", "ls", "records", "log"], "`contend history` lists the records"),
    (&["show", "cat", "view", "last"], "`contend history show last` shows a record"),
    (&["rm", "delete", "remove"], "`contend history rm RECORD` deletes a record"),
    (&["push", "pull", "verify", "trend", "export"], "this is a command below another, as in `contend history verify`"),
    (&["diff", "cmp"], "`contend compare last~1 last` compares two records"),
    (&["html", "page", "open"], "`contend report last --output page.html` writes an HTML report"),
    (&["measure", "all", "start"], "`contend survey` measures this machine, and `contend trace -- PROGRAM` a program"),
    (&["check", "info", "env", "system", "diagnose"], "`contend doctor` checks what can be measured here"),
    (&["tui", "gui", "ui", "menu"], "`contend screen` opens the full-screen interface"),
    (&["flags", "options", "common"], "`contend help common` lists the common options"),
];

/// Options that no command has, and the answer to each.
const OPTIONS: &[(&[&str], &str)] = &[
    (&["-t"], "ambiguous: `--threads N` sets the number of threads, and `--seconds TIME` the duration"),
    (&["--time", "--timeout", "--runtime", "-d", "-s"], "the duration is `--seconds TIME`, such as 30, 90s or 5min"),
    (
        &["--histofall", "--histogram"],
        "the record and its HTML report have the histograms: `contend report last --output page.html`",
    ),
    (&["--histfile"], "`contend noise --trace gaps.hlog` writes an HdrHistogram log"),
    (&["-a", "--affinity", "--cpu-list", "-C"], "the CPUs are `--cpus LIST`, such as 0,2-3 or all"),
    (&["-b", "--breaktrace", "--threshold"], "`--stop-above TIME` ends a run at the first longer event"),
    (
        &["-i", "--interval-us"],
        "`contend noise --wake TIME` sets the period of wake-ups, and `--interval TIME` that of printed lines",
    ),
    (
        &["-n", "--limit", "--count", "--max-count"],
        "a measurement ends after `--seconds TIME`; `contend history --since 7d` shortens the list of records",
    ),
    (&["--min-runs", "--max-runs"], "`contend ab` and `contend trace --swap` accept `--runs N`"),
    (
        &["-w", "--warmup"],
        "`contend ab` and `contend trace --swap` accept `--warmup N`; experiments warm up by themselves",
    ),
    (&["-e", "--event", "-c", "-F", "--freq", "--trace-file"], "`contend trace` needs no list of events and no rate"),
    (&["--color", "--colour", "--no-color", "--no-colour"], "the variable NO_COLOR=1 turns colours off"),
    (&["--json", "--csv", "--markdown"], "the format is `--format json`, also csv or markdown"),
    (&["--only", "--skip", "--no-page"], "`contend survey` has this option"),
    (&["--config"], "contend has no configuration file; CONTEND_ARCHIVE names the archive"),
    (
        &["-l", "--loops", "--iterations", "--repeat", "-r"],
        "the amount of work follows from `--seconds TIME`; `contend ab` and `contend trace --swap` accept `--runs N`",
    ),
    (
        &["-p", "--priority", "--prio"],
        "`contend noise --wake 1ms --policy fifo:N` sets a priority, and `contend trace -p PID` names a process",
    ),
    (&["-m", "--mlockall"], "contend needs no such option: no measured loop touches memory for the first time"),
    (&["-S", "--smp"], "`--cpus all` measures all CPUs at once"),
    (&["--fifo", "--rr"], "`contend noise --wake 1ms --policy fifo:N` measures a real-time thread"),
    (&["-f", "--follow", "--follow-forks"], "`contend trace` follows the children of a program without an option"),
    (&["-g", "--call-graph", "--stack"], "`contend trace` records call sites without an option"),
    (&["--tid", "--process"], "`contend trace --pid PID` traces a running process"),
    (&["--html", "--page"], "`contend report last --output page.html` writes an HTML report"),
    (&["--svg", "--png", "--plot"], "`contend report --picture NAME --output FILE.svg` draws a histogram"),
    (
        &["--verbose", "-v"],
        "`--all` of `contend trace` and of `contend history show` prints all tables, and `--explain` the method",
    ),
    (&["--silent", "--no-progress"], "`--quiet` prints no progress and no warnings"),
    (&["--dry-run", "--list"], "`--explain` prints the method of an experiment and measures nothing"),
    (&["--no-save", "--no-archive", "--no-store"], "`--no-keep` does not save the record"),
    (&["--locks", "--mutex"], "the locks are `--lock NAMES`, separated by commas"),
    (&["--file", "--out", "--out-file"], "`--output FILE` writes to a file"),
    (&["--regex"], "`contend ab --metric REGEX` compares a number in a program's output"),
    (
        &["--export-json", "--export-markdown", "--export-csv"],
        "`--format json --output FILE` writes the record to a file, also as csv or markdown",
    ),
];

/// Options of cyclictest, oslat and rtla that `contend noise` does not have, and the answer to each; other options of
/// these tools are among those of all commands.
const OF_NOISE: &[(&[&str], &str)] = &[
    (&["-c", "--clock"], "the CPUs are `--cpus LIST`, such as 0,2-3 or all; the clock is always the monotonic one"),
    (
        &["-H", "--histofall", "--house-keeping"],
        "`--histogram` counts by length in µs, with a column for each CPU; `--cpus LIST` leaves the other CPUs to the \
         system",
    ),
    (
        &["-T", "--trace-threshold", "--thread", "--stop", "--stop-total"],
        "`--stop-above TIME` ends a run at the first longer event; the least length of a gap is calibrated",
    ),
    (&["-s"], "`--stop-above TIME` ends a run at the first longer event, and `--seconds TIME` is the duration"),
    (
        &["-t", "--threads"],
        "`--cpus LIST` gives each of these CPUs a thread, as in 0,2-3 or all; `--trace FILE` writes all gaps",
    ),
    (
        &["-p", "--priority", "--prio", "--rtprio", "-f", "-P"],
        "`contend noise --wake 1ms --policy fifo:80` measures a thread with priority 80",
    ),
    (&["-N", "--nsecs"], "each value has its unit; `--format json` has all of them in µs"),
];

/// Values of `--format` that name another command.
const VALUES: &[(&[&str], &str)] = &[
    (&["html", "htm", "page", "pdf"], "`contend report last --output page.html` writes an HTML report"),
    (
        &["svg", "png", "picture"],
        "`contend report --picture NAME --output FILE.svg` draws a histogram, and `contend ladder --output ladder.svg` the ladder",
    ),
    (&["table", "plain", "txt"], "this is the format `text`, which is the default"),
    (&["md"], "the format is called `markdown`"),
    (
        &["jsonl", "ndjson"],
        "the formats are text, json, csv and markdown; `contend noise --interval 1s --view json` prints JSON lines",
    ),
];

/// Returns the words after `contend` in the form that the command line defines.
///
/// The words of a traced program are unchanged.
pub fn accepted(root: &Command, words: Vec<OsString>) -> Vec<OsString> {
    if let [only] = &words[..]
        && (only == "-v" || only == "version")
    {
        return vec!["--version".into()];
    }
    let (mut command, mut result, mut rest) = (root, Vec::new(), words.into_iter().peekable());
    while let Some(word) = rest.next() {
        let text = word.to_string_lossy().into_owned();
        let is_root = command.get_name() == root.get_name();
        if let Some((name, value)) = option(&text) {
            if command.get_name() == "noise"
                && let Some(more) = limited_histogram(&text, rest.peek())
            {
                result.push("--histogram".into());
                rest.by_ref().take(more).for_each(drop);
                continue;
            }
            if value.is_none() && ["-h", "--help"].contains(&name) {
                // The parser would print the help and drop the next word.
                if let Some(number) = rest.next_if(|next| is_count(next)) {
                    let mut help = OsString::from("--help=");
                    help.push(number);
                    result.push(help);
                    continue;
                }
                while let Some(next) = rest.next_if(|next| command.find_subcommand(next).is_some()) {
                    command = command.find_subcommand(&next).unwrap_or(command);
                    result.push(next);
                }
            }
            let known = find(command, root, name);
            match known {
                None if FORMATS.iter().any(|format| text == format!("--{format}")) => {
                    result.extend(["--format".into(), name.trim_start_matches('-').into()]);
                    continue;
                }
                Some(flag) if !flag.get_action().takes_values() => {
                    result.push(word);
                }
                Some(flag) => {
                    result.push(word);
                    let values = flag.get_num_args().map_or(1, |count| count.min_values());
                    // The parser would take a negative number for an option.
                    let negative = rest.next_if(|next| value.is_none() && values == 1 && is_negative(next));
                    if let (Some(negative), Some(last)) = (&negative, result.last_mut()) {
                        last.push("=");
                        last.push(negative);
                    }
                    if value.is_none() && negative.is_none() {
                        result.extend(rest.by_ref().take(values));
                    }
                    let takes_next = values == 0 && flag.get_num_args().is_some_and(|count| count.max_values() == 1);
                    if value.is_none() && takes_next && !flag.is_require_equals_set() {
                        result.extend(rest.next_if(|next| !next.to_string_lossy().starts_with('-')));
                    }
                    let is_list = flag.get_value_delimiter() == Some(',');
                    let has_room = command.get_positionals().next().is_none() && !command.has_subcommands();
                    while is_list
                        && has_room
                        && let Some(next) = rest.next_if(|next| !next.to_string_lossy().starts_with('-'))
                        && let Some(last) = result.last_mut()
                    {
                        if !last.to_string_lossy().ends_with(',') {
                            last.push(",");
                        }
                        last.push(next);
                    }
                    if is_list && let Some(last) = result.last_mut() {
                        *last = without_blanks(last);
                    }
                }
                None => result.push(word),
            }
        } else if let Some(below) = command.find_subcommand(&text) {
            command = below;
            result.push(word);
        } else if is_root
            && text == "run"
            && let Some(trace) = root.find_subcommand("trace")
        {
            command = trace;
            result.push("trace".into());
        } else if is_root {
            // A program without a command is traced.
            match (&*text, text.contains('/')) {
                ("--", _) => result.extend(["trace".into(), word]),
                (_, true) => result.extend(["trace".into(), "--".into(), word]),
                _ => result.push(word),
            }
            break;
        } else if text == "--" || command.get_positionals().any(Arg::is_trailing_var_arg_set) {
            result.push(word);
            break;
        } else {
            result.push(word);
        }
    }
    result.extend(rest);
    result
}

/// Returns the number of further words that belong to cyclictest's histogram with a limit, as in `-h 100`.
///
/// The histogram of contend has a fixed limit, which is higher than the usual ones.
fn limited_histogram(text: &str, next: Option<&OsString>) -> Option<usize> {
    if ["-h", "--histogram"].contains(&text) {
        return next.is_some_and(|next| is_count(next)).then_some(1);
    }
    let attached = ["-h", "-h=", "--histogram="].iter().filter_map(|option| text.strip_prefix(option));
    attached.map(OsStr::new).any(is_count).then_some(0)
}

/// Returns whether the word has digits only.
fn is_count(word: &OsStr) -> bool {
    !word.is_empty() && word.as_encoded_bytes().iter().all(u8::is_ascii_digit)
}

/// Returns whether the word is a negative number, perhaps with a unit.
fn is_negative(word: &OsStr) -> bool {
    let digits = word.to_str().and_then(|text| text.strip_prefix('-'));
    digits.is_some_and(|digits| digits.starts_with(|letter: char| letter.is_ascii_digit()))
}

/// Returns a list without the blanks after its commas, and without a comma at its end.
fn without_blanks(list: &OsStr) -> OsString {
    let Some(text) = list.to_str() else { return list.to_owned() };
    let items: Vec<&str> = text.split(',').map(str::trim).collect();
    items.join(",").trim_end_matches(',').into()
}

/// Splits an option into its name with hyphens, and its value after `=`.
pub fn option(text: &str) -> Option<(&str, Option<&str>)> {
    let is_option = text.starts_with('-') && text != "-" && text != "--";
    is_option.then(|| text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value))))
}

/// Returns the definition of an option, which may be one of all commands.
pub fn find<'a>(command: &'a Command, root: &'a Command, name: &str) -> Option<&'a Arg> {
    let is_it = |flag: &&Arg| match name.strip_prefix("--") {
        Some(long) => {
            flag.get_long() == Some(long) || flag.get_all_aliases().is_some_and(|aliases| aliases.contains(&long))
        }
        None => {
            let letter = name.chars().nth(1);
            let aliases = flag.get_all_short_aliases().unwrap_or_default();
            name.chars().count() == 2 && (flag.get_short() == letter || aliases.iter().any(|one| Some(*one) == letter))
        }
    };
    command.get_arguments().find(is_it).or_else(|| root.get_arguments().find(is_it))
}

/// Returns the answer to a word that is not accepted, if there is one that is more useful than the parser's.
///
/// `words` are those after `contend`.
pub fn answer(misuse: &clap::Error, root: impl FnOnce() -> Command, words: &[String]) -> Option<String> {
    let text = |kind| match misuse.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let of = |list: &[(&[&str], &'static str)], word: &str| {
        list.iter().find(|(words, _)| words.contains(&word)).map(|(_, answer)| *answer)
    };
    match misuse.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = text(ContextKind::InvalidSubcommand)?;
            let quotes = if word.trim().is_empty() { "'" } else { "" };
            let near = || misuse.get(ContextKind::SuggestedSubcommand).is_none().then(|| commands(&root(), words));
            let answer = of(COMMANDS, &word).map(str::to_owned).or_else(near)?;
            Some(format!("{quotes}{word}{quotes}: not a command; {answer}"))
        }
        ErrorKind::UnknownArgument => {
            let word = text(ContextKind::InvalidArg)?;
            let name = word.split('=').next().unwrap_or_default();
            if let Some(rest) = word.strip_prefix(['—', '–']) {
                return Some(format!("{word}: begins with a dash; write two hyphens: --{rest}"));
            }
            let root = root();
            let command = words.iter().find_map(|word| root.find_subcommand(word));
            if !word.starts_with('-') {
                let command = command?;
                let has = |flag: &&Arg| flag.get_possible_values().iter().any(|value| value.get_name() == word);
                let advice = match command.get_opts().find(has).and_then(Arg::get_long) {
                    Some(long) => format!("write `--{long} {word}`"),
                    None => format!("`contend {} --help` prints what this command takes", command.get_name()),
                };
                return Some(format!("{word}: not expected here; {advice}"));
            }
            if words.iter().skip_while(|word| *word != "--").any(|after| *after == word) {
                return Some(format!("{name}: not an option after `--`; omit the `--`"));
            }
            let is_of_noise = command.is_some_and(|command| command.get_name() == "noise");
            let own = is_of_noise.then(|| of(OF_NOISE, name)).flatten();
            Some(format!("{name}: not an option here; {}", own.or_else(|| of(OPTIONS, name))?))
        }
        ErrorKind::TooManyValues if text(ContextKind::InvalidArg)?.contains("--help") => {
            let number = text(ContextKind::InvalidValue)?;
            Some(format!(
                "-h {number}: `-h` prints the help and takes no number; `contend noise --histogram` counts by length in µs"
            ))
        }
        ErrorKind::InvalidValue if text(ContextKind::InvalidArg)?.starts_with("--format ") => {
            let word = text(ContextKind::InvalidValue)?;
            Some(format!("--format {word}: {}", of(VALUES, &word)?))
        }
        _ => None,
    }
}

/// Returns the names of the commands where an unknown one was given.
fn commands(root: &Command, words: &[String]) -> String {
    match words.iter().find_map(|word| root.find_subcommand(word)).filter(|command| command.has_subcommands()) {
        None => "`contend --help` lists the commands".to_owned(),
        Some(group) => {
            let names: Vec<&str> = group.get_subcommands().map(Command::get_name).collect();
            format!("allowed: {}", names.join(", "))
        }
    }
}

/// Replaces the standard library's words about a number by the program's.
pub fn reworded(message: &str) -> String {
    message
        .replace("invalid digit found in string", "not a whole number")
        .replace("cannot parse integer from empty string", "not a whole number")
        .replace("number too large to fit in target type", "too large a number")
        .replace("number too small to fit in target type", "too small a number")
        .lines()
        // The advice to pass an unknown option to the program hides that the option is unknown.
        .filter(|line| !line.trim_start().starts_with("tip: to pass "))
        .map(|line| format!("{line}\n"))
        .collect::<String>()
        .replace("\n\n\n", "\n\n")
}

#[cfg(test)]
mod tests {
    use super::super::{Purpose, command};
    use super::*;

    fn words(line: &str) -> String {
        let root = command(Purpose::Parsing);
        let accepted = accepted(&root, line.split(' ').map(OsString::from).collect());
        accepted.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn guessed_words_have_the_meaning_of_defined_ones() {
        for (line, expected) in [
            ("-v", "--version"),
            ("./server", "trace -- ./server"),
            ("./server --json -v", "trace -- ./server --json -v"),
            ("-- server 3", "trace -- server 3"),
            ("run ./server", "trace ./server"),
            ("--seconds 5 ./server", "--seconds 5 trace -- ./server"),
            ("trace ./server --json 1", "trace ./server --json 1"),
            ("trace --export folded x ./server --csv", "trace --export folded x ./server --csv"),
            ("clock --json", "clock --format json"),
            ("latency --lock std parking_lot --threads 1 2", "latency --lock std,parking_lot --threads 1,2"),
            ("latency --lock=std mcs", "latency --lock=std,mcs"),
            ("noise --scenario quiet competitor", "noise --scenario quiet,competitor"),
            ("compare last~1 last", "compare last~1 last"),
            ("latency --competitors -1", "latency --competitors=-1"),
            ("trace -p -1", "trace -p=-1"),
            ("noise --seconds -3s --view lines", "noise --seconds=-3s --view lines"),
            ("latency --lock std,mcs, --threads 1", "latency --lock std,mcs --threads 1"),
            ("noise --wake 1ms -h 100 -q", "noise --wake 1ms --histogram -q"),
            ("noise -h100 --histogram=50 --histogram 7", "noise --histogram --histogram --histogram"),
            ("noise -h", "noise -h"),
            ("latency -h 100", "latency --help=100"),
            ("-h 100", "--help=100"),
            ("-h latency", "latency -h"),
            ("--help history rm", "history rm --help"),
            ("latency -h --threads 2", "latency -h --threads 2"),
        ] {
            assert_eq!(words(line), expected, "{line}");
        }
    }
}
