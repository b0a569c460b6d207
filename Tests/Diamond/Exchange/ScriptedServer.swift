import DiamondSQLite
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

/// A loopback server that gives scripted answers one after another, and then closes. A short body is a broken
/// transfer.
final class ScriptedServer: Sendable {
    struct Answer: Sendable, CustomTestStringConvertible {
        var status = 200
        var headers: [String] = []
        var body = ""
        /// Whether the connection stays open, silent, until the client has gone.
        var isHeld = false

        var testDescription: String { "\(status) \(headers.joined(separator: ", "))" }

        fileprivate var bytes: String {
            "HTTP/1.1 \(status) Whatever\r\n" + (headers + ["Connection: close"]).map { "\($0)\r\n" }.joined()
                + "\r\n" + body
        }
    }

    private let heads: Guarded<[String]>
    private let server: RawServer

    /// - Parameter answers: the scripted answers; the last one is repeated.
    init(_ answers: [Answer]) throws {
        let (heads, rest) = (Guarded<[String]>([]), Guarded(answers))
        self.heads = heads
        server = try RawServer { connection in
            guard let head = connection.readHead() else { return }
            heads.withLock { $0.append(head) }
            let answer = rest.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
            connection.write(answer.bytes)
            if answer.isHeld { _ = connection.readRest() }
        }
    }

    var url: String { server.base + "/" }

    var count: Int { heads.withLock { $0.count } }

    /// Returns the value of a field in each request.
    func values(of name: HTTPField.Name) -> [String?] {
        heads.withLock { $0 }.map { head in
            let lines = head.split(separator: "\r\n").dropFirst()
            let line = lines.first { $0.lowercased().hasPrefix(name.canonicalName + ":") }
            return line.map { $0.dropFirst(name.canonicalName.count + 1).trimmingCharacters(in: .whitespaces) }
        }
    }
}
