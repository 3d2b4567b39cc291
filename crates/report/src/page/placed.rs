//! Records with the names of the places that their sections have on the page.

use crate::names::Names;
use record::{Section, Source};

pub struct PlacedRecord<'a> {
    pub source: &'a Source,
    /// Of its chapter.
    pub id: String,
    /// In the order of the record's parts.
    pub sections: Vec<PlacedSection<'a>>,
}

pub struct PlacedSection<'a> {
    pub section: &'a Section,
    pub id: String,
}

impl<'a> PlacedRecord<'a> {
    pub fn new(place: usize, source: &'a Source, sections: &'a [Section], names: &mut Names) -> Self {
        let placed = |section: &'a Section| PlacedSection { section, id: names.take(&section.title) };
        let sections = sections.iter().map(placed).collect();
        Self { source, sections, id: names.take(&format!("record-{}", place + 1)) }
    }

    /// The section of the part with this name.
    pub fn section_of(&self, part: &str) -> Option<&PlacedSection<'a>> {
        let place = self.source.parts.iter().position(|(name, _)| name == part)?;
        self.sections.get(place)
    }

    pub fn has_summary(&self) -> bool {
        self.sections.iter().any(PlacedSection::is_summary)
    }
}

impl PlacedSection<'_> {
    /// A survey sums up what its other sections found.
    pub fn is_summary(&self) -> bool {
        self.section.experiment == "survey"
    }
}
