//! Locks that are taken within others: each order is noted once, however fast the way that they take.

use crate::run;
use interpose::Level;
use std::sync::atomic::Ordering::Relaxed;

const TAKEN: &str = "#define M PTHREAD_MUTEX_INITIALIZER
    static void in(pthread_mutex_t *o, pthread_mutex_t *i) { pthread_mutex_lock(o); pthread_mutex_lock(i);
        pthread_mutex_unlock(i); pthread_mutex_unlock(o); }
    static void again(pthread_mutex_t *m) { pthread_mutex_destroy(m); pthread_mutex_init(m, 0); }\n";

/// How many orders are noted of what `body` does, of which this many acquisitions are counted.
fn orders(body: &str, acquisitions: u64) -> Option<usize> {
    let watched = run(&[TAKEN, body].concat(), Level::Sampled)?;
    watched.ended_well();
    assert_eq!(watched.acquisitions(), acquisitions);
    assert_eq!(watched.memory.region().header.lost_edges.load(Relaxed), 0);
    Some(watched.memory.region().edges().count())
}

#[test]
fn an_order_is_noted_also_after_others_were_taken_a_thousand_times() {
    let body = "static pthread_mutex_t a = M, b = M, c[20]; int main() {
        for (int i = 0; i < 20; i++) pthread_mutex_init(c + i, 0);
        for (int i = 0; i < 1000; i++) in(&a, &b);
        for (int i = 0; i < 60; i++) in(&a, c + i % 20);
        in(&b, &a); return 0; }";
    let Some(orders) = orders(body, 2_122) else { return };
    assert_eq!(orders, 1 + 20 + 1);
}

#[test]
fn a_lock_that_comes_where_another_was_destroyed_has_orders_of_its_own() {
    let body = "static pthread_mutex_t a = M, b = M; int main() {
        for (int i = 0; i < 3; i++, again(&a)) for (int n = 0; n < 10; n++) in(&a, &b);
        for (int i = 0; i < 4; i++, again(&b)) for (int n = 0; n < 10; n++) in(&a, &b); return 0; }";
    let Some(orders) = orders(body, 140) else { return };
    assert_eq!(orders, 3 + 4);
}

#[test]
fn what_is_released_in_another_order_leaves_each_lock_what_was_taken_within_it() {
    // All are taken at one place, so that each is always the same to its thread.
    let body =
        "static pthread_mutex_t a = M, b = M, c = M; __attribute__((noinline)) static void take(pthread_mutex_t *m) {
            pthread_mutex_lock(m); __asm__ volatile(\"\"); }
        int main() { take(&a); take(&b); pthread_mutex_unlock(&a); take(&c);
            pthread_mutex_unlock(&c); pthread_mutex_unlock(&b);
            for (int i = 0; i < 3; i++) { take(&a); take(&c); pthread_mutex_unlock(&c); pthread_mutex_unlock(&a); }
            return 0; }";
    let Some(orders) = orders(body, 9) else { return };
    assert_eq!(orders, ["a b", "b c", "a c"].len());
}

#[test]
fn holds_within_others_are_timed_as_those_of_the_first() {
    let body = "static pthread_mutex_t a = M, b = M, c = M; int main() {
        for (int i = 0; i < 640; i++) { pthread_mutex_lock(&a); in(&b, &c); pthread_mutex_unlock(&a); } return 0; }";
    // One in 64, and after one that took long, by chance or for its first use of memory, some more.
    for (level, timed) in [(Level::Sampled, 10..64), (Level::Full, 640..641)] {
        let Some(watched) = run(&[TAKEN, body].concat(), level) else { return };
        watched.ended_well();
        let counts: Vec<u64> =
            watched.memory.region().pairs().map(|(_, pair)| pair.holds.count.load(Relaxed)).collect();
        assert!(counts.len() == 3 && counts.iter().all(|count| timed.contains(count)), "{counts:?}");
        assert_eq!(watched.memory.region().edges().count(), 3);
    }
}
