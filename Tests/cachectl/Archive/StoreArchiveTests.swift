import DiamondInspection
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondSQLite

@Suite("cachectl export --archive and import", .limit(minutes: 5)) struct StoreArchiveTests {
    let cachectl = Shell()
    let other = Shell()
    private let folder = TemporaryFolder()

    private var path: String { folder.url.appending(path: "store.archive").path }

    private func archive(_ options: String...) async throws -> Data {
        let exported = try await cachectl(["export", "--archive", path] + options)
        #expect(exported.status == 0, "\(exported.errors)")
        return try Data(contentsOf: URL(filePath: path))
    }

    private func write(_ archive: Data) throws -> String {
        try archive.write(to: URL(filePath: path))
        return path
    }

    /// The values of every entry that an archive keeps, by URL and body.
    private func facts(_ shell: Shell) throws -> Set<String> {
        let cache = try Cache(shell.temporary.store, create: false)
        let facts = try cache.list(limit: 1000).map { listing in
            let form = try #require(try cache.canonicalForm(of: listing.key))
            let stored = try #require(try cache.findOnDisk(listing.key, request: Array(form.utf8)))
            let record = try #require(try cache.storage.records(under: listing.key, bodyLimit: 0).first)
            let names = record.names.filter { !$0.contains("\u{2}") }.sorted()
            return "\(listing.url) \(listing.method) \(stored.status) \(stored.storedAt.rawValue) \(stored.initialAge) "
                + "\(stored.lifetime ?? -1) \(stored.duration) \(stored.flags.rawValue) \(names) "
                + "\(stored.headerBlock.base64EncodedString()) \(Checksum.digest(of: stored.body))"
        }
        return Set(facts)
    }

    private static let samples = [
        StoredEntry(url: "https://a.example/text", tags: ["cities", "a\u{202E}\n"], identity: nil),
        StoredEntry(url: "https://a.example/empty", status: 404, body: Data(), age: 90_000, lifetime: nil, flags: []),
        StoredEntry(
            url: "https://a.example/old?q=%E2%82%AC", headers: "ETag: \"2\"\nX-Name: \u{202E}\u{7F}\n",
            body: Data([0xFF, 0, 0x0A]), age: 600_000, flags: [.hasValidator, .invalidated, .heuristic]),
        StoredEntry(url: "https://a.example/lines", body: Data("{\"entries\":1}\n{\"sha256\":\"\"}\n".utf8)),
        StoredEntry(url: "https://b.example/large", body: largeBody),
    ]

    /// 8 MiB, of which each 128 bytes differ from the next ones.
    private static let largeBody = (0..<1 << 16).reduce(into: Data()) {
        $0 += Data(repeating: UInt8(truncatingIfNeeded: $1), count: 128)
    }

    @Test func `copies entries exactly, and a second import changes nothing`() async throws {
        try await cachectl.store(Self.samples)
        let key = try Cache(cachectl.temporary.store, create: false).list(limit: 1)[0].key
        _ = try await cachectl("pin", key.description)
        _ = try await archive()
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let imported = try await other("import", path)
        #expect(imported.text == "stored 5 entries\n" && imported.status == 0, "\(imported.errors)")
        #expect(try facts(other) == facts(cachectl))
        #expect(try await other("import", path).text == "stored 0 entries, 5 left out\n")
        #expect(try facts(other) == facts(cachectl))
        #expect(try await other("verify").status == 0)
        #expect(try await cachectl("import", path).text == "stored 0 entries, 5 left out\n")
    }

    @Test func `copies entries that match the options`() async throws {
        try await cachectl.store(Self.samples)
        let exported = try await cachectl("export", "--archive", path, "--match", "/old", "--json")
        #expect(exported.text.filter { !$0.isWhitespace } == #"{"archived":1,"leftOut":0}"#)
        #expect(try await other("import", path).text == "stored 1 entry\n")
    }

    @Test func `leaves newer responses of the store, and those that were made stale since`() async throws {
        let url = "https://a.example/"
        try await cachectl.store([StoredEntry(url: url, body: Data("old".utf8), age: 60_000)])
        _ = try await archive()
        _ = try await cachectl("invalidate", "--prefix", url)
        let stale = try facts(cachectl)
        #expect(try await cachectl("import", path).text == "stored 0 entries, 1 left out\n")
        #expect(try facts(cachectl) == stale)
        try await other.store([StoredEntry(url: url, body: Data("new".utf8))])
        #expect(try await other("import", path).text == "stored 0 entries, 1 left out\n")
        #expect(try await other("send", url, "--policy", "cacheOnly").text == "new")
        let third = Shell()
        try await third.store([StoredEntry(url: url, body: Data("oldest".utf8), age: 120_000)])
        #expect(try await third("import", path).text == "stored 1 entry\n")
        #expect(try await third("send", url, "--policy", "cacheOnly").text == "old")
    }

    @Test func `an entry of a clock that was ahead is not newer than what comes later`() async throws {
        let url = "https://a.example/"
        try await cachectl.store([StoredEntry(url: url, body: Data("old".utf8), age: -86_400_000)])
        _ = try await archive()
        #expect(try await other("import", path).text == "stored 1 entry\n")
        let later = StoredEntry(url: url, body: Data("new".utf8), age: -1000)
        try await other.store([later])
        #expect(try await other("send", url, "--policy", "cacheOnly").text == "new")
    }

    @Test func `says how many entries were evicted, and evicts none from a new store`() async throws {
        let body = Data(repeating: 7, count: 256 << 10)
        try await cachectl.store((0..<12).map { StoredEntry(url: "https://a.example/\($0)", body: body) })
        _ = try await archive()
        let engine = other.temporary.engine(
            StubTransport { request throws(TransportError) in .stub(headers: [.cacheControl: "max-age=600"], body: "") }
        ) { $0.diskCapacity = 2 << 20 }
        _ = try await engine.send(Request("https://b.example/"))
        await engine.close()
        #expect(try Cache(other.temporary.store, create: false).recordedCapacity() == 2 << 20)
        let limited = try await other("import", path)
        #expect(limited.text == "stored 12 entries\n" && limited.errors.contains(" evicted, to keep the store within"))
        let unlimited = try await Shell()("import", path)
        #expect(unlimited.text == "stored 12 entries\n" && unlimited.errors.isEmpty, "\(unlimited.errors)")
    }

    // MARK: Variants

    private func send(_ kinds: [String], to shell: Shell) async throws {
        let engine = shell.temporary.engine(
            StubTransport { request throws(TransportError) in
                let body = Data((request.headers[.userAgent] ?? "").utf8)
                return .stub(headers: [.cacheControl: "max-age=600", .vary: "User-Agent"], body: body)
            }
        ) { $0.now = { Date() } }
        for kind in kinds {
            _ = try await engine.send(Request("https://a.example/", headers: [.userAgent: kind]))
        }
        await engine.close()
    }

    @Test func `adds variants to those of the store`() async throws {
        try await send(["a", "b"], to: cachectl)
        try await send(["c"], to: other)
        _ = try await archive()
        #expect(try await other("import", path).text == "stored 2 entries\n")
        for kind in ["a", "b", "c"] {
            let sent = try await other(
                "send", "https://a.example/", "-H", "User-Agent: \(kind)", "--policy", "cacheOnly")
            #expect(sent.text == kind, "\(sent.errors)")
        }
        #expect(try await other("import", path).text == "stored 0 entries, 2 left out\n")
    }

    @Test func `leaves out variants whose index is gone, which no request could select`() async throws {
        try await send(["a", "b"], to: cachectl)
        try SQLiteHandle(path: cachectl.temporary.store.cachePath, flags: 2, vfs: nil)
            .execute("DELETE FROM entry WHERE flags & 512")
        let exported = try await cachectl("export", "--archive", path)
        #expect(exported.text.hasPrefix("archived 0 entries in "), "\(exported.text)")
        #expect(exported.errors.hasPrefix("2 entries left out: "))
        #expect(try await other("import", path).text == "stored 0 entries\n")
    }

    @Test func `leaves out variants of an index that another one has replaced`() async throws {
        try await send(["a", "b"], to: cachectl)
        try await replaceIndex(of: cachectl) { VariantIndex($0.sets[0], generation: $0.generation &+ 1) }
        let exported = try await cachectl("export", "--archive", path)
        #expect(exported.errors.hasPrefix("2 entries left out: "), "\(exported.errors)")
    }

    /// Stores another index of the variants.
    private func replaceIndex(of shell: Shell, _ change: (VariantIndex) -> VariantIndex) async throws {
        let cache = try Cache(shell.temporary.store, create: false)
        let form = try CanonicalForm(of: Request("https://a.example/"), rules: cache.rules)
        let stored = try #require(try cache.findOnDisk(form.key, request: form.bytes))
        let index = change(try #require(VariantIndex(stored)))
        cache.store(
            CacheEntry(
                key: form.key, request: form.bytes, url: "https://a.example/", method: "GET",
                stored: index.stored(at: .now, kind: .private)))
        await cache.flush()
    }

    @Test func `a second import repairs an index that was lost behind its variants`() async throws {
        try await send(["a", "b"], to: cachectl)
        _ = try await archive()
        #expect(try await other("import", path).text == "stored 2 entries\n")
        // As after a crash: an index without the field that selects these variants.
        let fields = try #require(VariantFields(["x-group"]))
        try await replaceIndex(of: other) { VariantIndex(fields, generation: $0.generation) }
        let lost = try await other("send", "https://a.example/", "-H", "User-Agent: a", "--policy", "cacheOnly")
        #expect(lost.text != "a")
        #expect(try await other("import", path).text == "stored 0 entries, 2 left out\n")
        for kind in ["a", "b"] {
            let sent = try await other(
                "send", "https://a.example/", "-H", "User-Agent: \(kind)", "--policy", "cacheOnly")
            #expect(sent.text == kind, "\(sent.errors)")
        }
    }

    @Test func `leaves out entries whose keys need the secret of the other store`() async throws {
        let engine = cachectl.temporary.engine(
            StubTransport { request throws(TransportError) in
                .stub(headers: [.cacheControl: "max-age=600"], body: "body")
            })
        _ = try await engine.send(Request("https://a.example/?token=s3cret"))
        _ = try await engine.send(Request("https://a.example/"))
        await engine.close()
        let archived = try await archive()
        #expect(!String(decoding: archived, as: UTF8.self).contains("s3cret"))
        #expect(try await other("import", path).text == "stored 1 entry, 1 left out\n")
        _ = try await cachectl("purge", "--all")
        #expect(try await cachectl("import", path).text == "stored 2 entries\n")
    }

    // MARK: Damage

    private typealias Lines = [Range<Data.Index>]

    /// Changes of an archive with two entries. The lines are the first one, the first entry, its checksum, and the rest.
    private static let damages: [(name: String, change: @Sendable (inout Data, Lines) -> Void)] = [
        ("in the first line", { data, lines in data[lines[0].upperBound - 5] ^= 1 }),
        ("in an entry's line", { data, lines in data[lines[1].lowerBound + 20] ^= 1 }),
        ("in a body", { data, lines in data[lines[1].upperBound + 1] ^= 1 }),
        ("in a checksum", { data, lines in data[lines[2].upperBound - 6] ^= 1 }),
        ("in the last line", { data, lines in data[lines[lines.count - 1].upperBound - 6] ^= 1 }),
        ("after the end", { data, _ in data.append(0x0A) }),
        (
            "an entry twice",
            { data, lines in
                let entry = lines[1].lowerBound..<lines[2].upperBound
                data.insert(contentsOf: Data(data[entry]), at: entry.lowerBound)
            }
        ),
        ("an entry missing", { data, lines in data.removeSubrange(lines[1].lowerBound..<lines[2].upperBound) }),
    ]

    @Test(arguments: Self.damages.map(\.name)) func `refuses a change`(_ name: String) async throws {
        let change = try #require(Self.damages.first { $0.name == name }).change
        try await cachectl.store([
            StoredEntry(url: "https://a.example/1", body: Data("one\n".utf8)), StoredEntry(url: "https://a.example/2"),
        ])
        var data = try await archive()
        let lines = data.split(separator: 0x0A).map { $0.startIndex..<$0.endIndex + 1 }
        // The first body ends with a line feed.
        change(&data, [lines[0], lines[1], lines[3]] + lines[4...])
        let imported = try await other("import", try write(data))
        #expect(imported.status == 1 && imported.text.isEmpty, "\(imported.text)")
        #expect(
            imported.errors.contains(#/byte \d+: .+: export it again; \d entr\w+ stored before|nothing was stored/#))
        guard other.files().contains("cache.sqlite") else { return }
        // What was stored is sound, and a sound copy adds the rest.
        #expect(try await other("verify").status == 0)
        let bodies = try facts(other)
        #expect(try bodies.isSubset(of: facts(cachectl)))
    }

    @Test func `refuses an archive that ends at any boundary`() async throws {
        try await cachectl.store([StoredEntry(url: "https://a.example/1", body: Data("one\n".utf8))])
        let data = try await archive()
        let ends = data.indices.filter { data[$0] == 0x0A }.flatMap { [$0 - 1, $0, $0 + 1] }
        for end in ends where end < data.count {
            let imported = try await Shell()("import", try write(data.prefix(end)))
            #expect(imported.status == 1, "\(end): \(imported.text)")
            #expect(imported.errors.contains("byte \(end): it is truncated: export it again"), "\(imported.errors)")
        }
    }

    @Test func `says which archive it cannot import`() async throws {
        try await cachectl.store([StoredEntry(url: "https://a.example/1")])
        let text = String(decoding: try await archive(), as: UTF8.self)
        let newer = try await other("import", "-", input: text.replacing(#""version":1"#, with: #""version":2"#))
        #expect(newer.status == 64 && newer.errors.contains("newer version 2: update this program"))
        let misplaced = try await other("queue", "import", "-", input: text)
        #expect(misplaced.status == 64 && misplaced.errors.contains("it is for 'cachectl import'"))
        #expect(other.files().isEmpty)
    }

    @Test func `cannot put a response under another key, nor a body that is too large`() async throws {
        try await cachectl.store([StoredEntry(url: "https://a.example/1")])
        let lines = String(decoding: try await archive(), as: UTF8.self).split(separator: "\n")
        for (old, new) in [
            (#""bodySize":4"#, #""bodySize":-4"#), (#""bodySize":4"#, #""bodySize":140737488355329"#),
            (#""status":200"#, #""status":1000"#), (#""method":"GET""#, #""method":"G T""#),
            (#""form":""#, #""form":"AAAA"#),
        ] {
            let rest = lines.dropFirst(2).joined(separator: "\n")
            let text = "\(lines[0])\n\(lines[1].replacing(old, with: new))\n\(rest)\n"
            let imported = try await other("import", "-", input: text)
            #expect(
                imported.status == 1 && imported.errors.contains("the line there is no entry"), "\(imported.errors)")
        }
    }

    // MARK: Files

    @Test func `a sealed store is copied only with consent and its key, without entries that have tags`() async throws {
        let key = try folder.file("key", Data(repeating: 7, count: 32)).path
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
        let engine = cachectl.temporary.engine(
            StubTransport { request throws(TransportError) in
                .stub(headers: [.cacheControl: "max-age=600", .vary: "User-Agent"], body: "body")
            }
        ) { $0.seal = try? AESGCMSeal(key: Data(repeating: 7, count: 32)) }
        _ = try await engine.send(Request("https://a.example/"))
        var tagged = Request("https://a.example/tagged")
        tagged.tags = ["tag"]
        _ = try await engine.send(tagged)
        await engine.close()
        let refused = try await cachectl("export", "--archive", path, "--key-file", key)
        #expect(refused.status == 64 && refused.errors.contains("give --with-secrets to copy it"))
        #expect(try await cachectl("export", "--archive", path, "--with-secrets").status == 5)
        #expect(!FileManager.default.fileExists(atPath: path))
        let exported = try await cachectl("export", "--archive", path, "--with-secrets", "--key-file", key)
        #expect(exported.text.hasPrefix("archived 1 entry in ") && exported.errors.hasPrefix("1 entry left out: "))
        #expect(try await other("import", path, "--key-file", key).text == "stored 1 entry\n")
        #expect(!String(decoding: try other.temporary.bytes(), as: UTF8.self).contains("a.example"))
    }

    @Test func `leaves out an entry whose line an import would refuse`() async throws {
        try await cachectl.store([
            StoredEntry(url: "https://a.example/1", headers: "X-Long: \(String(repeating: "a", count: 13 << 20))\n"),
            StoredEntry(url: "https://a.example/2"),
        ])
        let exported = try await cachectl("export", "--archive", path)
        #expect(exported.text.hasPrefix("archived 1 entry in ") && exported.errors.hasPrefix("1 entry left out: "))
        #expect(try await other("import", path).text == "stored 1 entry\n")
    }

    @Test func `replaces neither a pipe nor a link`() async throws {
        try await cachectl.store([StoredEntry(url: "https://a.example/1")])
        let target = try folder.file("target", Data("old".utf8)).path
        let (pipe, link) = ("\(path).pipe", "\(path).link")
        #expect(mkfifo(pipe, 0o600) == 0)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        for special in [pipe, link] {
            let refused = try await cachectl("export", "--archive", special)
            #expect(refused.status == 74 && refused.errors.contains("it is not a regular file"), "\(refused.errors)")
        }
        #expect(folder.names == ["store.archive.link", "store.archive.pipe", "target"])
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
    }

    @Test func `replaces a file only when it is complete`() async throws {
        try await cachectl.store(Self.samples)
        _ = try write(Data("old".utf8))
        let directory = try await cachectl("export", "--archive", folder.url.path)
        #expect(directory.status == 74 && directory.errors.contains("name another file"))
        #expect(try await cachectl("export", "--archive", "/nonexistent/file").status == 74)
        #expect(try await cachectl("export", "--archive", "").status == 64)
        #expect(try await cachectl("export", "--archive", path, "--har").status == 64)
        #expect(try Data(contentsOf: URL(filePath: path)) == Data("old".utf8))
        _ = try await archive()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["store.archive"])
    }

    @Test func `leaves no file under its name if it is killed`() async throws {
        try await cachectl.store(
            (0..<6).map { StoredEntry(url: "https://a.example/\($0)", body: Data(count: 8 << 20)) })
        var ending: ChildProcess.Ending
        // On a busy machine, an export can end before the signal arrives.
        repeat {
            try? FileManager.default.removeItem(atPath: path)
            let export = try ChildProcess(
                BuiltTool("cachectl").url, ["export", "--archive", path, "--store", cachectl.temporary.directory.path])
            await untilTrue { !folder.names.isEmpty }
            export.kill(SIGTERM)
            ending = await export.ended()
        } while ending == .exited(0)
        #expect(ending == .killed(by: SIGTERM) && folder.names.isEmpty)
    }
}
