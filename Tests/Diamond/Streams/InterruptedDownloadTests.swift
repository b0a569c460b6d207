import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Downloads into files that an engine did not end, and that the next one continues.
@Suite("An interrupted download", .limit(minutes: 5)) struct InterruptedDownloadTests {
    private let folder = TemporaryFolder()
    private let temporary = TemporaryStore()
    private let clock = ManualClock()
    private var file: URL { folder.url.appending(path: "cities.zip") }
    private static let mebibyte = 1 << 20

    private static func server(_ flows: [RangeServer.Flow], size: Int = 11 << 20) -> RangeServer {
        RangeServer { state in
            state.body = .noise(size)
            state.flows = flows
        }
    }

    private func engine(
        _ server: RangeServer, _ change: (inout Engine.Configuration) -> Void = { _ in }
    ) -> Engine {
        temporary.engine(server.transport, clock: clock, change)
    }

    private static func request(_ path: String = "", identity: String? = nil) -> Request {
        var request = Request("http://h/\(path)")
        request.identity = identity
        return request
    }

    /// Downloads with an engine of its own.
    private func code(
        of request: Request = request(),
        to file: URL? = nil,
        by server: RangeServer,
        _ change: (inout Engine.Configuration) -> Void = { _ in }
    ) async -> ConnectionError.Code? {
        let engine = engine(server, change)
        let code: ConnectionError.Code?
        do throws(ConnectionError) {
            _ = try await engine.download(request, to: file ?? self.file)
            code = nil
        } catch { code = error.code }
        await engine.close()
        return code
    }

    private func recorded() throws -> [KeptDownload] { try Cache(temporary.store).downloads() }

    // MARK: Continued

    @Test(arguments: ["", "moved"]) func `is continued by the next engine`(path: String)
        async throws
    {
        let server = Self.server([.broken(6 << 20), .broken(Self.mebibyte)])
        for size in [6 << 20, 7 << 20] {
            #expect(await code(of: Self.request(path), by: server) == .connectionLost)
            let row = try #require(try recorded().first)
            #expect(try recorded().count == 1 && row.size == size && folder.names == [row.part])
        }
        let engine = engine(server)
        let seen = Guarded<[Int64]>([])
        let observation = engine.activity.observe { event in
            if case .transferResumed(_, let offset, _) = event { seen.withLock { $0.append(offset) } }
        }
        let progress = Guarded<[Int64]>([])
        let download = try await engine.download(Self.request(path), to: file) { now in
            // Not of the redirect.
            if now.expectedToReceive == 11 << 20 { progress.withLock { $0.append(now.received) } }
        }
        withExtendedLifetime(observation) {}
        await engine.close()
        #expect(try Data(contentsOf: file) == server.body && download.size == server.body.count)
        #expect(download.status == .ok && download.headers[.eTag] == "\"a\"")
        #expect(server.ranges.filter { $0 != nil } == ["bytes=6291456-", "bytes=7340032-"])
        #expect(seen.withLock { $0 } == [7 << 20])
        #expect(progress.withLock { $0.allSatisfy { $0 == 0 || $0 >= 7 << 20 } })
        #expect(try recorded().isEmpty && folder.names == ["cities.zip"])
    }

    @Test func `an interrupted download that lacked no byte is complete`() async throws {
        let server = Self.server([.broken(11 << 20)])
        // The transfer breaks after the last byte, and the request for the rest is not sent any more.
        #expect(await code(by: server) == .connectionLost)
        #expect(await code(by: server) == nil)
        #expect(try server.ranges == [nil, "bytes=11534336-"] && Data(contentsOf: file) == server.body)
        #expect(try recorded().isEmpty && folder.names == ["cities.zip"])
    }

    @Test func `a connection continues what another has received`() async throws {
        let server = Self.server([.broken(6 << 20), .held(Self.mebibyte)])
        let first = engine(server)
        let failed = first.start(Self.request(), to: file)
        await #expect { _ = try await failed.response } throws: { ($0 as? ConnectionError)?.code == .connectionLost }
        await first.close()
        // The second is closed while it runs.
        let second = engine(server)
        _ = second.start(Self.request(), to: file)
        await untilTrue { server.drained == 1 }
        await second.close()
        #expect(try recorded().map(\.size) == [7 << 20])
        #expect(await code(by: server) == nil)
        #expect(server.ranges == [nil, "bytes=6291456-", "bytes=7340032-"])
        #expect(try Data(contentsOf: file) == server.body && recorded().isEmpty && folder.names == ["cities.zip"])
    }

    @Test func `a paused connection has recorded its bytes`() async throws {
        let server = Self.server([.held(5 << 20)])
        let engine = engine(server)
        let connection = engine.start(Self.request(), to: file)
        await untilTrue { server.drained == 1 }
        connection.pause()
        try await untilTrue { try recorded().map(\.size) == [5 << 20] }
        connection.resume()
        #expect(try await connection.download.size == server.body.count)
        await engine.close()
        #expect(try Data(contentsOf: file) == server.body && recorded().isEmpty && folder.names == ["cities.zip"])
    }

    // MARK: Begun again

    /// A change between two downloads.
    struct Change: CustomTestStringConvertible {
        let testDescription: String
        var server: @Sendable (inout RangeServer.State) -> Void = { _ in }
        var part: @Sendable (URL) throws -> Void = { _ in }
        var sql: String?
        var request = InterruptedDownloadTests.request()
        var seconds = 0.0
        /// Whether the second download asks for the rest.
        var asks = false
        /// Whether the part file of the first download is left.
        var leavesPart = false
    }

    private static let changes: [Change] = [
        Change(
            testDescription: "another tag", server: { ($0.tag, $0.body) = ("\"b\"", .noise(9 << 20, seed: 2)) },
            asks: true),
        Change(testDescription: "no ranges", server: { $0.servesRanges = false }, asks: true),
        Change(testDescription: "no file", part: { try FileManager.default.removeItem(at: $0) }),
        Change(testDescription: "a short file", part: { try Data(count: 100).write(to: $0) }),
        Change(
            testDescription: "a flipped bit",
            part: { part in
                var bytes = try Data(contentsOf: part)
                bytes[3_000_000] ^= 4
                // In place, as a disk does.
                let handle = try FileHandle(forWritingTo: part)
                try handle.write(contentsOf: bytes)
                try handle.close()
            }),
        Change(testDescription: "a row of version 1", sql: "UPDATE download SET digest = NULL"),
        Change(
            testDescription: "a link",
            part: { part in
                try FileManager.default.moveItem(at: part, to: part.deletingLastPathComponent().appending(path: "x"))
                try FileManager.default.createSymbolicLink(
                    at: part, withDestinationURL: part.deletingLastPathComponent().appending(path: "x"))
            }),
        Change(
            testDescription: "a second name",
            part: { try FileManager.default.linkItem(at: $0, to: $0.deletingLastPathComponent().appending(path: "x")) }),
        Change(testDescription: "a damaged row", sql: "UPDATE download SET size = size + 1"),
        Change(testDescription: "a week and a day", seconds: 8 * 86_400),
        Change(testDescription: "another identity", request: request(identity: "user-42"), leavesPart: true),
        Change(testDescription: "another request", request: request("other"), leavesPart: true),
        Change(
            testDescription: "a reload",
            request: Request("http://h/", cache: .reload), leavesPart: true),
    ]

    @Test(arguments: changes) func `begins again where its part does not fit`(change: Change)
        async throws
    {
        let server = Self.server([.broken(6 << 20)])
        #expect(await code(by: server) == .connectionLost)
        let part = try #require(try recorded().first).part
        server.change(change.server)
        try change.part(folder.url.appending(path: part))
        if let sql = change.sql { try temporary.execute(sql) }
        clock.advance(by: change.seconds)
        #expect(await code(of: change.request, by: server) == nil)
        #expect(server.ranges == [nil, change.asks ? "bytes=6291456-" : nil])
        #expect(try Data(contentsOf: file) == server.body)
        let isThere = change.leavesPart || change.testDescription == "a link"
        #expect(folder.names.filter { $0 != "x" } == (isThere ? [part, "cities.zip"] : ["cities.zip"]))
        #expect(try recorded().map(\.part) == (change.leavesPart ? [part] : []))
    }

    @Test func `a download does not continue the file that another one writes`() async throws {
        let server = Self.server([.held(5 << 20)])
        let engine = engine(server)
        let slow = Task { [file] in try await engine.download(Self.request(), to: file) }
        await untilTrue { server.drained == 1 }
        let part = try #require(try recorded().first).part
        #expect(await code(by: server) == nil)
        #expect(try server.ranges == [nil, nil] && Data(contentsOf: file) == server.body)
        #expect(try recorded().map(\.part) == [part] && folder.names == [part, "cities.zip"])
        slow.cancel()
        _ = await slow.result
        await engine.close()
        #expect(try recorded().isEmpty && folder.names == ["cities.zip"])
    }

    // MARK: Erased

    enum Erasure: CaseIterable { case all, request, identity, host, cancel }

    @Test(arguments: Erasure.allCases, [false, true])
    func `is erased with its file`(by erasure: Erasure, isRunning: Bool) async throws {
        let request = Self.request(identity: "user-42")
        let server = Self.server([isRunning ? .held(6 << 20) : .broken(6 << 20)])
        let engine = engine(server)
        let connection = engine.start(request, to: file)
        if isRunning { await untilTrue { server.drained == 1 } } else { _ = try? await connection.response }
        #expect(try recorded().count == 1)
        switch erasure {
        case .all: _ = try await engine.purge(.all)
        case .request: _ = try await engine.purge(request)
        case .identity: _ = try await engine.forget(identity: "user-42")
        case .host: _ = try await engine.purge(.host("h"))
        case .cancel:
            guard isRunning else { return await engine.close() }
            connection.cancel()
            _ = try? await connection.response
        }
        if erasure != .cancel {
            #expect(try recorded().isEmpty)
            #expect(folder.names.count == (isRunning ? 1 : 0))
        }
        await engine.close()
        #expect(try recorded().isEmpty && folder.names.isEmpty)
    }

    @Test(arguments: [false, true]) func `a paused download of an identity leaves nothing after its sign-out`(
        isSealed: Bool
    ) async throws {
        let server = Self.server([.held(1 << 20)])
        let engine = engine(server) { $0.seal = isSealed ? AESGCMSeal.first : nil }
        let connection = engine.start(Self.request(identity: "user-42"), to: file)
        await untilTrue { server.drained == 1 }
        connection.pause()
        try await untilTrue { try temporary.rows("download") == 1 }
        _ = try await engine.forget(identity: "user-42")
        #expect(try temporary.rows("download") == 0)
        await engine.close()
        #expect(folder.names.isEmpty)
    }

    @Test func `a download that another process has erased records no more, and completes`() async throws {
        let server = Self.server([.held(5 << 20), .broken(5 << 20)])
        let engine = engine(server)
        let connection = engine.start(Self.request(), to: file)
        await untilTrue { server.drained == 1 }
        connection.pause()
        try await untilTrue { try recorded().map(\.size) == [5 << 20] }
        _ = try await Cache(temporary.store).purge(.all)
        connection.resume()
        await #expect { _ = try await connection.response } throws: { error in
            (error as? ConnectionError)?.code == .connectionLost
        }
        await engine.close()
        #expect(server.ranges == [nil, "bytes=5242880-"])
        #expect(try recorded().isEmpty && folder.names.isEmpty)
    }

    // MARK: Not recorded

    /// A download that is not recorded.
    struct Exception: CustomTestStringConvertible {
        let testDescription: String
        var server: @Sendable (inout RangeServer.State) -> Void = { _ in }
        var request = InterruptedDownloadTests.request()
        var engine: @Sendable (inout Engine.Configuration) -> Void = { _ in }
    }

    private static let exceptions: [Exception] = [
        Exception(testDescription: "a short one", server: { $0.flows = [.broken((256 << 10) - 1)] }),
        Exception(testDescription: "no-store of the server", server: { $0.headers = [.cacheControl: "no-store"] }),
        Exception(
            testDescription: "no-store of the request",
            request: Request("http://h/", headers: [.cacheControl: "no-store"])),
        Exception(testDescription: "the policy", request: Request("http://h/", cache: .noStore)),
        Exception(testDescription: "a weak validator", server: { $0.tag = "W/\"a\"" }),
        Exception(testDescription: "a header outside the key", server: { $0.headers = [.vary: "User-Agent"] }),
        Exception(testDescription: "no store", engine: { $0.store = nil }),
        Exception(testDescription: "a shared cache", engine: { $0.cacheKind = .shared }),
    ]

    @Test(arguments: exceptions) func `some downloads are not recorded, and leave nothing`(exception: Exception)
        async throws
    {
        let server = Self.server([.broken(6 << 20)])
        server.change(exception.server)
        #expect(await code(of: exception.request, by: server, exception.engine) == .connectionLost)
        #expect(folder.names.isEmpty)
        #expect(try exception.testDescription == "no store" || temporary.rows("download") == 0)
        #expect(await code(of: exception.request, by: server, exception.engine) == nil)
        #expect(try server.ranges == [nil, nil] && Data(contentsOf: file) == server.body)
    }

    @Test func `a canceled download is not continued`() async throws {
        let server = Self.server([.held(6 << 20)])
        let engine = engine(server)
        let task = Task { [file] in try await engine.download(Self.request(), to: file) }
        await untilTrue { server.drained == 1 }
        #expect(try recorded().map(\.size) == [4 << 20])
        task.cancel()
        _ = await task.result
        await engine.close()
        #expect(try recorded().isEmpty && folder.names.isEmpty)
    }
}
