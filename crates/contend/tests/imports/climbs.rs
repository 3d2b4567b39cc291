//! Arrows that do not lead down, held against the table of the floors.

use super::arrows::Arrows;
use super::floors::{EVERY_OTHER, FLOORS, Floors};
use super::members::Member;
use super::tree::Tree;
use std::cmp::Ordering;
use std::collections::BTreeSet;

const TABLE: &str = "crates/contend/tests/imports/floors.rs";

impl Floors {
    /// What a file belongs to in the folder: a file, without its ending, or a folder.
    fn room<'f>(&self, file: &'f str) -> Option<&'f str> {
        let within = file.strip_prefix(self.folder)?.strip_prefix('/')?;
        Some(within.split_once('/').map_or(within.trim_end_matches(".rs"), |(room, _)| room))
    }

    fn floor(&self, room: &str) -> Option<usize> {
        let on = |name: &str| self.highest_first.iter().position(|floor| floor.contains(&name));
        on(room).or_else(|| on(EVERY_OTHER))
    }

    /// From floor to floor; nothing within one room or out of the folder.
    fn way(&self, from: &str, to: &str) -> Option<Ordering> {
        let (from, to) = (self.room(from)?, self.room(to)?);
        (from != to).then_some(self.floor(to)?.cmp(&self.floor(from)?))
    }
}

/// Every import that goes up or to a neighbour, in words.
pub fn climbs(arrows: &Arrows) -> Vec<String> {
    let faults = arrows.all().filter_map(|arrow| {
        let fault = fault(&arrows.files[arrow.0], &arrows.files[arrow.1])?;
        Some(format!("{fault}: {}", arrows.words(arrow)))
    });
    faults.collect()
}

/// Every dependency of a manifest that does, in words.
pub fn climbing_dependencies(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    for member in &tree.members {
        let wanted = |other: &&Member| member.dependencies.values().any(|package| *package == other.package);
        for other in tree.members.iter().filter(wanted) {
            let [from, to] = [member, other].map(|member| member.folder.join("src").display().to_string());
            let [manifest, depended_on] = [member, other].map(|member| member.folder.join("Cargo.toml"));
            let words = format!("{} → {}: {}", manifest.display(), depended_on.display(), other.package);
            faults.extend(fault(&from, &to).map(|fault| format!("{fault}: {words}")));
        }
    }
    faults
}

fn fault(from: &str, to: &str) -> Option<&'static str> {
    FLOORS.iter().find_map(|floors| match floors.way(from, to)? {
        // The highest floor is the table's first.
        Ordering::Greater => None,
        Ordering::Equal => Some("an import on one floor"),
        Ordering::Less => Some("an import upwards"),
    })
}

/// What the table does not know, and should.
pub fn on_no_floor(tree: &Tree) -> Vec<String> {
    let homeless: BTreeSet<String> = tree.files.iter().flat_map(|file| homeless(file)).collect();
    homeless.into_iter().map(|place| format!("{place} is on no floor: add it to FLOORS in {TABLE}")).collect()
}

fn homeless(file: &str) -> impl Iterator<Item = String> {
    FLOORS.iter().filter_map(move |floors| {
        let room = floors.room(file)?;
        floors.floor(room).is_none().then(|| format!("{}/{room}", floors.folder))
    })
}

/// What the table has and the tree has not.
pub fn empty_rooms(tree: &Tree) -> Vec<String> {
    let rooms = FLOORS
        .iter()
        .flat_map(|floors| floors.highest_first.iter().copied().flatten().map(move |room| (floors, *room)));
    let named = rooms.filter(|(_, room)| *room != EVERY_OTHER);
    let empty = named.filter(|(floors, room)| !tree.files.iter().any(|file| floors.room(file) == Some(*room)));
    empty.map(|(floors, room)| format!("{}/{room} is in FLOORS in {TABLE}, and nowhere else", floors.folder)).collect()
}
