//! The words that the user wants to have watched.

use blame::watchpoints::MOST_WORDS;
use harness::UsageError;

/// The words to watch, as the user named them, and the budget.
#[derive(Clone, Debug)]
pub struct Request {
    pub words: Vec<String>,
    /// The part of one CPU's time that watching may take; from 1 on, the words are watched without a pause.
    pub budget: f64,
}

impl Request {
    /// Checks the words that the user named.
    ///
    /// # Errors
    /// There are more than debug registers.
    pub fn of(words: &[String], budget: f64) -> Result<Self, UsageError> {
        if words.len() > MOST_WORDS {
            return Err(UsageError(format!("--word: {} words; allowed: up to {MOST_WORDS}", words.len())));
        }
        if !words.is_empty() && cfg!(not(target_arch = "x86_64")) {
            return Err(UsageError("--word: watchpoints are decoded on x86-64 only".into()));
        }
        Ok(Self { words: words.to_vec(), budget })
    }
}
