import Diamond
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension Benchmark {
    static let sessions = [8, 64].map { width in
        Benchmark(
            name: "urlsession-\(width)",
            method: """
                requests a second of CurlTransport by tasks on its executor, \(width) at a time, to the faster of two ways \
                over URLSession
                """,
            unit: "x URLSession",
            target: .atLeast(8),
            measure: { try await Nginx.with { try await SessionRequests.speedup(width, $0.url) } }
        )
    }
}

private enum SessionRequests {
    static func speedup(_ width: Int, _ url: String) async throws -> Double {
        let count = 1280
        let transport = CurlTransport()
        let (wrapped, plain) = (URLSessionTransport(), PlainSession(width: width))
        var ratios: [Double] = []
        for send in [{ try await wrapped.fetch(url) }, { try await plain.fetch(url) }] as [Send] {
            let race = Race(
                rounds: 5,
                ours: {
                    try await Load.run(count, width: width, on: transport.executor) { try await transport.fetch(url) }
                },
                peer: { try await Load.run(count, width: width, send) }
            )
            ratios.append(1 / (try await race.ratio(of: \.wall)))
        }
        await transport.close()
        await wrapped.close()
        return ratios.min() ?? 0
    }

    private typealias Send = @Sendable () async throws -> Void
}

/// URLSession as most programs use it: with data tasks and completion handlers.
private struct PlainSession: Sendable {
    private let session: URLSession

    init(width: Int) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.httpMaximumConnectionsPerHost = width
        session = URLSession(configuration: configuration)
    }

    func fetch(_ url: String) async throws {
        guard let url = URL(string: url) else { throw Failure("\(url) is no URL") }
        let count: Int = try await withCheckedThrowingContinuation { continuation in
            let task = session.dataTask(with: url) { data, _, error in
                if let error {
                    continuation.resume(throwing: error)
                } else {
                    continuation.resume(returning: data?.count ?? 0)
                }
            }
            task.resume()
        }
        guard count == Nginx.bodySize else { throw Failure("\(url) answered wrongly") }
    }
}
