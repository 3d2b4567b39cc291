//! Tests of the page of records, as its reader sees it.

mod sample;

use crate::Content;
use record::{
    Axis, Figure, Ladder, Mark, OTHERS, Picture, Plot, Point, SCHEMA, Section, Series, Source, Stack, StackPart,
    Statement, Table, Unit, understand,
};
use sample::{EVIL, PLAIN, bars, figure, ladder, plot, section, source};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

fn page(sources: &[Source], sections: &[Vec<Section>], compared: &[Figure]) -> String {
    let ladders: Vec<Option<Ladder>> = sources.iter().map(|source| ladder(&source.name)).collect();
    let method = |_: &str| Some("# Method\n\n<b>How</b>");
    let titles: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
    crate::page(&Content { sources, titles: &titles, sections, ladders: &ladders, compared, method: &method })
}

/// Returns the page of two records side by side.
fn pair(text: &str) -> String {
    let sources = [source("latency", text), source("load", "other")];
    let sections = [vec![section("latency", text)], vec![section("load", "other")]];
    page(&sources, &sections, &[figure(bars(text), 2, text)])
}

fn single(figures: Vec<Figure>) -> String {
    page(&[source("latency", PLAIN)], &[vec![Section { figures, ..section("latency", PLAIN) }]], &[])
}

/// Returns the figures of a page, each to its end.
fn figures(page: &str) -> Vec<&str> {
    page.split("<section class=\"figure\">").skip(1).filter_map(|rest| rest.split("</section>").next()).collect()
}

/// Returns the tags with the names of their attributes.
fn markup(page: &str) -> Vec<String> {
    let tags = page.split('<').skip(1).filter_map(|rest| rest.split('>').next());
    tags.map(|tag| tag.split('"').step_by(2).collect()).collect()
}

fn attributes<'a>(page: &'a str, opening: &str) -> Vec<&'a str> {
    page.split(opening).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn text_is_never_markup() {
    let (evil, plain) = (pair(EVIL), pair(PLAIN));
    let (evil, plain) = (markup(&evil), markup(&plain));
    assert_eq!(evil.iter().zip(&plain).find(|(one, other)| one != other), None);
    assert_eq!(evil.len(), plain.len());
}

#[test]
fn control_characters_and_reversed_text_are_escaped() {
    let page = pair(EVIL);
    let is_hazard = |letter: &char| {
        (letter.is_control() && !matches!(letter, '\n' | '\t')) || matches!(letter, '\u{202a}'..='\u{202e}')
    };
    assert_eq!(page.chars().find(is_hazard), None);
    assert!(page.contains("&amp;amp; \\u{0}\\u{b}\\u{1b}\\u{9f}\\u{202e}"), "the text is there, and visible");
}

#[test]
fn anchors_are_unique() {
    let page = pair(EVIL);
    let ids = attributes(&page, " id=\"");
    let unique: HashSet<&&str> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "{ids:?}");
}

#[test]
fn every_link_leads_to_an_anchor_on_the_page() {
    let page = pair(EVIL);
    let ids = attributes(&page, " id=\"");
    let lost: Vec<&str> = attributes(&page, " href=\"#").into_iter().filter(|link| !ids.contains(link)).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn the_same_records_give_the_same_page() {
    assert_eq!(pair(EVIL), pair(EVIL));
}

#[test]
fn each_figure_has_a_heading_a_picture_and_a_table() {
    let page = pair(PLAIN);
    let figures = figures(&page);
    assert_eq!(figures.len(), 27);
    for figure in figures {
        // The ladder and the stacks are drawn for wide screens and for narrow ones.
        let is_twice = ["ladder", "stacks"]
            .iter()
            .any(|kind| figure.contains(&format!("<figure class=\"{kind}\"><div class=\"wide\"")));
        let pictures = if is_twice { 2 } else { 1 };
        let counts = ["<svg", "<table"].map(|element| figure.matches(element).count());
        assert_eq!(counts, [pictures, 1], "{figure}");
        assert_eq!(figure.matches("<h3").count() + figure.matches("<h4").count(), 1, "{figure}");
    }
}

/// Returns the colours of the series of each plot, by their names.
fn colours_of_plots(page: &str) -> Vec<Vec<(String, u64)>> {
    let scripts = plot_scripts(page);
    let colours = |data: Value| {
        let series = data["series"].as_array().unwrap().clone();
        series.iter().map(|one| (one["name"].as_str().unwrap().to_owned(), one["colour"].as_u64().unwrap())).collect()
    };
    scripts.iter().map(|script| colours(serde_json::from_str(script).unwrap())).collect()
}

fn plot_scripts(page: &str) -> Vec<&str> {
    let scripts = page.split("<script type=\"application/json\">").skip(1);
    scripts.filter_map(|rest| rest.split("</script>").next()).collect()
}

#[test]
fn a_cause_has_one_colour_in_bars_and_in_every_scatter() {
    const UNEXPLAINED: &str = "unexplained";
    const COMPETITOR: &str = "task competitor";
    let scatter = |causes: &[&str]| {
        let Picture::Plot(mut plot) = plot(Mark::Points, PLAIN) else { unreachable!("it is one") };
        plot.series = causes
            .iter()
            .map(|name| Series { name: (*name).into(), mark: Mark::Points, points: vec![Point::new(1.0, 2.0)] })
            .collect();
        figure(Picture::Causes(plot), 1, PLAIN)
    };
    let part = |words: &str, cause: &str, share| StackPart { words: words.into(), cause: cause.into(), share };
    let bar = |parts| Stack { name: PLAIN.into(), parts };
    let quiet =
        bar(vec![part("interrupt timer", "interrupt timer", 0.7), part("unexplained, below 1", UNEXPLAINED, 0.3)]);
    let busy = bar(vec![part("task competitor (4711)", COMPETITOR, 0.9), part(UNEXPLAINED, UNEXPLAINED, 0.1)]);
    let page = single(vec![
        scatter(&[UNEXPLAINED, COMPETITOR]),
        figure(Picture::Stacks(vec![quiet, busy]), 1, PLAIN),
        scatter(&["softirq rcu", COMPETITOR, UNEXPLAINED, OTHERS]),
    ]);
    let plots = colours_of_plots(&page);
    let colour = |plot: usize, name: &str| plots[plot].iter().find(|(known, _)| known == name).unwrap().1;
    let bars = figures(&page).into_iter().find(|figure| figure.contains("class=\"stacks\"")).unwrap();
    for (name, words) in
        [(UNEXPLAINED, "unexplained, below 1"), (UNEXPLAINED, UNEXPLAINED), (COMPETITOR, "task competitor (4711)")]
    {
        assert_eq!(colour(0, name), colour(1, name), "{plots:?}");
        let key = bars.split(&format!(">{words}: ")).next().unwrap();
        let class = key.rsplit("<g class=\"").next().unwrap().split('"').next().unwrap();
        assert_eq!(class, format!("c{}", colour(0, name)), "{words}: {plots:?}");
    }
    let distinct: HashSet<u64> = plots[1].iter().map(|(_, colour)| *colour).collect();
    assert_eq!((distinct.len(), colour(1, OTHERS)), (4, 11), "{plots:?}");
}

/// Returns the colours of a style sheet's rules for `:root` in light and in dark.
fn themes(page: &str) -> [HashMap<String, [f64; 3]>; 2] {
    let style = page.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
    let is_dark = |before: &str| {
        before.trim_end().ends_with("(prefers-color-scheme: dark) {")
            || before.trim_end().ends_with("(prefers-color-scheme: dark){")
    };
    let is_paper =
        |before: &str| before.trim_end().ends_with("@media print {") || before.trim_end().ends_with("@media print{");
    let mut themes = [HashMap::new(), HashMap::new()];
    for (at, _) in style.match_indices(":root") {
        let before = &style[..at];
        if is_paper(before) {
            continue;
        }
        let body = style[at..].split_once('{').unwrap().1.split_once('}').unwrap().0;
        for (name, value) in body.split(';').filter_map(|part| part.trim().strip_prefix("--")?.split_once(':')) {
            themes[usize::from(is_dark(before))].insert(name.to_owned(), rgb(value.trim()));
        }
    }
    themes
}

fn rgb(hex: &str) -> [f64; 3] {
    let digits: Vec<u8> = hex.trim_start_matches('#').chars().map(|digit| digit.to_digit(16).unwrap() as u8).collect();
    let byte = |place: usize| match digits.len() {
        3 => digits[place] * 17,
        _ => digits[2 * place] * 16 + digits[2 * place + 1],
    };
    [0, 1, 2].map(|place| f64::from(byte(place)) / 255.0)
}

/// Returns the contrast of two colours as WCAG 2.2 defines it, from 1 to 21.
fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
    let linear = |value: f64| if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) };
    let luminance =
        |[red, green, blue]: [f64; 3]| 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn text_and_marks_have_enough_contrast_in_both_themes() {
    const TEXT: f64 = 4.5;
    const MARK: f64 = 3.0;
    /// The style sheet's opacity of the paler of two adjacent series.
    const PALE: f64 = 0.7;
    assert!((contrast([0.0; 3], [1.0; 3]) - 21.0).abs() < 1e-9 && contrast([0.5; 3], [0.5; 3]) == 1.0);
    let page = single(Vec::new());
    assert!(page.contains("svg .pale .fill { opacity: .7; }"));
    for theme in themes(&page) {
        let paper = theme["paper"];
        let marks = (0..12).map(|number| format!("c{number}"));
        for name in ["ink", "dim"].map(str::to_owned).into_iter().chain(marks) {
            let ratio = contrast(theme[&name], paper);
            assert!(ratio >= TEXT, "{name}: {ratio:.2} on {paper:?}");
            let pale = [0, 1, 2].map(|place| PALE * theme[&name][place] + (1.0 - PALE) * paper[place]);
            assert!(name == "ink" || name == "dim" || contrast(pale, paper) >= MARK, "{name}, paler");
        }
        assert!(contrast(theme["dim"], theme["soft"]) >= TEXT);
    }
}

#[test]
fn each_experiment_is_a_fold_and_the_only_one_is_open() {
    let one = single(Vec::new());
    assert!(one.contains("<details class=\"part\" open>"), "{one}");
    let two = page(&[source("survey", PLAIN)], &[vec![section("latency", PLAIN), section("load", "other")]], &[]);
    assert_eq!(two.matches("<details class=\"part\"><summary><h3 id=\"section-").count(), 2);
    assert!(two.contains("</h3><p>plain</p></summary>") && two.contains("</h3><p>other</p></summary>"));
}

#[test]
fn title_names_the_program() {
    let mut traced = source("trace", PLAIN);
    traced.parameters.insert("program".into(), json!(["./server", "3"]));
    let page = page(&[traced], &[vec![Section { title: "Lock waits".into(), ..section("trace", PLAIN) }]], &[]);
    assert!(page.contains("<h1>./server 3: lock waits</h1>"), "{page}");
}

#[test]
fn columns_of_text_begin_at_the_left() {
    let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
    let rows = vec![row(["a", "main (a.c:1)", "< 3 ns"]), row(["b", "–", "12.5 %"]), row(["c", "worker", "–"])];
    let table = Table { caption: "t".into(), header: vec!["name", "call site", "waited"], rows };
    let page = single(vec![Figure { tables: vec![table], ..figure(Picture::None, 1, PLAIN) }]);
    assert!(page.contains("<td class=\"text short\">main (a.c:1)</td><td class=\"short\">&lt; 3 ns</td>"), "{page}");
}

#[test]
fn values_of_old_documents_can_be_hidden_without_a_script() {
    let Picture::Plot(mut lines) = plot(Mark::Line, "sysv") else { unreachable!("it is one") };
    lines.series.push(Series { name: "sysv, 2002".into(), mark: Mark::Line, points: vec![Point::new(1.0, 2.0)] });
    let page = single(vec![figure(Picture::Locks(lines), 1, PLAIN)]);
    let drawn = figures(&page).into_iter().find(|figure| figure.contains("sysv, 2002")).unwrap();
    assert_eq!(drawn.matches("type=\"radio\"").count(), 3, "{drawn}");
    let colours = &colours_of_plots(&page)[0];
    assert!(drawn.contains(" old\">") && colours[0].1 == colours[1].1, "{drawn}");
}

#[test]
fn axis_of_threads_has_marks_at_whole_numbers_alone() {
    let Picture::Plot(lines) = plot(Mark::Line, PLAIN) else { unreachable!("it is one") };
    let point = |x| Point::new(x, 3.0);
    let series = Series { name: "std".into(), mark: Mark::Line, points: [1.0, 2.0, 4.0].map(point).into() };
    let x = Axis { label: "threads", unit: Unit::Number, logarithmic: true };
    let page = single(vec![figure(Picture::Locks(Plot { x, series: vec![series], ..lines }), 1, PLAIN)]);
    let data: Value = serde_json::from_str(plot_scripts(&page)[0]).unwrap();
    assert_eq!(data["x"]["marks"], json!([1.0, 2.0, 4.0]));
    let drawn = figures(&page).into_iter().find(|figure| figure.contains(">threads</text>")).unwrap();
    assert!(drawn.contains(">4</text>") && !drawn.contains(">3</text>"), "{drawn}");
}

#[test]
fn ladder_leads_to_the_section_of_each_cost() {
    let mut ladder = ladder(PLAIN).unwrap();
    ladder.costs.iter_mut().for_each(|cost| cost.experiment = Some("latency".into()));
    let (sources, sections) = ([source("survey", PLAIN)], [vec![section("latency", PLAIN), section("load", PLAIN)]]);
    let ladders = [Some(ladder)];
    let page = crate::page(&Content {
        sources: &sources,
        titles: &[PLAIN.to_owned()],
        sections: &sections,
        ladders: &ladders,
        compared: &[],
        method: &|_| None,
    });
    assert!(
        page.contains("role=\"group\"") && page.contains("<a href=\"#section-plain\" aria-label=\"plain, 20 ns"),
        "{page}"
    );
}

#[test]
fn ladder_alone_has_a_title_a_machine_a_time_and_a_key() {
    let svg = crate::ladder_file(&ladder("std").unwrap(), "Some CPU", Some("2026-11-26 03:00 UTC"));
    for part in [
        ">Costs of waiting</text>",
        ">Some CPU; 2026-11-26 03:00 UTC</text>",
        ">std</text>",
        ">no lock</text>",
        "95 % CI",
    ] {
        assert!(svg.contains(part), "{part} is missing in {svg}");
    }
}

#[test]
fn long_tables_are_folded_below_their_picture() {
    let page = single(vec![
        figure(bars(PLAIN), 12, PLAIN),
        figure(bars(PLAIN), 13, PLAIN),
        figure(plot(Mark::Line, PLAIN), 13, PLAIN),
        figure(Picture::None, 13, PLAIN),
    ]);
    let is_folded: Vec<bool> = figures(&page).iter().skip(1).map(|figure| figure.contains("<details>")).collect();
    assert_eq!(is_folded, [false, true, true, false]);
}

#[test]
fn a_finding_leads_to_the_section_that_it_is_about() {
    let about = Some("latency".to_owned());
    let summary = Section {
        title: "summary".into(),
        findings: vec![Statement { words: "it is slow".into(), about, is_repeated: false }],
        ..section("survey", PLAIN)
    };
    let detail = Section { title: "detail".into(), ..section("latency", PLAIN) };
    let page = page(&[source("survey", PLAIN)], &[vec![detail, summary]], &[]);
    assert!(page.contains("<li>it is slow <a href=\"#detail\">detail</a></li>"), "{page}");
}

/// Returns a record with four warnings: about one figure, about all figures, about a short run, and advice.
fn warned() -> Source {
    let warning = |code: &str, what: &str, severity: &str| json!({"code": code, "what": what, "message": format!("{code}!"), "remedy": "", "severity": severity});
    let record = json!({
        "schema": SCHEMA, "experiment": "latency", "environment": {}, "parameters": {}, "results": [{}],
        "warnings": [
            warning("hold_off", "std", "changes_figure"),
            warning("steal", "", "changes_figure"),
            warning("not_converged", "std, 2 threads", "limits_conclusion"),
            warning("short_turns", "", "limits_conclusion"),
            warning("autogroup", "", "advice"),
        ],
    });
    understand("a record", record.to_string().as_bytes()).unwrap()
}

#[test]
fn warning_is_shown_once_at_the_figure_that_it_changes() {
    let titled = |title: &str| Figure { title: title.into(), ..figure(plot(Mark::Line, PLAIN), 1, PLAIN) };
    let figures = ["sysv, 1 thread: locking", "std, 1 thread: locking", "std, 2 threads: locking"].map(titled).into();
    let page = page(&[warned()], &[vec![Section { figures, ..section("latency", PLAIN) }]], &[]);
    let (overview, chapters) = page.split_once("<nav").unwrap();
    let caution = |code: &str| format!("<p class=\"caution\">Warning: {code}! [{code}]");
    assert!(overview.contains(&caution("steal")) && !overview.contains("hold_off!"), "{overview}");
    assert!(
        overview.contains("the run was too short for 1 group of values") && overview.contains("1 note with advice")
    );
    // A limit is visible without opening a fold.
    let limit = "<p class=\"limit\">Warning: short_turns! [short_turns]. Remedy: ";
    let before = overview.split_once(limit).unwrap().0;
    assert_eq!(before.matches("<details").count(), before.matches("</details>").count(), "{overview}");
    let behind = chapters.split(&caution("hold_off")).collect::<Vec<&str>>();
    assert!(behind.len() == 2 && behind[0].contains("sysv, 1 thread: locking <a"), "{chapters}");
    assert!(
        behind[1]
            .trim_start()
            .starts_with(". Remedy: </p><section class=\"figure\"><h4 id=\"section-plain-std-1-thread"),
        "{}",
        &behind[1][..200]
    );
    assert!(!page.contains("role=\"note\""));
}
