import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl, and interrupted downloads", .limit(minutes: 5)) struct DownloadsTests {
    private let cachectl = Shell()
    private let folder = TemporaryFolder()

    /// Records a download with a part of 5 MiB.
    private func record(_ url: String, age: Int64 = 0) async throws -> KeptDownload {
        let now = WallTime.now - age
        let cache = try Cache(cachectl.temporary.store)
        let form = try CanonicalForm(of: Request(url), rules: cache.rules)
        let part = PartFile.name(isKept: true)
        _ = try folder.file(part, Data(count: 5 << 20))
        let name = URL(string: url)?.lastPathComponent ?? ""
        return try await cache.record(
            KeptDownload(
                CacheEntry(
                    key: form.key, request: form.bytes, url: url, method: "GET",
                    stored: .head("ETag: \"1\"\nContent-Length: 12582912\n", at: now)),
                part: part, for: folder.url.appending(path: name).path, size: 5 << 20, writtenAt: now))
    }

    private func urls() throws -> [String] { try Cache(cachectl.temporary.store).downloads().map(\.url) }

    @Test func `lists them, the oldest first`() async throws {
        _ = try Cache(cachectl.temporary.store)
        let none = try await cachectl("downloads")
        #expect(none.status == 0 && none.output.isEmpty && none.errors == "no downloads\n")
        let first = try await record("https://h/a.zip", age: 3_600_000)
        let second = try await record("https://h/b.zip")
        let lines = try await cachectl("downloads").text.split(separator: "\n").map { line in
            line.split(separator: "  ", omittingEmptySubsequences: true).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
        #expect(lines.first == ["KEY", "BYTES", "AGE", "FILE", "URL"])
        let key = String(first.key.description.prefix(12))
        #expect(lines.dropFirst().first == [key, "5.0 MiB of 12 MiB", "1h", first.target, "https://h/a.zip"])
        #expect(lines.count == 3 && lines.last?.last == "https://h/b.zip")
        let listed = try await cachectl("downloads", "--json")
        let objects = try #require(JSONSerialization.jsonObject(with: listed.output) as? [[String: Any]])
        #expect(objects.map { $0["key"] as? String } == [first, second].map(\.key.description))
        #expect(objects.map { $0["part"] as? String } == [first.path, second.path])
        #expect(objects.allSatisfy { $0["bytes"] as? Int == 5 << 20 && $0["length"] as? Int == 12 << 20 })
    }

    @Test func `removes those that are named, and their parts`() async throws {
        let first = try await record("https://h/a.zip")
        let second = try await record("https://h/b.zip")
        #expect(try await cachectl("downloads", "rm").status == 64)
        #expect(try await cachectl("downloads", "rm", "4f", "--all").status == 64)
        let unknown = try await cachectl("downloads", "rm", "x")
        #expect(unknown.status == 1 && unknown.errors.contains("no download's key begins with 'x'"))
        let planned = try await cachectl("downloads", "rm", "--all", "--dry-run")
        #expect(planned.text == "would remove 2 downloads\n")
        #expect(try urls().count == 2 && folder.names.count == 2)
        #expect(try await cachectl("downloads", "rm", first.key.description).text == "removed 1 download\n")
        #expect(try urls() == [second.url] && folder.names == [second.part])
        #expect(try await cachectl.object("downloads", "rm", "--all")?["removed"] as? Int == 1)
        #expect(try urls().isEmpty && folder.names.isEmpty)
    }

    @Test func `purges them with the entries of their host`() async throws {
        _ = try await record("https://h/a.zip")
        #expect(try await cachectl("purge", "--host", "g").status == 0)
        #expect(try urls().count == 1)
        #expect(try await cachectl("purge", "--host", "h").text == "erased 0 entries\n")
        #expect(try urls().isEmpty && folder.names.isEmpty)
    }

    @Test(arguments: [
        ("missing", "its part file is missing"), ("short", "its part file is shorter than recorded"),
        ("old", "it is too old to be continued"), ("damaged", "the row of a download has a wrong checksum"),
    ]) func `verifies them, and drops those that no download continues`(fault: String, what: String) async throws {
        let sound = try await record("https://h/a.zip")
        #expect(try await cachectl("verify").status == 0)
        let faulty = try await record("https://h/b.zip", age: fault == "old" ? 8 * 86_400_000 : 0)
        let path = try #require(faulty.path)
        switch fault {
        case "missing": try FileManager.default.removeItem(atPath: path)
        case "short": try Data(count: 100).write(to: URL(filePath: path))
        case "damaged": try cachectl.temporary.write("UPDATE download SET size = 1 WHERE url = '\(faulty.url)'")
        default: break
        }
        let found = try await cachectl("verify")
        #expect(found.status == 1 && found.text.contains("download") && found.text.contains(what))
        #expect(try await cachectl("verify", "--repair").status == 0)
        #expect(try await cachectl("verify").status == 0)
        #expect(try urls() == [sound.url] && folder.names == [sound.part])
    }
}
