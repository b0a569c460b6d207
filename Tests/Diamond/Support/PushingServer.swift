import DiamondSQLite
import DiamondTesting
import Foundation
import HTTPTypes

@testable import Diamond

/// A server that answers each request at once with a head, and sends the body when the test says so.
final class PushingServer: Sendable {
    private typealias Body = AsyncThrowingStream<Data, any Error>

    private let bodies = Guarded<[Body.Continuation]>([])
    private let headers: HTTPFields

    init(headers: HTTPFields = [.cacheControl: "max-age=3600"]) { self.headers = headers }

    var transport: StubTransport {
        StubTransport { [self] _ in
            let (stream, continuation) = Body.makeStream()
            bodies.withLock { $0.append(continuation) }
            return TransportResponse(status: .ok, headers: headers, body: BodyStream(stream))
        }
    }

    /// The number of requests so far.
    var count: Int { bodies.withLock { $0.count } }

    /// Sends a piece of the body of a request, by its number from 0.
    func push(_ piece: Data, to number: Int = 0) { _ = bodies.withLock { $0[number] }.yield(piece) }

    func push(_ piece: String, to number: Int = 0) { push(Data(piece.utf8), to: number) }

    /// Ends the body of a request, early if there is an error.
    func finish(_ number: Int = 0, throwing error: TransportError? = nil) {
        bodies.withLock { $0[number] }.finish(throwing: error)
    }
}
