#if Tools
import Foundation
import NIOCore

/// Rewrites one field of the next response's head from UTF-8 to ISO-8859-1, which old servers still send.
///
/// It stands behind the encoder, because the HTTP library turns every field value into a string and would send
/// other bytes as replacement characters.
final class LatinField: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let name: String

    init(_ name: String) {
        self.name = name
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .byteBuffer(let head) = unwrapOutboundIn(data) else {
            return context.write(data, promise: promise)
        }
        context.write(wrapOutboundOut(.byteBuffer(rewritten(head))), promise: promise)
        // The head is the first thing written; the body and later responses pass untouched.
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    private func rewritten(_ head: ByteBuffer) -> ByteBuffer {
        let lines = String(buffer: head).components(separatedBy: "\r\n")
        var result = ByteBuffer()
        for (index, line) in lines.enumerated() {
            if index > 0 { result.writeString("\r\n") }
            result.writeBytes(line.hasPrefix("\(name):") ? latin(line) : Array(line.utf8))
        }
        return result
    }

    private func latin(_ line: String) -> [UInt8] {
        line.unicodeScalars.map { UInt8(exactly: $0.value) ?? UInt8(ascii: "?") }
    }
}
#endif
