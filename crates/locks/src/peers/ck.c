/*
 * Concurrency Kit's locks are inline functions of its headers: these give them symbols, and nothing of its library is
 * linked.
 */

#include <ck_spinlock.h>
#include <stdbool.h>
#include <stddef.h>

bool contend_ck_fas_fits(size_t size, size_t align) {
    return sizeof(ck_spinlock_fas_t) <= size && _Alignof(ck_spinlock_fas_t) <= align;
}

void contend_ck_fas_init(ck_spinlock_fas_t *lock) { ck_spinlock_fas_init(lock); }
void contend_ck_fas_lock(ck_spinlock_fas_t *lock) { ck_spinlock_fas_lock(lock); }
void contend_ck_fas_unlock(ck_spinlock_fas_t *lock) { ck_spinlock_fas_unlock(lock); }

bool contend_ck_ticket_fits(size_t size, size_t align) {
    return sizeof(ck_spinlock_ticket_t) <= size && _Alignof(ck_spinlock_ticket_t) <= align;
}

void contend_ck_ticket_init(ck_spinlock_ticket_t *lock) { ck_spinlock_ticket_init(lock); }
void contend_ck_ticket_lock(ck_spinlock_ticket_t *lock) { ck_spinlock_ticket_lock(lock); }
void contend_ck_ticket_unlock(ck_spinlock_ticket_t *lock) { ck_spinlock_ticket_unlock(lock); }

/* Lock and node go into rooms of one size. */
bool contend_ck_mcs_fits(size_t size, size_t align) {
    return sizeof(ck_spinlock_mcs_t) <= size && _Alignof(ck_spinlock_mcs_t) <= align &&
           sizeof(ck_spinlock_mcs_context_t) <= size && _Alignof(ck_spinlock_mcs_context_t) <= align;
}

void contend_ck_mcs_init(ck_spinlock_mcs_t *lock) { ck_spinlock_mcs_init(lock); }

void contend_ck_mcs_lock(ck_spinlock_mcs_t *lock, ck_spinlock_mcs_context_t *node) { ck_spinlock_mcs_lock(lock, node); }

void contend_ck_mcs_unlock(ck_spinlock_mcs_t *lock, ck_spinlock_mcs_context_t *node) {
    ck_spinlock_mcs_unlock(lock, node);
}
