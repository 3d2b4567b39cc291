/* ulocks_inline.h - ulocks.h, with the uncontended lock, trylock and unlock of ulock_t and shared_ulock_t in the caller.
 *
 * Include it instead of ulocks.h, or in addition to it: ulock_lock, ulock_trylock, ulock_unlock and those of
 * shared_ulock_t are then macros for inline functions, whose names begin with ulocks_inline_. Inline functions and the
 * functions of the library can be mixed on one lock, also in one program. Contended calls go to the library.
 *
 * It needs GCC 4.7, Clang 9 or a compiler that is compatible with them. On x86-64, ulock_unlock is a restartable
 * sequence (rseq) where the library uses one, otherwise a compare-and-swap. See ulocks(3).
 *
 * A program that includes this header contains the meaning of a lock's word: 0 is unlocked, 1 is held without waiters.
 * A library that changes it has another soname.
 */
#ifndef ULOCKS_INLINE_H
#define ULOCKS_INLINE_H

#include <errno.h>

#include "ulocks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Distance from the thread pointer to each thread's struct rseq, or 0 while the library does not use sequences. */
extern const uintptr_t *const ulocks_restartable_offset;

/* The word of a lock that is held and has no waiters. */
#define ULOCKS_HELD_ 1

static inline int ulocks_acquire_(uint32_t *word, uint32_t *seen)
{
    *seen = 0;
    return __builtin_expect(
        __atomic_compare_exchange_n(word, seen, ULOCKS_HELD_, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED), 1);
}

static inline int ulocks_release_(uint32_t *word)
{
    uint32_t held = ULOCKS_HELD_;
    return __builtin_expect(__atomic_compare_exchange_n(word, &held, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED), 1);
}

/* ThreadSanitizer does not see the store of a sequence. */
#if defined(__x86_64__) && defined(__LP64__) && defined(__ELF__) && !defined(ULOCKS_TSAN_H)
/* Stores 0 to the word if it is ULOCKS_HELD_; returns whether it did.
 *
 * The thread announces the sequence between labels 2 and 3 to the kernel, by the address of the descriptor at label 4. If
 * the thread is preempted, migrated or receives a signal within it, the kernel resumes it at label 5, after the signature
 * that the C library registered. Both additional sections belong to the section group of the function, if it has one:
 * the linker drops them together. Braces contain an instruction in both syntaxes of the assembler, AT&T first. */
static inline int ulocks_store_zero_(uint32_t *word, uintptr_t offset)
{
    __asm__ goto(".pushsection __rseq_cs, \"aw?\", @progbits\n\t"
                 ".balign 32\n"
                 "4:\n\t"
                 ".long 0, 0\n\t"
                 ".quad 2f, 3f - 2f, 5f\n\t"
                 ".popsection\n\t"
                 "{leaq 4b(%%rip), %%rax|lea rax, [rip + 4b]}\n\t"
                 "{movq %%rax, %%fs:8(%[offset])|mov qword ptr fs:[%[offset] + 8], rax}\n"
                 "2:\n\t"
                 "{cmpl %[held], (%[word])|cmp dword ptr [%[word]], %[held]}\n\t"
                 "jne 6f\n\t"
                 "{movl $0, (%[word])|mov dword ptr [%[word]], 0}\n"
                 "3:\n\t"
                 "{movq $0, %%fs:8(%[offset])|mov qword ptr fs:[%[offset] + 8], 0}\n\t"
                 ".pushsection __rseq_failure, \"ax?\", @progbits\n\t"
                 ".byte 0x0f, 0xb9, 0x3d\n\t"
                 ".long 0x53053053\n"
                 "5:\n\t"
                 "jmp %l[not_stored]\n"
                 "6:\n\t"
                 "{movq $0, %%fs:8(%[offset])|mov qword ptr fs:[%[offset] + 8], 0}\n\t"
                 "jmp %l[not_stored]\n\t"
                 ".popsection"
                 :
                 : [word] "r"(word), [offset] "r"(offset), [held] "i"(ULOCKS_HELD_)
                 : "rax", "cc", "memory"
                 : not_stored);
    return 1;
not_stored:
    return 0;
}

static inline int ulocks_release_private_(uint32_t *word)
{
    const uintptr_t offset = __atomic_load_n(ulocks_restartable_offset, __ATOMIC_ACQUIRE);
    return __builtin_expect(offset != 0, 1) ? ulocks_store_zero_(word, offset) : ulocks_release_(word);
}
#else
#define ulocks_release_private_ ulocks_release_
#endif

static inline void ulocks_inline_ulock_lock(ulock_t *lock)
{
    uint32_t seen;
    if (!ulocks_acquire_(lock->word_, &seen)) ulocks_ulock_lock(lock);
}

static inline int ulocks_inline_ulock_trylock(ulock_t *lock)
{
    uint32_t seen;
    if (ulocks_acquire_(lock->word_, &seen)) return 0;
    return seen & ULOCKS_HELD_ ? EBUSY : ulocks_ulock_trylock(lock);
}

static inline void ulocks_inline_ulock_unlock(ulock_t *lock)
{
    if (!ulocks_release_private_(lock->word_)) ulocks_ulock_unlock(lock);
}

static inline void ulocks_inline_shared_ulock_lock(shared_ulock_t *lock)
{
    uint32_t seen;
    if (!ulocks_acquire_(lock->word_, &seen)) ulocks_shared_ulock_lock(lock);
}

static inline int ulocks_inline_shared_ulock_trylock(shared_ulock_t *lock)
{
    uint32_t seen;
    if (ulocks_acquire_(lock->word_, &seen)) return 0;
    return seen & ULOCKS_HELD_ ? EBUSY : ulocks_shared_ulock_trylock(lock);
}

static inline void ulocks_inline_shared_ulock_unlock(shared_ulock_t *lock)
{
    if (!ulocks_release_(lock->word_)) ulocks_shared_ulock_unlock(lock);
}

#ifdef __cplusplus
}
#endif

#endif

/* Separate from the functions, as in ulocks.h. */
#if defined(ULOCKS_SHORT_NAMES) && !defined(ULOCKS_NO_SHORT_NAMES) && !defined(ULOCKS_INLINE_NAMES)
#define ULOCKS_INLINE_NAMES
#undef ulock_lock
#undef ulock_trylock
#undef ulock_unlock
#undef shared_ulock_lock
#undef shared_ulock_trylock
#undef shared_ulock_unlock
#define ulock_lock ulocks_inline_ulock_lock
#define ulock_trylock ulocks_inline_ulock_trylock
#define ulock_unlock ulocks_inline_ulock_unlock
#define shared_ulock_lock ulocks_inline_shared_ulock_lock
#define shared_ulock_trylock ulocks_inline_shared_ulock_trylock
#define shared_ulock_unlock ulocks_inline_shared_ulock_unlock
#endif
