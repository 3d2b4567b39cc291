import threading

accounts = threading.Lock()
journal = threading.Lock()


def pay(both):
    with accounts:
        both.wait()
        with journal:
            pass


def audit(both):
    with journal:
        both.wait()
        with accounts:
            pass


def test_adds():
    assert 1 + 1 == 2


def test_pays_and_audits():
    both = threading.Barrier(2)
    all = [threading.Thread(target=one, args=(both,), daemon=True) for one in (pay, audit)]
    [one.start() for one in all]
    [one.join() for one in all]
