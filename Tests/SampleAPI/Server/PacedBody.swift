#if Tools
import HTTPTypes
import Hummingbird
import NIOCore

extension ResponseBody {
    /// The same bytes with a wait between two chunks; a body that is one buffer is written as four chunks.
    func paced(by delay: Duration) -> ResponseBody {
        let body = self
        return ResponseBody(contentLength: contentLength) { writer in
            try await body.write(PacedWriter(writer: writer, delay: delay, whole: body.contentLength))
        }
    }
}

/// Its functions are concurrent as the framework's own are, or the wrapped writer could not be handed to them.
private struct PacedWriter: ResponseBodyWriter {
    var writer: any ResponseBodyWriter
    let delay: Duration
    let whole: Int?
    private var hasWritten = false

    init(writer: any ResponseBodyWriter, delay: Duration, whole: Int?) {
        self.writer = writer
        self.delay = delay
        self.whole = whole
    }

    @concurrent mutating func write(_ buffer: ByteBuffer) async throws {
        var rest = buffer
        let size = buffer.readableBytes == whole ? (buffer.readableBytes + 3) / 4 : buffer.readableBytes
        while let chunk = rest.readSlice(length: min(size, rest.readableBytes)), chunk.readableBytes > 0 {
            if hasWritten { try await Task.sleep(for: delay) }
            hasWritten = true
            try await writer.write(chunk)
        }
    }

    @concurrent consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        try await writer.finish(trailingHeaders)
    }
}
#endif
