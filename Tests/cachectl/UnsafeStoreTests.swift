import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl in an unsafe store", .limit(minutes: 5)) struct UnsafeStoreTests {
    private let cachectl = Shell()
    private let folder = TemporaryFolder()

    enum Impostor: CaseIterable, Sendable { case link, pipe }

    private static let cacheFiles = ["cache.sqlite", "cache.sqlite-wal", "cache.lock"]
    private static let queueFiles = ["replay.sqlite", "replay.sqlite-wal", "replay.wake", "replay.holds"]

    /// Replaces a file of an existing store by a link or a pipe.
    private func put(_ impostor: Impostor, as name: String) throws -> String {
        weak let cache = try Cache(cachectl.temporary.store).file
        _ = try ReplayQueue(cachectl.temporary.store)
        #expect(cache == nil)
        let path = cachectl.temporary.directory.appending(path: name).path
        try? FileManager.default.removeItem(atPath: path)
        let victim = try folder.file("victim", Data("victim".utf8)).path
        switch impostor {
        case .link: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: victim)
        case .pipe: try #require(mkfifo(path, 0o600) == 0)
        }
        return path
    }

    private var isVictimWhole: Bool { folder.text(of: folder.url.appending(path: "victim")) == "victim" }

    @Test(arguments: queueFiles, Impostor.allCases)
    func `refuses a link or a pipe among the queue's files with an error of one line`(name: String, impostor: Impostor)
        async throws
    {
        let path = try put(impostor, as: name)
        for command in [["queue", "add", "http://127.0.0.1:9/"], ["queue", "list"], ["queue", "replay"]] {
            let outcome = try await cachectl(command)
            #expect(outcome.status == 4 && outcome.output.isEmpty)
            #expect(outcome.errors.hasPrefix("cachectl: \(path): is ") && outcome.errors.hasSuffix("store directory\n"))
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
        #expect(isVictimWhole)
    }

    @Test(arguments: cacheFiles, Impostor.allCases)
    func `refuses a link or a pipe among the cache's files, and sends without the cache`(
        name: String, impostor: Impostor
    ) async throws {
        let path = try put(impostor, as: name)
        for command in [["list"], ["stats"], ["purge", "--all"]] {
            let outcome = try await cachectl(command)
            #expect(outcome.status == 4 && outcome.errors.hasPrefix("cachectl: \(path): is "))
        }
        // doctor takes no lock.
        for command in name == "cache.lock" ? ["verify"] : ["doctor", "verify"] {
            let outcome = try await cachectl(command)
            #expect(outcome.status != 0 && (outcome.text + outcome.errors).contains(path))
        }
        let sent = try await cachectl("send", SampleServer.shared.base + "/cities/2950159")
        #expect(sent.status == 0 && sent.text.contains("Berlin"))
        #expect(sent.errors.contains("sent without a cache: \(path): is "))
        #expect(isVictimWhole)
    }

    @Test(arguments: [["watch"], ["top"]], Impostor.allCases)
    func `refuses a link or a pipe in place of the event file`(command: [String], impostor: Impostor) async throws {
        let path = try put(impostor, as: "events.jsonl")
        let outcome = try await cachectl(command)
        #expect(outcome.status == 4 && outcome.output.isEmpty && outcome.errors.hasPrefix("cachectl: \(path): is "))
        #expect(outcome.errors.split(separator: "\n").count == 1)
    }

    @Test func `refuses a link in place of the lock directory`() async throws {
        _ = try ReplayQueue(cachectl.temporary.store)
        let owners = cachectl.temporary.store.ownersDirectory
        try FileManager.default.removeItem(at: owners)
        try FileManager.default.createSymbolicLink(at: owners, withDestinationURL: folder.url)
        let outcome = try await cachectl("queue", "add", "http://127.0.0.1:9/")
        #expect(outcome.status == 4 && outcome.errors.contains("replay.owners: is a symbolic link"))
    }

    /// Runs `cachectl` with the umask 002, which is usual where each user has a group.
    private func runWithUmask(_ arguments: [String]) async throws -> BuiltTool.Outcome {
        var tool = cachectl.tool(["DIAMOND_STORE": ""])
        tool.environment["XDG_CACHE_HOME"] = folder.url.appending(path: "cache").path
        tool.environment["XDG_DATA_HOME"] = folder.url.appending(path: "data").path
        let path = tool.url.path
        tool.url = URL(filePath: "/bin/sh")
        return try await tool.run(["-c", "umask 002; exec \"$0\" \"$@\"", path] + arguments)
    }

    private func mode(_ path: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.url.appending(path: path).path)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue
    }

    @Test func `creates directories that only their owner may access, whatever the umask`() async throws {
        #expect(try await runWithUmask(["queue", "add", "http://127.0.0.1:9/", "--app", "shop"]).text == "1\n")
        let sent = try await runWithUmask(
            ["send", SampleServer.shared.base + "/cities/2950159", "--app", "shop"])
        #expect(sent.status == 0 && !sent.errors.contains("sent without a cache"))
        for path in ["cache/Diamond/shop", "data/Diamond/shop", "data/Diamond/shop/replay.owners"] {
            #expect(try mode(path) == 0o700, "\(path)")
        }
        #expect(try await runWithUmask(["queue", "list", "--app", "shop"]).status == 0)
    }

    @Test func `removes the group's write permission from a directory that has no other files`() async throws {
        let store = folder.url.appending(path: "store")
        mkdir(store.path, 0o775)
        chmod(store.path, 0o775)
        let command = ["queue", "add", "http://127.0.0.1:9/", "--store", store.path]
        for number in 1...2 {
            #expect(try await runWithUmask(command).text == "\(number)\n")
            #expect(try mode("store") == 0o755)
            chmod(store.path, 0o775)
        }
        try Data().write(to: store.appending(path: "notes"))
        chmod(store.appending(path: "notes").path, 0o664)
        let outcome = try await runWithUmask(command)
        #expect(outcome.status == 4 && outcome.errors.contains("run chmod go-w on it"))
        #expect(try mode("store") == 0o775)
    }

    @Test func `refuses a directory that every user may write to, and accepts a link to a private directory`()
        async throws
    {
        let directory = folder.url.appending(path: "store")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        chmod(directory.path, 0o777)
        for command in [["queue", "add", "http://127.0.0.1:9/"], ["evict"]] {
            let outcome = try await cachectl(command + ["--store", directory.path])
            #expect(outcome.status == 4)
        }
        let sent = try await cachectl("send", SampleServer.shared.base + "/cities/2950159", "--store", directory.path)
        #expect(sent.status == 0 && sent.errors.contains("run chmod go-w on it"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        chmod(directory.path, 0o700)
        let link = folder.url.appending(path: "link").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: directory.path)
        #expect(try await cachectl("queue", "add", "http://127.0.0.1:9/", "--store", link).text == "1\n")
    }
}
