"""Threads wait for a lock whose holder sleeps, for so many seconds."""

import sys
import threading
import time

lock = threading.Lock()
end = time.monotonic() + float((sys.argv[1:] or [1.5])[0])


def write_log():
    time.sleep(0.005)


def request():
    with lock:
        write_log()


def work():
    while time.monotonic() < end:
        request()


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
