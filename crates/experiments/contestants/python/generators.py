"""Generators that pass a token around; a first in, first out queue resumes them."""

from collections import deque

import arguments


def pass_on(index, tokens, wake):
    following = (index + 1) % len(tokens)
    while True:
        yield
        token = tokens[index]
        if token == 0:
            return index + 1
        tokens[following] = token - 1
        wake(following)


def main(threads, hops):
    tokens = [None] * threads
    ready = deque()
    ring = [pass_on(i, tokens, ready.append) for i in range(threads)]
    for thread in ring:
        next(thread)
    tokens[0] = hops
    ready.append(0)
    while ready:
        try:
            next(ring[ready.popleft()])
        except StopIteration as end:
            print(end.value)
            return


main(*arguments.read())
