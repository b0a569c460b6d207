#if Tools
import HTTPTypes
import Hummingbird
import NIOCore

/// `/`: the guide to the routes.
struct GuideRoute: Sendable {
    func add(to router: Router<SampleContext>) {
        router.get("/") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "text/plain; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: Self.text)))
        }
    }

    static let text = """
        The sample API: cities, notes, sessions and streams, as JSON. Errors are application/problem+json (RFC 9457).

        Cities
          GET    /cities            country=DE, q=ber, minPopulation=N, maxPopulation=N, timezone=Europe/Berlin,
                                    sort=name|population|id (with - for descending), and one kind of paging:
                                    page=1&perPage=10, or offset=0&limit=10 (both with a Link field), or cursor=…&limit=10.
                                    Answers {"total": N, "items": [City], "nextCursor": "…" or null}.
          QUERY  /cities            the same, as members of a JSON body
          POST   /cities            {"name": "Bonn", "country": "DE", "population": 330579, "latitude": 50.73,
                                    "longitude": 7.1, "timezone": "Europe/Berlin"}; creates a city, answers 201 with it
          GET    /cities/ID         a city, with ETag and Last-Modified; honors If-None-Match, If-Modified-Since
          PUT    /cities/ID         replaces or creates a city; honors If-Match, If-None-Match
          PATCH  /cities/ID         changes the given members; honors If-Match
          DELETE /cities/ID         removes a city; honors If-Match

        Notes
          GET    /notes             all notes, or city=ID; honors If-None-Match
          POST   /notes             {"text": "…", "city": ID or nothing}; acts once for an Idempotency-Key
          GET    /notes/ID          a note
          PATCH  /notes/ID          {"text": "…"}
          GET    /effects           how often notes were created and changed
          DELETE /effects           forgets notes, keys and counts

        Sessions
          POST   /login             {"user": "ann", "password": "diamond", "expiresIn": 3600}; answers {"token": "…", …}
          DELETE /login             ends the session of the Bearer token
          GET    /me                {"name": "ann"}, the user of the Bearer token; 401 without one

        Streams
          GET    /events            cities as server-sent events: count=10, interval=500 (ms); honors Last-Event-ID
          GET    /export            cities as lines of JSON: count=N

        Wire
          GET    /wire/bytes/N      N bytes, whole, or in part for Range; honors If-Range
          /wire/…                   what a transport has to get right; see Tests/SampleAPI/Wire

        Every route takes _delay=MS, _bodyDelay=MS, _status=CODE, _failEvery=N, _maxAge=SECONDS, _cacheControl=TEXT and
        _noValidators in its query, or as fields such as X-Sample-Delay: MS.

        """
}
#endif
