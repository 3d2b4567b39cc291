//! The examples, built with `cc` and `c++` against the headers and both libraries, and run; and the installed files.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

const TALLY: &str = "threads: 40000\nprocesses: 40000\nrobust: the owner died\nbusy: yes\n";
const QUEUE: &str = "once\ntaken: 1000\ncondition: time is over\nheld: time is over\nno time: refused\n\
                     semaphore: time is over\nreaders: share\nwriter: time is over\n";
const TALLY_OF_CPP: &str = "total: 40000\ntaken while held: no\nwritten while read: no\n";

const SYSTEM: [&str; 3] = ["-lpthread", "-ldl", "-lm"];

fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the path of a library where cargo put it: next to this test, or one directory up.
fn library(name: &str) -> PathBuf {
    let executable = env::current_exe().unwrap();
    executable
        .ancestors()
        .skip(1)
        .take(2)
        .map(|directory| directory.join(name))
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("cargo built no {name} for this test"))
}

/// Runs the command and returns its output; prints a message and returns `None` if the tool is not installed.
fn run(command: &mut Command) -> Option<Output> {
    match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: needs {}", command.get_program().display());
            None
        }
        result => {
            let output = result.unwrap();
            assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
            Some(output)
        }
    }
}

/// Returns a compiler command for C or C++ that treats every warning as an error.
fn strict(dialect: &str) -> Command {
    let mut compiler = Command::new(if dialect.contains("c++") { "c++" } else { "cc" });
    compiler.args([&format!("-std={dialect}"), "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2"]);
    compiler.arg("-I").arg(home().join("include"));
    compiler
}

/// Returns a strict compiler command for this example.
fn compiler(example: &str) -> Command {
    let (program, dialect) = if example.ends_with(".cpp") { ("c++", "-std=c++17") } else { ("cc", "-std=c11") };
    let mut compiler = Command::new(program);
    compiler.args([dialect, "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2"]);
    compiler.arg(home().join("examples").join(example));
    compiler
}

/// Returns the output of the example, linked with this library.
fn prints(example: &str, library: &Path, arguments: &[&str]) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    let mut compiler = compiler(example);
    run(compiler.arg("-I").arg(home().join("include")).arg(library).args(SYSTEM).arg("-o").arg(&program))?;
    // The loader searches for the library by this name.
    std::os::unix::fs::symlink(library, directory.path().join("libulocks_c.so.0")).unwrap();
    let output = run(Command::new(&program).args(arguments).env("LD_LIBRARY_PATH", directory.path())).unwrap();
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn examples_run_with_either_library() {
    for (example, expected) in [("tally.c", TALLY), ("queue.c", QUEUE), ("tally.cpp", TALLY_OF_CPP)] {
        for name in ["libulocks_c.so", "libulocks_c.a"] {
            if let Some(printed) = prints(example, &library(name), &[]) {
                assert_eq!(printed, expected, "{example} with {name}");
            }
        }
    }
}

#[test]
fn pairs_example_prints_an_interval_for_each_lock() {
    let Some(printed) = prints("pairs.cpp", &library("libulocks_c.so"), &["1000"]) else { return };
    let lines = printed.lines().map(|line| line.split_once(": ").unwrap());
    let (names, values): (Vec<_>, Vec<_>) = lines.unzip();
    let locks = ["ulock inline", "ulock", "shared_ulock inline", "shared_ulock", "pthread"];
    assert_eq!(names, [&locks[..], &["ulock inline / pthread"]].concat());
    let is_value = |values: &&str| {
        let numbers: Vec<f64> = values.split([' ', '(', '-', ')']).filter_map(|number| number.parse().ok()).collect();
        matches!(numbers[..], [median, low, high] if 0.0 < low && low <= median && median <= high)
    };
    assert!(values.iter().all(is_value), "{printed}");
}

/// Runs `make install` into a directory, then builds a program with the flags from `pkg-config`, and runs it.
#[test]
fn installed_library_is_found_by_pkg_config() {
    let package = tempfile::tempdir().unwrap();
    let built = library("libulocks_c.so").parent().unwrap().to_owned();
    let mut make = Command::new("make");
    make.arg("-C").arg(home()).arg("install").arg("PREFIX=/usr");
    make.arg(format!("DESTDIR={}", package.path().display())).arg(format!("BUILT={}", built.display()));
    if run(&mut make).is_none() {
        return;
    }
    let libraries = package.path().join("usr/lib");
    let mut config = Command::new("pkg-config");
    config.args(["--cflags", "--libs", "ulocks"]).env("PKG_CONFIG_PATH", libraries.join("pkgconfig"));
    config.env("PKG_CONFIG_ALLOW_SYSTEM_CFLAGS", "1").env("PKG_CONFIG_ALLOW_SYSTEM_LIBS", "1");
    let Some(flags) = run(config.env("PKG_CONFIG_SYSROOT_DIR", package.path())) else { return };
    let flags = String::from_utf8(flags.stdout).unwrap();
    let program = package.path().join("queue");
    if run(compiler("queue.c").args(flags.split_whitespace()).arg("-lpthread").arg("-o").arg(&program)).is_none() {
        return;
    }
    let output = run(Command::new(&program).env("LD_LIBRARY_PATH", &libraries)).unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), QUEUE);
}

/// Without `BUILT`, the libraries are in the directory that cargo reports, even if the package is outside a
/// workspace.
#[test]
fn make_install_outside_a_workspace_finds_the_libraries() {
    let package = tempfile::tempdir().unwrap();
    fs::copy(home().join("Makefile"), package.path().join("Makefile")).unwrap();
    fs::create_dir(package.path().join("src")).unwrap();
    fs::write(package.path().join("src/lib.rs"), "").unwrap();
    fs::write(package.path().join("Cargo.toml"), "[package]\nname = \"ulocks-c\"\nedition = \"2024\"\n").unwrap();
    let mut make = Command::new("make");
    make.arg("-C").arg(package.path()).args(["-n", "install"]).env_remove("CARGO_TARGET_DIR");
    let Some(planned) = run(&mut make) else { return };
    let planned = String::from_utf8(planned.stdout).unwrap();
    let built = package.path().canonicalize().unwrap().join("target/release/libulocks_c.so");
    assert!(planned.contains(&format!(" {} ", built.display())), "{planned}");
}

/// The example in C of the README compiles without a warning.
#[test]
fn readme_example_compiles() {
    let readme = fs::read_to_string(home().join("README.md")).unwrap();
    let example = readme.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example in C");
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("readme.c");
    fs::write(&source, format!("{example}\nint main(void) {{ add(); return total != 1; }}\n")).unwrap();
    run(strict("c11").arg("-fsyntax-only").arg(source));
}

/// Builds the program or shared object of this name in `tests/programs`.
fn built(directory: &Path, name: &str, options: &[&str]) -> Option<PathBuf> {
    let object = directory.join(name).with_extension("built");
    let mut compiler = strict("gnu11");
    compiler.args(options).arg(home().join("tests/programs").join(name));
    if options.contains(&"-shared") {
        compiler.arg(library("libulocks_c.a"));
    }
    run(compiler.args(SYSTEM).arg("-o").arg(&object))?;
    Some(object)
}

/// Names of the compilers for C and C++; a test skips those that are not installed.
const COMPILERS: [(&str, &str); 2] = [("gcc", "g++"), ("clang", "clang++")];

/// Returns a strict command of this compiler for C (`c99`, `c11`) or C++ (`c++11`).
fn strict_with((c, cpp): (&str, &str), dialect: &str) -> Command {
    let strict = strict(dialect);
    let mut compiler = Command::new(if dialect.contains("c++") { cpp } else { c });
    compiler.args(strict.get_args());
    compiler
}

/// Builds the program of `tests/programs` from several compilations, each with one of these options, and returns its
/// output.
fn output_of(
    mut compiler: impl FnMut() -> Command,
    program: &str,
    parts: &[&[&str]],
    library: &Path,
) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let source = home().join("tests/programs").join(program);
    let objects: Vec<PathBuf> = (0..parts.len()).map(|part| directory.path().join(format!("{part}.o"))).collect();
    for (options, object) in parts.iter().zip(&objects) {
        run(compiler().args(*options).arg("-c").arg(&source).arg("-o").arg(object))?;
    }
    let program = directory.path().join("program");
    run(compiler()
        .args(parts[0])
        .args(["-x", "none"])
        .args(objects)
        .arg(library)
        .args(SYSTEM)
        .arg("-o")
        .arg(&program))?;
    std::os::unix::fs::symlink(library, directory.path().join("libulocks_c.so.0")).unwrap();
    let output = run(Command::new(&program).env("LD_LIBRARY_PATH", directory.path())).unwrap();
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The other syntax of the assembler, where the processor has two.
const INTEL: &[&str] = if cfg!(target_arch = "x86_64") { &["-O1", "-masm=intel"] } else { &["-O1"] };

/// The sequences work in code of every optimisation level, in either syntax of the assembler, at a fixed address or not,
/// with either library, and mixed with the functions of the library.
#[test]
fn inline_functions_exclude_also_mixed_with_the_library() {
    const EXPECTED: &str = "threads: 80000\nprocesses: 60000\nheld: word 1, busy\nunlocked: word 0, taken\n\
                            shared: taken, busy\n";
    for compiler in COMPILERS {
        for (dialect, options, name) in [
            ("gnu11", &["-O2"][..], "libulocks_c.so"),
            ("gnu99", &["-O0", "-fno-pie", "-no-pie"], "libulocks_c.so"),
            ("gnu++11", &["-O2", "-x", "c++", "-fPIC"], "libulocks_c.a"),
            ("gnu11", INTEL, "libulocks_c.so"),
        ] {
            let command = || strict_with(compiler, dialect);
            let Some(printed) = output_of(command, "inlined.c", &[options], &library(name)) else { continue };
            assert_eq!(printed, EXPECTED, "{compiler:?} {dialect} {options:?}");
        }
    }
}

#[test]
fn inline_functions_in_several_files_are_linked_once() {
    for compiler in COMPILERS {
        let command = || strict_with(compiler, "c++11");
        let parts = [&[][..], &["-DELSEWHERE"]];
        let Some(printed) = output_of(command, "copies.cpp", &parts, &library("libulocks_c.so")) else { continue };
        assert_eq!(printed, "1 2\n");
    }
}

/// Each call gives up after its timeout and not before, and acquires the lock if that is possible.
#[test]
fn timed_calls_of_readers_and_writers_time_out() {
    const TIMEOUT: &str = "timeout timeout timeout";
    const ACQUIRED: &str = "acquired acquired acquired";
    let expected = format!(
        "reader of a written table: {TIMEOUT}\nwriter of a written table: {TIMEOUT}\nreader of a released table: {ACQUIRED}\n\
         reader of a read table: {ACQUIRED}\nwriter of a read table: {TIMEOUT}\nwriter of an unlocked table: {ACQUIRED}\n\
         urw: 1111111111\nshared_urw: 1111111111\n"
    );
    for compiler in COMPILERS {
        for name in ["libulocks_c.so", "libulocks_c.a"] {
            let command = || strict_with(compiler, "c++14");
            let Some(printed) = output_of(command, "timed_readers.cpp", &[&[]], &library(name)) else { continue };
            assert_eq!(printed, expected, "{compiler:?} with {name}");
        }
    }
}

/// The kernel follows the thread's `rseq_cs` when the thread is next descheduled: it must not point into an unloaded
/// object.
#[test]
fn unloaded_plugin_with_a_lock_leaves_its_host_alive() {
    let directory = tempfile::tempdir().unwrap();
    for options in [&["-shared", "-fPIC"][..], &["-shared", "-fPIC", "-DINLINE"]] {
        let Some(plugin) = built(directory.path(), "plugin.c", options) else { return };
        let host = built(directory.path(), "host.c", &[]).unwrap();
        let output = run(Command::new(host).arg(plugin).arg("100")).unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "of 100: 0 died, 0 failed, 0 still loaded\n");
    }
}

#[test]
fn polled_robust_lock_reports_the_death_once() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("polled");
    let mut compiler = strict("gnu11");
    compiler.arg(home().join("tests/programs/polled.c")).arg(library("libulocks_c.a")).args(SYSTEM);
    if run(compiler.arg("-o").arg(&program)).is_none() {
        return;
    }
    let output = run(&mut Command::new(program)).unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "the owner died\nbusy\ntaken\n");
}

#[test]
fn headers_compile_as_every_dialect_of_c() {
    let directory = tempfile::tempdir().unwrap();
    for header in ["ulocks.h", "ulocks_inline.h"] {
        let source = directory.path().join("only.c");
        fs::write(&source, format!("#include \"{header}\"\nint main(void) {{ return 0; }}\n")).unwrap();
        for dialect in ["c99", "c11", "gnu99", "gnu17"] {
            run(strict(dialect).arg("-fsyntax-only").arg(&source));
        }
    }
}

#[test]
fn headers_compile_in_either_order() {
    let source = home().join("tests/programs/both_headers.cpp");
    for options in
        [&[][..], &["-DCPP_FIRST"], &["-DULOCKS_NO_SHORT_NAMES"], &["-DCPP_FIRST", "-DULOCKS_NO_SHORT_NAMES"]]
    {
        run(strict("c++11").args(options).arg("-fsyntax-only").arg(&source));
    }
}

/// The header declares each function that the library exports, and no other function.
#[test]
fn header_declares_exactly_the_exported_functions() {
    let Some(symbols) = run(Command::new("nm").args(["-D", "--defined-only"]).arg(library("libulocks_c.so"))) else {
        return;
    };
    let symbols = String::from_utf8(symbols.stdout).unwrap();
    let names = |kind: char| {
        let is_kind = move |line: &&str| line.split(' ').nth(1).is_some_and(|letter| (letter == "T") == (kind == 'T'));
        symbols
            .lines()
            .filter(is_kind)
            .filter_map(|line| line.rsplit(' ').next())
            .filter(|name| name.starts_with("ulocks_"))
    };
    assert_eq!(names('D').collect::<Vec<_>>(), ["ulocks_restartable_offset"]);
    let mut exported: Vec<&str> = names('T').collect();
    let header = fs::read_to_string(home().join("include/ulocks.h")).unwrap();
    let mut declared: Vec<&str> = header
        .lines()
        .filter(|line| line.starts_with("void ") || line.starts_with("int "))
        .filter_map(|line| line.split([' ', '(']).nth(1))
        .collect();
    exported.sort_unstable();
    declared.sort_unstable();
    assert!(declared.len() > 80);
    assert_eq!(declared, exported);
    for name in declared.iter().map(|name| name.strip_prefix("ulocks_").unwrap()) {
        assert!(header.contains(&format!("#define {name} ulocks_{name}\n")), "{name}");
    }
}

/// ThreadSanitizer sees what the macros of its header and the inline functions tell, and still finds a race.
#[test]
fn thread_sanitizer_sees_the_locks() {
    let directory = tempfile::tempdir().unwrap();
    for define in ["-DCALLS", "-DINLINE"] {
        let program = directory.path().join(define);
        let mut compiler = strict("gnu11");
        compiler.args(["-fsanitize=thread", "-g", define]).arg(home().join("tests/programs/sanitized.c"));
        compiler.arg(library("libulocks_c.a")).args(SYSTEM).arg("-o").arg(&program);
        if !compiler.output().is_ok_and(|output| output.status.success()) {
            return println!("skipped: needs a C compiler with ThreadSanitizer");
        }
        let outcome = |arguments: &[&str]| Command::new(&program).args(arguments).output().unwrap();
        let clean = outcome(&[]);
        assert!(clean.status.success(), "{define}: {}", String::from_utf8_lossy(&clean.stderr));
        assert_eq!(String::from_utf8_lossy(&clean.stdout), "1000 1000 1000 1000\n");
        assert!(!outcome(&["forgets"]).status.success(), "{define}: a race must be found");
    }
}
