public import HTTPTypes

/// An answer whose body is still on its way: its head, and the bytes as they come.
///
/// What comes from a server has its place on the wire until ``bytes`` were read to their end, their loop is left, or
/// they are dropped. An answer that is no success (a status other than 2xx) has been read already, up to 1 MiB, and
/// comes in one piece.
public struct StreamedResponse: Sendable {
    /// With the body, where that is here.
    let head: Response
    /// The body, with its content coding removed. For one consumer.
    public let bytes: StreamedBytes

    /// The server's, whatever it is.
    public var status: HTTPResponse.Status { head.status }
    /// The server's.
    public var headers: HTTPFields { head.headers }
    /// How it was obtained.
    public var source: Response.Source { head.source }
    /// The URL that answers, after redirects, without user info.
    public var url: String { head.url }
    /// The exchanges that it took until the head was here, in order; empty where the first was all.
    public var attempts: [Attempt] { head.attempts }

    /// - Parameter head: without a body.
    init(_ head: Response, _ pipe: BodyPipe) { (self.head, bytes) = (head, StreamedBytes(BodyStream(pipe))) }

    init(whole response: Response) { (head, bytes) = (response, StreamedBytes(BodyStream(response.body))) }
}

extension StreamedResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Status, source and URL, without what may be secret, as of a ``Response``.
    public var description: String { head.description }
    public var debugDescription: String { description }
    public var customMirror: Mirror { head.customMirror }
}
