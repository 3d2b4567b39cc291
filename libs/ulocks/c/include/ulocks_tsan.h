/* ulocks_tsan.h - what ThreadSanitizer is to know of the calls of ulocks.h, which includes this file where it is used.
 *
 * ThreadSanitizer sees the atomic operations of the code that it compiles, and the library is not compiled by it. Each call
 * is therefore a macro of the same name that also says which lock was acquired or released. A call through a pointer to a
 * function, and ulocks_uonce_call, say nothing.
 */
#ifndef ULOCKS_TSAN_H
#define ULOCKS_TSAN_H

#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

void __tsan_acquire(void *address);
void __tsan_release(void *address);

#ifdef __cplusplus
}
#endif

/* A macro does not expand its own name, so each of these calls the function. */
#define ULOCKS_ACQUIRED_(call, lock) __extension__({ \
    __typeof__(&*(lock)) lock_ = (lock); \
    call(lock_); \
    __tsan_acquire(lock_); \
})
#define ULOCKS_RELEASED_(call, lock) __extension__({ \
    __typeof__(&*(lock)) lock_ = (lock); \
    __tsan_release(lock_); \
    call(lock_); \
})
#define ULOCKS_TRIED_(call, lock) __extension__({ \
    __typeof__(&*(lock)) lock_ = (lock); \
    const int result_ = call(lock_); \
    if (result_ == 0 || result_ == EOWNERDEAD) __tsan_acquire(lock_); \
    result_; \
})
#define ULOCKS_TRIED_BY_(call, lock, end) __extension__({ \
    __typeof__(&*(lock)) lock_ = (lock); \
    const int result_ = call(lock_, (end)); \
    if (result_ == 0 || result_ == EOWNERDEAD) __tsan_acquire(lock_); \
    result_; \
})
#define ULOCKS_WAITED_(call, condition, lock) __extension__({ \
    __typeof__(&*(lock)) lock_ = (lock); \
    __tsan_release(lock_); \
    call((condition), lock_); \
    __tsan_acquire(lock_); \
})
#define ULOCKS_WAITED_BY_(call, condition, lock, end) __extension__({ \
    __typeof__(&*(lock)) lock_ = (lock); \
    __tsan_release(lock_); \
    const int result_ = call((condition), lock_, (end)); \
    __tsan_acquire(lock_); \
    result_; \
})

#define ulocks_ulock_lock(lock) ULOCKS_ACQUIRED_(ulocks_ulock_lock, lock)
#define ulocks_ulock_trylock(lock) ULOCKS_TRIED_(ulocks_ulock_trylock, lock)
#define ulocks_ulock_timedlock(lock, end) ULOCKS_TRIED_BY_(ulocks_ulock_timedlock, lock, end)
#define ulocks_ulock_lock_until(lock, end) ULOCKS_TRIED_BY_(ulocks_ulock_lock_until, lock, end)
#define ulocks_ulock_unlock(lock) ULOCKS_RELEASED_(ulocks_ulock_unlock, lock)
#define ulocks_shared_ulock_lock(lock) ULOCKS_ACQUIRED_(ulocks_shared_ulock_lock, lock)
#define ulocks_shared_ulock_trylock(lock) ULOCKS_TRIED_(ulocks_shared_ulock_trylock, lock)
#define ulocks_shared_ulock_timedlock(lock, end) ULOCKS_TRIED_BY_(ulocks_shared_ulock_timedlock, lock, end)
#define ulocks_shared_ulock_lock_until(lock, end) ULOCKS_TRIED_BY_(ulocks_shared_ulock_lock_until, lock, end)
#define ulocks_shared_ulock_unlock(lock) ULOCKS_RELEASED_(ulocks_shared_ulock_unlock, lock)
#define ulocks_calock_lock(lock) ULOCKS_ACQUIRED_(ulocks_calock_lock, lock)
#define ulocks_calock_trylock(lock) ULOCKS_TRIED_(ulocks_calock_trylock, lock)
#define ulocks_calock_timedlock(lock, end) ULOCKS_TRIED_BY_(ulocks_calock_timedlock, lock, end)
#define ulocks_calock_lock_until(lock, end) ULOCKS_TRIED_BY_(ulocks_calock_lock_until, lock, end)
#define ulocks_calock_unlock(lock) ULOCKS_RELEASED_(ulocks_calock_unlock, lock)
#define ulocks_shared_calock_lock(lock) ULOCKS_ACQUIRED_(ulocks_shared_calock_lock, lock)
#define ulocks_shared_calock_trylock(lock) ULOCKS_TRIED_(ulocks_shared_calock_trylock, lock)
#define ulocks_shared_calock_timedlock(lock, end) ULOCKS_TRIED_BY_(ulocks_shared_calock_timedlock, lock, end)
#define ulocks_shared_calock_lock_until(lock, end) ULOCKS_TRIED_BY_(ulocks_shared_calock_lock_until, lock, end)
#define ulocks_shared_calock_unlock(lock) ULOCKS_RELEASED_(ulocks_shared_calock_unlock, lock)
#define ulocks_usema_lock(lock) ULOCKS_ACQUIRED_(ulocks_usema_lock, lock)
#define ulocks_usema_trylock(lock) ULOCKS_TRIED_(ulocks_usema_trylock, lock)
#define ulocks_usema_unlock(lock) ULOCKS_RELEASED_(ulocks_usema_unlock, lock)
#define ulocks_shared_usema_lock(lock) ULOCKS_ACQUIRED_(ulocks_shared_usema_lock, lock)
#define ulocks_shared_usema_trylock(lock) ULOCKS_TRIED_(ulocks_shared_usema_trylock, lock)
#define ulocks_shared_usema_unlock(lock) ULOCKS_RELEASED_(ulocks_shared_usema_unlock, lock)
#define ulocks_pilock_lock(lock) ULOCKS_ACQUIRED_(ulocks_pilock_lock, lock)
#define ulocks_pilock_trylock(lock) ULOCKS_TRIED_(ulocks_pilock_trylock, lock)
#define ulocks_pilock_timedlock(lock, end) ULOCKS_TRIED_BY_(ulocks_pilock_timedlock, lock, end)
#define ulocks_pilock_lock_until(lock, end) ULOCKS_TRIED_BY_(ulocks_pilock_lock_until, lock, end)
#define ulocks_pilock_unlock(lock) ULOCKS_RELEASED_(ulocks_pilock_unlock, lock)
#define ulocks_shared_pilock_lock(lock) ULOCKS_ACQUIRED_(ulocks_shared_pilock_lock, lock)
#define ulocks_shared_pilock_trylock(lock) ULOCKS_TRIED_(ulocks_shared_pilock_trylock, lock)
#define ulocks_shared_pilock_timedlock(lock, end) ULOCKS_TRIED_BY_(ulocks_shared_pilock_timedlock, lock, end)
#define ulocks_shared_pilock_lock_until(lock, end) ULOCKS_TRIED_BY_(ulocks_shared_pilock_lock_until, lock, end)
#define ulocks_shared_pilock_unlock(lock) ULOCKS_RELEASED_(ulocks_shared_pilock_unlock, lock)
#define ulocks_urw_rdlock(lock) ULOCKS_ACQUIRED_(ulocks_urw_rdlock, lock)
#define ulocks_urw_tryrdlock(lock) ULOCKS_TRIED_(ulocks_urw_tryrdlock, lock)
#define ulocks_urw_timedrdlock(lock, end) ULOCKS_TRIED_BY_(ulocks_urw_timedrdlock, lock, end)
#define ulocks_urw_rdlock_until(lock, end) ULOCKS_TRIED_BY_(ulocks_urw_rdlock_until, lock, end)
#define ulocks_urw_rdunlock(lock) ULOCKS_RELEASED_(ulocks_urw_rdunlock, lock)
#define ulocks_urw_wrlock(lock) ULOCKS_ACQUIRED_(ulocks_urw_wrlock, lock)
#define ulocks_urw_trywrlock(lock) ULOCKS_TRIED_(ulocks_urw_trywrlock, lock)
#define ulocks_urw_timedwrlock(lock, end) ULOCKS_TRIED_BY_(ulocks_urw_timedwrlock, lock, end)
#define ulocks_urw_wrlock_until(lock, end) ULOCKS_TRIED_BY_(ulocks_urw_wrlock_until, lock, end)
#define ulocks_urw_wrunlock(lock) ULOCKS_RELEASED_(ulocks_urw_wrunlock, lock)
#define ulocks_shared_urw_rdlock(lock) ULOCKS_ACQUIRED_(ulocks_shared_urw_rdlock, lock)
#define ulocks_shared_urw_tryrdlock(lock) ULOCKS_TRIED_(ulocks_shared_urw_tryrdlock, lock)
#define ulocks_shared_urw_timedrdlock(lock, end) ULOCKS_TRIED_BY_(ulocks_shared_urw_timedrdlock, lock, end)
#define ulocks_shared_urw_rdlock_until(lock, end) ULOCKS_TRIED_BY_(ulocks_shared_urw_rdlock_until, lock, end)
#define ulocks_shared_urw_rdunlock(lock) ULOCKS_RELEASED_(ulocks_shared_urw_rdunlock, lock)
#define ulocks_shared_urw_wrlock(lock) ULOCKS_ACQUIRED_(ulocks_shared_urw_wrlock, lock)
#define ulocks_shared_urw_trywrlock(lock) ULOCKS_TRIED_(ulocks_shared_urw_trywrlock, lock)
#define ulocks_shared_urw_timedwrlock(lock, end) ULOCKS_TRIED_BY_(ulocks_shared_urw_timedwrlock, lock, end)
#define ulocks_shared_urw_wrlock_until(lock, end) ULOCKS_TRIED_BY_(ulocks_shared_urw_wrlock_until, lock, end)
#define ulocks_shared_urw_wrunlock(lock) ULOCKS_RELEASED_(ulocks_shared_urw_wrunlock, lock)
#define ulocks_urwlock_rdlock(lock) ULOCKS_ACQUIRED_(ulocks_urwlock_rdlock, lock)
#define ulocks_urwlock_tryrdlock(lock) ULOCKS_TRIED_(ulocks_urwlock_tryrdlock, lock)
#define ulocks_urwlock_rdunlock(lock) ULOCKS_RELEASED_(ulocks_urwlock_rdunlock, lock)
#define ulocks_urwlock_wrlock(lock) ULOCKS_ACQUIRED_(ulocks_urwlock_wrlock, lock)
#define ulocks_urwlock_trywrlock(lock) ULOCKS_TRIED_(ulocks_urwlock_trywrlock, lock)
#define ulocks_urwlock_wrunlock(lock) ULOCKS_RELEASED_(ulocks_urwlock_wrunlock, lock)
#define ulocks_shared_urwlock_rdlock(lock) ULOCKS_ACQUIRED_(ulocks_shared_urwlock_rdlock, lock)
#define ulocks_shared_urwlock_tryrdlock(lock) ULOCKS_TRIED_(ulocks_shared_urwlock_tryrdlock, lock)
#define ulocks_shared_urwlock_rdunlock(lock) ULOCKS_RELEASED_(ulocks_shared_urwlock_rdunlock, lock)
#define ulocks_shared_urwlock_wrlock(lock) ULOCKS_ACQUIRED_(ulocks_shared_urwlock_wrlock, lock)
#define ulocks_shared_urwlock_trywrlock(lock) ULOCKS_TRIED_(ulocks_shared_urwlock_trywrlock, lock)
#define ulocks_shared_urwlock_wrunlock(lock) ULOCKS_RELEASED_(ulocks_shared_urwlock_wrunlock, lock)
#define ulocks_ufairlock_rdlock(lock) ULOCKS_ACQUIRED_(ulocks_ufairlock_rdlock, lock)
#define ulocks_ufairlock_tryrdlock(lock) ULOCKS_TRIED_(ulocks_ufairlock_tryrdlock, lock)
#define ulocks_ufairlock_rdunlock(lock) ULOCKS_RELEASED_(ulocks_ufairlock_rdunlock, lock)
#define ulocks_ufairlock_wrlock(lock) ULOCKS_ACQUIRED_(ulocks_ufairlock_wrlock, lock)
#define ulocks_ufairlock_trywrlock(lock) ULOCKS_TRIED_(ulocks_ufairlock_trywrlock, lock)
#define ulocks_ufairlock_wrunlock(lock) ULOCKS_RELEASED_(ulocks_ufairlock_wrunlock, lock)
#define ulocks_shared_ufairlock_rdlock(lock) ULOCKS_ACQUIRED_(ulocks_shared_ufairlock_rdlock, lock)
#define ulocks_shared_ufairlock_tryrdlock(lock) ULOCKS_TRIED_(ulocks_shared_ufairlock_tryrdlock, lock)
#define ulocks_shared_ufairlock_rdunlock(lock) ULOCKS_RELEASED_(ulocks_shared_ufairlock_rdunlock, lock)
#define ulocks_shared_ufairlock_wrlock(lock) ULOCKS_ACQUIRED_(ulocks_shared_ufairlock_wrlock, lock)
#define ulocks_shared_ufairlock_trywrlock(lock) ULOCKS_TRIED_(ulocks_shared_ufairlock_trywrlock, lock)
#define ulocks_shared_ufairlock_wrunlock(lock) ULOCKS_RELEASED_(ulocks_shared_ufairlock_wrunlock, lock)
#define ulocks_usem_wait(lock) ULOCKS_ACQUIRED_(ulocks_usem_wait, lock)
#define ulocks_usem_trywait(lock) ULOCKS_TRIED_(ulocks_usem_trywait, lock)
#define ulocks_usem_timedwait(lock, end) ULOCKS_TRIED_BY_(ulocks_usem_timedwait, lock, end)
#define ulocks_usem_wait_until(lock, end) ULOCKS_TRIED_BY_(ulocks_usem_wait_until, lock, end)
#define ulocks_usem_post(lock) ULOCKS_RELEASED_(ulocks_usem_post, lock)
#define ulocks_shared_usem_wait(lock) ULOCKS_ACQUIRED_(ulocks_shared_usem_wait, lock)
#define ulocks_shared_usem_trywait(lock) ULOCKS_TRIED_(ulocks_shared_usem_trywait, lock)
#define ulocks_shared_usem_timedwait(lock, end) ULOCKS_TRIED_BY_(ulocks_shared_usem_timedwait, lock, end)
#define ulocks_shared_usem_wait_until(lock, end) ULOCKS_TRIED_BY_(ulocks_shared_usem_wait_until, lock, end)
#define ulocks_shared_usem_post(lock) ULOCKS_RELEASED_(ulocks_shared_usem_post, lock)
#define ulocks_ucond_wait(condition, lock) ULOCKS_WAITED_(ulocks_ucond_wait, condition, lock)
#define ulocks_ucond_timedwait(condition, lock, end) ULOCKS_WAITED_BY_(ulocks_ucond_timedwait, condition, lock, end)
#define ulocks_ucond_wait_until(condition, lock, end) ULOCKS_WAITED_BY_(ulocks_ucond_wait_until, condition, lock, end)
#define ulocks_shared_ucond_wait(condition, lock) ULOCKS_WAITED_(ulocks_shared_ucond_wait, condition, lock)
#define ulocks_shared_ucond_timedwait(condition, lock, end) ULOCKS_WAITED_BY_(ulocks_shared_ucond_timedwait, condition, lock, end)
#define ulocks_shared_ucond_wait_until(condition, lock, end) ULOCKS_WAITED_BY_(ulocks_shared_ucond_wait_until, condition, lock, end)
#define ulocks_robust_ulock_lock(lock) ULOCKS_TRIED_(ulocks_robust_ulock_lock, lock)
#define ulocks_robust_ulock_trylock(lock) ULOCKS_TRIED_(ulocks_robust_ulock_trylock, lock)
#define ulocks_robust_ulock_timedlock(lock, end) ULOCKS_TRIED_BY_(ulocks_robust_ulock_timedlock, lock, end)
#define ulocks_robust_ulock_lock_until(lock, end) ULOCKS_TRIED_BY_(ulocks_robust_ulock_lock_until, lock, end)
#define ulocks_robust_ulock_unlock(lock) ULOCKS_RELEASED_(ulocks_robust_ulock_unlock, lock)

#endif
