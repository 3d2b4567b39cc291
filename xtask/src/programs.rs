//! The programs of a release. A further one is one line here: it is then built, packed and described everywhere.

/// A program.
pub struct Program {
    pub package: &'static str,
    pub name: &'static str,
    /// Whether it writes its own man pages and completions, as `contend man` does.
    pub describes_itself: bool,
    /// Whether something in it is C, which the Rust compiler alone cannot make.
    pub needs_c: bool,
}

pub const PROGRAMS: &[Program] = &[
    Program { package: "contend", name: "contend", describes_itself: true, needs_c: false },
    // The arithmetic of TLS is in C and assembly.
    Program { package: "contend-remote", name: "contend-serve", describes_itself: false, needs_c: true },
    Program { package: "contend-remote", name: "contend-fetch", describes_itself: false, needs_c: true },
];

/// The description in the Debian package and the image.
pub const SUMMARY: &str = "laboratory for locks, threads and the scheduler";
pub const DESCRIPTION: &str = "It measures what waiting costs on this machine, with these locks, in your program, with \
                               the cause named from the kernel's own record.";
