/* Locks in cycles whose truth is known: `cycles CASE` runs one case and ends, unless its threads deadlock.
 *
 * real: the program can deadlock, though it seldom does. safe: it cannot. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define M PTHREAD_MUTEX_INITIALIZER
#define NOINLINE __attribute__((noinline))
static pthread_mutex_t alpha = M, beta = M, gamma_lock = M, delta = M, gate = M, second_gate = M;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER, index_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t shared_gate = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_spinlock_t spin;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t turn;
static int is_changed;

static void nap(long us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

/* Acquires two mutexes one within the other. */
static NOINLINE void both(pthread_mutex_t *outer, pthread_mutex_t *inner) {
    pthread_mutex_lock(outer);
    pthread_mutex_lock(inner);
    pthread_mutex_unlock(inner);
    pthread_mutex_unlock(outer);
}

static NOINLINE void in_order(void) {
    pthread_mutex_lock(&alpha);
    pthread_mutex_lock(&beta);
    pthread_mutex_unlock(&beta);
    pthread_mutex_unlock(&alpha);
}

static NOINLINE void against(void) {
    pthread_mutex_lock(&beta);
    pthread_mutex_lock(&alpha);
    pthread_mutex_unlock(&alpha);
    pthread_mutex_unlock(&beta);
}

/* Runs all at once, and joins them. */
static void run(int count, void *(*const starts[])(void *)) {
    pthread_t threads[8];
    for (int i = 0; i < count; i++) pthread_create(threads + i, NULL, starts[i], (void *)(intptr_t)i);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}
#define RUN(...) do { void *(*const starts[])(void *) = {__VA_ARGS__}; run(sizeof starts / sizeof *starts, starts); } while (0)

/* Runs one after another. */
static void run_apart(int count, void *(*const starts[])(void *)) {
    for (int i = 0; i < count; i++) run(1, starts + i);
}
#define APART(...) do { void *(*const starts[])(void *) = {__VA_ARGS__}; run_apart(sizeof starts / sizeof *starts, starts); } while (0)

/* A thread that does the body some times, apart from the others in time by its number. */
#define THREAD(name, times, body) static void *name(void *number) { \
    nap(2000 * (intptr_t)number); for (int i = 0; i < (times); i++) { body; nap(300); } return NULL; }

/* real: two threads, opposite orders. */
THREAD(forwards, 3, in_order())
THREAD(backwards, 3, against())
static void ab_ba(void) { RUN(forwards, backwards); }

/* real: the same, with one early and the other late. */
static void *late(void *nothing) { nap(80000); against(); return nothing; }
static void early_late(void) { RUN(forwards, late); }

/* real: many iterations at the same time. */
THREAD(often_forwards, 100, in_order())
THREAD(often_backwards, 100, against())
static void loops(void) { RUN(often_forwards, often_backwards); }

/* real: one of four threads goes against the others. */
static void one_against(void) { RUN(forwards, forwards, forwards, backwards); }

/* real: a cycle of three. */
THREAD(first_of_three, 3, both(&alpha, &beta))
THREAD(second_of_three, 3, both(&beta, &gamma_lock))
THREAD(third_of_three, 3, both(&gamma_lock, &alpha))
static void three(void) { RUN(first_of_three, second_of_three, third_of_three); }

/* real: a cycle of four. */
THREAD(third_of_four, 3, both(&gamma_lock, &delta))
THREAD(fourth_of_four, 3, both(&delta, &alpha))
static void four(void) { RUN(first_of_three, second_of_three, third_of_four, fourth_of_four); }

/* real: both orders under a gate lock, and one of them once more without. */
THREAD(gated_forwards, 3, (pthread_mutex_lock(&gate), in_order(), pthread_mutex_unlock(&gate)))
THREAD(gated_backwards, 3, (pthread_mutex_lock(&gate), against(), pthread_mutex_unlock(&gate)))
static NOINLINE void around_the_gate(void) { pthread_mutex_lock(&alpha); pthread_mutex_lock(&beta);
    pthread_mutex_unlock(&beta); pthread_mutex_unlock(&alpha); }
THREAD(ungated, 2, around_the_gate())
static void leaky_gate(void) { RUN(gated_forwards, gated_backwards, ungated); }

/* real: each order under a gate lock of its own. */
THREAD(other_backwards, 3, (pthread_mutex_lock(&second_gate), against(), pthread_mutex_unlock(&second_gate)))
static void two_gates(void) { RUN(gated_forwards, other_backwards); }

/* real: the gate lock is held as a reader by both. */
THREAD(read_gated_forwards, 3, (pthread_rwlock_rdlock(&shared_gate), in_order(), pthread_rwlock_unlock(&shared_gate)))
THREAD(read_gated_backwards, 3, (pthread_rwlock_rdlock(&shared_gate), against(), pthread_rwlock_unlock(&shared_gate)))
static void shared_gate_case(void) { RUN(read_gated_forwards, read_gated_backwards); }

/* real: a reader that takes a second lock, and a writer that has that one. */
static NOINLINE void read_then_lock(void) { pthread_rwlock_rdlock(&table); pthread_mutex_lock(&alpha);
    pthread_mutex_unlock(&alpha); pthread_rwlock_unlock(&table); }
static NOINLINE void lock_then_write(void) { pthread_mutex_lock(&alpha); pthread_rwlock_wrlock(&table);
    pthread_rwlock_unlock(&table); pthread_mutex_unlock(&alpha); }
THREAD(reader_first, 3, read_then_lock())
THREAD(writer_last, 3, lock_then_write())
static void reader_writer(void) { RUN(reader_first, writer_last); }

/* real: both read the first and write the second, crosswise. */
static NOINLINE void read_write(pthread_rwlock_t *read, pthread_rwlock_t *write) {
    pthread_rwlock_rdlock(read); pthread_rwlock_wrlock(write);
    pthread_rwlock_unlock(write); pthread_rwlock_unlock(read); }
THREAD(table_index, 3, read_write(&table, &index_lock))
THREAD(index_table, 3, read_write(&index_lock, &table))
static void crossed_readers(void) { RUN(table_index, index_table); }

/* real: a spinlock and a mutex. */
static NOINLINE void spin_then_lock(void) { pthread_spin_lock(&spin); pthread_mutex_lock(&alpha);
    pthread_mutex_unlock(&alpha); pthread_spin_unlock(&spin); }
static NOINLINE void lock_then_spin(void) { pthread_mutex_lock(&alpha); pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin); pthread_mutex_unlock(&alpha); }
THREAD(spin_first, 3, spin_then_lock())
THREAD(spin_last, 3, lock_then_spin())
static void spin_mutex(void) { pthread_spin_init(&spin, 0); RUN(spin_first, spin_last); }

/* real: accounts of one type, from and to. */
struct account { pthread_mutex_t lock; long balance; };
static struct account *accounts[6];
static NOINLINE void transfer(struct account *from, struct account *to) {
    pthread_mutex_lock(&from->lock);
    pthread_mutex_lock(&to->lock);
    from->balance--, to->balance++;
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
}
static void open_accounts(void) {
    for (int i = 0; i < 6; i++) { accounts[i] = calloc(1, sizeof **accounts); pthread_mutex_init(&accounts[i]->lock, NULL); }
    /* Each is used first at one place. */
    for (int i = 0; i < 6; i++) { pthread_mutex_lock(&accounts[i]->lock); pthread_mutex_unlock(&accounts[i]->lock); }
}
THREAD(pays_up, 3, for (int n = 0; n < 5; n++) transfer(accounts[n], accounts[n + 1]))
THREAD(pays_down, 3, for (int n = 5; n > 0; n--) transfer(accounts[n], accounts[n - 1]))
static void bank(void) { open_accounts(); RUN(pays_up, pays_down); }

/* safe: the same accounts, the one with the lower address first. */
static NOINLINE void ordered_transfer(struct account *from, struct account *to) {
    if (from < to) transfer(from, to); else transfer(to, from);
}
THREAD(pays_up_in_order, 3, for (int n = 0; n < 5; n++) ordered_transfer(accounts[n], accounts[n + 1]))
THREAD(pays_down_in_order, 3, for (int n = 5; n > 0; n--) ordered_transfer(accounts[n], accounts[n - 1]))
static void ordered_bank(void) { open_accounts(); RUN(pays_up_in_order, pays_down_in_order); }

/* real: the thread that waits for a condition has another lock, and needs the mutex back. */
static void *waits_with_lock(void *nothing) {
    pthread_mutex_lock(&alpha);
    pthread_mutex_lock(&beta);
    while (!is_changed) pthread_cond_wait(&changed, &alpha);
    pthread_mutex_unlock(&beta);
    pthread_mutex_unlock(&alpha);
    return nothing;
}
static void *changes_then_locks(void *nothing) {
    nap(20000);
    pthread_mutex_lock(&alpha);
    is_changed = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&alpha);
    in_order();
    return nothing;
}
static void condition_back(void) { RUN(waits_with_lock, changes_then_locks); }

/* real: a thread that the program does not join. */
static atomic_int is_done;
static void *detached(void *nothing) { pthread_detach(pthread_self()); nap(2000); in_order(); is_done = 1; return nothing; }
static void detached_case(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, detached, NULL);
    nap(20000);
    against();
    while (!is_done) nap(1000);
}

/* real: the first thread takes the order after it has created the second. */
static void after_create(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, backwards, NULL);
    nap(10000);
    in_order();
    pthread_join(thread, NULL);
}

/* real: the same with recursive mutexes, each acquired twice. */
static NOINLINE void recursive_then_alpha(void) { pthread_mutex_lock(&recursive); pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&alpha); pthread_mutex_unlock(&alpha);
    pthread_mutex_unlock(&recursive); pthread_mutex_unlock(&recursive); }
static NOINLINE void alpha_then_recursive(void) { pthread_mutex_lock(&alpha); pthread_mutex_lock(&recursive);
    pthread_mutex_unlock(&recursive); pthread_mutex_unlock(&alpha); }
THREAD(recursive_first, 3, recursive_then_alpha())
THREAD(recursive_last, 3, alpha_then_recursive())
static void recursive_real(void) { RUN(recursive_first, recursive_last); }

/* safe: opposite orders, always under one gate lock. */
static void gated(void) { RUN(gated_forwards, gated_backwards); }

/* safe: alpha, beta, release of alpha, gamma; and gamma, alpha, in another thread. */
static NOINLINE void hand_over_hand(void) {
    pthread_mutex_lock(&alpha); pthread_mutex_lock(&beta); pthread_mutex_unlock(&alpha);
    pthread_mutex_lock(&gamma_lock); pthread_mutex_unlock(&gamma_lock); pthread_mutex_unlock(&beta); }
THREAD(chained, 3, hand_over_hand())
static void chain_of_one(void) { RUN(chained, third_of_three); }

/* safe: one thread takes both orders. */
static void *alone(void *nothing) { for (int i = 0; i < 3; i++) in_order(), against(); return nothing; }
static void one_thread(void) { RUN(alone); }

/* safe: the first thread is joined before the second is created. */
static void joined(void) { APART(forwards, backwards); }

/* safe: the same again and again. */
static void *once_forwards(void *nothing) { in_order(); return nothing; }
static void *once_backwards(void *nothing) { against(); return nothing; }
static void joined_often(void) { for (int i = 0; i < 200; i++) APART(once_forwards, once_backwards); }

/* safe: the first thread takes one order before it creates the second, and after it joined it. */
static void before_create(void) { in_order(); APART(backwards); in_order(); }

/* safe: joined by another thread than its creator. */
static pthread_t grandchild;
static void *creates(void *nothing) { pthread_create(&grandchild, NULL, once_forwards, NULL); return nothing; }
static void *joins(void *nothing) { pthread_join(grandchild, NULL); against(); return nothing; }
static void handed_join(void) { APART(creates, joins); }

/* safe: readers only. */
static NOINLINE void read_both(pthread_rwlock_t *first, pthread_rwlock_t *second) {
    pthread_rwlock_rdlock(first); pthread_rwlock_rdlock(second);
    pthread_rwlock_unlock(second); pthread_rwlock_unlock(first); }
THREAD(reads_forwards, 3, read_both(&table, &index_lock))
THREAD(reads_backwards, 3, read_both(&index_lock, &table))
static void readers(void) { RUN(reads_forwards, reads_backwards); }

/* safe: against the order, the second lock is only tried. */
static NOINLINE void try_against(void) {
    pthread_mutex_lock(&beta);
    if (pthread_mutex_trylock(&alpha) == 0) pthread_mutex_unlock(&alpha);
    pthread_mutex_unlock(&beta);
}
THREAD(tries_backwards, 3, try_against())
static void tried(void) { RUN(forwards, tries_backwards); }

/* safe: against the order, the wait for the second lock has an end. */
static NOINLINE void timed_against(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    pthread_mutex_lock(&beta);
    if (pthread_mutex_timedlock(&alpha, &until) == 0) pthread_mutex_unlock(&alpha);
    pthread_mutex_unlock(&beta);
}
THREAD(timed_backwards, 3, timed_against())
static void timed(void) { RUN(forwards, timed_backwards); }

/* safe: a recursive mutex is acquired again while a second lock is held. */
static NOINLINE void again_within(void) { pthread_mutex_lock(&recursive); pthread_mutex_lock(&alpha);
    pthread_mutex_lock(&recursive); pthread_mutex_unlock(&recursive);
    pthread_mutex_unlock(&alpha); pthread_mutex_unlock(&recursive); }
THREAD(within_again, 3, again_within())
static void recursive_safe(void) { RUN(within_again, within_again); }

/* safe: a semaphore lets the second thread on when the first has done its part. */
static void *posts(void *nothing) { in_order(); sem_post(&turn); return nothing; }
static void *waits(void *nothing) { sem_wait(&turn); against(); return nothing; }
static void semaphore(void) { sem_init(&turn, 0, 0); RUN(posts, waits); }

/* safe: a condition does. */
static void *announces(void *nothing) { in_order(); pthread_mutex_lock(&gate); is_changed = 1;
    pthread_cond_broadcast(&changed); pthread_mutex_unlock(&gate); return nothing; }
static void *listens(void *nothing) { pthread_mutex_lock(&gate);
    while (!is_changed) pthread_cond_wait(&changed, &gate);
    pthread_mutex_unlock(&gate); against(); return nothing; }
static void condition(void) { RUN(announces, listens); }

/* safe: a tree, from parent to child, whatever their addresses. */
struct node { pthread_mutex_t lock; struct node *child; };
static struct node *root;
static NOINLINE void descend(struct node *node) {
    pthread_mutex_lock(&node->lock);
    if (node->child) descend(node->child);
    pthread_mutex_unlock(&node->lock);
}
THREAD(descends, 3, descend(root))
static void tree(void) {
    static struct node nodes[4];
    static const int order[4] = {2, 0, 3, 1};
    for (int i = 0; i < 4; i++) { pthread_mutex_init(&nodes[order[i]].lock, NULL);
        nodes[order[i]].child = i < 3 ? nodes + order[i + 1] : NULL; }
    root = nodes + order[0];
    RUN(descends, descends);
}

/* safe: a mutex that is destroyed, and another at its address. */
static void *used_forwards(void *nothing) { in_order(); return nothing; }
static void replaced(void) {
    APART(used_forwards);
    pthread_mutex_destroy(&alpha);
    pthread_mutex_init(&alpha, NULL);
    RUN(once_backwards, once_backwards);
}

static const struct { const char *name; void (*run)(void); } CASES[] = {
    {"ab-ba", ab_ba}, {"early-late", early_late}, {"loops", loops}, {"one-against", one_against}, {"three", three},
    {"four", four}, {"leaky-gate", leaky_gate}, {"two-gates", two_gates}, {"shared-gate", shared_gate_case},
    {"reader-writer", reader_writer}, {"crossed-readers", crossed_readers}, {"spin-mutex", spin_mutex},
    {"bank", bank}, {"condition-back", condition_back}, {"detached", detached_case}, {"after-create", after_create},
    {"recursive-real", recursive_real},
    {"gated", gated}, {"chain-of-one", chain_of_one}, {"one-thread", one_thread}, {"joined", joined},
    {"joined-often", joined_often}, {"before-create", before_create}, {"handed-join", handed_join},
    {"readers", readers}, {"tried", tried}, {"timed", timed}, {"recursive-safe", recursive_safe},
    {"ordered-bank", ordered_bank}, {"tree", tree}, {"replaced", replaced},
    {"semaphore", semaphore}, {"condition", condition},
};

int main(int count, char **arguments) {
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        if (count > 1 && strcmp(arguments[1], CASES[i].name) == 0) {
            CASES[i].run();
            return 0;
        }
    }
    fprintf(stderr, "no such case\n");
    return 2;
}
