// Coroutines that a first in, first out queue resumes.
#include "coroutine.hpp"

#include <bit>
#include <vector>

// A thread is in the queue at most once, so a place a thread is enough.
class Queue {
public:
    explicit Queue(std::size_t threads) : ready(std::bit_ceil(threads)), mask(ready.size() - 1) {}

    void push(std::coroutine_handle<> thread) { ready[added++ & mask] = thread; }

    void run()
    {
        while (taken != added)
            ready[taken++ & mask].resume();
    }

private:
    std::vector<std::coroutine_handle<>> ready;
    std::size_t mask;
    std::size_t added = 0;
    std::size_t taken = 0;
};

// Where a thread waits for its token: `co_await mailbox`.
class Mailbox {
public:
    void put(std::int64_t left, Queue &queue)
    {
        token = left;
        full = true;
        if (owner)
            queue.push(std::exchange(owner, nullptr));
    }

    bool await_ready() const noexcept { return full; }
    void await_suspend(std::coroutine_handle<> thread) noexcept { owner = thread; }
    std::int64_t await_resume() noexcept
    {
        full = false;
        return token;
    }

private:
    std::coroutine_handle<> owner;
    std::int64_t token = 0;
    bool full = false;
};

static Thread pass_on(std::size_t number, Mailbox &own, Mailbox &next, Queue &queue)
{
    for (;;) {
        const std::int64_t token = co_await own;
        if (token == 0) {
            std::printf("%zu\n", number);
            std::exit(0);
        }
        next.put(token - 1, queue);
    }
}

int main(int argc, char **argv)
{
    const Arguments ring(argc, argv);
    Queue queue(ring.threads);
    std::vector<Mailbox> mailboxes(ring.threads);
    for (std::size_t i = 0; i < ring.threads; i++)
        pass_on(i + 1, mailboxes[i], mailboxes[(i + 1) % ring.threads], queue);

    mailboxes[0].put(ring.hops, queue);
    queue.run();
    std::abort();
}
