#if Tools
import NIOCore

/// Limits the time that a client takes: for a head, between two pieces of a body, and to read the response.
///
/// The first handler of the pipeline, because it observes bytes. Not `Sendable`: it belongs to the connection's event
/// loop.
final class ClientLimits: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The time after which an idle connection is closed.
    private static let idleTime = TimeAmount.seconds(75)

    private let phase: ConnectionPhase
    private let presence: ClientPresence
    private let limit: TimeAmount
    private var current: ConnectionPhase.Value
    /// The start of the phase, or the last progress in it.
    private var start = NIODeadline.now()
    /// Whether bytes have arrived in this phase.
    private var hasRead = false
    /// The number of bytes that have not reached the socket, at the last check.
    private var pendingBytes = 0
    private var isReading = false
    private var check: RepeatedTask?

    init(_ phase: ConnectionPhase, _ presence: ClientPresence, limit: TimeAmount) {
        self.phase = phase
        self.presence = presence
        self.limit = limit
        current = phase.value
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        check = context.eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { _ in
            let (handler, context) = bound.value
            handler.check(context)
        }
    }

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
        update()
        isReading = false
        // The time for a head begins with its first byte. Further bytes of the head do not extend it.
        if current.kind != .head || !hasRead { start = .now() }
        hasRead = true
        context.fireChannelRead(data)
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
        start = .now()
        hasRead = false
    }

    private func check(_ context: ChannelHandlerContext) {
        update()
        let bytes = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        if bytes != pendingBytes { start = .now() }
        pendingBytes = bytes
        let time = NIODeadline.now() - start
        switch current.kind {
        case .head where !hasRead: if time > Self.idleTime { context.close(promise: nil) }
        case .head: if time > limit { context.fireErrorCaught(ProxyProblem.slowClient) }
        case .body: if isReading, time > limit { context.fireErrorCaught(ProxyProblem.slowClient) }
        case .response: if pendingBytes > 0, time > limit { context.close(promise: nil) }
        }
    }
}
#endif
