import Foundation

/// The destination of a download's body. An incomplete body can be discarded or continued.
protocol DownloadTarget: BodySink {
    /// The file; `nil` for another target.
    var file: URL? { get }
    /// The number of bytes received.
    var size: Int { get }
    /// Called for every piece that comes over the wire.
    var progress: (@Sendable (TransferProgress) -> Void)? { get }

    /// Whether the received part is recorded, so that a later download continues it.
    var isKept: Bool { get }

    /// Publishes the complete body, which was accepted.
    func publish() async throws(ConnectionError)

    /// Discards the received part. Has no effect after ``publish()``.
    func discard()
}

extension DownloadTarget {
    var isCommitted: Bool { false }
    var isContinuable: Bool { true }
    var isForWhole: Bool { true }
    var isKept: Bool { false }

    /// Whether the received part stays for a later download of the same request. The app does not want a canceled
    /// download any more, unless its engine has canceled it. A complete body was refused.
    func staysAfter(_ error: ConnectionError, isEngineClosed: Bool = false) -> Bool {
        isKept && !isComplete && (error.code != .cancelled || isEngineClosed)
    }

    func receive(_ event: ExchangeEvent) {
        if let progress, case .began(let meter) = event { meter.report(to: progress) }
    }
}
