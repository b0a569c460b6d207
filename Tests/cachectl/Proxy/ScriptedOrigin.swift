import DiamondSQLite
import DiamondTestSupport
import Foundation

/// An origin that answers each request by a function, and remembers what it was sent.
final class ScriptedOrigin: Sendable {
    struct Request: Sendable {
        /// The head as it came.
        let head: String
        let body: [UInt8]
        /// The number of this request, from 1.
        let number: Int

        /// The request line.
        var line: String { String(head.prefix { $0 != "\r\n" }) }
        var target: String { line.split(separator: " ").dropFirst().first.map(String.init) ?? "" }

        /// The value of a field; `nil` if it is not there.
        func value(_ name: String) -> String? { RawAnswer(Array(head.utf8)).values(name).first }
    }

    private let received = Guarded<[Request]>([])
    private let server: RawServer

    /// - Parameter answer: returns the whole response; an empty one closes the connection.
    init(_ answer: @escaping @Sendable (Request) -> String) throws {
        let received = received
        server = try RawServer { connection in
            while let head = connection.readHead() {
                let body = Self.body(after: head, from: connection)
                let request = received.withLock { received in
                    received.append(Request(head: head, body: body, number: received.count + 1))
                    return received[received.count - 1]
                }
                let response = answer(request)
                guard !response.isEmpty, connection.write(response) else { return }
            }
        }
    }

    var base: String { server.base }
    var requests: [Request] { received.withLock { $0 } }

    /// Returns a response with its length.
    static func response(_ status: String = "200 OK", _ fields: String..., body: String = "") -> String {
        let lines = ["HTTP/1.1 \(status)"] + fields + ["Content-Length: \(body.utf8.count)"]
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
    }

    private static func body(after head: String, from connection: RawConnection) -> [UInt8] {
        let answer = RawAnswer(Array(head.utf8))
        guard answer.values("Transfer-Encoding").isEmpty else { return chunks(from: connection) }
        return connection.read(answer.values("Content-Length").first.flatMap { Int($0) } ?? 0) ?? []
    }

    private static func chunks(from connection: RawConnection) -> [UInt8] {
        var body: [UInt8] = []
        while let size = line(from: connection).flatMap({ Int($0, radix: 16) }) {
            guard let chunk = connection.read(size), line(from: connection) != nil, size > 0 else { break }
            body += chunk
        }
        return body
    }

    private static func line(from connection: RawConnection) -> String? {
        var line: [UInt8] = []
        while !line.suffix(2).elementsEqual("\r\n".utf8) {
            guard let byte = connection.read(1) else { return nil }
            line += byte
        }
        return String(decoding: line.dropLast(2), as: UTF8.self)
    }
}
