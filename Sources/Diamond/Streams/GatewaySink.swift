import DiamondSQLite
package import Foundation
import HTTPTypes

/// The program that a gateway forwards a request for.
package protocol GatewayClient: Sendable {
    /// Whether the client has sent the whole body of its request; `true` for a request without one.
    var hasSentBody: Bool { get async }

    /// Receives an interim response, before the head (RFC 9110 section 15.2).
    func receive(_ interim: InterimResponse) async throws

    /// Receives the head of the response, once.
    ///
    /// - Parameter head: the response, whose body may be on its way.
    func begin(_ head: Response) async throws

    /// Receives the next piece of the body. The transfer waits until this returns.
    func write(_ piece: Data) async throws

    /// Receives the rest of a stored body, which it reads as fast as it passes the bytes on.
    ///
    /// - Throws: ``CacheError`` if the body cannot be read. Any other error means that the client has left.
    func write(rest reader: BodyReader) async throws
}

extension GatewayClient {
    package func receive(_ interim: InterimResponse) {}

    package func write(rest reader: BodyReader) async throws {
        var reader = reader
        while let piece = try reader.next() { try await write(piece) }
    }
}

/// Passes a response to the client of a gateway. If the client leaves while the response is stored, the rest is
/// received for the cache alone.
///
/// The last bytes are held back until the response is stored, so that the client's next request finds it. A response
/// that comes before the end of the request's body is passed on at once, because that end may not come.
final class GatewaySink: StoredBodySink {
    private struct State {
        /// The head, if nothing follows it. It is held back.
        var head: Response?
        var last: Data?
        /// The number of bytes that are still to come; `nil` if it is unknown.
        var missing: Int?
        /// Passes on the interim responses so far, one after another.
        var interim: Task<Void, Never>?
        /// Whether the response is stored when its body is complete.
        var isStored = false
        var hasLeft = false
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

    var isForCacheAlone: Bool { state.withLock { $0.hasLeft } }

    var onInterim: (@Sendable (InterimResponse) -> Void)? {
        { [self] interim in
            state.withLock { state in
                state.interim = Task { [client, last = state.interim] in
                    await last?.value
                    try? await client.receive(interim)
                }
            }
        }
    }

    func begin(_ head: Response) async throws(TransportError) {
        let length = length(of: head)
        let isHeldBack = if length == 0 { await client.hasSentBody } else { false }
        state.withLock { state in
            state.isCommitted = true
            state.missing = length
            state.isStored = head.cacheStatus?.isStored == true
            if isHeldBack { state.head = head }
        }
        if !isHeldBack { try await passing { try await pass(head) } }
    }

    /// Passes a head on, after the interim responses.
    private func pass(_ head: Response) async throws {
        await state.withLock { $0.interim }?.value
        try await client.begin(head)
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
            return missing <= piece.count
        }
        guard isLast, await client.hasSentBody else { return try await passing { try await client.write(piece) } }
        state.withLock { $0.last = piece }
    }

    func append(rest reader: BodyReader) async throws {
        do { try await client.write(rest: reader) } catch let error as CacheError { throw error } catch {
            throw TransportError(clientHasLeft: error)
        }
    }

    func complete() { state.withLock { $0.isComplete = true } }

    /// Passes on the held-back head and bytes.
    ///
    /// - Parameter response: the response, with its body if it has not come through the sink.
    func end(with response: Response) async throws(TransportError) {
        let (head, last, isComplete) = state.withLock { ($0.head, $0.last, $0.isComplete) }
        try await passing {
            if !isComplete { try await pass(response) } else if let head { try await pass(head) }
            if let body = isComplete ? last : response.body, !body.isEmpty { try await client.write(body) }
        }
    }

    private func passing(_ body: () async throws -> Void) async throws(TransportError) {
        guard !isForCacheAlone else { return }
        do { try await body() } catch {
            let isForCacheAlone = state.withLock { state in
                state.hasLeft = state.isStored
                return state.hasLeft
            }
            guard !isForCacheAlone else { return }
            throw TransportError(clientHasLeft: error)
        }
    }
}

extension TransportError {
    fileprivate init(clientHasLeft error: any Error) {
        self.init(.cancelled, "the client of the gateway has left", serverMayHaveActed: true, cause: error)
    }
}
