//! `contend serve`, as whoever asks it meets it.

use crate::command::http::{answer, ask, connect, get, post, raw, until};
use crate::command::{self, Place, Server, record, record_of, refused, waited_for, whole};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

fn token_in(place: &Place, mode: u32) -> String {
    let file = place.beside("token");
    fs::write(&file, "0123456789abcdef0123456789abcdef\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn records_are_listed_and_given_byte_for_byte() {
    let place = Place::with(3);
    let server = Server::start(&place.archive, &[]);
    let list = get(server.address, "/records").json();
    let ids: Vec<&str> = list.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
    assert_eq!(ids, place.ids());
    for id in ids {
        let path = format!("/records/{id}");
        let given = get(server.address, &path);
        assert_eq!((given.status, given.body), (200, place.open().record(id).unwrap()));
        let rest = ask(server.address, "GET", &path, &["range: bytes=100-"], b"");
        assert_eq!((rest.status, &rest.body[..]), (206, &place.open().record(id).unwrap()[100..]));
    }
    assert_eq!(get(server.address, &format!("/records/{}", "0".repeat(40))).status, 404);
}

#[test]
fn a_token_is_asked_for_where_one_was_given() {
    let place = Place::with(1);
    let token = token_in(&place, 0o600);
    let server = Server::start(&place.archive, &["--token-file", &token]);
    let asked = |headers: &[&str]| ask(server.address, "GET", "/records", headers, b"").status;
    assert_eq!(asked(&["authorization: Bearer 0123456789abcdef0123456789abcdef"]), 200);
    for wrong in [
        "x: y",
        "authorization: Bearer 0123456789abcdef0123456789abcdeF",
        "authorization: Bearer 0123456789abcdef0123456789abcde",
        "authorization: Bearer ",
        "authorization: Basic 0123456789abcdef0123456789abcdef",
        "authorization:",
    ] {
        assert_eq!(asked(&[wrong]), 401, "{wrong}");
    }
    // Nothing at all is told to whoever has none.
    assert_eq!(get(server.address, "/nothing").status, 401);
}

#[test]
fn a_token_that_others_may_read_is_refused_and_one_that_is_not_there_is_made() {
    let place = Place::new();
    let open = token_in(&place, 0o640);
    assert!(refused(&place.archive, &["--token-file", &open], 1).contains("chmod 600"));
    let new = place.beside("new");
    let server = Server::start(&place.archive, &["--token-file", new.to_str().unwrap()]);
    let made = fs::read_to_string(&new).unwrap();
    assert_eq!(new.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let header = format!("authorization: Bearer {}", made.trim());
    assert_eq!(ask(server.address, "GET", "/records", &[&header], b"").status, 200);
}

#[test]
fn other_machines_are_answered_only_with_a_secret() {
    let place = Place::new();
    let said = refused(&place.archive, &["--listen", "0.0.0.0:0"], 2);
    assert!(said.contains("--token-file") && said.contains("--client-ca"), "{said}");
}

#[test]
fn what_cannot_be_is_said_before_it_listens() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert!(refused(&place.archive, &["--listen", &address], 1).contains("another program listens there"));
    assert!(refused(&place.archive, &["--listen", "nowhere"], 2).contains("--listen nowhere"));
    assert!(refused(&place.archive, &["--run", "rm -rf"], 2).contains("--run \"rm -rf\""));
    assert!(refused(&place.archive, &["--every", "5s"], 2).contains("--run"));
    assert!(refused(place.folder.path(), &[], 1).contains("not an archive of contend"));
}

/// A page of somebody else's that a browser here shows can ask for anything at this address.
#[test]
fn a_foreign_host_is_not_answered_without_a_token() {
    let place = Place::with(1);
    let server = Server::start(&place.archive, &["--accept"]);
    let asked = |headers: &[&str]| ask(server.address, "GET", "/records", headers, b"").status;
    for own in ["localhost", "127.0.0.1:80", "[::1]:1", "localhost:8418"] {
        assert_eq!(asked(&[&format!("host: {own}")]), 200, "{own}");
    }
    for foreign in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "[::2]", ""] {
        assert_eq!(asked(&[&format!("host: {foreign}")]), 421, "{foreign}");
    }
    assert_eq!(asked(&["origin: http://evil.example"]), 421);
    assert_eq!(asked(&["origin: null"]), 421);
    // What a form can send is no JSON.
    let form = ask(server.address, "POST", "/records", &["content-type: text/plain"], b"{}");
    assert_eq!(form.status, 415);
}

#[test]
fn nothing_is_taken_without_accept_and_nothing_started_without_run() {
    let place = Place::with(1);
    let server = Server::start(&place.archive, &[]);
    let sent = serde_json::to_vec(&whole(77)).unwrap();
    assert_eq!(post(server.address, "/records", &sent).status, 403);
    assert_eq!(post(server.address, "/live", br#"{"run":"clock"}"#).status, 403);
    assert_eq!(place.ids().len(), 1);
}

#[test]
fn a_pushed_record_is_kept_as_it_is_and_once() {
    let place = Place::with(1);
    let server = Server::start(&place.archive, &["--accept"]);
    let sent = whole(77);
    let bytes = serde_json::to_vec(&sent).unwrap();
    let first = post(server.address, "/records", &bytes);
    assert_eq!((first.status, first.json()), (201, json!({ "id": sent.id, "kept": true })));
    assert_eq!(post(server.address, "/records", &bytes).status, 200);
    assert_eq!(place.open().record(&sent.id).unwrap(), sent.record.as_bytes());
    assert_eq!(place.verify(), 2);
}

/// Each differs from a record that would be taken in one thing.
#[test]
fn what_is_not_what_its_name_says_is_not_kept() {
    let place = Place::with(1);
    let server = Server::start(&place.archive, &["--accept"]);
    let good = serde_json::to_value(whole(77)).unwrap();
    let changed = |field: &str, value: String| {
        let mut sent = good.clone();
        sent[field] = json!(value);
        sent
    };
    let text = |field: &str| good[field].as_str().unwrap().to_owned();
    let mut wrong = vec![
        changed("record", text("record").replacen("0.", "1.", 1)),
        changed("record", text("record") + " "),
        changed("manifest", text("manifest") + "\n"),
        changed("commit", text("commit").replacen("noise", "noisy", 1)),
        changed("commit", String::new()),
        changed("commit", "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\nx\n\n{}\n".into()),
        changed("id", "0".repeat(40)),
        changed("id", "../../etc/passwd".into()),
        changed("id", format!("{}\n", text("id"))),
        json!({ "id": text("id") }),
        json!([]),
    ];
    wrong.push({
        let mut more = good.clone();
        more["more"] = json!(1);
        more
    });
    for sent in &wrong {
        let answer = post(server.address, "/records", sent.to_string().as_bytes());
        assert_eq!(answer.status, 422, "{}", answer.text());
        assert!(answer.json()["error"].is_string());
    }
    for bytes in [&b""[..], b"garbage", b"{\"id\":", &[0xff; 100]] {
        assert_eq!(post(server.address, "/records", bytes).status, 422);
    }
    assert_eq!(place.verify(), 1);
    // It is none of the server's failures: the good one is still taken.
    assert_eq!(post(server.address, "/records", good.to_string().as_bytes()).status, 201);
}

/// One whose commit and hashes are right, and which is no record of what it says.
#[test]
fn a_record_that_its_readers_could_not_read_is_not_kept() {
    let (place, other) = (Place::with(1), Place::new());
    let mut lies = record(5);
    lies["environment"]["seed"] = json!(6);
    let honest = command::keep(&other.open(), &lies);
    let commit = other.open().whole(&honest).unwrap();
    let server = Server::start(&place.archive, &["--accept"]);
    // The summary of one run beside the record of another, all hashes right.
    let archive = other.open();
    let build = archive::Build { revision: None, compiler: None, profile: None, target: None };
    let manifest = archive::Manifest::of_this_run(build, |_| None);
    let typed: record::Record<Value, Value> = serde_json::from_value(record(1)).unwrap();
    let summary = archive::Summary::of(&typed, &manifest, 1);
    for content in [lies.to_string(), "{}".into(), "no JSON".into(), "[".repeat(300_000)] {
        let Ok(id) = archive.append(content.as_bytes(), &manifest, &summary) else { continue };
        let sent = serde_json::to_vec(&archive.whole(&id).unwrap()).unwrap();
        assert_eq!(post(server.address, "/records", &sent).status, 422, "{}", &content[..content.len().min(40)]);
    }
    assert_eq!(place.verify(), 1);
    assert_eq!(post(server.address, "/records", &serde_json::to_vec(&commit).unwrap()).status, 201);
}

#[test]
fn what_is_too_large_or_ends_in_its_midst_is_refused() {
    let place = Place::new();
    let server = Server::start(&place.archive, &["--accept"]);
    let head = |length: usize| {
        format!(
            "POST /records HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    let large = raw(server.address, head(1 << 40).as_bytes());
    assert_eq!(answer(&large).unwrap().status, 413);
    // Of a wrong length.
    let short = raw(server.address, (head(100) + "{}").as_bytes());
    assert!(answer(&short).is_none_or(|answer| answer.status == 400), "{}", String::from_utf8_lossy(&short));
    let headers = format!("x: {}", "y".repeat(20_000));
    assert_eq!(ask(server.address, "GET", "/records", &[&headers], b"").status, 431);
    assert_eq!(place.verify(), 0);
}

/// In each, the path leads to the archive's folder, or beside it, for somebody who unfolds it.
#[test]
fn no_spelling_of_a_path_leads_out() {
    let place = Place::with(1);
    let secret = place.beside("secret");
    fs::write(&secret, "the secret").unwrap();
    let server = Server::start(&place.archive, &[]);
    let mut random = fastrand::Rng::with_seed(4);
    let ups = ["..", "%2e%2e", ".%2e", "%2E.", "..%00", "%c0%ae%c0%ae", "....", "..;", "%252e%252e", ". .", "．．"];
    let slashes = ["/", "//", "%2f", "%5c", "\\", "/./", "%252f", "/;/"];
    let ends =
        ["secret", "archive.git/config", "archive.git/HEAD", "etc/passwd", "config", "secret%00", "secret?", "secret#"];
    let starts =
        ["/records", "/records/", "", "/", "/metrics", &format!("/records/{}", "0".repeat(40)), "//", "file://"];
    let absolute = place.folder.path().to_str().unwrap();
    for _ in 0..1_000 {
        let mut path = starts[random.usize(..starts.len())].to_owned();
        if random.u8(..10) == 0 {
            path += absolute;
        }
        for _ in 0..random.usize(1..8) {
            path += slashes[random.usize(..slashes.len())];
            path += ups[random.usize(..ups.len())];
        }
        path += slashes[random.usize(..slashes.len())];
        path += ends[random.usize(..ends.len())];
        let path: String = path.chars().map(|letter| if letter == ' ' { '+' } else { letter }).collect();
        let said = raw(
            server.address,
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").as_bytes(),
        );
        // What is behind a question mark or a hash is no part of the path.
        let status = answer(&said).map(|answer| answer.status);
        assert!(status.is_none_or(|status| matches!(status, 400 | 404 | 421)), "{path}: {status:?}");
        let text = String::from_utf8_lossy(&said);
        assert!(!text.contains("the secret") && !text.contains("[core]") && !text.contains("root:"), "{path}: {text}");
    }
}

#[test]
fn a_signal_lets_what_was_begun_be_finished() {
    let place = Place::with(1);
    let server = Server::start(&place.archive, &["--accept"]);
    let address = server.address;
    let sent = serde_json::to_vec(&whole(77)).unwrap();
    let mut stream = connect(address);
    let head = format!(
        "POST /records HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        sent.len()
    );
    stream.write_all(&[head.as_bytes(), &sent[..100]].concat()).unwrap();
    // It is being answered when the list has been.
    assert_eq!(get(address, "/records").status, 200);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let ending = std::thread::spawn(move || server.end());
    waited_for(|| std::net::TcpStream::connect(address).err());
    stream.write_all(&sent[100..]).unwrap();
    let answered = answer(&command::rest(&mut stream)).unwrap();
    assert_eq!(answered.status, 201, "{}", answered.text());
    assert_eq!(ending.join().unwrap(), Some(0));
    assert_eq!(place.verify(), 2);
}

#[test]
fn what_runs_is_heard_as_it_runs_and_its_record_is_kept() {
    let contend = std::path::Path::new(env!("CARGO_BIN_EXE_contend-serve")).with_file_name("contend");
    if !contend.exists() {
        return println!("skipped: needs contend beside contend-serve");
    }
    let place = Place::new();
    let call = "model frames --frame 1ms --quantum 1ms";
    let server = Server::start(&place.archive, &["--run", call]);
    let mut stream = connect(server.address);
    stream.write_all(b"GET /live HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    assert!(until(&mut stream, "event: idle").contains("200 OK"));
    let started = post(server.address, "/live", format!("{{\"run\":\"{call}\"}}").as_bytes());
    assert_eq!(started.status, 202, "{}", started.text());
    let said = until(&mut stream, "\"status\":0");
    assert!(said.contains("event: started") && said.contains("event: line"), "{said}");
    let id = place.ids().pop().expect("its record is kept");
    assert!(said.contains(&id) && said.contains("\"status\":0"), "{said}");
    assert_eq!(post(server.address, "/live", br#"{"run":"clock"}"#).status, 403);
    let page = get(server.address, &format!("/records/{id}/page"));
    assert_eq!(page.status, 200, "{}", page.text());
    assert!(page.text().contains("model frames") && page.header("content-security-policy").is_some());
}

/// Every figure that is scraped is one of the record's.
#[test]
fn metrics_have_the_figures_of_the_records() {
    let place = Place::new();
    let archive = place.open();
    let noise = record_of("noise", 1);
    for experiment in ["noise", "load", "trace", "latency"] {
        command::keep(&archive, &record_of(experiment, 1));
    }
    let server = Server::start(&place.archive, &[]);
    let open = ask(server.address, "GET", "/metrics", &["accept: application/openmetrics-text"], b"").text();
    assert!(open.ends_with("# EOF\n"), "{open}");
    let classic = get(server.address, "/metrics").text();
    assert!(!classic.contains("# EOF") && classic.contains("# TYPE contend_serve_answers_total counter"), "{classic}");
    let value = |text: &str, start: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start} in {text}"));
        line.rsplit_once(' ').unwrap().1.parse().unwrap()
    };
    let row = &noise["results"][0];
    for text in [&open, &classic] {
        let labels = format!("{{host=\"one\",cpu=\"{}\",scenario=\"quiet\"}}", row["cpu"]);
        let gaps = value(text, &format!("contend_gap_seconds_count{labels}"));
        assert_eq!(gaps as u64, row["gaps"].as_u64().unwrap());
        let lost: f64 = text
            .lines()
            .filter(|line| line.starts_with("contend_lost_ratio{") && line.contains("scenario=\"quiet\""))
            .map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap())
            .sum();
        assert!((lost - row["lost_share"].as_f64().unwrap()).abs() < 1e-9, "{lost}");
        assert_eq!(value(text, "contend_records "), 4.0);
    }
    for name in [
        "contend_load_ratio",
        "contend_lock_wait_seconds_bucket",
        "contend_figure_seconds",
        "contend_run_start_seconds",
    ] {
        assert!(open.contains(name), "{name}");
    }
}

/// The neighbour on each core, of whichever experiment looked for it.
#[test]
fn metrics_have_who_else_was_on_the_cores() {
    let place = Place::new();
    let archive = place.open();
    let (mut core, mut noise) = (record_of("core", 1), record_of("noise", 1));
    noise["results"][0]["core_shared_share"] = json!(0.25);
    noise["results"][0]["width_lost_share"] = json!(0.125);
    core["results"][0]["shared_share"] = json!(0.375);
    core["results"][0]["costs"][0] =
        json!({ "kind": "width", "alone_ns": 2.0, "shared_ns": 3.5, "ratio": 1.75, "ratio_ci": null });
    let cpu = core["results"][0]["cpu"].clone();
    // What nobody could tell is no figure.
    core["results"][1]["shared_share"] = Value::Null;
    for record in [&core, &noise] {
        command::keep(&archive, record);
    }
    let text = get(Server::start(&place.archive, &[]).address, "/metrics").text();
    let labels = |cpu: &Value, of: &str| format!("{{host=\"one\",cpu=\"{cpu}\",{of}}}");
    let (of_core, of_noise) = ("experiment=\"core\",scenario=\"\"", "experiment=\"noise\",scenario=\"quiet\"");
    let noise_cpu = &noise["results"][0]["cpu"];
    for line in [
        format!("contend_core_shared_ratio{} 0.375", labels(&cpu, of_core)),
        format!("contend_core_cost_ratio{} 1.75", labels(&cpu, "code=\"width\"")),
        format!("contend_core_shared_ratio{} 0.25", labels(noise_cpu, of_noise)),
        format!("contend_core_width_lost_ratio{} 0.125", labels(noise_cpu, of_noise)),
    ] {
        assert!(text.lines().any(|one| one == line), "no {line} in {text}");
    }
    let of_cores = text.lines().filter(|line| line.starts_with("contend_core_shared_ratio") && line.contains(of_core));
    assert_eq!(of_cores.count(), 1);
}

/// Every name that the dashboard and the rules ask for is one that is given, and is asked for with labels that it has.
#[test]
fn the_dashboard_and_the_rules_ask_for_what_there_is() {
    let place = Place::new();
    let archive = place.open();
    for experiment in ["noise", "load", "trace", "core"] {
        command::keep(&archive, &record_of(experiment, 1));
    }
    let mut wakes = record(2);
    wakes["results"] = json!([{ "scenario": "wake", "cpu": 0, "policy": "other", "timer": "clock_nanosleep",
        "histogram": [{ "from_ns": 900.0, "to_ns": 1000.0, "count": 2 }] }]);
    command::keep(&archive, &wakes);
    let server = Server::start(&place.archive, &[]);
    let mut given = get(server.address, "/metrics").text();
    // The last run of noise is that of the wakes; what its gaps look like is known from the run before.
    drop(server);
    let before = Place::new();
    command::keep(&before.open(), &record_of("noise", 1));
    given += &get(Server::start(&before.archive, &[]).address, "/metrics").text();
    let contrib = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib");
    let mut asked = 0;
    for file in ["grafana/contend.json", "prometheus/alerts.yml"] {
        let text = fs::read_to_string(contrib.join(file)).unwrap().replace("\\\"", "\"");
        for (place, _) in text.match_indices("contend_") {
            let rest = &text[place..];
            let name = &rest[..rest.find(|letter: char| letter != '_' && !letter.is_ascii_alphanumeric()).unwrap()];
            let line = given
                .lines()
                .find(|line| line.starts_with(&format!("{name}{{")) || line.starts_with(&format!("{name} ")));
            let line = line.unwrap_or_else(|| panic!("{file} asks for {name}, which nothing gives"));
            let labels = rest[name.len()..].strip_prefix('{').and_then(|rest| rest.split_once('}'));
            for label in labels.map(|(labels, _)| labels).unwrap_or_default().split(',') {
                let label = label.split(['=', '~']).next().unwrap().trim();
                assert!(
                    label.is_empty() || line.contains(&format!("{label}=\"")),
                    "{file}: {name} has no {label}: {line}"
                );
            }
            asked += 1;
        }
    }
    assert!(asked > 10, "{asked}");
}
