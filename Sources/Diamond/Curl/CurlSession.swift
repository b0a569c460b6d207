#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import Foundation

/// libcurl's multi handle and its transfers. It is used by the loop's thread only.
final class CurlSession {
    let multi: UnsafeMutableRawPointer
    private var running: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    private let settings: CurlSettings
    private var idle: [CurlHandle] = []
    /// Transfers whose head arrived in this pass. Their callers are resumed after it, so that a small response is
    /// complete.
    private var arrived: [CurlTransfer] = []
    private var lines = CurlLines()
    /// Transfers that were connected in this pass. The transfers that wait for them may then connect.
    private var begun: [CurlTransfer] = []
    /// The lower bound of all deadlines.
    private var nextDeadline = ContinuousClock.Instant.distantFuture

    /// Whether an answer may come over HTTP/2. What libcurl reads for one exchange there may bring something for
    /// another that it has looked at in the same pass: 7.88 keeps that and waits as if nothing were there.
    private var sharesConnections = false
    /// Whether to look once more before the next wait: something has come in this pass, or it is the first after a
    /// wait.
    private var mayHaveMore = false
    private var hasWaited = true

    /// The longest wait in milliseconds. It is short if libcurl has no descriptor for wake-ups, so that commands are
    /// polled.
    private let longestWait: Int64

    private static let idleHandles = 256
    // Once a process: older libraries do not guard it themselves.
    static let isLibraryReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

    init(_ settings: CurlSettings) {
        self.settings = settings
        _ = Self.isLibraryReady
        multi = Self.makeMulti()
        longestWait = curl_multi_wakeup(multi) == CURLM_OK ? 60_000 : 10
        diamond_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 256)
    }

    // libcurl gives none only when the memory is gone.
    private static func makeMulti() -> UnsafeMutableRawPointer {
        while true {
            if let multi = curl_multi_init() { return multi }
            sched_yield()
        }
    }

    // MARK: Commands

    func start(_ transfer: CurlTransfer) {
        guard !transfer.reception.isOver else { return }
        if let refusal = transfer.request.refusal { return transfer.reception.resolve(.failure(refusal)) }
        guard let handle = idle.popLast() ?? CurlHandle(settings) else {
            return transfer.reception.resolve(.failure(CurlFailure.noMemory))
        }
        transfer.attach(to: handle, of: self)
        running[handle.easy] = transfer
        // Where nothing tells when the request is sent, it counts as sent from here.
        if diamond_curl_tells_beginning() == 0 { _ = transfer.beginIfAllowed() }
        if transfer.sharedOrigin != nil { sharesConnections = true }
        if lines.admits(transfer) { connect(transfer) }
        watch(transfer)
    }

    private func connect(_ transfer: CurlTransfer) {
        guard let handle = transfer.handle else { return }
        // What begins may hide what has come for another.
        hasWaited = true
        curl_multi_add_handle(multi, handle.easy)
    }

    /// The request of a transfer is about to be sent.
    func begin(_ transfer: CurlTransfer) { if transfer.sharedOrigin != nil { begun.append(transfer) } }

    private func connectNext(after transfer: CurlTransfer) {
        for next in lines.next(after: transfer) { connect(next) }
    }

    func resume(_ transfer: CurlTransfer) {
        guard let handle = transfer.handle else { return }
        // Where it is the upload that goes on, the consumer may still hold the body back.
        let isFull = transfer.pipe.isFull
        transfer.isHeldBack = isFull
        transfer.lastProgress = .now
        hasWaited = true
        watch(transfer)
        // What was held back is handed over in there, and may be what ends the transfer.
        transfer.takesAll = !isFull
        let result = curl_easy_pause(handle.easy, isFull ? CURLPAUSE_RECV : CURLPAUSE_CONT)
        transfer.takesAll = false
        if result != CURLE_OK { finish(handle.easy, result) }
    }

    // MARK: A pass

    func perform() {
        var count: Int32 = 0
        mayHaveMore = hasWaited
        hasWaited = false
        curl_multi_perform(multi, &count)
        while let message = curl_multi_info_read(multi, &count) {
            let result = diamond_curl_message_result(message)
            if result >= 0, let easy = message.pointee.easy_handle { finish(easy, CURLcode(UInt32(result))) }
        }
        for transfer in begun { connectNext(after: transfer) }
        begun.removeAll(keepingCapacity: true)
        for transfer in arrived { transfer.deliver() }
        arrived.removeAll(keepingCapacity: true)
        expire()
    }

    private func finish(_ handle: UnsafeMutableRawPointer, _ result: CURLcode) {
        guard let transfer = running[handle] else { return }
        // Before the handle goes, which knows more.
        let error = CurlFailure.error(result, transfer: transfer)
        release(transfer)
        transfer.end(error)
        arrived.append(transfer)
    }

    /// The head of a response is here.
    func arrive(_ transfer: CurlTransfer, isShared: Bool) {
        if isShared { sharesConnections = true }
        lines.note(transfer, isShared: isShared)
        arrived.append(transfer)
    }

    /// Something has come.
    func advance() { mayHaveMore = true }

    func release(_ transfer: CurlTransfer) {
        guard let handle = transfer.handle, running.removeValue(forKey: handle.easy) != nil else { return }
        curl_multi_remove_handle(multi, handle.easy)
        transfer.detach()
        if idle.count < Self.idleHandles { idle.append(handle) }
        connectNext(after: transfer)
    }

    /// Sleeps until a socket, a timer, a deadline or a command wants something.
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

    // Deadlines only ever move back, so that one look when the earliest is due is enough.
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
            end(transfer, transfer.hasBegun ? CurlFailure.timedOut(transfer) : CurlFailure.notConnected(transfer))
        }
    }

    // MARK: The end

    func end() {
        for transfer in running.values { end(transfer, CurlFailure.closed(transfer)) }
    }

    private func end(_ transfer: CurlTransfer, _ error: TransportError) {
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
    /// Later than anything that will happen.
    static let distantFuture = ContinuousClock.now + .seconds(1 << 40)
}
#endif
