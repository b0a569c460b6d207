/// The limits for the head and the trailers that a server sends. Real servers stay below them; more would fill the
/// memory.
enum HeadLimit {
    /// The most bytes of a head, those of interim responses included. libcurl ends at 300 KB, and reports that as a
    /// broken connection.
    static let mostBytes = 256 << 10
    /// The most fields of a head. libcurl ends at 5,000.
    static let mostFields = 4000
    /// The most trailer fields; hyper has the same limit.
    static let mostTrailerFields = 100
    /// The most bytes of trailers; hyper has the same limit.
    static let mostTrailerBytes = 16 << 10
    /// The longest time that trailers may take, where the request's timeout is not shorter.
    static let trailerTime = Duration.seconds(10)

    static let tooManyFields = "the server sent more than \(mostFields) header fields: have it send fewer"
    static let tooLarge =
        "the server sent a head larger than \(mostBytes >> 10) KiB, interim responses included: have it send a smaller one"
    /// libcurl's bound, in `CURL_MAX_HTTP_HEADER`.
    static let longLine = "the server sent a header line longer than 100 KB: have it send a shorter one"
    static let trailers =
        "the server sent more trailers behind the body than \(mostTrailerFields) fields or \(mostTrailerBytes >> 10) KiB: "
        + "have it send fewer"

    /// Why an exchange ends after its timeout.
    ///
    /// - Parameter isInHead: whether the request is sent, and the head of the answer is not here whole.
    static func standstill(_ timeout: Duration?, isInHead: Bool) -> String {
        let time = "\(timeout?.milliseconds ?? 0) ms: try again, or allow more time"
        return isInHead ? "the server sent no whole head in \(time)" : "nothing moved for \(time)"
    }
}

/// The fields and bytes of a body's trailers so far.
struct TrailerCount: Sendable {
    private var fields = 0
    private var bytes = 0

    /// - Parameter count: bytes of a line.
    mutating func addLine(of count: Int) {
        fields += 1
        bytes += count
    }

    var isFirst: Bool { fields == 1 }

    var isTooLarge: Bool { fields > HeadLimit.mostTrailerFields || bytes > HeadLimit.mostTrailerBytes }
}
