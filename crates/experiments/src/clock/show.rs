//! The record on a terminal and on a page.

use super::record::{
    CheckRow, ClockRecord, ClockRow, GrindRow, LossesRow, PeriodicLossRow, Row, SliceRow, agreements, checks, clocks,
    grinds, losses, periodic_losses, slices,
};
use record::{Axis, Figure, Mark, Picture, Plot, Point, Section, Series, Statement, Table, Unit, optional};
use terminal::{self, Page, Scatter, megahertz, nanoseconds, percent, ppm};

/// Shows the whole record.
pub fn show(record: &ClockRecord<'_>, page: &Page) -> String {
    sections(record.results, record.environment.interrupted, page)
}

/// Returns all sections of the record that have rows.
fn sections(rows: &[Row], interrupted: bool, page: &Page) -> String {
    [clock(rows, page), grind(rows), curve(rows, page), lost(rows, interrupted, page)]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

fn clock(rows: &[Row], page: &Page) -> String {
    let Some(clock) = clocks(rows).into_iter().next() else { return String::new() };
    let mut text =
        format!("The clock: {} at {}, {}\n", clock.source.name(), megahertz(clock.frequency_mhz), clock.step_words());
    if let Some(reason) = &clock.fallback {
        text.push_str(&terminal::wrapped(" ", "   ", &format!("The TSC is not used: {reason}"), page));
    }
    text.push_str(&costs(clock));
    text.push_str(&neighbour(clock));
    // Adding 0.0 turns -0 into 0, so that no minus sign is printed.
    text.push_str(&format!("  fit residual of the calibration: {} ns\n", clock.residual_ns.round() + 0.0));
    let rate = format!(
        "error of the rate against CLOCK_MONOTONIC_RAW over {:.1} s: {}",
        clock.conversion_span_s,
        conversion_error(clock)
    );
    text.push_str(&terminal::wrapped(" ", "   ", &rate, page));
    text.push_str(&format!(
        "  backward steps in {} reads: {}\n",
        terminal::count(2 * clock.reads_count),
        clock.backward_steps
    ));
    for found in agreements(rows) {
        text.push_str(&format!(
            "  offset of CPU {} from CPU {}: {:+.0} to {:+.0} ns\n    out of order in {} exchanges: {}\n",
            found.cpu,
            found.reference_cpu,
            found.offset_low_ns,
            found.offset_high_ns,
            terminal::count(found.exchanges),
            found.out_of_order
        ));
    }
    text
}

fn costs(clock: &ClockRow) -> String {
    let row = |name: &str, figures: [f64; 5]| {
        std::iter::once(name.to_owned()).chain(figures.map(nanoseconds)).collect::<Vec<_>>()
    };
    let plain = [clock.read_cost_ns, clock.read_least_ns, clock.read_p50_ns, clock.read_p99_ns, clock.read_max_ns];
    let ordered = [
        clock.ordered_read_cost_ns,
        clock.ordered_read_least_ns,
        clock.ordered_read_p50_ns,
        clock.ordered_read_p99_ns,
        clock.ordered_read_max_ns,
    ];
    terminal::table(
        &["  one read", "mean of 1,000", "lowest mean", "median", "p99", "max"],
        [row("  unordered", plain), row("  ordered", ordered)],
    )
}

/// Returns the cost of a read with the core shared, and with it exclusive.
fn neighbour(clock: &ClockRow) -> String {
    let Some(share) = clock.core_shared_share else { return String::new() };
    let words = |name: &str, plain: Option<f64>, ordered: Option<f64>| {
        let (plain, ordered) = (nanoseconds(plain?), nanoseconds(ordered?));
        Some(format!("    median, {name}: unordered {plain}, ordered {ordered}\n"))
    };
    let medians = [
        words("core exclusive", clock.read_cost_ns_alone, clock.ordered_read_cost_ns_alone),
        words("core shared", clock.read_cost_ns_shared, clock.ordered_read_cost_ns_shared),
    ];
    let medians: Vec<String> = medians.into_iter().flatten().collect();
    let medians = medians.concat();
    format!("  core shared with an SMT sibling: {} of the time\n{medians}", percent(share))
}

fn grind(rows: &[Row]) -> String {
    let Some(grind) = grinds(rows).into_iter().next() else { return String::new() };
    let mut text =
        format!("Calibrated busy loop (grind): loads of {}{}\n", nanoseconds(grind.load_ns), in_cycles(grind));
    text.push_str(&format!(
        "  calibrated with {} candidates; the last took {} loads and {:.1} µs\n",
        grind.candidates,
        terminal::count(grind.calibrated_loads),
        grind.calibrated_us
    ));
    let checked = checks(rows).into_iter().map(|check| {
        vec![
            format!("  {}", nanoseconds(check.requested_us * 1e3)),
            nanoseconds(check.best_us * 1e3),
            nanoseconds(check.median_us * 1e3),
            verdict(check),
        ]
    });
    text + &terminal::table(&["  requested", "best of 100", "median", ""], checked)
}

/// Returns the verdict on a check.
///
/// The best of the runs may be off because an SMT sibling was always active or because the core changed its frequency:
/// the record does not distinguish them.
fn verdict(check: &CheckRow) -> String {
    if check.holds {
        return "within 1 % or 20 ns".to_owned();
    }
    let off = check.best_us / check.requested_us - 1.0;
    format!("{} too {}, unexplained", percent(off.abs()), if off < 0.0 { "short" } else { "long" })
}

fn in_cycles(grind: &GrindRow) -> String {
    match (grind.load_cycles, grind.core_mhz) {
        (Some(cycles), Some(mhz)) => format!(", {cycles:.2} cycles at {}", megahertz(mhz)),
        _ => String::new(),
    }
}

fn curve(rows: &[Row], page: &Page) -> String {
    let slices = slices(rows);
    if slices.is_empty() {
        return String::new();
    }
    let points = |value: fn(&SliceRow) -> f64, mark| {
        slices
            .iter()
            .map(move |slice| terminal::Point { x_ns: slice.slice_us * 1e3, y: value(slice), mark })
            .collect::<Vec<_>>()
    };
    let mut all = points(|slice| slice.median_mhz, '.');
    all.extend(points(|slice| slice.best_mhz, '#'));
    let cycles_known = grinds(rows).first().is_some_and(|grind| grind.load_cycles.is_some());
    let unit = if cycles_known { "effective MHz" } else { "million loads/s" };
    let title = format!("{unit} by length of the work: # best of up to 100 runs, . median");
    Scatter { title: &title, points: &all }.draw(page)
}

fn lost(rows: &[Row], interrupted: bool, page: &Page) -> String {
    let Some(losses) = losses(rows).into_iter().next() else { return String::new() };
    let mut text = format!(
        "Time lost on CPU {} in {}: {}\n  {} gaps above {}, the longest {}\n",
        losses.cpu,
        nanoseconds(losses.watched_s * 1e9),
        percent(losses.lost_share),
        terminal::count(losses.gaps as u64),
        nanoseconds(losses.threshold_ns),
        nanoseconds(losses.longest_us * 1e3)
    );
    for found in periodic_losses(rows) {
        let line = format!(
            "every {} ({:.1} Hz): {} gaps of {}, in {} of periods{}",
            nanoseconds(found.period_us * 1e3),
            found.frequency_hz,
            terminal::count(found.gaps as u64),
            nanoseconds(found.median_gap_us * 1e3),
            percent(found.presence_share),
            tick(found, losses.kernel_hz)
        );
        text.push_str(&terminal::wrapped(" ", "   ", &line, page));
        if let Some(folded_us) = found.folded_gap_us {
            text.push_str(&format!("    median of the same gaps folded at HZ: {}\n", nanoseconds(folded_us * 1e3)));
        }
    }
    text + &unresolved(losses, &periodic_losses(rows), interrupted, page)
}

/// Returns the periods that were searched for and not found.
fn unresolved(losses: &LossesRow, found: &[&PeriodicLossRow], interrupted: bool, page: &Page) -> String {
    // An interrupted search does not show that a period is absent.
    let resolved = if interrupted { "resolved before the interruption" } else { "resolved" };
    let rate = losses.gaps as f64 / losses.watched_s.max(f64::MIN_POSITIVE);
    let words = match losses.kernel_hz {
        Some(hz) if !found.iter().any(|loss| loss.is_kernel_tick) => {
            format!("the kernel's timer tick, HZ={hz}: not {resolved} among {rate:.0} gaps/s")
        }
        None if found.is_empty() => format!("no period is {resolved} among {rate:.0} gaps/s"),
        _ => return String::new(),
    };
    terminal::wrapped(" ", "   ", &words, page)
}

fn tick(found: &PeriodicLossRow, kernel_hz: Option<u32>) -> String {
    match kernel_hz {
        Some(hz) if found.is_kernel_tick => format!("; HZ={hz}"),
        Some(hz) if (found.frequency_hz / f64::from(hz) - 1.0).abs() < 0.01 => "; as often as HZ".to_owned(),
        Some(_) => "; not HZ".to_owned(),
        None => String::new(),
    }
}

/// Writes `within 0.031 ppm`; if the error exceeds its uncertainty, both.
fn conversion_error(clock: &ClockRow) -> String {
    ppm_within(clock.conversion_error_ppm, clock.conversion_uncertainty_ppm)
}

fn ppm_within(error: f64, known: Option<f64>) -> String {
    match known {
        Some(known) if error.abs() <= known => format!("within {}", ppm(known)),
        Some(known) => format!("{} ± {}", ppm(error), ppm(known)),
        // An older record does not have the uncertainty.
        None => format!("{error:+.2} ppm"),
    }
}

pub fn section(rows: &[Row]) -> Section {
    Section {
        experiment: "clock",
        title: "The clock".into(),
        findings: rows.iter().filter_map(finding).map(Statement::from).collect(),
        figures: [figures(rows), curve_figure(rows)].into_iter().flatten().collect(),
        histograms: Vec::new(),
    }
}

fn finding(row: &Row) -> Option<String> {
    match row {
        Row::Clock(clock) => Some(format!(
            "Reading the clock takes {}; it advances {}.",
            nanoseconds(clock.read_cost_ns),
            clock.step_words()
        )),
        Row::Losses(losses) => Some(format!(
            "A loop that only reads the clock lost {} of CPU {} to the system; the longest interruption took {}.",
            percent(losses.lost_share),
            losses.cpu,
            nanoseconds(losses.longest_us * 1e3)
        )),
        Row::PeriodicLoss(loss) if loss.is_kernel_tick => Some(format!(
            "The kernel's timer tick interrupts {:.0} times per second, for {} each (median).",
            loss.frequency_hz,
            nanoseconds(loss.median_gap_us * 1e3)
        )),
        _ => None,
    }
}

fn figures(rows: &[Row]) -> Option<Figure> {
    let lines: Vec<Vec<String>> = rows.iter().flat_map(lines).collect();
    let table =
        Table { caption: "Clock and calibrated busy loop".into(), header: vec!["figure", "value"], rows: lines };
    let figure = Figure {
        title: "Cost and resolution of the clock".into(),
        picture: Picture::None,
        tables: vec![table],
        secondary: false,
    };
    (!figure.tables[0].rows.is_empty()).then_some(figure)
}

fn lines(row: &Row) -> Vec<Vec<String>> {
    let line = |name: String, value: String| vec![name, value];
    match row {
        Row::Clock(clock) => vec![
            line("unordered read, mean".into(), nanoseconds(clock.read_cost_ns)),
            line("unordered read, p99".into(), nanoseconds(clock.read_p99_ns)),
            line("ordered read, mean".into(), nanoseconds(clock.ordered_read_cost_ns)),
            line("unordered read, core exclusive, median".into(), optional(clock.read_cost_ns_alone, Unit::Ns)),
            line("unordered read, core shared, median".into(), optional(clock.read_cost_ns_shared, Unit::Ns)),
            line("core shared, share of time".into(), optional(clock.core_shared_share, Unit::Share)),
            line("resolution".into(), clock.resolution_ns.map_or_else(|| "not resolved".to_owned(), nanoseconds)),
            line("conversion error".into(), conversion_error(clock)),
            line("backward steps".into(), clock.backward_steps.to_string()),
        ],
        Row::Agreement(pair) => vec![line(
            format!("offset of CPU {} from CPU {}", pair.cpu, pair.reference_cpu),
            format!("{} to {}", nanoseconds(pair.offset_low_ns), nanoseconds(pair.offset_high_ns)),
        )],
        Row::Grind(grind) => vec![line("load from the L1 cache".into(), nanoseconds(grind.load_ns))],
        Row::GrindCheck(check) => vec![line(
            format!("busy loop of {}: best, median", nanoseconds(check.requested_us * 1e3)),
            format!("{}, {}", nanoseconds(check.best_us * 1e3), nanoseconds(check.median_us * 1e3)),
        )],
        Row::Losses(losses) => {
            vec![line(format!("time lost on CPU {}", losses.cpu), percent(losses.lost_share))]
        }
        Row::PeriodicLoss(loss) => vec![line(
            format!("periodic loss every {}", nanoseconds(loss.period_us * 1e3)),
            format!(
                "{} each, seen at {} of periods",
                nanoseconds(loss.median_gap_us * 1e3),
                percent(loss.presence_share)
            ),
        )],
        Row::Slice(_) => Vec::new(),
    }
}

fn curve_figure(rows: &[Row]) -> Option<Figure> {
    if rows.is_empty() {
        return None;
    }
    // A run that was interrupted before its windows has no point.
    let slices = slices(rows);
    let best = slices.iter().map(|slice| Point::new(slice.slice_us * 1e3, slice.best_mhz));
    let median =
        slices.iter().map(|slice| Point::with_interval(slice.slice_us * 1e3, slice.median_mhz, slice.median_ci_mhz));
    let series = vec![
        Series { name: "best run".into(), mark: Mark::Line, points: best.collect() },
        Series { name: "median".into(), mark: Mark::Line, points: median.collect() },
    ];
    Some(Figure {
        title: "Effective speed by length of the work".into(),
        picture: Picture::Plot(Plot {
            x: Axis { label: "length of the work", unit: Unit::Ns, logarithmic: true },
            y: Axis { label: "effective MHz", unit: Unit::Mhz, logarithmic: false },
            series,
        }),
        tables: vec![by_length(&slices)],
        secondary: false,
    })
}

fn by_length(slices: &[&SliceRow]) -> Table {
    let line = |slice: &&SliceRow| {
        vec![
            nanoseconds(slice.slice_us * 1e3),
            slice.runs.to_string(),
            Unit::Mhz.words(slice.best_mhz),
            Unit::Mhz.words_with(slice.median_mhz, slice.median_ci_mhz),
            optional(slice.median_mhz_alone, Unit::Mhz),
            optional(slice.core_shared_share, Unit::Share),
        ]
    };
    Table {
        caption: "Effective speed by length of the work".into(),
        header: vec!["length", "runs", "best", "median (95 % CI)", "core exclusive, median", "core shared"],
        rows: slices.iter().map(line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviating_length_is_reported_without_a_cause() {
        let of = |best_us: f64, holds| CheckRow { requested_us: 800.0, best_us, median_us: best_us, holds };
        assert_eq!(verdict(&of(740.0, false)), "7.5 % too short, unexplained");
        assert_eq!(verdict(&of(844.0, false)), "5.5 % too long, unexplained");
        assert_eq!(verdict(&of(801.0, true)), "within 1 % or 20 ns");
    }

    #[test]
    fn tick_is_named_only_when_present() {
        let losses = LossesRow {
            cpu: 0,
            watched_s: 2.0,
            threshold_ns: 160.0,
            gaps: 500,
            lost_share: 0.002,
            longest_us: 35.0,
            kernel_hz: Some(250),
        };
        let comb = |frequency_hz: f64, is_kernel_tick| {
            Row::PeriodicLoss(PeriodicLossRow {
                period_us: 1e6 / frequency_hz,
                frequency_hz,
                gaps: 400,
                median_gap_us: 8.0,
                presence_share: 1.0,
                is_kernel_tick,
                folded_gap_us: is_kernel_tick.then_some(8.1),
            })
        };
        let text = sections(&[Row::Losses(losses), comb(250.0, true), comb(100.0, false)], false, &Page::plain());
        assert!(text.contains("every 4.00 ms (250.0 Hz)") && text.contains("; HZ=250"), "{text}");
        assert!(text.contains("; HZ=250\n    median of the same gaps folded at HZ: 8.10 µs\n"), "{text}");
        assert_eq!(text.matches("folded").count(), 1, "{text}");
        assert!(text.contains("every 10.0 ms (100.0 Hz)") && text.contains("; not HZ"), "{text}");
        assert!(!text.contains("not resolved"), "{text}");
        let text = sections(&[Row::Losses(losses), comb(100.0, false)], false, &Page::plain());
        assert!(text.contains("the kernel's timer tick, HZ=250: not resolved among 250 gaps/s"), "{text}");
        let unknown = LossesRow { kernel_hz: None, ..losses };
        let text = sections(&[Row::Losses(unknown)], false, &Page::plain());
        assert!(text.contains("no period is resolved among 250 gaps/s"), "{text}");
    }

    #[test]
    fn no_rows_have_no_text() {
        assert_eq!(sections(&[], false, &Page::plain()), "");
    }

    #[test]
    fn an_error_within_its_uncertainty_is_a_bound() {
        assert_eq!(ppm_within(-0.0039, Some(0.031)), "within 0.031 ppm");
        assert_eq!(ppm_within(-0.512, Some(0.031)), "-0.51 ppm ± 0.031 ppm");
        assert_eq!(ppm_within(-0.0039, None), "-0.00 ppm");
    }

    #[test]
    fn search_without_a_result_fits_the_page_whatever_its_values() {
        let losses = |kernel_hz| LossesRow {
            cpu: 0,
            watched_s: 1e-3,
            threshold_ns: 160.0,
            gaps: 123_456_789,
            lost_share: 0.5,
            longest_us: 35.0,
            kernel_hz,
        };
        for kernel_hz in [Some(1_000), None] {
            let text = sections(&[Row::Losses(losses(kernel_hz))], true, &Page::plain());
            assert!(text.contains("resolved before the interruption among"), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
    }
}
