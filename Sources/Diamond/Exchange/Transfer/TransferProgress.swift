/// The progress of a request and its response over the wire, in bytes of their bodies without content coding.
///
/// No number decreases within one attempt; the next attempt begins at zero.
public struct TransferProgress: Hashable, Sendable {
    /// The bytes of the request's body that the transport has read for sending. A body in memory counts as a whole,
    /// when the response begins.
    public var sent: Int64
    /// The length of the request's body, 0 if there is none; `nil` if it is unknown.
    public var expectedToSend: Int64?
    /// The bytes of the response's body so far.
    public var received: Int64
    /// The length of the response's body; `nil` before the response begins, and if the server does not tell it, as with
    /// a content coding.
    public var expectedToReceive: Int64?

    /// Creates a progress for previews and tests; transfers report their own.
    package init(
        sent: Int64 = 0,
        expectedToSend: Int64? = 0,
        received: Int64 = 0,
        expectedToReceive: Int64? = nil
    ) {
        self.sent = sent
        self.expectedToSend = expectedToSend
        self.received = received
        self.expectedToReceive = expectedToReceive
    }

    /// The part of both bodies that was transferred, from 0 to 1; `nil` while a length is unknown.
    ///
    /// The length of the response counts as soon as it is known. The fraction of an upload falls a little then. A
    /// response without a known length makes it `nil` with its first byte.
    public var fractionCompleted: Double? {
        guard let expectedToSend, expectedToReceive != nil || received == 0 else { return nil }
        // As `Double`, because a server may announce any length.
        let length = Double(expectedToSend) + Double(expectedToReceive ?? 0)
        guard length > 0 else { return expectedToReceive == nil ? nil : 1 }
        return min(1, max(0, (Double(sent) + Double(received)) / length))
    }
}

extension TransferProgress: CustomStringConvertible {
    /// A line such as `sent 10 of 10 bytes, received 3 of 40`, without the lengths that are not known.
    public var description: String {
        "sent \(sent)\(Self.total(expectedToSend)) bytes, received \(received)\(Self.total(expectedToReceive))"
    }

    private static func total(_ size: Int64?) -> String { size.map { " of \($0)" } ?? "" }
}
