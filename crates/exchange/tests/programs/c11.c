/* C11's mtx_* and cnd_*. */
#include "conform.h"

static int tries(void *m) { return mtx_trylock(m); }
static int frees(void *m) { return mtx_unlock(m); }
static int apart(int (*f)(void *), void *argument) {
    thrd_t thread;
    int result;
    thrd_create(&thread, f, argument);
    thrd_join(thread, &result);
    return result;
}
#define TOLD(text, code) (printf("%s: %s = %d\n", chapter, text, code), fflush(stdout))

static void mutexes(const char *name, int kind) {
    mtx_t m;
    struct timespec soon = in_ms(CLOCK_REALTIME, 20), wrong = {0, -1};
    chapter = name;
    TOLD("initialised", mtx_init(&m, kind));
    TOLD("locked", mtx_lock(&m));
    TOLD("tried by another", apart(tries, &m));
    if (kind & mtx_recursive) {
        TOLD("locked again", mtx_lock(&m));
        TOLD("tried again", mtx_trylock(&m));
        TOLD("timed again", mtx_timedlock(&m, &wrong));
        for (int i = 0; i < 3; i++) TOLD("freed", mtx_unlock(&m));
        TOLD("freed by another", apart(frees, &m));
    } else {
        TOLD("waited for by who has it", mtx_timedlock(&m, &soon));
        TOLD("by a time that is none", mtx_timedlock(&m, &wrong));
    }
    TOLD("freed for good", mtx_unlock(&m));
    TOLD("tried", mtx_trylock(&m));
    TOLD("freed", mtx_unlock(&m));
    mtx_destroy(&m);
}

static mtx_t m;
static cnd_t c;
static int ready;
static int waits(void *unused) {
    (void)unused;
    int code = mtx_lock(&m);
    while (!ready && code == thrd_success) code = cnd_wait(&c, &m);
    ready--;
    mtx_unlock(&m);
    return code;
}
static void conditions(void) {
    chapter = "conditions";
    struct timespec soon = in_ms(CLOCK_REALTIME, 20), wrong = {0, -1};
    thrd_t threads[3];
    int result, sum = 0;
    mtx_init(&m, mtx_timed);
    TOLD("initialised", cnd_init(&c));
    mtx_lock(&m);
    TOLD("a time that passes", cnd_timedwait(&c, &m, &soon));
    TOLD("a time that is none", cnd_timedwait(&c, &m, &wrong));
    mtx_unlock(&m);
    for (int i = 0; i < 3; i++) thrd_create(&threads[i], waits, 0);
    nap_ms(20);
    mtx_lock(&m);
    ready = 3;
    TOLD("signal", cnd_signal(&c));
    TOLD("broadcast", cnd_broadcast(&c));
    mtx_unlock(&m);
    for (int i = 0; i < 3; i++) thrd_join(threads[i], &result), sum += result;
    TOLD("all waits", sum);
    cnd_destroy(&c);
    mtx_destroy(&m);
}

int main(void) {
    mutexes("plain", mtx_plain);
    mutexes("timed", mtx_timed);
    mutexes("recursive", mtx_plain | mtx_recursive);
    mutexes("timed and recursive", mtx_timed | mtx_recursive);
    conditions();
    return 0;
}
