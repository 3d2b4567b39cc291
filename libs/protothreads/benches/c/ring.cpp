// The thread ring in C++20: each thread is a coroutine that waits for its own semaphore.
//
//     ring queue|direct THREADS HOPS
//
// queue: a coroutine that got a unit goes to the end of a ready queue. direct: the coroutine that gives the unit resumes
// it at once, by symmetric transfer. Prints the number of the thread that got the last token, and the duration in
// nanoseconds.
#include <chrono>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

// First in, first out, with a power of two of slots: there are never more ready coroutines than threads.
class Queue {
public:
    explicit Queue(unsigned threads) {
        unsigned places = 1;
        while (places < threads)
            places *= 2;
        places_.resize(places);
    }
    void push(std::coroutine_handle<> thread) { places_[end_++ & (places_.size() - 1)] = thread; }
    std::coroutine_handle<> pop() {
        return first_ == end_ ? nullptr : places_[first_++ & (places_.size() - 1)];
    }

private:
    std::vector<std::coroutine_handle<>> places_;
    unsigned first_ = 0, end_ = 0;
};

struct Thread {
    struct promise_type {
        Thread get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

struct Semaphore {
    unsigned count = 0;
    std::coroutine_handle<> waiter = nullptr;

    auto wait() {
        struct Awaiter {
            Semaphore &semaphore;
            bool await_ready() { return semaphore.count > 0 && (semaphore.count--, true); }
            void await_suspend(std::coroutine_handle<> thread) { semaphore.waiter = thread; }
            void await_resume() {}
        };
        return Awaiter{*this};
    }

    // The thread that now has the unit, if one waits for it.
    std::coroutine_handle<> signal() {
        if (!waiter) {
            count++;
            return nullptr;
        }
        return std::exchange(waiter, nullptr);
    }
};

struct Place {
    Semaphore semaphore;
    unsigned token = 0;
};

static std::vector<Place> places;
static unsigned answer;

// The end of the ring is a predicted branch.
static unsigned after(unsigned id) {
    if (id + 1 == places.size()) [[unlikely]]
        return 0;
    return id + 1;
}

static Thread queued(unsigned id, Queue &queue) {
    for (;;) {
        co_await places[id].semaphore.wait();
        unsigned token = places[id].token;
        if (token == 0) {
            answer = id + 1;
            co_return;
        }
        unsigned next = after(id);
        places[next].token = token - 1;
        if (auto thread = places[next].semaphore.signal())
            queue.push(thread);
    }
}

// Gives the unit to `next` and waits for its own one, in one transfer.
struct HandOver {
    Semaphore &own, &next;
    bool await_ready() { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> self) {
        auto thread = next.signal();
        if (own.count > 0) {
            own.count--;
            return self;
        }
        own.waiter = self;
        return thread ? thread : std::noop_coroutine();
    }
    void await_resume() {}
};

static Thread direct(unsigned id) {
    co_await places[id].semaphore.wait();
    for (;;) {
        unsigned token = places[id].token;
        if (token == 0) {
            answer = id + 1;
            co_return;
        }
        unsigned next = after(id);
        places[next].token = token - 1;
        co_await HandOver{places[id].semaphore, places[next].semaphore};
    }
}

int main(int argc, char **argv) {
    unsigned thread_count = argc == 4 ? std::strtoul(argv[2], nullptr, 10) : 0;
    if (thread_count == 0) {
        std::fputs("usage: ring queue|direct THREADS HOPS\n", stderr);
        return 2;
    }
    bool is_queued = std::strcmp(argv[1], "queue") == 0;
    places.resize(thread_count);
    Queue queue(thread_count);
    std::vector<Thread> threads;
    for (unsigned id = 0; id < thread_count; id++)
        threads.push_back(is_queued ? queued(id, queue) : direct(id));

    auto start = std::chrono::steady_clock::now();
    for (auto &thread : threads)
        thread.handle.resume();
    places[0].token = std::strtoul(argv[3], nullptr, 10);
    if (auto first = places[0].semaphore.signal())
        queue.push(first);
    while (auto thread = queue.pop())
        thread.resume();
    auto end = std::chrono::steady_clock::now();
    std::printf("%u %lld\n", answer,
                static_cast<long long>(std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count()));
    for (auto &thread : threads)
        thread.handle.destroy();
    return 0;
}
