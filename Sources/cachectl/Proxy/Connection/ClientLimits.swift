#if Tools
import NIOCore

/// Limits the time that a client takes: for a head, between two pieces of a body, for a whole body, and to read the
/// response.
///
/// One timer runs at the earliest time at which a limit can be exceeded. The first handler of the pipeline, because it
/// observes bytes. Not `Sendable`: it belongs to the connection's event loop.
final class ClientLimits: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The time after which an idle connection is closed.
    static let idleTime = TimeAmount.seconds(75)
    /// The time between two checks while the client has not read all of a response.
    private static let readingInterval = TimeAmount.seconds(1)

    private let phase: ConnectionPhase
    private let presence: ClientPresence
    private let limit: TimeAmount
    private let idleTime: TimeAmount
    private var current: ConnectionPhase.Value
    /// The start of the phase, or the last progress in it.
    private var start = NIODeadline.now()
    /// Whether bytes have arrived in this phase.
    private var hasRead = false
    /// The number of bytes that have not reached the socket, at the last check.
    private var pendingBytes = 0
    private var isReading = false
    private var rate: BodyRate
    private var check: Scheduled<Void>?
    private var checkTime = NIODeadline.distantFuture

    init(
        _ phase: ConnectionPhase, _ presence: ClientPresence, limit: TimeAmount,
        idleTime: TimeAmount = ClientLimits.idleTime
    ) {
        self.phase = phase
        self.presence = presence
        self.limit = limit
        self.idleTime = idleTime
        rate = BodyRate(window: limit)
        current = phase.value
    }

    func handlerAdded(context: ChannelHandlerContext) { schedule(at: start + idleTime, in: context) }

    func handlerRemoved(context: ChannelHandlerContext) { check?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        check?.cancel()
        presence.noteLeft()
        context.fireChannelInactive()
    }

    func read(context: ChannelHandlerContext) {
        isReading = true
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let now = NIODeadline.now()
        update()
        let isTooSlow =
            current.kind != .head
            && !rate.add(unwrapInboundIn(data).readableBytes, after: current.kind == .body ? now - start : .zero)
        isReading = false
        // The time for a head begins with its first byte. Further bytes of the head do not extend it.
        if current.kind != .head || !hasRead { start = now }
        hasRead = true
        schedule(before: now + limit, in: context)
        if isTooSlow { context.fireErrorCaught(ProxyProblem.slowClient) }
        context.fireChannelRead(data)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if !context.channel.isWritable { schedule(before: .now() + Self.readingInterval, in: context) }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed? = event as? ChannelEvent { presence.noteLeft() }
        guard event is ChannelShouldQuiesceEvent else { return context.fireUserInboundEventTriggered(event) }
        phase.quiesce()
        update()
        if current.kind == .head, !hasRead { context.close(promise: nil) }
    }

    private func update() {
        let value = phase.value
        guard value != current else { return }
        current = value
        start = phase.start
        hasRead = false
        if value.kind == .head { rate = BodyRate(window: limit) }
    }

    // MARK: The timer

    // Most requests leave the timer as it is: its time then is earlier than necessary.
    private func schedule(before time: NIODeadline, in context: ChannelHandlerContext) {
        if checkTime > time { schedule(at: time, in: context) }
    }

    private func schedule(at time: NIODeadline, in context: ChannelHandlerContext) {
        check?.cancel()
        checkTime = time
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        check = context.eventLoop.scheduleTask(deadline: time) {
            let (handler, context) = bound.value
            handler.check(context)
        }
    }

    private func check(_ context: ChannelHandlerContext) {
        let now = NIODeadline.now()
        update()
        let bytes = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        if bytes != pendingBytes { start = now }
        pendingBytes = bytes
        guard let deadline else { return schedule(at: now + limit, in: context) }
        guard deadline <= now else {
            let isSending = current.kind == .response
            return schedule(at: isSending ? min(deadline, now + Self.readingInterval) : deadline, in: context)
        }
        guard isInRequest else { return context.close(promise: nil) }
        schedule(at: now + limit, in: context)
        context.fireErrorCaught(ProxyProblem.slowClient)
    }

    /// Whether a request has begun to arrive, and is not complete.
    private var isInRequest: Bool { current.kind == .body || current.kind == .head && hasRead }

    /// The time at which the limit of the phase is exceeded; `nil` if the proxy does not wait for the client.
    private var deadline: NIODeadline? {
        switch current.kind {
        case .head: start + (hasRead ? limit : idleTime)
        case .body: isReading ? start + limit : nil
        case .response: pendingBytes > 0 ? start + limit : nil
        }
    }
}

/// The rate at which the body of a request arrives. A client that sends a byte now and then would otherwise keep its
/// connection, and the exchange with the origin, forever.
struct BodyRate {
    /// The minimum number of bytes per second, on average over a window.
    static let minimum = 100

    /// The time of waiting for the client after which the rate is checked.
    let window: TimeAmount
    private var waited = TimeAmount.zero
    private var count = 0

    init(window: TimeAmount) { self.window = window }

    /// Adds bytes that have arrived.
    ///
    /// - Parameter time: the time that the proxy has waited for them.
    /// - Returns: whether the client is fast enough.
    mutating func add(_ bytes: Int, after time: TimeAmount) -> Bool {
        count += bytes
        waited = waited + time
        guard waited >= window else { return true }
        defer { self = BodyRate(window: window) }
        return Double(count) >= Double(Self.minimum) * Double(waited.nanoseconds) / 1e9
    }
}
#endif
