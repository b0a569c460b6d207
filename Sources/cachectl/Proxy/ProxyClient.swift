#if Tools
import Diamond
import Foundation
import HTTPTypes
import NIOCore

/// The client of one request: writes its response to the connection, as fast as the client reads.
actor ProxyClient: GatewayClient {
    private enum State {
        case waiting
        case responding(ProxyResponse, missing: Int?)
        case ended(keepsAlive: Bool)
    }

    private struct BodyTooLong: Error {}

    private let request: ProxyRequest
    private let site: ProxySite
    private let outbound: NIOAsyncChannelOutboundWriter<ResponsePiece>
    private let phase: ConnectionPhase
    private let window: WriteWindow
    private let expectations: OriginExpectations
    private var state = State.waiting
    /// Whether the whole body of the request was read. Otherwise the connection cannot serve another request.
    private var hasWholeRequest: Bool
    /// Whether the response is being stored.
    private(set) var isStored = false
    /// The values of the response in the access log.
    private(set) var record = AccessRecord()

    init(_ request: ProxyRequest, of connection: ProxyConnection) {
        self.request = request
        site = connection.proxy.site
        outbound = connection.outbound
        phase = connection.phase
        window = connection.window
        expectations = connection.proxy.expectations
        hasWholeRequest = request.content == .none
    }

    /// Whether the response is complete, and the connection may serve another request.
    var keepsAlive: Bool { if case .ended(let keepsAlive) = state { keepsAlive } else { false } }

    var isWaiting: Bool { if case .waiting = state { true } else { false } }

    var hasSentBody: Bool { hasWholeRequest }

    func noteWholeRequest() { hasWholeRequest = true }

    /// Asks the client for the body with a 100, unless the response has begun (RFC 9110 section 10.1.1).
    func proceed() async throws {
        guard isWaiting else { return }
        try await writeInterim(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n"))
    }

    /// Passes an interim response on, but not to a client of HTTP/1.0 (RFC 9110 section 15.2).
    func receive(_ interim: InterimResponse) async throws {
        guard isWaiting, request.isHTTP11 else { return }
        try await writeInterim(ProxyResponse.bytes(of: interim, site: site))
    }

    func begin(_ head: Response) async throws {
        // The only response that the engine generates: the cache alone may answer, and cannot (RFC 9111 section
        // 5.2.1.7).
        guard head.source != .generated || head.status != .gatewayTimeout || !head.body.isEmpty else {
            return try await send(ProxyProblem.nothingStored)
        }
        let keepsAlive = request.keepsAlive && hasWholeRequest && !phase.isQuiescing
        let response = ProxyResponse(head, to: request, of: site, keepsAlive: keepsAlive)
        if head.status == .expectationFailed, request.expectsContinue { expectations.noteRefusal(of: request.target) }
        record.begin(head)
        isStored = head.cacheStatus?.isStored == true
        var missing: Int?
        if case .length(let count) = response.framing { missing = count }
        state = .responding(response, missing: missing)
        try await write(response.bytes)
    }

    func write(_ piece: Data) async throws {
        guard case .responding(let response, let missing) = state, response.framing != .none, !piece.isEmpty else {
            return
        }
        // The client would read more bytes than announced as another response.
        guard missing.map({ $0 >= piece.count }) ?? true else { throw BodyTooLong() }
        state = .responding(response, missing: missing.map { $0 - piece.count })
        record.bytes += piece.count
        var rest = piece
        while !rest.isEmpty {
            try await write(response.bytes(ofBody: ByteBuffer(bytes: rest.prefix(Self.pieceSize))))
            rest = rest.dropFirst(Self.pieceSize)
        }
    }

    /// Writes the rest of a stored body. Each piece is read only when there is room for it.
    func write(rest reader: BodyReader) async throws {
        var reader = reader
        while case .responding(let response, let missing) = state, response.framing != .none, missing != 0 {
            try Task.checkCancellation()
            let room = await window.add(upTo: missing ?? .max)
            var piece = ByteBuffer()
            piece.reserveCapacity(room)
            // One read, which ends with its chunk: the next one then begins with a chunk, and reads none twice.
            do { _ = try reader.read(upTo: room) { piece.writeBytes($0) } } catch {
                window.remove(room)
                throw error
            }
            let bytes = response.bytes(ofBody: piece)
            window.remove(room - bytes.readableBytes)
            guard piece.readableBytes > 0 else { return }
            state = .responding(response, missing: missing.map { $0 - piece.readableBytes })
            record.bytes += piece.readableBytes
            try await writeAdded(bytes)
        }
    }

    /// Ends the response, unless its body is incomplete.
    func end() async throws {
        guard case .responding(let response, let missing) = state, missing ?? 0 == 0 else { return }
        state = .ended(keepsAlive: response.keepsAlive)
        let end = response.framing == .chunked ? ByteBuffer(string: "0\r\n\r\n") : ByteBuffer()
        try await outbound.write(ResponsePiece(bytes: end, isLast: response.keepsAlive))
    }

    /// Answers with a problem, and logs its reason.
    func send(_ problem: ProxyProblem) async throws {
        defer { record.failure = problem.reason }
        try await send(problem.response)
    }

    /// Writes a whole response.
    func send(_ whole: Response) async throws {
        try await begin(whole)
        try await write(whole.body)
        try await end()
    }

    /// Writes an interim response, unless the response has begun while it waited for room.
    private func writeInterim(_ bytes: ByteBuffer) async throws {
        await window.add(bytes.readableBytes)
        guard isWaiting else { return window.remove(bytes.readableBytes) }
        try await writeAdded(bytes)
    }

    private func write(_ bytes: ByteBuffer) async throws {
        await window.add(bytes.readableBytes)
        try await writeAdded(bytes)
    }

    /// Writes bytes that the window counts already.
    private func writeAdded(_ bytes: ByteBuffer) async throws {
        do { try await outbound.write(ResponsePiece(bytes: bytes, window: window)) } catch {
            window.remove(bytes.readableBytes)
            throw error
        }
    }

    /// The bytes of one write. Each write that reaches a slow client counts as progress.
    private static let pieceSize = 64 << 10
}
#endif
