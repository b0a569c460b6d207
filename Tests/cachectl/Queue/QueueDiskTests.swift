import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import DiamondSQLite

@Suite("cachectl queue replay that cannot write an outcome", .limit(minutes: 5)) struct QueueDiskTests {
    private static let acceptance = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    private func cachectl(_ store: URL) -> BuiltTool {
        var tool = BuiltTool("cachectl")
        tool.environment = ["DIAMOND_STORE": store.path, "LC_ALL": "C"]
        return tool
    }

    private func start(
        _ store: URL, _ options: [String] = []
    ) throws -> (replay: ChildProcess, errors: Pipe, output: Pipe) {
        let (errors, output) = (Pipe(), Pipe())
        let replay = try ChildProcess(
            BuiltTool("cachectl").url, ["queue", "replay", "--store", store.path] + options,
            output: .pipe(output), errors: .pipe(errors))
        return (replay, errors, output)
    }

    /// Adds a job, and fills the disk when its request arrives.
    private func withFullDisk(
        _ test: (_ store: URL, _ filler: URL, _ arrivals: Guarded<Int>) async throws -> Void
    ) async throws {
        let disk = try await SmallDisk(kibibytes: 4096)
        let (store, filler) = (disk.directory.appending(path: "store"), disk.directory.appending(path: "filler"))
        do {
            let arrivals = Guarded(0)
            let server = try RawServer { connection in
                guard connection.readHead() != nil else { return }
                arrivals.withLock { $0 += 1 }
                // To the last byte: the share of the file system is unknown.
                let descriptor = open(filler.path, O_CREAT | O_WRONLY | O_APPEND, 0o600)
                let bytes = [UInt8](repeating: 1, count: 4096)
                while write(descriptor, bytes, bytes.count) > 0 {}
                close(descriptor)
                connection.write(Self.acceptance)
            }
            let added = try await cachectl(store).run(["queue", "add", server.base, "-X", "POST"])
            #expect(added.status == 0, "\(added.errors)")
            try await test(store, filler, arrivals)
        } catch {
            try await disk.remove()
            throw error
        }
        try await disk.remove()
    }

    private func expectComplaint(_ line: String, _ store: URL) {
        let beginning = "cachectl: the outcome of job 1 cannot be written: \(store.path)/replay.sqlite: "
        #expect(line.hasPrefix(beginning) && line.hasSuffix(": free space on the disk"), "\(line)")
    }

    @Test(.enabled(if: SmallDisk.isPossible), arguments: [[], ["--watch"]], [SIGINT, SIGTERM])
    func `reports the full disk at once, and exits with 4 at the first signal`(options: [String], signal: Int32)
        async throws
    {
        try await withFullDisk { store, filler, arrivals in
            let (replay, errors, output) = try start(store, options)
            expectComplaint(await errors.firstLine(), store)
            replay.kill(signal)
            #expect(await replay.ended() == .exited(4))
            _ = await (errors.readAll(), output.readAll())
            // The next process knows that the server has answered.
            try FileManager.default.removeItem(at: filler)
            let next = try await cachectl(store).run(["queue", "replay"])
            #expect(next.status == 0 && next.text.hasSuffix("\n1 done\n"), "\(next.text)\(next.errors)")
            #expect(arrivals.withLock { $0 } == 1)
        }
    }

    @Test(.enabled(if: SmallDisk.isPossible))
    func `writes the outcome when the disk has space again, and sends no request twice`() async throws {
        try await withFullDisk { store, filler, arrivals in
            let (replay, errors, output) = try start(store)
            expectComplaint(await errors.firstLine(), store)
            try FileManager.default.removeItem(at: filler)
            #expect(await replay.ended() == .exited(0))
            #expect(arrivals.withLock { $0 } == 1)
            let text = String(decoding: await output.readAll(), as: UTF8.self)
            #expect(text.hasSuffix("\n1 done\n1 done\n"), "\(text)")
            _ = await errors.readAll()
        }
    }

    @Test func `exits with 4 if the page of the outcome is damaged`() async throws {
        let temporary = TemporaryStore()
        let refusing = try RawServer(
            answering: "HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        let tool = cachectl(temporary.directory)
        #expect(try await tool.run(["queue", "add", refusing.base, "-X", "PUT"]).status == 0)
        try damageAttempts(in: temporary.store)
        let outcome = try await tool.run(["queue", "replay"])
        #expect(outcome.status == 4)
        let line = "cachectl: the outcome of job 1 cannot be written: \(temporary.store.replayPath): "
        #expect(outcome.errors.hasPrefix(line) && outcome.errors.contains("cachectl queue export"), "\(outcome.errors)")
    }

    /// Overwrites the root page of the table of attempts. It is in the file, because no process has the file open.
    private func damageAttempts(in store: Store) throws {
        let handle = try SQLiteHandle(path: store.replayPath, flags: 1, vfs: nil)
        let connection = SQLiteConnection(handle: handle)
        let page = try connection.integer("SELECT rootpage FROM sqlite_schema WHERE name = 'attempt'")
        let file = try FileHandle(forWritingTo: URL(filePath: store.replayPath))
        try file.seek(toOffset: UInt64(page - 1) * 4096)
        try file.write(contentsOf: Data(repeating: 0x5A, count: 4096))
        try file.close()
    }
}
