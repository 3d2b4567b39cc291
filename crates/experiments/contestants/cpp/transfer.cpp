// Coroutines that resume one another directly (symmetric transfer): no queue, no scheduler.
#include "coroutine.hpp"

#include <vector>

struct Mailbox {
    std::coroutine_handle<> owner;
    std::int64_t token = 0;
};

// Waits for the token in one's own mailbox.
struct Receive {
    Mailbox &own;

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> thread) noexcept { own.owner = thread; }
    std::int64_t await_resume() noexcept { return own.token; }
};

// Leaves a token with another thread, goes on there, and waits for the next one.
struct HandOver : Receive {
    Mailbox &next;
    std::int64_t token;

    std::coroutine_handle<> await_suspend(std::coroutine_handle<> thread) noexcept
    {
        own.owner = thread;
        next.token = token;
        return next.owner;
    }
};

static Thread pass_on(std::size_t number, Mailbox &own, Mailbox &next)
{
    std::int64_t token = co_await Receive{own};
    while (token > 0)
        token = co_await HandOver{{own}, next, token - 1};
    std::printf("%zu\n", number);
    std::exit(0);
}

int main(int argc, char **argv)
{
    const Arguments ring(argc, argv);
    std::vector<Mailbox> mailboxes(ring.threads);
    for (std::size_t i = 0; i < ring.threads; i++)
        pass_on(i + 1, mailboxes[i], mailboxes[(i + 1) % ring.threads]);

    mailboxes[0].token = ring.hops;
    mailboxes[0].owner.resume();
    std::abort();
}
