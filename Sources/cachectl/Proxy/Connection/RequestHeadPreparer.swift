#if Tools
import NIOCore

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
#endif
