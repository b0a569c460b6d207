import DiamondSQLite
package import Foundation
import HTTPTypes

/// The program that a gateway forwards a request for.
package protocol GatewayClient: Sendable {
    /// Receives the head of the response, once.
    ///
    /// - Parameter head: the response, whose body may be on its way.
    func begin(_ head: Response) async throws

    /// Receives the next piece of the body. The transfer waits until this returns.
    func write(_ piece: Data) async throws
}

/// Passes a response to the client of a gateway.
///
/// The last bytes are held back until the response is stored, so that the client's next request finds it.
final class GatewaySink: BodySink {
    private struct State {
        /// The head, if nothing follows it. It is held back.
        var head: Response?
        var last: Data?
        /// The number of bytes that are still to come; `nil` if it is unknown.
        var missing: Int?
        var isCommitted = false
        var isComplete = false
    }

    private let client: any GatewayClient
    private let isForHead: Bool
    private let state = Guarded(State())

    init(_ client: any GatewayClient, isForHead: Bool) {
        self.client = client
        self.isForHead = isForHead
    }

    var limit: Int { .max }
    var isCommitted: Bool { state.withLock { $0.isCommitted } }
    var isContinuable: Bool { false }
    var isForWhole: Bool { false }
    var takesEveryStatus: Bool { true }
    var isComplete: Bool { state.withLock { $0.isComplete } }

    func begin(_ head: Response) async throws(TransportError) {
        let length = length(of: head)
        state.withLock { state in
            state.isCommitted = true
            state.missing = length
            if length == 0 { state.head = head }
        }
        if length != 0 { try await passing { try await client.begin(head) } }
    }

    /// The number of bytes that follow a head; `nil` if it is unknown (RFC 9112 section 6.3).
    private func length(of head: Response) -> Int? {
        guard !isForHead, head.status != .noContent, head.status != .notModified else { return 0 }
        return head.headers.single(.contentLength).flatMap { Int(digits: $0) }
    }

    func append(_ piece: Data) async throws(TransportError) {
        let isLast = state.withLock { state in
            guard let missing = state.missing else { return false }
            state.missing = missing - piece.count
            guard missing <= piece.count else { return false }
            state.last = piece
            return true
        }
        if !isLast { try await passing { try await client.write(piece) } }
    }

    func complete() { state.withLock { $0.isComplete = true } }

    /// Passes on the held-back head and bytes.
    ///
    /// - Parameter response: the response, with its body if it has not come through the sink.
    func end(with response: Response) async throws(TransportError) {
        let (head, last, isComplete) = state.withLock { ($0.head, $0.last, $0.isComplete) }
        try await passing {
            if !isComplete { try await client.begin(response) } else if let head { try await client.begin(head) }
            if let body = isComplete ? last : response.body, !body.isEmpty { try await client.write(body) }
        }
    }

    private func passing(_ body: () async throws -> Void) async throws(TransportError) {
        do { try await body() } catch {
            throw TransportError(
                .cancelled, "the client of the gateway has left", requestMayHaveBeenSent: true, cause: error)
        }
    }
}
