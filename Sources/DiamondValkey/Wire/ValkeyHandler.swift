#if Valkey
import NIOCore

/// Writes commands to a channel, and gives each its reply. Used on the channel's event loop only.
final class ValkeyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// An event for the link.
    enum Signal {
        /// Bytes arrived.
        ///
        /// - Parameter isAnswering: whether they are the first ones after a command has waited too long.
        case bytes(isAnswering: Bool)
        /// A batch has its replies, or will never have them.
        case ended(ValkeyBatch)
        case push([RESPValue])
        /// A command has waited beyond its deadline.
        case stalled
    }

    private let onSignal: (Signal) -> Void
    private var decoder = RESPDecoder()
    private var context: ChannelHandlerContext?
    /// The batches that were written, the oldest first.
    private var inFlight = CircularBuffer<ValkeyBatch>()
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?
    private var isStalled = false
    /// Whether the server has sent something else than the protocol allows.
    private var isBroken = false

    init(onSignal: @escaping (Signal) -> Void) { self.onSignal = onSignal }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        failAll()
    }

    /// Writes batches in one piece.
    func send(_ batches: [ValkeyBatch]) {
        guard let context, context.channel.isActive, !isBroken else {
            for batch in batches { end(batch, .failure(Self.lost)) }
            return
        }
        for batch in batches {
            inFlight.append(batch)
            context.write(wrapOutboundOut(batch.bytes), promise: nil)
        }
        context.flush()
        startTiming(context, until: batches.lazy.map(\.deadline).min())
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // A channel over TLS is not closed at once.
        guard !isBroken else { return }
        onSignal(.bytes(isAnswering: isStalled))
        isStalled = false
        decoder.append(unwrapInboundIn(data))
        do {
            while let value = try decoder.next() { receive(value, context) }
        } catch {
            // Nothing after these bytes can be trusted.
            isBroken = true
            for batch in inFlight { batch.complete(.failure(ValkeyError(.badAnswer, "\(error)"))) }
            context.close(promise: nil)
        }
    }

    private func receive(_ value: RESPValue, _ context: ChannelHandlerContext) {
        if case .push(let values) = value { return onSignal(.push(values)) }
        guard let batch = inFlight.first else {
            isBroken = true
            return context.close(promise: nil)
        }
        guard batch.add(value) else { return }
        inFlight.removeFirst()
        end(batch, .success(batch.replies))
    }

    func channelInactive(context: ChannelHandlerContext) {
        failAll()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func failAll() {
        // The link may have another connection when the timer fires.
        timer?.task.cancel()
        timer = nil
        isStalled = false
        while let batch = inFlight.popFirst() { end(batch, .failure(Self.lost)) }
    }

    private func end(_ batch: ValkeyBatch, _ result: Result<[RESPValue], ValkeyError>) {
        onSignal(.ended(batch))
        batch.complete(result)
    }

    private static let lost = ValkeyError(.unreachable, "the connection to the cache's server was lost")

    // MARK: Deadlines

    /// Starts a timer, unless there is one that ends sooner: one for each batch would cost more than the command.
    private func startTiming(_ context: ChannelHandlerContext, until deadline: NIODeadline?) {
        guard let deadline else { return }
        if let timer {
            guard deadline < timer.deadline else { return }
            timer.task.cancel()
        }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let task = context.eventLoop.scheduleTask(deadline: deadline) {
            bound.value.timer = nil
            bound.value.failOverdue()
        }
        timer = (deadline, task)
    }

    /// Ends the wait for late replies. They are still read, and dropped.
    private func failOverdue() {
        guard let context else { return }
        let now = NIODeadline.now()
        for batch in inFlight where batch.isAwaited && batch.deadline <= now {
            isStalled = true
            batch.complete(.failure(ValkeyError(.timeout, "the server of the cache did not answer in time")))
        }
        if isStalled { onSignal(.stalled) }
        startTiming(context, until: inFlight.lazy.filter(\.isAwaited).map(\.deadline).min())
    }
}
#endif
