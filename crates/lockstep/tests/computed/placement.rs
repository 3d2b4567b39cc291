//! Ranks are spread over what their launcher lets them use.

use lockstep::placement::{Allowed, assigned};

fn allowed(host: &str, cpus: &[usize]) -> Allowed {
    Allowed { host: host.to_owned(), cpus: cpus.to_vec() }
}

fn of(ranks: &[Allowed]) -> Vec<usize> {
    assigned(ranks).into_iter().map(Option::unwrap).collect()
}

#[test]
fn unbound_ranks_are_spread_evenly_on_each_machine() {
    let ranks: Vec<Allowed> = (0..5).map(|_| allowed("a", &[0, 1])).chain([allowed("b", &[0, 1])]).collect();
    assert_eq!(of(&ranks), [0, 1, 0, 1, 0, 0]);
}

#[test]
fn bound_rank_stays_and_other_ranks_avoid_its_cpu() {
    assert_eq!(of(&[allowed("a", &[1]), allowed("a", &[0, 1]), allowed("a", &[1, 2])]), [1, 0, 2]);
    assert_eq!(assigned(&[allowed("a", &[])]), [None]);
}
