/* Four threads look things up in one table, behind one lock; every thousandth time one of them brings it up to date. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 4, LOOKS = 100000, ENTRIES = 64 };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static long table[ENTRIES];

__attribute__((noinline)) static void look(int entry) {
    pthread_mutex_lock(&table_lock);
    table[entry] += 1;
    pthread_mutex_unlock(&table_lock);
}

/* ANCHOR: refresh */
/* The new entry comes from somewhere slow, and the lock is taken when it is there. */
__attribute__((noinline)) static void refresh(int entry) {
    usleep(300);
    pthread_mutex_lock(&table_lock);
    table[entry] = 0;
    pthread_mutex_unlock(&table_lock);
}
/* ANCHOR_END: refresh */

static void *work(void *unused) {
    for (int n = 0; n < LOOKS; n++) {
        look(n % ENTRIES);
        if (n % 1000 == 0)
            refresh(n % ENTRIES);
    }
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int n = 0; n < THREADS; n++)
        pthread_create(&threads[n], NULL, work, NULL);
    for (int n = 0; n < THREADS; n++)
        pthread_join(threads[n], NULL);
    printf("looked %d times\n", THREADS * LOOKS);
    return 0;
}
