import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("A recorded download") struct KeptDownloadTests {
    private let temporary = TemporaryStore()
    private let folder = TemporaryFolder()
    private let events = RecordedCacheEvents()
    private let clock = ManualClock()

    private func open() throws -> Cache {
        try Cache(temporary.store, activity: events.activity, timing: CacheTiming(now: { [clock] in clock.wallTime }))
    }

    /// A download with a part file of ten bytes.
    private func download(_ url: String = "http://h/a", identity: String? = nil, in cache: Cache) throws -> KeptDownload
    {
        var request = Request(url)
        request.identity = identity
        let form = try CanonicalForm(of: request, rules: KeyRules())
        let part = PartFile.name(isKept: true)
        _ = try folder.file(part, Data("0123456789".utf8))
        return KeptDownload(
            CacheEntry(
                key: form.key, request: form.bytes, url: url, method: "GET", identity: identity,
                stored: .head("ETag: \"a\"\nContent-Length: 20\n", at: clock.wallTime)),
            part: part, for: folder.url.appending(path: "cities.zip").path, size: 10, writtenAt: clock.wallTime)
    }

    private func found(_ download: KeptDownload, in cache: Cache) throws -> [KeptDownload] {
        try cache.downloads(of: download.key, request: download.request, to: download.target)
    }

    @Test(arguments: [nil, "user-42", ""]) func `is read as it was written`(identity: String?)
        async throws
    {
        let cache = try open()
        let recorded = try await cache.record(try download(identity: identity, in: cache))
        var longer = recorded
        (longer.size, longer.writtenAt) = (12, clock.wallTime + 5)
        #expect(try await cache.record(longer).id == recorded.id)
        let found = try #require(try found(recorded, in: cache).first)
        #expect(found.key == longer.key && found.request == longer.request && found.url == longer.url)
        #expect(found.method == "GET" && found.identity == identity && found.status == 200)
        #expect(found.headerBlock == longer.headerBlock && found.receivedAt == longer.receivedAt)
        #expect(found.target == longer.target && found.part == longer.part)
        #expect(found.size == 12 && found.writtenAt == longer.writtenAt && found.completeSize == 20)
        #expect(try found.headers[.eTag] == "\"a\"" && cache.downloads().count == 1)
    }

    @Test(arguments: [
        "key = randomblob(32)", "request = request || 'x'", "url = 'http://other/'", "method = 'POST'",
        "identity = 'other'", "status = 206", "headers = x'00'", "received_at = received_at + 1", "size = size + 1",
        "written_at = written_at + 1", "digest = zeroblob(32)", "checksum = checksum + 1",
        "key_prefix = key_prefix + 1",
        "part = '../../etc/passwd'",
    ]) func `a damaged record is dropped, and its file`(change: String) async throws {
        let cache = try open()
        let recorded = try await cache.record(try download(in: cache))
        try temporary.execute("UPDATE download SET \(change)")
        #expect(try cache.downloads().isEmpty)
        let isFound = !change.hasPrefix("key")
        #expect(try found(recorded, in: cache).isEmpty)
        await cache.flush()
        #expect(events.dropped.count == (isFound ? 1 : 0))
        #expect(try temporary.rows("download") == (isFound ? 0 : 1))
        #expect(folder.names.isEmpty == (isFound && !change.hasPrefix("part")))
    }

    @Test func `a record is for one request and one path`() async throws {
        let cache = try open()
        let recorded = try await cache.record(try download(in: cache))
        let other = try download("http://h/b", in: cache)
        #expect(try found(other, in: cache).isEmpty && found(recorded, in: cache).count == 1)
        #expect(try cache.downloads(of: recorded.key, request: other.request, to: recorded.target).isEmpty)
        #expect(try cache.downloads(of: recorded.key, request: recorded.request, to: "/cities.zip").isEmpty)
    }

    @Test(arguments: [false, true]) func `a record that nobody has written for a week is removed, and its file`(
        isLookedUp: Bool
    ) async throws {
        let cache = try open()
        let recorded = try await cache.record(try download(in: cache))
        clock.advance(by: 7 * 86_400)
        #expect(try found(recorded, in: cache).count == 1)
        clock.advance(by: 1)
        let other = try download("http://h/b", in: cache)
        if isLookedUp { #expect(try found(recorded, in: cache).isEmpty) } else { _ = try await cache.record(other) }
        await cache.flush()
        #expect(try cache.downloads().map(\.url) == (isLookedUp ? [] : [other.url]))
        #expect(folder.names == [other.part])
    }

    private static let selections: [(selection: CacheSelection, left: [String])] = [
        (.all, []),
        (.host("h"), ["http://g:80/b"]),
        (.host("g"), ["http://h/a"]),
        (.url("http://h/a"), ["http://g:80/b"]),
        (.url(prefix: "http://g"), ["http://h/a"]),
        (.identity("user-42"), ["http://h/a"]),
        (.stored(before: ManualClock().wallTime), ["http://h/a", "http://g:80/b"]),
        (.stored(before: ManualClock().wallTime + 1), []),
        (.tag("a"), ["http://h/a", "http://g:80/b"]),
        (.expired(at: .max), ["http://h/a", "http://g:80/b"]),
    ]

    @Test(arguments: selections) func `a purge removes the records that it selects, and their files`(
        row: (selection: CacheSelection, left: [String])
    ) async throws {
        let cache = try open()
        let downloads = [
            try await cache.record(try download(in: cache)),
            try await cache.record(try download("http://g:80/b", identity: "user-42", in: cache)),
        ]
        #expect(try await cache.purge(row.selection) == 0)
        #expect(try cache.downloads().map(\.url) == row.left)
        #expect(Set(folder.names) == Set(downloads.filter { row.left.contains($0.url) }.map(\.part)))
    }

    @Test func `a purge leaves a file that is being written, and its download records no more`() async throws {
        let cache = try open()
        let recorded = try await cache.record(try download(in: cache))
        guard case .opened(let descriptor) = PartFile.open(try #require(recorded.path)) else {
            return _ = Issue.record("it is locked")
        }
        #expect(try await cache.purge(.key(recorded.key)) == 0)
        #expect(folder.names == [recorded.part])
        await #expect { _ = try await cache.record(recorded) } throws: { ($0 as? CacheError)?.code == .entryGone }
        close(descriptor)
    }
}
