//! Files of an installation in addition to the binary: completions for shells and man pages. Both are written from the
//! definition that parses the command line, so that neither has a flag that does not exist.

use crate::output::print_or_write;
use anyhow::{Context, bail};
use clap::{Arg, Args, Command, ValueHint};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use harness::output::{OutputFile, eprint_line};
use harness::{COMMON_OPTIONS, Outcome, SharedFlags, UsageError};
use instruments::helper;
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fs, process};

/// Print a shell completion script
///
/// The script completes commands, options and values; in bash, zsh and fish also records, baselines, and lists such as
/// --lock std,mcs. It is printed, or written to the file of --output. Files that the shells read:
/// ~/.local/share/bash-completion/completions/contend (bash), _contend in a directory of $fpath (zsh),
/// ~/.config/fish/completions/contend.fish (fish).
#[derive(Args, Clone, Debug)]
pub struct CompletionsFlags {
    /// Shell that reads the script
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// The beginning of bash's function: values that contend knows come first.
///
/// bash splits words at the characters of `COMP_WORDBREAKS`, and replaces only the last piece.
const BASH: (&str, &str) = (
    "    COMPREPLY=()\n",
    r#"    local found value before= typed=${COMP_LINE:0:COMP_POINT}
    typed=${typed##* }
    [[ $COMP_WORDBREAKS != *=* || $typed != *=* ]] || before=${typed%"${typed##*=}"}
    [[ $COMP_WORDBREAKS != *:* || ${typed#"$before"} != *:* ]] || before=${typed%"${typed##*:}"}
    if found=$("$1" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); then
        [[ ${found%%$'\n'*} != list ]] || compopt -o nospace 2>/dev/null
        while IFS=$'\t' read -r value _; do
            value=${value#"$before"}
            value=${value// /\\ }
            COMPREPLY+=("$value")
        done <<< "${found#*$'\n'}"
        return 0
    fi
"#,
);

/// The beginning of zsh's function.
const ZSH: (&str, &str) = (
    "_contend() {\n",
    r#"    local -a found
    found=("${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if (( $#found > 1 )); then
        if [[ $found[1] == list ]]; then
            compadd -S '' -- "${(@)found[2,-1]%%$'\t'*}"
        else
            compadd -- "${(@)found[2,-1]%%$'\t'*}"
        fi
        return
    fi
"#,
);

/// The end of fish's script.
const FISH: &str = r"function __contend_values
    set -l typed (commandline -opc) (commandline -ct)
    $typed[1] complete -- $typed[2..-1] 2>/dev/null | tail -n +2
end
complete -c contend -k -f -n 'count (__contend_values) >/dev/null' -a '(__contend_values)'
";

/// Writes the script with which a shell completes commands, flags, and values; it calls `contend complete` for the
/// values that are not known in advance.
///
/// # Errors
/// Flags do not apply to a script, or a file cannot be written.
pub fn complete(flags: &CompletionsFlags, shared: &SharedFlags, mut command: Command) -> anyhow::Result<Outcome> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut command, name, &mut script);
    let script = String::from_utf8(script)?;
    let begun = |(first, then): (&str, &str)| script.replacen(first, &format!("{first}{then}"), 1);
    let script = match flags.shell {
        Shell::Bash => begun(BASH),
        Shell::Zsh => begun(ZSH),
        Shell::Fish => script + FISH,
        _ => script,
    };
    print_or_write(&script, shared)?;
    Ok(Outcome::Done)
}

/// Show the man page of contend or of a command, or write all pages to a directory
///
/// On a terminal, the page is shown by man(1); elsewhere its source is printed. A path, such as ./man1 or
/// ~/.local/share/man/man1, is a directory that gets one page per command.
#[derive(Args, Clone, Debug)]
pub struct PagesFlags {
    /// Command, such as trace or history list; or a path: write contend.1, contend-latency.1 and so on to this directory,
    /// which is created if missing
    #[arg(value_name = "COMMAND|DIR", value_hint = ValueHint::DirPath)]
    words: Vec<PathBuf>,
}

/// Shows the page of a command, or writes the pages of all.
///
/// # Errors
/// Flags do not apply to pages, there is no such command, a directory or file cannot be written, or a file is not a page
/// of contend.
pub fn write_pages(flags: &PagesFlags, shared: &SharedFlags, command: Command) -> anyhow::Result<Outcome> {
    // Omitted, so that `help` has no page for each of the others.
    let mut command = command.disable_help_subcommand(true);
    command.build();
    if let [folder] = &flags.words[..]
        && folder.as_os_str().as_bytes().contains(&b'/')
    {
        if shared.output.is_some() {
            return Err(
                UsageError("--output: `contend man DIR` writes several files; omit --output or DIR".into()).into()
            );
        }
        write_all(&command, folder)?;
        return Ok(Outcome::Done);
    }
    let (mut shown, mut above) = (&command, None);
    for word in &flags.words {
        let below = shown.get_subcommands().find(|below| !below.is_hide_set() && word.as_os_str() == below.get_name());
        let unknown = || {
            let word = word.display();
            UsageError(format!("man {word}: no command of this name; a directory is named by a path, such as ./{word}"))
        };
        (above, shown) = (Some(shown), below.ok_or_else(unknown)?);
    }
    let page = page_of(shown, above)?;
    if shared.output.is_some() || !io::stdout().is_terminal() || !is_shown(&page) {
        print_or_write(&page, shared)?;
    }
    Ok(Outcome::Done)
}

/// Shows a page with man(1); returns whether there is one.
fn is_shown(page: &str) -> bool {
    let Ok(mut man) = helper::command("man") else { return false };
    let Ok(mut man) = man.args(["-l", "-"]).stdin(process::Stdio::piped()).spawn() else { return false };
    // A reader who leaves the page early closes the pipe.
    man.stdin.take().iter_mut().for_each(|pipe| drop(pipe.write_all(page.as_bytes())));
    man.wait().is_ok_and(|status| status.success())
}

fn write_all(command: &Command, folder: &Path) -> anyhow::Result<()> {
    let mut pages = Vec::new();
    collect(command, None, &mut pages)?;
    fs::create_dir_all(folder).with_context(|| format!("{}: cannot create the directory", folder.display()))?;
    let pages: Vec<(PathBuf, String)> = pages.into_iter().map(|(name, text)| (folder.join(name), text)).collect();
    // All files are opened before the first is written.
    let drafts = pages.iter().map(|(path, _)| draft(path)).collect::<anyhow::Result<Vec<OutputFile>>>()?;
    drafts.into_iter().zip(&pages).try_for_each(|(draft, (_, text))| draft.write(text.as_bytes()))?;
    eprint_line(&format!("{} pages in {}", pages.len(), folder.display()));
    Ok(())
}

/// Collects the page of a command and those of the commands below it, with their names.
fn collect(command: &Command, above: Option<&Command>, pages: &mut Vec<(String, String)>) -> io::Result<()> {
    pages.push((format!("{}.1", name(command)), page_of(command, above)?));
    let below = command.get_subcommands().filter(|one| !one.is_hide_set());
    below.into_iter().try_for_each(|one| collect(one, Some(command), pages))
}

/// Opens a file that an earlier contend wrote, which is replaced; any other existing file is refused.
fn draft(path: &Path) -> anyhow::Result<OutputFile> {
    match fs::read_to_string(path) {
        Ok(text) if !is_ours(&text) => {
            bail!("{}: the existing file is not a man page of contend; name another directory", path.display())
        }
        _ => OutputFile::open("the page", path),
    }
}

/// The text by which a page of contend is recognised.
const MANUAL: &str = "contend manual";

/// The exit status of every command, and its meaning.
pub const EXIT_STATUS: &[(&str, &str)] = &[
    ("0", "success"),
    ("1", "the measurement or the command failed; standard error has the reason"),
    ("2", "invalid command line; the message names the option, its value, and the allowed values"),
    ("3", "a limit was exceeded (--fail-if), or an event was found (--stop-above)"),
    ("4", "`contend compare --fail-if` could judge no value, or `contend machines` has nothing to compare"),
    ("130", "interrupted by Ctrl-C, SIGTERM or SIGHUP; results so far were printed and saved"),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("CONTEND_ARCHIVE", "Archive directory, unless --archive names one. Empty: no record is saved."),
    ("XDG_DATA_HOME", "Data directory, an absolute path [default: ~/.local/share]."),
    ("NO_COLOR", "If set and not empty, contend uses no colours and no live views."),
];

const FILES: &[(&str, &str)] =
    &[("$XDG_DATA_HOME/contend/archive.git", "Records of all runs, in a bare Git repository.")];

/// Returns the name of a command's page, such as `contend-history-list`.
fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

/// Returns whether a text is a page that [`page_of`] wrote.
fn is_ours(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(".TH contend") && line.contains(MANUAL))
}

/// Returns the page of a command that has been built, below `above`.
fn page_of(command: &Command, above: Option<&Command>) -> io::Result<String> {
    let source = format!("contend {}", env!("CARGO_PKG_VERSION"));
    let is_root = above.is_none();
    let is_common = |flag: &Arg| flag.get_help_heading() == Some(COMMON_OPTIONS);
    let common = command.get_arguments().filter(|flag| is_common(flag) && !flag.is_hide_set());
    let common: Vec<String> = common.filter_map(|flag| flag.get_long().map(|name| format!("--{name}"))).collect();
    // The common options are described once, on the page of contend itself.
    let described = command.clone().mut_args(|flag| if is_common(&flag) && !is_root { flag.hide(true) } else { flag });
    let man = Man::new(described).source(source).manual(MANUAL);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut roff = Roff::new();
    if !is_root && !common.is_empty() {
        roff.control("SH", ["COMMON OPTIONS"]);
        roff.text([roman(format!("{}. See ", common.join(", "))), bold("contend"), roman("(1).")]);
    }
    list(&mut roff, "EXAMPLES", &examples(command));
    [("EXIT STATUS", EXIT_STATUS), ("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)]
        .into_iter()
        .for_each(|(heading, items)| list(&mut roff, heading, items));
    see_also(&mut roff, command, above);
    roff.to_writer(&mut page)?;
    String::from_utf8(page).map_err(io::Error::other)
}

/// Returns the calls at the end of the command's help, each with its effect.
fn examples(command: &Command) -> Vec<(String, String)> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let lines: Vec<&str> = help.lines().skip(1).take_while(|line| line.starts_with(' ')).map(str::trim).collect();
    lines.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect()
}

fn list<T: AsRef<str>>(roff: &mut Roff, heading: &str, items: &[(T, T)]) {
    roff.control("SH", [heading]);
    for (name, meaning) in items {
        roff.control("TP", []).text([bold(name.as_ref())]).text([roman(meaning.as_ref())]);
    }
}

/// Adds the page above, and those below it or on the same level.
fn see_also(roff: &mut Roff, command: &Command, above: Option<&Command>) {
    let parent = if command.has_subcommands() { command } else { above.unwrap_or(command) };
    let near = parent.get_subcommands().filter(|one| !one.is_hide_set() && name(one) != name(command));
    let mut pages: Vec<&str> = above.into_iter().chain(near).map(name).collect();
    pages.dedup();
    roff.control("SH", ["SEE ALSO"]);
    let last = pages.len().saturating_sub(1);
    let words = pages
        .iter()
        .enumerate()
        .flat_map(|(place, page)| [bold(*page), roman(if place == last { "(1)" } else { "(1), " })]);
    roff.text(words.collect::<Vec<_>>());
}
