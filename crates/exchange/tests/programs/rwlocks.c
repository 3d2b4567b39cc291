/* pthread_rwlock_*: every kind, every way to take one, every error, readers that come twice, writers that wait. */
#include "conform.h"

static void *tries_to_read(void *l) { return (void *)(long)pthread_rwlock_tryrdlock(l); }
static void *tries_to_write(void *l) { return (void *)(long)pthread_rwlock_trywrlock(l); }
static void *reads_and_leaves(void *l) {
    int code = pthread_rwlock_rdlock(l);
    pthread_rwlock_unlock(l);
    return (void *)(long)code;
}
static void *writes_and_leaves(void *l) {
    int code = pthread_rwlock_wrlock(l);
    pthread_rwlock_unlock(l);
    return (void *)(long)code;
}
static struct timespec deadline;
static clockid_t deadline_clock;
static void *reads_by(void *l) {
    int code = deadline_clock == CLOCK_REALTIME ? pthread_rwlock_timedrdlock(l, &deadline)
                                                : pthread_rwlock_clockrdlock(l, deadline_clock, &deadline);
    if (!code) pthread_rwlock_unlock(l);
    return (void *)(long)code;
}
static void *writes_by(void *l) {
    int code = deadline_clock == CLOCK_REALTIME ? pthread_rwlock_timedwrlock(l, &deadline)
                                                : pthread_rwlock_clockwrlock(l, deadline_clock, &deadline);
    if (!code) pthread_rwlock_unlock(l);
    return (void *)(long)code;
}

static const int kinds[] = {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                            PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP};
static const char *names[] = {"prefers readers", "prefers writers in name", "prefers writers"};

static void make(pthread_rwlock_t *l, int kind, int shared) {
    pthread_rwlockattr_t a;
    pthread_rwlockattr_init(&a);
    pthread_rwlockattr_setkind_np(&a, kind);
    pthread_rwlockattr_setpshared(&a, shared);
    IS("initialised", pthread_rwlock_init(l, &a));
    pthread_rwlockattr_destroy(&a);
}

static void common(pthread_rwlock_t *l) {
    IS("read a free one", pthread_rwlock_rdlock(l));
    IS("another reads beside", elsewhere(reads_and_leaves, l));
    IS("another tries to read", elsewhere(tries_to_read, l));
    IS("it is freed for that one, which has ended", pthread_rwlock_unlock(l));
    IS("another tries to write what is read", elsewhere(tries_to_write, l));
    IS("so does who reads", pthread_rwlock_trywrlock(l));
    IS("free what was read", pthread_rwlock_unlock(l));
    IS("write a free one", pthread_rwlock_wrlock(l));
    IS("another tries to read what is written", elsewhere(tries_to_read, l));
    IS("another tries to write", elsewhere(tries_to_write, l));
    IS("who writes tries to read", pthread_rwlock_tryrdlock(l));
    IS("who writes tries to write", pthread_rwlock_trywrlock(l));
    IS("who writes reads", pthread_rwlock_rdlock(l));
    IS("who writes writes", pthread_rwlock_wrlock(l));
    IS("free what was written", pthread_rwlock_unlock(l));
    IS("another writes then", elsewhere(writes_and_leaves, l));
    IS("try to write a free one", pthread_rwlock_trywrlock(l));
    IS("and free it", pthread_rwlock_unlock(l));
    IS("try to read a free one", pthread_rwlock_tryrdlock(l));
    IS("and again", pthread_rwlock_tryrdlock(l));
    IS("free it once", pthread_rwlock_unlock(l));
    IS("it is read still", elsewhere(tries_to_write, l));
    IS("free it twice", pthread_rwlock_unlock(l));
    IS("it is free", pthread_rwlock_trywrlock(l));
    IS("and freed", pthread_rwlock_unlock(l));
}

/* How it answers a time, by both clocks, where it is free, read and written. */
static void times(pthread_rwlock_t *l) {
    for (int turn = 0; turn < 2; turn++) {
        clockid_t clock = deadline_clock = turn ? CLOCK_MONOTONIC : CLOCK_REALTIME;
        struct timespec wrong = in_ms(clock, 20), below = wrong, late = in_ms(clock, -20), old = {-1, 0};
        wrong.tv_nsec = 1000000000, below.tv_nsec = -1;
        const struct timespec *odd[] = {&wrong, &below, &late, &old};
        const char *why[] = {"too many nanoseconds", "too few", "passed", "before all time"};
        for (int held = 0; held < 3; held++) {
            if (held == 1) pthread_rwlock_rdlock(l);
            if (held == 2) pthread_rwlock_wrlock(l);
            for (int i = 0; i < 4; i++) {
                deadline = *odd[i];
                char text[80];
                snprintf(text, sizeof text, "%s, where it is %s", why[i], held == 0 ? "free" : held == 1 ? "read" : "written");
                IS(text, elsewhere(reads_by, l));
                IS(text, elsewhere(writes_by, l));
            }
            if (held) pthread_rwlock_unlock(l);
        }
        pthread_rwlock_wrlock(l);
        for (int i = 0; i < 2; i++) {
            deadline = in_ms(clock, 30);
            IS("it passes", elsewhere(i ? reads_by : writes_by, l));
            struct timespec now = in_ms(clock, 0);
            HOLDS("it has passed then", now.tv_sec > deadline.tv_sec || (now.tv_sec == deadline.tv_sec && now.tv_nsec >= deadline.tv_nsec));
        }
        deadline = in_ms(clock, 20);
        IS("who writes reads by a time", clock == CLOCK_REALTIME ? pthread_rwlock_timedrdlock(l, &deadline) : pthread_rwlock_clockrdlock(l, clock, &deadline));
        IS("who writes writes by one", clock == CLOCK_REALTIME ? pthread_rwlock_timedwrlock(l, &deadline) : pthread_rwlock_clockwrlock(l, clock, &deadline));
        IS("by a time that is none", pthread_rwlock_timedwrlock(l, &wrong));
        pthread_t others[2];
        void *result;
        deadline = in_ms(clock, 20000);
        pthread_create(&others[0], 0, reads_by, l);
        pthread_create(&others[1], 0, writes_by, l);
        nap_ms(20);
        pthread_rwlock_unlock(l);
        for (int i = 0; i < 2; i++) {
            pthread_join(others[i], &result);
            IS("it is freed in time", (int)(long)result);
        }
        IS("and is free then", pthread_rwlock_trywrlock(l));
        pthread_rwlock_unlock(l);
    }
    deadline = in_ms(CLOCK_REALTIME, 20);
    IS("by a clock that is none to wait by", pthread_rwlock_clockrdlock(l, CLOCK_THREAD_CPUTIME_ID, &deadline));
    IS("nor to write by", pthread_rwlock_clockwrlock(l, CLOCK_THREAD_CPUTIME_ID, &deadline));
}

/* Where readers go first, one that comes beside a writer that waits has it, whoever has it already. */
static void beside_a_writer_that_waits(pthread_rwlock_t *l, int readers_go_first) {
    pthread_t writer, reader;
    void *result;
    pthread_rwlock_rdlock(l);
    pthread_create(&writer, 0, writes_and_leaves, l);
    until_asleep(task_of(writer));
    IS("try to read beside a writer that waits", elsewhere(tries_to_read, l));
    if (readers_go_first) {
        pthread_rwlock_unlock(l);
        IS("read again", pthread_rwlock_rdlock(l));
        IS("leave once", pthread_rwlock_unlock(l));
        IS("another reads, while who reads waits for it", elsewhere(reads_and_leaves, l));
        deadline = in_ms(CLOCK_MONOTONIC, -20), deadline_clock = CLOCK_MONOTONIC;
        IS("by a time that has passed", elsewhere(reads_by, l));
    } else {
        deadline = in_ms(CLOCK_MONOTONIC, 30), deadline_clock = CLOCK_MONOTONIC;
        IS("by a time that passes", elsewhere(reads_by, l));
        pthread_t hasty;
        pthread_rwlock_t *other = malloc(sizeof *other);
        *other = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
        pthread_rwlock_rdlock(other);
        deadline = in_ms(CLOCK_MONOTONIC, 60), deadline_clock = CLOCK_MONOTONIC;
        pthread_create(&hasty, 0, writes_by, other);
        nap_ms(20);
        IS("read behind a writer that gives up, beside who reads", elsewhere(reads_and_leaves, other));
        pthread_join(hasty, &result);
        IS("it gave up", (int)(long)result);
        IS("and left nothing", elsewhere(tries_to_read, other));
        free(other);
        pthread_create(&reader, 0, reads_and_leaves, l);
        nap_ms(10);
    }
    pthread_rwlock_unlock(l);
    pthread_join(writer, &result);
    IS("it writes in the end", (int)(long)result);
    if (!readers_go_first) {
        pthread_join(reader, &result);
        IS("and the reader behind it reads", (int)(long)result);
    }
}

/* Writers exclude everybody, readers only them. */
static pthread_rwlock_t many;
static long words[2], torn;
static atomic_int most_readers, readers;
static void *looks(void *unused) {
    for (int i = 0; i < 3000; i++) {
        pthread_rwlock_rdlock(&many);
        int now = ++readers, most = most_readers;
        while (now > most && !atomic_compare_exchange_weak(&most_readers, &most, now)) {}
        if (words[0] != words[1]) torn++;
        if (i % 64 == 0) sched_yield();
        readers--;
        pthread_rwlock_unlock(&many);
    }
    return unused;
}
static void *changes(void *unused) {
    for (int i = 0; i < 1000; i++) {
        if (i % 3) {
            pthread_rwlock_wrlock(&many);
        } else {
            while (pthread_rwlock_trywrlock(&many)) sched_yield();
        }
        words[0]++;
        if (i % 64 == 0) sched_yield();
        words[1]++;
        pthread_rwlock_unlock(&many);
    }
    return unused;
}
static void together(int kind) {
    pthread_t threads[6];
    make(&many, kind, PTHREAD_PROCESS_PRIVATE);
    words[0] = words[1] = torn = 0;
    for (int i = 0; i < 6; i++) pthread_create(&threads[i], 0, i % 3 ? looks : changes, 0);
    for (int i = 0; i < 6; i++) pthread_join(threads[i], 0);
    HOLDS("writers were alone, and none was lost", torn == 0 && words[0] == 2000 && words[1] == 2000);
}

static void static_ones(void) {
    static pthread_rwlock_t plain = PTHREAD_RWLOCK_INITIALIZER;
    static pthread_rwlock_t writers = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    chapter = "static";
    common(&plain);
    beside_a_writer_that_waits(&plain, 1);
    IS("destroyed", pthread_rwlock_destroy(&plain));
    chapter = "static, prefers writers";
    common(&writers);
    beside_a_writer_that_waits(&writers, 0);
    IS("destroyed", pthread_rwlock_destroy(&writers));
}

/* One that processes share, and a child that goes on with what it had. */
static void processes(void) {
    chapter = "processes";
    int status;
    pthread_rwlock_t *l = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    make(l, PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_wrlock(l);
    pid_t pid = fork();
    if (!pid) _exit(pthread_rwlock_tryrdlock(l) == EBUSY && pthread_rwlock_rdlock(l) == 0 ? 7 : 1);
    until_asleep(pid);
    pthread_rwlock_unlock(l);
    waitpid(pid, &status, 0);
    HOLDS("one that is shared keeps another process out, and lets it in", WIFEXITED(status) && WEXITSTATUS(status) == 7);
    pthread_rwlock_t own = PTHREAD_RWLOCK_INITIALIZER;
    pthread_rwlock_rdlock(&own);
    pid = fork();
    if (!pid) {
        alarm(60);
        pthread_rwlock_unlock(&own);
        _exit(pthread_rwlock_wrlock(&own) == 0 && pthread_rwlock_unlock(&own) == 0 ? 7 : 1);
    }
    waitpid(pid, &status, 0);
    HOLDS("a child frees what its thread reads, and writes it", WIFEXITED(status) && WEXITSTATUS(status) == 7);
    pthread_rwlock_unlock(&own);
}

/* Whoever has it last may give its memory to something else at once. */
static pthread_rwlock_t *brief;
static atomic_int is_had;
static void *has_it_briefly(void *writes) {
    if (writes) pthread_rwlock_wrlock(brief); else pthread_rwlock_rdlock(brief);
    is_had = 1;
    pthread_rwlock_unlock(brief);
    return 0;
}
static void destroyed_by_the_next_owner(void) {
    chapter = "destroyed by the next owner";
    int wrong = 0;
    for (int i = 0; i < 200; i++) {
        pthread_t other;
        brief = malloc(sizeof *brief);
        is_had = 0;
        pthread_rwlock_init(brief, 0);
        pthread_create(&other, 0, has_it_briefly, i % 2 ? &wrong : 0);
        while (!is_had) sched_yield();
        while (pthread_rwlock_trywrlock(brief)) sched_yield();
        pthread_rwlock_unlock(brief);
        wrong |= pthread_rwlock_destroy(brief);
        memset(brief, 0xaa, sizeof *brief);
        pthread_join(other, 0);
        for (unsigned j = 0; j < sizeof *brief; j++) wrong |= ((unsigned char *)brief)[j] != 0xaa;
        free(brief);
    }
    HOLDS("nothing of it is written then", wrong == 0);
}

static void *handler_reads;
static void in_handler(int signal) { (void)signal, handler_reads = (void *)(long)(pthread_rwlock_tryrdlock(&many) + 1); }

int main(void) {
    alarm(300);
    for (int i = 0; i < 3; i++) {
        pthread_rwlock_t l;
        chapter = names[i];
        make(&l, kinds[i], PTHREAD_PROCESS_PRIVATE);
        common(&l);
        times(&l);
        beside_a_writer_that_waits(&l, i < 2);
        IS("destroyed", pthread_rwlock_destroy(&l));
        together(kinds[i]);
        IS("destroy those too", pthread_rwlock_destroy(&many));
    }
    pthread_rwlock_t shared;
    chapter = "shared";
    make(&shared, PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_PROCESS_SHARED);
    common(&shared);
    times(&shared);
    beside_a_writer_that_waits(&shared, 1);
    IS("destroyed", pthread_rwlock_destroy(&shared));
    static_ones();
    processes();
    destroyed_by_the_next_owner();
    chapter = "errno";
    pthread_rwlock_init(&many, 0);
    signal(SIGUSR1, in_handler);
    errno = 77;
    pthread_rwlock_wrlock(&many);
    pthread_rwlock_tryrdlock(&many);
    deadline = in_ms(CLOCK_REALTIME, 5), deadline_clock = CLOCK_REALTIME;
    pthread_rwlock_timedrdlock(&many, &deadline);
    raise(SIGUSR1);
    pthread_rwlock_unlock(&many);
    HOLDS("it is left as it was", errno == 77);
    IS("a handler tries what its thread writes", (int)(long)handler_reads - 1);
    return 0;
}
