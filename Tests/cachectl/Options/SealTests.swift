import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl, with a sealed store", .limit(minutes: 5)) struct SealTests {
    let cachectl = Shell()
    private static let key = Data((0..<32).map { UInt8($0 * 7 + 1) })
    private static let hexadecimal = Hex.text(of: key)

    /// Stores one sealed response, and returns the first digits of its cache key.
    private func fill(id: String? = nil) async throws -> String {
        var configuration = Engine.Configuration(store: cachectl.temporary.store)
        configuration.transport = StubTransport(body: "secret body")
        configuration.seal = try AESGCMSeal(key: Self.key, id: id)
        let engine = Engine(configuration)
        var request = Request("http://h/secret-path")
        request.cache = .automatic(maxAge: .seconds(60))
        _ = try await engine.send(request)
        let key = try await engine.key(of: request)
        await engine.close()
        return String(key.description.prefix(12))
    }

    private func keyFile(_ bytes: Data, mode: Int = 0o600) throws -> String {
        let path = try cachectl.file("key", "")
        try bytes.write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    @Test func `says without the key that the store is sealed, shows only what is not sealed, and exits with 5`()
        async throws
    {
        let key = try await fill(id: "2026")
        let remedy = "give it with --key-file or in DIAMOND_CACHE_KEY"
        let complaint = "cachectl: the store is sealed with the key '2026': \(remedy)\n"
        for arguments in [["list"], ["show", key], ["stats"]] {
            let outcome = try await cachectl(arguments)
            #expect(outcome.status == 5)
            #expect(outcome.errors == complaint)
            #expect(!outcome.text.contains("secret"))
        }
        let line = try #require(try await cachectl("list").text.split(separator: "\n").last)
        #expect(line.hasPrefix("\(key)  GET        200  43 B") && line.hasSuffix("•••"), "\(line)")
        #expect(try await cachectl("show", key).text.contains("url         •••\n"))
        #expect(try await cachectl("stats").text.contains("entries  1\nsealed   1\n"))
        let form = try #require(try await cachectl.object("show", key))
        #expect((form["entry"] as? [String: Any])?["url"] as? String == "•••" && form.count == 1, "\(form)")
        let body = try await cachectl("show", key, "--body")
        #expect(body.status == 5 && body.output.isEmpty)
        #expect(try await cachectl("purge", key).text == "erased 1 entry\n")
    }

    @Test func `a sealed queue is shown and changed with its key, and without it the exit code is 5`() async throws {
        let file = try keyFile(Self.key)
        let add = ["queue", "add", "-X", "PUT", "--json-body", #"{"a": "secret-body"}"#, "http://h/secret-path"]
        #expect(try await cachectl(add + ["--key-file", file]).text == "1\n")
        #expect(try cachectl.temporary.found(["secret-body", "secret-path"]) == [])
        let name = AESGCMSeal.id(of: Self.key)
        for arguments in [["list"], ["show", "1"], ["keys"], ["discard", "1"], ["export"], ["replay", "--dry-run"]] {
            let outcome = try await cachectl(["queue"] + arguments)
            #expect(outcome.status == 5 && outcome.text.isEmpty, "\(arguments)")
            #expect(outcome.errors.contains("is sealed with the key '\(name)'"), "\(outcome.errors)")
            #expect(outcome.errors.contains("give its key with --key-file or in DIAMOND_CACHE_KEY"))
        }
        #expect(try await cachectl(add).status == 5)
        let listed = try await cachectl("queue", "list", "--key-file", file)
        #expect(listed.status == 0 && listed.text.contains("http://h/secret-path\n"))
        #expect(try await cachectl("queue", "show", "1", "--key-file", file).text.contains("secret-body"))
        #expect(try await cachectl("queue", "discard", "1", "--key-file", file).status == 0)
        // These read no sealed value.
        #expect(try await cachectl("verify").status == 0)
        #expect(try await cachectl("doctor").status == 0)
    }

    @Test func `does not report unsealed entries as damaged when a key is given`() async throws {
        try await cachectl.store([StoredEntry(url: "https://a.example/")])
        let key = try #require(try Cache(cachectl.temporary.store).list(limit: 1).first?.key.description)
        let shown = try await cachectl("show", key, environment: ["DIAMOND_CACHE_KEY": Self.hexadecimal])
        #expect(shown.status == 1)
        #expect(shown.errors.contains("entries in clear") && !shown.errors.contains("damaged"), "\(shown.errors)")
    }

    @Test(arguments: [
        key, Data(hexadecimal.utf8), Data((hexadecimal.uppercased() + "\n").utf8),
        Data((key.base64EncodedString() + "\n").utf8),
    ]) func `reads the store with a key from a file, in any of the formats`(bytes: Data) async throws {
        let key = try await fill()
        let file = try keyFile(bytes)
        let listed = try await cachectl("list", "--key-file", file)
        #expect(listed.status == 0)
        #expect(listed.text.contains("http://h/secret-path\n"))
        #expect(try await cachectl("show", key, "--body", "--key-file", file).text == "secret body")
        #expect(try await cachectl("show", key, "--key-file", file).text.contains("path /secret-path\n"))
        #expect(try await cachectl("stats", "--key-file", file).status == 0)
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/bin/bash"), "needs bash, for a pipe with a name"))
    func `reads a key from a pipe, which can be read only once`() async throws {
        _ = try await fill()
        var bash = BuiltTool("")
        bash.url = URL(filePath: "/bin/bash")
        bash.environment = ["DIAMOND_STORE": cachectl.temporary.directory.path, "KEY": Self.hexadecimal]
        let tool = BuiltTool("cachectl").url.path
        let listed = try await bash.run(["-c", "'\(tool)' list --host h --key-file <(printf %s $KEY)"])
        #expect(listed.status == 0 && listed.text.contains("http://h/secret-path\n"), "\(listed.errors)")
    }

    @Test func `reads the store with a key from the environment`() async throws {
        _ = try await fill(id: "2026")
        let named = ["DIAMOND_CACHE_KEY": Self.hexadecimal, "DIAMOND_CACHE_KEY_ID": "2026"]
        #expect(try await cachectl("list", environment: named).text.contains("http://h/secret-path\n"))
        let base64 = ["DIAMOND_CACHE_KEY": Self.key.base64EncodedString()]
        #expect(try await cachectl("list", "--key-id", "2026", environment: base64).status == 0)
        let nameless = try await cachectl("list", environment: base64)
        #expect(nameless.status == 5)
        let complaint = "sealed with the key '2026', not '\(AESGCMSeal.id(of: Self.key))'"
        #expect(nameless.errors.contains(complaint), "\(nameless.errors)")
    }

    @Test func `refuses a key file that others may access, and an invalid key`() async throws {
        _ = try await fill()
        for mode in [0o604, 0o640, 0o644, 0o602] {
            let outcome = try await cachectl("list", "--key-file", try keyFile(Self.key, mode: mode))
            #expect(outcome.status == 64)
            #expect(outcome.errors.contains("run chmod 600 on it"), "\(outcome.errors)")
        }
        #expect(try await cachectl("list", "--key-file", try keyFile(Self.key, mode: 0o400)).status == 0)
        for text in ["", "abc", Self.hexadecimal + "00", "not a key, whatever its form"] {
            let file = try await cachectl("list", "--key-file", try keyFile(Data(text.utf8)))
            #expect(file.status == 64)
            #expect(file.errors.contains("there is no key in "), "\(file.errors)")
            #expect(text.isEmpty || !file.errors.contains(text))
        }
        let variable = try await cachectl("list", environment: ["DIAMOND_CACHE_KEY": "a bad key"])
        #expect(variable.status == 64)
        #expect(!variable.errors.contains("a bad key"))
        #expect(try await cachectl("list", "--key-file", "/nonexistent").status == 64)
    }

    @Test func `selects entries by URL or tag with the key, and refuses to without the key`() async throws {
        let key = try await fill()
        let file = try keyFile(Self.key)
        let names = [["--host", "h"], ["--prefix", "http://h/secret"], ["--tag", "a"], ["--identity", "anna"]]
        for command in [["purge"], ["purge", "--dry-run"], ["invalidate"], ["invalidate", "--dry-run"]] {
            for name in names {
                let outcome = try await cachectl(command + name)
                #expect(outcome.status == 5 && outcome.output.isEmpty)
                #expect(outcome.errors.contains("the store is sealed with the key"), "\(outcome.errors)")
            }
        }
        for name in [["--host", "h"], ["--tag", "a"]] {
            let outcome = try await cachectl(["list"] + name)
            #expect(outcome.status == 5 && outcome.output.isEmpty)
        }
        #expect(try await cachectl("list", "--host", "h", "--key-file", file).text.contains("/secret-path\n"))
        #expect(try await cachectl("pin", key).status == 0)
        #expect(try await cachectl("invalidate", "--host", "h", "--key-file", file).text == "marked 1 entry stale\n")
        #expect(try await cachectl("purge", "--prefix", "http://h/s", "--key-file", file).text == "erased 1 entry\n")
    }

    @Test func `verifies, diagnoses and evicts the store without the key`() async throws {
        _ = try await fill(id: "2026")
        let keyless = try await cachectl("verify")
        #expect(keyless.status == 0)
        #expect(keyless.text == "1 entry, 43 B of bodies: all sound\n")
        let note = "cachectl: 1 entry checked without the seal: give the key\n"
        #expect(keyless.errors == note)
        let file = try keyFile(Self.key)
        let whole = try await cachectl("verify", "--key-file", file, "--key-id", "2026")
        #expect(whole.status == 0 && whole.errors.isEmpty)
        let doctor = try await cachectl("doctor")
        #expect(doctor.status == 0, "\(doctor.text)")
        #expect(doctor.text.contains("sealed    with '2026'\n"))
        #expect(try await cachectl("evict", "--to", "0").text.hasPrefix("evicted 1 entry, "))
    }

    @Test func `keeps the sealed secret of a malformed file in which it can still be read`() async throws {
        _ = try await fill(id: "2026")
        let store = cachectl.temporary.store
        let seal = try AESGCMSeal(key: Self.key, id: "2026")
        let digest = try Cache(store, seal: seal).rules.digest(of: [1])
        _ = try await cachectl("evict")
        let file = try FileHandle(forWritingTo: URL(filePath: store.cachePath))
        try file.seek(toOffset: UInt64(try cachectl.temporary.root(of: "entry_by_size") - 1) * 8192)
        try file.write(contentsOf: Data(repeating: 0xA5, count: 8192))
        try file.close()
        #expect(try await cachectl("verify", "--repair").text.contains("set aside as "))
        #expect(try Cache(store, create: false).keyIDs() == ["2026"])
        #expect(try Cache(store, seal: seal).rules.digest(of: [1]) == digest)
    }

    @Test func `exits with 1 if verify cannot repair everything, and names what is left`() async throws {
        _ = try await fill(id: "2026")
        try cachectl.temporary.run(
            "DELETE FROM fact WHERE name LIKE 'secret%'; INSERT INTO tag VALUES (9, 'x')")
        let repaired = try await cachectl("verify", "--repair")
        #expect(repaired.status == 1)
        #expect(repaired.text.contains("left to the next program with the key"), "\(repaired.text)")
        #expect(repaired.text.hasSuffix(": 2 findings, 1 left\n"), "\(repaired.text)")
        #expect(repaired.errors.contains("cachectl: not repaired: secret: is missing\n"), "\(repaired.errors)")
        let report = try #require(try await cachectl.object("verify", "--repair"))
        #expect((report["left"] as? [[String: String]])?.map { $0["kind"] } == ["secret"])
        _ = try Cache(cachectl.temporary.store, seal: AESGCMSeal(key: Self.key, id: "2026"))
        let mended = try #require(try await cachectl.object("verify", "--repair"))
        #expect(mended["left"] == nil && (mended["findings"] as? [Any])?.isEmpty == true)
    }

    // MARK: Several keys

    /// Stores one response that is sealed with an older key, and one that is sealed with the newer key.
    private func rotate() async throws {
        _ = try await fill(id: "2025")
        let cache = try Cache(
            cachectl.temporary.store,
            seal: AESGCMSeal(key: Self.newKey, id: "2026", olderKeys: ["2025": Self.key]), memoryCapacity: 0)
        cache.store(
            try StoredEntry(url: "http://h/newer-path").cacheEntry(storedAt: WallTime(rawValue: 1), cache.rules))
        await cache.flush()
    }

    private static let newKey = Data((0..<32).map { UInt8($0 * 3 + 5) })

    private func keyFiles() throws -> [String] {
        let older = try cachectl.file("older", Self.hexadecimal)
        let files = [try keyFile(Self.newKey), older]
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: older)
        return files
    }

    @Test func `reads the entries of several keys, and names a missing key`() async throws {
        try await rotate()
        let files = try keyFiles()
        let both = ["--key-file", files[0], "--key-file", files[1], "--key-id", "2026", "--key-id", "2025"]
        let listed = try await cachectl(["list"] + both)
        #expect(listed.status == 0 && listed.errors.isEmpty, "\(listed.errors)")
        #expect(listed.text.contains("/secret-path\n") && listed.text.contains("/newer-path\n"), "\(listed.text)")
        let environment = [
            "DIAMOND_CACHE_KEY": "\(Hex.text(of: Self.newKey)) \(Self.hexadecimal)",
            "DIAMOND_CACHE_KEY_ID": "2026 2025",
        ]
        let named = try await cachectl("list", environment: environment)
        #expect(named.text.contains("/secret-path\n") && named.text.contains("/newer-path\n"), "\(named.text)")
        let newer = try await cachectl("list", "--key-file", files[0], "--key-id", "2026")
        #expect(newer.status == 5)
        #expect(newer.text.contains("/newer-path\n") && newer.text.contains("•••\n"), "\(newer.text)")
        let complaint = "cachectl: the store has entries sealed with the key '2025': give it as well"
        #expect(newer.errors.hasPrefix(complaint), "\(newer.errors)")
    }

    @Test func `refuses more key names than keys, and an empty key file`() async throws {
        try await rotate()
        let files = try keyFiles()
        let names = ["--key-id", "2026", "--key-id", "2025"]
        let nameless = try await cachectl(["list", "--key-file", files[0]] + names)
        #expect(nameless.status == 64 && nameless.errors.contains("more key names than keys"), "\(nameless.errors)")
        let empty = try cachectl.file("empty", "")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: empty)
        let bad = try await cachectl("list", "--key-file", files[0], "--key-file", empty)
        #expect(bad.status == 64 && bad.errors.contains("there is no key in \(empty)"), "\(bad.errors)")
    }

    @Test func `takes no key as an argument`() async throws {
        #expect(try await cachectl("list", "--key", Self.hexadecimal).status == 64)
    }

    @Test func `sends with the cache if the key is given, and without the cache otherwise`() async throws {
        _ = try await fill()
        let url = try await SampleServer.shared.base + "/cities"
        let environment = ["DIAMOND_CACHE_KEY": Self.hexadecimal]
        let first = try await cachectl("send", url, environment: environment)
        #expect(first.errors.contains("from network"), "\(first.errors)")
        let second = try await cachectl("send", url, environment: environment)
        #expect(second.errors.contains("from cache"), "\(second.errors)")
        let keyless = try await cachectl("send", url, "-p", "country=IS")
        #expect(keyless.status == 0)
        #expect(keyless.errors.contains("sent without a cache: the store is sealed with the key"), "\(keyless.errors)")
        let bytes = try cachectl.temporary.bytes()
        #expect(bytes.firstRange(of: Data("/cities".utf8)) == nil)
        #expect(bytes.firstRange(of: Self.key) == nil)
    }
}
