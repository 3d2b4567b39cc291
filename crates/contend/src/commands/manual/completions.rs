//! A script with which a shell completes commands, flags, and values. It asks contend for the values that are not known
//! in advance.

use crate::output::print_or_write;
use clap::{Args, Command};
use clap_complete::Shell;
use harness::{Outcome, SharedFlags};

/// Print a shell completion script
///
/// The script completes commands, options and values; in bash, zsh and fish also records, baselines, and lists such as
/// --lock std,mcs. It is printed, or written to the file of --output. Files that the shells read:
/// ~/.local/share/bash-completion/completions/contend (bash), _contend in a directory of $fpath (zsh),
/// ~/.config/fish/completions/contend.fish (fish).
#[derive(Args, Clone, Debug)]
pub struct Flags {
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

/// Writes the script for `command`.
///
/// # Errors
/// Flags do not apply to a script, or a file cannot be written.
pub fn run(flags: &Flags, shared: &SharedFlags, mut command: Command) -> anyhow::Result<Outcome> {
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
