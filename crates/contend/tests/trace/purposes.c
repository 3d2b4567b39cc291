// Threads that wait at a word, for a lock or for work, by functions whose names the builds choose: the names say nothing.
//   locked    a lock of the program's own, made of a word; the holder sleeps in store_page
//   gated     a lock made of a mutex and a condition; the holder sleeps in store_page
//   idle      workers of a healthy pool wait for jobs at a word of the program's own
//   told      workers wait for jobs at a condition
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef ENTER
#define ENTER enter
#define LEAVE leave
#define NEXT next
#endif

enum { WORKERS = 4, ROUNDS = 250, JOBS = 400 };

static atomic_int page_state, jobs;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t page_gate = PTHREAD_COND_INITIALIZER, job_bell = PTHREAD_COND_INITIALIZER;
static int is_taken, queued, is_over;
static long stored;

static void pause_us(long us) {
    struct timespec time = {0, us * 1000};
    nanosleep(&time, NULL);
}

static void futex(atomic_int *word, int operation, int value) {
    syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

__attribute__((noinline)) static void ENTER(void) {
    int before = 0;
    if (atomic_compare_exchange_strong(&page_state, &before, 1)) return;
    while (atomic_exchange(&page_state, 2) != 0) futex(&page_state, FUTEX_WAIT_PRIVATE, 2);
}

__attribute__((noinline)) static void LEAVE(void) {
    if (atomic_exchange(&page_state, 0) == 2) futex(&page_state, FUTEX_WAKE_PRIVATE, 1);
}

__attribute__((noinline)) static void store_page(void) {
    pause_us(2000);
    stored++;
}

static void *locked(void *unused) {
    for (int round = 0; round < ROUNDS; round++) {
        ENTER();
        store_page();
        LEAVE();
        pause_us(100);
    }
    return unused;
}

static void *gated(void *unused) {
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&mutex);
        while (is_taken) pthread_cond_wait(&page_gate, &mutex);
        is_taken = 1;
        pthread_mutex_unlock(&mutex);
        store_page();
        pthread_mutex_lock(&mutex);
        is_taken = 0;
        pthread_cond_signal(&page_gate);
        pthread_mutex_unlock(&mutex);
        pause_us(100);
    }
    return unused;
}

__attribute__((noinline)) static int NEXT(void) {
    for (;;) {
        int left = jobs;
        if (left < 0) return 0;
        if (left > 0 && atomic_compare_exchange_strong(&jobs, &left, left - 1)) return 1;
        if (left == 0) futex(&jobs, FUTEX_WAIT_PRIVATE, 0);
    }
}

static void *idle(void *unused) {
    while (NEXT()) pause_us(300);
    return unused;
}

static void *told(void *unused) {
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (!queued && !is_over) pthread_cond_wait(&job_bell, &mutex);
        int ends = !queued;
        if (!ends) queued--;
        pthread_mutex_unlock(&mutex);
        if (ends) return unused;
        pause_us(300);
    }
}

static void give_jobs(int by_condition) {
    for (int job = 0; job < JOBS; job++) {
        pause_us(5000);
        if (by_condition) {
            pthread_mutex_lock(&mutex);
            queued++;
            pthread_cond_signal(&job_bell);
            pthread_mutex_unlock(&mutex);
        } else {
            atomic_fetch_add(&jobs, 1);
            futex(&jobs, FUTEX_WAKE_PRIVATE, 1);
        }
    }
    pthread_mutex_lock(&mutex);
    is_over = 1;
    pthread_cond_broadcast(&job_bell);
    pthread_mutex_unlock(&mutex);
    atomic_store(&jobs, -1);
    futex(&jobs, FUTEX_WAKE_PRIVATE, WORKERS);
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "locked";
    void *(*begin)(void *) = !strcmp(what, "gated") ? gated : !strcmp(what, "idle") ? idle : !strcmp(what, "told") ? told : locked;
    pthread_t threads[WORKERS];
    for (int each = 0; each < WORKERS; each++) pthread_create(&threads[each], NULL, begin, NULL);
    if (begin == idle || begin == told) give_jobs(begin == told);
    for (int each = 0; each < WORKERS; each++) pthread_join(threads[each], NULL);
    printf("%ld\n", stored);
    return 0;
}
