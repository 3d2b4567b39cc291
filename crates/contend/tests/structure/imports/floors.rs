//! The floors of the workspace: the table to change when a crate or a module is added.

/// The entries of one directory by floor, the highest first.
///
/// Each may import what is on a lower floor, and nothing else of the directory. The files within an entry have no order
/// among them, unless the entry has its own floors.
pub struct Floors {
    pub folder: &'static str,
    pub highest_first: &'static [&'static [&'static str]],
}

/// The name for all entries that the floors of the directory do not name.
pub const EVERY_OTHER: &str = "*";

/// The crates: their manifests are compared with this.
///
/// The libraries in `libs` depend on no crate of the workspace.
pub const CRATES: Floors = Floors {
    folder: "crates",
    highest_first: &[
        &["contend", "remote"],
        &["screen"],
        &["experiments"],
        &["launch"],
        &["hang"],
        &["loops", "report", "archive", "lockstep", "blame", "manycore"],
        &["locks"],
        &["harness"],
        &["record"],
        &["terminal"],
        &["interpose", "exchange"],
    ],
};

/// The modules of a crate: the paths in their files are compared with this.
pub const MODULES: &[Floors] = &[
    Floors {
        folder: "crates/contend/src",
        highest_first: &[&["main"], &["lib"], &["cli"], &["commands"], &["output"]],
    },
    // A command imports no other command, except for the views of records that several have: every other entry is one.
    Floors {
        folder: "crates/contend/src/commands",
        highest_first: &[
            &["mod"],
            &[EVERY_OTHER],
            &["report"],
            &["compare"],
            &["outliers", "baseline"],
            &["shown", "picture"],
            &["reading", "external", "hang"],
            &["archived", "parameters", "survey_record"],
        ],
    },
    Floors {
        folder: "crates/experiments/src",
        // Every other entry is an experiment, and imports no other experiment; `night` is for their tests.
        highest_first: &[&["lib"], &[EVERY_OTHER], &["estimates", "exclusion", "night"]],
    },
    // Three experiments that are one command, and the modules that they share.
    Floors {
        folder: "crates/experiments/src/model",
        highest_first: &[&["mod"], &["frames", "locks", "step"], &["show"], &["trace"]],
    },
    // From the measurement down to the record, the views down to the words; two modes that run it in other ways.
    Floors {
        folder: "crates/experiments/src/trace",
        highest_first: &[
            &["mod"],
            &["confirm", "lines", "preempted"],
            &["attach", "golang", "live", "export", "views", "saved"],
            &["measure", "section", "show", "findings"],
            &["observed"],
            &["diagnosis", "columns", "story", "show_cycles", "show_words"],
            &["evidence"],
            &["labels", "sharing", "watchpoint", "children"],
            &["words"],
            &["aggregate", "busy_cpus", "stuck", "warnings", "python_locks"],
            &["record"],
            &["plan", "watched_word"],
            &["flags", "parts"],
            &["words_to_watch", "rules"],
        ],
    },
];

impl Floors {
    fn floor(&self, entry: &str) -> Option<usize> {
        let named = |name: &str| self.highest_first.iter().position(|floor| floor.contains(&name));
        named(entry).or_else(|| named(EVERY_OTHER))
    }

    /// Returns the problem with an import from one entry to another, if it has one.
    pub fn fault(&self, from: &str, to: &str) -> Option<&'static str> {
        let (Some(own), Some(other)) = (self.floor(from), self.floor(to)) else {
            return Some("an entry that the table in tests/structure/imports/floors.rs lacks");
        };
        match own.cmp(&other) {
            _ if from == to => None,
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal => Some("an import on one floor"),
            std::cmp::Ordering::Greater => Some("an import upwards"),
        }
    }

    /// Returns the entries that the table names.
    pub fn named(&self) -> impl Iterator<Item = &'static str> {
        self.highest_first.iter().copied().flatten().copied().filter(|name| *name != EVERY_OTHER)
    }
}
