#if Curl && canImport(CDiamondCurl)
import Foundation

/// The body of a request on its way up. Used by the loop's thread alone.
final class CurlUpload {
    /// The result of a read of the body.
    enum Reading {
        /// Bytes written into the buffer; 0 at the end.
        case bytes(Int)
        /// No bytes yet: ask again after the resumption.
        case wait
        case failed(TransportError)
    }

    private let source: Source

    private enum Source {
        case bytes(Data)
        case stream(UploadFeeder)
    }

    /// Bytes in memory that are gone already.
    private var offset = 0

    /// `nil` where there is no body.
    ///
    /// - Parameter resume: called, from any thread, when there is something to send after a `wait`.
    init?(_ body: TransportBody, resume: @escaping @Sendable () -> Void) {
        switch body {
        case .none: return nil
        case .bytes(let data): source = .bytes(data)
        case .stream(let length, let make): source = .stream(UploadFeeder(make(), length: length, resume: resume))
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

    /// Bytes in memory can be sent again; a stream is gone.
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
