//! Files that import each other in a circle: the strongly connected components of the arrows, as Tarjan finds them.

use super::arrows::Arrows;

/// Each circle in words: its files, and a line for each arrow between them.
pub fn circles(arrows: &Arrows) -> Vec<String> {
    components(arrows).iter().map(|files| words(arrows, files)).collect()
}

fn words(arrows: &Arrows, circle: &[usize]) -> String {
    let within = arrows.all().filter(|(from, to)| circle.contains(from) && circle.contains(to));
    let lines: Vec<String> = within.map(|arrow| format!("\n  {}", arrows.words(arrow))).collect();
    format!("a circle of {} files:{}", circle.len(), lines.concat())
}

/// The components of more than one file.
fn components(arrows: &Arrows) -> Vec<Vec<usize>> {
    let files = arrows.files.len();
    let (entered, lowest) = (vec![None; files], vec![0; files]);
    let mut walk = Walk { arrows, entered, lowest, open: Vec::new(), next: 0, found: Vec::new() };
    for file in 0..files {
        if walk.entered[file].is_none() {
            walk.enter(file);
        }
    }
    walk.found.sort();
    walk.found
}

struct Walk<'a> {
    arrows: &'a Arrows,
    /// The order in which files were entered.
    entered: Vec<Option<usize>>,
    /// The first entered file that is known to be reached from each.
    lowest: Vec<usize>,
    /// Files whose component is not known yet.
    open: Vec<usize>,
    next: usize,
    found: Vec<Vec<usize>>,
}

impl Walk<'_> {
    fn enter(&mut self, file: usize) {
        (self.entered[file], self.lowest[file]) = (Some(self.next), self.next);
        self.next += 1;
        self.open.push(file);
        for to in self.arrows.from(file).collect::<Vec<_>>() {
            match self.entered[to] {
                None => {
                    self.enter(to);
                    self.lowest[file] = self.lowest[file].min(self.lowest[to]);
                }
                Some(entered) if self.open.contains(&to) => self.lowest[file] = self.lowest[file].min(entered),
                Some(_) => {}
            }
        }
        if self.entered[file] == Some(self.lowest[file]) {
            self.close(file);
        }
    }

    fn close(&mut self, first: usize) {
        let start = self.open.iter().position(|file| *file == first).expect("what was entered is open");
        let mut component = self.open.split_off(start);
        component.sort();
        if component.len() > 1 {
            self.found.push(component);
        }
    }
}
