#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import Foundation
import HTTPTypes

/// One exchange over libcurl.
///
/// `@unchecked Sendable`: `reception` and `pipe` guard themselves; everything that changes is touched by the loop's
/// thread alone, from the start command to the end.
final class CurlTransfer: @unchecked Sendable {
    let request: TransportRequest
    /// Scheme, host and port where a connection may be shared with other exchanges; else `nil`.
    let sharedOrigin: String?
    let reception = Reception()
    let pipe = BodyPipe()
    private let passwords: TransportPasswords
    private let loop: CurlLoop

    // The loop's.
    private(set) var handle: CurlHandle?
    private(set) var upload: CurlUpload?
    private var start = ContinuousClock.Instant.distantFuture
    var lastProgress = ContinuousClock.Instant.distantFuture
    /// Whether the transfer waits for its consumer, or for something to upload: no timeout counts.
    var isHeldBack = false
    /// Whether all is taken that libcurl has held back. Over HTTP/2 it opens the window anew with each resumption, and keeps
    /// what comes meanwhile: what stayed there would pile up, and of some versions fail at 64 MiB.
    var takesAll = false
    /// Whether it has waited for the connection of another.
    var hasWaited = false
    /// Whether libcurl has been allowed to send the request.
    var hasBegun = false
    /// Why a callback ended the transfer, which libcurl cannot know.
    var failure: TransportError?
    var head = CurlHead()
    private(set) var isHeadHere = false
    /// `nil` where no coding is removed.
    var decoder: ContentDecoder?
    private var trailers = TrailerCount()
    /// The deadline of the trailers; `nil` before the first.
    private var trailerDeadline: ContinuousClock.Instant?
    private var outcome: Reception.Outcome?
    private unowned(unsafe) var session: CurlSession?

    init(_ request: TransportRequest, _ passwords: TransportPasswords, loop: CurlLoop) {
        self.request = request
        sharedOrigin = Self.sharedOrigin(of: request)
        self.passwords = passwords
        self.loop = loop
    }

    // Over TLS, which tells what the server speaks before anything is sent; and where nothing told that the request is sent,
    // nobody could wait for it.
    private static func sharedOrigin(of request: TransportRequest) -> String? {
        let scheme = "https://"
        guard !request.needsNewConnection, request.url.hasPrefix(scheme), diamond_curl_tells_beginning() != 0
        else { return nil }
        let ends: [UInt8] = [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")]
        return String(request.url.utf8.dropFirst(scheme.utf8.count).prefix { !ends.contains($0) })
    }

    /// Whether it went out on a connection that others had used before it, and no byte of an answer has come. One that was
    /// waited for is new.
    var isOnKeptConnection: Bool {
        guard let handle, !isHeadHere, !hasWaited else { return false }
        return diamond_curl_get_long(handle.easy, CURLINFO_NUM_CONNECTS) == 0
    }

    /// The time at which the transfer ends unless it makes progress or gets a connection; `nil` for never.
    var deadline: ContinuousClock.Instant? {
        let standstill = isHeldBack ? nil : request.timeout.map { lastProgress + $0 }
        // libcurl keeps it too, but not while the connection of another transfer is waited for.
        let connection = hasBegun ? nil : request.connectTimeout.map { start + $0 }
        return [standstill, connection, trailerDeadline].compactMap { $0 }.min()
    }

    // MARK: The caller's side

    /// Frees the caller at once; the wire follows.
    func cancel() {
        reception.cancel()
        // The head may have just been taken: then the body is what is canceled.
        pipe.finish(.cancelled(requestMayHaveBeenSent: true))
        loop.add(.cancel(self))
    }

    // MARK: The loop's side

    /// Sets the handle up. The session is told when the head of the response is ready to be delivered.
    func attach(to handle: CurlHandle, of session: CurlSession) {
        self.handle = handle
        self.session = session
        start = .now
        lastProgress = start
        let resume: @Sendable () -> Void = { [self] in loop.add(.resume(self)) }
        upload = CurlUpload(request.body, resume: resume)
        handle.prepare(request, passwords, context: Unmanaged.passUnretained(self).toOpaque())
        pipe.connect(onResume: resume, onStop: { [self] in cancel() })
    }

    func detach() {
        handle = nil
        session = nil
        pipe.disconnect()
        upload?.stop()
        upload = nil
    }

    func take(_ response: TransportResponse) {
        isHeadHere = true
        outcome = .success(response)
        session?.arrive(self, isShared: response.version == "HTTP/2")
    }

    /// The request is about to be sent.
    func begin() {
        hasBegun = true
        session?.begin(self)
    }

    /// Something has come that is no progress by itself.
    func stir() { session?.advance() }

    func advance() {
        lastProgress = .now
        stir()
    }

    /// Counts a line of trailers, whose time begins with the first.
    ///
    /// - Returns: whether there may be more.
    func addTrailer(of count: Int) -> Bool {
        trailers.addLine(of: count)
        if trailers.isFirst {
            trailerDeadline = .now + HeadLimit.trailerTime
            session?.watch(self)
        }
        return !trailers.isTooLarge
    }

    /// Whether the body is over, and its trailers come.
    var isInTrailers: Bool { trailerDeadline != nil }

    /// The exchange is over; the one who waits for the head is told by ``deliver()``.
    func end(_ error: TransportError?) {
        let error = failure ?? error ?? decoder?.endFailure
        pipe.finish(error)
        guard !isHeadHere else { return }
        let reason = "the server sent no response: try again, or check that it speaks HTTP"
        let missing = TransportError(.badResponse, reason, requestMayHaveBeenSent: true)
        outcome = .failure(error ?? missing)
    }

    /// Tells the one who waits what there is to tell. The response is let go, so that the body ends with its reader.
    func deliver() {
        guard let outcome else { return }
        self.outcome = nil
        reception.resolve(outcome)
    }
}
#endif
