/*
 * A lock of your own, for `contend latency --lock ./liblock.so` and `contend throughput --lock ./liblock.so`.
 *
 * A shared object that exports these six names is a lock under test:
 *
 *     cc -O2 -shared -fPIC -I DIRECTORY_OF_THIS_HEADER mylock.c -o libmylock.so
 *
 * The lock lies in memory of contend's: contend_lock_size bytes, all zero, aligned to 128 bytes, on cache lines of its
 * own, and at one place from init to destroy. Other locks of the same kind may exist beside it. Any thread calls acquire
 * and release; the one that acquired it releases it, and no thread acquires it twice. No function may let a C++
 * exception or a panic out.
 *
 * Before anything is measured the object is tried in a process of its own: that it loads, that no function crashes or
 * blocks, that nothing beyond its size is written, and that it excludes. What crashes or blocks later ends the
 * measurement, which keeps what it has by then.
 */
#ifndef CONTEND_LOCK_H
#define CONTEND_LOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header that the object was compiled with. */
#define CONTEND_LOCK_VERSION 1
extern const uint32_t contend_lock_version;

/* What the lock takes, in bytes: from 1 to 4096. */
extern const size_t contend_lock_size;

/* Makes a free lock of zeroed memory. 0, or an error number as in errno. */
int contend_lock_init(void *lock);

/* Waits until the lock is free, and takes it. */
void contend_lock_acquire(void *lock);

/* Frees the lock. */
void contend_lock_release(void *lock);

/* Ends a free lock. */
void contend_lock_destroy(void *lock);

/* Write CONTEND_LOCK_OF(struct mine) once: it defines the version and the size. */
#ifdef __cplusplus
#define CONTEND_LOCK_OF(type)                                              \
    extern "C" {                                                           \
    extern const uint32_t contend_lock_version = CONTEND_LOCK_VERSION;     \
    extern const size_t contend_lock_size = sizeof(type);                  \
    }
#else
#define CONTEND_LOCK_OF(type)                                              \
    const uint32_t contend_lock_version = CONTEND_LOCK_VERSION;            \
    const size_t contend_lock_size = sizeof(type)
#endif

#ifdef __cplusplus
}
#endif

#endif
