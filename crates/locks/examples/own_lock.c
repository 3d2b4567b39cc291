/*
 * A lock of one's own in C: the pthread mutex, as contend has it built in too, so that the two can be compared.
 *
 *     cc -O2 -shared -fPIC -I crates/locks/include crates/locks/examples/own_lock.c -o libown_lock.so
 *     contend latency --lock ./libown_lock.so,pthread
 */
#include "contend_lock.h"

#include <pthread.h>

CONTEND_LOCK_OF(pthread_mutex_t);

int contend_lock_init(void *lock)
{
    return pthread_mutex_init(lock, NULL);
}

void contend_lock_acquire(void *lock)
{
    pthread_mutex_lock(lock);
}

void contend_lock_release(void *lock)
{
    pthread_mutex_unlock(lock);
}

void contend_lock_destroy(void *lock)
{
    pthread_mutex_destroy(lock);
}
