"""Waits of one kind, for so many seconds: for a lock whose holder computes in another function, for one that is tried in vain
between sleeps, and for room in a queue."""

import queue
import sys
import threading
import time

end = time.monotonic() + float(sys.argv[2])
table = threading.RLock()
slot = threading.Lock()
room = queue.Queue(maxsize=2)


def export_rows():
    return "\n".join(str(number) for number in range(30_000))


def export():
    with table:
        export_rows()
    time.sleep(0.0005)


def look_up():
    with table:
        pass
    time.sleep(0.0005)


def upload():
    time.sleep(0.006)


def claim():
    while not slot.acquire(blocking=False):
        time.sleep(0.005)


def try_again():
    claim()
    upload()
    slot.release()
    time.sleep(0.0005)


def produce():
    room.put(1)


def publish():
    room.get()
    time.sleep(0.008)


def repeat(step):
    while time.monotonic() < end:
        step()


kinds = {"table": [export] + 3 * [look_up], "slot": 5 * [try_again], "room": [publish] + 3 * [produce]}
for step in kinds[sys.argv[1]]:
    threading.Thread(target=repeat, args=(step,), daemon=True).start()
time.sleep(max(0, end - time.monotonic()))
