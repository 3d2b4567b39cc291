//! Archives that are not usable, and machines that cannot have archives.

use super::history::assert_not_archived;
use crate::command::archive::{Archive, has_git};
use crate::command::executable;
use crate::command::place::{Place, RUN, kept};
use crate::command::stored::all;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Each reason has its own message, since each has another remedy.
#[test]
fn reason_without_an_archive_location_is_reported() {
    let place = Place::new();
    let message = |command: &mut Command| {
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let empty = message(place.command(&["history"]).env("CONTEND_ARCHIVE", ""));
    assert!(empty.contains("CONTEND_ARCHIVE is empty") && !empty.contains("HOME"), "{empty}");
    let mut homeless = place.command(&["history"]);
    homeless.env_remove("CONTEND_ARCHIVE").env_remove("HOME").env_remove("XDG_DATA_HOME");
    let homeless = message(&mut homeless);
    assert!(homeless.contains("neither XDG_DATA_HOME nor HOME") && !homeless.contains("CONTEND_"), "{homeless}");
}

#[test]
fn closed_standard_output_is_an_error() {
    let place = Place::new();
    for (redirection, status) in [(">&-", 1), (">/dev/null", 0), ("</dev/null >/dev/null 1<&0", 1)] {
        let script = format!("exec \"$0\" history {redirection}");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_contend")]).env("CONTEND_ARCHIVE", &place.archive);
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{redirection}: {stderr}");
        assert_eq!(stderr.contains("cannot write to standard output"), status == 1, "{redirection}: {stderr}");
    }
}

/// With this clock Git would make commits that `git fsck` refuses in every later check.
#[test]
fn clock_before_1970_leaves_a_valid_archive() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    place.keep();
    let (source, object) = (place.beside("clock.c"), place.beside("clock.so"));
    let code = "#define _GNU_SOURCE\n#include <time.h>\n#include <sys/syscall.h>\n#include <sys/time.h>\n\
        #include <unistd.h>\n\
        int clock_gettime(clockid_t id, struct timespec *now) {\n\
            int result = syscall(SYS_clock_gettime, id, now);\n\
            if (id == CLOCK_REALTIME) now->tv_sec = -3600;\n return result; }\n\
        int gettimeofday(struct timeval *now, void *zone) { now->tv_sec = -3600; now->tv_usec = 0; return 0; }\n\
        time_t time(time_t *now) { if (now) *now = -3600; return -3600; }\n";
    fs::write(&source, code).unwrap();
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&object).arg(&source).status();
    if !made.is_ok_and(|made| made.success()) {
        return println!("skipped: needs cc");
    }
    let output = place.command(RUN).env("LD_PRELOAD", &object).output().unwrap();
    assert_not_archived(&output, "before 1970");
    assert!(place.stdout(&["history", "verify"]).contains("1 record, all hashes are valid"));
}

#[test]
fn git_is_not_searched_in_relative_path_elements() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    let (folder, trap) = (place.beside("foreign"), place.beside("trapped"));
    fs::create_dir(&folder).unwrap();
    let git = folder.join("git");
    executable(&git, format!("#!/bin/sh\ntouch '{}'\n", trap.display()));
    let path = std::env::var("PATH").unwrap();
    for element in [".", "", "../foreign"] {
        let mut command = place.command(RUN);
        let output = command.current_dir(&folder).env("PATH", format!("{element}:{path}")).output().unwrap();
        assert!(kept(&output).is_some(), "{element:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!trap.exists(), "{element:?}: the git of the current directory ran");
    }
}

#[test]
fn an_archive_that_every_user_may_change_is_refused() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    // Also under a umask of 0 it is created so that it can be opened again.
    let script = format!("umask 0; \"$0\" {} && \"$0\" {}", RUN.join(" "), RUN.join(" "));
    let mut twice = Command::new("sh");
    twice.args(["-c", &script, env!("CARGO_BIN_EXE_contend")]).env("CONTEND_ARCHIVE", &place.archive);
    let output = twice.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for part in ["", "objects", "objects/pack", "config", "refs/records"] {
        let part = place.archive.join(part);
        let mode = part.metadata().unwrap().permissions().mode();
        fs::set_permissions(&part, fs::Permissions::from_mode(mode | 0o002)).unwrap();
        let message = place.refused(&["history"], 1);
        assert!(
            message.contains(part.to_str().unwrap().trim_end_matches('/')) && message.contains("chmod -R o-w"),
            "{message}"
        );
        fs::set_permissions(&part, fs::Permissions::from_mode(mode)).unwrap();
    }
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: needs root, to give a part of the archive away");
    }
    let part = place.archive.join("objects/pack");
    std::os::unix::fs::chown(&part, Some(65_534), None).unwrap();
    assert!(place.refused(&["history"], 1).contains("belongs to user 65534"));
}

/// Programs in other languages would read another value of a duplicate name.
#[test]
fn record_with_a_duplicate_name_is_refused() {
    if !has_git() {
        return;
    }
    let archive = Archive::new();
    let record = all()[0].record.to_string();
    let twice = record.replacen("\"environment\":{", "\"environment\":{\"seed\":4,", 1);
    assert_ne!(twice, record);
    let file = archive.file("twice.json", &twice);
    let output = archive.contend(&["report", &file]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("duplicate field \"seed\""), "{stderr}");
}
