import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@Suite("The completions and the man page of cachectl", .limit(minutes: 2)) struct ReleaseTests {
    private let cachectl = Shell()
    private let folder = TemporaryFolder()

    /// Prints what bash offers for the last of some words.
    private static let complete = #"""
        source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _cachectl cachectl "${@: -1}" "${@: -2:1}"; printf '%s\n' "${COMPREPLY[@]}"
        """#

    /// The script for bash, which the debug build takes a second to write.
    private func script() async throws -> String {
        let script = try await cachectl("--generate-completion-script", "bash")
        try #require(script.status == 0 && script.errors.isEmpty)
        return try cachectl.file("cachectl.bash", script.text)
    }

    private func completions(of words: String, by script: String) async throws -> [String] {
        var bash = cachectl.tool()
        bash.url = URL(filePath: "/bin/bash")
        let arguments = ["-c", Self.complete, script, "cachectl"] + words.components(separatedBy: " ")
        let outcome = try await bash.run(arguments)
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(words): \(outcome.errors)")
        return outcome.text.split(separator: "\n").map(String.init)
    }

    private static let values: KeyValuePairs = [
        "queue list --state d": ["done", "dead"], "queue add u --uniqueness r": ["replace"],
        "list --by l": ["largest"], "send u --policy re": ["revalidate", "reload"], "send u --replay d": ["durable"],
        "ver": ["verify"], "queue red": ["redrive"], "export --with": ["--with-secrets"],
    ]

    @Test func `offer commands, options, and the values of options`() async throws {
        let script = try await script()
        for (words, offered) in Self.values {
            #expect(try await completions(of: words, by: script) == offered, "\(words)")
        }
    }

    @Test func `offer directories where a store is wanted, and files where a file is`() async throws {
        let script = try await script()
        let directory = folder.url.appending(path: "some.store")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let file = try folder.file("some.har", Data())
        let beginning = folder.url.appending(path: "some.").path
        for words in ["list --store", "doctor --store", "queue list --store", "queue move"] {
            #expect(try await completions(of: "\(words) \(beginning)", by: script) == [directory.path], "\(words)")
        }
        for words in ["import", "show 4f2a --output", "list --key-file", "queue edit 1", "proxy --ca-file", "send"] {
            let offered = try await completions(of: "\(words) \(beginning)", by: script)
            #expect(Set(offered) == [directory.path, file.path], "\(words)")
        }
    }

    @Test(arguments: ["zsh", "fish"]) func `are written for other shells`(shell: String) async throws {
        let script = try await cachectl("--generate-completion-script", shell)
        #expect(script.status == 0 && script.text.contains("cachectl") && script.text.contains("needsReview"))
    }

    private static let hasPython = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .contains { FileManager.default.isExecutableFile(atPath: "\($0)/python3") }

    @Test(.enabled(if: hasPython, "scripts/manual needs python3"))
    func `has a section of every command, with its options`() async throws {
        let dump = try await cachectl("--experimental-dump-help").text
        var python = BuiltTool("")
        python.url = URL(filePath: "/usr/bin/env")
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../scripts/manual").path
        let page = try await python.run(["python3", script, "1.2.3", "2026-08-01"], input: dump)
        try #require(page.status == 0, "\(page.errors)")
        let lines = page.text.split(separator: "\n")
        #expect(lines.prefix(3) == [".Dd August 1, 2026", ".Dt CACHECTL 1", #".Os "\&Diamond 1.2.3""#])
        #expect(lines.contains(".Sh EXIT STATUS") && lines.contains(".Ss cachectl queue hold"))
        #expect(lines.contains(#".It Fl "\&\-older\-than" Ar "\&AGE""#))
        #expect(lines.contains(#"cachectl queue hold \-\-lane images \-\-reason 'server maintenance'"#))
        let commands = dump.matches(of: /"commandName" ?: ?"([a-z]+)"/).map(\.output.1)
        for command in commands where command != "help" && command != "cachectl" {
            #expect(lines.contains { $0.hasPrefix(".Ss cachectl ") && $0.hasSuffix(" \(command)") }, "\(command)")
        }
        // A line that begins with a point is a macro.
        #expect(lines.allSatisfy { !$0.hasPrefix(".") || $0.contains(/^\.[A-Z][a-z]( |$)/) })
    }
}
