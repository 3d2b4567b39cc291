//! The record on a terminal: the sentence, the locks, the remedies, and the parts that are not known.

use super::findings::{per_s, sentence};
use super::record::{Parameters, PreemptedRecord, Row, RowKind};
use record::{Table, Unit, optional};
use terminal::{Page, counted, item, percent};

const MOST_LINES: usize = 12;
const MOST_COMPETITORS: usize = 2;

/// Draws the record.
pub fn show(record: &PreemptedRecord<'_>, page: &Page) -> String {
    let (rows, parameters) = (&record.results, &record.parameters);
    let of = |kind: RowKind| rows.iter().filter(move |row| row.kind == kind);
    let mut text = String::new();
    let say = |sentence: &str, text: &mut String| text.push_str(&item(sentence.split(' '), page));
    // With one lock, its sentence is that of all locks.
    let is_one = of(RowKind::Preempted).count() == 1;
    for row in of(RowKind::Total).filter(|_| !is_one).chain(of(RowKind::Preempted).take(1)) {
        sentence(row).iter().for_each(|sentence| say(sentence, &mut text));
    }
    unknown(parameters).iter().for_each(|sentence| say(sentence, &mut text));
    let locks: Vec<&Row> = of(RowKind::Preempted).collect();
    if !locks.is_empty() {
        text.push('\n');
        text.push_str(&terminal::table(&LOCKS, locks.iter().take(MOST_LINES).map(|row| line(row))));
    }
    let remedies: Vec<&Row> = of(RowKind::Remedy).collect();
    if remedies.is_empty() {
        say(&format!("Remedies: {}.", parameters.slice_extension.words()), &mut text);
        say("--remedies measures a longer time slice and a higher priority.", &mut text);
    } else {
        text.push('\n');
        text.push_str(&terminal::table(&REMEDIES, remedies.iter().map(|row| remedy(row))));
    }
    text
}

/// Returns the sentences about the parts of the run that are not known.
pub fn unknown(parameters: &Parameters) -> Vec<String> {
    let mut sentences = Vec::new();
    if parameters.switches.is_none() {
        sentences.push("The kernel refused to record context switches: no preemption is known.".to_owned());
        return sentences;
    }
    if let Some(share) = parameters.switches_share.filter(|share| *share < 0.95) {
        let share = percent(1.0 - share);
        sentences.push(format!("Context switches are not known for {share} of the run, to limit the overhead."));
    }
    if parameters.switches_left_out > 0 {
        let threads = counted(parameters.switches_left_out as usize, "thread");
        sentences.push(format!("Context switches of {threads} were not recorded: too frequent, or too many threads."));
    }
    if let Some(share) = parameters.holds_known_share.filter(|share| *share < 0.99) {
        let share = percent(1.0 - share);
        sentences.push(format!("Preemptions are not known for {share} of the holds that were long enough for one."));
    }
    if !parameters.sees_competitors {
        sentences.push("Threads of other programs are named with root or CAP_PERFMON only.".to_owned());
    }
    if parameters.attached_pid.is_some() || parameters.holds_known_share.is_none() && parameters.waited_s > 0.0 {
        sentences.push(
            "Holds were not timed: counted are preemptions while another thread waited, at the call site that released \
             the lock."
                .to_owned(),
        );
    }
    sentences
}

const LOCKS: [&str; 8] =
    ["lock", "acquired at", "times/s", "of waiting", "kept", "CPU time left", "within 5/50 µs", "ran instead"];

fn line(row: &Row) -> Vec<String> {
    let share = |share: Option<f64>| optional(share, Unit::Share);
    vec![
        row.lock.clone(),
        row.site.clone(),
        row.times_per_s.map_or_else(|| "–".into(), per_s),
        share(row.waited_share),
        Unit::Ns.words(row.kept_s * 1e9),
        optional(row.left_p50_ns, Unit::Ns),
        format!("{} / {}", share(row.covered_by_5us), share(row.covered_by_50us)),
        competitors(row),
    ]
}

fn competitors(row: &Row) -> String {
    let one = |runner: &crate::trace::record::Runner| format!("{} {}", runner.name, percent(runner.share));
    row.by.iter().take(MOST_COMPETITORS).map(one).collect::<Vec<String>>().join(", ")
}

const REMEDIES: [&str; 5] = ["remedy", "times/s (97 %)", "of waiting (97 %)", "run time (97 %)", ""];

fn remedy(row: &Row) -> Vec<String> {
    let with =
        |value: Option<f64>, ends, unit: Unit| value.map_or_else(|| "–".into(), |value| unit.words_with(value, ends));
    vec![
        row.remedy.clone().unwrap_or_default(),
        with(row.times_per_s, row.times_per_s_ci, Unit::PerS),
        with(row.waited_share, row.waited_share_ci, Unit::Share),
        with(row.run_s.map(|s| s * 1e9), row.run_ci_s.map(|ends| ends.scaled(1e9)), Unit::Ns),
        row.not_measured.clone().unwrap_or_default(),
    ]
}

/// Returns the tables of the HTML report.
pub fn tables(rows: &[Row]) -> Vec<Table> {
    let of = |kind: RowKind| rows.iter().filter(move |row| row.kind == kind);
    let table = |caption: &str, header: &[&'static str], rows: Vec<Vec<String>>| Table {
        caption: caption.into(),
        header: header.to_vec(),
        rows,
    };
    let all = [
        table("Preempted holders by lock and call site", &LOCKS, of(RowKind::Preempted).map(line).collect()),
        table("Remedies", &REMEDIES, of(RowKind::Remedy).map(remedy).collect()),
    ];
    all.into_iter().filter(|table| !table.rows.is_empty()).collect()
}
