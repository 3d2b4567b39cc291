/* A program that forbids itself the CPU's counter, and contends for locks. */
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static long total;

static void *add(void *nothing)
{
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&mutex);
        if (i % 100 == 0) usleep(10);
        pthread_mutex_unlock(&mutex);
        const struct timespec future = { 4000000000, 0 };
        if (i % 2 ? pthread_rwlock_wrlock(&table) : pthread_rwlock_timedwrlock(&table, &future)) return nothing;
        pthread_rwlock_unlock(&table);
        if (pthread_mutex_timedlock(&mutex, &future)) return nothing;
        total++;
        pthread_mutex_unlock(&mutex);
        pthread_spin_lock(&spin);
        pthread_spin_unlock(&spin);
    }
    return nothing;
}

int main(void)
{
    pthread_spin_init(&spin, 0);
    /* Other processors than x86 do not know it, and then nothing is forbidden. */
    (void)prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    printf("total: %ld\n", total);
}
