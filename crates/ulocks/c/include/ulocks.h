/* ulocks.h - user-space locks in plain words, in one process or in shared memory. See ulocks(3).
 *
 * A lock that is all zero bytes is free: there is nothing to initialise and nothing to destroy. A lock holds no
 * pointer, so memory that several processes map, each at its own address, may hold the shared_ kinds.
 *
 * Every pointer must be to a lock of that kind, aligned as its type is: to 4 bytes, a robust_ulock_t to 8. NULL and
 * misaligned pointers are undefined behaviour, as with pthread_mutex_lock; a debug build of the library aborts with a
 * message. A ulock_t, calock_t, pilock_t or robust_ulock_t (and the shared_ ones) may be freed by whoever holds it last,
 * even if the one before has not returned from its unlock; the others must outlive every call. No value in a lock's words does harm: calls that try or time out end, calls that wait sleep.
 */
#ifndef ULOCKS_H
#define ULOCKS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The lock to take when you don't want to choose: adaptive, 4 bytes. */
typedef struct { uint32_t word_[1]; } ulock_t;
typedef struct { uint32_t word_[1]; } shared_ulock_t;

/* Convoy avoidance: unlocking frees the lock even when it wakes someone. 4 bytes, not fair. */
typedef struct { uint32_t word_[1]; } calock_t;
typedef struct { uint32_t word_[1]; } shared_calock_t;

/* First come, first served. 8 bytes, no timeouts. */
typedef struct { uint32_t word_[2]; } usema_t;
typedef struct { uint32_t word_[2]; } shared_usema_t;

/* Priority inheritance. 4 bytes, freed by the thread that took it. */
typedef struct { uint32_t word_[1]; } pilock_t;
typedef struct { uint32_t word_[1]; } shared_pilock_t;

/* Many readers or one writer: readers first (12 bytes), or in turns (16 bytes). */
typedef struct { uint32_t word_[3]; } urwlock_t;
typedef struct { uint32_t word_[3]; } shared_urwlock_t;
typedef struct { uint32_t word_[4]; } ufairlock_t;
typedef struct { uint32_t word_[4]; } shared_ufairlock_t;

/* A counting semaphore. 8 bytes; USEM_INIT(n) holds n. One that holds UINT32_MAX is full: posting adds nothing. */
typedef struct { uint32_t word_[2]; } usem_t;
typedef struct { uint32_t word_[2]; } shared_usem_t;

/* Tells the next owner that the last one died. 8 bytes, for several processes. */
typedef struct { uint64_t word_; } robust_ulock_t;

#define ULOCK_INIT { { 0 } }
#define USEM_INIT(n) { { (n), 0 } }
#define ROBUST_ULOCK_INIT { 0 }

/* trylock: 0 or EBUSY. timedlock: 0 or ETIMEDOUT, after so many nanoseconds. */
void ulock_lock(ulock_t *lock);
int ulock_trylock(ulock_t *lock);
int ulock_timedlock(ulock_t *lock, uint64_t nanoseconds);
void ulock_unlock(ulock_t *lock);

void shared_ulock_lock(shared_ulock_t *lock);
int shared_ulock_trylock(shared_ulock_t *lock);
int shared_ulock_timedlock(shared_ulock_t *lock, uint64_t nanoseconds);
void shared_ulock_unlock(shared_ulock_t *lock);

void calock_lock(calock_t *lock);
int calock_trylock(calock_t *lock);
int calock_timedlock(calock_t *lock, uint64_t nanoseconds);
void calock_unlock(calock_t *lock);

void shared_calock_lock(shared_calock_t *lock);
int shared_calock_trylock(shared_calock_t *lock);
int shared_calock_timedlock(shared_calock_t *lock, uint64_t nanoseconds);
void shared_calock_unlock(shared_calock_t *lock);

void usema_lock(usema_t *lock);
int usema_trylock(usema_t *lock);
void usema_unlock(usema_t *lock);

void shared_usema_lock(shared_usema_t *lock);
int shared_usema_trylock(shared_usema_t *lock);
void shared_usema_unlock(shared_usema_t *lock);

void pilock_lock(pilock_t *lock);
int pilock_trylock(pilock_t *lock);
int pilock_timedlock(pilock_t *lock, uint64_t nanoseconds);
void pilock_unlock(pilock_t *lock);

void shared_pilock_lock(shared_pilock_t *lock);
int shared_pilock_trylock(shared_pilock_t *lock);
int shared_pilock_timedlock(shared_pilock_t *lock, uint64_t nanoseconds);
void shared_pilock_unlock(shared_pilock_t *lock);

void urwlock_rdlock(urwlock_t *lock);
int urwlock_tryrdlock(urwlock_t *lock);
void urwlock_rdunlock(urwlock_t *lock);
void urwlock_wrlock(urwlock_t *lock);
int urwlock_trywrlock(urwlock_t *lock);
void urwlock_wrunlock(urwlock_t *lock);

void shared_urwlock_rdlock(shared_urwlock_t *lock);
int shared_urwlock_tryrdlock(shared_urwlock_t *lock);
void shared_urwlock_rdunlock(shared_urwlock_t *lock);
void shared_urwlock_wrlock(shared_urwlock_t *lock);
int shared_urwlock_trywrlock(shared_urwlock_t *lock);
void shared_urwlock_wrunlock(shared_urwlock_t *lock);

void ufairlock_rdlock(ufairlock_t *lock);
int ufairlock_tryrdlock(ufairlock_t *lock);
void ufairlock_rdunlock(ufairlock_t *lock);
void ufairlock_wrlock(ufairlock_t *lock);
int ufairlock_trywrlock(ufairlock_t *lock);
void ufairlock_wrunlock(ufairlock_t *lock);

void shared_ufairlock_rdlock(shared_ufairlock_t *lock);
int shared_ufairlock_tryrdlock(shared_ufairlock_t *lock);
void shared_ufairlock_rdunlock(shared_ufairlock_t *lock);
void shared_ufairlock_wrlock(shared_ufairlock_t *lock);
int shared_ufairlock_trywrlock(shared_ufairlock_t *lock);
void shared_ufairlock_wrunlock(shared_ufairlock_t *lock);

/* trywait: 0 or EAGAIN. timedwait: 0 or ETIMEDOUT. */
void usem_wait(usem_t *semaphore);
int usem_trywait(usem_t *semaphore);
int usem_timedwait(usem_t *semaphore, uint64_t nanoseconds);
void usem_post(usem_t *semaphore);

void shared_usem_wait(shared_usem_t *semaphore);
int shared_usem_trywait(shared_usem_t *semaphore);
int shared_usem_timedwait(shared_usem_t *semaphore, uint64_t nanoseconds);
void shared_usem_post(shared_usem_t *semaphore);

/* lock, trylock and timedlock also return EOWNERDEAD: the lock is yours, its last owner died. Repair the data, then call
 * consistent. */
int robust_ulock_lock(robust_ulock_t *lock);
int robust_ulock_trylock(robust_ulock_t *lock);
int robust_ulock_timedlock(robust_ulock_t *lock, uint64_t nanoseconds);
void robust_ulock_consistent(robust_ulock_t *lock);
void robust_ulock_unlock(robust_ulock_t *lock);

#ifdef __cplusplus
}
#endif

#endif
