"""The two arguments of every program in this folder: THREADS HOPS."""

import re
import sys


def read():
    given = sys.argv[1:]
    if len(given) == 2 and all(re.fullmatch("[0-9]{1,15}", text) for text in given):
        threads, hops = map(int, given)
        if threads >= 1:
            return threads, hops
    print(
        "ring: needs THREADS (1 or more) and HOPS (0 or more), whole numbers of at most 15 digits",
        file=sys.stderr,
    )
    sys.exit(2)
