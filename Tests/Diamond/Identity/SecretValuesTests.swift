import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The message of a refused response", .limit(minutes: 5)) struct SecretValuesTests {
    /// A request with a secret, the text by which a server repeats it, and that text in the message.
    struct Row: Sendable, CustomTestStringConvertible {
        var request: Request
        let repeated: String
        let shown: String

        init(
            to url: String = "https://h/", _ repeated: String, _ shown: String,
            change: (inout Request) -> Void = { _ in }
        ) {
            request = Request(url)
            change(&request)
            self.repeated = repeated
            self.shown = shown
        }

        var testDescription: String { repeated }
    }

    private static let custom = HTTPField.Name("X-Custom") ?? .cookie
    private static let key = HTTPField.Name("X-API-Key") ?? .cookie

    private static let rows: [Row] = [
        Row("token abcdef is expired", "token ••• is expired") { $0.headers[.authorization] = "Bearer abcdef" },
        Row("Bearer abcdef", "•••") { $0.headers[.authorization] = "Bearer abcdef" },
        Row("'xabcdefx'", "'x•••x'") { $0.credentials = [.bearer(.unnamed("abcdef"))] },
        Row("no user has s3cret", "no user has •••") { $0.credentials = [.header(custom, .secret("named"))] },
        Row("no user has s3cret", "no user has •••") { $0.credentials = [.parameter("q", .secret("named"))] },
        Row(to: "https://ann:pass%20word@h/", "ann may not use 'pass word'", "ann may not use '•••'"),
        Row("key 12-34 of X", "key ••• of X") { $0.headers[key] = "12-34" },
        Row("session abc, theme dark", "session •••, theme •••") { $0.headers[.cookie] = "id=abc; theme=dark" },
        Row(to: "https://h/?api_key=a%2Bb&page=7", "a+b, a%2Bb, page 7", "•••, •••, page 7"),
        Row("pin 1234", "pin •••") {
            $0.rules.secrets = ["pin"]
            $0.parameters = ["pin": "1234"]
        },
        Row("abc and abcdef", "••• and •••") { $0.parameters = ["token": "abc", "password": "abcdef"] },
        Row("7 of 17 in 7.", "••• of 17 in •••.") { $0.parameters = ["token": "7"] },
        Row("wrong: hunter2 for ann", "wrong: ••• for ann") {
            $0.method = .post
            $0.body = .json(["user": ["name": "ann", "password": "hunter2"]])
        },
        Row("wrong: hunter2 for ann", "wrong: ••• for ann") {
            $0.method = .post
            $0.body = .form(["user": "ann", "password": "hunter2"])
        },
        Row("as sent: plain", "as sent: plain") { $0.headers[custom] = "plain" },
    ]

    private func engine(_ repeated: String) throws -> Engine {
        let body = String(decoding: try JSONEncoder().encode(["detail": repeated]), as: UTF8.self)
        var configuration = Engine.Configuration()
        configuration.transport = StubTransport(
            status: 403, headers: [.contentType: "application/problem+json"], body: body)
        configuration.credentials = KnownSecrets(["named": "s3cret"])
        return Engine(configuration)
    }

    @Test(arguments: rows) func `has none of the request's secrets, also if the server repeats them`(row: Row)
        async throws
    {
        let engine = try engine(row.repeated)
        let error = await #expect(throws: ConnectionError.self) { try await engine.successfulResponse(to: row.request) }
        #expect(error?.message.hasSuffix(" answered 403: \(row.shown)") == true, "\(error?.message ?? "")")
        #expect(error?.problem?.detail == row.repeated)
        await engine.close()
    }

    @Test func `has none if the response comes from the cache, or an interceptor refuses it`() async throws {
        var request = Request("https://h/", headers: [.authorization: "Bearer abcdef"])
        let temporary = TemporaryStore()
        let transport = StubTransport(
            status: 404, headers: [.contentType: "application/problem+json", .cacheControl: "max-age=60"],
            body: #"{"title":"abcdef"}"#)
        let engine = temporary.engine(transport)
        // The secrets of the request that a stored response answered are not known, so its text is not repeated.
        for (source, shown) in [(Response.Source.network, "•••"), (.cache, "see the response")] {
            let error = await #expect(throws: ConnectionError.self) { try await engine.successfulResponse(to: request) }
            #expect(error?.response?.source == source && error?.message.hasSuffix("404: \(shown)") == true)
        }
        await engine.close()
        request.cache = .reload
        let validating = temporary.engine(transport) { $0.interceptors = [ResponseValidator()] }
        let error = await #expect(throws: ConnectionError.self) { try await validating.send(request) }
        #expect(error?.message.hasSuffix(": •••") == true, "\(error?.message ?? "")")
        await validating.close()
    }
}
