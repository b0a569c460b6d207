/// The source of a request's body, and the function that receives its progress.
///
/// It is a class so that a ``Caller`` stores one reference.
final class Upload: Sendable {
    let source: UploadSource
    private let progress: (@Sendable (TransferProgress) -> Void)?

    init(_ source: UploadSource, progress: (@Sendable (TransferProgress) -> Void)?) {
        self.source = source
        self.progress = progress
    }

    var body: TransportBody { .stream(length: source.length, source.pieces) }

    /// Whether the body cannot be sent again.
    var isConsumed: Bool { source.isConsumed }

    func receive(_ event: ExchangeEvent) {
        if let progress, case .began(let meter) = event { meter.report(to: progress) }
    }
}
