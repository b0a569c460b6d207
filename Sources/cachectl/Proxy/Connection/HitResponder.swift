#if Tools
import Diamond
import HTTPTypes
import NIOCore
import NIOHTTP1

/// A part of a request, as the task that serves a connection gets it.
enum RequestPart: Sendable {
    /// A head, and the request that was read from it.
    case head(HTTPRequestHead, request: Result<ProxyRequest, ProxyProblem>)
    case body(ByteBuffer)
    case end
}

/// A piece of a response by the task that serves a connection.
struct ResponsePiece: Sendable {
    var bytes = ByteBuffer()
    /// Whether the response ends with it, and the connection may serve another request.
    var isLast = false
    /// The window that counts the bytes until they have reached the socket.
    var window: WriteWindow?
}

/// Answers requests on the connection's event loop if fresh responses to them are in memory. A change to a task and
/// back would take longer than such an answer. Larger bodies than ``WriteBudget/window``, and those on disk, are left
/// to the task: it writes them in pieces, reads the disk without holding up other connections of the loop, and the
/// changes are a small part of their time.
///
/// It passes every other request on to the task that serves the connection, and all that follow until the task has
/// answered: responses have the order of their requests (RFC 9112 section 9.3.2). It belongs to the connection's event
/// loop.
final class HitResponder: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = RequestPart
    typealias OutboundIn = ResponsePiece
    typealias OutboundOut = ByteBuffer

    private let proxy: ReverseProxy
    private let phase: ConnectionPhase
    private let peer: ProxyPeer
    /// The number of requests that the task has to answer.
    private var waitingCount = 0
    /// The number of large responses that the client has not read.
    private var largeCount = 0
    /// Whether the request is answered whose end was not read yet.
    private var isAnswered = false
    private var mustFlush = false

    init(_ proxy: ReverseProxy, _ phase: ConnectionPhase, _ peer: ProxyPeer) {
        self.proxy = proxy
        self.phase = phase
        self.peer = peer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            let start = ContinuousClock.now
            let request = Result { () throws(ProxyProblem) in try ProxyRequest(head, site: proxy.site) }
            guard mayAnswer(context), let answer = answer(to: request, since: start) else {
                return pass(.head(head, request: request), in: context)
            }
            isAnswered = true
            mustFlush = true
            write(answer, in: context)
        case .body(let bytes): context.fireChannelRead(wrapInboundOut(.body(bytes)))
        case .end:
            guard isAnswered else { return context.fireChannelRead(wrapInboundOut(.end)) }
            isAnswered = false
        }
    }

    /// Writes a response. While the client reads a large one, the next request is passed on to the task, and the bytes
    /// count as waiting for all connections.
    private func write(_ answer: ByteBuffer, in context: ChannelHandlerContext) {
        let count = answer.readableBytes
        guard count > WriteBudget.minimum else {
            if largeCount == 0 { phase.begin(.head) }
            return context.write(wrapOutboundOut(answer), promise: nil)
        }
        phase.begin(.response)
        largeCount += 1
        let budget = proxy.budget
        budget.add(count)
        let promise = context.eventLoop.makePromise(of: Void.self)
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        promise.futureResult.whenComplete { _ in
            budget.add(-count)
            let (handler, context) = bound.value
            handler.endLarge(context)
        }
        context.write(wrapOutboundOut(answer), promise: promise)
    }

    /// Notes that the client has read a large response.
    private func endLarge(_ context: ChannelHandlerContext) {
        largeCount -= 1
        guard waitingCount == 0, largeCount == 0 else { return }
        phase.begin(.head)
        if phase.isQuiescing { closeWhenWritten(context) }
    }

    /// Closes the connection when all responses have reached the socket: others may follow a large one. If the client
    /// sends another request meanwhile, the task closes the connection after its response.
    private func closeWhenWritten(_ context: ChannelHandlerContext) {
        let promise = context.eventLoop.makePromise(of: Void.self)
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        promise.futureResult.whenComplete { _ in
            let (handler, context) = bound.value
            if handler.waitingCount == 0 { context.close(promise: nil) }
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: promise)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if mustFlush { context.flush() }
        mustFlush = false
        context.fireChannelReadComplete()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let piece = unwrapOutboundIn(data)
        context.write(wrapOutboundOut(piece.bytes), promise: self.promise(for: piece, promise, in: context))
        guard piece.isLast else { return }
        waitingCount -= 1
        // The task may have begun the next request already, and then has set its phase.
        if waitingCount == 0, largeCount == 0 { phase.begin(.head) }
    }

    /// Returns a promise that removes the bytes of a piece from its window.
    private func promise(
        for piece: ResponsePiece, _ promise: EventLoopPromise<Void>?, in context: ChannelHandlerContext
    ) -> EventLoopPromise<Void>? {
        guard let window = piece.window else { return promise }
        let promise = promise ?? context.eventLoop.makePromise()
        let count = piece.bytes.readableBytes
        promise.futureResult.whenComplete { _ in window.remove(count) }
        return promise
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The task answers it, and the connection closes.
        waitingCount += 1
        context.fireErrorCaught(error)
    }

    /// Passes the head of a request on to the task.
    private func pass(_ head: RequestPart, in context: ChannelHandlerContext) {
        if waitingCount == 0 { phase.begin(.response) }
        waitingCount += 1
        context.fireChannelRead(wrapInboundOut(head))
    }

    /// Whether the next response in order may be written now. A client that does not read gets no more of them.
    private func mayAnswer(_ context: ChannelHandlerContext) -> Bool {
        waitingCount == 0 && !peer.isSurplus && !phase.isQuiescing && context.channel.isWritable
    }

    /// Returns the response to a request; `nil` if the task has to answer: also if the head is malformed, or the
    /// connection closes after the response.
    private func answer(
        to request: Result<ProxyRequest, ProxyProblem>, since start: ContinuousClock.Instant
    ) -> ByteBuffer? {
        guard case .success(let request) = request, request.method == .get || request.method == .head,
            request.content == .none, request.keepsAlive, !request.hasLooped,
            let stored = proxy.engine.responseInMemory(
                to: proxy.request(request), bodyLimit: proxy.budget.window)
        else { return nil }
        let response = ProxyResponse(stored, to: request, of: proxy.site, isWhole: true, keepsAlive: true)
        guard let bytes = response.bytes(with: stored.body) else { return nil }
        var record = AccessRecord()
        record.begin(stored)
        record.bytes = response.framing == .none ? 0 : stored.body.count
        proxy.log.write(record, of: request, at: proxy.site, from: peer.address, since: start)
        return bytes
    }
}
#endif
