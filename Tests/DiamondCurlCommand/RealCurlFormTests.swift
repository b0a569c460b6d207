import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondCurlCommand

#if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
@Suite(
    "A form, sent by the real curl", .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")),
    .limit(minutes: 5))
struct RealCurlFormTests {
    /// Answers with the body it was sent.
    private let server: RawServer
    private let folder = TemporaryFolder()
    private var directory: URL { folder.url }

    init() throws {
        server = try RawServer { connection in
            let length = connection.readHead()?.firstMatch(of: #/(?i)content-length: (\d+)/#).flatMap { Int($0.1) }
            guard let length, let body = connection.read(length) else { return }
            connection.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: \(length)\r\n\r\n")
            connection.write(body)
        }
        for name in ["f.png", "f.txt", "f", "a,b;c.html", "it's \"\\.xml"] {
            _ = try folder.file(name, Data("content of \(name)".utf8))
        }
    }

    @Test(
        arguments: [
            "-F a=b", "--form-string 'a=@b;type=c/d \"'", "-F 'a= b '", #"-F 'a=" b;\"\\\n "'"#, "-F 'a=\"b'",
            "-F a=b,c",
            "-F 'a=b;type=c/d; e=\"f g\" ;filename=h'", "-F 'a=b; FILENAME= h ; Type= c/d,e'", "-F 'a=b;;type=c/d;;'",
            "-F 'a=b;type=c/d;type=e/f'", "-F 'a=b;type=text/plain'", "-F 'a=b;type=c/d;filename=g;type=e/f'",
            #"-F 'a=b;filename="c\";\\d"'"#, "-F 'a=b;filename='", "-F 'a=b;filename=c;filename=d'",
            "-F 'a=b;filename=d/c.PNG'", "-F 'a=b;filename=c.txt'", "-F 'a=b;filename=c.bin'", "-F a=@f.png",
            "-F 'a=@ f '", "-F a=@f.txt", "-F 'a=@\"a,b;c.html\"'", "-F 'a=@f;type=c/d'",
            "-F 'a=@f.png;filename=g.bin'",
            "-F 'a=@f;filename=g.pdf'", "-F 'a=<f.png'", "-F 'a=<f.txt'", "-F 'a=<f'", "-F 'a=<f;type=c/d'",
            "-F b=1 -F a=2 --form-string b=3 -H 'Content-Type: multipart/form-data' -G", #"-F "$(printf 'a=\377\n"')""#,
        ])
    func `is read as the body that curl sends`(arguments: String) async throws {
        let absolute = arguments.replacing("@f", with: "@\(directory.path)/f").replacing(
            "<f", with: "<\(directory.path)/f"
        )
        .replacing("@\"", with: "@\"\(directory.path)/").replacing("@ f", with: "@ \(directory.path)/f")
        let command = "curl \(server.base)/ " + absolute
        #expect(try await body(sentBy: command) == body(of: Request(curl: command)))
    }

    private static let nasty = [
        "it's", "\"", "\\", "\\\"", "a\nb\n", "ü😀", " a ", "@f", "<f", "(", ";type=a/b", "$(rm)`rm`$HOME!!", "%s%%\\n",
        "-F",
        "\u{1B}[0m", "\r\n", "\u{1}\u{7F}", "", "a,b;c",
    ]

    @Test(arguments: ["/bin/sh", "/bin/bash"].filter(FileManager.default.isExecutableFile), nasty)
    func `arrives byte for byte as the request's body`(shell: String, text: String) async throws {
        let bytes = MultipartPart.Content.bytes(Data(text.utf8 + [0xFF, 0x0A]))
        let parts = [
            MultipartPart("n" + text.withoutEquals, text),
            MultipartPart("a", .bytes(Data(text.utf8)), filename: text, contentType: "a/b; c=\"d\""),
            MultipartPart("b", bytes), MultipartPart("c", bytes, filename: text),
            MultipartPart("d", file: directory.appending(path: "it's \"\\.xml"), contentType: "a/b"),
            MultipartPart("e", .file(directory.appending(path: "a,b;c.html")), contentType: "a/b"),
            MultipartPart("f", .file(directory.appending(path: "f")), filename: text, contentType: "a/b"),
        ]
        let request = Request(server.base + "/", method: .post, body: .multipart(parts))
        #expect(try await body(sentBy: request.curlCommand(), in: shell) == body(of: request))
    }

    @Test func `uses the values of its variables`() async throws {
        let parts = [
            MultipartPart("password", "@it's;\"\\"),
            MultipartPart("token", .bytes(Data("a\"\\b".utf8)), contentType: "a/b"),
        ]
        let request = Request(server.base + "/", method: .post, body: .multipart(parts))
        let variables = #"PASSWORD='@it'\''s;"\'; TOKEN='a\"\\b'; "#
        #expect(try await body(sentBy: variables + request.curlCommand()) == body(of: request))
    }

    /// The body with another boundary.
    private func body(of request: Request) throws -> Data? {
        let segments = try request.body?.segments(.standard, boundary: "B") ?? []
        return try segments.reduce(into: Data()) { body, segment in
            switch segment {
            case .bytes(let data): body += data
            case .file(let look): body += try Data(contentsOf: URL(filePath: look.path))
            }
        }
    }

    private func body(sentBy command: String, in shell: String = "/bin/sh") async throws -> Data? {
        let script = "curl() { command curl -sS --max-time 250 \"$@\"; }; " + command
        let sent = try await ChildProcess.output(
            of: URL(filePath: shell), ["-c", script], environment: ["PATH": "/usr/bin:/bin"])
        let boundary = sent.dropFirst(2).prefix { $0 != 0x0D }
        var body = sent
        while let range = body.firstRange(of: boundary) { body.replaceSubrange(range, with: Data("B".utf8)) }
        return body
    }
}
#endif
