//! Imports point down only, and in no circle. There is no list of exceptions; what stands above what is in
//! `imports/floors.rs`.

mod imports {
    pub mod arrows;
    pub mod circles;
    pub mod climbs;
    pub mod floors;
    pub mod left_out;
    pub mod members;
    pub mod resolve;
    pub mod scope;
    pub mod tokens;
    pub mod tree;
    pub mod uses;
    pub mod workspace;
}

use imports::arrows::Arrows;
use imports::circles::circles;
use imports::climbs::{climbing_dependencies, climbs, empty_rooms, on_no_floor};
use imports::tree::Tree;
use imports::workspace::Workspace;
use std::path::{Path, PathBuf};

fn this_workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All that is wrong with the imports of a workspace.
fn faults(root: &Path) -> Vec<String> {
    let tree = Tree::read(root);
    let arrows = Arrows::read(&tree);
    let climbs = [climbs(&arrows), climbing_dependencies(&tree)].concat();
    [tree.unreached(), on_no_floor(&tree), climbs, circles(&arrows)].concat()
}

/// The one thing that is wrong with these files, and nothing else is.
fn fault(files: &[(&str, &str)]) -> String {
    let faults = faults(Workspace::of(files).root());
    assert_eq!(faults.len(), 1, "{faults:#?}");
    faults.into_iter().next().unwrap()
}

fn assert_names(fault: &str, words: &[&str]) {
    words.iter().for_each(|words| assert!(fault.contains(words), "{words} in {fault}"));
}

#[test]
fn nothing_lower_knows_anything_higher_and_no_files_import_each_other_in_a_circle() {
    let faults = faults(&this_workspace());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn the_table_of_floors_has_nothing_that_is_not_there() {
    let empty = empty_rooms(&Tree::read(&this_workspace()));
    assert!(empty.is_empty(), "{}", empty.join("\n"));
}

/// A reader that sees nothing would find no fault either.
#[test]
fn every_crate_is_read_and_its_files_are_seen_to_import_each_other() {
    let tree = Tree::read(&this_workspace());
    let arrows = Arrows::read(&tree);
    assert!(tree.members.len() >= 6 && tree.libraries.len() >= 5, "{:?}", tree.libraries);
    assert!(tree.files.len() > 300, "{} files", tree.files.len());
    assert!(arrows.len() > 2 * tree.files.len(), "{} arrows between {} files", arrows.len(), tree.files.len());
    for member in &tree.members {
        let source = member.folder.join("src").display().to_string();
        let own = |file: &usize| tree.files[*file].starts_with(&source);
        let files = (0..tree.files.len()).filter(own).count();
        let leave = arrows.all().filter(|(from, _)| own(from)).count();
        assert!(leave >= files, "{leave} arrows leave the {files} files of {source}");
    }
}

#[test]
fn files_that_import_each_other_through_their_parent_are_a_circle() {
    let fault = fault(&[
        ("libs/chance/src/lib.rs", "mod coin;\nmod die;"),
        ("libs/chance/src/coin.rs", "use super::die::Die;\npub struct Coin(Die);"),
        ("libs/chance/src/die.rs", "pub struct Die(Option<Box<super::coin::Coin>>);"),
    ]);
    let arrows = [
        "libs/chance/src/coin.rs → libs/chance/src/die.rs: Die",
        "libs/chance/src/die.rs → libs/chance/src/coin.rs: Coin",
    ];
    assert_names(&fault, &arrows);
}

#[test]
fn a_circle_through_a_re_export_is_one_of_the_files_that_define_the_names() {
    let fault = fault(&[
        ("libs/chance/src/lib.rs", "mod coin;\nmod die;\npub use coin::Coin as Penny;\npub use die::{Die, roll};"),
        ("libs/chance/src/coin.rs", "use crate::{Die, roll};\npub struct Coin(Die);"),
        ("libs/chance/src/die.rs", "use crate::Penny;\npub struct Die(Box<Penny>);\npub fn roll() {}"),
    ]);
    let arrows = [
        "a circle of 2 files",
        "libs/chance/src/coin.rs → libs/chance/src/die.rs: Die, roll",
        "libs/chance/src/die.rs → libs/chance/src/coin.rs: Penny",
    ];
    assert_names(&fault, &arrows);
}

#[test]
fn a_circle_behind_glob_imports_is_seen() {
    let fault = fault(&[
        ("libs/chance/src/lib.rs", "mod coin;\nmod die;\nmod games;"),
        ("libs/chance/src/games.rs", "pub use super::coin::*;\npub use super::die::*;"),
        ("libs/chance/src/coin.rs", "use crate::games::*;\npub struct Coin(Die);"),
        (
            "libs/chance/src/die.rs",
            "pub fn roll() {\n    use super::games::*;\n    toss::<Coin>();\n}\npub struct Die;",
        ),
    ]);
    let arrows = [
        "a circle of 2 files",
        "libs/chance/src/coin.rs → libs/chance/src/die.rs: Die",
        "libs/chance/src/die.rs → libs/chance/src/coin.rs: Coin",
    ];
    assert_names(&fault, &arrows);
}

#[test]
fn a_child_and_the_parent_that_defines_what_it_takes_are_a_circle_if_the_parent_takes_from_it() {
    let fault = fault(&[
        ("libs/chance/src/lib.rs", "mod die;\npub use die::roll;\npub trait Game {}"),
        ("libs/chance/src/die.rs", "pub fn roll(_: impl super::Game) {}"),
    ]);
    let arrows = [
        "libs/chance/src/die.rs → libs/chance/src/lib.rs: Game",
        "libs/chance/src/lib.rs → libs/chance/src/die.rs: roll",
    ];
    assert_names(&fault, &arrows);
}

#[test]
fn what_a_path_names_through_an_imported_module_is_an_import_of_the_file_that_has_it() {
    let fault = fault(&[
        ("libs/chance/src/lib.rs", "mod die;\nmod games;"),
        ("libs/chance/src/games/mod.rs", "mod craps;\npub use craps::play;"),
        ("libs/chance/src/games/craps.rs", "use crate::die::Die;\npub fn play(_: Die) {}"),
        ("libs/chance/src/die.rs", "use crate::games;\npub struct Die;\npub fn roll() {\n    games::play(Die);\n}"),
    ]);
    let arrows = [
        "a circle of 2 files",
        "libs/chance/src/die.rs → libs/chance/src/games/craps.rs: play",
        "libs/chance/src/games/craps.rs → libs/chance/src/die.rs: Die",
    ];
    assert_names(&fault, &arrows);
}

#[test]
fn macros_are_imports_and_so_is_what_stands_in_their_tokens() {
    let fault = fault(&[
        ("libs/chance/src/lib.rs", "#[macro_use]\nmod dice;\nmod coin;"),
        ("libs/chance/src/dice.rs", "macro_rules! die {\n    ($sides:expr) => { $crate::coin::toss($sides) };\n}"),
        ("libs/chance/src/coin.rs", "pub fn toss(_: u8) {\n    println!(\"{:?}\", [die!(6)]);\n}"),
    ]);
    let arrows = [
        "libs/chance/src/coin.rs → libs/chance/src/dice.rs: die",
        "libs/chance/src/dice.rs → libs/chance/src/coin.rs: toss",
    ];
    assert_names(&fault, &arrows);
}

#[test]
fn a_crate_that_imports_a_higher_one_is_named_with_what_it_imports() {
    let manifest = "[package]\nname = \"contend-experiments\"\n[lib]\nname = \"measured\"";
    let fault = fault(&[
        ("crates/experiments/Cargo.toml", manifest),
        ("crates/experiments/src/lib.rs", "mod clock;\npub use clock::Row;"),
        ("crates/experiments/src/clock/mod.rs", "pub struct Row;"),
        ("crates/record/src/lib.rs", "pub fn write(_: measured::Row) {}"),
    ]);
    let arrow = "crates/record/src/lib.rs → crates/experiments/src/clock/mod.rs: Row";
    assert_names(&fault, &["an import upwards", arrow]);
}

#[test]
fn a_crate_that_imports_its_neighbour_is_named() {
    let fault = fault(&[
        ("crates/archive/src/lib.rs", "pub fn last() {}"),
        ("crates/report/src/lib.rs", "pub fn page() {\n    archive::last()\n}"),
    ]);
    assert_names(&fault, &["an import on one floor", "crates/report/src/lib.rs → crates/archive/src/lib.rs: last"]);
}

#[test]
fn a_manifest_that_depends_on_a_higher_crate_is_named_even_if_nothing_is_imported() {
    let manifest = "[package]\nname = \"terminal\"\n[dev-dependencies]\ncontend = { path = \"../contend\" }\n\
        [target.'cfg(unix)'.dependencies]\npages = { package = \"record\", path = \"../record\" }";
    let fault = fault(&[
        ("crates/contend/src/main.rs", "fn main() {}"),
        ("crates/record/src/lib.rs", ""),
        ("crates/terminal/Cargo.toml", manifest),
        ("crates/terminal/src/lib.rs", ""),
    ]);
    assert_names(&fault, &["an import upwards", "crates/terminal/Cargo.toml → crates/record/Cargo.toml: record"]);
}

#[test]
fn an_experiment_that_imports_another_is_named() {
    let fault = fault(&[
        ("crates/experiments/src/lib.rs", "pub mod clock;\npub mod load;"),
        ("crates/experiments/src/clock/mod.rs", "pub mod record;"),
        ("crates/experiments/src/clock/record.rs", "pub struct Row;"),
        ("crates/experiments/src/load/mod.rs", "pub fn show(_: crate::clock::record::Row) {}"),
    ]);
    let arrow = "crates/experiments/src/load/mod.rs → crates/experiments/src/clock/record.rs: Row";
    assert_names(&fault, &["an import on one floor", arrow]);
}

#[test]
fn the_two_models_share_what_lies_beside_them_and_nothing_else() {
    let fault = fault(&[
        ("crates/experiments/src/lib.rs", "pub mod model;"),
        ("crates/experiments/src/model/mod.rs", "mod frames;\nmod step;\nmod trace;\npub use frames::run;"),
        ("crates/experiments/src/model/trace.rs", "pub struct Trace;"),
        ("crates/experiments/src/model/frames/mod.rs", "pub fn run(_: super::trace::Trace) {}"),
        ("crates/experiments/src/model/step/mod.rs", "use super::trace::Trace;\nuse super::frames;"),
    ]);
    let arrow = "crates/experiments/src/model/step/mod.rs → crates/experiments/src/model/frames/mod.rs: frames";
    assert_names(&fault, &["an import on one floor", arrow]);
}

#[test]
fn a_module_of_the_command_that_imports_the_command_line_is_named() {
    let fault = fault(&[
        ("crates/contend/src/main.rs", "mod cli;\nmod output;\nfn main() {\n    cli::run()\n}"),
        ("crates/contend/src/cli.rs", "pub struct Misuse;\npub fn run() {}"),
        ("crates/contend/src/output/mod.rs", "pub mod csv;"),
        ("crates/contend/src/output/csv.rs", "pub fn write() -> Result<(), crate::cli::Misuse> {\n    Ok(())\n}"),
    ]);
    let arrow = "crates/contend/src/output/csv.rs → crates/contend/src/cli.rs: Misuse";
    assert_names(&fault, &["an import upwards", arrow]);
}

#[test]
fn a_module_on_no_floor_is_named_with_the_table_that_lacks_it() {
    let fault = fault(&[
        ("crates/contend/src/main.rs", "mod views;\nfn main() {}"),
        ("crates/contend/src/views/mod.rs", "mod page;"),
        ("crates/contend/src/views/page.rs", ""),
    ]);
    assert_names(
        &fault,
        &["crates/contend/src/views is on no floor", "FLOORS in crates/contend/tests/imports/floors.rs"],
    );
}

#[test]
fn a_crate_on_no_floor_is_named_with_the_table_that_lacks_it() {
    let fault = fault(&[("crates/weather/src/lib.rs", "")]);
    assert_names(&fault, &["crates/weather is on no floor", "FLOORS in crates/contend/tests/imports/floors.rs"]);
}

#[test]
fn a_file_that_no_module_declares_is_named() {
    let fault = fault(&[("libs/chance/src/lib.rs", ""), ("libs/chance/src/forgotten.rs", "")]);
    assert_names(&fault, &["libs/chance/src/forgotten.rs"]);
}

/// Declarations are no imports, neighbours may meet in what their parent hands on, and tests may look at everything.
#[test]
fn a_tree_without_faults_has_none() {
    let workspace = Workspace::of(&[
        ("crates/contend/src/main.rs", "mod cli;\nmod commands;\nfn main() {\n    cli::run()\n}"),
        ("crates/contend/src/cli.rs", "use crate::commands;\npub fn run() {\n    commands::survey::run()\n}"),
        ("crates/contend/src/commands/mod.rs", "pub mod survey;"),
        ("crates/contend/src/commands/survey.rs", "pub fn run() {\n    experiments::ALL.len();\n}"),
        ("crates/experiments/src/lib.rs", "mod clock;\nmod load;\npub const ALL: [fn(); 2] = [clock::run, load::run];"),
        ("crates/experiments/src/clock/mod.rs", "mod show;\npub use show::run;\n#[cfg(test)]\nuse crate::ALL;"),
        ("crates/experiments/src/clock/show.rs", "pub fn run() {\n    record::write(record::Row)\n}"),
        ("crates/experiments/src/load/mod.rs", "pub fn run() {}\n#[cfg(all(test, unix))]\nmod samples;"),
        ("crates/experiments/src/load/samples.rs", "use crate::clock::run;"),
        ("crates/record/src/lib.rs", "mod row;\nmod write;\npub use row::Row;\npub use write::write;"),
        ("crates/record/src/row.rs", "pub struct Row;\n#[cfg(test)]\nmod tests {\n    use crate::write;\n}"),
        ("crates/record/src/write.rs", "use super::Row;\npub fn write(_: Row) {}"),
    ]);
    let faults = faults(workspace.root());
    assert!(faults.is_empty(), "{faults:#?}");
}
