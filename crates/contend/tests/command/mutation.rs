//! Records as an attacker would change them: at some place in their structure, to something that is not
//! expected there.

use fastrand::Rng;
use serde_json::{Map, Value, json};

/// Characters that a terminal or a reader takes for something else.
const HOSTILE: &[&str] = &[
    "\u{1b}[2J\u{1b}]0;evil\u{7}",
    "\u{202e}evil\u{2066}",
    "\u{9b}31m\u{7f}\r\u{8}",
    "a\nb\tc\u{0}d",
    "<script>alert(1)</script>&amp;\"'",
    "=1+1,\"x\"\n",
    "",
    "--evil",
    "../../etc/passwd",
];

/// Returns a changed copy.
pub fn mutated(value: &Value, rng: &mut Rng) -> Value {
    let mut mutant = value.clone();
    for _ in 0..rng.usize(1..=4) {
        let places = places(&mutant);
        let path = &places[rng.usize(..places.len())];
        if let Some(place) = mutant.pointer_mut(path) {
            change(place, rng);
        }
    }
    mutant
}

/// Returns the text of a changed copy, or a copy whose text was changed.
pub fn mutated_text(value: &Value, rng: &mut Rng) -> Vec<u8> {
    let mut bytes = mutated(value, rng).to_string().into_bytes();
    match rng.u8(..16) {
        0 => bytes.truncate(rng.usize(..bytes.len())),
        1 => (0..4).for_each(|_| {
            let place = rng.usize(..bytes.len());
            bytes[place] = rng.u8(..);
        }),
        2 => {
            let from = rng.usize(..bytes.len());
            let copy = bytes[from..].to_vec();
            bytes.extend(copy);
        }
        _ => {}
    }
    bytes
}

/// Returns the places of its values, as JSON pointers.
fn places(value: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut add = |name: &str, inner: &Value| {
        let name = name.replace('~', "~0").replace('/', "~1");
        found.extend(places(inner).into_iter().map(|path| format!("/{name}{path}")));
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, inner)| add(name, inner)),
        Value::Array(list) => list.iter().enumerate().for_each(|(place, inner)| add(&place.to_string(), inner)),
        _ => {}
    }
    found
}

fn change(place: &mut Value, rng: &mut Rng) {
    match (place, rng.u8(..4)) {
        (Value::Array(list), 0..3) if !list.is_empty() => change_list(list, rng),
        (Value::Object(fields), 0..3) if !fields.is_empty() => change_fields(fields, rng),
        (Value::Number(number), 0..3) => {
            let (factor, before) = (rng.choice(FACTORS).unwrap(), number.as_f64().unwrap_or(1.0));
            *number = rng
                .choice(numbers())
                .filter(|_| rng.bool())
                .unwrap_or_else(|| serde_json::Number::from_f64(before * factor).unwrap_or_else(|| 0.into()));
        }
        (Value::String(text), 0..3) => {
            let hostile = rng.choice(HOSTILE).unwrap();
            *text = if rng.bool() { format!("{text}{hostile}") } else { hostile.repeat(rng.usize(1..200)) };
        }
        (place, _) => *place = anything(rng),
    }
}

const FACTORS: &[f64] = &[0.0, -1.0, 0.5, 1e6, 1e-6, 1e15, 1e300];

fn numbers() -> Vec<serde_json::Number> {
    let reals = [0.0, -0.0, -1.0, 1e300, -1e300, 5e-324, 1e-300, 0.5, 1.797e308].map(serde_json::Number::from_f64);
    let whole = [0.into(), 1.into(), u64::MAX.into(), i64::MIN.into(), u32::MAX.into(), (1_u64 << 53).into()];
    reals.into_iter().flatten().chain(whole).collect()
}

fn change_list(list: &mut Vec<Value>, rng: &mut Rng) {
    let place = rng.usize(..list.len());
    match rng.u8(..5) {
        0 => drop(list.remove(place)),
        1 => {
            let copy = list[place].clone();
            list.extend(std::iter::repeat_n(copy, rng.usize(1..60)));
        }
        2 => rng.shuffle(list),
        3 => list.clear(),
        _ => list[place] = anything(rng),
    }
}

fn change_fields(fields: &mut Map<String, Value>, rng: &mut Rng) {
    let names: Vec<String> = fields.keys().cloned().collect();
    let (one, other) = (rng.choice(&names).unwrap(), rng.choice(&names).unwrap());
    match rng.u8(..5) {
        0 => drop(fields.remove(one)),
        1 => drop(fields.insert((*rng.choice(HOSTILE).unwrap()).to_owned(), anything(rng))),
        2 => {
            let (first, second) = (fields[one].clone(), fields[other].clone());
            fields.insert(one.clone(), second);
            fields.insert(other.clone(), first);
        }
        3 => drop(fields.insert(one.clone(), Value::Null)),
        _ => drop(fields.insert(one.clone(), anything(rng))),
    }
}

fn anything(rng: &mut Rng) -> Value {
    match rng.u8(..9) {
        0 => Value::Null,
        1 => json!(rng.bool()),
        2 | 3 => Value::Number(rng.choice(numbers()).unwrap()),
        4 | 5 => json!(rng.choice(HOSTILE)),
        6 => json!([]),
        7 => json!({}),
        _ => (0..rng.usize(1..100)).fold(json!(0), |inner, _| json!([inner])),
    }
}
