import Foundation

/// Where the body of a download goes. What was taken before its end can be thrown away, or gone on with.
protocol DownloadTarget: BodySink {
    /// `nil` where it is none.
    var file: URL? { get }
    /// Bytes that were taken.
    var size: Int { get }
    /// Called for every piece that comes over the wire.
    var progress: (@Sendable (TransferProgress) -> Void)? { get }

    /// The whole body is in it, and nobody has anything against that.
    func publish() async throws(ConnectionError)

    /// What is in it is of no use. Without effect behind ``publish()``.
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
