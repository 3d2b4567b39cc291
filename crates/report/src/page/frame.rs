//! The frame of the page: its head, its title, and the style and the scripts that it carries with it.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("../../assets/report/page.css");
const SCRIPT: &str = include_str!("../../assets/report/charts.js");
const CHARTS: &str = include_str!("../../assets/uplot/uPlot.iife.min.js");
const CHARTS_STYLE: &str = include_str!("../../assets/uplot/uPlot.min.css");
const CHARTS_LICENSE: &str = include_str!("../../assets/uplot/LICENSE");

/// By this element a page is known to be one of this program's.
pub const SIGNATURE: &str = "<meta name=\"generator\" content=\"contend\">";

/// A page needs nothing from elsewhere, and whatever slipped into it could not fetch anything.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

pub fn frame(title: &str, machine: &Markup, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title))
            body {
                a.skip href="#findings" { "Skip to the findings" }
                header { h1 { (title) } (machine) }
                main { (content) }
                (scripts())
            }
        }
    }
}

fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            (PreEscaped(SIGNATURE))
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            meta name="color-scheme" content="light dark";
            link rel="icon" href="data:,";
            title { (title) }
            style { "\n" (PreEscaped(CHARTS_STYLE)) "\n" (PreEscaped(STYLE)) }
        }
    }
}

fn scripts() -> Markup {
    // The library's first line names its home; the page names it by its licence.
    let charts = CHARTS.split_once('\n').map_or(CHARTS, |(_, code)| code);
    html! {
        script { "\n/* uPlot 1.6.32\n" (PreEscaped(CHARTS_LICENSE)) "*/\n" (PreEscaped(charts)) }
        script { "\n" (PreEscaped(SCRIPT)) }
    }
}
