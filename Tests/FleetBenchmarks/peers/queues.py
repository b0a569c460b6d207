"""A worker of a queue in Python over PostgreSQL: queues.py procrastinate|pgqueuer URL WIDTH

Each line of standard input is work: "create 1", the tables; "enqueue N", N jobs; or "replay N", all jobs taken and
finished, WIDTH at a time, beside other workers. The answer to a line is the seconds it took.
"""

import asyncio
import logging
import sys
import time

# As long as a small request as Diamond's JSON.
JOB = "x" * 300


async def procrastinate_work(url, width):
    import procrastinate

    connector = procrastinate.PsycopgConnector(conninfo=url, min_size=width, max_size=width + 2)
    app = procrastinate.App(connector=connector)

    @app.task(name="send")
    async def send(request):
        return None

    await app.open_async()

    async def create(_):
        await app.schema_manager.apply_schema_async()

    async def enqueue(count):
        for _ in range(count // 500):
            await send.batch_defer_async(*({"request": JOB} for _ in range(500)))

    async def replay(_):
        await app.run_worker_async(wait=False, concurrency=width, install_signal_handlers=False)

    return {"create": create, "enqueue": enqueue, "replay": replay}


async def pgqueuer_work(url, width):
    import asyncpg
    from pgqueuer import PgQueuer
    from pgqueuer.types import QueueExecutionMode

    connection = await asyncpg.connect(url)

    def queue():
        queue = PgQueuer.from_asyncpg_connection(connection)

        @queue.entrypoint("send")
        async def send(job):
            return None

        return queue

    async def create(_):
        await queue().queries.install()

    async def enqueue(count):
        for _ in range(count // 500):
            await queue().queries.enqueue(["send"] * 500, [JOB.encode()] * 500, [0] * 500)

    async def replay(_):
        await queue().run(batch_size=width, mode=QueueExecutionMode.drain)

    return {"create": create, "enqueue": enqueue, "replay": replay}


async def main(library, url, width):
    logging.disable(logging.CRITICAL)
    make = {"procrastinate": procrastinate_work, "pgqueuer": pgqueuer_work}[library]
    work = await make(url, int(width))
    while line := sys.stdin.readline():
        name, count = line.split()
        start = time.perf_counter()
        await work[name](int(count))
        print(time.perf_counter() - start, flush=True)


asyncio.run(main(*sys.argv[1:]))
