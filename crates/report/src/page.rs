//! The page: findings first, then what differs, then each record with its pictures and warnings, then the methods.

use crate::columns::header;
use crate::draw;
use crate::markup::{Names, escape, json_in_script};
use crate::method::html_of;
use crate::overlay;
use record::{Axis, Figure, Mark, Picture, Plot, Point, Section, Source, Table, environments, flattened};
use serde_json::{Value, json};
use std::fmt::Write;
use terminal::moment;

const STYLE: &str = include_str!("../assets/report/page.css");
const SCRIPT: &str = include_str!("../assets/report/charts.js");
const CHARTS: &str = include_str!("../assets/uplot/uPlot.iife.min.js");
const CHARTS_STYLE: &str = include_str!("../assets/uplot/uPlot.min.css");
const CHARTS_LICENSE: &str = include_str!("../assets/uplot/LICENSE");

/// The page, in Markdown, that says how an experiment measures, if there is one.
pub type Method<'a> = &'a dyn Fn(&str) -> Option<&'static str>;

/// By this line a page is known to be one of this program's.
pub const SIGNATURE: &str = "<meta name=\"generator\" content=\"contend\">";

/// The whole page. The same records give the same page.
///
/// `method` has the page of each experiment, in Markdown.
pub fn page(sources: &[Source], sections: &[Vec<Section>], compared: &[Figure], method: Method<'_>) -> String {
    let mut names = Names::default();
    for fixed in ["findings", "side-by-side", "methods"] {
        names.take(fixed);
    }
    let ids: Vec<Vec<String>> =
        sections.iter().map(|of_record| of_record.iter().map(|section| names.take(&section.title)).collect()).collect();
    let mut body = findings(sources, sections, &ids);
    if sources.len() > 1 {
        body.push_str(&side_by_side(sources, sections, compared, &mut names));
    }
    for (place, source) in sources.iter().enumerate() {
        body.push_str(&record(source, place, &sections[place], &ids[place], method, &mut names));
    }
    body.push_str(&methods(sections, method));
    let title = escape(&title(sources));
    // The library's first line names its home; the page names it by its licence.
    let charts = CHARTS.split_once('\n').map_or(CHARTS, |(_, code)| code);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{SIGNATURE}\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{CHARTS_STYLE}\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#findings\">To the findings</a>\n<header><h1>{title}</h1></header>\n<main>\n{body}</main>\n\
         <script>\n/* uPlot 1.6.32\n{CHARTS_LICENSE}*/\n{charts}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

fn title(sources: &[Source]) -> String {
    match sources {
        [only] => format!("contend {}", only.experiment),
        several => format!("contend: {} records side by side", several.len()),
    }
}

fn heading(level: usize, id: &str, text: &str) -> String {
    let text = escape(text);
    format!(
        "<h{level} id=\"{id}\">{text} <a class=\"permalink\" href=\"#{id}\" aria-label=\"Link to {text}\">#</a></h{level}>\n"
    )
}

fn findings(sources: &[Source], sections: &[Vec<Section>], ids: &[Vec<String>]) -> String {
    let mut content = format!("<section>\n{}", heading(2, "findings", "Findings"));
    for ((source, sections), ids) in sources.iter().zip(sections).zip(ids) {
        if sources.len() > 1 {
            // Writing to a string cannot fail.
            let _ = writeln!(content, "<h3>{}</h3>", escape(&source.name));
        }
        content.push_str("<ul class=\"findings\">\n");
        let named: Vec<(&str, &Section, &String)> = source
            .parts
            .iter()
            .zip(sections)
            .zip(ids)
            .map(|(((part, _), section), id)| (part.as_str(), section, id))
            .collect();
        for (_, section, id) in named.iter().filter(|(_, section, _)| is_summary(section) || !has_summary(sections)) {
            for finding in &section.findings {
                let about = named.iter().find(|(part, _, _)| finding.about.as_deref() == Some(part));
                let (section, id) = about.map_or((section, id), |(_, section, id)| (section, id));
                let (text, from) = (escape(&finding.words), escape(&section.title));
                let _ = writeln!(content, "<li>{text} <a href=\"#{id}\">{from}</a></li>");
            }
        }
        let warnings = match source.warnings.len() {
            0 => "No warnings.".to_owned(),
            1 => "1 warning: read it before you believe this.".to_owned(),
            several => format!("{several} warnings: read them before you believe this."),
        };
        let _ = writeln!(content, "<li>{warnings}</li>\n</ul>");
    }
    content + "</section>\n"
}

/// A survey sums up what its other sections found.
fn is_summary(section: &Section) -> bool {
    section.experiment == "survey"
}

fn has_summary(sections: &[Section]) -> bool {
    sections.iter().any(is_summary)
}

fn side_by_side(sources: &[Source], sections: &[Vec<Section>], compared: &[Figure], names: &mut Names) -> String {
    let mut content = format!("<section>\n{}<ol>\n", heading(2, "side-by-side", "Side by side"));
    for source in sources {
        let _ = writeln!(content, "<li>{}: {}</li>", escape(&source.name), escape(&source.experiment));
    }
    content.push_str("</ol>\n");
    let differences = environments(&sources.iter().collect::<Vec<&Source>>());
    if differences.is_empty() {
        content.push_str("<p>The environments do not differ.</p>\n");
    } else {
        content.push_str(&table(&Table {
            caption: "What differs between the machines".into(),
            header: header(&["environment"], sources.len(), &[]),
            rows: differences.into_iter().map(|found| [vec![found.name], found.values].concat()).collect(),
        }));
    }
    if compared.is_empty() {
        content.push_str("<p>No cell was measured in two of them, so there is nothing to compare.</p>\n");
    }
    let letters = header(&[], sources.len(), &[]);
    for figure in compared.iter().chain(&overlay::figures(sections, &letters)) {
        content.push_str(&drawn(figure, &names.take(&format!("compared {}", figure.title))));
    }
    content + "</section>\n"
}

fn record(
    source: &Source,
    place: usize,
    sections: &[Section],
    ids: &[String],
    method: Method<'_>,
    names: &mut Names,
) -> String {
    let id = names.take(&format!("record-{}", place + 1));
    let mut content = format!("<section>\n{}", heading(2, &id, &format!("{}: {}", source.name, source.experiment)));
    content.push_str(&setting(source));
    content.push_str(&warnings(source));
    for (section, id) in sections.iter().zip(ids) {
        content.push_str("<section>\n");
        content.push_str(&heading(3, id, &section.title));
        if method(section.experiment).is_some() {
            let _ = writeln!(content, "<p><a href=\"#method-{}\">How it is measured</a></p>", section.experiment);
        }
        if has_summary(sections) && !is_summary(section) && !section.findings.is_empty() {
            let lines = section.findings.iter().map(|finding| format!("<li>{}</li>\n", escape(&finding.words)));
            let _ = writeln!(content, "<ul class=\"findings\">\n{}</ul>", lines.collect::<String>());
        }
        let (secondary, primary): (Vec<&Figure>, Vec<&Figure>) =
            section.figures.iter().partition(|figure| figure.secondary);
        for figure in primary {
            content.push_str(&drawn(figure, &names.take(&format!("{id} {}", figure.title))));
        }
        if !secondary.is_empty() {
            content.push_str("<details>\n<summary>Further pictures</summary>\n");
            for figure in secondary {
                content.push_str(&drawn(figure, &names.take(&format!("{id} {}", figure.title))));
            }
            content.push_str("</details>\n");
        }
        content.push_str("</section>\n");
    }
    content + "</section>\n"
}

fn setting(source: &Source) -> String {
    let text = |path: &[&str]| {
        let found = path.iter().try_fold(None, |at: Option<&Value>, name| match at {
            None => source.environment.get(*name).map(Some),
            Some(value) => value.get(*name).map(Some),
        });
        found.flatten().and_then(Value::as_str).unwrap_or("unknown").to_owned()
    };
    let when =
        source.environment.get("started_unix_s").and_then(Value::as_u64).map(|begun| format!("{} UTC", moment(begun)));
    let words = format!(
        "{}, Linux {}, {}; {}",
        text(&["cpu", "model"]),
        text(&["kernel", "release"]),
        text(&["host", "hypervisor"]),
        when.unwrap_or_else(|| "at an unknown time".into())
    );
    let call: Vec<(String, String)> = flattened(&source.environment);
    let command = call.iter().find(|(name, _)| name == "command_line").map_or("", |(_, text)| text);
    let lines = call.iter().map(|(name, text)| vec![name.clone(), text.clone()]).collect();
    let whole = table(&Table { caption: "Environment".into(), header: vec!["what", "value"], rows: lines });
    format!(
        "<p>{}</p>\n<p><code>contend {}</code></p>\n<details>\n<summary>The whole environment</summary>\n{whole}</details>\n",
        escape(&words),
        escape(command)
    )
}

fn warnings(source: &Source) -> String {
    if source.warnings.is_empty() {
        return String::new();
    }
    let field = |warning: &Value, name: &str| escape(warning.get(name).and_then(Value::as_str).unwrap_or("unknown"));
    let mut content = "<div class=\"warnings\" role=\"note\" aria-label=\"Warnings\">\n<ul>\n".to_owned();
    for warning in &source.warnings {
        let (message, code, remedy) = (field(warning, "message"), field(warning, "code"), field(warning, "remedy"));
        let _ = writeln!(content, "<li>Warning: {message} [{code}]. Remedy: {remedy}</li>");
    }
    content + "</ul>\n</div>\n"
}

fn methods(sections: &[Vec<Section>], method: Method<'_>) -> String {
    let mut content = format!("<section class=\"methods\">\n{}", heading(2, "methods", "Methods"));
    let mut shown: Vec<&str> = Vec::new();
    for section in sections.iter().flatten() {
        if shown.contains(&section.experiment) {
            continue;
        }
        shown.push(section.experiment);
        if let Some(text) = method(section.experiment).map(html_of) {
            let _ = writeln!(content, "<article id=\"method-{}\">\n{text}</article>", section.experiment);
        }
    }
    content + "</section>\n"
}

fn drawn(figure: &Figure, id: &str) -> String {
    let mut content = format!("<section class=\"figure\">\n{}", heading(4, id, &figure.title));
    let picture = draw::picture(&figure.picture, &format!("{}; its numbers are in the table below", figure.title));
    if !picture.is_empty() {
        let data = match &figure.picture {
            Picture::Plot(plot) => {
                format!("<script type=\"application/json\">{}</script>\n", json_in_script(&data(plot)))
            }
            Picture::Bars(_) | Picture::None => String::new(),
        };
        let kind = if data.is_empty() { "bars" } else { "plot" };
        let _ = write!(content, "<figure class=\"{kind}\">\n<div class=\"static\">{picture}</div>\n{data}</figure>\n");
    }
    for one in &figure.tables {
        match one.rows.len() > LONG_TABLE && !picture.is_empty() {
            true => {
                let caption = escape(&one.caption);
                let _ = write!(content, "<details>\n<summary>{caption}</summary>\n{}</details>\n", table(one));
            }
            false => content.push_str(&table(one)),
        }
    }
    content + "</section>\n"
}

/// Longer tables are folded below their picture.
const LONG_TABLE: usize = 12;

fn table(table: &Table) -> String {
    let mut content = format!(
        "<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table><caption>{0}</caption>\n<thead><tr>",
        escape(&table.caption)
    );
    for name in &table.header {
        let _ = write!(content, "<th scope=\"col\">{}</th>", escape(name));
    }
    content.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        content.push_str("<tr>");
        for (place, cell) in row.iter().enumerate() {
            let text = escape(cell);
            let _ = match place {
                0 => write!(content, "<th scope=\"row\">{text}</th>"),
                _ => write!(content, "<td>{text}</td>"),
            };
        }
        content.push_str("</tr>\n");
    }
    content + "</tbody>\n</table></div>\n"
}

/// What the script draws from.
fn data(plot: &Plot) -> Value {
    let axis = |axis: &Axis| json!({"label": axis.label, "quantity": axis.unit.name(), "log": axis.logarithmic});
    let point = |mark: Mark, point: &Point| {
        // Many events lie close together on a long axis.
        let x = if mark == Mark::Points { point.x.round() } else { short(point.x) };
        json!([x, short(point.y), point.low.map(short), point.high.map(short)])
    };
    let series: Vec<Value> = plot
        .series
        .iter()
        .map(|series| {
            let points: Vec<Value> = series.points.iter().map(|one| point(series.mark, one)).collect();
            json!({"name": series.name, "mark": series.mark.name(), "points": points})
        })
        .collect();
    json!({"x": axis(&plot.x), "y": axis(&plot.y), "series": series})
}

/// Five digits: more than a picture shows.
fn short(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}
