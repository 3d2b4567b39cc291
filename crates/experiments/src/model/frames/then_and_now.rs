//! The same page of 1999: what it computed of a game's frames, and what comes out today.

use super::record::Row;
use instruments::statistics::comparison::Estimate;
use record::{ThenAndNow, Unit};

pub fn figures(rows: &[(usize, &Row)]) -> Vec<ThenAndNow> {
    rows.iter().filter_map(|(_, row)| of(row)).collect()
}

fn of(row: &Row) -> Option<ThenAndNow> {
    let figure =
        |name: String, unit, then, today: f64| ThenAndNow::new(1999, &name, unit, then, Some(Estimate::from(today)));
    match row {
        Row::Any(any) => {
            let name = "frames from loss to loss, computed".to_owned();
            Some(figure(name, Unit::Number, any.then_every_frames?, any.every_frames?))
        }
        Row::Lost(lost) => {
            let compared = figure(name(lost.lost_quanta), Unit::Share, lost.then_probability?, lost.probability);
            Some(if lost.lost_quanta == 0 { compared } else { compared.detail() })
        }
        Row::MoreThan(_) | Row::Animation(_) => None,
    }
}

fn name(lost_quanta: u64) -> String {
    match lost_quanta {
        0 => "frames without a loss, computed".to_owned(),
        1 => "frames that lose 1 quantum, computed".to_owned(),
        several => format!("frames that lose {several} quanta, computed"),
    }
}
