#if AsyncHTTPClient
import DiamondSQLite
import NIOCore
import NIOHPACK
import NIOHTTP2

/// One request to a ``HTTP2Server``, and its response, frame by frame, from any thread.
package final class HTTP2Exchange: Sendable {
    /// The code with which a server ends a stream early (RFC 9113 section 7).
    package enum ResetCode: Int, Sendable {
        case noError = 0
        case internalError = 2
        /// The request was not processed.
        case refused = 7
        case cancel = 8
    }

    /// The number of its connection at the server, from 1 on.
    package let connection: Int
    package let path: String
    /// Opened when the client resets it.
    package let isReset = Gate()
    private let channel: any Channel
    private let id: HTTP2StreamID
    private let count = Guarded(0)

    init(on channel: any Channel, _ connection: Int, _ id: HTTP2StreamID, _ path: String) {
        (self.channel, self.connection, self.id, self.path) = (channel, connection, id, path)
    }

    /// The number of body bytes of ``stream(_:)`` that the client's windows have allowed.
    package var sent: Int { count.withLock { $0 } }

    // MARK: Response

    /// Sends a final head, an interim one, or, without a status, trailers, which end the stream.
    package func head(_ status: Int?, _ fields: [(String, String)] = [], isLast: Bool = false) {
        let headers = HPACKHeaders((status.map { [(":status", "\($0)")] } ?? []) + fields)
        write(.headers(.init(headers: headers, endStream: isLast || status == nil)))
    }

    package func body(_ text: String, isLast: Bool = false) { body(Array(text.utf8), isLast: isLast) }

    package func body(_ bytes: [UInt8], isLast: Bool = false) {
        write(.data(.init(data: .byteBuffer(ByteBuffer(bytes: bytes)), endStream: isLast)))
    }

    /// Sends a whole response.
    package func answer(_ text: String, status: Int = 200) {
        head(status)
        body(text, isLast: true)
    }

    /// Sends a number of bytes, no faster than the client's windows allow, and the end.
    package func stream(_ size: Int) {
        guard size > 0 else { return body("", isLast: true) }
        let piece = min(size, 64 << 10)
        let payload = HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(ByteBuffer(repeating: 7, count: piece))))
        channel.writeAndFlush(HTTP2Frame(streamID: id, payload: payload)).whenSuccess { [self] in
            count.withLock { $0 += piece }
            // Not in one loop: the pieces would nest on the stack.
            channel.eventLoop.execute { [self] in stream(size - piece) }
        }
    }

    // MARK: Early ends

    package func reset(_ code: ResetCode) { write(.rstStream(HTTP2ErrorCode(networkCode: code.rawValue))) }

    /// Announces the end of the connection, and that neither this request nor a later one was processed.
    package func goAway() {
        let last = HTTP2StreamID(max(0, Int(id) - 2))
        let payload = HTTP2Frame.FramePayload.goAway(lastStreamID: last, errorCode: .noError, opaqueData: nil)
        channel.writeAndFlush(HTTP2Frame(streamID: .rootStream, payload: payload), promise: nil)
    }

    /// Closes the connection without notice.
    package func close() { channel.close(promise: nil) }

    private func write(_ payload: HTTP2Frame.FramePayload) {
        channel.writeAndFlush(HTTP2Frame(streamID: id, payload: payload), promise: nil)
    }
}
#endif
