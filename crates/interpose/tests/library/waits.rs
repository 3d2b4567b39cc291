//! Waits: how long, who had the lock, and where.

use super::run;
use interpose::{Event, Level};
use std::sync::atomic::Ordering::Relaxed;

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
fn who_waits_in_vain_knows_who_has_the_lock_and_where_it_was_taken() {
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
fn a_semaphore_that_is_waited_for_at_two_places_has_the_waits_of_each() {
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
