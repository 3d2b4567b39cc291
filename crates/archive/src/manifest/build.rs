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

impl Build {
    pub fn of_this_program() -> Self {
        let noted = |value: &str| Some(value.to_owned()).filter(|value| !value.is_empty());
        Self {
            revision: noted(env!("CONTEND_REVISION")),
            compiler: noted(env!("CONTEND_COMPILER")),
            profile: noted(env!("CONTEND_PROFILE")),
            target: noted(env!("CONTEND_TARGET")),
        }
    }
}
