#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import Foundation
import HTTPTypes

/// An exchange over libcurl.
///
/// `@unchecked Sendable`: `pendingResponse` and `pipe` guard themselves. The loop's thread alone uses the mutable
/// state, from the start command to the end.
final class CurlTransfer: @unchecked Sendable {
    let request: TransportRequest
    /// The host and port if the connection may be shared with other exchanges; `nil` otherwise.
    let sharedOrigin: String?
    let pendingResponse = PendingResponse()
    let pipe = BodyPipe()
    private let passwords: TransportPasswords
    private let loop: CurlLoop

    // Used by the loop's thread only.
    private(set) var handle: CurlHandle?
    private(set) var upload: CurlUpload?
    private var start = ContinuousClock.Instant.distantFuture
    var lastProgress = ContinuousClock.Instant.distantFuture
    /// Whether the transfer waits for its consumer, or for the next piece to upload. Then no timeout applies.
    var isHeldBack = false
    /// Whether the body accepts data even if the pipe is full, so that libcurl can deliver all that it has held back.
    /// Over HTTP/2, libcurl opens its window again with each resumption, and buffers the data that comes before the
    /// next. Undelivered data would accumulate, and some versions fail at 64 MiB.
    var acceptsHeldBackData = false
    /// Whether the transfer has waited for the connection of another.
    var hasWaitedForConnection = false
    /// Whether libcurl has been allowed to send the request.
    var hasBegun = false
    /// The connection that libcurl has opened for the transfer.
    var newConnection = CurlConnection()
    /// Whether the connection had input before the request, so that the request has to be sent on a new one.
    var needsReconnection = false
    var chunks = ChunkOverhead()
    /// The error with which a callback ended the transfer. libcurl reports only that the callback failed.
    var failure: TransportError?
    var head: CurlHead
    private(set) var hasHead = false
    /// Whether the response is complete, and libcurl must not continue.
    var isComplete = false
    /// The decoder of the body; `nil` for a body without a coding to remove.
    var decoder: ContentDecoder?
    private var trailers = TrailerCount()
    /// The deadline of the trailers; `nil` before the first.
    private var trailerDeadline: ContinuousClock.Instant?
    private var outcome: PendingResponse.Outcome?
    private(set) unowned(unsafe) var session: CurlSession?

    init(_ request: TransportRequest, passwords: TransportPasswords, loop: CurlLoop) {
        self.request = request
        head = CurlHead(keepingBytes: request.passesCoding)
        sharedOrigin = Self.sharedOrigin(of: request)
        self.passwords = passwords
        self.loop = loop
    }

    // Only TLS negotiates the version before anything is sent. Other exchanges can wait for the connection only if
    // libcurl reports when the request is sent.
    private static func sharedOrigin(of request: TransportRequest) -> String? {
        let scheme = "https://"
        guard !request.needsNewConnection, request.url.hasPrefix(scheme), diamond_curl_tells_beginning() != 0
        else { return nil }
        let ends: [UInt8] = [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")]
        return String(request.url.utf8.dropFirst(scheme.utf8.count).prefix { !ends.contains($0) })
    }

    /// Whether the request was sent on a reused connection, and no head has come. The connection of another transfer
    /// that this one waited for counts as new.
    var isOnReusedConnection: Bool {
        guard let handle, !hasHead, !hasWaitedForConnection else { return false }
        return diamond_curl_get_long(handle.easy, CURLINFO_NUM_CONNECTS) == 0
    }

    /// The time at which the transfer ends unless it makes progress or gets a connection; `nil` for never.
    var deadline: ContinuousClock.Instant? {
        let standstill = isHeldBack ? nil : request.timeout.map { lastProgress + $0 }
        // libcurl applies the limit, too, but not while this transfer waits for the connection of another.
        let connection = hasBegun ? nil : request.connectTimeout.map { start + $0 }
        return [standstill, connection, trailerDeadline].compactMap { $0 }.min()
    }

    // MARK: The caller's side

    /// Ends the caller's wait at once. The transfer ends later, on the loop's thread.
    func cancel() {
        pendingResponse.cancel()
        // The caller may have just received the head. Then this cancels the body.
        pipe.finish(.cancelled(serverMayHaveActed: true))
        loop.add(.cancel(self))
    }

    // MARK: The loop's side

    /// Sets up the handle. The session is notified when the head of the response can be delivered.
    func attach(to handle: CurlHandle, of session: CurlSession) {
        self.handle = handle
        self.session = session
        start = .now
        lastProgress = start
        let resume: @Sendable () -> Void = { [self] in loop.add(.resume(self)) }
        let isAwaited = request.headers.contains(.expect)
        upload = CurlUpload(request.body, isAwaited: isAwaited, window: session.window, resume: resume)
        handle.prepare(request, passwords: passwords, context: Unmanaged.passUnretained(self).toOpaque())
        pipe.connect(onResume: resume, onStop: { [self] in cancel() })
    }

    /// The maximum number of bytes of the body that wait for their reader.
    var windowSize: Int? { session?.window.size }

    func detach() {
        handle = nil
        session = nil
        newConnection = CurlConnection()
        pipe.disconnect()
        upload?.stop()
        upload = nil
    }

    /// Whether the server has refused the body before its end. libcurl then sends no more of it, but ends the exchange
    /// only after an upload that waits for bytes was resumed.
    var isUploadRefused: Bool { hasHead && head.status >= 300 && upload != nil }

    func receive(_ response: TransportResponse) {
        hasHead = true
        outcome = .success(response)
        if head.isHTTP1 { session?.sockets.add(newConnection) }
        session?.recordHead(of: self, isHTTP2: response.version == "HTTP/2")
    }

    /// Records that the request is about to be sent.
    func begin() {
        hasBegun = true
        session?.recordBeginning(of: self)
    }

    /// Records data that does not count as progress by itself.
    func recordData() { session?.recordData() }

    func recordProgress() {
        lastProgress = .now
        recordData()
    }

    /// Counts a line of the trailers. Their time limit begins with the first line.
    ///
    /// - Returns: Whether the trailers are within the limits.
    func addTrailer(byteCount: Int) -> Bool {
        trailers.addLine(byteCount: byteCount)
        if trailers.isFirst {
            trailerDeadline = .now + HeadLimit.trailerTime
            session?.watch(self)
        }
        return !trailers.isTooLarge
    }

    /// Whether the body is complete, and its trailers have begun.
    var isInTrailers: Bool { trailerDeadline != nil }

    /// Ends the exchange. ``deliver()`` then resumes the caller if it waits for the head.
    func end(_ error: TransportError?) {
        let error = isComplete ? nil : failure ?? error ?? decoder?.endFailure
        pipe.finish(error)
        guard !hasHead else { return }
        outcome = .failure(error ?? .noResponse)
    }

    /// Resumes the waiting caller with the outcome. The transfer keeps no reference to the response, so that dropping
    /// the body unread cancels the exchange.
    func deliver() {
        guard let outcome else { return }
        self.outcome = nil
        pendingResponse.resolve(outcome)
    }
}
#endif
