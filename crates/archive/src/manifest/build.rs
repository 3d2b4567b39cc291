//! How the program was built, as the build noted it.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The revision of the sources, with a `+` if they had been changed; absent for sources without a repository.
    pub revision: Option<String>,
    /// As `rustc --version`.
    pub compiler: Option<String>,
    /// `release` or `debug`.
    pub profile: Option<String>,
    pub target: Option<String>,
}
