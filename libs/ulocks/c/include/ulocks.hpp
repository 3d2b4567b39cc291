// ulocks.hpp - the locks of ulocks.h as C++ classes, for std::lock_guard, std::unique_lock, std::scoped_lock and
// std::condition_variable_any. Each has the size of its C type, and is constant-initialised.
#ifndef ULOCKS_HPP
#define ULOCKS_HPP

#include <chrono>
#include <cstdint>

// The short names are macros: ulocks.h adds them to a program that includes it directly.
#ifdef ULOCKS_NO_SHORT_NAMES
#include "ulocks_inline.h"
#else
#define ULOCKS_NO_SHORT_NAMES
#include "ulocks_inline.h"
#undef ULOCKS_NO_SHORT_NAMES
#endif

namespace ulocks {

namespace detail {
template <class Rep, class Period>
std::uint64_t nanoseconds(std::chrono::duration<Rep, Period> time)
{
    // A longer time than the library can represent means forever; the comparison precedes the cast, which would overflow.
    if (time <= time.zero()) return 0;
    const std::chrono::duration<long double, std::nano> exact = time;
    const auto most = static_cast<long double>(UINT64_MAX / 2);
    return exact.count() >= most ? UINT64_MAX : static_cast<std::uint64_t>(exact.count());
}

// The time left until `time`: zero if it has passed.
template <class Clock, class Duration> std::uint64_t from_now(std::chrono::time_point<Clock, Duration> time)
{
    const auto now = Clock::now();
    if (time <= now) return 0;
    using wide = std::chrono::duration<long double, std::nano>;
    return nanoseconds(wide(time.time_since_epoch()) - wide(now.time_since_epoch()));
}
} // namespace detail

// The adaptive mutex: a TimedLockable. Its uncontended calls are inline.
class adaptive {
public:
    constexpr adaptive() noexcept : lock_ ULOCK_INIT {}
    adaptive(const adaptive &) = delete;
    adaptive &operator=(const adaptive &) = delete;

    void lock() { ulocks_inline_ulock_lock(&lock_); }
    bool try_lock() { return ulocks_inline_ulock_trylock(&lock_) == 0; }
    void unlock() { ulocks_inline_ulock_unlock(&lock_); }

    template <class Rep, class Period> bool try_lock_for(std::chrono::duration<Rep, Period> time)
    {
        return ulocks_ulock_timedlock(&lock_, detail::nanoseconds(time)) == 0;
    }
    template <class Clock, class Duration> bool try_lock_until(std::chrono::time_point<Clock, Duration> time)
    {
        return ulocks_ulock_timedlock(&lock_, detail::from_now(time)) == 0;
    }

    ulock_t *native_handle() { return &lock_; }

private:
    ulock_t lock_;
};

// The adaptive reader-writer lock: a TimedLockable and SharedTimedLockable, for std::shared_lock and
// std::unique_lock.
class adaptive_rw {
public:
    constexpr adaptive_rw() noexcept : lock_ URW_INIT {}
    adaptive_rw(const adaptive_rw &) = delete;
    adaptive_rw &operator=(const adaptive_rw &) = delete;

    void lock() { ulocks_urw_wrlock(&lock_); }
    bool try_lock() { return ulocks_urw_trywrlock(&lock_) == 0; }
    void unlock() { ulocks_urw_wrunlock(&lock_); }
    void lock_shared() { ulocks_urw_rdlock(&lock_); }
    bool try_lock_shared() { return ulocks_urw_tryrdlock(&lock_) == 0; }
    void unlock_shared() { ulocks_urw_rdunlock(&lock_); }

    template <class Rep, class Period> bool try_lock_for(std::chrono::duration<Rep, Period> time)
    {
        return ulocks_urw_timedwrlock(&lock_, detail::nanoseconds(time)) == 0;
    }
    template <class Clock, class Duration> bool try_lock_until(std::chrono::time_point<Clock, Duration> time)
    {
        return ulocks_urw_timedwrlock(&lock_, detail::from_now(time)) == 0;
    }
    template <class Rep, class Period> bool try_lock_shared_for(std::chrono::duration<Rep, Period> time)
    {
        return ulocks_urw_timedrdlock(&lock_, detail::nanoseconds(time)) == 0;
    }
    template <class Clock, class Duration> bool try_lock_shared_until(std::chrono::time_point<Clock, Duration> time)
    {
        return ulocks_urw_timedrdlock(&lock_, detail::from_now(time)) == 0;
    }

    urw_t *native_handle() { return &lock_; }

private:
    urw_t lock_;
};

} // namespace ulocks

#endif
