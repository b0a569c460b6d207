import Diamond
import DiamondSQLite
import DiamondTesting
import Foundation
import HTTPTypes

/// An API with answers from a test, and the calls that it has received.
final class StubAPI: Sendable {
    struct Call: Sendable, Equatable {
        let method: String
        /// The path with the query, as sent.
        let path: String
        let body: JSONValue?

        init(_ method: String, _ path: String, _ body: JSONValue? = nil) {
            self.method = method
            self.path = path
            self.body = body
        }
    }

    struct Answer: Sendable {
        var status = 200
        var headers: HTTPFields = [:]
        /// The text of the body.
        var text = ""

        init(text: String) { self.text = text }

        init(_ status: Int = 200, _ body: JSONValue? = nil, headers: HTTPFields = [:]) {
            self.status = status
            self.headers = headers
            text = body?.description ?? ""
        }
    }

    let engine: Engine
    private let sent: Guarded<[Call]>

    init(_ answer: @escaping @Sendable (Call) async -> Answer) {
        let sent = Guarded<[Call]>([])
        self.sent = sent
        let transport = StubTransport { request throws(TransportError) in
            let call = Call(request)
            sent.withLock { $0.append(call) }
            let answer = await answer(call)
            return .stub(status: answer.status, headers: answer.headers, body: answer.text)
        }
        var configuration = Engine.Configuration(testing: transport)
        configuration.baseURL = "https://api.example.com/"
        engine = Engine(configuration)
    }

    /// The calls so far, in order.
    var calls: [Call] { sent.withLock { $0 } }
}

extension StubAPI.Call {
    init(_ request: TransportRequest) {
        var json: JSONValue?
        if case .bytes(let data) = request.body { json = try? JSONDecoder().decode(JSONValue.self, from: data) }
        self.init(
            request.method.rawValue, String(request.url.dropFirst("https://api.example.com/".count)), json)
    }
}
