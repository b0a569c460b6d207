#if Tools
import Diamond
import Foundation
import HTTPTypes

/// A request to edit and send, with its response beside it.
struct SendPage {
    /// The written form of the request, as `cachectl send FILE` reads it.
    let text: String
    /// The path of the entry whose request it was; `nil` for a new one.
    var entryPath: String?
    /// The names of the secrets that the text does not have.
    var leftOut: String?
    var problem: String?
    var response: SentResult?

    private static let example = """
        {
          "url": "https://api.example.com/items",
          "method": "GET",
          "headers": {
            "Accept": "application/json"
          }
        }
        """

    static let routes = [
        Route.page("/send") { _, inspector in await inspector.sendPage(SendPage(text: example)) },
        Route.page("/entries/{key}/send") { request, inspector in
            let entry = try await inspector.entry(of: request)
            return await inspector.sendPage(try SendPage(entry))
        },
        Route.action("/send") { request, inspector in
            var page = SendPage(text: request.form[text: "request"])
            do {
                page.response = try await inspector.send(page.request())
                return await inspector.sendPage(page)
            } catch {
                // What was typed is not lost.
                let problem = PageProblem(any: error)
                page.problem = problem.message
                return await inspector.sendPage(page, status: problem.status)
            }
        },
    ]

    init(text: String) { self.text = text }

    /// Writes the request of an entry, without its secrets, which the cache does not have.
    private init(_ entry: FoundEntry) throws {
        let archived = ArchivedRequest(form: entry.form, method: entry.listing.method, url: entry.listing.url)
        let written = try archived.request().json()
        let text = String(decoding: written, as: UTF8.self)
        self.init(text: JSONLayout.indented(text) ?? text)
        entryPath = entry.path
        let secrets = archived.headers.filter(\.isMasked).map(\.name)
        leftOut = secrets.isEmpty ? nil : secrets.joined(separator: ", ")
    }

    private func request() throws -> Request {
        guard !text.contains(NamedValue.mask) else {
            throw PageProblem(message: "A secret is masked as •••: write it, or name one of the environment.")
        }
        do throws(RequestError) { return try Request(json: Data(text.utf8)) } catch {
            throw PageProblem(message: error.message)
        }
    }
}

/// The response to a sent request, or the failure.
struct SentResult {
    let summary: String
    let isFailure: Bool
    private(set) var fields: [NamedValue] = []
    private(set) var body: BodyPreview?

    init(_ result: Result<Response, ConnectionError>, time: Duration) {
        switch result {
        case .success(let response):
            summary = "\(response.status.code) from \(response.source.rawValue) in \(Quantity.time(time))"
            isFailure = response.status.code >= 400
            fields = NamedValue.masked(response.headers)
            body = BodyPreview(response.body, headers: response.headers)
        case .failure(let error):
            summary = error.message
            isFailure = true
        }
    }
}

extension ArchivedRequest {
    /// Returns the request, without the parts that are masked.
    fileprivate func request() throws -> Request {
        var request = Request(url, method: HTTPRequest.Method(method) ?? .get)
        for pair in headers where !pair.isMasked {
            request.headers.append(try HTTPField(checking: pair.name, pair.value))
        }
        request.identity = identity
        if let type { request.body = try body(type: type) }
        return request
    }

    private func body(type: String) throws -> RequestBody {
        let text = bodies.joined(separator: "&")
        return type.contains("json") ? try .json(text: text) : .bytes(Data(text.utf8), contentType: type)
    }
}

extension Inspector {
    fileprivate func sendPage(_ value: SendPage, status: Int = 200) -> PageResponse {
        page("send", title: "Send a request", section: "/send", value, status: status)
    }

    /// Sends a request with an engine of its own, as `cachectl send` does.
    fileprivate nonisolated func send(_ request: Request) async throws -> SentResult {
        let engine = Engine(connecting: try await sendingConfiguration())
        let start = ContinuousClock.now
        let response = await engine.response(to: request)
        let time = ContinuousClock.now - start
        await engine.waitForRefreshes()
        await engine.close()
        return SentResult(response, time: time)
    }

    private nonisolated func sendingConfiguration() async throws -> Engine.Configuration {
        var configuration = try store.configuration()
        if let problem = try store.prepareToSend(&configuration) {
            throw PageProblem(status: 503, message: "Nothing was sent: \(problem).")
        }
        if let server = queuePlace.server {
            configuration.queue = .storage(try await server.replayStorage(create: true))
        }
        return configuration
    }
}
#endif
