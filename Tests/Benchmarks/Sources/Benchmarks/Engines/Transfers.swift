import CPeers
import Diamond
import Foundation
import HTTPTypes

extension Benchmark {
    /// Transfers whose callers run on the thread of the exchanges, on both sides.
    static let transfers = widths.map { width in
        Benchmark(
            name: "curl-\(width)",
            method: """
                processor time of a request over CurlTransport by tasks on its executor, \(width) at a time, to C on \
                libcurl's multi interface in one thread
                """,
            unit: "x C",
            target: .atMost(1.5),
            measure: { try await Nginx.with { try await Transfers.ratio(width, $0.url, isHanded: false) } }
        )
    }

    /// Transfers whose requests and responses go from one thread to another, on both sides.
    static let handedTransfers = widths.map { width in
        Benchmark(
            name: "curl-handed-\(width)",
            method: """
                processor time of a request over CurlTransport by tasks anywhere, \(width) at a time, to C on libcurl's \
                multi interface with a calling and a sending thread
                """,
            unit: "x C",
            target: .atMost(1.5),
            measure: { try await Nginx.with { try await Transfers.ratio(width, $0.url, isHanded: true) } }
        )
    }

    private static let widths = [1, 8, 64]
}

private enum Transfers {
    static func ratio(_ width: Int, _ url: String, isHanded: Bool) async throws -> Double {
        let count = 6400
        let transport = CurlTransport()
        guard let peer = curl_peer_open() else { throw Failure("libcurl does not start") }
        defer { curl_peer_close(peer) }
        let executor = isHanded ? nil : transport.executor
        let race = Race(
            ours: { try await Load.run(count, width: width, on: executor) { try await transport.fetch(url) } },
            peer: {
                let size = Nginx.bodySize
                guard curl_peer_run(peer, url, Int32(count), Int32(width), size, isHanded) == count else {
                    throw Failure("not every request of C was answered")
                }
            }
        )
        let ratio = try await race.ratio(of: \.processor)
        await transport.close()
        return ratio
    }
}

extension Transport {
    /// Gets a body with the request that an engine would send, and checks that it is complete.
    func fetch(_ url: String) async throws {
        let request = TransportRequest(url: url, headers: [.userAgent: "Diamond"], timeout: .seconds(60))
        let response = try await send(request)
        let body = try await response.body.collect()
        guard response.status == .ok, body.count == Nginx.bodySize else { throw Failure("\(url) answered wrongly") }
    }
}
