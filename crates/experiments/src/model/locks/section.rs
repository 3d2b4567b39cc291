//! The modelled locks on a page.

use super::record::{Row, curves};
use super::show::columns;
use record::{Axis, Figure, Mark, Picture, Plot, Point, Section, Series, Unit, column, distinct};

pub fn section(rows: &[Row]) -> Section {
    Section {
        experiment: "model",
        title: "Locks on many cores (model)".into(),
        findings: Vec::new(),
        figures: curves(rows).iter().map(|curve| figure(curve)).collect(),
        histograms: Vec::new(),
    }
}

fn figure(rows: &[&Row]) -> Figure {
    let is_measured = rows[0].measured.is_some();
    let along = |row: &Row| if is_measured { row.threads } else { row.cores } as f64;
    let of = |lock: &str| rows.iter().filter(move |row| row.lock == lock).copied().collect::<Vec<_>>();
    let mut series = Vec::new();
    for lock in distinct(rows, |row| row.lock.clone()) {
        let points = of(&lock)
            .into_iter()
            .map(|row| Point::with_interval(along(row), row.modelled_per_s, Some(row.modelled_range_per_s)));
        series.push(Series { name: format!("{lock}, modelled"), mark: Mark::Line, points: points.collect() });
        let measured = of(&lock).into_iter().filter_map(|row| {
            let measured = row.measured.as_ref()?;
            Some(Point::with_interval(along(row), measured.throughput_per_s, measured.throughput_ci))
        });
        let points: Vec<Point> = measured.collect();
        if !points.is_empty() {
            series.push(Series { name: format!("{lock}, measured"), mark: Mark::Points, points });
        }
    }
    let title = format!("Modelled throughput (not a measurement), {}", rows[0].work());
    Figure {
        title: title.clone(),
        picture: Picture::Plot(Plot {
            x: Axis { label: if is_measured { "threads" } else { "cores" }, unit: Unit::Number, logarithmic: true },
            y: Axis {
                label: if is_measured { "iterations/s" } else { "modelled iterations/s" },
                unit: Unit::PerS,
                logarithmic: true,
            },
            series,
        }),
        tables: vec![column::on_page(title, &columns(), rows.iter().copied())],
        secondary: false,
    }
}
