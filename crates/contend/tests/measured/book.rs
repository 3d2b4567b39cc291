//! The book and README: their commands do what they show, and draw the pictures of their pages. The program `computed` tests
//! what runs nothing.

use crate::command::held;
use crate::pages::blocks::Block;
use crate::pages::files::{self, Page};
use crate::pages::session::{self, Session, Step};
use crate::pages::{consoles, shape};
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

/// The number of pages at once: more than there are CPUs, since measurements also wait; shapes are not affected.
const PAGES_AT_ONCE: usize = 3;

/// Returns all faults of a block's run.
fn faults(block: &Block, steps: &[Step], stderr: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        let may = |status: i32| match place + 1 == steps.len() && !block.notes.exits.is_empty() {
            true => block.notes.exits.contains(&status),
            false => status == 0,
        };
        let mut found = shape::differences(block, step);
        if !may(step.status) {
            found.push(format!("ended with {}\n{stderr}", step.status));
        }
        if !found.is_empty() {
            let context = format!("it printed:\n{}", step.printed);
            faults.push(format!("{}: {}\n  {}\n{context}", block.place, step.command, found.join("\n  ")));
        }
    }
    faults
}

#[derive(Default)]
struct Account {
    ran: usize,
    skipped: Vec<String>,
    faults: Vec<String>,
}

/// Runs a page's blocks in their order, in one session.
fn follow(page: &Page, account: &Mutex<Account>) {
    let session = Session::new();
    for block in consoles(page) {
        if let Some(need) = session::lacking(&block) {
            account.lock().unwrap().skipped.push(format!("{}: skipped: needs {need}", block.place));
            continue;
        }
        let begun = Instant::now();
        let (steps, stderr) = session.run(&block);
        let mut account = account.lock().unwrap();
        println!("{}: {} commands in {:.1?}", block.place, steps.len(), begun.elapsed());
        account.ran += steps.len();
        account.faults.extend(faults(&block, &steps, &stderr));
    }
    for picture in pictures(page) {
        let name = picture.file_name().unwrap();
        let drawn = fs::read_to_string(session.here().join(name)).unwrap_or_default();
        if !drawn.starts_with("<svg") {
            let fault = format!("{}: no command of it that ran draws {}", page.name, name.display());
            account.lock().unwrap().faults.push(fault);
        }
    }
}

/// Returns the drawings that a page shows, in the repository, and that its commands draw. A browser makes the pictures of
/// pages (the test `page_in_browser`), and the tests of the screen those of the screen.
fn pictures(page: &Page) -> Vec<PathBuf> {
    let folder = files::root().join(&page.name).parent().unwrap().to_owned();
    let shown = page.text.split("![").skip(1).filter_map(|rest| rest.split_once("](")?.1.split_once(')'));
    let drawn = shown.filter(|(path, _)| path.ends_with(".svg") && !path.contains("/screen-"));
    drawn.map(|(path, _)| folder.join(path)).collect()
}

#[test]
fn every_command_prints_the_output_on_its_page() {
    held::reports();
    let pages: Vec<Page> = files::own().into_iter().chain(files::of_the_repository()).collect();
    let (account, next) = (Mutex::new(Account::default()), Mutex::new(pages.iter()));
    std::thread::scope(|scope| {
        for _ in 0..PAGES_AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(page) = next.lock().unwrap().next() else { break };
                    follow(page, &account);
                }
            });
        }
    });
    let account = account.into_inner().unwrap();
    println!("{} commands ran; {} blocks did not:", account.ran, account.skipped.len());
    account.skipped.iter().for_each(|skipped| println!("{skipped}"));
    assert!(account.faults.is_empty(), "{}", account.faults.join("\n"));
    assert!(account.ran >= 35, "only {} commands were found", account.ran);
}
