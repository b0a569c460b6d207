#if Tools
import Diamond
import Foundation
import HTTPTypes
import NIOHTTP1

/// The values of a response in the access log.
struct AccessRecord: Sendable {
    var status = 0
    var bytes = 0
    var source = "none"
    /// The failure; `nil` if there is none.
    var failure: String?
    private var cacheStatus: CacheStatus?

    mutating func begin(_ response: Response) {
        status = response.status.code
        source = response.source.rawValue
        cacheStatus = response.cacheStatus
    }

    /// The reason for the response: the cache's part in it, or the failure.
    fileprivate var reason: String {
        if let failure { return failure }
        guard let cacheStatus else { return "-" }
        return String(cacheStatus.member(for: "diamond").trimmingPrefix("diamond").trimmingPrefix("; "))
    }
}

/// The access log: a line for each request, on standard output or in a file.
struct AccessLog: Sendable {
    /// Whether nothing is written.
    let isQuiet: Bool
    /// Whether each line is a JSON object.
    let isJSON: Bool
    /// The file; `nil` for standard output.
    let file: LogFile?

    /// Writes the line of a request that could not be read.
    ///
    /// - Parameter peer: the address of the client.
    func write(
        _ problem: ProxyProblem, for failure: RequestFailure, at site: ProxySite, from peer: String, bytes: Int
    ) {
        guard !isQuiet else { return }
        let head = failure.head
        // A malformed target may have secrets where no rule looks for them.
        let target = head.map { String($0.uri.prefix { $0 != "?" && $0 != "#" }) }
        let path = target.map { SecretNames.masked($0.hasPrefix("/") ? site.origin + $0 : $0) }
        var record = AccessRecord()
        record.status = problem.status.code
        record.bytes = bytes
        record.source = "generated"
        record.failure = problem.reason
        write(
            AccessLine(
                client: peer, method: failure.method.isEmpty ? "-" : failure.method, url: path ?? "-",
                record: record,
                duration: .zero, agent: head?.headers.first(name: "User-Agent")))
    }

    /// Writes the line of a request.
    ///
    /// - Parameters:
    ///   - peer: the address of the client.
    ///   - start: the time when the request arrived.
    func write(
        _ record: AccessRecord, of request: ProxyRequest, at site: ProxySite, from peer: String,
        since start: ContinuousClock.Instant
    ) {
        guard !isQuiet else { return }
        write(
            AccessLine(
                client: peer, method: request.method.rawValue,
                url: ForwardedURL.masked(site.origin + request.target), record: record,
                duration: ContinuousClock.now - start, agent: request.agent))
    }

    private func write(_ line: AccessLine) {
        let text = isJSON ? Output.text(of: line.form) : line.text
        if let file { file.write(line: text) } else { _ = Output.attempt(line: text) }
    }
}

/// A line of the access log.
private struct AccessLine {
    let time = Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    let client: String
    let method: String
    /// The URL, with its secrets masked.
    let url: String
    let record: AccessRecord
    let duration: Duration
    let agent: String?

    var form: JSONObject {
        [
            "time": time, "client": client, "method": method, "url": url, "status": record.status,
            "bytes": record.bytes, "source": record.source,
            "milliseconds": (duration / .microseconds(1)).rounded() / 1000, "agent": agent, "reason": record.reason,
        ]
    }

    var text: String {
        let agent = (agent ?? "-").replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        let values = "\(method) \(url) \(record.status) \(record.bytes) \(record.source) \(Quantity.time(duration))"
        return "\(time) \(client) \(values) \"\(agent)\" \(record.reason)"
    }
}
#endif
