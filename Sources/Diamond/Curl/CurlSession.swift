#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import Foundation

/// libcurl's multi handle and its transfers. It is used by the loop's thread only.
final class CurlSession {
    let multi: UnsafeMutableRawPointer
    private var running: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    private let settings: CurlSettings
    let window = CurlWindow()
    private var idle: [CurlHandle] = []
    /// Transfers whose head arrived in this pass. Their callers are resumed after it, so that a small response is
    /// complete.
    private var arrived: [CurlTransfer] = []
    private var connectionQueue = CurlConnectionQueue()
    /// Transfers that were connected in this pass. The transfers that wait for them may then connect.
    private var begun: [CurlTransfer] = []
    /// Transfers that a callback has failed without a way to end them.
    private var failed: [CurlTransfer] = []
    /// The sockets of the connections over HTTP/1.
    var sockets = CurlSockets()
    /// The lower bound of all deadlines.
    private var nextDeadline = ContinuousClock.Instant.distantFuture

    /// Whether a response may come over HTTP/2, where exchanges share a connection. When libcurl reads for one
    /// exchange, it may receive data for another that it has already handled in the same pass. Version 7.88 buffers
    /// that data and waits as if there were none.
    private var sharesConnections = false
    /// Whether another pass is needed before the next wait: data has come in this pass, or it is the first after a
    /// wait.
    private var mayHaveMore = false
    private var hasWaited = true

    /// The longest wait in milliseconds. It is short if libcurl has no descriptor for wake-ups, so that commands are
    /// polled.
    private let longestWait: Int64

    private static let idleHandles = 256
    // Called once per process, because older libraries do not guard it themselves.
    static let isLibraryReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK
    /// Searched once per process.
    static let pendingBytes = diamond_curl_find_pending()

    init(_ settings: CurlSettings) {
        self.settings = settings
        _ = Self.isLibraryReady
        multi = Self.makeMulti()
        longestWait = curl_multi_wakeup(multi) == CURLM_OK ? 60_000 : 10
        diamond_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 256)
    }

    // libcurl returns none only if memory is exhausted.
    private static func makeMulti() -> UnsafeMutableRawPointer {
        while true {
            if let multi = curl_multi_init() { return multi }
            sched_yield()
        }
    }

    // MARK: Commands

    func start(_ transfer: CurlTransfer) {
        guard !transfer.pendingResponse.isOver else { return }
        if let refusal = transfer.request.refusal { return transfer.pendingResponse.resolve(.failure(refusal)) }
        guard let handle = idle.popLast() ?? CurlHandle(settings) else {
            return transfer.pendingResponse.resolve(.failure(CurlFailure.noMemory))
        }
        transfer.attach(to: handle, of: self)
        running[handle.easy] = transfer
        window.share(among: running.count)
        // An older libcurl does not report when the request is sent. It then counts as sent from here.
        if diamond_curl_tells_beginning() == 0 { _ = transfer.beginIfAllowed(at: nil) }
        if transfer.sharedOrigin != nil { sharesConnections = true }
        if connectionQueue.beginConnecting(transfer) { connect(transfer) }
        watch(transfer)
    }

    private func connect(_ transfer: CurlTransfer) {
        guard let handle = transfer.handle else { return }
        // A new transfer may hide data that has come for another.
        hasWaited = true
        curl_multi_add_handle(multi, handle.easy)
    }

    /// Records that the request of a transfer is about to be sent, which means that it is connected.
    func recordBeginning(of transfer: CurlTransfer) { if transfer.sharedOrigin != nil { begun.append(transfer) } }

    private func connectNext(after transfer: CurlTransfer) {
        for next in connectionQueue.dequeueWaiting(after: transfer) { connect(next) }
    }

    func resume(_ transfer: CurlTransfer) {
        guard let handle = transfer.handle else { return }
        // If the upload resumes, the consumer may still hold back the response's body.
        let isFull = transfer.pipe.isFull
        transfer.isHeldBack = isFull
        transfer.lastProgress = .now
        hasWaited = true
        watch(transfer)
        // libcurl delivers the data held back during this call, which may end the transfer.
        transfer.acceptsHeldBackData = !isFull
        let result = curl_easy_pause(handle.easy, isFull ? CURLPAUSE_RECV : CURLPAUSE_CONT)
        transfer.acceptsHeldBackData = false
        if result != CURLE_OK { finish(handle.easy, with: result) }
    }

    // MARK: A pass

    func perform() {
        var count: Int32 = 0
        mayHaveMore = hasWaited
        hasWaited = false
        curl_multi_perform(multi, &count)
        while let message = curl_multi_info_read(multi, &count) {
            let result = diamond_curl_message_result(message)
            if result >= 0, let easy = message.pointee.easy_handle { finish(easy, with: CURLcode(UInt32(result))) }
        }
        for transfer in failed where transfer.handle != nil { transfer.failure.map { end(transfer, with: $0) } }
        failed.removeAll(keepingCapacity: true)
        for transfer in begun { connectNext(after: transfer) }
        begun.removeAll(keepingCapacity: true)
        for transfer in arrived where transfer.isUploadRefused { resume(transfer) }
        for transfer in arrived { transfer.deliver() }
        arrived.removeAll(keepingCapacity: true)
        expire()
    }

    private func finish(_ easy: UnsafeMutableRawPointer, with result: CURLcode) {
        guard let transfer = running[easy] else { return }
        guard !transfer.needsReconnection else { return reconnect(transfer) }
        // Created before the release, because the handle has the details.
        let error = CurlFailure.error(result, transfer: transfer)
        release(transfer)
        transfer.end(error)
        arrived.append(transfer)
    }

    /// Sends the request of a transfer on a new connection.
    private func reconnect(_ transfer: CurlTransfer) {
        guard let handle = transfer.handle else { return }
        curl_multi_remove_handle(multi, handle.easy)
        transfer.prepareReconnection()
        connect(transfer)
    }

    /// Records that a transfer has to end with its failure.
    func recordFailure(of transfer: CurlTransfer) { failed.append(transfer) }

    /// Records that the head of a transfer's response is complete.
    func recordHead(of transfer: CurlTransfer, isHTTP2: Bool) {
        if isHTTP2 { sharesConnections = true }
        connectionQueue.recordResponse(of: transfer, isHTTP2: isHTTP2)
        arrived.append(transfer)
    }

    /// Records that data has come.
    func recordData() { mayHaveMore = true }

    func release(_ transfer: CurlTransfer) {
        guard let handle = transfer.handle, running.removeValue(forKey: handle.easy) != nil else { return }
        window.share(among: running.count)
        curl_multi_remove_handle(multi, handle.easy)
        handle.forgetTransfer()
        transfer.detach()
        if idle.count < Self.idleHandles { idle.append(handle) }
        connectNext(after: transfer)
    }

    /// Waits for a socket, a timer, a deadline or a command.
    func wait() {
        guard !sharesConnections || !mayHaveMore || running.isEmpty else { return }
        hasWaited = true
        let left = nextDeadline == .distantFuture ? longestWait : max(0, (nextDeadline - .now).milliseconds + 1)
        curl_multi_poll(multi, nil, 0, Int32(min(left, longestWait)), nil)
    }

    // MARK: Deadlines

    func watch(_ transfer: CurlTransfer) {
        if let deadline = transfer.deadline { nextDeadline = min(nextDeadline, deadline) }
    }

    // Deadlines only move later, so one check when the earliest has passed is enough.
    private func expire() {
        guard nextDeadline != .distantFuture else { return }
        let now = ContinuousClock.now
        guard nextDeadline <= now else { return }
        nextDeadline = .distantFuture
        for transfer in running.values {
            guard let deadline = transfer.deadline else { continue }
            guard deadline <= now else {
                nextDeadline = min(nextDeadline, deadline)
                continue
            }
            end(transfer, with: CurlFailure.timedOut(transfer))
        }
    }

    // MARK: The end

    func end() {
        for transfer in running.values { end(transfer, with: CurlFailure.closed(transfer)) }
    }

    private func end(_ transfer: CurlTransfer, with error: TransportError) {
        release(transfer)
        transfer.end(error)
        transfer.deliver()
    }

    func free() {
        idle = []
        curl_multi_cleanup(multi)
    }
}

extension ContinuousClock.Instant {
    /// An instant later than any deadline.
    static let distantFuture = ContinuousClock.now + .seconds(1 << 40)
}
#endif
