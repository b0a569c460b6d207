#if Curl && canImport(CDiamondCurl)
import Foundation

/// The body of a request on its way up. Used by the loop's thread alone.
final class CurlUpload {
    /// What there is to send now.
    enum Reading {
        /// Bytes written into the buffer; 0 at the end.
        case bytes(Int)
        /// Nothing yet: ask again after the resumption.
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

    /// - Parameter resume: called, from any thread, when there is something to send after a `wait`.
    init(_ body: TransportBody, resume: @escaping @Sendable () -> Void) {
        source =
            switch body {
            case .none: .bytes(Data())
            case .bytes(let data): .bytes(data)
            case .stream(let length, let make): .stream(UploadFeeder(make(), length: length, resume: resume))
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
