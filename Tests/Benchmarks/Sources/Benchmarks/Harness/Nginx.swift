import Foundation

/// nginx with one worker, persistent connections and files of some sizes, on a free port of this machine.
///
/// It ends with ``stop()``, or with this program: its parent is a shell that reads from a pipe of this program.
struct Nginx {
    /// The size of the file that most benchmarks request.
    static let bodySize = 1024

    /// A file.
    enum File: String, CaseIterable {
        case oneKiB = "cities.json"
        case hundredKiB = "countries.json"
        case tenMiB = "planet.json"

        var size: Int {
            switch self {
            case .oneKiB: Nginx.bodySize
            case .hundredKiB: 100 << 10
            case .tenMiB: 10 << 20
            }
        }
    }

    private let shell = Process()
    private let lifeline = Pipe()
    /// Receives a line when nginx listens, and ends if it does not start.
    private let news = Pipe()
    private let port: UInt16
    private let directory: URL

    var origin: String { "http://127.0.0.1:\(port)" }

    var url: String { "\(origin)/cities.json" }

    /// The URL of the same file with a lifetime of an hour.
    var freshURL: String { "\(origin)/fresh/cities.json" }

    /// The URL of a file through the cache of nginx.
    ///
    /// - Parameter isSentByKernel: whether the kernel sends the file (`sendfile`), which nginx does not by default.
    func cachedURL(of file: File, isSentByKernel: Bool = false) -> String {
        "\(origin)/\(isSentByKernel ? "sent" : "cached")/\(file.rawValue)"
    }

    /// Returns the id of the worker's process.
    func worker() throws -> Int32 {
        let text = try String(contentsOf: directory.appendingPathComponent("nginx.pid"), encoding: .utf8)
        let main = text.trimmingCharacters(in: .whitespacesAndNewlines)
        let children = try String(contentsOfFile: "/proc/\(main)/task/\(main)/children", encoding: .utf8)
        for child in children.split(separator: " ").compactMap({ Int32($0) }) {
            let name = try String(contentsOfFile: "/proc/\(child)/cmdline", encoding: .utf8)
            if name.contains("worker") { return child }
        }
        throw Failure("nginx has no worker")
    }

    static func with<Result>(_ body: (Nginx) async throws -> Result) async throws -> Result {
        try await Scratch.with { directory in
            let nginx = try Nginx(directory)
            defer { nginx.stop() }
            return try await body(nginx)
        }
    }

    private init(_ directory: URL) throws {
        self.directory = directory
        port = try FreePort.find()
        try Self.configuration(port).write(to: directory.appendingPathComponent("nginx.conf"))
        for file in File.allCases {
            try Self.document(of: file.size).write(to: directory.appendingPathComponent(file.rawValue))
        }
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", Self.script, "sh", directory.path]
        shell.environment = ["PATH": "/usr/sbin:/usr/local/sbin:/opt/homebrew/bin:/usr/bin:/bin"]
        shell.standardInput = lifeline
        shell.standardOutput = news
        try shell.run()
        try? news.fileHandleForWriting.close()
        guard try news.fileHandleForReading.read(upToCount: 1) != nil else {
            throw Failure("nginx does not start: install it (nginx-light), or see what it says above")
        }
    }

    private func stop() {
        try? lifeline.fileHandleForWriting.close()
        shell.waitUntilExit()
    }

    // Without `wait`: a shell started by a thread of Dispatch inherits a blocked SIGCHLD, and would wait forever.
    private static let script = """
        nginx -p "$1" -c "$1/nginx.conf" -e stderr </dev/null >&2 || exit
        echo listening
        read -r _
        kill "$(cat "$1/nginx.pid")"
        """

    private static func configuration(_ port: UInt16) -> Data {
        Data(
            """
            worker_processes 1;
            pid nginx.pid;
            error_log stderr error;
            events { worker_connections 1024; }
            http {
                access_log off;
                default_type application/json;
                keepalive_requests 1000000000;
                keepalive_timeout 3600s;
                client_body_temp_path body;
                proxy_temp_path proxy;
                fastcgi_temp_path fastcgi;
                uwsgi_temp_path uwsgi;
                scgi_temp_path scgi;
                proxy_cache_path cache keys_zone=cities:1m;
                server {
                    listen 127.0.0.1:\(port);
                    root .;
                    location /fresh/ { alias ./; add_header Cache-Control max-age=3600; }
                    location /cached/ {
                        proxy_pass http://127.0.0.1:\(port)/fresh/;
                        proxy_cache cities;
                    }
                    location /sent/ {
                        proxy_pass http://127.0.0.1:\(port)/fresh/;
                        proxy_cache cities;
                        sendfile on;
                    }
                }
            }

            """.utf8)
    }

    /// Returns JSON of a number of bytes.
    private static func document(of size: Int) -> Data {
        let start = #"{"name":"Berlin","country":"DE","population":3426354,"notes":""#
        let filler = String(repeating: "x", count: size - start.utf8.count - 2)
        return Data((start + filler + "\"}").utf8)
    }
}
