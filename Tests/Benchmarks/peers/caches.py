"""HTTP caches in Python over SQLite: caches.py requests-cache|hishel URL DIRECTORY

Each line of standard input is work: "hits N", the same answer N times from the cache, or "stores N", N new answers from
the server into it. The answer to a line is the seconds of processor time it took.
"""

import sys
import time


def requests_cache_client(path):
    import requests_cache

    return requests_cache.CachedSession(path, backend="sqlite", cache_control=True)


def hishel_client(path):
    import hishel
    import hishel.httpx

    return hishel.httpx.CacheClient(storage=hishel.SqliteStorage(database_path=path), rfc=True)


def is_hit(response):
    if hasattr(response, "extensions"):
        return response.extensions["caching"]["from_cache"]
    return response.from_cache


def main(library, url, directory):
    make = {"requests-cache": requests_cache_client, "hishel": hishel_client}[library]
    client = make(f"{directory}/{library}.sqlite")
    stored = 0
    for line in sys.stdin:
        work, count = line.split()
        if work == "hits":
            client.get(url)
        start = time.process_time()
        for _ in range(int(count)):
            if work == "stores":
                stored += 1
            response = client.get(url if work == "hits" else f"{url}?number={stored}")
            if response.status_code != 200 or is_hit(response) != (work == "hits"):
                sys.exit(f"{library} did not do '{work}'")
        print(time.process_time() - start, flush=True)


main(*sys.argv[1:])
