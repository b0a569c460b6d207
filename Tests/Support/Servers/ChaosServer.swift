import DiamondSQLite
import Foundation

/// A loopback server that misbehaves in every way that servers and networks do. The path of a request,
/// `/BEHAVIOR/NUMBER/SIZE`, selects its behavior, the body of a whole response, and the body that a POST or PUT must
/// have.
package final class ChaosServer: Sendable {
    package enum Behavior: String, CaseIterable, Sendable {
        // Whole responses.
        /// With its length, on a connection that stays open.
        case good
        /// In chunks, one of them cut between its bytes.
        case chunked
        /// In chunks of a byte.
        case crumbs
        /// In chunks, with a moment between them.
        case halting
        /// Silent for a moment.
        case late
        /// A byte at a time.
        case drop
        /// The head a byte at a time (slow loris, the other way round).
        case loris
        /// Without a length, up to the end of the connection.
        case untilClose
        /// More bytes after its end, and then the end of the connection.
        case surplus
        /// The server's reading side is shut before the response is sent.
        case halfClosed
        /// Breaks in the middle, and answers a request for the rest.
        case resumable
        /// Refuses the first time, with 503.
        case recovering

        // Broken responses.
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
        /// Silent until the client leaves.
        case silent

        package static let whole: Set<Behavior> = [
            .good, .chunked, .crumbs, .halting, .late, .drop, .loris, .untilClose, .surplus, .halfClosed, .resumable,
            .recovering,
        ]

        /// The behaviors without a response, for any method. The rest of the request's body stays unread.
        package static let mute: Set<Behavior> = [.reset, .closed, .garbage, .silent]
    }

    private struct State {
        /// The number of requests for each resource, by method and path.
        var arrivals: [String: Int] = [:]
        var connections = 0

        mutating func arrive(_ name: String) -> Int {
            arrivals[name, default: 0] += 1
            return arrivals[name, default: 0]
        }
    }

    private let server: RawServer
    private let state: Guarded<State>

    package init() throws {
        let state = Guarded(State())
        self.state = state
        server = try RawServer { connection in
            state.withLock { $0.connections += 1 }
            defer { state.withLock { $0.connections -= 1 } }
            while let head = connection.readHead(), let request = ChaosRequest(head) {
                let isFirst = state.withLock { $0.arrive(request.method + request.path) == 1 }
                guard request.answer(connection, isFirst: isFirst) else { return }
            }
        }
    }

    package func url(_ behavior: Behavior, _ number: Int, size: Int) -> String {
        server.base + Self.path(behavior, number, size)
    }

    private static func path(_ behavior: Behavior, _ number: Int, _ size: Int) -> String {
        "/\(behavior.rawValue)/\(number)/\(size)"
    }

    /// Returns the number of requests with a method.
    package func arrivals(by method: String, _ behavior: Behavior, _ number: Int, size: Int) -> Int {
        state.withLock { $0.arrivals[method + Self.path(behavior, number, size), default: 0] }
    }

    /// The number of sockets that neither the client nor the server has closed.
    package var connections: Int { state.withLock { $0.connections } }

    /// Returns the body of a whole response.
    package static func body(_ number: Int, size: Int) -> [UInt8] {
        var random = SplitMix(state: UInt64(truncatingIfNeeded: number))
        return (0..<size).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }

    /// Returns the body that a POST or PUT must have.
    package static func upload(_ number: Int, size: Int) -> [UInt8] { body(~number, size: size) }
}

private struct ChaosRequest {
    let method: String
    let path: String
    private let behavior: ChaosServer.Behavior
    private let body: [UInt8]
    /// The body that a request must have, and the length that it announces.
    private let upload: [UInt8]
    private let uploadLength: Int
    /// The first byte of the requested rest.
    private let start: Int
    private let length: Int

    init?(_ head: String) {
        let lines = head.split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        let parts = words.dropFirst().first?.split(separator: "/") ?? []
        guard parts.count == 3, let behavior = ChaosServer.Behavior(rawValue: String(parts[0])),
            let number = Int(parts[1]), let size = Int(parts[2])
        else { return nil }
        (method, path, self.behavior) = (String(words[0]), String(words[1]), behavior)
        (body, length) = (ChaosServer.body(number, size: size), size)
        upload = ["POST", "PUT"].contains(method) ? ChaosServer.upload(number, size: size) : []
        let fields = lines.dropFirst().map { $0.lowercased() }
        let range = fields.first { $0.hasPrefix("range: bytes=") }
        start = range.flatMap { Int($0.dropFirst(13).dropLast()) } ?? 0
        let announced = fields.first { $0.hasPrefix("content-length: ") }
        uploadLength = announced.flatMap { Int($0.dropFirst(16)) } ?? 0
    }

    private var lengthLine: String { "Content-Length: \(length)\r\n" }

    /// The fields of the head about the body.
    private var lines: String {
        switch behavior {
        case .chunked, .crumbs, .halting, .shortChunk, .badChunk: "Transfer-Encoding: chunked\r\n"
        case .untilClose: "Connection: close\r\n"
        case .halfClosed: lengthLine + "Connection: close\r\n"
        case .badLength: "Content-Length: many\r\n"
        case .twoLengths: "Content-Length: 1\r\nContent-Length: 7\r\n"
        default: lengthLine
        }
    }

    private var head: String { head(lines) }

    private func head(_ lines: String, status: Int = 200) -> String {
        "HTTP/1.1 \(status) Whatever\r\nCache-Control: max-age=3600\r\n\(lines)\r\n"
    }

    private static let busy = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
    private static let refusal = "HTTP/1.1 400 Another body\r\nContent-Length: 0\r\n\r\n"

    private var half: [UInt8] { Array(body.prefix(length / 2)) }

    /// - Returns: whether the connection stays open.
    func answer(_ connection: RawConnection, isFirst: Bool) -> Bool {
        guard !ChaosServer.Behavior.mute.contains(behavior) else { return endMute(connection) }
        guard let received = connection.read(uploadLength) else { return false }
        guard received == upload else { return connection.write(Self.refusal) }
        if behavior == .recovering, isFirst { return connection.write(Self.busy) }
        guard method != "HEAD" else { return sendHead(connection) }
        return ChaosServer.Behavior.whole.contains(behavior)
            ? sendWhole(connection, isFirst: isFirst) : sendPart(connection)
    }

    private func endMute(_ connection: RawConnection) -> Bool {
        switch behavior {
        case .reset: connection.reset()
        case .garbage: connection.write("\u{1}\u{2} this is no HTTP \r\n\r\n")
        case .silent: _ = connection.readRest()
        default: break
        }
        return false
    }

    /// Sends the response to HEAD, which has no body. A broken response closes its connection, with `Connection:
    /// close`, because a client may otherwise have sent its next request already.
    private func sendHead(_ connection: RawConnection) -> Bool {
        let isWhole = ChaosServer.Behavior.whole.contains(behavior)
        let isLast = !isWhole || lines.contains("close")
        if behavior == .late { pass() }
        if behavior == .loris { return sendSlowly(head, connection) }
        return connection.write(isWhole ? head : head(lines + "Connection: close\r\n")) && !isLast
    }

    private func sendWhole(_ connection: RawConnection, isFirst: Bool) -> Bool {
        switch behavior {
        case .chunked, .halting: return sendChunks(connection)
        case .crumbs: return sendCrumbs(connection)
        case .drop: return connection.write(head) && body.allSatisfy { connection.write([$0]) }
        case .loris: return sendSlowly(head, connection) && connection.write(body)
        case .untilClose: _ = connection.write(head) && connection.write(body)
        case .surplus: _ = connection.write(head) && connection.write(body + half)
        case .halfClosed:
            _ = connection.write(head) && connection.write(body)
            connection.shutOutput()
            _ = connection.readRest()
        case .resumable: return sendInParts(connection, isFirst)
        case .late:
            pass()
            return connection.write(head) && connection.write(body)
        default: return connection.write(head) && connection.write(body)
        }
        return false
    }

    private func sendPart(_ connection: RawConnection) -> Bool {
        switch behavior {
        case .shortChunk: connection.write(head + "\(hex(length + 1))\r\nx")
        case .badChunk: connection.write(head + "so many\r\nx\r\n0\r\n\r\n")
        case .badLength, .twoLengths: connection.write(head + "x")
        default: _ = connection.write(head) && connection.write(half)
        }
        if behavior == .resetInside { connection.reset() }
        return false
    }

    /// Waits just long enough for other requests to run, because there are thousands of waits.
    private func pass() { usleep(2000) }

    private func hex(_ number: Int) -> String { String(number, radix: 16) }

    private func sendChunks(_ connection: RawConnection) -> Bool {
        guard connection.write(head) else { return false }
        for (size, piece) in [(half.count, half), (length - half.count, Array(body.dropFirst(half.count)))]
        where size > 0 {
            if behavior == .halting { pass() }
            guard connection.write("\(hex(size))\r"), connection.write("\n"), connection.write(piece),
                connection.write("\r\n")
            else { return false }
        }
        return connection.write("0\r\n\r\n")
    }

    private func sendCrumbs(_ connection: RawConnection) -> Bool {
        var chunks: [UInt8] = []
        for byte in body { chunks += [0x31, 0x0d, 0x0a, byte, 0x0d, 0x0a] }
        return connection.write(head) && connection.write(chunks) && connection.write("0\r\n\r\n")
    }

    private func sendSlowly(_ text: String, _ connection: RawConnection) -> Bool {
        text.utf8.allSatisfy { byte in
            // Other requests run between two bytes.
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
