//! A record as Markdown, for a pull request: its ranking as tables; without one, its text.

use harness::AnyRecord;
use record::ranking::{Rank, contests};
use record::ranking_figure;
use terminal::escaped;

/// Returns the tables of the ranking, the machine, and the warnings; without a ranking, `text` in a block of code.
pub fn of_record(record: &AnyRecord, text: &str) -> String {
    let tables: Vec<String> = contests(&record.ranking).map(contest).collect();
    let body = if tables.is_empty() { block(text) } else { tables.join("\n") };
    body + "\n" + &below(record)
}

/// Returns a block that keeps the columns of the text.
pub fn block(text: &str) -> String {
    // A fence is longer than any within the text.
    let ticks = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0).max(2) + 1;
    let fence = "`".repeat(ticks);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}

/// Returns a table; all columns but the first have numbers.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let rule = header.iter().enumerate().map(|(place, _)| if place == 0 { "---" } else { "--:" }.to_owned()).collect();
    let head = line(header.iter().map(|cell| (*cell).to_owned()).collect()) + &line(rule);
    rows.into_iter().fold(head, |text, row| text + &line(row.iter().map(|one| cell(one)).collect()))
}

/// Escapes characters that would end a cell, or be markup.
fn cell(text: &str) -> String {
    escaped(text)
        .chars()
        .flat_map(|letter| match letter {
            '|' | '*' | '_' | '`' | '<' | '[' | '\\' => vec!['\\', letter],
            other => vec![other],
        })
        .collect()
}

fn contest(ranks: &[Rank]) -> String {
    let (among, figure) = (&ranks[0].among, ranks[0].figure.as_str());
    let ranks = ranking_figure::table(ranks);
    let header: Vec<&str> = ranks.header.iter().map(|head| if *head == "value" { figure } else { *head }).collect();
    format!("**{}**\n\n{}", cell(among), table(&header, ranks.rows))
}

fn below(record: &AnyRecord) -> String {
    let (machine, kernel) = (&record.environment.machine.cpu.model, &record.environment.machine.kernel.release);
    let machine: Vec<String> = [machine, kernel].into_iter().flatten().map(|words| cell(words)).collect();
    let mut text = format!("`contend {}`: {}.\n", record.experiment, machine.join(", "));
    for warning in &record.warnings {
        text += &format!("- {} (`{}`). Remedy: {}\n", cell(warning.message()), warning.code(), cell(warning.remedy()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_cannot_end_its_row_nor_text_its_block() {
        let text = table(&["a", "b"], [vec!["x|y\n*".to_owned(), "1".to_owned()]]);
        assert_eq!(text, "| a | b |\n| --- | --: |\n| x\\|y\\\\u{a}\\* | 1 |\n");
        assert!(block("one ```` two").starts_with("`````text\n"));
    }
}
