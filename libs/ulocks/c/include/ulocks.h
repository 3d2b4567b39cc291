/* ulocks.h - user-space locks in plain memory words, in one process or in shared memory. See ulocks(3).
 *
 * A lock whose bytes are all zero is unlocked: it needs no initialisation and no destruction. A lock contains no
 * pointer, so memory that several processes map, each at its own address, may contain the shared_ kinds.
 *
 * Every pointer must be to a lock of that kind, aligned as its type is: to 4 bytes, a robust_ulock_t to 8. NULL and
 * misaligned pointers are undefined behaviour, as with pthread_mutex_lock; a debug build of the library aborts with a
 * message. The thread that acquires a lock or semaphore last may free its memory, even if the previous thread has not
 * returned from its unlock or post. A ucond_t must outlive every call on it. No value in a lock's words makes a call
 * fail: calls that try or have a timeout end, and calls that wait block.
 *
 * The library's functions begin with ulocks_. The shorter names below are macros for them: define
 * ULOCKS_NO_SHORT_NAMES before including this header to disable them.
 *
 * dlclose: a plugin that contains libulocks_c.a can be unloaded once no thread runs its code or waits for its locks.
 * libulocks_c.so itself stays loaded.
 *
 * fork: a child can use private locks that its own thread held or that were unlocked. vfork, or clone with shared memory
 * outside the C library: the child must not use private locks. Signal handlers may call trylock and unlock of every kind
 * except pilock and robust_ulock. ulocks(3) has the details.
 */
#ifndef ULOCKS_H
#define ULOCKS_H

#include <stdint.h>
#include <time.h>

/* Before C11, <time.h> does not declare this structure without a POSIX macro. */
struct timespec;

#ifdef __cplusplus
extern "C" {
#endif

/* The general-purpose lock, and the default choice: adaptive, 4 bytes. */
typedef struct { uint32_t word_[1]; } ulock_t;
typedef struct { uint32_t word_[1]; } shared_ulock_t;

/* Convoy avoidance: a release unlocks the lock even if it wakes a thread. 4 bytes, not fair. */
typedef struct { uint32_t word_[1]; } calock_t;
typedef struct { uint32_t word_[1]; } shared_calock_t;

/* First come, first served. 8 bytes, no timeouts. */
typedef struct { uint32_t word_[2]; } usema_t;
typedef struct { uint32_t word_[2]; } shared_usema_t;

/* Priority inheritance. 4 bytes, released by the thread that acquired it. */
typedef struct { uint32_t word_[1]; } pilock_t;
typedef struct { uint32_t word_[1]; } shared_pilock_t;

/* Many readers or one writer: adaptive (4 bytes), readers first (4 bytes), or alternating (16 bytes). */
typedef struct { uint32_t word_[1]; } urw_t;
typedef struct { uint32_t word_[1]; } shared_urw_t;
typedef struct { uint32_t word_[1]; } urwlock_t;
typedef struct { uint32_t word_[1]; } shared_urwlock_t;
typedef struct { uint32_t word_[4]; } ufairlock_t;
typedef struct { uint32_t word_[4]; } shared_ufairlock_t;

/* A counting semaphore. 8 bytes; USEM_INIT(n) has n units. With INT32_MAX units it is full: posting adds nothing. */
typedef struct { uint32_t word_[2]; } usem_t;
typedef struct { uint32_t word_[2]; } shared_usem_t;

/* A condition variable for a ulock_t, or a shared one for a shared_ulock_t. 8 bytes. */
typedef struct { uint32_t word_[2]; } ucond_t;
typedef struct { uint32_t word_[2]; } shared_ucond_t;

/* One-time initialisation. 4 bytes. */
typedef struct { uint32_t word_[1]; } uonce_t;

/* Reports the death of the last owner to the next one. 8 bytes, for several processes. */
typedef struct { uint64_t word_; } robust_ulock_t;

/* Initialisers of an unlocked lock of each type, also for its shared_ type. */
#define ULOCK_INIT { { 0 } }
#define CALOCK_INIT { { 0 } }
#define USEMA_INIT { { 0, 0 } }
#define PILOCK_INIT { { 0 } }
#define URW_INIT { { 0 } }
#define URWLOCK_INIT { { 0 } }
#define UFAIRLOCK_INIT { { 0, 0, 0, 0 } }
#define USEM_INIT(n) { { (n), 0 } }
#define UCOND_INIT { { 0, 0 } }
#define UONCE_INIT { { 0 } }
#define ROBUST_ULOCK_INIT { 0 }

/* trylock: 0 or EBUSY. timedlock: 0, or ETIMEDOUT after this number of nanoseconds. lock_until: 0, or ETIMEDOUT at that
 * time of CLOCK_MONOTONIC; EINVAL if it is not a valid time. The calls for reading and writing (rd, wr) return the same. */
void ulocks_ulock_lock(ulock_t *lock);
int ulocks_ulock_trylock(ulock_t *lock);
int ulocks_ulock_timedlock(ulock_t *lock, uint64_t nanoseconds);
int ulocks_ulock_lock_until(ulock_t *lock, const struct timespec *deadline);
void ulocks_ulock_unlock(ulock_t *lock);

void ulocks_shared_ulock_lock(shared_ulock_t *lock);
int ulocks_shared_ulock_trylock(shared_ulock_t *lock);
int ulocks_shared_ulock_timedlock(shared_ulock_t *lock, uint64_t nanoseconds);
int ulocks_shared_ulock_lock_until(shared_ulock_t *lock, const struct timespec *deadline);
void ulocks_shared_ulock_unlock(shared_ulock_t *lock);

void ulocks_calock_lock(calock_t *lock);
int ulocks_calock_trylock(calock_t *lock);
int ulocks_calock_timedlock(calock_t *lock, uint64_t nanoseconds);
int ulocks_calock_lock_until(calock_t *lock, const struct timespec *deadline);
void ulocks_calock_unlock(calock_t *lock);

void ulocks_shared_calock_lock(shared_calock_t *lock);
int ulocks_shared_calock_trylock(shared_calock_t *lock);
int ulocks_shared_calock_timedlock(shared_calock_t *lock, uint64_t nanoseconds);
int ulocks_shared_calock_lock_until(shared_calock_t *lock, const struct timespec *deadline);
void ulocks_shared_calock_unlock(shared_calock_t *lock);

void ulocks_usema_lock(usema_t *lock);
int ulocks_usema_trylock(usema_t *lock);
void ulocks_usema_unlock(usema_t *lock);

void ulocks_shared_usema_lock(shared_usema_t *lock);
int ulocks_shared_usema_trylock(shared_usema_t *lock);
void ulocks_shared_usema_unlock(shared_usema_t *lock);

void ulocks_pilock_lock(pilock_t *lock);
int ulocks_pilock_trylock(pilock_t *lock);
int ulocks_pilock_timedlock(pilock_t *lock, uint64_t nanoseconds);
int ulocks_pilock_lock_until(pilock_t *lock, const struct timespec *deadline);
void ulocks_pilock_unlock(pilock_t *lock);

void ulocks_shared_pilock_lock(shared_pilock_t *lock);
int ulocks_shared_pilock_trylock(shared_pilock_t *lock);
int ulocks_shared_pilock_timedlock(shared_pilock_t *lock, uint64_t nanoseconds);
int ulocks_shared_pilock_lock_until(shared_pilock_t *lock, const struct timespec *deadline);
void ulocks_shared_pilock_unlock(shared_pilock_t *lock);

void ulocks_urw_rdlock(urw_t *lock);
int ulocks_urw_tryrdlock(urw_t *lock);
int ulocks_urw_timedrdlock(urw_t *lock, uint64_t nanoseconds);
int ulocks_urw_rdlock_until(urw_t *lock, const struct timespec *deadline);
void ulocks_urw_rdunlock(urw_t *lock);
void ulocks_urw_wrlock(urw_t *lock);
int ulocks_urw_trywrlock(urw_t *lock);
int ulocks_urw_timedwrlock(urw_t *lock, uint64_t nanoseconds);
int ulocks_urw_wrlock_until(urw_t *lock, const struct timespec *deadline);
void ulocks_urw_wrunlock(urw_t *lock);

void ulocks_shared_urw_rdlock(shared_urw_t *lock);
int ulocks_shared_urw_tryrdlock(shared_urw_t *lock);
int ulocks_shared_urw_timedrdlock(shared_urw_t *lock, uint64_t nanoseconds);
int ulocks_shared_urw_rdlock_until(shared_urw_t *lock, const struct timespec *deadline);
void ulocks_shared_urw_rdunlock(shared_urw_t *lock);
void ulocks_shared_urw_wrlock(shared_urw_t *lock);
int ulocks_shared_urw_trywrlock(shared_urw_t *lock);
int ulocks_shared_urw_timedwrlock(shared_urw_t *lock, uint64_t nanoseconds);
int ulocks_shared_urw_wrlock_until(shared_urw_t *lock, const struct timespec *deadline);
void ulocks_shared_urw_wrunlock(shared_urw_t *lock);

void ulocks_urwlock_rdlock(urwlock_t *lock);
int ulocks_urwlock_tryrdlock(urwlock_t *lock);
void ulocks_urwlock_rdunlock(urwlock_t *lock);
void ulocks_urwlock_wrlock(urwlock_t *lock);
int ulocks_urwlock_trywrlock(urwlock_t *lock);
void ulocks_urwlock_wrunlock(urwlock_t *lock);

void ulocks_shared_urwlock_rdlock(shared_urwlock_t *lock);
int ulocks_shared_urwlock_tryrdlock(shared_urwlock_t *lock);
void ulocks_shared_urwlock_rdunlock(shared_urwlock_t *lock);
void ulocks_shared_urwlock_wrlock(shared_urwlock_t *lock);
int ulocks_shared_urwlock_trywrlock(shared_urwlock_t *lock);
void ulocks_shared_urwlock_wrunlock(shared_urwlock_t *lock);

void ulocks_ufairlock_rdlock(ufairlock_t *lock);
int ulocks_ufairlock_tryrdlock(ufairlock_t *lock);
void ulocks_ufairlock_rdunlock(ufairlock_t *lock);
void ulocks_ufairlock_wrlock(ufairlock_t *lock);
int ulocks_ufairlock_trywrlock(ufairlock_t *lock);
void ulocks_ufairlock_wrunlock(ufairlock_t *lock);

void ulocks_shared_ufairlock_rdlock(shared_ufairlock_t *lock);
int ulocks_shared_ufairlock_tryrdlock(shared_ufairlock_t *lock);
void ulocks_shared_ufairlock_rdunlock(shared_ufairlock_t *lock);
void ulocks_shared_ufairlock_wrlock(shared_ufairlock_t *lock);
int ulocks_shared_ufairlock_trywrlock(shared_ufairlock_t *lock);
void ulocks_shared_ufairlock_wrunlock(shared_ufairlock_t *lock);

/* trywait: 0 or EAGAIN. timedwait, wait_until: as for locks. */
void ulocks_usem_wait(usem_t *semaphore);
int ulocks_usem_trywait(usem_t *semaphore);
int ulocks_usem_timedwait(usem_t *semaphore, uint64_t nanoseconds);
int ulocks_usem_wait_until(usem_t *semaphore, const struct timespec *deadline);
void ulocks_usem_post(usem_t *semaphore);

void ulocks_shared_usem_wait(shared_usem_t *semaphore);
int ulocks_shared_usem_trywait(shared_usem_t *semaphore);
int ulocks_shared_usem_timedwait(shared_usem_t *semaphore, uint64_t nanoseconds);
int ulocks_shared_usem_wait_until(shared_usem_t *semaphore, const struct timespec *deadline);
void ulocks_shared_usem_post(shared_usem_t *semaphore);

/* Each releases the lock, waits, and reacquires the lock. A wait may end spuriously: wait in a loop. signal wakes one
 * thread, broadcast all. */
void ulocks_ucond_wait(ucond_t *condition, ulock_t *lock);
int ulocks_ucond_timedwait(ucond_t *condition, ulock_t *lock, uint64_t nanoseconds);
int ulocks_ucond_wait_until(ucond_t *condition, ulock_t *lock, const struct timespec *deadline);
void ulocks_ucond_signal(ucond_t *condition);
void ulocks_ucond_broadcast(ucond_t *condition);

void ulocks_shared_ucond_wait(shared_ucond_t *condition, shared_ulock_t *lock);
int ulocks_shared_ucond_timedwait(shared_ucond_t *condition, shared_ulock_t *lock, uint64_t nanoseconds);
int ulocks_shared_ucond_wait_until(shared_ucond_t *condition, shared_ulock_t *lock, const struct timespec *deadline);
void ulocks_shared_ucond_signal(shared_ucond_t *condition);
void ulocks_shared_ucond_broadcast(shared_ucond_t *condition);

/* Calls the function if no thread has called it through this object, or waits until that call has returned. */
void ulocks_uonce_call(uonce_t *once, void (*work)(void));

/* lock, trylock, timedlock and lock_until also return EOWNERDEAD: the caller holds the lock, and its last owner died.
 * Repair the data, then call consistent. is_suspect: whether an owner died and consistent was not called since. A trylock
 * that returns EBUSY has checked in /proc whether the owner is alive, which takes some microseconds. */
int ulocks_robust_ulock_lock(robust_ulock_t *lock);
int ulocks_robust_ulock_trylock(robust_ulock_t *lock);
int ulocks_robust_ulock_timedlock(robust_ulock_t *lock, uint64_t nanoseconds);
int ulocks_robust_ulock_lock_until(robust_ulock_t *lock, const struct timespec *deadline);
int ulocks_robust_ulock_is_suspect(robust_ulock_t *lock);
void ulocks_robust_ulock_consistent(robust_ulock_t *lock);
void ulocks_robust_ulock_unlock(robust_ulock_t *lock);

#ifdef __cplusplus
}
#endif

/* Macros for the functions above; the header says what they are for. */
#if defined(__SANITIZE_THREAD__)
#include "ulocks_tsan.h"
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include "ulocks_tsan.h"
#endif
#endif

#endif

/* Separate from the declarations: a later #include without ULOCKS_NO_SHORT_NAMES adds the short names. */
#if !defined(ULOCKS_NO_SHORT_NAMES) && !defined(ULOCKS_SHORT_NAMES)
#define ULOCKS_SHORT_NAMES
#define ulock_lock ulocks_ulock_lock
#define ulock_trylock ulocks_ulock_trylock
#define ulock_timedlock ulocks_ulock_timedlock
#define ulock_lock_until ulocks_ulock_lock_until
#define ulock_unlock ulocks_ulock_unlock
#define shared_ulock_lock ulocks_shared_ulock_lock
#define shared_ulock_trylock ulocks_shared_ulock_trylock
#define shared_ulock_timedlock ulocks_shared_ulock_timedlock
#define shared_ulock_lock_until ulocks_shared_ulock_lock_until
#define shared_ulock_unlock ulocks_shared_ulock_unlock
#define calock_lock ulocks_calock_lock
#define calock_trylock ulocks_calock_trylock
#define calock_timedlock ulocks_calock_timedlock
#define calock_lock_until ulocks_calock_lock_until
#define calock_unlock ulocks_calock_unlock
#define shared_calock_lock ulocks_shared_calock_lock
#define shared_calock_trylock ulocks_shared_calock_trylock
#define shared_calock_timedlock ulocks_shared_calock_timedlock
#define shared_calock_lock_until ulocks_shared_calock_lock_until
#define shared_calock_unlock ulocks_shared_calock_unlock
#define usema_lock ulocks_usema_lock
#define usema_trylock ulocks_usema_trylock
#define usema_unlock ulocks_usema_unlock
#define shared_usema_lock ulocks_shared_usema_lock
#define shared_usema_trylock ulocks_shared_usema_trylock
#define shared_usema_unlock ulocks_shared_usema_unlock
#define pilock_lock ulocks_pilock_lock
#define pilock_trylock ulocks_pilock_trylock
#define pilock_timedlock ulocks_pilock_timedlock
#define pilock_lock_until ulocks_pilock_lock_until
#define pilock_unlock ulocks_pilock_unlock
#define shared_pilock_lock ulocks_shared_pilock_lock
#define shared_pilock_trylock ulocks_shared_pilock_trylock
#define shared_pilock_timedlock ulocks_shared_pilock_timedlock
#define shared_pilock_lock_until ulocks_shared_pilock_lock_until
#define shared_pilock_unlock ulocks_shared_pilock_unlock
#define urw_rdlock ulocks_urw_rdlock
#define urw_tryrdlock ulocks_urw_tryrdlock
#define urw_timedrdlock ulocks_urw_timedrdlock
#define urw_rdlock_until ulocks_urw_rdlock_until
#define urw_rdunlock ulocks_urw_rdunlock
#define urw_wrlock ulocks_urw_wrlock
#define urw_trywrlock ulocks_urw_trywrlock
#define urw_timedwrlock ulocks_urw_timedwrlock
#define urw_wrlock_until ulocks_urw_wrlock_until
#define urw_wrunlock ulocks_urw_wrunlock
#define shared_urw_rdlock ulocks_shared_urw_rdlock
#define shared_urw_tryrdlock ulocks_shared_urw_tryrdlock
#define shared_urw_timedrdlock ulocks_shared_urw_timedrdlock
#define shared_urw_rdlock_until ulocks_shared_urw_rdlock_until
#define shared_urw_rdunlock ulocks_shared_urw_rdunlock
#define shared_urw_wrlock ulocks_shared_urw_wrlock
#define shared_urw_trywrlock ulocks_shared_urw_trywrlock
#define shared_urw_timedwrlock ulocks_shared_urw_timedwrlock
#define shared_urw_wrlock_until ulocks_shared_urw_wrlock_until
#define shared_urw_wrunlock ulocks_shared_urw_wrunlock
#define urwlock_rdlock ulocks_urwlock_rdlock
#define urwlock_tryrdlock ulocks_urwlock_tryrdlock
#define urwlock_rdunlock ulocks_urwlock_rdunlock
#define urwlock_wrlock ulocks_urwlock_wrlock
#define urwlock_trywrlock ulocks_urwlock_trywrlock
#define urwlock_wrunlock ulocks_urwlock_wrunlock
#define shared_urwlock_rdlock ulocks_shared_urwlock_rdlock
#define shared_urwlock_tryrdlock ulocks_shared_urwlock_tryrdlock
#define shared_urwlock_rdunlock ulocks_shared_urwlock_rdunlock
#define shared_urwlock_wrlock ulocks_shared_urwlock_wrlock
#define shared_urwlock_trywrlock ulocks_shared_urwlock_trywrlock
#define shared_urwlock_wrunlock ulocks_shared_urwlock_wrunlock
#define ufairlock_rdlock ulocks_ufairlock_rdlock
#define ufairlock_tryrdlock ulocks_ufairlock_tryrdlock
#define ufairlock_rdunlock ulocks_ufairlock_rdunlock
#define ufairlock_wrlock ulocks_ufairlock_wrlock
#define ufairlock_trywrlock ulocks_ufairlock_trywrlock
#define ufairlock_wrunlock ulocks_ufairlock_wrunlock
#define shared_ufairlock_rdlock ulocks_shared_ufairlock_rdlock
#define shared_ufairlock_tryrdlock ulocks_shared_ufairlock_tryrdlock
#define shared_ufairlock_rdunlock ulocks_shared_ufairlock_rdunlock
#define shared_ufairlock_wrlock ulocks_shared_ufairlock_wrlock
#define shared_ufairlock_trywrlock ulocks_shared_ufairlock_trywrlock
#define shared_ufairlock_wrunlock ulocks_shared_ufairlock_wrunlock
#define usem_wait ulocks_usem_wait
#define usem_trywait ulocks_usem_trywait
#define usem_timedwait ulocks_usem_timedwait
#define usem_wait_until ulocks_usem_wait_until
#define usem_post ulocks_usem_post
#define shared_usem_wait ulocks_shared_usem_wait
#define shared_usem_trywait ulocks_shared_usem_trywait
#define shared_usem_timedwait ulocks_shared_usem_timedwait
#define shared_usem_wait_until ulocks_shared_usem_wait_until
#define shared_usem_post ulocks_shared_usem_post
#define ucond_wait ulocks_ucond_wait
#define ucond_timedwait ulocks_ucond_timedwait
#define ucond_wait_until ulocks_ucond_wait_until
#define ucond_signal ulocks_ucond_signal
#define ucond_broadcast ulocks_ucond_broadcast
#define shared_ucond_wait ulocks_shared_ucond_wait
#define shared_ucond_timedwait ulocks_shared_ucond_timedwait
#define shared_ucond_wait_until ulocks_shared_ucond_wait_until
#define shared_ucond_signal ulocks_shared_ucond_signal
#define shared_ucond_broadcast ulocks_shared_ucond_broadcast
#define uonce_call ulocks_uonce_call
#define robust_ulock_lock ulocks_robust_ulock_lock
#define robust_ulock_trylock ulocks_robust_ulock_trylock
#define robust_ulock_timedlock ulocks_robust_ulock_timedlock
#define robust_ulock_lock_until ulocks_robust_ulock_lock_until
#define robust_ulock_is_suspect ulocks_robust_ulock_is_suspect
#define robust_ulock_consistent ulocks_robust_ulock_consistent
#define robust_ulock_unlock ulocks_robust_ulock_unlock
#endif
