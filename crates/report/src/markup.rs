//! Text that becomes HTML. Everything from a record goes through [`escape`]: a record is somebody else's file.

/// Text as content or in a quoted attribute.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // HTML has no place for them.
            control if control.is_control() && !matches!(control, '\n' | '\t') => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// JSON inside a script element: no `<` may end it.
pub fn json_in_script(json: &serde_json::Value) -> String {
    json.to_string().replace('<', "\\u003c")
}

/// The names of a page's places: letters, digits and dashes, each once.
#[derive(Default)]
pub struct Names {
    taken: std::collections::HashSet<String>,
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
    fn nothing_in_a_text_is_markup() {
        assert_eq!(escape("<b a=\"1\" c='2'>&\u{0}"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\u{fffd}");
        let json = json_in_script(&serde_json::json!("</script><script>"));
        assert!(!json.contains('<'), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), "</script><script>");
    }

    #[test]
    fn names_are_unique_and_plain() {
        let mut names = Names::default();
        assert_eq!(names.take("std, 2 threads"), "std-2-threads");
        assert_eq!(names.take("std: 2 <threads>"), "std-2-threads-2");
        assert_eq!(names.take("µ"), "place");
    }
}
