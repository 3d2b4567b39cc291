//! The commands that are not experiments: the flags of each, and its function.

use super::complete;
use crate::commands::{
    baseline, compare, doctor, explain, hang, history, ladder, machines, manual, report, schema, screen, survey, test,
    top,
};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use harness::{Example, Outcome, SharedFlags};

/// A command that is not an experiment.
pub struct Other {
    pub name: &'static str,
    pub flags: fn(Command) -> Command,
    /// The shared flags that it accepts, by their names.
    pub takes: &'static [&'static str],
    pub examples: &'static [Example],
    /// The commands below it.
    pub below: &'static [Below],
    pub run: Run,
}

/// The function of a command; its last argument makes the whole command line, for commands that describe it.
type Run = fn(&ArgMatches, &SharedFlags, fn() -> Command) -> anyhow::Result<Outcome>;

/// A command below another.
pub struct Below {
    pub name: &'static str,
    pub takes: &'static [&'static str],
    pub examples: &'static [Example],
}

const EVERYTHING: &[&str] =
    &["seconds", "seed", "cpus", "format", "output", "archive", "no_keep", "quiet", "explain", "live_to"];
/// The shared flags of a command that shows records.
const VIEW: &[&str] = &["format", "output", "archive", "quiet"];
/// The shared flags of a command that uses the archive and has no view.
const ARCHIVE: &[&str] = &["archive", "quiet"];

/// The command above the experiments in the help.
pub const SURVEY: Other = Other {
    name: "survey",
    flags: survey::Flags::augment_args,
    takes: EVERYTHING,
    examples: &[
        ("contend survey --seconds 30", "Run the whole survey in half a minute, with wider confidence intervals"),
        ("contend survey --only clock,noise --no-page", "Run two of its experiments, and write no report"),
    ],
    below: &[],
    run: |matches, shared, _| survey::run(&survey::Flags::from_arg_matches(matches)?, shared),
};

/// The commands below the experiments.
pub const OTHERS: &[Other] = &[
    Other {
        name: "compare",
        flags: compare::Flags::augment_args,
        takes: VIEW,
        examples: &[
            ("contend compare last~1 last", "Compare the last two archived records"),
            (
                "contend compare before.json after.json --fail-if slower:5%",
                "Compare two files; exit with status 3 if the second is slower",
            ),
            ("contend compare --baseline main last", "Compare the last record with a baseline"),
        ],
        below: &[],
        run: |matches, shared, _| compare::run(&compare::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "baseline",
        flags: baseline::Flags::augment_args,
        takes: VIEW,
        examples: &[
            ("contend baseline save main last last~1 last~2", "Name three runs of the same command"),
            ("contend baseline use main", "Select the baseline for `contend compare last`"),
        ],
        below: BASELINE,
        run: |matches, shared, _| baseline::run(&baseline::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "report",
        flags: report::Flags::augment_args,
        takes: &["output", "archive"],
        examples: &[
            ("contend report --output page.html", "Write a report of the last record"),
            ("contend report last~1 last --output page.html", "Write a comparison of the last two records"),
            ("contend report --picture \"std, 1 thread: locking\" --output std.svg", "Write one histogram"),
        ],
        below: &[],
        run: |matches, shared, _| report::run(&report::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "ladder",
        flags: ladder::Flags::augment_args,
        takes: VIEW,
        examples: &[
            ("contend ladder", "Print the costs of the last survey as text"),
            ("contend ladder last --output ladder.svg", "Draw the costs of the last record for a slide"),
        ],
        below: &[],
        run: |matches, shared, _| ladder::run(&ladder::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "machines",
        flags: machines::Flags::augment_args,
        takes: VIEW,
        examples: &[
            ("contend machines", "Compare all machines of the archive"),
            (
                "contend machines m7g=one.json c6i=two.json --price m7g=0.12 --price c6i=0.17",
                "Compare two instance types",
            ),
            ("contend machines --page machines.html", "Also write the comparison as an HTML report"),
        ],
        below: &[],
        run: |matches, shared, _| machines::run(&machines::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "history",
        flags: history::Flags::augment_args,
        takes: VIEW,
        examples: &[
            ("contend history --since 7d", "List the records of one week"),
            ("contend history show last", "Show the last record"),
            ("contend history trend", "List the names of all metrics that have a trend"),
        ],
        below: HISTORY,
        run: |matches, shared, _| history::run(&history::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "screen",
        flags: screen::Flags::augment_args,
        takes: &["archive"],
        examples: &[
            ("contend screen", "Open the interface"),
            ("contend screen --archive records.git", "Open it with another archive"),
        ],
        below: &[],
        run: |_, shared, command| screen::run(shared, command()),
    },
    Other {
        name: "top",
        flags: top::Flags::augment_args,
        takes: &["seconds", "archive", "no_keep"],
        examples: &[
            ("contend top -- ./server --its flags", "Show what the threads of a server wait for, while it runs"),
            ("contend top --pid 1234", "Attach to a running process; as root, with each of its futex calls"),
        ],
        below: &[],
        run: |matches, shared, _| top::run(&top::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "hang",
        flags: hang::Flags::augment_args,
        takes: &["format", "output", "quiet"],
        examples: &[
            ("contend hang 1234", "Explain why process 1234 does not go on"),
            ("contend hang 1234 1240", "Explain two processes that may wait for each other"),
            ("contend hang 1234 --format json --output hang.json", "Save the explanation with its evidence"),
        ],
        below: &[],
        run: |matches, shared, _| hang::run(&hang::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "test",
        flags: test::Flags::augment_args,
        takes: &["output"],
        examples: &[
            ("contend test -- pytest -x", "Run a test suite; explain it if nothing moves for a minute"),
            (
                "contend test --deadline 20s --output hang.xml -- cargo test",
                "Write the result for JUnit's readers as well",
            ),
        ],
        below: &[],
        run: |matches, shared, _| test::run(&test::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "doctor",
        flags: doctor::Flags::augment_args,
        takes: &["format", "output", "quiet"],
        examples: &[
            ("contend doctor", "Check what this user can measure on this machine"),
            ("contend doctor --format json --output doctor.json", "Write the checks to a file, for a bug report"),
        ],
        below: &[],
        run: |_, shared, _| doctor::run(shared),
    },
    Other {
        name: "explain",
        flags: explain::Flags::augment_args,
        takes: &["format", "output", "quiet"],
        examples: &[
            ("contend explain", "List the codes of the findings of `contend trace`"),
            ("contend explain holder_blocked", "Say what such a finding means, and what would refute it"),
            ("contend explain evidence.gz", "Diagnose what `contend trace --save evidence.gz` saw, on any machine"),
        ],
        below: &[],
        run: |matches, shared, _| explain::run(&explain::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "schema",
        flags: schema::Flags::augment_args,
        takes: &["output"],
        examples: &[
            ("contend schema latency", "Print the schema of the records of `contend latency`"),
            ("contend schema --output schema.json", "Write the schema of all records to a file"),
        ],
        below: &[],
        run: |matches, shared, _| schema::run(&schema::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "completions",
        flags: manual::CompletionsFlags::augment_args,
        takes: &["output"],
        examples: &[
            ("contend completions bash --output contend.bash", "Write a script for bash"),
            ("contend completions zsh --output _contend", "Write a script for a directory of zsh's $fpath"),
        ],
        below: &[],
        run: |matches, shared, command| {
            manual::complete(&manual::CompletionsFlags::from_arg_matches(matches)?, shared, command())
        },
    },
    Other {
        name: "complete",
        flags: complete::Flags::augment_args,
        takes: &[],
        examples: &[
            ("contend complete -- compare las", "Print the records that a user may mean"),
            ("contend complete -- latency --lock std,", "Print the locks that may follow"),
        ],
        below: &[],
        run: |matches, _, command| complete::run(&complete::Flags::from_arg_matches(matches)?, &command()),
    },
    Other {
        name: "man",
        flags: manual::PagesFlags::augment_args,
        takes: &["output"],
        examples: &[
            ("contend man trace", "Show the page of `contend trace`"),
            ("contend man --output contend.1", "Write the page of contend itself"),
            ("contend man ./man1", "Write one page per command to the directory man1"),
        ],
        below: &[],
        run: |matches, shared, command| {
            manual::write_pages(&manual::PagesFlags::from_arg_matches(matches)?, shared, command())
        },
    },
];

const BASELINE: &[Below] = &[
    Below {
        name: "save",
        takes: ARCHIVE,
        examples: &[
            ("contend baseline save main", "Name the last record"),
            ("contend baseline save v1 last last~1 last~2", "Name three runs, which show the run-to-run variation"),
        ],
    },
    Below {
        name: "use",
        takes: ARCHIVE,
        examples: &[
            ("contend baseline use main", "Compare with this baseline from now on"),
            ("contend baseline use v1", "Select another baseline"),
        ],
    },
    Below {
        name: "list",
        takes: VIEW,
        examples: &[
            ("contend baseline list", "List all baselines"),
            ("contend baseline list --format json", "Print the list for a program"),
        ],
    },
    Below {
        name: "remove",
        takes: ARCHIVE,
        examples: &[
            ("contend baseline remove v1", "Delete the name and keep its records"),
            ("contend baseline remove main --archive ../archive.git", "Delete a name in another archive"),
        ],
    },
    Below {
        name: "export",
        takes: ARCHIVE,
        examples: &[
            ("contend baseline export main main.bundle", "Write a baseline to a file, for another machine"),
            ("contend history pull main.bundle", "Read that file on the other machine"),
        ],
    },
];

const HISTORY: &[Below] = &[
    Below {
        name: "list",
        takes: VIEW,
        examples: &[
            ("contend history list --experiment latency", "List the records of one experiment"),
            ("contend history list --since 2026-11-21 --format csv", "List the records since a day, as CSV"),
        ],
    },
    Below {
        name: "show",
        takes: VIEW,
        examples: &[
            ("contend history show last", "Show the last record as it was printed after its measurement"),
            ("contend history show last --all", "Show all tables, charts, findings and warnings of the last record"),
            ("contend history show last~3 --manifest", "Show the machine and the program of an older record"),
        ],
    },
    Below {
        name: "hours",
        takes: VIEW,
        examples: &[
            ("contend history hours", "Show one line per CPU, with two columns per hour of the day"),
            (
                "contend history hours --since 4w --format csv",
                "Print the hours of the last four weeks as CSV, for other programs",
            ),
        ],
    },
    Below {
        name: "controls",
        takes: VIEW,
        examples: &[
            ("contend history controls", "Show the false-alarm rate of `contend ab` on each machine"),
            ("contend history controls --since 4w", "Show the rate of the last four weeks"),
        ],
    },
    Below {
        name: "trend",
        takes: VIEW,
        examples: &[
            ("contend history trend", "List the names of all metrics"),
            ("contend history trend \"clock: a read\"", "Show one metric over all records"),
        ],
    },
    Below {
        name: "rm",
        takes: ARCHIVE,
        examples: &[
            ("contend history rm last", "Delete the last record, after a question"),
            ("contend history rm --yes last~9..last~2", "Delete eight records without a question"),
        ],
    },
    Below {
        name: "export",
        takes: ARCHIVE,
        examples: &[
            ("contend history export last record.json", "Write the last record to a file"),
            ("contend history export last~1 -", "Print the record before it"),
        ],
    },
    Below {
        name: "push",
        takes: ARCHIVE,
        examples: &[
            ("contend history push ../records.git", "Send records to a repository on this machine"),
            ("contend history push user@host:records.git", "Send records to a repository on another machine"),
        ],
    },
    Below {
        name: "pull",
        takes: ARCHIVE,
        examples: &[
            ("contend history pull ../records.git", "Fetch records from a repository on this machine"),
            ("contend history pull user@host:records.git", "Fetch records from a repository on another machine"),
        ],
    },
    Below {
        name: "verify",
        takes: ARCHIVE,
        examples: &[
            ("contend history verify", "Check every hash"),
            ("contend history verify record.json", "Also check whether a file is an archived record"),
        ],
    },
];
