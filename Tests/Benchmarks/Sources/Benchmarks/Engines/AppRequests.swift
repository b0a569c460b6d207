import Diamond
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension Benchmark {
    static let appRequests = [1, 8].map { width in
        Benchmark(
            name: "urlsession-app-\(width)",
            method: """
                requests a second of processor time through the engine with the policy noStore over the platform's transport, \
                \(width) at a time, status and content type validated and JSON decoded, to the same work over \
                URLSession, as in Alamofire
                """,
            unit: "x URLSession",
            target: .atLeast(1),
            measure: { try await Nginx.with { try await AppRequests.speedup(width, $0.url) } }
        )
    }
}

private enum AppRequests {
    static func speedup(_ width: Int, _ url: String) async throws -> Double {
        let count = 1280
        var configuration = Engine.Configuration(store: nil)
        configuration.interceptors = [ResponseValidator.json]
        configuration.originWidth = width
        let engine = Engine(configuration)
        let session = AppSession(width: width)
        let race = Race(
            rounds: 7,
            ours: {
                try await Load.run(count, width: width) {
                    try check(await engine.send(Request(url, cache: .noStore).decoding(City.self)))
                }
            },
            peer: { try await Load.run(count, width: width) { try check(await session.fetch(City.self, url)) } }
        )
        let ratio = try await race.ratio(of: \.processor)
        session.close()
        await engine.close()
        return 1 / ratio
    }

    private static func check(_ city: City) throws {
        guard city.name == "Berlin", city.population == 3_426_354 else { throw Failure("a city was decoded wrongly") }
    }
}

/// The document of nginx.
private struct City: Decodable {
    let name: String
    let country: String
    let population: Int
    let notes: String
}

/// The code that an app writes over URLSession, or that Alamofire runs: a session with its own queue, validation and
/// decoding of each response, and retries.
private struct AppSession: Sendable {
    private static let contentTypes: Set<String> = ["application/json", "text/json", "text/javascript"]

    private let session: URLSession
    private let decoder = JSONDecoder()
    private let retries = AppRetries()

    init(width: Int) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpMaximumConnectionsPerHost = width
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        session = URLSession(configuration: configuration, delegate: nil, delegateQueue: queue)
    }

    func fetch<Value: Decodable>(_ type: Value.Type, _ url: String) async throws -> Value {
        guard let url = URL(string: url) else { throw Failure("\(url) is no URL") }
        let request = URLRequest(url: url)
        var attempt = 1
        while true {
            do {
                return try decoder.decode(type, from: await data(for: request))
            } catch {
                guard retries.isWorthwhile(request, after: error, attempt) else { throw error }
                try await Task.sleep(for: retries.delay(after: attempt))
                attempt += 1
            }
        }
    }

    private func data(for request: URLRequest) async throws -> Data {
        try await withCheckedThrowingContinuation { continuation in
            let task = session.dataTask(with: request) { data, response, error in
                continuation.resume(with: Result { try Self.validated(data, response, error) })
            }
            task.resume()
        }
    }

    private static func validated(_ data: Data?, _ response: URLResponse?, _ error: (any Error)?) throws -> Data {
        if let error { throw error }
        guard let data, let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        guard 200..<300 ~= response.statusCode else { throw AppError.badStatus(response.statusCode) }
        guard let type = response.mimeType?.lowercased(), contentTypes.contains(type) else {
            throw AppError.badContentType(response.mimeType)
        }
        return data
    }

    func close() { session.finishTasksAndInvalidate() }
}

private enum AppError: Error {
    case badStatus(Int)
    case badContentType(String?)
}

/// Alamofire's `RetryPolicy`, with its numbers.
private struct AppRetries: Sendable {
    private static let methods: Set<String> = ["DELETE", "GET", "HEAD", "OPTIONS", "PUT", "TRACE"]
    private static let statuses: Set<Int> = [408, 500, 502, 503, 504]
    private static let codes: Set<URLError.Code> = [
        .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .networkConnectionLost, .notConnectedToInternet,
        .timedOut,
    ]

    func isWorthwhile(_ request: URLRequest, after error: any Error, _ attempt: Int) -> Bool {
        guard attempt <= 2, let method = request.httpMethod, Self.methods.contains(method) else { return false }
        if case AppError.badStatus(let status) = error { return Self.statuses.contains(status) }
        return (error as? URLError).map { Self.codes.contains($0.code) } ?? false
    }

    func delay(after attempt: Int) -> Duration { .milliseconds(500 << (attempt - 1)) }
}
