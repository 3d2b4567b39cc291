//! The programs that a release has. One more is one line here: it is then built, packed and described everywhere.

/// A program.
pub struct Program {
    pub package: &'static str,
    pub name: &'static str,
    /// Whether it writes its own man pages and completions, as `contend man` does.
    pub describes_itself: bool,
}

pub const PROGRAMS: &[Program] = &[
    Program { package: "contend", name: "contend", describes_itself: true },
    Program { package: "contend-picture", name: "contend-png", describes_itself: false },
];

/// What the Debian package and the image say of it all.
pub const SUMMARY: &str = "laboratory for locks, threads and the scheduler";
pub const DESCRIPTION: &str = "It measures what waiting costs on this machine, with these locks, in your program, with \
                               the cause named from the kernel's own record.";
