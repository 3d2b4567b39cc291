"""Tasks of asyncio that pass a token around, each waiting for an event of its own."""

import asyncio

import arguments


class Mailbox:
    def __init__(self):
        self.filled = asyncio.Event()
        self.token = None

    def put(self, token):
        self.token = token
        self.filled.set()

    async def take(self):
        await self.filled.wait()
        self.filled.clear()
        return self.token


async def pass_on(number, own, following, last):
    while token := await own.take():
        following.put(token - 1)
    last.set_result(number)


async def main(threads, hops):
    mailboxes = [Mailbox() for _ in range(threads)]
    last = asyncio.get_running_loop().create_future()
    # Named, because the event loop holds its tasks only weakly.
    tasks = [
        asyncio.create_task(pass_on(i + 1, mailboxes[i], mailboxes[(i + 1) % threads], last))
        for i in range(threads)
    ]
    mailboxes[0].put(hops)
    print(await last)


asyncio.run(main(*arguments.read()))
