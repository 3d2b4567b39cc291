/* Programs whose answer is known: WISH ROUNDS HOLD OTHER, times in us; `grind` or `sleep` before them says how time
   passes. `limits`: three threads and one lock. `quiet`: a lock that one of two threads has, and the other is later
   by itself.
   `crowd`: `limits` with eight threads. `seldom`: `limits`, but in each fourth run, which a FILE counts, nothing at all.
   `many`: ROUNDS locks, each taken once, and before them the first.
   `hides`: four threads, a lock of HOLD us, and behind it one of OTHER us. `uneven`: `limits`, and then 5 ms longer in
   each run, which a FILE counts. `clock`: two threads and one lock, until the program's clock says ROUNDS ms. Says its
   rate, and how long it took. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static int grinds, rounds, hold, other;
static const char *wish;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void grind_us(int us) {
    struct timespec begin, time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (volatile int i = 0; i < 200; i++);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    } while ((time.tv_sec - begin.tv_sec) * 1000000 + (time.tv_nsec - begin.tv_nsec) / 1000 < us);
}

static void pass(int us) {
    if (us <= 0) return;
    if (grinds) grind_us(us);
    else usleep(us);
}

static void section(pthread_mutex_t *lock, int us) {
    pthread_mutex_lock(lock);
    pass(us);
    pthread_mutex_unlock(lock);
}

static double until;
static long counts[8];

static void *by_the_clock(void *place) {
    while (now() < until) {
        section(&first, hold);
        pass(other);
        counts[(long)place]++;
    }
    return 0;
}

static void *work(void *place) {
    int is_later = place == (void *)0;
    for (int i = 0; i < rounds; i++) {
        if (!strcmp(wish, "limits") || !strcmp(wish, "crowd")) { section(&first, hold); pass(other); }
        if (!strcmp(wish, "hides")) { section(&first, hold); section(&second, other); }
        if (!strcmp(wish, "quiet")) {
            if (is_later) section(&second, 6 * other);
            else { section(&first, hold); pass(other); }
        }
    }
    return 0;
}

static int many(void) {
    pthread_mutex_t *locks = calloc(rounds, sizeof *locks);
    for (int i = 0; i < 3; i++) section(&first, 20000);
    for (int i = 0; i < rounds; i++) section(locks + i, 0);
    return 0;
}

static long counted(const char *path) {
    FILE *file = fopen(path, "a");
    fputc('x', file);
    long count = ftell(file);
    fclose(file);
    return count;
}

int main(int count, char **arguments) {
    if (count < 6) return 2;
    grinds = !strcmp(arguments[1], "grind");
    wish = arguments[2];
    rounds = atoi(arguments[3]), hold = atoi(arguments[4]), other = atoi(arguments[5]);
    if (!strcmp(wish, "many")) return many();
    if (!strcmp(wish, "uneven")) wish = "limits", usleep(5000 * counted(arguments[6]));
    if (!strcmp(wish, "seldom")) wish = counted(arguments[6]) % 4 == 0 ? "nothing" : "limits";
    int threads = !strcmp(wish, "limits") ? 3 : !strcmp(wish, "hides") ? 4 : !strcmp(wish, "crowd") ? 8 : 2;
    pthread_t all[8];
    double began = now();
    int is_clock = !strcmp(wish, "clock");
    until = began + rounds / 1e3;
    for (long i = 0; i < threads; i++) pthread_create(all + i, 0, is_clock ? by_the_clock : work, (void *)i);
    for (int i = 0; i < threads; i++) pthread_join(all[i], 0);
    long count_of_all = is_clock ? counts[0] + counts[1] : threads * rounds;
    printf("rate %.3f per s\n", count_of_all / (now() - began));
    printf("took %.6f s\n", now() - began);
    return 0;
}
