import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A body of files and parts", .limit(minutes: 5)) struct EngineUploadTests {
    private let temporary = TemporaryStore()
    private let folder = TemporaryFolder()

    private func file(_ name: String, _ content: Data) throws -> URL {
        try folder.file(name, content)
    }

    private func sent(_ request: Request, by kind: TransportKind = .curl) async throws -> Echo {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = kind.make()
        let engine = Engine(configuration)
        var request = request
        request.url = try await SampleServer.shared.url("wire/echo")
        let echo = try Echo(try await engine.send(request).body)
        await engine.close()
        return echo
    }

    @Test(arguments: TransportKind.allCases) func `a multipart body is sent as browsers send it`(kind: TransportKind)
        async throws
    {
        let parts = [
            MultipartPart("title", "a city"), MultipartPart("na\"me\r\n", "ü"),
            MultipartPart("photo", file: try file("a \"b\".jpg", Data([0, 255, 13, 10])), contentType: "image/jpeg"),
            MultipartPart("raw", .bytes(Data()), filename: ""),
        ]
        let request = Request("http://h/", method: .post, body: .multipart(parts))
        let echo = try await sent(request, by: kind)
        let type = try #require(echo.fields.first { $0.hasPrefix("Content-Type") })
        let boundary = try #require(type.components(separatedBy: "boundary=").last)
        #expect(type == "Content-Type: multipart/form-data; boundary=\(boundary)")
        #expect(echo.fields.contains("Content-Length: \(echo.body.count)"))
        var expected = Data(
            """
            --B\r\nContent-Disposition: form-data; name="title"\r\n\r\na city\r\n\
            --B\r\nContent-Disposition: form-data; name="na%22me%0D%0A"\r\n\r\nü\r\n\
            --B\r\nContent-Disposition: form-data; name="photo"; filename="a %22b%22.jpg"\r\n\
            Content-Type: image/jpeg\r\n\r\n
            """.replacing("B\r\n", with: "\(boundary)\r\n").utf8)
        expected += [0, 255, 13, 10]
        expected += Data(
            "\r\n--\(boundary)\r\nContent-Disposition: form-data; name=\"raw\"; filename=\"\"\r\n\r\n\r\n--\(boundary)--\r\n"
                .utf8)
        #expect(echo.body == expected)
    }

    @Test(arguments: TransportKind.allCases, [0, 1, 3_000_000])
    func `a file body is sent whole, however long the file is`(kind: TransportKind, count: Int) async throws {
        let url = try file("data", Pattern.bytes(count: count))
        let request = Request("http://h/", method: .put, body: .file(url, contentType: "application/octet-stream"))
        let echo = try await sent(request, by: kind)
        #expect(echo.body == Pattern.bytes(count: count))
        #expect(echo.fields.contains("Content-Type: application/octet-stream"))
    }

    @Test func `a multipart body has a new boundary each time, and always the same identity`() async throws {
        let request = Request("http://h/", method: .post, body: .multipart([MultipartPart("a", "b")]))
        let (one, other) = (try await sent(request), try await sent(request))
        #expect(one.body != other.body)
        #expect(
            try form(request) == """
                diamond 1
                method POST
                origin http://h
                path /
                type multipart/form-data
                part name=a 1 3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d

                """
        )
    }

    private func form(_ request: Request) throws -> String {
        try CanonicalForm(of: request, rules: CanonicalFormTests.rules).text
    }

    private func form(_ parts: MultipartPart...) throws -> String {
        try form(Request("http://h/", method: .post, body: .multipart(parts)))
    }

    @Test func `a multipart body differs by every property of a part, and by their order`() throws {
        let (a, b) = (MultipartPart("a", "1"), MultipartPart("b", "2"))
        let forms = [
            try form(a, b), try form(b, a), try form(a), try form(), try form(MultipartPart("a", "2")),
            try form(MultipartPart("a", .bytes(Data("1".utf8)), filename: "")),
            try form(MultipartPart("a", .bytes(Data("1".utf8)), filename: "x")),
            try form(MultipartPart("a", .bytes(Data("1".utf8)), contentType: "x")),
            try form(MultipartPart("a filename=x", "1")), try form(MultipartPart("password", "1")),
        ]
        #expect(Set(forms).count == forms.count)
        #expect(forms.last?.contains("secret-part password ") == true)
    }

    @Test func `a file body has the identity of its bytes`() throws {
        let url = try file("data", Data("abc".utf8))
        let (bytes, file) = (
            RequestBody.bytes(Data("abc".utf8), contentType: "t"), RequestBody.file(url, contentType: "t")
        )
        #expect(try form(Request("http://h/", body: bytes)) == form(Request("http://h/", body: file)))
        #expect(try form(MultipartPart("a", "abc")) == form(MultipartPart("a", .file(url))))
    }

    @Test(arguments: ["/dev/zero", "/", "/no/such/file"])
    func `a body without a readable file has no identity, and is refused at once`(path: String) {
        let body = RequestBody.file(URL(filePath: path), contentType: "t")
        let error = #expect(throws: RequestError.self) { try form(Request("http://h/", body: body)) }
        #expect(error?.code == .unreadableFile)
    }

    @Test func `a file body has another identity when its file has changed, though size and name are the same`() throws
    {
        let url = try file("data", Data("abc".utf8))
        let before = try form(MultipartPart("a", .file(url)))
        #expect(try form(MultipartPart("a", .file(url))) == before)
        try Data("abd".utf8).write(to: url)
        #expect(try form(MultipartPart("a", .file(url))) != before)
    }

    @Test(arguments: [false, true])
    func `a file body is read again each time its request is sent`(isPart: Bool) async throws {
        let url = try file("data", Data("abc".utf8))
        let stub = StubTransport(headers: [.cacheControl: "max-age=3600"])
        let engine = temporary.engine(stub)
        let body = isPart ? RequestBody.multipart([MultipartPart("a", file: url)]) : .file(url)
        let request = Request("http://h/", method: .query, body: body)
        #expect(try await engine.send(request).source == .network)
        #expect(try await engine.send(request).source == .cache)
        try Data("abd".utf8).write(to: url)
        #expect(try await engine.send(request).source == .network)
        await engine.close()
    }

    @Test func `a file body fails with the name of an unreadable file before anything is sent`() async throws {
        let missing = temporary.directory.appending(path: "missing")
        for body in [RequestBody.file(missing), .multipart([MultipartPart("a", file: missing)])] {
            let error = await #expect(throws: ConnectionError.self) {
                try await sent(Request("http://h/", method: .post, body: body))
            }
            #expect((error?.cause as? RequestError)?.code == .unreadableFile)
            #expect(error?.message.contains("missing' cannot be read") == true)
        }
        let folder = RequestBody.file(FileManager.default.temporaryDirectory)
        #expect(throws: RequestError.self) { try form(Request("http://h/", body: folder)) }
    }

    /// Changes of a file of ten bytes.
    enum Change: CaseIterable {
        case longer, shorter, other, gone

        func make(_ file: URL) throws {
            switch self {
            case .longer: try Data("twenty other letters".utf8).write(to: file)
            case .shorter: try Data("short".utf8).write(to: file)
            // Another file of the same size: the clock of the file system may not tell two writes apart.
            case .other: try Data("other ten!".utf8).write(to: file, options: .atomic)
            case .gone: try FileManager.default.removeItem(at: file)
            }
        }
    }

    @Test(arguments: Change.allCases)
    func `a file body is not read where its file has changed since its length was known`(change: Change) async throws {
        let url = try file("data", Data("ten letter".utf8))
        let pieces = BodyPieces(segments: try RequestBody.file(url).segments(.standard, boundary: ""))
        try change.make(url)
        var iterator = pieces.makeAsyncIterator()
        let error = await #expect(throws: RequestError.self) { try await iterator.next() }
        #expect(error?.code == .unreadableFile)
    }

    @Test func `a file body does not end early where its file changes during the read`() async throws {
        let url = try file("data", Pattern.bytes(count: 600_000))
        let pieces = BodyPieces(segments: try RequestBody.file(url).segments(.standard, boundary: ""))
        var iterator = pieces.makeAsyncIterator()
        #expect(try await iterator.next()?.count == 256 << 10)
        let handle = try FileHandle(forWritingTo: url)
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("more".utf8))
        try handle.close()
        #expect(try await iterator.next()?.count == 256 << 10)
        let error = await #expect(throws: RequestError.self) { try await iterator.next() }
        #expect(error?.code == .unreadableFile)
        #expect(error?.message.contains("changed since it was checked: send a copy") == true)
    }

    /// Changes a file when only the sending is left.
    private struct FileChangingInterceptor: Interceptor {
        let file: URL
        let change: Change

        func adapt(_ request: inout TransportRequest, attempt: Int) async throws { try change.make(file) }
    }

    @Test(arguments: TransportKind.allCases, [Change.longer, .other])
    func `a file that changes just before it is sent fails the request`(kind: TransportKind, change: Change)
        async throws
    {
        let url = try file("data", Data("ten letter".utf8))
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = kind.make()
        configuration.interceptors = [FileChangingInterceptor(file: url, change: change)]
        let engine = Engine(configuration)
        let request = Request(try await SampleServer.shared.url("wire/echo"), method: .put, body: .file(url))
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(request) }
        #expect(error?.code == .badRequest)
        await engine.close()
    }

    /// Changes a file in its first call, which is after the key and before the body.
    private struct FileChangingProvider: CredentialProvider {
        let file: URL
        let changes = Guarded([Change.other])

        func secret(_ name: String, for identity: String?) async throws -> String? {
            try changes.withLock { $0.popLast() }?.make(file)
            return "t"
        }
    }

    @Test(arguments: [false, true])
    func `a file body is not sent if the file changes after the key was computed`(isPart: Bool) async throws {
        let url = try file("data", Data("ten letter".utf8))
        let stub = StubTransport(headers: [.cacheControl: "max-age=3600"])
        var configuration = Engine.Configuration(testing: stub)
        configuration.store = temporary.store
        configuration.credentials = FileChangingProvider(file: url)
        let engine = Engine(configuration)
        let body = isPart ? RequestBody.multipart([MultipartPart("a", file: url)]) : .file(url)
        var request = Request("http://h/", method: .query, body: body)
        (request.identity, request.credentials) = ("anna", [.bearer(.secret("token"))])
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(request) }
        #expect((error?.cause as? RequestError)?.code == .unreadableFile && stub.requests.isEmpty)
        // The unchanged file has no stored response.
        try Data("ten letter".utf8).write(to: url)
        #expect(try await engine.send(request).source == .network)
        #expect(try await engine.send(request).source == .cache)
        await engine.close()
    }

    @Test func `a multipart body sets its Content-Type itself`() {
        let request = Request("http://h/", method: .post, headers: [.contentType: "a"], body: .multipart([]))
        #expect(throws: RequestError.self) { try WireRequest(request) }
        let part = MultipartPart("a", .bytes(Data()), contentType: "a\r\nb")
        #expect(throws: RequestError.self) { try part.head() }
    }

    @Test(arguments: [
        #"{"body":{"multipart":[{"name":"a","text":"1"},{"contentType":"t","file":"/f","filename":"n","name":"b"}]}}"#,
        #"{"body":{"multipart":[{"base64":"/w==","name":"a"}]}}"#, #"{"body":{"contentType":"t","file":"/f"}}"#,
    ]) func `decodes as it was encoded`(text: String) throws {
        let full = text.dropLast() + #","method":"POST","url":"http://h/","version":1}"#
        #expect(String(decoding: try Request(json: Data(full.utf8)).json(), as: UTF8.self) == full)
    }

    @Test(arguments: [
        (#"{"multipart": 1}"#, "is no array"), (#"{"multipart": [{"text": "a"}]}"#, "name the field"),
        (#"{"multipart": [{"name": "a"}]}"#, "give one"),
        (#"{"multipart": [{"name": "a", "base64": "%"}]}"#, "correct it"),
        (#"{"multipart": [{"name": "a", "text": "b", "file": "c"}]}"#, "not known here"),
    ]) func `an invalid encoded body is refused with the remedy`(body: String, remedy: String) {
        let text = #"{"url": "http://h/", "body": \#(body)}"#
        let error = #expect(throws: RequestError.self) { try Request(json: Data(text.utf8)) }
        #expect(error?.message.contains(remedy) == true, "\(error?.message ?? "")")
    }
}
