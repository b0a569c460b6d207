/// How a request asks the server to misbehave, or to send other caching fields than usual.
///
/// Each is a query parameter `_bodyDelay=20` or a request header `X-Sample-Body-Delay: 20`.
struct Switches: Sendable {
    /// How long to wait before the response's head.
    var delay: Duration?
    /// How long to wait between two chunks of the response's body.
    var bodyDelay: Duration?
    /// The status to answer with instead of doing what was asked.
    var status: Int?
    /// Which request in a row fails with 503: 3 is every third on that path.
    var failEvery: Int?
    /// The response's whole `Cache-Control`.
    var cacheControl: String?
    /// Whether the response goes without `ETag` and `Last-Modified`, and is never a 304.
    var noValidators = false

    init() {}

    init(_ arguments: inout Arguments) throws(Problem) {
        delay = try arguments.milliseconds("_delay")
        bodyDelay = try arguments.milliseconds("_bodyDelay")
        status = try arguments.number("_status", in: 200...599)
        failEvery = try arguments.number("_failEvery", in: 1...1_000_000)
        let maxAge = try arguments.number("_maxAge", in: 0...Int.max)
        cacheControl = try arguments.text("_cacheControl") ?? maxAge.map { "max-age=\($0)" }
        noValidators = try arguments.flag("_noValidators")
    }
}
