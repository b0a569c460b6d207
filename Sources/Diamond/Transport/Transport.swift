/// The layer that sends requests over the wire.
///
/// Each call of ``send(_:)`` is one exchange. A transport has no cache, no cookies and no retries, and returns a
/// redirect as the response. It repeats a request only if the method is idempotent, and a reused connection has broken
/// before a byte of the response (RFC 9112 section 9.3.1), and only once. Implement it to send requests in another way
/// than ``CurlTransport``, ``URLSessionTransport`` and `HTTPClientTransport` (trait `AsyncHTTPClient`). All of them
/// follow one contract:
///
/// - ``send(_:)`` returns when the head of the final response (not a 1xx) has arrived. The body streams after it, and
///   is read from the wire only as fast as it is consumed.
/// - Canceling the task that waits, in `send` or in the body, ends the wait at once with
///   ``TransportError/Code-swift.struct/cancelled``. The cleanup on the wire follows later and delays no other
///   exchange.
/// - Dropping the response's body unread cancels the exchange.
/// - A body that ends early is an error (``TransportError/Code-swift.struct/truncatedBody``), never a short success. So
///   is one whose content coding is cut before its end.
/// - Content codings that the transport requested itself are removed: `gzip` (also `x-gzip`, and with several members)
///   and `deflate` (in zlib's format or bare). Zeros after the end of a coding are padding. Other bytes there are an
///   error, ``TransportError/Code-swift.struct/badResponse``. A body with an unknown `Content-Encoding` is passed on
///   unchanged, with the field.
/// - Bytes that no request has asked for, after a response or on an idle connection of HTTP/1, are no response (RFC
///   9112 section 6.3): their connection is not used again.
/// - A `Content-Length` next to chunks is removed, because they override it. No field is dropped: a blank before the
///   colon is removed (RFC 9112 section 5.1), and a line that is no field is an error.
/// - The size of a head, the size of the trailers after a body, and the time for both are bounded. So are the
///   extensions of chunks.
public protocol Transport: Sendable {
    /// Sends one request and returns with the head of its response.
    ///
    /// - Throws: ``TransportError``. Its ``TransportError/serverMayHaveActed`` tells whether a repetition could act
    ///   twice.
    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse

    /// Cancels every exchange, closes every socket and ends every thread. Later calls of ``send(_:)`` fail with
    /// `closed`.
    func close() async
}
