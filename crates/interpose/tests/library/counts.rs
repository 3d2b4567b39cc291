//! Threads and locks that come and go, are cancelled or interrupted: no count is lost. Waits: how long, who had the
//! lock, and where. Locks that are taken within others: each order is noted once, however fast the way that they take.

use super::{HEAD, compiled, run, run_with};
use interpose::{Event, Kind, LONG_TICKS, Level, Memory};
use std::sync::atomic::Ordering::Relaxed;

#[test]
fn places_of_threads_that_ended_are_used_again_and_lose_nothing() {
    let body = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        static void *work(void *_) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return 0; }
        int main() { pthread_t t; for (int i = 0; i < 3000; i++) { CHECK(pthread_create(&t, 0, work, 0) == 0);
            pthread_join(t, 0); } return 0; }";
    let Some(watched) = run(body, Level::Sampled) else { return };
    watched.ended_well();
    assert_eq!(watched.acquisitions(), 3_000);
    assert!(watched.memory.region().threads().count() < 10);
}

/// Locks more mutexes than a thread's first table has room for, once each and then in another order. Their addresses
/// differ with each run, and so do their collisions.
#[test]
fn thousands_of_locks_of_one_thread_are_counted_one_by_one() {
    let body = "enum { N = 10600 }; static pthread_mutex_t m[N]; int main() {
        for (int i = 0; i < N; i++) pthread_mutex_init(m + i, 0);
        for (int i = 0; i < 3 * N; i++) { int n = i * 7 % N; pthread_mutex_lock(m + n); pthread_mutex_unlock(m + n); }
        return 0; }";
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(&folder, &[HEAD, body].concat(), &[]) else { return };
    for _ in 0..10 {
        let watched = run_with(program.clone(), Memory::new(Level::Sampled, None).unwrap(), None);
        watched.ended_well();
        let region = watched.memory.region();
        assert_eq!(region.header.locks.load(Relaxed), 10_600);
        assert!(region.pairs().all(|(place, _)| region.acquisitions(place) == 3));
        assert_eq!(watched.acquisitions(), 31_800);
        // The first of three holds is timed, and the others only if it was long: by chance, on a busy machine.
        let once = region.pairs().filter(|(_, pair)| pair.holds.count.load(Relaxed) == 1).count();
        assert!(once > 10_600 * 9 / 10, "{once}");
    }
}

#[test]
fn new_lock_at_a_destroyed_ones_address_keeps_both_counts() {
    let body = "static pthread_mutex_t m; static void times(int n) {
            pthread_mutex_init(&m, 0); while (n--) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); }
            pthread_mutex_destroy(&m); }
        int main() { times(70); times(11); times(5); return 0; }";
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(&folder, &[HEAD, body].concat(), &[]) else { return };
    for _ in 0..10 {
        let watched = run_with(program.clone(), Memory::new(Level::Sampled, None).unwrap(), None);
        watched.ended_well();
        let region = watched.memory.region();
        let counts: Vec<u64> = region.pairs().map(|(place, _)| region.acquisitions(place)).collect();
        assert_eq!(counts, [70, 11, 5]);
        // After a long hold more are timed: by chance, on a busy machine.
        if region.pairs().all(|(_, pair)| pair.holds.most.load(Relaxed) < LONG_TICKS) {
            let timed = watched.sum(|pair| pair.holds.count.load(Relaxed));
            return assert_eq!(timed, 4, "one in 64, and of each the first");
        }
    }
    panic!("in each of ten runs a hold was long");
}

#[test]
fn thread_cancelled_in_a_wait_leaves_counts_whole() {
    let body =
        "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
        static int cleaned; static void clean(void *_) { cleaned = 1; pthread_mutex_unlock(&m); }
        static void *work(void *_) { pthread_mutex_lock(&m); pthread_cleanup_push(clean, 0);
            for (;;) pthread_cond_wait(&c, &m); pthread_cleanup_pop(1); return 0; }
        int main() { pthread_t t; void *r; for (int i = 0; i < 20; i++) { cleaned = 0; pthread_create(&t, 0, work, 0);
            usleep(2000); pthread_cancel(t); pthread_join(t, &r); CHECK(r == PTHREAD_CANCELED && cleaned);
            CHECK(pthread_mutex_trylock(&m) == 0); pthread_mutex_unlock(&m); } return 0; }";
    let Some(watched) = run(body, Level::Full) else { return };
    watched.ended_well();
    assert_eq!(watched.acquisitions(), 40);
}

#[test]
fn posting_signal_handlers_lose_and_block_nothing() {
    let body = "static sem_t s; static volatile long posts; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        static void handler(int _) { posts++; sem_post(&s); }
        int main() { sem_init(&s, 0, 0); signal(SIGALRM, handler); ualarm(500, 500); pthread_mutex_t many[64];
            for (int i = 0; i < 64; i++) pthread_mutex_init(many + i, 0); time_t end = time(0) + 2; long n = 0;
            while (time(0) < end) { pthread_mutex_lock(many + n % 64); pthread_mutex_unlock(many + n % 64); n++; }
            ualarm(0, 0); long got = 0; while (sem_trywait(&s) == 0) got++; CHECK(got == posts);
            printf(\"%ld\\n\", n); return 0; }";
    let Some(watched) = run(body, Level::Full) else { return };
    watched.ended_well();
    let region = watched.memory.region();
    let mutexes = region.pairs().filter(|(_, pair)| pair.kind.load(Relaxed) == Kind::Mutex as u32);
    let taken: u64 = mutexes.map(|(place, _)| region.acquisitions(place)).sum();
    assert_eq!(taken, watched.said()[0]);
}

#[test]
fn waits_are_timed_and_know_who_had_the_lock() {
    let body = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        static void *work(void *_) { pthread_mutex_lock(&m); usleep(50000); pthread_mutex_unlock(&m); return 0; }
        int main() { pthread_t t; pthread_create(&t, 0, work, 0); usleep(10000); pthread_mutex_lock(&m);
            pthread_mutex_unlock(&m); pthread_join(t, 0); return 0; }";
    let Some(watched) = run(body, Level::Full) else { return };
    watched.ended_well();
    let region = watched.memory.region();
    let events = region.threads().flat_map(|thread| &thread.ring[..thread.head.load(Relaxed) as usize]);
    let (holds, waits): (Vec<_>, Vec<_>) = events.partition(|event| event.pair.load(Relaxed) & Event::HOLD != 0);
    let ([hold], [event]) = (&holds[..], &waits[..]) else { panic!("{} holds, {} waits", holds.len(), waits.len()) };
    assert_eq!(hold.began.load(Relaxed), 0, "it began before anybody waited");
    assert_eq!(hold.ended.load(Relaxed), event.released.load(Relaxed));
    let (holder, _) = interpose::holder::parts(event.holder.load(Relaxed)).expect("somebody had it");
    assert_ne!(holder, event.thread.load(Relaxed));
    let [began, released, ended] = [&event.began, &event.released, &event.ended].map(|word| word.load(Relaxed));
    assert!(began < released && released < ended, "{began} {released} {ended}");
    let waits = region.pairs().map(|(place, _)| region.waits[place as usize].count.load(Relaxed));
    assert_eq!(waits.sum::<u64>(), 1);
}

#[test]
fn timed_out_waiter_knows_holder_and_call_site() {
    let body = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        static void *work(void *_) { pthread_mutex_lock(&m); usleep(60000); pthread_mutex_unlock(&m); return 0; }
        int main() { pthread_t t; pthread_create(&t, 0, work, 0); usleep(10000); struct timespec end;
            clock_gettime(CLOCK_REALTIME, &end); end.tv_nsec += 10000000;
            if (end.tv_nsec >= 1000000000) { end.tv_nsec -= 1000000000; end.tv_sec++; }
            CHECK(pthread_mutex_timedlock(&m, &end) != 0); pthread_join(t, 0); return 0; }";
    let Some(watched) = run(body, Level::Sampled) else { return };
    watched.ended_well();
    let region = watched.memory.region();
    let mut events = region.threads().flat_map(|thread| &thread.ring[..thread.head.load(Relaxed) as usize]);
    let event = events.find(|event| event.pair.load(Relaxed) & Event::IN_VAIN != 0).expect("it did not get it");
    let (holder, pair) = interpose::holder::parts(event.holder.load(Relaxed)).expect("somebody had it");
    assert_ne!(holder, event.thread.load(Relaxed));
    let own = region.pairs[(event.pair.load(Relaxed) & !Event::IN_VAIN) as usize - 1].site.load(Relaxed);
    let taken_at = region.pairs.get(pair as usize).map(|pair| pair.site.load(Relaxed));
    assert!(taken_at.is_some_and(|site| site != 0 && site != own), "{taken_at:x?} {own:x}");
}

#[test]
fn semaphore_has_the_waits_of_each_of_two_places() {
    let body = "static sem_t s; static volatile int asked; __attribute__((noinline)) static void here(void) {
            asked++; sem_wait(&s); asked += 0; }
        __attribute__((noinline)) static void there(void) { asked++; sem_wait(&s); asked += 0; }
        static void *work(void *_) { for (int i = 1; i <= 8; i++) { while (asked < i) usleep(100);
            usleep(20000); sem_post(&s); } return 0; }
        int main() { sem_init(&s, 0, 0); pthread_t t; pthread_create(&t, 0, work, 0);
            for (int i = 0; i < 5; i++) here(); for (int i = 0; i < 3; i++) there(); pthread_join(t, 0); return 0; }";
    let Some(watched) = run(body, Level::Sampled) else { return };
    watched.ended_well();
    let region = watched.memory.region();
    let waiting = |(place, _)| (region.acquisitions(place), region.waits[place as usize].count.load(Relaxed));
    let mut counts: Vec<(u64, u64)> = region.pairs().map(waiting).filter(|(taken, _)| *taken > 0).collect();
    counts.sort();
    assert_eq!(counts, [(3, 3), (5, 5)]);
}

const TAKEN: &str = "#define M PTHREAD_MUTEX_INITIALIZER
    static void in(pthread_mutex_t *o, pthread_mutex_t *i) { pthread_mutex_lock(o); pthread_mutex_lock(i);
        pthread_mutex_unlock(i); pthread_mutex_unlock(o); }
    static void again(pthread_mutex_t *m) { pthread_mutex_destroy(m); pthread_mutex_init(m, 0); }\n";

/// Returns the number of orders that are noted for `body`, of which this number of acquisitions is counted.
fn orders(body: &str, acquisitions: u64) -> Option<usize> {
    let watched = run(&[TAKEN, body].concat(), Level::Sampled)?;
    watched.ended_well();
    assert_eq!(watched.acquisitions(), acquisitions);
    assert_eq!(watched.memory.region().header.lost_edges.load(Relaxed), 0);
    Some(watched.memory.region().edges().count())
}

#[test]
fn order_is_noted_after_a_thousand_other_acquisitions() {
    let body = "static pthread_mutex_t a = M, b = M, c[20]; int main() {
        for (int i = 0; i < 20; i++) pthread_mutex_init(c + i, 0);
        for (int i = 0; i < 1000; i++) in(&a, &b);
        for (int i = 0; i < 60; i++) in(&a, c + i % 20);
        in(&b, &a); return 0; }";
    let Some(orders) = orders(body, 2_122) else { return };
    assert_eq!(orders, 1 + 20 + 1);
}

#[test]
fn new_lock_at_a_destroyed_ones_address_has_its_own_orders() {
    let body = "static pthread_mutex_t a = M, b = M; int main() {
        for (int i = 0; i < 3; i++, again(&a)) for (int n = 0; n < 10; n++) in(&a, &b);
        for (int i = 0; i < 4; i++, again(&b)) for (int n = 0; n < 10; n++) in(&a, &b); return 0; }";
    let Some(orders) = orders(body, 140) else { return };
    assert_eq!(orders, 3 + 4);
}

#[test]
fn release_in_another_order_keeps_nested_locks() {
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
