import DiamondSQLite
import Foundation

/// A loopback server that misbehaves in every way that servers and networks do: what it does with a request stands in its
/// path, `/BEHAVIOR/NUMBER/SIZE`, and so does the body that whole answers have.
package final class ChaosServer: Sendable {
    package enum Behavior: String, CaseIterable, Sendable {
        // What comes whole.
        /// With its length, on a connection that is kept.
        case good
        /// In chunks, one of them cut between its bytes.
        case chunked
        /// A byte at a time.
        case drop
        /// The head a byte at a time (slow loris, the other way round).
        case loris
        /// Without a length, up to the end of the connection.
        case untilClose
        /// More bytes behind its end, and then the end of the connection.
        case surplus
        /// The other side is shut before the answer is sent.
        case halfClosed
        /// Breaks in the middle, and gives the rest to whoever asks for it.
        case resumable
        /// Refuses the first time, with 503.
        case recovering

        // What does not.
        /// Ends in the middle of its body.
        case short
        /// Ends in the middle of a chunk.
        case shortChunk
        /// A chunk whose size is no number.
        case badChunk
        /// Reset before a byte.
        case reset
        /// Reset in the middle of the body.
        case resetInside
        /// Closed before a byte.
        case closed
        /// No HTTP.
        case garbage
        /// A length that is no number.
        case badLength
        /// Two lengths.
        case twoLengths
        /// Nothing, until the client goes.
        case silent

        package static let whole: Set<Behavior> = [
            .good, .chunked, .drop, .loris, .untilClose, .surplus, .halfClosed, .resumable, .recovering,
        ]
    }

    private let server: RawServer

    package init() throws {
        let seen = Guarded<Set<String>>([])
        server = try RawServer { connection in
            while let head = connection.readHead(), let request = ChaosRequest(head) {
                let isFirst = seen.withLock { $0.insert(request.path).inserted }
                guard request.answer(connection, isFirst: isFirst) else { return }
            }
        }
    }

    package func url(_ behavior: Behavior, _ number: Int, size: Int) -> String {
        "\(server.base)/\(behavior.rawValue)/\(number)/\(size)"
    }

    /// What a whole answer has.
    package static func body(_ number: Int, size: Int) -> [UInt8] {
        var random = SplitMix(state: UInt64(number))
        return (0..<size).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }
}

private struct ChaosRequest {
    let path: String
    private let behavior: ChaosServer.Behavior
    private let body: [UInt8]
    /// Where the rest begins that is asked for.
    private let start: Int
    private let length: Int

    init?(_ head: String) {
        let lines = head.split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        let parts = words.dropFirst().first?.split(separator: "/") ?? []
        guard parts.count == 3, let behavior = ChaosServer.Behavior(rawValue: String(parts[0])),
            let number = Int(parts[1]), let size = Int(parts[2])
        else { return nil }
        (path, self.behavior) = (String(words[1]), behavior)
        body = ChaosServer.body(number, size: size)
        let range = lines.first { $0.lowercased().hasPrefix("range: bytes=") }
        start = range.flatMap { Int($0.dropFirst(13).dropLast()) } ?? 0
        length = size
    }

    private var lengthLine: String { "Content-Length: \(length)\r\n" }

    private func head(_ lines: String, status: Int = 200) -> String {
        "HTTP/1.1 \(status) Whatever\r\nCache-Control: max-age=3600\r\n\(lines)\r\n"
    }

    private var half: [UInt8] { Array(body.prefix(length / 2)) }

    /// - Returns: whether the connection is kept.
    func answer(_ connection: RawConnection, isFirst: Bool) -> Bool {
        switch behavior {
        case .good: return connection.write(head(lengthLine)) && connection.write(body)
        case .chunked: return sendChunks(connection)
        case .drop: return connection.write(head(lengthLine)) && body.allSatisfy { connection.write([$0]) }
        case .loris: return sendSlowly(head(lengthLine), connection) && connection.write(body)
        case .untilClose: _ = connection.write(head("Connection: close\r\n")) && connection.write(body)
        case .surplus: _ = connection.write(head(lengthLine)) && connection.write(body + half)
        case .halfClosed:
            _ = connection.write(head(lengthLine + "Connection: close\r\n")) && connection.write(body)
            connection.shutOutput()
            _ = connection.readRest()
        case .resumable: return sendInParts(connection, isFirst)
        case .recovering:
            guard isFirst else { return connection.write(head(lengthLine)) && connection.write(body) }
            return connection.write("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
        case .short: _ = connection.write(head(lengthLine)) && connection.write(half)
        case .shortChunk: connection.write(head("Transfer-Encoding: chunked\r\n") + "\(hex(length + 1))\r\nx")
        case .badChunk: connection.write(head("Transfer-Encoding: chunked\r\n") + "so many\r\nx\r\n0\r\n\r\n")
        case .reset: connection.reset()
        case .resetInside:
            _ = connection.write(head(lengthLine)) && connection.write(half)
            connection.reset()
        case .closed: break
        case .garbage: connection.write("\u{1}\u{2} this is no HTTP \r\n\r\n")
        case .badLength: connection.write(head("Content-Length: many\r\n") + "x")
        case .twoLengths: connection.write(head("Content-Length: 1\r\nContent-Length: 7\r\n") + "x")
        case .silent: _ = connection.readRest()
        }
        return false
    }

    private func hex(_ number: Int) -> String { String(number, radix: 16) }

    private func sendChunks(_ connection: RawConnection) -> Bool {
        guard connection.write(head("Transfer-Encoding: chunked\r\n")) else { return false }
        for (size, piece) in [(half.count, half), (length - half.count, Array(body.dropFirst(half.count)))]
        where size > 0 {
            guard connection.write("\(hex(size))\r"), connection.write("\n"), connection.write(piece),
                connection.write("\r\n")
            else { return false }
        }
        return connection.write("0\r\n\r\n")
    }

    private func sendSlowly(_ text: String, _ connection: RawConnection) -> Bool {
        text.utf8.allSatisfy { byte in
            // Others have their turn between two bytes.
            sched_yield()
            return connection.write([byte])
        }
    }

    private func sendInParts(_ connection: RawConnection, _ isFirst: Bool) -> Bool {
        let tag = "ETag: \"\(length)\"\r\n"
        guard !isFirst else {
            _ = connection.write(head(lengthLine + tag)) && connection.write(half)
            return false
        }
        guard start > 0 else { return connection.write(head(lengthLine + tag)) && connection.write(body) }
        let range = "Content-Range: bytes \(start)-\(length - 1)/\(length)\r\n"
        let rest = "Content-Length: \(length - start)\r\n"
        return connection.write(head(tag + range + rest, status: 206)) && connection.write(Array(body.dropFirst(start)))
    }
}
