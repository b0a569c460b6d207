/// The limits for the head and the trailers of a response. Real servers stay below them; they protect the memory.
enum HeadLimit {
    /// The maximum size of a head in bytes, including interim responses. libcurl has a limit of 300 KB, and reports an
    /// excess as a broken connection.
    static let mostBytes = 256 << 10
    /// The maximum number of fields of a head. libcurl has a limit of 5,000.
    static let mostFields = 4000
    /// The maximum number of trailer fields, the same as in hyper.
    static let mostTrailerFields = 100
    /// The maximum size of the trailers in bytes, the same as in hyper.
    static let mostTrailerBytes = 16 << 10
    /// The maximum time for the trailers, unless the request's timeout is shorter.
    static let trailerTime = Duration.seconds(10)

    static let tooManyFields = "the server sent more than \(mostFields) header fields: have it send fewer"
    static let tooLarge =
        "the server sent a head larger than \(mostBytes >> 10) KiB, interim responses included: have it send a smaller one"
    /// The limit of libcurl, `CURL_MAX_HTTP_HEADER`.
    static let longLine = "the server sent a header line longer than 100 KB: have it send a shorter one"
    static let trailers =
        "the server sent more trailers after the body than \(mostTrailerFields) fields or \(mostTrailerBytes >> 10) KiB: "
        + "have it send fewer"

    /// Returns the message for an exchange that timed out.
    ///
    /// - Parameter isInHead: whether the request was sent and the response's head is incomplete.
    static func timeoutMessage(_ timeout: Duration?, isInHead: Bool) -> String {
        let time = "\(timeout?.milliseconds ?? 0) ms: try again, or allow more time"
        return isInHead ? "the server sent no whole head in \(time)" : "nothing moved for \(time)"
    }
}

/// The fields and bytes of a body's trailers so far.
struct TrailerCount: Sendable {
    private var fields = 0
    private var bytes = 0

    mutating func addLine(byteCount: Int) {
        fields += 1
        bytes += byteCount
    }

    var isFirst: Bool { fields == 1 }

    var isTooLarge: Bool { fields > HeadLimit.mostTrailerFields || bytes > HeadLimit.mostTrailerBytes }
}
