public import Foundation
public import HTTPTypes

/// A response whose body is still being received: its head, and the bytes as they come.
///
/// A response from a server holds its permit until ``bytes`` were read to their end, their loop is left, or they are
/// dropped. For a status other than 2xx the whole body, 1 MiB at most, has been read already, and comes in one piece.
public struct StreamedResponse: Sendable {
    /// The head, with the body if that has arrived.
    var head: Response
    let pieces: StreamedBytes

    /// The body, with its content coding removed, in pieces of any size.
    ///
    /// It is read from the wire or the store only as fast as it is consumed. At most a few mebibytes are in memory.
    /// ``CurlTransport`` over HTTP/2, and ``URLSessionTransport`` on Linux, hold more of a body that is consumed slowly.
    ///
    /// It has one consumer and one iteration. Leaving its loop ends the exchange at once, even if the response is
    /// retained. So does dropping it unread, or canceling the task that reads it. Another iteration fails with
    /// `cancelled`.
    ///
    /// An iteration throws ``ConnectionError``, with the ``ConnectionError/attempts``: `connectionLost`; `timedOut` if
    /// nothing came for ``Request/timeout``; `bodyTooLarge`; `cancelled` with the waiting task. It is `connectionLost`,
    /// with a ``CacheError`` as the cause, if a stored body cannot be read to its end.
    public var bytes: some AsyncSequence<Data, ConnectionError> & Sendable { pieces }
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
        pieces = StreamedBytes(BodyStream(body))
    }

    init(whole response: Response) {
        head = response
        pieces = StreamedBytes(BodyStream(response.body))
    }
}

extension StreamedResponse: Redacted {
    /// The status, source and URL, without possible secrets, as in a ``Response``.
    public var description: String { head.description }
    var shownMembers: KeyValuePairs<String, Any> { head.shownMembers }
}
