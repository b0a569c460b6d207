import DiamondTestSupport
import Foundation
import Testing

/// A `cachectl proxy` in front of an origin of a test, with a store of its own.
final class RunningProxy: Sendable {
    /// `127.0.0.1:PORT`
    let address: String
    /// `127.0.0.1:PORT`; `nil` without `--health`.
    let healthAddress: String?
    private let shell: Shell
    private let process: ChildProcess
    private let output: Pipe
    private let errors: Pipe

    convenience init(_ origin: String, _ options: String..., shell: Shell = Shell()) async throws {
        try await self.init(origin, options: options, shell: shell)
    }

    init(_ origin: String, options: [String], shell: Shell = Shell()) async throws {
        self.shell = shell
        (output, errors) = (Pipe(), Pipe())
        let tool = shell.tool()
        process = try ChildProcess(
            tool.url, ["proxy", "--origin", origin, "--listen", "127.0.0.1:0"] + options,
            environment: ProcessInfo.processInfo.environment.merging(tool.environment) { $1 },
            output: .pipe(output), errors: .pipe(errors))
        let line = await errors.firstLine()
        let match = try #require(line.firstMatch(of: #/listening on http://(127\.0\.0\.1:\d+),/#), "\(line)")
        address = String(match.1)
        healthAddress = line.firstMatch(of: #/health on http://(127\.0\.0\.1:\d+)/#).map { String($0.1) }
    }

    deinit { process.kill() }

    var base: String { "http://\(address)" }

    /// Sends bytes on a connection of its own, and returns what the proxy answers until it closes the connection.
    func answer(to request: String) async throws -> RawAnswer {
        RawAnswer(try await client(sending: request).read())
    }

    /// Sends a request that closes the connection.
    func send(_ line: String, _ fields: String..., body: String = "") async throws -> RawAnswer {
        let lines = ["\(line) HTTP/1.1", "Host: \(address)", "Connection: close"] + fields
        let length = body.isEmpty ? [] : ["Content-Length: \(body.utf8.count)"]
        return try await answer(to: (lines + length).joined(separator: "\r\n") + "\r\n\r\n" + body)
    }

    /// Opens a connection, and sends bytes.
    func client(sending bytes: String) throws -> RawClient {
        let client = try RawClient(address)
        client.write(bytes)
        return client
    }

    func signal(_ number: Int32) { process.kill(number) }

    /// Returns the next line of the access log.
    func nextLine() async -> String { await output.firstLine() }

    /// Returns the exit of the proxy after a signal, and its access log.
    func ended() async -> (ending: ChildProcess.Ending, log: [String]) {
        async let text = output.readAll()
        let log = String(decoding: await text, as: UTF8.self).split(separator: "\n").map(String.init)
        return (await process.ended(), log)
    }

    #if os(Linux)
    /// The greatest resident memory so far, in bytes.
    var greatestMemory: Int {
        let status = (try? String(contentsOfFile: "/proc/\(process.number)/status", encoding: .utf8)) ?? ""
        return (status.firstMatch(of: #/VmHWM:\s+(\d+) kB/#).flatMap { Int($0.1) } ?? 0) * 1024
    }
    #endif
}

/// A response as it came over the wire.
struct RawAnswer {
    let head: String
    let body: String

    init(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        let parts = text.components(separatedBy: "\r\n\r\n")
        head = parts[0]
        body = parts.dropFirst().joined(separator: "\r\n\r\n")
    }

    var status: Int { Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0 }

    /// The values of a field.
    func values(_ name: String) -> [String] {
        head.split(separator: "\r\n").dropFirst().compactMap { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { return nil }
            return parts[1].trimmingCharacters(in: .whitespaces)
        }
    }

    /// Whether the response came from the cache.
    var isHit: Bool { values("Cache-Status").last?.contains("hit") == true && !values("Age").isEmpty }
}
