#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import DiamondSQLite
import Foundation
import HTTPTypes

/// One exchange over libcurl.
///
/// `@unchecked Sendable`: `waiter` and `pipe` guard themselves; everything else is touched by the loop's thread alone,
/// from the start command to the end.
final class CurlTransfer: @unchecked Sendable {
    typealias Outcome = Result<TransportResponse, TransportError>
    typealias Waiter = CheckedContinuation<Outcome, Never>

    private struct Reception {
        var waiter: Waiter?
        var isCancelled = false
    }

    let request: TransportRequest
    let pipe = BodyPipe()
    private let loop: CurlLoop
    private let reception = Guarded(Reception())

    // The loop's.
    private(set) var handle: UnsafeMutableRawPointer?
    var lastProgress = ContinuousClock.now
    /// Whether the transfer waits for its consumer, or for something to upload: no timeout counts.
    var isHeldBack = false
    private unowned(unsafe) var session: CurlSession?
    private var fields: UnsafeMutablePointer<curl_slist>?
    private var head = CurlHead()
    private var response: TransportResponse?
    private var failure: TransportError?
    private var upload: CurlUpload?

    init(_ request: TransportRequest, loop: CurlLoop) {
        self.request = request
        self.loop = loop
    }

    // MARK: The caller's side

    /// Takes the one who waits for the head; `false` when the exchange was canceled before.
    func expect(_ waiter: Waiter) -> Bool {
        let isCancelled = reception.withLock { reception in
            if !reception.isCancelled { reception.waiter = waiter }
            return reception.isCancelled
        }
        if isCancelled { waiter.resume(returning: .failure(Self.cancelled)) }
        return !isCancelled
    }

    /// Frees the caller at once; the wire follows.
    func cancel() {
        let waiter = reception.withLock { reception in
            reception.isCancelled = true
            defer { reception.waiter = nil }
            return reception.waiter
        }
        waiter?.resume(returning: .failure(Self.cancelled))
        loop.add(.cancel(self))
    }

    private static let cancelled = TransportError(.cancelled, "the request was canceled", requestMayHaveBeenSent: true)

    var isCancelled: Bool { reception.withLock { $0.isCancelled } }

    /// Fails an exchange that never began.
    func fail(_ error: TransportError) { resume(.failure(error)) }

    private func resume(_ outcome: Outcome) {
        let waiter = reception.withLock { reception in
            defer { reception.waiter = nil }
            return reception.waiter
        }
        waiter?.resume(returning: outcome)
    }

    // MARK: The loop's side

    /// Sets the handle up; an error when the request cannot be sent at all.
    func attach(to handle: UnsafeMutableRawPointer, session: CurlSession) -> TransportError? {
        self.session = session
        upload = CurlUpload(request.body) { [weak self, loop] in
            if let self { loop.add(.resume(self)) }
        }
        let setup = CurlSetup(request, handle: handle)
        fields = setup.apply(context: Unmanaged.passUnretained(self).toOpaque())
        guard setup.hasURL else { return TransportError(.badURL, "the URL cannot be sent: give an http or https URL") }
        self.handle = handle
        pipe.connect(
            onResume: { [weak self, loop] in if let self { loop.add(.resume(self)) } },
            onStop: { [weak self] in self?.cancel() }
        )
        return nil
    }

    func detach() {
        handle = nil
        curl_slist_free_all(fields)
        fields = nil
        upload?.stop()
    }

    /// The exchange is over; the one who waits for the head is told by ``deliver()``.
    func end(_ error: TransportError?) {
        let error = failure ?? error
        pipe.finish(error)
        guard response == nil else { return }
        failure = error ?? TransportError(.badResponse, "the server sent no response", requestMayHaveBeenSent: true)
        session?.headArrived(self)
    }

    func deliver() {
        if let response {
            resume(.success(response))
        } else if let failure {
            resume(.failure(failure))
        }
    }

    // MARK: Callbacks

    func receiveHeader(_ line: UnsafeRawBufferPointer) {
        lastProgress = .now
        guard response == nil, head.add(line), let handle else { return }
        let version = diamond_curl_get_long(handle, CURLINFO_HTTP_VERSION)
        let isDecoded = CurlSetup.decodes(request)
        let fields = head.fields(decoded: isDecoded)
        if let length = fields[.contentLength].flatMap({ Int($0) }) { pipe.reserve(length) }
        response = TransportResponse(
            status: HTTPResponse.Status(code: head.status),
            headers: fields,
            body: BodyStream(pipe),
            version: CurlHead.version(version)
        )
        session?.headArrived(self)
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        lastProgress = .now
        guard !pipe.isFull else {
            isHeldBack = true
            return diamond_curl_pause_writing
        }
        // A piece for nobody ends the transfer: fewer bytes taken than given is an error to libcurl.
        return pipe.yield(bytes: bytes) == .stop ? 0 : bytes.count
    }

    func sendBody(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        lastProgress = .now
        switch upload?.read(into: buffer) ?? .bytes(0) {
        case .bytes(let count): return count
        case .wait:
            isHeldBack = true
            return diamond_curl_pause_reading
        case .failed(let error):
            failure = error
            return diamond_curl_abort_reading
        }
    }

    func rewindBody(to offset: Int) -> Bool { upload?.rewind(to: offset) ?? false }
}
#endif
