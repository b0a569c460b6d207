#if Tools
import Diamond
import Foundation
import HTTPTypes

/// The values of a response in the access log.
struct AccessRecord: Sendable {
    var status = 0
    var bytes = 0
    var source = "none"

    mutating func begin(_ response: Response) {
        status = response.status.code
        source = response.source.rawValue
    }
}

/// The access log: a line on standard output for each request.
struct AccessLog: Sendable {
    /// Whether nothing is written.
    let isQuiet: Bool

    /// Writes the line of a request that could not be read.
    func writeRefusal(_ problem: ProxyProblem) {
        guard !isQuiet else { return }
        _ = Output.attempt(
            line: "- - \(problem.status.code) \(problem.response.body.count) generated: \(problem.detail)")
    }

    /// Writes the line of a request.
    ///
    /// - Parameters:
    ///   - url: the URL of the request. Its secrets are masked in the line.
    ///   - start: the time when the request arrived.
    func write(
        _ record: AccessRecord, method: HTTPRequest.Method, url: @autoclosure () -> String,
        since start: ContinuousClock.Instant
    ) {
        guard !isQuiet else { return }
        let time = Quantity.time(ContinuousClock.now - start)
        let line = "\(method) \(ForwardedURL.masked(url())) \(record.status) \(record.bytes) \(record.source) \(time)"
        _ = Output.attempt(line: line)
    }
}
#endif
