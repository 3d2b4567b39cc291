//! "The lightest lightweight threads, Protothreads", eigenclass.org, 2008: the thread ring.

use super::record::Row;
use super::then::{HOPS as HOPS_2008, table as table_2008};
use record::{ThenAndNow, Unit};

/// The lines whose programs are here: the same sources, another machine.
const PROGRAMS: [(&str, &str); 3] = [
    ("c-protothreads-optimum", "a hop, protothreads in order"),
    ("c-protothreads-pessimum", "a hop, protothreads in reverse"),
    ("c-pthread-mutex", "a hop, POSIX threads"),
];

pub fn figures(rows: &[(usize, &Row)]) -> Vec<ThenAndNow> {
    if rows.is_empty() {
        return Vec::new();
    }
    let table = table_2008();
    let of = |(program, figure): (&str, &str)| {
        let then = table.iter().find(|line| line.today.as_deref() == Some(program))?;
        let row = rows.iter().map(|(_, row)| row).find(|row| row.contestant == program);
        let today = row.and_then(|row| row.hop());
        let compared = ThenAndNow::new(2008, figure, Unit::Ns, then.time_s * 1e9 / HOPS_2008, today);
        Some(compared.or("not measured"))
    };
    PROGRAMS.into_iter().filter_map(of).collect()
}
