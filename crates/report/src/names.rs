//! The names of a page's places.

use std::collections::HashSet;

/// The names that are taken: letters, digits and dashes, each once.
#[derive(Default)]
pub struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// A free name that resembles what is wanted.
    pub fn take(&mut self, wanted: &str) -> String {
        let dashed: String = wanted
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' })
            .collect();
        let words: Vec<&str> = dashed.split('-').filter(|word| !word.is_empty()).collect();
        let name = if words.is_empty() { "place".to_owned() } else { words.join("-") };
        let further = (2_u32..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(further).find(|candidate| !self.taken.contains(candidate));
        let free = free.unwrap_or(name);
        self.taken.insert(free.clone());
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_plain() {
        let mut names = Names::default();
        assert_eq!(names.take("std, 2 threads"), "std-2-threads");
        assert_eq!(names.take("std: 2 <threads>"), "std-2-threads-2");
        assert_eq!(names.take("µ"), "place");
    }
}
