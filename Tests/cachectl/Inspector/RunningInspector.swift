import DiamondTestSupport
import Foundation
import Testing

/// A `cachectl serve` over a store of a test, and a browser with its cookie.
final class RunningInspector: Sendable {
    /// `127.0.0.1:PORT`
    let address: String
    /// The token in the URL that it printed.
    let token: String
    private let shell: Shell
    private let process: ChildProcess
    private let output: Pipe

    convenience init(_ options: String..., shell: Shell = Shell()) async throws {
        try await self.init(options: options, shell: shell)
    }

    init(options: [String], shell: Shell, environment: [String: String] = [:]) async throws {
        self.shell = shell
        output = Pipe()
        let tool = shell.tool(environment)
        process = try ChildProcess(
            tool.url, ["serve"] + options,
            environment: ProcessInfo.processInfo.environment.merging(tool.environment) { $1 }, output: .pipe(output))
        let line = await output.firstLine()
        let match = try #require(line.wholeMatch(of: #/http://(127\.0\.0\.1:\d+)/\?token=([0-9a-f]{64})/#), "\(line)")
        (address, token) = (String(match.1), String(match.2))
    }

    deinit { process.kill() }

    /// Sends a request with these fields alone, and reads until the server closes.
    func send(_ line: String, _ fields: [String], body: String = "") async throws -> RawAnswer {
        RawAnswer(try await client(line, fields + ["Connection: close"], body: body).read())
    }

    /// Opens a connection, and sends a request.
    func client(_ line: String, _ fields: [String], body: String = "") throws -> RawClient {
        let client = try RawClient(address)
        let length = body.isEmpty ? [] : ["Content-Length: \(body.utf8.count)"]
        client.write((["\(line) HTTP/1.1"] + fields + length).joined(separator: "\r\n") + "\r\n\r\n" + body)
        return client
    }

    /// Exchanges the token for a cookie, and returns the fields that a browser sends with it.
    func enter() async throws -> Browser {
        let answer = try await send("GET /?token=\(token)", ["Host: \(address)"])
        let cookie = try #require(answer.values("Set-Cookie").first?.split(separator: ";").first)
        return Browser(inspector: self, fields: ["Host: \(address)", "Cookie: \(cookie)"])
    }

    /// Returns how the program ends after a signal.
    func ended(after signal: Int32) async -> ChildProcess.Ending {
        process.kill(signal)
        return await process.ended()
    }
}

/// A browser with the cookie of an inspector.
struct Browser {
    let inspector: RunningInspector
    let fields: [String]

    func get(_ path: String) async throws -> RawAnswer { try await inspector.send("GET \(path)", fields) }

    /// Sends a form, as a page of the inspector does.
    func post(_ path: String, _ form: String = "") async throws -> RawAnswer {
        let own = ["Origin: null", "Sec-Fetch-Site: same-origin", "Content-Type: application/x-www-form-urlencoded"]
        return try await inspector.send("POST \(path)", fields + own, body: form)
    }

    /// Sends a form, and returns the page that it leads to.
    func follow(_ path: String, _ form: String = "") async throws -> RawAnswer {
        let answer = try await post(path, form)
        return try await get(try #require(answer.values("Location").first, "\(answer.head)\n\(answer.body)"))
    }
}
