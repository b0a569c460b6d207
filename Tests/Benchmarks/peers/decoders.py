"""Decoders of JSON in Python: decoders.py msgspec|orjson FILE

Each line of standard input is work: "decode N", the file's rows decoded N times, into structs of ten members by msgspec,
and into dictionaries by orjson. The answer to a line is the seconds of processor time it took.
"""

import sys
import time


def msgspec_decoder():
    import msgspec

    class Record(msgspec.Struct):
        id: int
        name: str
        group: str
        rank: int
        isOpen: bool
        size: float
        notes: str
        created: float
        author: str
        answers: int | None

    return msgspec.json.Decoder(list[Record]).decode


def orjson_decoder():
    import orjson

    return orjson.loads


def main(library, path):
    decode = {"msgspec": msgspec_decoder, "orjson": orjson_decoder}[library]()
    with open(path, "rb") as file:
        text = file.read()
    for line in sys.stdin:
        _, count = line.split()
        start = time.process_time()
        for _ in range(int(count)):
            if not decode(text):
                sys.exit(f"{library} has decoded no row")
        print(time.process_time() - start, flush=True)


main(*sys.argv[1:])
