"""requests-cache with its Redis backend: caches.py SOCKET

The first line of output is the URL of a server in this process, whose answers have 1 KiB and stay fresh for an hour. Each
line of standard input is work: "hits N", the same answer N times from the cache. The answer to a line is the seconds it
took.
"""

import http.server
import sys
import threading
import time

import redis
import requests_cache

BODY = b"x" * 1024


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(BODY)))
        self.send_header("Cache-Control", "max-age=3600")
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_):
        pass


def main(socket):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    backend = requests_cache.RedisCache(connection=redis.Redis(unix_socket_path=socket))
    client = requests_cache.CachedSession(backend=backend, cache_control=True)
    print(url, flush=True)
    for line in sys.stdin:
        _, count = line.split()
        client.get(url)
        start = time.perf_counter()
        for _ in range(int(count)):
            response = client.get(url)
            if not response.from_cache or len(response.content) != len(BODY):
                sys.exit("requests-cache has a miss")
        print(time.perf_counter() - start, flush=True)


main(*sys.argv[1:])
