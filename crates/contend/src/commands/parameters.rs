//! The parameters that differ between two records, and whether the two are runs of the same.
//!
//! Parameters are of three kinds. Most are settings, which runs of the same have in common. Some are outcomes, which an
//! experiment names in its `OUTCOMES`: a measured cost, the time that a program ran. Two runs never agree on these, so
//! they are neither compared nor listed. The third kind is the content of what was measured, the hash of a shared
//! object or a program. A comparison lists it where it changed, since its user wants to judge that change.

use record::{Difference, Source};

/// The parameters that are hashes of measured files.
const CONTENTS: [&str; 2] = ["object_sha256", "program_sha256"];

/// Returns the parameters that differ, without outcomes.
pub fn differences(sources: [&Source; 2]) -> Vec<Difference> {
    record::parameters(&sources, |path| !is_outcome(sources[0], path))
}

/// Returns whether two records have the same settings, perhaps with another build of the object or program.
pub fn are_same(one: &Source, other: &Source) -> bool {
    one.experiment == other.experiment && differences([one, other]).iter().all(|found| is_content(&found.name))
}

/// Returns the hashes of measured files, with their names; nothing where a record has none.
pub fn contents(source: &Source) -> Vec<(String, String)> {
    record::flattened(&source.parameters).into_iter().filter(|(path, _)| is_content(path)).collect()
}

/// Returns whether a path of names is that of a hash.
pub fn is_content(path: &str) -> bool {
    path.split('.').any(|name| CONTENTS.contains(&name))
}

/// Returns whether the parameter is an outcome.
///
/// In a survey, the first name of a path is that of the experiment.
fn is_outcome(source: &Source, path: &str) -> bool {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let is_of =
        |experiment: &str, name: &str| experiments::named(experiment).is_some_and(|entry| entry.is_outcome(name));
    is_of(&source.experiment, first) || is_of(first, rest.split('.').next().unwrap_or(rest))
}
