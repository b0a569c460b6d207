import Diamond
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import DiamondCurlCommand

#if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
@Suite("A curl command given to a shell") struct CurlShellTests {
    private static let nasty = [
        "$(rm)", "`rm`", "it's", "\"", "\\", "\\'", "a\nb\n", "ü😀", "-rf", "!!", "$HOME", "'\u{301}'", "*", "@f",
        "%s%%\\n",
        "\u{1B}[0m", "\0", "#", "~", "{a,b}", "&|;<>", "", "a\tb", "\u{85}", "\u{202E}!", "\u{2028}\\",
    ]

    @Test(arguments: ["/bin/sh", "/bin/bash"].filter(FileManager.default.isExecutableFile), nasty)
    func `passes each argument to curl byte for byte`(shell: String, text: String) async throws {
        let body = RequestBody.bytes(Data(text.utf8), contentType: "text/plain")
        let header = text.filter(\.isPlain)
        let request = Request(
            "http://h/a", method: .post, parameters: ["q": text], headers: [.accept: header], body: body)
        let query = String(decoding: PercentEncoding.encode(text.utf8), as: UTF8.self)
        let said = Array(
            try await Self.run(request.curlCommand(), in: shell).split(separator: 0, omittingEmptySubsequences: false))
        #expect(said.first.map { Array($0) } == Array("http://h/a?q=\(query)".utf8))
        #expect(
            said.dropFirst(2).first.map { Array($0) } == Array((header.isEmpty ? "Accept;" : "Accept: \(header)").utf8))
        let isPiped = !text.isPrintable
        #expect(said.dropFirst(5).first.map { Array($0) } == Array((isPiped ? "--data-binary" : "--data-raw").utf8))
        #expect(said.dropFirst(6).first.map { Array($0) } == Array((isPiped ? "@-" : text).utf8))
        // The last part is the piped input, which may contain NULs itself.
        #expect(Array(said.dropFirst(8).joined(separator: [0])) == (isPiped ? Array(text.utf8) : []))
    }

    /// Words, unquoted or in part, that a shell may change.
    private static let words = [
        "~", "~/a", "~root", "a=~", "a=b:~", "a+=~/b", "_a1=~", "1a=~", "a:~", "a~", "-d=a=~", "'~'", "\\~", "a='~'",
        "{a,b}", "a{,b}c", "{a}", "{}", "{1..3}", "{3..1..2}", "{a..c}", "{aa..c}", "{1..c}", "{a,b", "{{a,b}",
        "{a{b,c}}", "{a\\,b}", "'{'a,b}", "{'a',b}", "{email:a@b.test,n:1}", "*", "b?n", "[a-z]*", "'*'", "\\*", "[]",
        "a[]", "=a",
    ]

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/bin/bash")), arguments: words)
    func `is refused if the shell changes a word of it`(word: String) async throws {
        let script = "cd /; printf '%s\\0' \(word)"
        let printed = try await ChildProcess.output(of: URL(filePath: "/bin/bash"), ["-c", script], environment: [:])
        let plain = word.replacing("\\", with: "").replacing("'", with: "")
        guard printed == Data((plain + "\0").utf8) else {
            let error = #expect(throws: RequestError.self) { try ShellLine("curl " + word) }
            return #expect(error?.message.contains("a shell would act on") == true)
        }
        guard let line = try? ShellLine("curl " + word) else { return #expect(Self.onlyInOtherShells.contains(word)) }
        #expect(try line.words.last?.text() == plain)
    }

    /// Words that zsh changes, and bash does not.
    private static let onlyInOtherShells = ["=a"]

    @Test func `uses the values of its variables`() async throws {
        let url = "http://h/?a=$b&token=s3cret"
        let request = Request(url, headers: [.authorization: "Bearer s3cret"])
        let command = "AUTHORIZATION='a b' TOKEN='$(rm)`'; " + (try request.curlCommand())
        let said = try await Self.run(command, in: "/bin/sh").split(separator: 0)
            .map { String(decoding: $0, as: UTF8.self) }
        #expect(said == ["http://h/?a=$b&token=$(rm)`", "-H", "Authorization: Bearer a b"])
    }

    /// Runs a command with a shell function in place of `curl`, and returns its arguments, each followed by a NUL,
    /// another NUL, and its standard input.
    ///
    /// A function, not a file: a file just written cannot be run while another test starts a process.
    private static func run(_ command: String, in shell: String) async throws -> Data {
        let script = "curl() { printf '%s\\0' \"$@\"; printf '\\0'; /bin/cat; }; " + command
        return try await ChildProcess.output(of: URL(filePath: shell), ["-c", script], environment: [:])
    }
}

extension Character {
    /// Whether the character may be part of a header's value.
    fileprivate var isPlain: Bool { self == "\t" || utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
}
#endif
