import Testing

@testable import Diamond

@Suite("The progress of a transfer") struct TransferProgressTests {
    private static let fractions: [(TransferProgress, Double?)] = [
        (TransferProgress(), nil),
        (TransferProgress(received: 3), nil),
        (TransferProgress(expectedToReceive: 4), 0),
        (TransferProgress(received: 1, expectedToReceive: 4), 0.25),
        (TransferProgress(received: 4, expectedToReceive: 4), 1),
        (TransferProgress(expectedToReceive: 0), 1),
        (TransferProgress(sent: 5, expectedToSend: nil), nil),
        (TransferProgress(sent: 5, expectedToSend: nil, received: 2, expectedToReceive: 2), nil),
        (TransferProgress(sent: 5, expectedToSend: 10), 0.5),
        (TransferProgress(sent: 10, expectedToSend: 10), 1),
        (TransferProgress(sent: 10, expectedToSend: 10, expectedToReceive: 10), 0.5),
        (TransferProgress(sent: 10, expectedToSend: 10, received: 1), nil),
        (TransferProgress(received: 9, expectedToReceive: 4), 1),
        (TransferProgress(sent: -1, expectedToSend: 4), 0),
        (TransferProgress(sent: 1, expectedToSend: -4), nil),
        (TransferProgress(sent: .max, expectedToSend: .max, received: .max, expectedToReceive: .max), 1),
    ]

    @Test(arguments: fractions)
    func `the completed fraction includes both bodies, and is nil without their lengths`(
        progress: TransferProgress, fraction: Double?
    ) {
        #expect(progress.fractionCompleted == fraction)
    }
}
