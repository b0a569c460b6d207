#if Tools
import NIOCore
import NIOHTTP1

/// Passes bytes to the parser as ``RequestHeads`` prepares them. It belongs to the connection's event loop.
final class RequestHeadPreparer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let methods: RequestMethods
    private var heads: RequestHeads

    init(_ methods: RequestMethods, limit: Int) {
        self.methods = methods
        heads = RequestHeads(limit: limit)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var received = unwrapInboundIn(data)
        while let step = heads.next(&received) {
            switch step {
            case .head(let head, let method):
                methods.begin(method)
                context.fireChannelRead(wrapInboundOut(head))
                heads.begin(methods.framing)
            case .body(let bytes): context.fireChannelRead(wrapInboundOut(bytes))
            case .refused(let problem, let method):
                methods.begin(method)
                context.fireErrorCaught(problem)
            case .malformed:
                context.fireErrorCaught(ProxyProblem.badRequest("the request is malformed"))
                heads.begin(nil)
                return
            }
        }
    }

    // An error of the handlers before this one is about the head that has not come completely.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let method = heads.pendingMethod { methods.begin(method) }
        context.fireErrorCaught(error)
    }
}

/// Restores the methods that the parser has not read, adds the method to errors, and determines the framing of bodies
/// for ``RequestHeadPreparer``. It belongs to the connection's event loop.
final class RequestMethods: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private var method = ""
    /// The framing of the request whose head was read last; `nil` if the parser has refused it.
    private(set) var framing: RequestHeads.Framing?

    /// Begins a head with a method.
    func begin(_ method: String) {
        self.method = method
        framing = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else {
            if case .end = unwrapInboundIn(data) { method = "" }
            return context.fireChannelRead(data)
        }
        framing = Self.framing(of: head)
        guard head.method.rawValue != method else { return context.fireChannelRead(data) }
        head.method = .RAW(value: method)
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.fireErrorCaught(RequestFailure(error, method: method))
    }

    private static func framing(of head: HTTPRequestHead) -> RequestHeads.Framing {
        guard !head.headers.contains(name: "Transfer-Encoding") else { return .chunked }
        guard let length = head.headers.first(name: "Content-Length").flatMap({ Int64($0) }) else { return .none }
        return .length(length)
    }
}
#endif
