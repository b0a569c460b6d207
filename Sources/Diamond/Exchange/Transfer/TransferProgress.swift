/// How far a request and its answer have come over the wire, in bytes of their bodies, as they are without content coding.
///
/// No number falls within one attempt; the next begins with none.
public struct TransferProgress: Hashable, Sendable {
    /// What the wire has taken of the request's body. A body in memory counts as a whole, when the answer begins.
    public var sent: Int64
    /// The length of the request's body, 0 where there is none; `nil` where it is not known.
    public var expectedToSend: Int64?
    /// What has come of the answer's body.
    public var received: Int64
    /// `nil` before the answer begins, and where the server does not tell, as with a content coding.
    public var expectedToReceive: Int64?

    /// For previews and tests; transfers tell their own.
    public init(
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
}

extension TransferProgress: CustomStringConvertible {
    /// One line, such as `sent 10 of 10 bytes, received 3 of 40`; without the whole where it is not known.
    public var description: String {
        "sent \(sent)\(Self.whole(expectedToSend)) bytes, received \(received)\(Self.whole(expectedToReceive))"
    }

    private static func whole(_ size: Int64?) -> String { size.map { " of \($0)" } ?? "" }
}
