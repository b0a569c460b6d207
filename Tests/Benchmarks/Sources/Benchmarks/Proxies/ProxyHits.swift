import Foundation

extension Benchmark {
    static let proxyHits = [
        ("proxy-hit", Nginx.File.oneKiB), ("proxy-hit-100k", .hundredKiB), ("proxy-hit-10m", .tenMiB),
    ]
    .map { name, file in
        Benchmark(
            name: name,
            method: """
                hits of \(file.size >> 10) KiB a second of processor time through cachectl proxy, to those of \
                nginx's proxy_cache with one worker and without sendfile; \(ProxyHits.width) connections of wrk
                """,
            unit: "x nginx",
            target: .atLeast(0.5),
            measuring: {
                try await Nginx.with { nginx in
                    let proxy = try CachectlProxy(for: nginx, file)
                    defer { proxy.stop() }
                    return try ProxyHits(nginx: nginx, proxy: proxy, file: file).measurement()
                }
            }
        )
    }
}

/// Hits through two caching proxies in front of one server, in interleaved rounds.
private struct ProxyHits {
    static let width = 64
    private static let rounds = 5

    let nginx: Nginx
    let proxy: CachectlProxy
    let file: Nginx.File

    func measurement() throws -> Benchmark.Measurement {
        let peer = try nginx.worker()
        let servers = [
            ("cachectl proxy", proxy.url, proxy.process), ("nginx", nginx.cachedURL(of: file), peer),
            ("nginx with sendfile", nginx.cachedURL(of: file, isSentByKernel: true), peer),
        ]
        // The first requests are misses.
        for (_, url, process) in servers { _ = try hits(url, process) }
        var results = servers.map { _ in [Double]() }
        for _ in 0..<Self.rounds {
            for (index, (_, url, process)) in servers.enumerated() { results[index].append(try hits(url, process)) }
        }
        let ratios = zip(results[0], results[1]).map { $0 / $1 }
        let notes = zip(servers, results).map { server, hits in
            "\(server.0): \(Int(hits.median)) hits a second of processor time"
        }
        return Benchmark.Measurement(value: ratios.median, notes: notes)
    }

    /// Returns the hits a second of a process' processor time.
    private func hits(_ url: String, _ process: Int32) throws -> Double {
        let start = try ProcessorTime.seconds(of: process)
        let count = try Wrk.requests(url, connections: Self.width, seconds: 2)
        return Double(count) / max(0.01, try ProcessorTime.seconds(of: process) - start)
    }
}

/// The load generator of https://github.com/wg/wrk.
private enum Wrk {
    /// Returns the number of requests that were answered with success.
    static func requests(_ url: String, connections: Int, seconds: Int) throws -> Int {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["wrk", "-t", "1", "-c", "\(connections)", "-d", "\(seconds)s", url]
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        guard let match = text.firstMatch(of: #/(\d+) requests in/#), let count = Int(match.1), count > 0 else {
            throw Failure("wrk has no result: install it, or see what it says above")
        }
        guard !text.contains("Non-2xx"), !text.contains("Socket errors") else { throw Failure("wrk: \(text)") }
        return count
    }
}

/// The processor time of other processes.
private enum ProcessorTime {
    /// Returns the seconds that a process has used, its ended threads included.
    static func seconds(of process: Int32) throws -> Double {
        let line = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        // The name, in parentheses, may have blanks.
        let fields = line[(line.lastIndex(of: ")") ?? line.startIndex)...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else {
            throw Failure("/proc has no times of process \(process)")
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}

/// A built `cachectl proxy` in front of nginx, with a store of its own.
private struct CachectlProxy {
    let url: String
    var process: Int32 { tool.processIdentifier }

    private let tool = Process()
    private let store: URL

    init(for nginx: Nginx, _ file: Nginx.File) throws {
        let built = URL(fileURLWithPath: #filePath)
            .appendingPathComponent("../../../../../../.build/release/cachectl").standardizedFileURL.path
        let path = ProcessInfo.processInfo.environment["DIAMOND_CACHECTL"] ?? built
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw Failure("\(path) is not built: swift build -c release --product cachectl --traits default,Tools")
        }
        store = try Scratch.make()
        let port = try FreePort.find()
        url = "http://127.0.0.1:\(port)/fresh/\(file.rawValue)"
        let errors = Pipe()
        tool.executableURL = URL(fileURLWithPath: path)
        tool.arguments = [
            "proxy", "--origin", nginx.origin, "--listen", "127.0.0.1:\(port)", "--store", store.path, "--quiet",
        ]
        tool.standardError = errors
        try tool.run()
        try? errors.fileHandleForWriting.close()
        guard errors.fileHandleForReading.availableData.starts(with: Array("cachectl: listening".utf8)) else {
            throw Failure("cachectl proxy does not start")
        }
    }

    func stop() {
        tool.terminate()
        tool.waitUntilExit()
        try? FileManager.default.removeItem(at: store)
    }
}
