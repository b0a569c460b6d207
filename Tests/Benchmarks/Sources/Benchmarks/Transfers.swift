import CPeers
import Diamond
import Foundation
import HTTPTypes

extension Benchmark {
    static let transfers = [1, 8, 64].map { width in
        Benchmark(
            name: "curl-\(width)",
            method:
                "processor time of a request over CurlTransport, \(width) at a time, to C on libcurl's multi interface",
            unit: "x C",
            target: .atMost(1.5),
            measure: { try await Nginx.with { try await Transfers.ratio(width, $0.url) } }
        )
    }
}

private enum Transfers {
    static func ratio(_ width: Int, _ url: String) async throws -> Double {
        let count = 6400
        let transport = CurlTransport()
        guard let peer = curl_peer_open() else { throw Failure("libcurl does not start") }
        defer { curl_peer_close(peer) }
        let race = Race(
            ours: { try await Load.run(count, width: width) { try await transport.fetch(url) } },
            peer: {
                guard curl_peer_run(peer, url, Int32(count), Int32(width), Nginx.bodySize) == count else {
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
    /// Gets a body with what an engine would send, and checks that it is all there.
    func fetch(_ url: String) async throws {
        let request = TransportRequest(url: url, headers: [.userAgent: "Diamond"], timeout: .seconds(60))
        let response = try await send(request)
        let body = try await response.body.collect()
        guard response.status == .ok, body.count == Nginx.bodySize else { throw Failure("\(url) answered wrongly") }
    }
}
