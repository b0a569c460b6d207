/// A source on its way up, and who watches it.
///
/// A class, because it goes along with who asks, who has room for a word.
final class Upload: Sendable {
    let source: UploadSource
    private let progress: (@Sendable (TransferProgress) -> Void)?

    init(_ source: UploadSource, progress: (@Sendable (TransferProgress) -> Void)?) {
        (self.source, self.progress) = (source, progress)
    }

    var body: TransportBody { .stream(length: source.length, source.pieces) }

    /// Whether it cannot be sent again.
    var isConsumed: Bool { source.isConsumed }

    func hear(_ event: ExchangeEvent) {
        if let progress, case .began(let meter) = event { meter.tell(progress) }
    }
}
