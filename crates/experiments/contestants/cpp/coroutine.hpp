// What both programs here share: the arguments, and a coroutine that nobody waits for.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <utility>

struct Arguments {
    std::size_t threads;
    std::int64_t hops;

    Arguments(int argc, char **argv)
    {
        const std::int64_t count = argc == 3 ? whole_number(argv[1]) : -1;
        hops = argc == 3 ? whole_number(argv[2]) : -1;
        if (count < 1 || hops < 0) {
            std::fputs("ring: needs THREADS (1 or more) and HOPS (0 or more), whole numbers of at most 15 digits\n", stderr);
            std::exit(2);
        }
        threads = static_cast<std::size_t>(count);
    }

private:
    static std::int64_t whole_number(std::string_view text)
    {
        if (text.empty() || text.size() > 15 || text.find_first_not_of("0123456789") != text.npos)
            return -1;
        return std::strtoll(text.data(), nullptr, 10);
    }
};

// Runs at once, up to its first wait. Its frame is never freed: the program ends while all threads wait.
struct Thread {
    struct promise_type {
        Thread get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};
