import Diamond
import DiamondTestSupport
import Foundation
import Testing

/// The program of Tests/SampleClient, run as a user runs it, against a server of its own.
@Suite("The sample client", .limit(minutes: 5)) struct SampleClientTests {
    private let folder = TemporaryFolder()
    /// The folder of the store's key.
    private let keys = TemporaryFolder()

    /// A command that has succeeded.
    private struct Printed {
        let lines: [String]
        let notices: String
    }

    /// Runs a command, with the folder as its store.
    private func run(_ arguments: [String], at server: SampleServer, input: String) async throws -> BuiltTool.Outcome {
        var tool = BuiltTool("SampleClient")
        // The executable that was built with the tests, or another one.
        if let path = ProcessInfo.processInfo.environment["DIAMOND_SAMPLE_CLIENT"] { tool.url = URL(filePath: path) }
        let options = [
            "--server", server.url(""), "--store", folder.url.path, "--key-file", keys.url.appending(path: "key").path,
        ]
        return try await tool.run(arguments + options, input: input)
    }

    /// Runs a command, which must succeed.
    @discardableResult
    private func output(
        _ arguments: String..., at server: SampleServer, input: String = "", location: SourceLocation = #_sourceLocation
    ) async throws -> Printed {
        let outcome = try await run(arguments, at: server, input: input)
        #expect(outcome.status == 0, "\(outcome.errors)", sourceLocation: location)
        return Printed(lines: outcome.text.split(separator: "\n").map(String.init), notices: outcome.errors)
    }

    /// Runs a command, which must fail.
    ///
    /// - Returns: its message.
    private func failure(
        _ arguments: String..., at server: SampleServer, input: String = "", location: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let outcome = try await run(arguments, at: server, input: input)
        #expect(outcome.status != 0 && outcome.text.isEmpty, "\(outcome.text)", sourceLocation: location)
        return outcome.errors
    }

    /// Starts a server on a port that the system assigns to no other process while the server is stopped.
    private func startedServer() async throws -> SampleServer {
        for _ in 1...50 {
            if let server = try? await SampleServer.another(port: .random(in: 20_000..<30_000)) { return server }
        }
        return try await SampleServer.another()
    }

    private struct Effects: Decodable {
        let texts: [String]
        let byKey: [String: Int]
    }

    /// Returns the notes that a server has received since its start.
    private func effects(at server: SampleServer) async throws -> Effects {
        let engine = Engine(.init(store: nil))
        let effects = try await engine.send(Request(server.url("effects")).decoding(Effects.self))
        await engine.close()
        return effects
    }

    // MARK: With a server

    @Test func `a list is printed page by page, or whole`() async throws {
        let server = try await SampleServer.shared
        let swiss = ["cities", "--country", "CH", "--page-size", "4"]
        let page = try await run(swiss, at: server, input: "")
        #expect(page.text.split(separator: "\n").first == "2657896\tCH\t415367\tZürich")
        #expect(page.text.split(separator: "\n").count == 4 && page.errors.contains("4 of 6"))
        let all = try await run(swiss + ["--all"], at: server, input: "")
        #expect(all.text.split(separator: "\n").count == 6 && all.text.hasPrefix(page.text) && all.errors.isEmpty)
    }

    @Test func `a search finds a city without accents, and a second search is answered from the store`() async throws {
        let server = try await SampleServer.shared
        let first = try await output("search", "zurich", at: server)
        #expect(first.lines == ["2657896\tCH\t415367\tZürich"] && first.notices.isEmpty)
        let second = try await output("search", "zurich", at: server)
        #expect(second.lines == first.lines && second.notices.contains("stored data"))
    }

    @Test func `countries are sections, whose cities are sorted by name`() async throws {
        let lines = try await output("countries", "--min-population", "16000000", at: .shared).lines
        let cities = [
            "CD", "\t16000000\tKinshasa", "CN", "\t18960744\tBeijing", "\t16096724\tGuangzhou", "\t24874500\tShanghai",
            "\t17494398\tShenzhen",
        ]
        #expect(lines == cities)
    }

    @Test func `a watched city is printed in each of its states`() async throws {
        let lines = try await output("watch", "2661552", "--states", "3", "--every", "0.1", at: .shared).lines
        #expect(lines.count == 3)
        #expect(lines.last?.hasPrefix("Bern\t121631\tfrom ") == true, "\(lines)")
    }

    @Test func `a download has the bytes of the server, and shows its progress`() async throws {
        let (server, file) = (try await SampleServer.shared, folder.url.appending(path: "file"))
        let printed = try await output("download", "3000000", file.path, at: server)
        #expect(printed.lines == ["3000000 bytes in \(file.path)"] && printed.notices.contains("of 3000000 bytes"))
        let engine = Engine(.init(store: nil))
        #expect(try await engine.send(Request(server.url("wire/bytes/3000000"))).body == Data(contentsOf: file))
        await engine.close()
    }

    @Test func `an error says what the server has said`() async throws {
        let server = try await SampleServer.shared
        #expect(try await failure("city", "1", at: server).contains("There is no city 1"))
        #expect(try await failure("login", "ann", at: server, input: "another one\n").contains("The password is wrong"))
        #expect(try await failure("notes", at: server).contains("nobody is signed in"))
        #expect(try await failure("login", at: server).contains("Usage: SampleClient login"))
    }

    // MARK: Without a server

    @Test func `offline, a search prints stored data, and notes are sent once and in order afterwards`() async throws {
        let server = try await startedServer()
        #expect(try await output("login", "ann", at: server, input: "diamond\n").lines == ["signed in as ann"])
        let cities = try await output("search", "zurich", at: server).lines
        #expect(try await output("note", "2657896", "bread", at: server).lines == ["sent as note 1"])
        #expect(try await output("notes", at: server).lines == ["1\tbread"])

        await server.stop()
        let offline = try await output("search", "zurich", at: server)
        #expect(offline.lines == cities && offline.notices.contains("stored data"))
        #expect(try await failure("search", "bern", at: server).contains("nothing is stored"))
        for text in ["milk", "salt"] {
            let note = try await output("note", "2657896", text, at: server)
            #expect(note.lines.first?.hasPrefix("queued as job") == true)
        }
        let outbox = try await output("outbox", at: server).lines.map { $0.split(separator: "\t") }
        #expect(outbox.map { $0[2] } == ["milk", "salt"])
        let notes = try await output("notes", at: server)
        #expect(notes.lines == ["1\tbread", "-\tmilk", "-\tsalt"] && notes.notices.contains("stored data"))
        #expect(try await output("sync", at: server).lines == ["0 sent, 2 in the outbox"])

        let again = try await SampleServer.another(port: server.port)
        #expect(try await output("sync", at: again).lines.last == "2 sent, 0 in the outbox")
        #expect(try await output("sync", at: again).lines == ["0 sent, 0 in the outbox"])
        let effects = try await effects(at: again)
        #expect(effects.texts == ["milk", "salt"] && effects.byKey.values.allSatisfy { $0 == 1 })
        #expect(effects.byKey.count == 2)
        #expect(try await output("notes", at: again).lines == ["1\tmilk", "2\tsalt"])
        await again.stop()
    }

    @Test func `after a logout, the next user sees neither stored data nor queued notes`() async throws {
        let server = try await startedServer()
        try await output("login", "ann", at: server, input: "diamond\n")
        #expect(try await failure("login", "bob", at: server, input: "diamond\n").contains("ann is signed in"))
        #expect(try mode(of: "session.json") == 0o600)
        try await output("search", "zurich", at: server)
        await server.stop()
        try await output("note", "2657896", "milk", at: server)
        let logout = try await output("logout", at: server)
        #expect(logout.lines == ["signed out ann, 2 stored responses erased"])
        #expect(logout.notices.contains("still accepts"))
        #expect(!folder.names.contains("session.json"))

        let again = try await SampleServer.another(port: server.port)
        try await output("login", "bob", at: again, input: "diamond\n")
        #expect(try await output("outbox", at: again).lines.isEmpty)
        #expect(try await output("sync", at: again).lines == ["0 sent, 0 in the outbox"])
        #expect(try await output("note", "2657896", "rice", at: again).lines == ["sent as note 1"])
        #expect(try await output("search", "zurich", at: again).notices.isEmpty)

        try await output("logout", at: again)
        #expect(try await output("login", "ann", at: again, input: "diamond\n").lines == ["signed in as ann, 1 queued"])
        #expect(try await output("sync", at: again).lines.last == "1 sent, 0 in the outbox")
        #expect(try await effects(at: again).texts == ["rice", "milk"])
        await again.stop()
    }

    @Test(arguments: [false, true])
    func `after a logout, no file of the store contains anything of the user`(isDiscarding: Bool) async throws {
        let server = try await startedServer()
        try await output("login", "annabella", at: server, input: "diamond\n")
        try await output("note", "2657896", "bread and butter", at: server)
        try await output("notes", at: server)
        try await output("search", "zurich", at: server)
        #expect(try names(ofFilesWith: ["annabella"]) == ["session.json"])
        await server.stop()
        try await output("note", "2657896", "salt and pepper", at: server)
        let logout = isDiscarding ? ["logout", "--discard-notes"] : ["logout"]
        #expect(try await run(logout, at: server, input: "").status == 0)
        let texts = ["annabella", "bread and butter", "salt and pepper", "2657896", server.url("")]
        #expect(try names(ofFilesWith: texts).isEmpty)
        #expect(folder.names.contains("cache.sqlite") && folder.names.contains("replay.sqlite"))
        let again = try await SampleServer.another(port: server.port)
        let login = try await output("login", "annabella", at: again, input: "diamond\n")
        #expect(login.lines == ["signed in as annabella" + (isDiscarding ? "" : ", 1 queued")])
        await again.stop()
    }

    /// Returns the names of the store's files that contain any of the texts.
    private func names(ofFilesWith texts: [String]) throws -> [String] {
        let files = FileManager.default.enumerator(at: folder.url, includingPropertiesForKeys: [.isRegularFileKey])
        return try (files?.compactMap { $0 as? URL } ?? []).filter { file in
            guard try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { return false }
            let bytes = try Data(contentsOf: file)
            return texts.contains { bytes.firstRange(of: Data($0.utf8)) != nil }
        }.map(\.lastPathComponent)
    }

    private func mode(of name: String) throws -> Int? {
        let path = folder.url.appending(path: name).path
        return try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }
}
