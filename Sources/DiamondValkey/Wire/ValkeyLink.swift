#if Valkey
import DiamondSQLite
import NIOCore
import Synchronization

/// One connection to a server, made again when it is lost. Commands are pipelined.
///
/// Commands that are sent before the first connection wait for it. Later, commands fail at once while there is none, or
/// while a command has waited beyond its deadline and no byte has come since: a server that stalls delays the requests
/// of one moment, not all that follow.
final class ValkeyLink: Sendable {
    /// A change that the owner is told, on the event loop.
    enum Event: Sendable {
        case connected
        case lost(ValkeyError)
        /// The server told its time, in microseconds since 1970. All pushes before it have arrived.
        case time(Int64)
        /// The server pushed a message.
        case push([RESPValue])
    }

    /// The batches that the event loop has to take, and whether more are accepted.
    fileprivate struct Outbox {
        /// The reason why commands fail at once; `nil` while they are accepted.
        var refusal: ValkeyError?
        var batches: [ValkeyBatch] = []
        /// The commands without a reply, and their bytes.
        var commands = 0
        var bytes = 0
    }

    /// The state of the event loop.
    private struct State {
        var channel: (any Channel)?
        var handler: ValkeyHandler?
        /// The failed attempts to connect since the last connection.
        var failures = 0
        var isClosed = false
        var ticker: RepeatedTask?
        /// The batches that wait for the first connection.
        var waiting: [ValkeyBatch] = []
    }

    private let dialer: ValkeyDialer
    private let timing: ValkeyTiming
    private let draw: @Sendable () -> Double
    private let onEvent: @Sendable (Event) -> Void
    private let eventLoop: any EventLoop
    private let outbox = Guarded(Outbox())
    private let state: NIOLoopBoundBox<State>
    /// The uptime in nanoseconds at which the last byte arrived; 0 without a connection.
    private let lastByte = Atomic<UInt64>(0)

    /// Begins to connect.
    ///
    /// - Parameters:
    ///   - draw: returns a random number from 0 up to 1, for the delay before another attempt.
    ///   - onEvent: called on the event loop; it must return quickly.
    init(
        _ dialer: ValkeyDialer,
        timing: ValkeyTiming,
        draw: @escaping @Sendable () -> Double,
        onEvent: @escaping @Sendable (Event) -> Void
    ) {
        self.dialer = dialer
        self.timing = timing
        self.draw = draw
        self.onEvent = onEvent
        eventLoop = dialer.group.next()
        state = NIOLoopBoundBox.makeBoxSendingValue(State(), eventLoop: eventLoop)
        eventLoop.execute { self.connect() }
    }

    /// The time since the last byte arrived; `nil` without a connection.
    var silence: Duration? {
        let last = lastByte.load(ordering: .acquiring)
        guard last > 0 else { return nil }
        return .nanoseconds(Int64(NIODeadline.now().uptimeNanoseconds) - Int64(last))
    }

    /// Ends the connection. Commands that wait fail.
    func close() {
        outbox.withLock { $0.refusal = ValkeyError(.closed, "the cache was closed") }
        eventLoop.execute {
            self.state.value.isClosed = true
            self.failWaiting(ValkeyError(.closed, "the cache was closed"))
            self.state.value.channel?.close(promise: nil)
        }
    }

    // MARK: Sending

    /// Sends commands in one piece, and returns a reply for each.
    func send(_ commands: [RESPCommand], within limit: Duration) async throws(ValkeyError) -> [RESPValue] {
        let result = await withUnsafeContinuation { (continuation: UnsafeContinuation<Result<_, ValkeyError>, Never>) in
            send(commands, within: limit) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    private func send(
        _ commands: [RESPCommand], within limit: Duration, completion: @escaping ValkeyBatch.Completion
    ) {
        let batch = ValkeyBatch(commands, deadline: .now() + limit.amount, completion: completion)
        switch outbox.withLock({ $0.accept(batch, limits: timing) }) {
        case .failure(let error): batch.complete(.failure(error))
        // The loop takes all batches at once: only the first one wakes it.
        case .success(let isFirst): if isFirst { eventLoop.execute { self.drain() } }
        }
    }

    private func drain() {
        let batches = outbox.withLock { outbox in
            let batches = outbox.batches
            outbox.batches.removeAll(keepingCapacity: true)
            return batches
        }
        if let handler = state.value.handler { return handler.send(batches) }
        if let refusal = outbox.withLock({ $0.refusal }) { return fail(batches, refusal) }
        state.value.waiting += batches
        if let last = batches.last { eventLoop.scheduleTask(deadline: last.deadline) { self.stopWaiting() } }
    }

    /// Fails the commands that have waited too long for the first connection, and those that would come after them.
    private func stopWaiting() {
        guard !state.value.waiting.isEmpty else { return }
        failWaiting(ValkeyError(.timeout, "the server of the cache did not answer in time"))
    }

    private func failWaiting(_ error: ValkeyError) {
        outbox.withLock { $0.refusal = $0.refusal ?? error }
        let waiting = state.value.waiting
        state.value.waiting = []
        fail(waiting, error)
    }

    private func fail(_ batches: [ValkeyBatch], _ error: ValkeyError) {
        for batch in batches {
            didEnd(batch)
            batch.complete(.failure(error))
        }
    }

    private func didEnd(_ batch: ValkeyBatch) {
        outbox.withLock { outbox in
            outbox.commands -= batch.count
            outbox.bytes -= batch.bytes.readableBytes
        }
    }

    // MARK: Connecting

    private func connect() {
        guard !state.value.isClosed else { return }
        let handler = ValkeyHandler { self.receive($0) }
        dialer.dial(handler, on: eventLoop).hop(to: eventLoop).assumeIsolated().whenComplete { result in
            switch result {
            case .failure: self.didFail(self.unreachable)
            case .success(let channel): self.greet(over: channel, handler)
            }
        }
    }

    /// Sends the first commands. Others follow when they have succeeded.
    private func greet(over channel: any Channel, _ handler: ValkeyHandler) {
        let loop = eventLoop
        let box = NIOLoopBound(handler, eventLoop: loop)
        let greeting = ValkeyBatch(dialer.greeting, deadline: .now() + timing.connecting.amount) { result in
            // Called on the loop, by the handler.
            switch result.flatMap(self.dialer.verdict) {
            case .success(let time): self.didConnect(over: channel, box.value, at: time)
            case .failure(let error):
                channel.close(promise: nil)
                self.didFail(error)
            }
        }
        outbox.withLock { $0.add(greeting) }
        handler.send([greeting])
    }

    private func didConnect(over channel: any Channel, _ handler: ValkeyHandler, at time: Int64) {
        guard !state.value.isClosed else { return channel.close(promise: nil) }
        state.value.channel = channel
        state.value.handler = handler
        state.value.failures = 0
        noteByte()
        channel.closeFuture.assumeIsolated().whenComplete { _ in self.didLose() }
        startTicker()
        onEvent(.connected)
        onEvent(.time(time))
        outbox.withLock { $0.refusal = nil }
        let waiting = state.value.waiting
        state.value.waiting = []
        handler.send(waiting)
    }

    private func didLose() {
        state.value.ticker?.cancel()
        state.value.channel = nil
        state.value.handler = nil
        lastByte.store(0, ordering: .releasing)
        onEvent(.lost(unreachable))
        didFail(unreachable)
    }

    /// Refuses commands until the next attempt has succeeded.
    private func didFail(_ error: ValkeyError) {
        guard !state.value.isClosed else { return }
        outbox.withLock { $0.refusal = error }
        failWaiting(error)
        let delay = timing.delay(afterFailures: state.value.failures, draw: draw())
        state.value.failures += 1
        eventLoop.scheduleTask(in: delay.amount) { self.connect() }
    }

    private var unreachable: ValkeyError {
        ValkeyError(.unreachable, "the cache's server at \(dialer.address) cannot be reached: requests go without it")
    }

    // MARK: Receiving

    private func receive(_ signal: ValkeyHandler.Signal) {
        switch signal {
        case .bytes(let isAnswering):
            noteByte()
            if isAnswering { outbox.withLock { $0.refusal = nil } }
        case .ended(let batch): didEnd(batch)
        case .push(let values): onEvent(.push(values))
        case .stalled: outbox.withLock { $0.refusal = ValkeyError(.timeout, "the server of the cache is slow") }
        }
    }

    private func noteByte() { lastByte.store(NIODeadline.now().uptimeNanoseconds, ordering: .releasing) }

    /// Asks for the time regularly, and closes the connection after a long silence.
    private func startTicker() {
        state.value.ticker = eventLoop.scheduleRepeatedTask(
            initialDelay: timing.ping.amount, delay: timing.ping.amount
        ) { _ in
            guard let silence = self.silence, silence < self.timing.silence else {
                return self.state.value.channel?.close(promise: nil) ?? ()
            }
            self.send([.time], within: self.timing.silence) { result in
                guard case .success(let replies) = result, let time = replies.first?.serverTime else { return }
                self.onEvent(.time(time))
            }
        }
    }
}

extension ValkeyLink.Outbox {
    /// Adds a batch.
    ///
    /// - Returns: whether it is the only one; an error if it was refused.
    fileprivate mutating func accept(_ batch: ValkeyBatch, limits: ValkeyTiming) -> Result<Bool, ValkeyError> {
        if let refusal { return .failure(refusal) }
        let size = batch.bytes.readableBytes
        guard commands + batch.count <= limits.queue.commands, bytes + size <= limits.queue.bytes else {
            return .failure(ValkeyError(.busy, "too many commands wait for the server of the cache"))
        }
        add(batch)
        batches.append(batch)
        return .success(batches.count == 1)
    }

    /// Counts a batch until it has ended.
    fileprivate mutating func add(_ batch: ValkeyBatch) {
        commands += batch.count
        bytes += batch.bytes.readableBytes
    }
}
#endif
