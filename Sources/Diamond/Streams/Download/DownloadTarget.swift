import Foundation

/// The destination of a download's body. A part that was taken before the body's end can be discarded or continued.
protocol DownloadTarget: BodySink {
    /// The file; `nil` if the target is none.
    var file: URL? { get }
    /// The number of bytes taken.
    var size: Int { get }
    /// Called for every piece that comes over the wire.
    var progress: (@Sendable (TransferProgress) -> Void)? { get }

    /// Publishes the whole body, which was accepted.
    func publish() async throws(ConnectionError)

    /// Discards the part that was taken. Without effect after ``publish()``.
    func discard()
}

extension DownloadTarget {
    var isCommitted: Bool { false }
    var isContinuable: Bool { true }
    var isForWhole: Bool { true }

    func hear(_ event: ExchangeEvent) {
        if let progress, case .began(let meter) = event { meter.tell(progress) }
    }
}
