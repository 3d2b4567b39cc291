// C symbols for Abseil's mutex, whose methods are not inline: an optimising compiler makes each of lock and unlock one
// jump.

#include <absl/synchronization/mutex.h>

#include <cstddef>
#include <new>

extern "C" {

bool contend_abseil_fits(std::size_t size, std::size_t align) noexcept {
    return sizeof(absl::Mutex) <= size && alignof(absl::Mutex) <= align;
}

void contend_abseil_init(void *room) noexcept {
    // Debian's library is compiled with its assertions, and with those comes a graph of the order in which locks were
    // taken, kept under a global lock. Release builds have no such graph, so it is off here; the assertions stay.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    new (room) absl::Mutex;
}

void contend_abseil_lock(absl::Mutex *mutex) noexcept { mutex->Lock(); }
void contend_abseil_unlock(absl::Mutex *mutex) noexcept { mutex->Unlock(); }
void contend_abseil_destroy(absl::Mutex *mutex) noexcept { mutex->~Mutex(); }
}
