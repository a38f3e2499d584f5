import threading

from local.s3.locks import ReadWriteLock


def run_together(*functions):
    threads = [threading.Thread(target=f) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()


def test_readers_share_a_lock():
    lock, barrier = ReadWriteLock(), threading.Barrier(3)

    def read():
        with lock.read():
            barrier.wait(5)  # passes only when all three are inside

    run_together(read, read, read)
    assert not barrier.broken


def test_a_writer_is_alone():
    lock, inside, most = ReadWriteLock(), [], []

    def use(hold):
        for _ in range(50):
            with hold():
                inside.append(hold)
                most.append(list(inside))
                inside.remove(hold)

    run_together(*[lambda: use(lock.write)] * 2, *[lambda: use(lock.read)] * 2)
    assert len(most) == 200
    assert all(len(held) == 1 for held in most if lock.write in held)
