//! The clock, and the time that the system takes from a loop that only works.

use super::record::{Row, SliceRow};
use super::show::conversion_error;
use record::{Axis, Figure, Mark, Picture, Plot, Point, Section, Series, Statement, Table, Unit, optional};
use terminal::{nanoseconds, percent};

pub fn section(rows: &[Row]) -> Section {
    Section {
        experiment: "clock",
        title: "The clock".into(),
        findings: rows.iter().filter_map(finding).map(Statement::from).collect(),
        figures: [figures(rows), curve(rows)].into_iter().flatten().collect(),
        histograms: Vec::new(),
    }
}

fn finding(row: &Row) -> Option<String> {
    match row {
        Row::Clock(clock) => Some(format!(
            "Reading the clock takes {}; it advances in steps of {}.",
            nanoseconds(clock.read_cost_ns),
            nanoseconds(clock.resolution_ns)
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
            line("resolution".into(), nanoseconds(clock.resolution_ns)),
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

fn curve(rows: &[Row]) -> Option<Figure> {
    let slices: Vec<_> =
        rows.iter().filter_map(|row| if let Row::Slice(slice) = row { Some(slice) } else { None }).collect();
    if slices.is_empty() {
        return None;
    }
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
