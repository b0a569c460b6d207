import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The output of cachectl", .limit(minutes: 5)) struct TerminalTests {
    private let cachectl = Shell()

    @Test(arguments: [
        ["list", "--by", "\u{1B}[31m"], ["queue", "show", "\u{1B}[31m"], ["\u{1B}[31m"],
        ["send", "http://h/", "--\u{1B}[31m"], ["list", "--app", "\u{1B}[31m"],
    ]) func `repeats no control character of an argument`(arguments: [String]) async throws {
        let outcome = try await cachectl(arguments)
        #expect(outcome.status != 0 && !(outcome.errors + outcome.text).contains("\u{1B}"))
        #expect(outcome.errors.contains(#"\u{1B}[31m"#) || outcome.errors.contains("%1B"))
    }

    @Test func `has the usage and the errors of the argument parser`() async throws {
        let help = try await cachectl("--help")
        #expect(help.status == 0 && help.text.contains("USAGE: cachectl <subcommand>") && help.errors.isEmpty)
        let wrong = try await cachectl("list", "--by", "age")
        #expect(wrong.status == 64 && wrong.text.isEmpty && wrong.errors.hasPrefix("Error: The value 'age' is invalid"))
        #expect(wrong.errors.contains("Usage: cachectl list"))
        #expect(try await cachectl("--version").text == "0.1.0-dev\n")
    }

    @Test func `has help of 80 columns, whose lists and examples are not wrapped`() async throws {
        var commands = [[String]]()
        var next = [[]] as [[String]]
        while let command = next.popLast() {
            commands.append(command)
            var tool = cachectl.tool()
            tool.environment["COLUMNS"] = "80"
            let text = try await tool.run(command + ["--help"]).text
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.allSatisfy { $0.count <= 80 || $0.hasPrefix("USAGE: ") }, "\(command)")
            for (title, line) in Self.sectionLines(lines) {
                #expect(line.hasPrefix("  "), "\(command) \(title): \(line)")
            }
            let prose = lines.prefix { !Self.isTitle($0) && !$0.hasPrefix("USAGE: ") }
            #expect(!prose.contains { $0.contains("  ") }, "\(command)")
            let example = lines.drop { $0 != "EXAMPLE" }.dropFirst().prefix { !$0.isEmpty }
            let words = example.joined(separator: " ").split(separator: " ")
            #expect(words.starts(with: (["cachectl"] + command).map { Substring($0) }), "\(command)")
            #expect(words.count { $0 == "cachectl" } == 1, "\(command)")
            for option in words where option.hasPrefix("-") {
                #expect(text.split { " ,\n[]".contains($0) }.contains(option), "\(command) \(option)")
            }
            let subcommands = lines.drop { $0 != "SUBCOMMANDS:" }.dropFirst().prefix { !$0.isEmpty }
            next += subcommands.filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
                .compactMap { $0.split(separator: " ").first.map { command + [String($0).replacing(",", with: "")] } }
        }
        #expect(commands.count > 30)
    }

    @Test func `has no group of options in another group, which debug builds read four times as often`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/cachectl/Options")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.count > 10)
        for name in names {
            let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            #expect(!text.contains("@OptionGroup"), "\(name)")
        }
    }

    private static func isTitle(_ line: Substring) -> Bool { line.wholeMatch(of: /[A-Z ]+:?/) != nil }

    /// Returns the lines below the titles in capitals, such as `EXIT CODES`.
    private static func sectionLines(_ lines: [Substring]) -> [(title: Substring, line: Substring)] {
        var title: Substring?
        return lines.compactMap { line in
            guard !line.isEmpty else {
                title = nil
                return nil
            }
            if let title { return (title, line) }
            if isTitle(line) { title = line }
            return nil
        }
    }

    private static let printing = [
        ["--help"], ["list"], ["list", "--json"], ["stats"], ["doctor"], ["key", "http://h/"],
        ["explain", "http://h/"],
        ["send", "http://127.0.0.1:9/"], ["send", "http://127.0.0.1:9/", "--json"],
    ]

    @Test(arguments: printing) func `ends silently if its reader has left`(arguments: [String]) async throws {
        try await cachectl.store([StoredEntry(url: "http://127.0.0.1:9/")])
        let tool = cachectl.tool()
        let (output, errors) = (Pipe(), Pipe())
        try output.fileHandleForReading.close()
        let process = try ChildProcess(
            tool.url, arguments, environment: ProcessInfo.processInfo.environment.merging(tool.environment) { $1 },
            output: .pipe(output), errors: .pipe(errors))
        #expect(await errors.readAll().isEmpty)
        // A process whose parent ignores SIGPIPE ignores it, too.
        #expect([.exited(128 + SIGPIPE), .killed(by: SIGPIPE)].contains(await process.ended()))
    }

    @Test func `names an argument that is not UTF-8`() async throws {
        var shell = BuiltTool("cachectl")
        let tool = shell.url.path
        shell.url = URL(filePath: "/bin/sh")
        let script = #"exec "$0" send "$(printf 'http://h/\351')""#
        let outcome = try await shell.run(["-c", script, tool])
        #expect(outcome.status == 64)
        #expect(
            outcome.errors == "cachectl: argument 2 is not UTF-8: write it in UTF-8, or a byte of a URL as in %E9\n")
    }

    @Test func `escapes the path of a store`() async throws {
        let folder = TemporaryFolder()
        let store = folder.url.appending(path: "a\u{1B}[31mb")
        _ = try Cache(Store(directory: store))
        let outcome = try await cachectl("stats", "--store", store.path)
        #expect(outcome.status == 0 && outcome.text.contains(#"a\u{1B}[31mb"#) && !outcome.text.contains("\u{1B}"))
    }

    /// Characters that control a terminal, change the direction of a text, or have no width.
    private static let hidden: [Character] = [
        "\u{1B}", "\u{7F}", "\u{9B}", "\u{202E}", "\u{2066}", "\u{200B}", "\u{AD}", "\u{E0041}",
    ]

    @Test(arguments: hidden) func `escapes invisible characters of a job`(character: Character) async throws {
        let text = "a\(character)b"
        var request = Request("http://127.0.0.1:9/", method: .post)
        request.tags = [text]
        request.replay = ReplayPolicy(.durable, orderingKey: text, metadata: ["note": .string(text)])
        _ = try await ReplayQueue(cachectl.temporary.store).enqueue(request)
        for command in ["queue show 1", "queue keys", "queue list", "queue show 1 --json"] {
            let outcome = try await cachectl(command.split(separator: " ").map(String.init))
            #expect(outcome.status == 0)
            #expect(!outcome.text.unicodeScalars.contains { character.unicodeScalars.contains($0) })
        }
        #expect(try await cachectl("queue", "show", "1", "--json").text.contains("\"note\" : \"a\\u"))
    }

    /// Bodies, and how a terminal shows each.
    private static let bodies: [(body: Data, shown: String)] = [
        (Data("{\"a\":\t\"ü😀\"}\r\nb".utf8), "{\"a\":        \"ü😀\"}\nb\n"),
        (Data("a\u{1B}[31m\u{202E}\u{9B}b\rc\n".utf8), #"a\u{1B}[31m\u{202E}\u{9B}b\u{D}c"# + "\n"),
        (Data([0x1B, 0xFF, 0x9B]), ""),
    ]

    @Test(arguments: bodies) func `is a body byte for byte in a pipe, and escaped on a terminal without --raw`(
        body: Data, shown: String
    ) async throws {
        try await cachectl.store([StoredEntry(url: "http://127.0.0.1:9/", body: body)])
        let entries = try JSONSerialization.jsonObject(with: try await cachectl("list", "--json").output)
        let key = try #require((entries as? [[String: Any]])?.first?["key"] as? String)
        for arguments in [["show", key, "--body"], ["send", "http://127.0.0.1:9/"]] {
            #expect(try await cachectl(arguments).output == body)
            let onTerminal = try await cachectl.tool().runOnTerminal(arguments)
            #expect(onTerminal.ending == .exited(0))
            #expect(onTerminal.text.replacing("\t", with: "        ") == shown)
            let raw = try await cachectl.tool().runOnTerminal(arguments + ["--raw"])
            #expect(raw.text.contains("\u{1B}") == body.contains(0x1B))
        }
    }
}
