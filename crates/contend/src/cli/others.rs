//! The commands that are no experiments: what each takes, and what it does.

use crate::commands::{baseline, compare, history, ladder, manual, report, schema, screen, survey};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use harness::{Example, Outcome, SharedFlags};

/// A command that is no experiment.
pub struct Other {
    pub name: &'static str,
    pub flags: fn(Command) -> Command,
    /// Those of the shared flags that it takes, by their names.
    pub takes: &'static [&'static str],
    pub examples: &'static [Example],
    /// The commands below it.
    pub below: &'static [Below],
    /// The last is the whole command line, for who writes about it.
    pub run: fn(&ArgMatches, &SharedFlags, Command) -> anyhow::Result<Outcome>,
}

/// A command below another.
pub struct Below {
    pub name: &'static str,
    pub takes: &'static [&'static str],
    pub examples: &'static [Example],
}

const EVERYTHING: &[&str] =
    &["seconds", "seed", "cpus", "format", "output", "archive", "no_keep", "quiet", "explain", "live_to"];
/// Of what shows records.
const VIEW: &[&str] = &["format", "output", "archive", "quiet"];
/// Of what is done with the archive and has no view.
const ARCHIVE: &[&str] = &["archive", "quiet"];

/// Above the experiments in the help.
pub const SURVEY: Other = Other {
    name: "survey",
    flags: survey::Flags::augment_args,
    takes: EVERYTHING,
    examples: &[
        ("contend survey --seconds 30", "All of it in half a minute, with wider intervals"),
        ("contend survey --only clock,noise --no-page", "Two parts of it, and no page"),
    ],
    below: &[],
    run: |matches, shared, _| survey::run(&survey::Flags::from_arg_matches(matches)?, shared),
};

/// Below them.
pub const OTHERS: &[Other] = &[
    Other {
        name: "compare",
        flags: compare::Flags::augment_args,
        takes: VIEW,
        examples: &[
            ("contend compare last~1 last", "The last two records of the archive"),
            ("contend compare before.json after.json --fail-if slower:5%", "Two files; exit status 3 if one is slower"),
            ("contend compare --baseline main last", "The last record against a baseline"),
        ],
        below: &[],
        run: |matches, shared, _| compare::run(&compare::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "baseline",
        flags: baseline::Flags::augment_args,
        takes: VIEW,
        examples: &[
            ("contend baseline save main last last~1 last~2", "Three runs of the same, under one name"),
            ("contend baseline use main", "What `contend compare last` then compares with"),
        ],
        below: BASELINE,
        run: |matches, shared, _| baseline::run(&baseline::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "report",
        flags: report::Flags::augment_args,
        takes: &["output", "archive"],
        examples: &[
            ("contend report --output page.html", "The last record as a page"),
            ("contend report last~1 last --output page.html", "The last two side by side"),
            ("contend report --picture \"std, 1 thread: locking\" --output std.svg", "One histogram; .png for a slide"),
        ],
        below: &[],
        run: |matches, shared, _| report::run(&report::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "ladder",
        flags: ladder::Flags::augment_args,
        takes: VIEW,
        examples: &[
            ("contend ladder", "The last survey's, in letters"),
            ("contend ladder last --output ladder.svg", "The last record's, as a picture for a slide"),
        ],
        below: &[],
        run: |matches, shared, _| ladder::run(&ladder::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "history",
        flags: history::Flags::augment_args,
        takes: VIEW,
        examples: &[
            ("contend history --since 7d", "The records of a week"),
            ("contend history show last", "The last one"),
            ("contend history trend", "The names of all figures that have a trend"),
        ],
        below: HISTORY,
        run: |matches, shared, _| history::run(&history::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "screen",
        flags: screen::Flags::augment_args,
        takes: &["archive"],
        examples: &[
            ("contend screen", "Menus, live pictures, the archive: all that contend has"),
            ("contend screen --archive records.git", "With another archive"),
        ],
        below: &[],
        run: |_, shared, _| screen::run(shared),
    },
    Other {
        name: "schema",
        flags: schema::Flags::augment_args,
        takes: &["output"],
        examples: &[
            ("contend schema latency", "What a record of `contend latency` looks like"),
            ("contend schema --output schema.json", "All records, in a file"),
        ],
        below: &[],
        run: |matches, shared, _| schema::run(&schema::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "completions",
        flags: manual::CompletionsFlags::augment_args,
        takes: &["output"],
        examples: &[
            ("contend completions bash --output contend.bash", "A script for bash to read"),
            ("contend completions zsh --output _contend", "One for a folder of zsh's $fpath"),
        ],
        below: &[],
        run: |matches, shared, command| {
            manual::complete(&manual::CompletionsFlags::from_arg_matches(matches)?, shared, command)
        },
    },
    Other {
        name: "man",
        flags: manual::PagesFlags::augment_args,
        takes: &["output"],
        examples: &[
            ("contend man --output contend.1", "The page of contend itself"),
            ("contend man man1", "A page for each command, in the folder man1"),
        ],
        below: &[],
        run: |matches, shared, command| {
            manual::write_pages(&manual::PagesFlags::from_arg_matches(matches)?, shared, command)
        },
    },
];

const BASELINE: &[Below] = &[
    Below {
        name: "save",
        takes: ARCHIVE,
        examples: &[
            ("contend baseline save main", "The last record"),
            ("contend baseline save v1 last last~1 last~2", "Three runs, which tell how much runs differ"),
        ],
    },
    Below {
        name: "use",
        takes: ARCHIVE,
        examples: &[
            ("contend baseline use main", "From now on `contend compare last` compares with it"),
            ("contend baseline use v1", "And now with another"),
        ],
    },
    Below {
        name: "list",
        takes: VIEW,
        examples: &[("contend baseline list", "All of them"), ("contend baseline list --format json", "For a program")],
    },
    Below {
        name: "remove",
        takes: ARCHIVE,
        examples: &[
            ("contend baseline remove v1", "The name; its records stay"),
            ("contend baseline remove main --archive ../archive.git", "In another archive"),
        ],
    },
    Below {
        name: "export",
        takes: ARCHIVE,
        examples: &[
            ("contend baseline export main main.bundle", "As a file, for another machine"),
            ("contend history pull main.bundle", "How it is taken there"),
        ],
    },
];

const HISTORY: &[Below] = &[
    Below {
        name: "list",
        takes: VIEW,
        examples: &[
            ("contend history list --experiment latency", "The records of one experiment"),
            ("contend history list --since 2026-11-21 --format csv", "Those since a day, as rows"),
        ],
    },
    Below {
        name: "show",
        takes: VIEW,
        examples: &[
            ("contend history show last", "The last record as its measurement printed it"),
            ("contend history show last --all", "All of its tables, pictures, findings and warnings"),
            ("contend history show last~3 --manifest", "What was noted of the machine and the program of an older one"),
        ],
    },
    Below {
        name: "hours",
        takes: VIEW,
        examples: &[
            ("contend history hours", "A line a CPU, an hour of the day two columns wide"),
            ("contend history hours --since 4w --format csv", "The last weeks, as rows for other programs"),
        ],
    },
    Below {
        name: "trend",
        takes: VIEW,
        examples: &[
            ("contend history trend", "The names of all figures"),
            ("contend history trend \"clock: a read\"", "One of them over all records"),
        ],
    },
    Below {
        name: "export",
        takes: ARCHIVE,
        examples: &[
            ("contend history export last record.json", "The last record as a file"),
            ("contend history export last~1 -", "The one before it, printed"),
        ],
    },
    Below {
        name: "push",
        takes: ARCHIVE,
        examples: &[
            ("contend history push ../records.git", "To a repository of this machine"),
            ("contend history push user@host:records.git", "To one of another"),
        ],
    },
    Below {
        name: "pull",
        takes: ARCHIVE,
        examples: &[
            ("contend history pull ../records.git", "From a repository of this machine"),
            ("contend history pull user@host:records.git", "From one of another"),
        ],
    },
    Below {
        name: "verify",
        takes: ARCHIVE,
        examples: &[
            ("contend history verify", "Every hash"),
            ("contend history verify record.json", "And whether a file is a record that was kept"),
        ],
    },
];
