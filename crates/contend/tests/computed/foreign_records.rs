//! Foreign data among the records, from a remote or in a file: it disables nothing, and costs little.

use crate::command::archive::has_git;
use crate::command::place::{Place, limited};
use rustix::fs::Mode;
use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Stdio};

/// Plants foreign data among the records, by the name of its test.
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
fn invalid_reference_is_named_and_disables_nothing() {
    if !has_git() {
        return;
    }
    let place = Place::with_two();
    poison(&place);
    let list = place.contend(&["history"]);
    let warned = String::from_utf8_lossy(&list.stderr).into_owned();
    assert!(list.status.success() && warned.contains("update-ref --no-deref -d"), "{warned}");
    assert!(warned.contains("more; `contend history verify` lists all"), "{warned}");
    assert!(String::from_utf8_lossy(&list.stdout).contains(&place.first[..10]));
    for reader in [&["history", "show", &place.first][..], &["history", "trend"], &["report", &place.first]] {
        assert!(!place.stdout(reader).is_empty());
    }
    let file = place.beside("file.json");
    place.stdout(&["history", "export", &place.first, file.to_str().unwrap()]);
    place.stdout(&["compare", file.to_str().unwrap(), &place.second]);
    let wrong = place.refused(&["history", "verify"], 1);
    let remedies: Vec<&str> = wrong.split('`').filter(|part| part.starts_with("git --git-dir")).collect();
    assert_eq!(remedies.len(), 15, "{wrong}");
    for remedy in remedies {
        let done = Command::new("sh").args(["-c", remedy]).current_dir(place.archive.parent().unwrap()).output();
        assert!(done.as_ref().unwrap().status.success(), "{remedy}: {done:?}");
    }
    assert!(place.stdout(&["history", "verify"]).contains("2 records, all hashes are valid"));
    assert!(!place.beside("evil").exists());
}

#[test]
fn invalid_reference_is_neither_pulled_nor_pushed() {
    if !has_git() {
        return;
    }
    let (place, own, hub) = (Place::with_two(), Place::new(), Place::new());
    let bad = poison(&place);
    let output = own.contend(&["history", "pull", place.archive.to_str().unwrap()]);
    let (message, warned) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && message.contains("2 records fetched; 2 in all"), "{message}{warned}");
    assert!(warned.contains("was not imported") && warned.contains("git push"), "{warned}");
    assert!(own.stdout(&["history", "verify"]).contains("2 records, all hashes are valid"));
    let entries = fs::read_dir(&own.archive).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!entries.into_iter().any(|name| name.to_str().unwrap().starts_with("incoming-")));
    assert!(Command::new("git").args(["init", "--quiet", "--bare"]).arg(&hub.archive).status().unwrap().success());
    let pushed = place.contend(&["history", "push", hub.archive.to_str().unwrap()]);
    assert!(pushed.status.success(), "{}", String::from_utf8_lossy(&pushed.stderr));
    let references = String::from_utf8(hub.git(&["for-each-ref"], &[]).stdout).unwrap();
    assert!(
        !bad[9..].iter().any(|name| references.contains(name)) && references.contains(&place.first),
        "{references}"
    );
}

#[test]
fn remote_is_never_parsed_as_an_option() {
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
        let message = place.refused(&arguments, 2);
        assert!(message.contains("not a repository"), "{message}");
    }
    for name in ["--help", "-c", "--upload-pack=x", "last~18446744073709551615", "last~18446744073709551614"] {
        place.refused(&["history", "show", "--", name], 1);
    }
    assert!(!trace.exists());
}

/// Memory is bounded where the address space is.
#[test]
fn oversized_or_special_file_is_refused() {
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
        (pipe.to_str().unwrap(), "no process writes"),
        (folder.to_str().unwrap(), "folder"),
    ] {
        for arguments in [&["report", name][..], &["compare", name, &many]] {
            let message = place.refused(arguments, 1);
            assert!(message.contains(why), "{arguments:?}: {message}");
        }
    }
    let mut endless = place.command(&["report", "-"]);
    let output = endless.stdin(fs::File::open("/dev/zero").unwrap()).stdout(Stdio::null()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("larger than 16 MiB"));
}

/// Half a GB that is zeros, a few hundred kB when it is sent.
#[test]
fn huge_object_at_a_remote_costs_little_memory() {
    if !has_git() {
        return;
    }
    let (place, own) = (Place::with_two(), Place::new());
    let file = place.beside("huge");
    fs::File::create(&file).unwrap().set_len(200 << 20).unwrap();
    let huge = place.line(&["-c", "core.bigFileThreshold=1m", "hash-object", "-w", file.to_str().unwrap()], &[]);
    let tree = format!("100644 blob {huge}\tmanifest.json\n100644 blob {huge}\trecord.json\n");
    let tree = place.line(&["mktree"], tree.as_bytes());
    let message = String::from_utf8(place.git(&["cat-file", "commit", &place.first], &[]).stdout).unwrap();
    let id = place.line(&["commit-tree", &tree], message.split_once("\n\n").unwrap().1.as_bytes());
    place.git(&["update-ref", &format!("refs/records/{id}"), &id], &[]);
    let remote = place.archive.to_str().unwrap();
    let calls: [&[&str]; 4] =
        [&["history", "pull", remote], &["history", "show", "last"], &["history", "trend"], &["history", "verify"]];
    for (arguments, of) in calls.into_iter().zip([&own, &place, &place, &place]) {
        let most_kib = limited(&mut of.command(arguments));
        println!("{arguments:?}: {most_kib} KiB");
        assert!(most_kib < 250 << 10, "{arguments:?}: {most_kib} KiB");
    }
    assert!(own.stdout(&["history", "verify"]).contains("2 records"));
}
