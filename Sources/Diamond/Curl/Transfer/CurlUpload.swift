#if Curl && canImport(CDiamondCurl)
import Foundation

/// The body of a request that is being sent. It is used by the loop's thread only.
final class CurlUpload {
    /// The result of a read of the body.
    enum Reading {
        /// The number of bytes written into the buffer; 0 at the end.
        case bytes(Int)
        /// No bytes yet. They can be read after the resumption.
        case wait
        case failed(TransportError)
    }

    private let source: Source

    private enum Source {
        case bytes(Data)
        case stream(UploadFeeder)
    }

    /// The number of bytes in memory that are sent already.
    private var offset = 0

    /// Creates an upload; `nil` if there is no body.
    ///
    /// - Parameters:
    ///   - isAwaited: whether the server may refuse the body before it is sent. A stream is then read when the server
    ///     wants it.
    ///   - window: the limit of the bytes that wait to be sent.
    ///   - resume: called, from any thread, when there is something to send after a `wait`.
    init?(_ body: TransportBody, isAwaited: Bool, window: CurlWindow, resume: @escaping @Sendable () -> Void) {
        switch body {
        case .none: return nil
        case .bytes(let data): source = .bytes(data)
        case .stream(let length, let make):
            let feeder = UploadFeeder(make(), length: length, window: window, resume: resume)
            if !isAwaited { feeder.start() }
            source = .stream(feeder)
        }
    }

    func read(into target: UnsafeMutableRawBufferPointer) -> Reading {
        switch source {
        case .stream(let feeder): return feeder.read(into: target)
        case .bytes(let data):
            let count = data.dropFirst(offset).copyBytes(to: target)
            offset += count
            return .bytes(count)
        }
    }

    /// Returns to an earlier position; `false` for a stream, which cannot be sent again.
    func rewind(to offset: Int) -> Bool {
        guard case .bytes(let data) = source else { return false }
        self.offset = min(offset, data.count)
        return true
    }

    func stop() {
        if case .stream(let feeder) = source { feeder.stop() }
    }
}
#endif
