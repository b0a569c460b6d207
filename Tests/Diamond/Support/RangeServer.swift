import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes

@testable import Diamond

/// A server in memory with one large body, whose ranges it serves as RFC 9110 says. Its transfers stand still or break
/// where a test sets it, and it counts those whose sent bytes were all read.
final class RangeServer: Sendable {
    /// The course of a transfer.
    enum Flow: Sendable {
        case whole
        /// Stands still after a number of bytes, until it is canceled.
        case held(Int)
        case broken(Int)
    }

    struct State: Sendable {
        var body = Data.noise(3 << 20)
        var tag = "\"a\""
        /// Whether it serves ranges; `false` answers each request with the whole body.
        var servesRanges = true
        /// The fields in addition to the length and the tag.
        var headers: HTTPFields = [.cacheControl: "max-age=60"]
        /// The courses of the next transfers; later ones are whole.
        var flows: [Flow] = []
        /// The number of transfers that stand still, and whose sent bytes were all read.
        var drained = 0
    }

    private let state: Guarded<State>
    let transport: StubTransport

    init(_ change: (inout State) -> Void = { _ in }) {
        var first = State()
        change(&first)
        let state = Guarded(first)
        self.state = state
        transport = StubTransport { request throws(TransportError) in Self.answer(request, state) }
    }

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

    var body: Data { state.withLock { $0.body } }
    var drained: Int { state.withLock { $0.drained } }

    /// The requests, one after another.
    var ranges: [String?] { transport.requests.map { $0.headers[.range] } }

    private static func answer(_ request: TransportRequest, _ state: Guarded<State>) -> TransportResponse {
        if request.url.hasSuffix("/moved") { return .stub(status: 302, headers: [.location: "/"]) }
        let (now, flow) = state.withLock { state in (state, state.flows.isEmpty ? .whole : state.flows.removeFirst()) }
        let range = now.servesRanges ? request.headers[.range] : nil
        let first = range.flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
        if first == now.body.count {
            return .stub(status: 416, headers: [.contentRange: "bytes */\(first)", .eTag: now.tag], body: "")
        }
        let isRest = first > 0 && request.headers[.ifRange] == now.tag
        var headers = now.headers
        headers[.eTag] = now.tag
        headers[.contentLength] = "\(isRest ? now.body.count - first : now.body.count)"
        if isRest { headers[.contentRange] = "bytes \(first)-\(now.body.count - 1)/\(now.body.count)" }
        let stream = RangeBodySequence(body: isRest ? now.body.dropFirst(first) : now.body, flow: flow) {
            state.withLock { $0.drained += 1 }
        }
        return TransportResponse(
            status: isRest ? .partialContent : .ok, headers: headers, body: BodyStream(stream))
    }
}

/// A body in pieces of a mebibyte, the most that waits for a consumer: the next piece is requested when the one before
/// was read.
private struct RangeBodySequence: AsyncSequence, Sendable {
    let body: Data
    let flow: RangeServer.Flow
    let whenDrained: @Sendable () -> Void

    struct Iterator: AsyncIteratorProtocol {
        var rest: Data
        let flow: RangeServer.Flow
        let whenDrained: @Sendable () -> Void

        mutating func next() async throws -> Data? {
            guard rest.isEmpty else {
                defer { rest = rest.dropFirst(1 << 20) }
                return Data(rest.prefix(1 << 20))
            }
            switch flow {
            case .whole: return nil
            case .broken: throw TransportError(.connectionLost, "broken", serverMayHaveActed: true)
            case .held:
                whenDrained()
                let gate = Gate()
                await withTaskCancellationHandler {
                    await gate.wait()
                } onCancel: {
                    gate.open()
                }
                throw TransportError.cancelled(serverMayHaveActed: true)
            }
        }
    }

    func makeAsyncIterator() -> Iterator {
        switch flow {
        case .whole: Iterator(rest: body, flow: flow, whenDrained: whenDrained)
        case .held(let count), .broken(let count):
            Iterator(rest: body.prefix(count), flow: flow, whenDrained: whenDrained)
        }
    }
}
