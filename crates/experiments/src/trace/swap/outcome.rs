//! How a run ended.

/// What a run brought.
pub struct Took {
    /// The program's, or its client's if it has one.
    pub wall_s: f64,
    /// Of the program and of what it started and waited for, in user and kernel mode.
    pub cpu_s: f64,
    /// What the program printed, or its client.
    pub output: String,
}

/// How it ended that did not end well.
pub struct Failed {
    pub how: String,
    pub output: String,
}

impl Failed {
    /// It left something running, which is why it failed: who waits for it to listen, or to end, waits for another.
    pub fn left_running(mut self) -> Self {
        self.how.push_str("; its background processes were killed: keep the program in the foreground");
        self
    }
}
