#if AsyncHTTPClient
import DiamondSQLite
import NIOCore
import NIOHPACK
import NIOHTTP2

/// One request to a ``HTTP2Server``, and what is sent to answer it, frame by frame, from any thread.
package final class HTTP2Exchange: Sendable {
    /// How a server ends a stream before its time (RFC 9113 section 7).
    package enum ResetCode: Int, Sendable {
        case noError = 0
        case internalError = 2
        /// Nothing was done for the request.
        case refused = 7
        case cancel = 8
    }

    /// Which of the server's connections it came on, from 1 on.
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

    /// Bytes of the body of ``stream(_:)`` that the client's windows have let out.
    package var sent: Int { count.withLock { $0 } }

    // MARK: The answer

    /// A final head, or an interim one, or, without a status, trailers, which end the stream.
    package func head(_ status: Int?, _ fields: [(String, String)] = [], isLast: Bool = false) {
        let headers = HPACKHeaders((status.map { [(":status", "\($0)")] } ?? []) + fields)
        write(.headers(.init(headers: headers, endStream: isLast || status == nil)))
    }

    package func body(_ text: String, isLast: Bool = false) { body(Array(text.utf8), isLast: isLast) }

    package func body(_ bytes: [UInt8], isLast: Bool = false) {
        write(.data(.init(data: .byteBuffer(ByteBuffer(bytes: bytes)), endStream: isLast)))
    }

    /// All of an answer.
    package func answer(_ text: String, status: Int = 200) {
        head(status)
        body(text, isLast: true)
    }

    /// As many bytes, no faster than the client's windows let them out, and the end.
    package func stream(_ size: Int) {
        guard size > 0 else { return body("", isLast: true) }
        let piece = min(size, 64 << 10)
        let payload = HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(ByteBuffer(repeating: 7, count: piece))))
        channel.writeAndFlush(HTTP2Frame(streamID: id, payload: payload)).whenSuccess { [self] in
            count.withLock { $0 += piece }
            // Not at once: the pieces would stand on one another on the stack.
            channel.eventLoop.execute { [self] in stream(size - piece) }
        }
    }

    // MARK: Ends before its time

    package func reset(_ code: ResetCode) { write(.rstStream(HTTP2ErrorCode(networkCode: code.rawValue))) }

    /// Says that the connection ends, and that neither this request nor a later one was looked at.
    package func goAway() {
        let last = HTTP2StreamID(max(0, Int(id) - 2))
        let payload = HTTP2Frame.FramePayload.goAway(lastStreamID: last, errorCode: .noError, opaqueData: nil)
        channel.writeAndFlush(HTTP2Frame(streamID: .rootStream, payload: payload), promise: nil)
    }

    /// Ends the connection without a word.
    package func close() { channel.close(promise: nil) }

    private func write(_ payload: HTTP2Frame.FramePayload) {
        channel.writeAndFlush(HTTP2Frame(streamID: id, payload: payload), promise: nil)
    }
}
#endif
