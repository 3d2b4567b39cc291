"""Greenlets that pass a token around by switching straight to the next one: no queue, no scheduler."""

from greenlet import getcurrent, greenlet

import arguments


def main(threads, hops):
    ring = []
    end = getcurrent()

    def pass_on(index):
        token = end.switch()
        switch = ring[(index + 1) % threads].switch
        while token:
            token = switch(token - 1)
        end.switch(index + 1)

    for i in range(threads):
        thread = greenlet(pass_on)
        ring.append(thread)
        thread.switch(i)
    print(ring[0].switch(hops))


main(*arguments.read())
