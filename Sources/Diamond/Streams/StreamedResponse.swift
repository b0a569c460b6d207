public import HTTPTypes

/// A response whose body is still being received: its head, and the bytes as they come.
///
/// A response from a server holds its permit until ``bytes`` were read to their end, their loop is left, or they are
/// dropped. For a status other than 2xx the whole body, 1 MiB at most, has been read already, and comes in one piece.
public struct StreamedResponse: Sendable {
    /// The head, with the body if that has arrived.
    var head: Response
    /// The body, with its content coding removed, for one consumer.
    public let bytes: StreamedBytes

    /// The server's status, whatever it is.
    public var status: HTTPResponse.Status { head.status }
    /// The server's headers.
    public var headers: HTTPFields { head.headers }
    /// The source of the response.
    public var source: Response.Source { head.source }
    /// The URL that the response is from, after redirects, without user info.
    public var url: String { head.url }
    /// The attempts until the head arrived, as in a ``Response``.
    public var attempts: [Attempt] { head.attempts }
    /// The part of the engine's cache in the response; `nil` without a cache.
    public var cacheStatus: CacheStatus? { head.cacheStatus }

    /// - Parameter head: without a body.
    init(_ head: Response, body: BodyPipe) {
        self.head = head
        bytes = StreamedBytes(BodyStream(body))
    }

    init(whole response: Response) {
        head = response
        bytes = StreamedBytes(BodyStream(response.body))
    }
}

extension StreamedResponse: Redacted {
    /// The status, source and URL, without possible secrets, as in a ``Response``.
    public var description: String { head.description }
    public var customMirror: Mirror { head.customMirror }
}
