import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Downloads into files with a sealed store.
@Suite("A download with a sealed store", .limit(minutes: 5)) struct SealedDownloadTests {
    private let folder = TemporaryFolder()
    private let temporary = TemporaryStore()
    private var file: URL { folder.url.appending(path: "cities-marker.zip") }
    /// The bytes of a full chunk in the part file.
    private static let chunk = 8 + "first".utf8.count + CacheTable.chunkSize + 28

    private static func server(_ flows: [RangeServer.Flow]) -> RangeServer {
        RangeServer { state in
            state.body = .noise(7 << 20)
            state.flows = flows
        }
    }

    private static func request() -> Request {
        var request = Request("http://h/path-marker")
        request.identity = "user-marker"
        return request
    }

    /// Downloads with an engine of its own.
    private func code(by server: RangeServer, _ seal: AESGCMSeal = .first) async -> ConnectionError.Code? {
        let engine = temporary.engine(server.transport) { $0.seal = seal }
        let code: ConnectionError.Code?
        do throws(ConnectionError) {
            _ = try await engine.download(Self.request(), to: file)
            code = nil
        } catch { code = error.code }
        await engine.close()
        return code
    }

    private func recorded(_ seal: AESGCMSeal = .first) throws -> [KeptDownload] {
        try Cache(temporary.store, seal: seal, create: false).downloads()
    }

    private func part() throws -> URL { folder.url.appending(path: try #require(folder.names.first)) }

    @Test func `an interrupted download of a sealed store is continued, and shows nothing before its end`()
        async throws
    {
        let server = Self.server([.broken(3_300_000), .broken(1 << 20)])
        for size in [3_300_000, 3_300_000 + 1 << 20] {
            #expect(await code(by: server) == .connectionLost)
            let download = try #require(try recorded().first)
            #expect(download.size == size && download.url == "http://h/path-marker" && download.target == file.path)
            #expect(download.identity == "user-marker" && folder.names == [download.part])
            let bytes = try temporary.bytes() + Data(contentsOf: self.part())
            #expect(bytes.firstRange(of: Data("marker".utf8)) == nil)
            #expect(bytes.firstRange(of: server.body.prefix(32)) == nil)
            #expect(bytes.firstRange(of: server.body.dropFirst(size - 40).prefix(32)) == nil)
        }
        #expect(await code(by: server) == nil)
        #expect(server.ranges == [nil, "bytes=3300000-", "bytes=4348576-"])
        #expect(try Data(contentsOf: file) == server.body && recorded().isEmpty)
        #expect(folder.names == ["cities-marker.zip"])
    }

    @Test func `a download of a sealed store is continued with a new key, and only with its keys`() async throws {
        let server = Self.server([.broken(1 << 20), .broken(1 << 20), .broken(1 << 20)])
        #expect(await code(by: server) == .connectionLost)
        #expect(await code(by: server, .second) == .connectionLost)
        #expect(try recorded(.second).map(\.size) == [2 << 20])
        // Its first chunks need the older key: they are left to a program that has it.
        #expect(await code(by: server, .onlySecond) == .connectionLost)
        #expect(await code(by: server, .second) == nil)
        #expect(server.ranges == [nil, "bytes=1048576-", nil, "bytes=2097152-"])
        #expect(try Data(contentsOf: file) == server.body)
    }

    @Test(arguments: [false, true]) func `a download with a seal and without a cache shows nothing before its end`(
        isConnection: Bool
    ) async throws {
        let server = Self.server([.held(1 << 20)])
        let engine = temporary.engine(server.transport) {
            $0.store = nil
            $0.seal = AESGCMSeal.first
        }
        let download = Task { [file] in
            if isConnection {
                _ = try await engine.start(Self.request(), to: file).response
            } else {
                _ = try await engine.download(Self.request(), to: file)
            }
        }
        // The last piece may have been received before it is written.
        await untilTrue { server.drained == 1 && (try? Data(contentsOf: part()).isEmpty) == false }
        #expect(try Data(contentsOf: part()).firstRange(of: server.body.prefix(32)) == nil)
        download.cancel()
        await engine.close()
        _ = await download.result
    }

    /// Returns a function that writes to a disk of a size, which holds the part file and another one.
    private static func disk(of size: Int, isFull: Guarded<Bool>) -> DownloadFile.Write {
        let part = Guarded<Int32?>(nil)
        let other = Guarded(0)
        return { descriptor, bytes in
            let part = part.withLock { part in
                part = part ?? descriptor
                return part ?? descriptor
            }
            // The other file may have holes.
            if descriptor != part, PartFile.size(of: descriptor) == 0 { other.withLock { $0 = 0 } }
            guard Int(PartFile.size(of: part)) + other.withLock({ $0 }) + bytes.count <= size else {
                isFull.withLock { $0 = true }
                errno = ENOSPC
                return -1
            }
            if descriptor != part { other.withLock { $0 += bytes.count } }
            return Foundation.write(descriptor, bytes.baseAddress, bytes.count)
        }
    }

    /// Downloads to a disk of a size with an engine of its own.
    private func code(by server: RangeServer, diskSize: Int, isFull: Guarded<Bool>) async -> ConnectionError.Code? {
        let engine = temporary.engine(server.transport) { $0.seal = AESGCMSeal.first }
        let target = DownloadFile(
            file, limit: .max, seal: AESGCMSeal.first, write: Self.disk(of: diskSize, isFull: isFull))
        let code: ConnectionError.Code?
        do throws(ConnectionError) {
            _ = try await engine.pipeline.download(Self.request(), into: target)
            code = nil
        } catch { code = error.code }
        await engine.close()
        return code
    }

    @Test(arguments: [1, 8, 55]) func `a download of a sealed store completes where the disk has no room for it twice`(
        chunks: Int
    ) async throws {
        let server = Self.server([])
        let isFull = Guarded(false)
        #expect(await code(by: server, diskSize: 56 * Self.chunk + chunks << 17, isFull: isFull) == nil)
        #expect(isFull.withLock { $0 })
        #expect(try Data(contentsOf: file) == server.body && recorded().isEmpty)
        #expect(folder.names == ["cities-marker.zip"] && server.ranges == [nil])
    }

    @Test func `a download of a sealed store stays where its end finds no room, and completes when there is some`()
        async throws
    {
        let server = Self.server([])
        let isFull = Guarded(false)
        #expect(await code(by: server, diskSize: 56 * Self.chunk, isFull: isFull) == .cannotWrite)
        #expect(isFull.withLock { $0 })
        #expect(try folder.names == recorded().map(\.part))
        #expect(await code(by: server) == nil)
        // No byte of the body is received again.
        #expect(server.ranges == [nil, "bytes=\(server.body.count)-"])
        #expect(try Data(contentsOf: file) == server.body && recorded().isEmpty)
        #expect(folder.names == ["cities-marker.zip"])
    }

    @Test func `a download in clear is not continued by an engine with a seal`() async throws {
        let server = Self.server([.broken(1 << 20)])
        let clear = temporary.engine(server.transport)
        _ = try? await clear.download(Self.request(), to: file)
        await clear.close()
        #expect(await code(by: server) == nil)
        #expect(server.ranges == [nil, nil])
    }

    /// A change of the part file between two downloads.
    struct Change: CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (inout Data) -> Void
        /// The full chunks that the next download continues after; `nil` if it starts from the beginning.
        let chunks: Int?
    }

    private static let changes: [Change] = [
        Change(testDescription: "a flipped bit", change: { $0[10 * chunk + 100] ^= 1 }, chunks: 10),
        Change(testDescription: "another name of a key", change: { $0[10 * chunk + 8] ^= 1 }, chunks: 10),
        Change(testDescription: "a cut", change: { $0 = $0.prefix(3 * chunk + 1000) }, chunks: 3),
        Change(testDescription: "a cut between chunks", change: { $0 = $0.prefix(3 * chunk) }, chunks: 3),
        Change(
            testDescription: "two chunks swapped",
            change: { bytes in
                let second = bytes[2 * chunk..<3 * chunk]
                bytes[2 * chunk..<3 * chunk] = bytes[3 * chunk..<4 * chunk]
                bytes[3 * chunk..<4 * chunk] = second
            }, chunks: 2),
        Change(
            testDescription: "a chunk removed", change: { $0.removeSubrange(4 * chunk..<5 * chunk) }, chunks: 4),
        Change(testDescription: "lengths that are too large", change: { $0[6 * chunk + 7] = 0xFF }, chunks: 6),
        Change(testDescription: "other bytes", change: { $0 = .noise($0.count, seed: 9) }, chunks: nil),
        Change(testDescription: "no bytes", change: { $0 = Data() }, chunks: nil),
    ]

    @Test(arguments: changes) func `a changed part of a sealed store is continued before the change`(change: Change)
        async throws
    {
        let server = Self.server([.broken(3_300_000)])
        #expect(await code(by: server) == .connectionLost)
        var bytes = try Data(contentsOf: part())
        change.change(&bytes)
        let handle = try FileHandle(forWritingTo: part())
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: bytes)
        try handle.close()
        #expect(await code(by: server) == nil)
        #expect(server.ranges == [nil, change.chunks.map { "bytes=\($0 * CacheTable.chunkSize)-" }])
        #expect(try Data(contentsOf: file) == server.body && folder.names == ["cities-marker.zip"])
    }

    @Test(arguments: [
        "status = 206", "method = 'HEAD'", "received_at = received_at + 1", "headers = zeroblob(100)",
    ]) func `a changed row of a sealed store is dropped, even if its checksum is right`(change: String) async throws {
        let server = Self.server([.broken(1 << 20)])
        #expect(await code(by: server) == .connectionLost)
        try temporary.execute("UPDATE download SET \(change)")
        try sum()
        #expect(await code(by: server) == nil)
        #expect(try server.ranges == [nil, nil] && Data(contentsOf: file) == server.body)
        #expect(try temporary.rows("download") == 0)
    }

    /// Corrects the checksum, as an attacker who changed the row would.
    private func sum() throws {
        let database = try SQLiteDatabase(path: temporary.store.cachePath, configuration: .ofCacheFile)
        try database.write { (connection) throws(SQLiteError) in
            let row = try connection.statement(
                """
                SELECT key, url, method, identity, status, headers, received_at, target, part, size, written_at, digest,
                    seal FROM download
                """)
            guard try row.step(), let key = RequestKey(stored: row.data(0)) else { return }
            let head = StoredResponse(
                status: Int(row.int64(4)), headerBlock: row.data(5), body: Data(), storedAt: row.time(6),
                initialAge: 0, lifetime: nil, flags: [])
            let entry = CacheEntry(
                key: key, request: [], url: row.text(1), method: row.text(2), identity: row.text(3), stored: head)
            var download = KeptDownload(
                entry, part: row.text(8), for: row.text(7), size: Int(row.int64(9)), writtenAt: row.time(10))
            download.digest = row.data(11)
            download.keyID = row.text(12)
            try connection.execute("UPDATE download SET checksum = \(download.checksum)")
        }
    }

    private static let selections: [(selection: CacheSelection, isErased: Bool)] = [
        (.all, true), (.identity("user-marker"), true), (.identity("user-42"), false),
        (.url("http://h/path-marker"), true), (.url("http://h/"), false), (.url(prefix: "http://h/p"), true),
        (.url(prefix: "http://h/q"), false), (.host("h"), true), (.host("g"), false), (.tag("t"), false),
        (.stored(before: WallTime(rawValue: 1 << 50)), true),
    ]

    @Test(arguments: selections) func `a purge of a sealed store removes the parts that it selects`(
        row: (selection: CacheSelection, isErased: Bool)
    ) async throws {
        #expect(await code(by: Self.server([.broken(1 << 20)])) == .connectionLost)
        let cache = try Cache(temporary.store, seal: AESGCMSeal.first)
        try await cache.purge(row.selection)
        #expect(try cache.downloads().isEmpty == row.isErased && folder.names.isEmpty == row.isErased)
    }

    @Test func `a part of a sealed store is listed without its URL by a program without the key`() async throws {
        #expect(await code(by: Self.server([.broken(1 << 20)])) == .connectionLost)
        let cache = try Cache(temporary.store, create: false)
        let download = try #require(try cache.downloads().first)
        #expect(try download.url == "•••" && download.path == part().path && download.size == 1 << 20)
        #expect(try await cache.remove([download]) == 1 && folder.names.isEmpty)
    }
}
