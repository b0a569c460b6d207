package import Diamond
import DiamondSQLite
import Foundation
package import HTTPTypes

/// A transport that answers from a closure, and remembers what it was asked.
package final class StubTransport: Transport {
    package typealias Answer = @Sendable (TransportRequest) async throws(TransportError) -> TransportResponse

    private let answer: Answer
    private let asked = Guarded<[TransportRequest]>([])

    package init(_ answer: @escaping Answer) { self.answer = answer }

    /// Answers everything with one status, headers and body.
    package convenience init(status: Int = 200, headers: HTTPFields = [:], body: String = "body") {
        self.init { _ in .stub(status: status, headers: headers, body: body) }
    }

    /// Answers nothing, until its exchanges are canceled.
    ///
    /// - Parameter whenCanceled: called for each.
    package static func silent(whenCanceled: @escaping @Sendable () -> Void = {}) -> StubTransport {
        StubTransport { _ throws(TransportError) in
            let gate = Gate()
            await withTaskCancellationHandler {
                await gate.wait()
            } onCancel: {
                gate.open()
            }
            whenCanceled()
            throw TransportError(.cancelled, "canceled", requestMayHaveBeenSent: true)
        }
    }

    /// Every request so far, in order.
    package var requests: [TransportRequest] { asked.withLock { $0 } }

    package func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        asked.withLock { $0.append(request) }
        return try await answer(request)
    }

    package func close() async {}
}

extension TransportResponse {
    package static func stub(status: Int = 200, headers: HTTPFields = [:], body: String = "body") -> TransportResponse {
        TransportResponse(
            status: HTTPResponse.Status(code: status),
            headers: headers,
            body: BodyStream(Data(body.utf8))
        )
    }
}
