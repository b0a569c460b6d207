/// Asked before the first byte of a request leaves: what waits for its place on the wire may meanwhile be somebody else's.
final class SendGate: Sendable {
    private let open: @Sendable () async -> Bool

    /// - Parameter open: whether it may leave.
    init(open: @escaping @Sendable () async -> Bool) { self.open = open }

    static let open = SendGate { true }

    func pass() async throws(ConnectionError) {
        guard await open() else {
            throw ConnectionError(.held, "the request is sent by somebody else, or may not be sent now")
        }
    }
}
