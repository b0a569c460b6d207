import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The text of public values") struct PublicTextTests {
    private static let errors: [any Error] = [
        ConnectionError(.timedOut, "too slow: try again"),
        TransportError(.timedOut, "too slow: try again", serverMayHaveActed: true),
        RequestError(.malformedURL, "too slow: try again"),
        CacheError(.busy, "too slow: try again"),
        ReplayError(.busy, "too slow: try again"),
        CacheSealError(.badKey, "too slow: try again"),
    ]

    @Test(arguments: errors) func `the text of an error is also its localizedDescription`(error: any Error) {
        #expect(error.localizedDescription == "too slow: try again")
        #expect("\(error)".hasPrefix("too slow: try again"))
    }

    @Test func `the localizedDescription of a recording's error is its message`() async throws {
        let transport = ReplayingTransport(Recording())
        let error = await #expect(throws: ConnectionError.self) {
            try await Engine.stub(transport).send(Request("http://h/"))
        }
        #expect(error?.localizedDescription == error?.message)
    }

    private static let states: [(ConnectionState, String)] = [
        (.ready, "ready"), (.paused, "paused"), (.executing(attempt: 2), "executing, attempt 2"),
        (.waiting(until: Date(timeIntervalSince1970: 0)), "waiting until 1970-01-01T00:00:00Z"),
        (.finished(.success), "finished: success"), (.finished(.cancelled), "finished: cancelled"),
    ]

    @Test(arguments: states) func `the text of a connection's state is in words`(state: ConnectionState, text: String) {
        #expect("\(state)" == text)
        #expect("\([state])" == "[\(text)]")
    }

    private static let postPolicy: CachePolicy = {
        var policy = CachePolicy.automatic
        policy.storesPost = true
        return policy
    }()

    private static let values: [(any Sendable, String)] = [
        (CachePolicy.noStore, "noStore"),
        (CachePolicy.automatic(maxAge: .milliseconds(1500)), "automatic, fresh for 1.5 s"),
        (postPolicy, "automatic, stores POST"),
        (TransferProgress(sent: 1, expectedToSend: 2, received: 3), "sent 1 of 2 bytes, received 3"),
        (BatchProgress(completed: 2, failed: 1, count: 3), "2 of 3, 1 failed"),
        (ReplayHold.lane("images"), "the lane 'images'"), (ReplayHold.engine, "engine"),
        (["a": [1, nil, "b"]] as JSONValue, #"{"a":[1,null,"b"]}"#), (JSONValue.number(.nan), "nan"),
        (RequestBody.bytes(Data("abc".utf8), contentType: "text/plain"), "3 bytes of text/plain"),
        (RequestBody.json(["password": "hunter2"]), "JSON"),
        (RequestBody.file(URL(filePath: "/tmp/a"), contentType: nil), "the file /tmp/a"),
        (RequestBody.multipart([MultipartPart("key", "hunter2")]), "multipart of key"),
        (RequestBody.form(["password": "hunter2"]), "form of password"),
        (["password": "hunter2", "page": 2] as Parameters, "password, page"),
    ]

    @Test(arguments: values) func `the text of a value describes it in a few words`(value: any Sendable, text: String) {
        #expect("\(value)" == text)
        #expect("\([value])" == "[\(text)]")
    }

    @Test func `the text of a snapshot is its request and its state`() {
        let connection = Connection(Request("http://h/a?token=hunter2"))
        #expect("\(connection.snapshot)" == "GET http://h/a…, ready")
    }

    @Test func `the text of a job is one line`() async throws {
        let temporary = TemporaryStore()
        let queue = try ReplayQueue(temporary.store)
        var request = Request("http://h/a?page=2", method: .post)
        request.replay = .durable
        request.replay.metadata = ["title": "hunter2"]
        let id = try #require(try await queue.enqueue(request))
        let job = try #require(try queue.job(id))
        #expect("\(job)" == "job 1: POST http://h/a…, ready (enqueued)")
    }

    /// Values that contain a secret in plain form.
    private static let secret = "hunter2"

    private static var secretive: [Any] {
        var request = Request(
            "http://u:hunter2@h/?token=hunter2", parameters: ["password": "hunter2"],
            headers: [.authorization: "hunter2"], body: .json(["password": "hunter2"]))
        request.credentials = [.bearer(.unnamed("hunter2"))]
        let headers: HTTPFields = [.setCookie: "hunter2", .location: "http://h/#access_token=hunter2"]
        let response = Response(
            status: .ok, headers: headers, body: Data("hunter2".utf8), source: .network,
            url: "http://u:hunter2@h/?token=hunter2")
        var error = ConnectionError(.badStatus, "no")
        error.response = response
        var configuration = Engine.Configuration(store: nil)
        configuration.headers = [.authorization: "hunter2"]
        configuration.baseURL = "http://u:hunter2@h/"
        let snapshot = ConnectionSnapshot(request: request, state: .finished(.success), result: .success(response))
        return [
            request, response, error, configuration, snapshot, request.parameters, request.body as Any,
            RequestBody.form(["password": "hunter2"]), RequestBody.bytes(Data("hunter2".utf8)),
            MultipartPart("password", "hunter2"), Result<Response, ConnectionError>.success(response),
            Result<Response, ConnectionError>.failure(error), Connection(request),
            StreamedResponse(whole: response), Download(response, in: nil, size: 7),
            request.decoding(JSONValue.self), request.parameters[0],
        ]
    }

    @Test func `no text contains a secret, however it is printed`() {
        for value in Self.secretive {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped, "\([value])", "\(["a": value])"] {
                #expect(!text.contains(Self.secret), "\(type(of: value))")
            }
        }
    }
}
