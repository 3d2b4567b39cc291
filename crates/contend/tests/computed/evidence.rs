//! The diagnosis of saved evidence: the answers for the corpus, the same bytes each time, and relations between answers: evidence that
//! is changed in a way that takes something away has a weaker answer, and never another one.

use crate::command::contend;
use crate::corpus::{
    self, ATTACHED, Answer, COMPUTING, FREE, LAUNCHED, SLEEPING, UNCLEAR, contrary_to, text, wrong_in, wrong_verdict,
};
use experiments::SavedTrace;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Reads the evidence in a file of the corpus.
fn evidence(file: &Path) -> Value {
    let file = File::open(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_reader(GzDecoder::new(file)).unwrap()
}

/// Diagnoses evidence; an error where it is refused.
fn diagnosed(evidence: &Value) -> anyhow::Result<Value> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    serde_json::to_writer(&mut encoder, evidence).unwrap();
    Ok(serde_json::to_value(SavedTrace::of(&*encoder.finish().unwrap())?.record()?).unwrap())
}

fn launched() -> impl Iterator<Item = &'static Answer> {
    SLEEPING.iter().chain(&COMPUTING)
}

#[test]
fn saved_traces_of_known_problems_have_their_answers() {
    for answer in launched() {
        let record = diagnosed(&evidence(&corpus::file(LAUNCHED, answer.patient))).unwrap();
        assert_eq!(wrong_in(&record, answer), None);
    }
    for free in FREE.iter().chain(&UNCLEAR) {
        let record = diagnosed(&evidence(&corpus::file(LAUNCHED, free.patient))).unwrap();
        assert_eq!(wrong_verdict(&record, free), None);
    }
}

#[test]
fn saved_traces_of_attached_programs_have_no_contrary_answer() {
    for answer in corpus::attached() {
        let record = diagnosed(&evidence(&corpus::file(ATTACHED, answer.patient))).unwrap();
        assert_eq!(contrary_to(&record, answer), None);
    }
}

#[test]
fn same_evidence_has_the_same_output_in_each_form() {
    for answer in launched() {
        let file = corpus::file(LAUNCHED, answer.patient);
        let file = file.to_str().unwrap();
        for format in ["text", "json"] {
            let [one, other] = [(); 2].map(|()| contend(&["explain", file, "--format", format]));
            assert!(one.status.success() && !one.stdout.is_empty(), "{file}: {one:?}");
            assert_eq!(one.stdout, other.stdout, "{file}");
        }
    }
}

/// A change of evidence after which the answer may be weaker.
type Change = fn(&mut Value);

const CHANGES: [(&str, Change); 7] = [
    ("functions of the program have other names", rename),
    ("functions of the program have names of locks and queues", rename_to_hints),
    ("the program is stripped", strip),
    ("the threads are in another order", reverse_threads),
    ("half of what holders did is unknown", forget_holders),
    ("other programs use all CPUs", add_neighbour),
    ("the run takes twice as long", lengthen),
];

#[test]
fn changed_evidence_has_no_contrary_answer() {
    let all = launched().map(|answer| (LAUNCHED, answer)).chain(corpus::attached().map(|answer| (ATTACHED, answer)));
    let mut contrary = Vec::new();
    for (how, answer) in all {
        let before = evidence(&corpus::file(how, answer.patient));
        for (name, change) in CHANGES {
            let mut after = before.clone();
            change(&mut after);
            let wrong = contrary_to(&diagnosed(&after).unwrap(), answer);
            contrary.extend(wrong.map(|wrong| format!("{how}, {name}: {wrong}")));
        }
    }
    assert!(contrary.is_empty(), "{}: {}", contrary.len(), contrary.join("\n"));
}

/// Without a problem there is none after a change, either.
#[test]
fn changed_evidence_of_healthy_programs_is_not_about_locks() {
    for free in &FREE {
        let before = evidence(&corpus::file(LAUNCHED, free.patient));
        for (name, change) in CHANGES {
            let mut after = before.clone();
            change(&mut after);
            let record = diagnosed(&after).unwrap();
            let verdict = text(&record["parameters"], "verdict");
            assert!(matches!(verdict, "not_locks" | "undecided"), "{}, {name}: {}", free.patient, record["parameters"]);
        }
    }
}

/// Returns the functions that are in no library's file.
fn own_functions(evidence: &mut Value) -> impl Iterator<Item = &mut Value> {
    let functions = evidence["observed"]["evidence"]["paths"]["functions"].as_array_mut().unwrap();
    functions.iter_mut().filter(|function| {
        let file = function["file"].as_str().unwrap();
        !file.contains(".so") && !function["is_python"].as_bool().unwrap()
    })
}

/// Gives the program's functions other sites: in the call paths, and in the rows, which name functions in words. `site` makes that of
/// a symbol with a number; its label takes the place of the symbol in words.
fn renamed(evidence: &mut Value, site: impl Fn(usize, &Value) -> Value) {
    let symbols = own_functions(evidence).filter_map(|function| function["site"]["symbol"].as_str().map(str::to_owned));
    let mut symbols: Vec<String> = symbols.filter(|symbol| !symbol.contains("+0x") && symbol != "main").collect();
    symbols.sort_unstable();
    symbols.dedup();
    let number = |symbol: &str| symbols.iter().position(|known| known == symbol);
    for function in own_functions(evidence) {
        let old = function["site"].clone();
        if let Some(number) = old["symbol"].as_str().and_then(number) {
            function["site"] = site(number, &old);
        }
    }
    let words: Vec<(&str, String)> = symbols
        .iter()
        .enumerate()
        .map(|(number, symbol)| {
            let old = serde_json::json!({ "symbol": symbol, "source": null, "label": symbol });
            (&**symbol, site(number, &old)["label"].as_str().unwrap().to_owned())
        })
        .collect();
    let evidence = &mut evidence["observed"]["evidence"];
    for field in ["rows", "library", "words"] {
        replace_words(&mut evidence[field], &words);
    }
}

/// Replaces words in all texts.
fn replace_words(value: &mut Value, words: &[(&str, String)]) {
    match value {
        Value::String(text) => {
            let is_letter =
                |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
            for (word, new) in words {
                let mut from = 0;
                while let Some(at) = text[from..].find(word).map(|at| at + from) {
                    let end = at + word.len();
                    let is_word = !is_letter(text[..at].chars().next_back()) && !is_letter(text[end..].chars().next());
                    from = if is_word { at + new.len() } else { end };
                    if is_word {
                        text.replace_range(at..end, new);
                    }
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| replace_words(value, words)),
        Value::Object(fields) => fields.values_mut().for_each(|value| replace_words(value, words)),
        _ => {}
    }
}

/// Returns a site with another symbol.
fn with_symbol(old: &Value, name: &str) -> Value {
    let label = old["label"].as_str().unwrap().replacen(old["symbol"].as_str().unwrap(), name, 1);
    serde_json::json!({ "symbol": name, "source": old["source"], "label": label })
}

fn rename(evidence: &mut Value) {
    renamed(evidence, |number, old| with_symbol(old, &format!("f{number}")));
}

fn rename_to_hints(evidence: &mut Value) {
    const HINTS: [&str; 4] = ["acquire_job", "my_lock", "wait_for_work", "queue_pop"];
    renamed(evidence, |number, old| with_symbol(old, &format!("{}{number}", HINTS[number % HINTS.len()])));
}

fn strip(evidence: &mut Value) {
    renamed(evidence, |number, _| {
        let label = format!("a.out+{:#x}", 0x1000 + 16 * number);
        serde_json::json!({ "symbol": label, "source": null, "label": label })
    });
}

fn lives(evidence: &mut Value) -> &mut Vec<Value> {
    evidence["observed"]["evidence"]["samples"]["lives"].as_array_mut().unwrap()
}

fn waited(evidence: &mut Value) -> impl Iterator<Item = &mut Value> {
    evidence["observed"]["evidence"]["samples"]["waited"].as_array_mut().unwrap().iter_mut().map(|pair| &mut pair[1])
}

fn reverse_threads(evidence: &mut Value) {
    lives(evidence).reverse();
}

fn halve(value: &mut Value) -> f64 {
    let half = value.as_f64().unwrap() / 2.0;
    *value = half.into();
    half
}

fn forget_holders(evidence: &mut Value) {
    for waited in waited(evidence) {
        let holders = waited["holders"].as_array_mut().unwrap();
        let unknown_s: f64 = holders.iter_mut().map(|pair| halve(&mut pair[1])).sum();
        holders.retain(|pair| pair[0] != "Unknown");
        holders.push(serde_json::json!(["Unknown", unknown_s]));
    }
}

/// Threads that ran were without a CPU for half of that time.
fn add_neighbour(evidence: &mut Value) {
    for life in lives(evidence) {
        let [ran, ready] = [0, 1].map(|sum| life["sums"][sum].as_u64().unwrap());
        let half = (ran - life["before"][0].as_u64().unwrap()) / 2;
        life["sums"] = serde_json::json!([ran - half, ready + half]);
    }
    for waited in waited(evidence) {
        let holders = waited["holders"].as_array_mut().unwrap();
        if let Some(running) = holders.iter_mut().find(|pair| pair[0] == "Running") {
            let ready_s = halve(&mut running[1]);
            // Who has a lower priority than the waiters has one than the others, too.
            let is_ready = |pair: &&mut Value| pair[0] == "Ready" || pair[0].get("Outranked").is_some();
            match holders.iter_mut().rev().find(is_ready) {
                Some(ready) => ready[1] = (ready[1].as_f64().unwrap() + ready_s).into(),
                None => holders.push(serde_json::json!(["Ready", ready_s])),
            }
        }
    }
    let of_all = &mut evidence["observed"]["evidence"];
    of_all["busy_cpus_s"] = (of_all["cpus"].as_f64().unwrap() * of_all["elapsed_s"].as_f64().unwrap()).into();
}

/// Doubles all times, here or below.
fn double(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                match value {
                    Value::Number(number) if name.ends_with("_s") || name == "seconds" => {
                        *value = (2.0 * number.as_f64().unwrap()).into();
                    }
                    value => double(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(double),
        _ => {}
    }
}

fn lengthen(evidence: &mut Value) {
    double(&mut evidence["observed"]["evidence"]);
    let double = |value: &mut Value| *value = (2.0 * value.as_f64().unwrap()).into();
    for waited in waited(evidence) {
        for field in ["holders", "paths", "other_processes", "after_condition"] {
            match &mut waited[field] {
                Value::Array(pairs) => pairs.iter_mut().for_each(|pair| double(&mut pair[1])),
                Value::Object(fields) => fields.values_mut().for_each(double),
                _ => {}
            }
        }
    }
    for life in lives(evidence) {
        for pair in life["waits"].as_array_mut().unwrap() {
            double(&mut pair[1]);
        }
        for sums in ["sums", "before"] {
            let doubled: Vec<u64> =
                life[sums].as_array().unwrap().iter().map(|sum| 2 * sum.as_u64().unwrap()).collect();
            life[sums] = doubled.into();
        }
    }
}

/// Forged evidence is an error or has an answer, and nothing else.
#[test]
fn mutated_evidence_is_refused_or_explained() {
    const MUTANTS: u64 = 400;
    let before = ["herd", "sleeps", "pool"].map(|patient| evidence(&corpus::file(LAUNCHED, patient)));
    let (mut refused, mut explained) = (0, 0);
    for seed in 0..MUTANTS {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut after = before[seed as usize % before.len()].clone();
        for _ in 0..random.usize(1..6) {
            mutate(&mut after["observed"], &mut random);
        }
        match diagnosed(&after) {
            Ok(_) => explained += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 0 && explained > MUTANTS / 10, "{refused} refused, {explained} explained");
}

/// Changes a value somewhere below.
fn mutate(value: &mut Value, random: &mut fastrand::Rng) {
    const NUMBERS: [i64; 5] = [0, -1, 1, i64::MAX, 1 << 33];
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let place = random.usize(..fields.len());
            mutate(fields.values_mut().nth(place).unwrap(), random);
        }
        Value::Array(values) if !values.is_empty() => match random.usize(..8) {
            0 => values.truncate(values.len() / 2),
            1 => values.extend_from_within(..),
            _ => {
                let place = random.usize(..values.len());
                mutate(&mut values[place], random);
            }
        },
        Value::Number(_) if random.bool() => *value = (random.f64() * 1e18).into(),
        Value::Number(_) => *value = NUMBERS[random.usize(..NUMBERS.len())].into(),
        Value::String(text) => *text = text.chars().rev().chain("\u{1b}[31m".chars()).collect(),
        Value::Bool(is) => *is = !*is,
        _ => *value = Value::Null,
    }
}

#[test]
fn other_files_are_errors_that_name_what_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.gz");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    std::io::copy(&mut std::io::repeat(b' ').take(300 << 20), &mut encoder).unwrap();
    let too_long = encoder.finish().unwrap();
    for content in [&b""[..], b"{}", b"\x1f\x8b\x08", &too_long] {
        std::fs::write(&file, content).unwrap();
        let output = contend(&["explain", file.to_str().unwrap()]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("contend trace --save"), "{stderr}");
    }
}
