/* Programs with one known lock problem each, or none: `patients NAME [MS]` runs one for 0.8 s, or so long. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int is_over;
static const char *path_of_file;

static long now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

static void compute_us(long us) {
    for (long end = now_ns() + us * 1000; now_ns() < end;) {
    }
}

static void sleep_us(long us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

#define NOINLINE __attribute__((noinline))
#define UNTIL_OVER while (!atomic_load(&is_over))

/* A section that sleeps, called from the function that locks. */
pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static NOINLINE void write_back(void) { sleep_us(20000); compute_us(1); }
static NOINLINE void handle(void) {
    pthread_mutex_lock(&cache_lock);
    write_back();
    pthread_mutex_unlock(&cache_lock);
    compute_us(20);
}
static void *sleeper(void *number) { UNTIL_OVER handle(); return number; }

/* All locks are acquired by one function, and one of them is held for long. */
struct guard { pthread_mutex_t lock; };
static struct guard *table_guard, *count_guard;
static NOINLINE struct guard *guard_new(void) {
    struct guard *guard = malloc(sizeof *guard);
    pthread_mutex_init(&guard->lock, NULL);
    return guard;
}
static NOINLINE int guard_enter(struct guard *guard) {
    int code = pthread_mutex_lock(&guard->lock);
    compute_us(0);
    return code;
}
static NOINLINE void guard_leave(struct guard *guard) { pthread_mutex_unlock(&guard->lock); compute_us(0); }
static NOINLINE void reload_table(void) {
    guard_enter(table_guard);
    sleep_us(20000);
    guard_leave(table_guard);
}
static NOINLINE void count_row(void) {
    guard_enter(count_guard);
    compute_us(0);
    guard_leave(count_guard);
}
static void *loader(void *number) {
    UNTIL_OVER {
        reload_table();
        for (int row = 0; row < 200; row++) count_row();
    }
    return number;
}

/* The holder of the outer lock waits for the inner one, whose holder sleeps. */
pthread_mutex_t outer_lock = PTHREAD_MUTEX_INITIALIZER, inner_lock = PTHREAD_MUTEX_INITIALIZER;
static NOINLINE void sync_log(void) { sleep_us(25000); compute_us(2); }
static NOINLINE void flush(void) {
    pthread_mutex_lock(&inner_lock);
    sync_log();
    pthread_mutex_unlock(&inner_lock);
    sleep_us(200);
}
static NOINLINE void update(void) {
    pthread_mutex_lock(&outer_lock);
    pthread_mutex_lock(&inner_lock);
    pthread_mutex_unlock(&inner_lock);
    pthread_mutex_unlock(&outer_lock);
    compute_us(10);
}
static void *chained(void *number) {
    UNTIL_OVER if (number == NULL) flush(); else update();
    return number;
}

/* A spinlock and more threads than CPUs. */
pthread_spinlock_t index_spin;
static NOINLINE void insert(void) {
    pthread_spin_lock(&index_spin);
    compute_us(5);
    pthread_spin_unlock(&index_spin);
}
static void *spinner(void *number) { UNTIL_OVER { insert(); compute_us(2); } return number; }

/* A spinlock of the program's own. */
atomic_int list_word;
static NOINLINE void list_acquire(void) {
    while (atomic_exchange(&list_word, 1) != 0) __asm__ volatile("" ::: "memory");
}
static NOINLINE void append(void) { list_acquire(); compute_us(5); atomic_store(&list_word, 0); }
static void *appender(void *number) { UNTIL_OVER { append(); compute_us(1); } return number; }

/* All waiters are woken for one item. */
pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static long items;
static int wakes_all, pause_us;
static NOINLINE void fetch(void) {
    pthread_mutex_lock(&queue_lock);
    while (items == 0 && !atomic_load(&is_over)) pthread_cond_wait(&queue_filled, &queue_lock);
    if (items > 0) items--;
    pthread_mutex_unlock(&queue_lock);
    compute_us(5);
}
static NOINLINE void submit(void) {
    pthread_mutex_lock(&queue_lock);
    items++;
    if (wakes_all) pthread_cond_broadcast(&queue_filled); else pthread_cond_signal(&queue_filled);
    pthread_mutex_unlock(&queue_lock);
}
static void *queued(void *number) {
    if (number != NULL) { UNTIL_OVER fetch(); return number; }
    UNTIL_OVER { submit(); sleep_us(pause_us); }
    pthread_mutex_lock(&queue_lock);
    pthread_cond_broadcast(&queue_filled);
    pthread_mutex_unlock(&queue_lock);
    return number;
}

/* One arena for all threads. */
static NOINLINE void assemble(void) {
    void *parts[64];
    for (int part = 0; part < 64; part++) parts[part] = malloc(2000 + part * 64);
    for (int part = 0; part < 64; part++) free(parts[part]);
}
static void *allocator(void *number) { UNTIL_OVER assemble(); return number; }

/* One stream for all threads. */
static FILE *journal;
static NOINLINE void record(void) {
    fprintf(journal, "%d %f of a line that takes a while to format\n", 7, 0.5);
    atomic_load(&is_over);
}
static void *printer(void *number) { UNTIL_OVER record(); return number; }

/* A lock of the program's own, on a futex. */
atomic_int row_word;
static NOINLINE void row_lock(void) {
    int word = 0;
    if (atomic_compare_exchange_strong(&row_word, &word, 1)) return;
    if (word != 2) word = atomic_exchange(&row_word, 2);
    while (word != 0) {
        syscall(SYS_futex, &row_word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
        word = atomic_exchange(&row_word, 2);
    }
}
static NOINLINE void row_release(void) {
    if (atomic_exchange(&row_word, 0) == 2) syscall(SYS_futex, &row_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
static NOINLINE void store_row(void) { row_lock(); sleep_us(10000); row_release(); compute_us(5); }
static void *rower(void *number) { UNTIL_OVER store_row(); return number; }

/* A semaphore that is used as a lock. */
sem_t gate;
static NOINLINE void pass(void) { sem_wait(&gate); sleep_us(10000); sem_post(&gate); compute_us(5); }
static void *guard(void *number) { UNTIL_OVER pass(); return number; }

/* A pool of two for six threads. */
sem_t connections;
static NOINLINE void fetch_row(void) { sem_wait(&connections); sleep_us(5000); sem_post(&connections); compute_us(5); }
static void *client(void *number) { UNTIL_OVER fetch_row(); return number; }

/* A lock of a file. */
static NOINLINE void export_rows(void) { sleep_us(8000); atomic_load(&is_over); }
static NOINLINE void with_file(void) {
    int file = open(path_of_file, O_RDONLY);
    flock(file, LOCK_EX);
    export_rows();
    close(file);
}
static void *exporter(void *number) { UNTIL_OVER with_file(); return number; }

/* One of many locks of the heap is used by nearly all. */
static struct bucket { pthread_mutex_t lock; long count; } *buckets;
static NOINLINE void count_in(unsigned bucket) {
    pthread_mutex_lock(&buckets[bucket].lock);
    sleep_us(5000);
    pthread_mutex_unlock(&buckets[bucket].lock);
}
static void *hasher(void *number) {
    for (unsigned turn = 0; !atomic_load(&is_over); turn++) count_in(turn % 8 == 0 ? turn / 8 % 64 : 7);
    return number;
}

/* Readers that sleep with the lock, two at the same time, keep writers waiting. */
pthread_rwlock_t rows_lock = PTHREAD_RWLOCK_INITIALIZER;
static NOINLINE void load_page(void) { sleep_us(10000); atomic_load(&is_over); }
static NOINLINE void scan_rows(void) {
    pthread_rwlock_rdlock(&rows_lock);
    load_page();
    pthread_rwlock_unlock(&rows_lock);
}
static NOINLINE void add_row(void) {
    pthread_rwlock_wrlock(&rows_lock);
    items++;
    pthread_rwlock_unlock(&rows_lock);
}
static void *scanner(void *number) {
    UNTIL_OVER {
        if ((long)number < 2) scan_rows();
        else add_row();
        sleep_us(100);
    }
    return number;
}

/* A recursive mutex is held several times by one thread, which sleeps with it. */
pthread_mutex_t tree_lock;
static NOINLINE void write_node(void) { sleep_us(4000); atomic_load(&is_over); }
static NOINLINE void save_node(void) {
    pthread_mutex_lock(&tree_lock);
    write_node();
    pthread_mutex_unlock(&tree_lock);
}
static NOINLINE void save_tree(void) {
    pthread_mutex_lock(&tree_lock);
    save_node();
    save_node();
    pthread_mutex_unlock(&tree_lock);
}
static void *saver(void *number) { UNTIL_OVER { save_tree(); compute_us(5); } return number; }

/* Sections of some nanoseconds, of threads that do nothing else. */
pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;
static long volatile stats[64];
static NOINLINE void bump(void) {
    pthread_mutex_lock(&stats_lock);
    for (int place = 0; place < 64; place++) stats[place]++;
    pthread_mutex_unlock(&stats_lock);
}
static void *bumper(void *number) { UNTIL_OVER bump(); return number; }

/* Threads that try again and again to acquire a lock, and sleep in between. */
pthread_mutex_t job_lock = PTHREAD_MUTEX_INITIALIZER;
static NOINLINE void run_job(void) { sleep_us(9000); atomic_load(&is_over); }
static NOINLINE void start_job(void) {
    while (pthread_mutex_trylock(&job_lock) != 0) usleep(300);
    run_job();
    pthread_mutex_unlock(&job_lock);
}
static void *poller(void *number) { UNTIL_OVER { start_job(); compute_us(5); } return number; }

/* They sleep for much longer than the lock is held. */
static NOINLINE void hold_briefly(void) { pthread_mutex_lock(&job_lock); compute_us(500); pthread_mutex_unlock(&job_lock); }
static NOINLINE void start_late(void) {
    while (pthread_mutex_trylock(&job_lock) != 0) usleep(20000);
    pthread_mutex_unlock(&job_lock);
}
static void *late(void *number) {
    UNTIL_OVER if (number == NULL) { hold_briefly(); sleep_us(300); } else start_late();
    return number;
}

/* The holder has the lowest priority, and others compute on the only CPU. */
pthread_mutex_t settings_lock = PTHREAD_MUTEX_INITIALIZER;
static NOINLINE void refresh(void) { pthread_mutex_lock(&settings_lock); compute_us(300); pthread_mutex_unlock(&settings_lock); }
static NOINLINE void consult(void) { pthread_mutex_lock(&settings_lock); compute_us(5); pthread_mutex_unlock(&settings_lock); }
static void *consulter(void *number) {
    if (number == NULL) setpriority(PRIO_PROCESS, syscall(SYS_gettid), 19);
    UNTIL_OVER if (number == NULL) refresh(); else { consult(); sleep_us(500); }
    return number;
}
static void use_one_cpu_with_others(void) {
    cpu_set_t cpus;
    int first = 0;
    sched_getaffinity(0, sizeof cpus, &cpus);
    while (!CPU_ISSET(first, &cpus)) first++;
    CPU_ZERO(&cpus);
    CPU_SET(first, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    for (int other = 0; other < 2; other++) {
        if (fork() != 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) compute_us(1000);
    }
}

/* A request is sent, and its reply awaited, with the lock. */
pthread_mutex_t peer_lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static NOINLINE void ask_peer(void) {
    struct pollfd reply = {ends[0], POLLIN, 0};
    char byte = 1;
    if (write(ends[0], &byte, 1) != 1 || (poll(&reply, 1, 500) == 1 && read(ends[0], &byte, 1) != 1)) abort();
}
static NOINLINE void update_peer(void) {
    pthread_mutex_lock(&peer_lock);
    ask_peer();
    pthread_mutex_unlock(&peer_lock);
}
static void *asker(void *number) {
    struct pollfd request = {ends[1], POLLIN, 0};
    char byte;
    UNTIL_OVER {
        if (number != NULL) update_peer();
        else if (poll(&request, 1, 100) == 1 && read(ends[1], &byte, 1) == 1) {
            sleep_us(10000);
            if (write(ends[1], &byte, 1) != 1) abort();
        }
    }
    return number;
}

/* A computation, with a lock that is free. */
pthread_mutex_t sum_lock = PTHREAD_MUTEX_INITIALIZER;
static void *computer(void *number) {
    UNTIL_OVER { compute_us(300); pthread_mutex_lock(&sum_lock); items++; pthread_mutex_unlock(&sum_lock); }
    return number;
}

/* The holder of the outer lock waits for the inner one, whose holder computes. */
pthread_mutex_t shelf_lock = PTHREAD_MUTEX_INITIALIZER, book_lock = PTHREAD_MUTEX_INITIALIZER;
static NOINLINE void recount(void) {
    pthread_mutex_lock(&book_lock);
    compute_us(5000);
    pthread_mutex_unlock(&book_lock);
    sleep_us(200);
}
static NOINLINE void lend(void) {
    pthread_mutex_lock(&shelf_lock);
    pthread_mutex_lock(&book_lock);
    pthread_mutex_unlock(&book_lock);
    pthread_mutex_unlock(&shelf_lock);
    compute_us(5);
}
static void *librarian(void *number) {
    UNTIL_OVER if (number == NULL) recount(); else lend();
    return number;
}

/* A thread that finds the lock taken goes on without it: none waits. */
pthread_mutex_t recent_lock = PTHREAD_MUTEX_INITIALIZER;
static NOINLINE void look_up(void) {
    compute_us(8);
    if (pthread_mutex_trylock(&recent_lock) == 0) pthread_mutex_unlock(&recent_lock);
}
static void *reader(void *number) {
    UNTIL_OVER {
        if (number != NULL) { look_up(); continue; }
        pthread_mutex_lock(&recent_lock);
        sleep_us(8000);
        pthread_mutex_unlock(&recent_lock);
        sleep_us(2000);
    }
    return number;
}

/* The same as a request and its reply, by pipes: they could be jobs as well. */
static int questions[2], answers[2];
pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static NOINLINE void run_command(void) {
    struct pollfd answer = {answers[0], POLLIN, 0};
    char byte = 1;
    if (write(questions[1], &byte, 1) != 1 || (poll(&answer, 1, 500) == 1 && read(answers[0], &byte, 1) != 1)) abort();
}
static void *commander(void *number) {
    struct pollfd question = {questions[0], POLLIN, 0};
    char byte;
    UNTIL_OVER {
        if (number != NULL) {
            pthread_mutex_lock(&state_lock);
            run_command();
            pthread_mutex_unlock(&state_lock);
        } else if (poll(&question, 1, 100) == 1 && read(questions[0], &byte, 1) == 1) {
            sleep_us(10000);
            if (write(answers[1], &byte, 1) != 1) abort();
        }
    }
    return number;
}

/* A lock of the program's own that sleeps between two tries. */
static atomic_int seat_word;
static NOINLINE void seat_lock(void) { while (atomic_exchange(&seat_word, 1)) usleep(300); }
static void *sitter(void *number) {
    UNTIL_OVER { seat_lock(); sleep_us(5000); atomic_store(&seat_word, 0); }
    return number;
}

/* Two places for six threads, made of a mutex and a condition. */
pthread_mutex_t place_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t place_left = PTHREAD_COND_INITIALIZER;
static int places = 2;
static void *parker(void *number) {
    UNTIL_OVER {
        pthread_mutex_lock(&place_lock);
        while (places == 0) pthread_cond_wait(&place_left, &place_lock);
        places--;
        pthread_mutex_unlock(&place_lock);
        sleep_us(3000);
        pthread_mutex_lock(&place_lock);
        places++;
        pthread_cond_signal(&place_left);
        pthread_mutex_unlock(&place_lock);
    }
    return number;
}

static const struct patient { const char *name; int threads; void *(*work)(void *); } patients[] = {
    {"sleeps", 4, sleeper}, {"chain", 7, chained}, {"spins", 8, spinner}, {"own-spins", 8, appender}, {"herd", 24, queued}, {"idle", 4, queued},
    {"malloc", 4, allocator}, {"stream", 4, printer}, {"futex", 4, rower}, {"semaphore", 4, guard}, {"buckets", 4, hasher},
    {"connections", 6, client}, {"file", 4, exporter}, {"wrapped", 4, loader}, {"readers", 4, scanner},
    {"recursive", 4, saver}, {"short", 8, bumper},
    {"polls", 4, poller}, {"late", 4, late}, {"inverted", 4, consulter}, {"reply", 4, asker},
    {"chain-computes", 7, librarian}, {"goes-on", 3, reader}, {"pipe", 5, commander}, {"naps", 6, sitter}, {"places", 6, parker},
    {"pinned", 4, computer}, {"healthy", 2, computer}, {"oversubscribed", 12, computer},
};

int main(int count, char **words) {
    const struct patient *patient = patients, *end = patients + sizeof patients / sizeof *patients;
    while (patient < end && (count < 2 || strcmp(patient->name, words[1]) != 0)) patient++;
    if (patient == end) return 2;
    wakes_all = patient->threads == 24;
    pause_us = wakes_all ? 100 : 1000;
    pthread_spin_init(&index_spin, PTHREAD_PROCESS_PRIVATE);
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&tree_lock, &recursive);
    sem_init(&gate, 0, 1);
    sem_init(&connections, 0, 2);
    path_of_file = words[0];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || pipe(questions) != 0 || pipe(answers) != 0) return 2;
    if (patient->work == consulter || strcmp(patient->name, "pinned") == 0) use_one_cpu_with_others();
    journal = fopen("/dev/null", "w");
    table_guard = guard_new();
    count_guard = guard_new();
    buckets = calloc(64, sizeof *buckets);
    for (int bucket = 0; bucket < 64; bucket++) pthread_mutex_init(&buckets[bucket].lock, NULL);
    if (patient->work == allocator) mallopt(M_ARENA_MAX, 1);
    pthread_t threads[32];
    for (long number = 0; number < patient->threads; number++)
        pthread_create(&threads[number], NULL, patient->work, (void *)number);
    sleep_us(count > 2 ? atol(words[2]) * 1000 : 800000);
    atomic_store(&is_over, 1);
    for (int number = 0; number < patient->threads; number++) pthread_join(threads[number], NULL);
    return 0;
}
