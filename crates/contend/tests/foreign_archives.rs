//! Archives that somebody else made or changed: nothing of theirs runs, nothing of theirs disables what is one's own.

mod command;

use command::archive::has_git;
use command::place::{Place, RUN, limited};
use rustix::fs::Mode;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const NOBODY: u32 = 65_534;

/// Every way to read an archive.
const READERS: &[&[&str]] = &[
    &["history"],
    &["history", "show", "last"],
    &["history", "trend"],
    &["history", "export", "last", "-"],
    &["history", "verify"],
    &["history", "push", "/nonexistent"],
    &["history", "pull", "/nonexistent"],
    &["compare", "last", "last~1"],
    &["report", "last"],
];

/// A program that says that it ran.
fn trap(place: &Place) -> (PathBuf, PathBuf) {
    let (program, trace) = (place.beside("trap"), place.beside("trace"));
    fs::write(&program, format!("#!/bin/sh\necho ran >> {}\nexit 1\n", trace.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    (program, trace)
}

/// Everything in a folder, and itself.
fn give_away(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().unwrap().is_dir() {
            give_away(&entry.path());
        } else {
            chown(entry.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
}

/// A partial clone, whose missing objects come from a program.
fn set_trap(place: &Place) -> PathBuf {
    let (program, trace) = trap(place);
    let url = place.archive.to_str().unwrap();
    for (name, value) in [
        ("extensions.partialClone", "origin"),
        ("core.repositoryformatversion", "1"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", url),
        ("remote.origin.uploadpack", program.to_str().unwrap()),
    ] {
        assert!(place.git(&["config", name, value], &[]).status.success());
    }
    fs::create_dir_all(place.archive.join("hooks")).unwrap();
    for hook in ["pre-push", "reference-transaction", "pre-auto-gc", "post-rewrite"] {
        fs::copy(&program, place.archive.join("hooks").join(hook)).unwrap();
    }
    let blob =
        String::from_utf8(place.git(&["rev-parse", &format!("{}:record.json", place.first)], &[]).stdout).unwrap();
    fs::remove_file(place.archive.join("objects").join(&blob[..2]).join(blob[2..].trim())).unwrap();
    trace
}

#[test]
fn nothing_that_an_archive_names_is_run() {
    if !has_git() {
        return;
    }
    let place = Place::with_two();
    let trace = set_trap(&place);
    for reader in READERS {
        let said = place.refused(reader, 1);
        assert!(said.contains("may run programs") && said.contains("--unset-all"), "{reader:?}: {said}");
    }
    // As the message says.
    for name in ["extensions.partialClone", "remote.origin.promisor", "remote.origin.uploadpack"] {
        place.git(&["config", "--unset-all", name], &[]);
    }
    place.said(&["history"]);
    let hub = Place::new();
    place.contend(&["history", "push", hub.archive.to_str().unwrap()]);
    place.contend(RUN);
    READERS.iter().for_each(|reader| drop(place.contend(reader)));
    assert!(!trace.exists());
}

#[test]
fn another_users_archive_is_read_by_nobody_else() {
    if !has_git() {
        return;
    }
    let place = Place::with_two();
    let trace = set_trap(&place);
    if chown(&place.archive, Some(NOBODY), None).is_err() {
        return println!("skipped: needs root, to give the archive away");
    }
    give_away(&place.archive);
    for reader in READERS {
        let said = place.refused(reader, 1);
        assert!(said.contains("archive of user 65534") && said.contains("bundle create"), "{reader:?}: {said}");
    }
    assert!(!trace.exists());
}

/// The other way round: what is root's, read by another; and what that other is told to do instead works.
#[test]
fn records_of_another_user_are_taken_from_a_file() {
    if !has_git() {
        return;
    }
    let (place, mine) = (Place::with_two(), Place::new());
    let bundle = place.beside("bundle");
    assert!(place.git(&["bundle", "create", "--quiet", bundle.to_str().unwrap(), "--all"], &[]).status.success());
    assert!(mine.said(&["history", "pull", bundle.to_str().unwrap()]).contains("2 records fetched; 2 in all"));
    mine.said(&["history", "verify"]);
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: needs root, to be somebody else");
    }
    for folder in [place.archive.parent().unwrap(), &place.archive] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let output = place.command(&["history"]).uid(NOBODY).gid(NOBODY).output();
    match output {
        Ok(output) if output.status.code() != Some(127) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.code() == Some(1) && said.contains("this is user 65534"), "{said}");
        }
        _ => println!("skipped: needs a binary that others may run"),
    }
}

#[test]
fn an_archive_without_permission_is_an_error_with_its_reason() {
    if !has_git() {
        return;
    }
    let place = Place::with_two();
    let other = place.beside("binary");
    fs::copy(env!("CARGO_BIN_EXE_contend"), &other).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    fs::set_permissions(place.archive.parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
    if is_root {
        give_away(&place.archive);
    }
    let records = place.archive.join("refs/records");
    let (objects, above) = (place.archive.join("objects"), place.archive.clone());
    for closed in [&records, &objects, &above] {
        let before = fs::metadata(closed).unwrap().permissions();
        fs::set_permissions(closed, fs::Permissions::from_mode(0o000)).unwrap();
        let mut command = Command::new(&other);
        command.arg("history").env("CONTEND_ARCHIVE", &place.archive);
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains("Permission denied"), "{closed:?}: {said}");
        fs::set_permissions(closed, before).unwrap();
    }
}

/// What may stand where the records are, by the name of the test of it.
fn poison(place: &Place) -> Vec<String> {
    let commit = |tree: &str, message: &str| place.line(&["commit-tree", tree], message.as_bytes());
    let tree = place.line(&["rev-parse", &format!("{}^{{tree}}", place.first)], &[]);
    let empty = place.line(&["mktree"], &[]);
    let message = String::from_utf8(place.git(&["cat-file", "commit", &place.first], &[]).stdout).unwrap();
    let summary = message.split("\n\n").nth(2).unwrap().trim().to_owned();
    let changed = |field: &str, value: Option<Value>| {
        let mut summary: Value = serde_json::from_str(&summary).unwrap();
        match value {
            Some(value) => summary[field] = value,
            None => drop(summary.as_object_mut().unwrap().remove(field)),
        }
        format!("a record\n\n{summary}\n")
    };
    let huge = place.line(&["hash-object", "-w", "--stdin"], &vec![b' '; 20 << 20]);
    let text = place.line(&["hash-object", "-w", "--stdin"], b"no record");
    let files = |record: &str| {
        let tree = format!("100644 blob {record}\tmanifest.json\n100644 blob {record}\trecord.json\n");
        place.line(&["mktree"], tree.as_bytes())
    };
    let mut named: Vec<(String, String)> = [
        commit(&tree, "an ordinary commit"),
        commit(&tree, &changed("host", None)),
        commit(&tree, &changed("started_unix_s", Some(json!(1e300)))),
        commit(&tree, &(changed("host", Some(json!("a"))) + "and more\n")),
        commit(&empty, &changed("seed", Some(json!(1)))),
        commit(&files(&huge), &changed("seed", Some(json!(2)))),
        commit(&files(&text), &changed("seed", Some(json!(3)))),
        text.clone(),
        tree.clone(),
    ]
    .map(|hash| (hash.clone(), hash))
    .into();
    for name in ["--evil", "$(touch evil)", "it's", "\u{202e}evil", "a/b", &"0".repeat(40)] {
        named.push((name.replace(' ', "${IFS}"), place.first.clone()));
    }
    let script: String = named.iter().map(|(name, hash)| format!("create refs/records/{name} {hash}\n")).collect();
    assert!(place.git(&["update-ref", "--stdin"], script.as_bytes()).status.success());
    named.into_iter().map(|(name, _)| format!("refs/records/{name}")).collect()
}

#[test]
fn what_is_no_record_disables_nothing_and_is_named_with_its_remedy() {
    if !has_git() {
        return;
    }
    let place = Place::with_two();
    poison(&place);
    let list = place.contend(&["history"]);
    let warned = String::from_utf8_lossy(&list.stderr).into_owned();
    assert!(list.status.success() && warned.contains("update-ref --no-deref -d"), "{warned}");
    assert!(warned.contains("more; `contend history verify` names all"), "{warned}");
    assert!(String::from_utf8_lossy(&list.stdout).contains(&place.first[..10]));
    for reader in [&["history", "show", &place.first][..], &["history", "trend"], &["report", &place.first]] {
        assert!(!place.said(reader).is_empty());
    }
    let file = place.beside("file.json");
    place.said(&["history", "export", &place.first, file.to_str().unwrap()]);
    place.said(&["compare", file.to_str().unwrap(), &place.second]);
    let wrong = place.refused(&["history", "verify"], 1);
    let remedies: Vec<&str> = wrong.split('`').filter(|part| part.starts_with("git --git-dir")).collect();
    assert_eq!(remedies.len(), 15, "{wrong}");
    for remedy in remedies {
        let done = Command::new("sh").args(["-c", remedy]).current_dir(place.archive.parent().unwrap()).output();
        assert!(done.as_ref().unwrap().status.success(), "{remedy}: {done:?}");
    }
    assert!(place.said(&["history", "verify"]).contains("2 records, every hash is right"));
    assert!(!place.beside("evil").exists());
}

#[test]
fn what_is_no_record_is_not_pulled_and_not_pushed_on() {
    if !has_git() {
        return;
    }
    let (place, mine, hub) = (Place::with_two(), Place::new(), Place::new());
    let bad = poison(&place);
    let output = mine.contend(&["history", "pull", place.archive.to_str().unwrap()]);
    let (said, warned) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("2 records fetched; 2 in all"), "{said}{warned}");
    assert!(warned.contains("was not taken") && warned.contains("git push"), "{warned}");
    assert!(mine.said(&["history", "verify"]).contains("2 records, every hash is right"));
    let entries = fs::read_dir(&mine.archive).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!entries.into_iter().any(|name| name.to_str().unwrap().starts_with("incoming-")));
    assert!(Command::new("git").args(["init", "--quiet", "--bare"]).arg(&hub.archive).status().unwrap().success());
    let pushed = place.contend(&["history", "push", hub.archive.to_str().unwrap()]);
    assert!(pushed.status.success(), "{}", String::from_utf8_lossy(&pushed.stderr));
    let there = String::from_utf8(hub.git(&["for-each-ref"], &[]).stdout).unwrap();
    assert!(!bad[9..].iter().any(|name| there.contains(name)) && there.contains(&place.first), "{there}");
}

#[test]
fn a_remote_is_no_option() {
    if !has_git() {
        return;
    }
    let place = Place::with_two();
    let trace = place.beside("trace");
    let evil = format!("--upload-pack=touch {}", trace.display());
    let receive = format!("--receive-pack=touch {}", trace.display());
    for arguments in
        [["history", "pull", "--", &evil], ["history", "push", "--", &receive], ["history", "pull", "--", ""]]
    {
        let said = place.refused(&arguments, 2);
        assert!(said.contains("is no repository"), "{said}");
    }
    for name in ["--help", "-c", "--upload-pack=x", "last~18446744073709551615", "last~18446744073709551614"] {
        place.refused(&["history", "show", "--", name], 1);
    }
    assert!(!trace.exists());
}

/// A hook of another repository calls `contend`, say.
#[test]
fn variables_of_git_lead_nowhere() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    let elsewhere = place.beside("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("settings"), "[init]\n\tdefaultObjectFormat = sha256\n[core]\n\tbare = maybe\n").unwrap();
    let mislead = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        let (folder, settings) = (elsewhere.to_str().unwrap(), elsewhere.join("settings"));
        for name in ["DIR", "WORK_TREE", "INDEX_FILE", "OBJECT_DIRECTORY", "COMMON_DIR", "TEMPLATE_DIR", "EXEC_PATH"] {
            command.env(format!("GIT_{name}"), folder);
        }
        for (name, value) in [
            ("CONFIG", settings.to_str().unwrap()),
            ("DEFAULT_HASH", "sha256"),
            ("REPLACE_REF_BASE", "refs/records"),
            ("SHALLOW_FILE", settings.to_str().unwrap()),
            ("NAMESPACE", "other"),
            ("CONFIG_COUNT", "1"),
            ("CONFIG_KEY_0", "core.bare"),
            ("CONFIG_VALUE_0", "maybe"),
            ("CONFIG_GLOBAL", settings.to_str().unwrap()),
            ("REF_PARANOIA", "0"),
            ("LITERAL_PATHSPECS", "maybe"),
        ] {
            command.env(format!("GIT_{name}"), value);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (_, said) = mislead(RUN);
    let id = said.lines().find_map(|line| line.strip_prefix("kept as ")).unwrap_or_else(|| panic!("{said}")).to_owned();
    assert_eq!(id.len(), 40);
    assert!(mislead(&["history"]).0.contains(&id[..10]));
    assert!(mislead(&["history", "verify"]).0.contains("1 records"));
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
}

/// Memory is bounded where the address space is.
#[test]
fn what_is_too_large_or_no_file_is_refused() {
    let place = Place::new();
    let file = |name: &str, content: &[u8]| {
        fs::write(place.beside(name), content).unwrap();
        place.beside(name).to_str().unwrap().to_owned()
    };
    let large = file("large", &vec![b' '; (16 << 20) + 1]);
    let many =
        file("many", format!("{{\"schema\":\"contend/1\",\"results\":[{}0]}}", "[],".repeat(1 << 20)).as_bytes());
    let pipe = place.beside("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let folder = place.beside("folder");
    fs::create_dir(&folder).unwrap();
    for (name, why) in [
        (large.as_str(), "larger than 16 MiB"),
        (many.as_str(), "more than 250000 values"),
        ("/dev/zero", "device"),
        (pipe.to_str().unwrap(), "nobody writes"),
        (folder.to_str().unwrap(), "folder"),
    ] {
        for arguments in [&["report", name][..], &["compare", name, &many]] {
            let said = place.refused(arguments, 1);
            assert!(said.contains(why), "{arguments:?}: {said}");
        }
    }
    let mut endless = place.command(&["report", "-"]);
    let output = endless.stdin(fs::File::open("/dev/zero").unwrap()).stdout(Stdio::null()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("larger than 16 MiB"));
}

/// Half a GB that is zeros, a few hundred kB when it is sent.
#[test]
fn what_is_huge_at_a_remote_costs_little_memory() {
    if !has_git() {
        return;
    }
    let (place, mine) = (Place::with_two(), Place::new());
    let file = place.beside("huge");
    fs::File::create(&file).unwrap().set_len(400 << 20).unwrap();
    let huge = place.line(&["-c", "core.bigFileThreshold=1m", "hash-object", "-w", file.to_str().unwrap()], &[]);
    let tree = format!("100644 blob {huge}\tmanifest.json\n100644 blob {huge}\trecord.json\n");
    let tree = place.line(&["mktree"], tree.as_bytes());
    let message = String::from_utf8(place.git(&["cat-file", "commit", &place.first], &[]).stdout).unwrap();
    let id = place.line(&["commit-tree", &tree], message.split_once("\n\n").unwrap().1.as_bytes());
    place.git(&["update-ref", &format!("refs/records/{id}"), &id], &[]);
    let remote = place.archive.to_str().unwrap();
    let calls: [&[&str]; 4] =
        [&["history", "pull", remote], &["history", "show", "last"], &["history", "trend"], &["history", "verify"]];
    for (arguments, of) in calls.into_iter().zip([&mine, &place, &place, &place]) {
        let most_kib = limited(&mut of.command(arguments));
        println!("{arguments:?}: {most_kib} KiB");
        assert!(most_kib < 500 << 10, "{arguments:?}: {most_kib} KiB");
    }
    assert!(mine.said(&["history", "verify"]).contains("2 records"));
}
