"""Queues in Python over SQLite: queues.py litequeue|persist-queue|huey DIRECTORY

Each line of standard input is work: "enqueue N", N jobs one after the other, each durable before the next, or "replay N",
the first N taken and finished one after the other. The answer to a line is the seconds it took.
"""

import sys
import time

# As long as a small request as Diamond's JSON.
JOB = "x" * 300


def litequeue(directory):
    import litequeue

    queue = litequeue.LiteQueue(f"{directory}/litequeue.sqlite")
    # It does not wait for the disk otherwise.
    queue.conn.execute("PRAGMA synchronous = FULL")
    return lambda: queue.put(JOB), lambda: queue.done(queue.pop().message_id)


def persist_queue(directory):
    import persistqueue

    queue = persistqueue.SQLiteAckQueue(f"{directory}/persist-queue", multithreading=True)
    return lambda: queue.put(JOB), lambda: queue.ack(queue.get(block=False))


def huey(directory):
    from huey import SqliteHuey

    huey = SqliteHuey(filename=f"{directory}/huey.sqlite", fsync=True)

    @huey.task()
    def send(request):
        return None

    return lambda: send(JOB), lambda: huey.execute(huey.dequeue())


def main(library, directory):
    enqueue, replay = {"litequeue": litequeue, "persist-queue": persist_queue, "huey": huey}[library](directory)
    work = {"enqueue": enqueue, "replay": replay}
    for line in sys.stdin:
        name, count = line.split()
        start = time.perf_counter()
        for _ in range(int(count)):
            work[name]()
        print(time.perf_counter() - start, flush=True)


main(*sys.argv[1:])
