//! The last chapter: how each figure was made.

use super::heading::{Level, heading};
use crate::method::html_of;
use maud::{Markup, html};
use record::{Section, distinct};

/// The page, in Markdown, that says how an experiment measures, if there is one.
pub type Method<'a> = &'a dyn Fn(&str) -> Option<&'static str>;

pub fn methods(sections: &[Vec<Section>], method: Method<'_>) -> Markup {
    let sections: Vec<&Section> = sections.iter().flatten().collect();
    html! {
        section.methods {
            (heading(Level::Chapter, "methods", "Methods"))
            @for experiment in distinct(&sections, |section| section.experiment) {
                @if let Some(markdown) = method(experiment) {
                    article id={ "method-" (experiment) } { (html_of(markdown)) }
                }
            }
        }
    }
}
