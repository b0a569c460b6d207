import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Texts that only look the same") struct ExactTextTests {
    private static let (composed, decomposed) = ("\u{E9}", "e\u{301}")

    @Test func `are different`() {
        let (one, other) = (ExactText(Self.composed), ExactText(Self.decomposed))
        #expect(Self.composed == Self.decomposed && one != other && Set([one, other]).count == 2)
        #expect(one == ExactText("\u{E9}") && !Self.composed.isExactly(Self.decomposed) && "".isExactly(""))
        #expect(!String?.none.isExactly("") && String?.none.isExactly(nil) && !Optional("").isExactly(nil))
    }

    @Test func `tags that only look the same are two tags`() async throws {
        var tags: Tags = [Self.composed, Self.decomposed, "a", "a"]
        #expect(tags.count == 3 && tags.contains(Self.decomposed) && !tags.insert("a").inserted)
        #expect(tags.sorted().map { Array($0.utf8) } == ["a", Self.decomposed, Self.composed].map { Array($0.utf8) })
        #expect(tags == Tags(tags.sorted()) && tags.union([Self.composed, "b"]).count == 4)
        #expect(tags.remove(Self.composed) != nil && tags.remove(Self.composed) == nil)
        #expect(tags.contains(Self.decomposed))
        var request = Request("http://h/", cache: .automatic(maxAge: .seconds(60)))
        request.tags = [Self.composed, Self.decomposed]
        request.invalidates = request.tags
        #expect(try Request(json: request.json()) == request && Request(json: request.json()).tags.count == 2)
        let engine = Engine(
            Engine.Configuration(
                testing: StubTransport { _ throws(TransportError) in .stub(body: "x") }, store: TemporaryStore()))
        for tag in [Self.composed, Self.decomposed] {
            _ = try await engine.send(request)
            #expect(try await engine.send(request).source == .cache)
            try await engine.cache?.invalidate(.tag(tag))
            #expect(try await engine.send(request).source == .network, "\(Array(tag.utf8))")
        }
        await engine.close()
    }

    @Test func `are two names of members`() {
        var members: [String: JSONValue] = [Self.composed: 1, "\u{212A}": 2]
        #expect(members.value(named: Self.composed) == 1 && members.value(named: Self.decomposed) == nil)
        #expect(members.value(named: "K") == nil && members.value(named: "\u{212A}") == 2)
        members.set(nil, named: Self.decomposed)
        #expect(members.value(named: Self.composed) == 1)
        members.set(3, named: Self.decomposed)
        #expect(members.value(named: Self.decomposed) == 3 && members.value(named: Self.composed) == nil)
        #expect(JSONValue.object([Self.composed: 1]) != .object([Self.decomposed: 1]))
    }

    /// Every text property of a request, with a text of its own.
    static let changes: [(String, @Sendable (inout Request, String) -> Void)] = [
        ("url", { $0.url += $1 }), ("parameter", { $0.parameters = Parameters([.init($1, 1)]) }),
        ("parameter value", { $0.parameters = ["a": $1] }),
        ("member", { $0.parameters = ["a": ["b": JSONValue.object([$1: 1])]] }),
        ("header", { $0.headers[.accept] = $1 }), ("JSON", { $0.body = .json(.string($1)) }),
        ("JSON name", { $0.body = .json(.object([$1: [1]])) }),
        ("JSON text", { $0.body = try? .json(text: "\"\($1)\"") }), ("form", { $0.body = .form(["a": $1]) }),
        ("type", { $0.body = .bytes(Data(), contentType: $1) }),
        ("file", { $0.body = .file(URL(filePath: "/\($1)")) }),
        ("part", { $0.body = .multipart([MultipartPart($1, "")]) }),
        ("filename", { $0.body = .multipart([MultipartPart("a", .bytes(Data()), filename: $1)]) }),
        ("secret", { $0.credentials = [.bearer(.secret($1))] }),
        ("secret value", { $0.credentials = [.bearer(.unnamed($1))] }),
        ("prefix", { $0.credentials = [.header(.authorization, prefix: $1, .secret("a"))] }),
        ("secret parameter", { $0.credentials = [.parameter($1, .secret("a"))] }),
        ("identity", { $0.identity = $1 }), ("cacheKey", { $0.cacheKey = $1 }), ("tag", { $0.tags = [$1] }),
        ("invalidates", { $0.invalidates = [$1] }),
        ("lane", { $0.lane = Lane($1) }), ("ignoring", { $0.rules.ignoring = [$1] }),
        ("secrets", { $0.rules.secrets = [$1] }), ("nonSelecting", { $0.rules.nonSelecting = [$1] }),
        ("ordering key", { $0.replay = ReplayPolicy(.durable, orderingKey: $1) }),
        ("unique", { $0.replay = ReplayPolicy(.durable, unique: $1) }),
        ("metadata", { $0.replay = ReplayPolicy(.durable, metadata: ["a": .string($1)]) }),
        ("metadata name", { $0.replay = ReplayPolicy(.durable, metadata: [$1: 1]) }),
    ]

    @Test(arguments: changes.indices) func `make two requests`(index: Int) {
        let (name, change) = Self.changes[index]
        var requests = [Request("http://h/"), Request("http://h/"), Request("http://h/")]
        change(&requests[0], Self.composed)
        change(&requests[1], Self.decomposed)
        change(&requests[2], Self.composed)
        #expect(requests[0] != requests[1], "\(name)")
        #expect(requests[0] == requests[2] && requests[0].hashValue == requests[2].hashValue, "\(name)")
        #expect(Set(requests).count == 2, "\(name)")
    }

    @Test func `requests that differ in any other property are different`() {
        let request = Request("http://h/")
        let changes: [@Sendable (inout Request) -> Void] = [
            { $0.method = .post }, { $0.destination = .form }, { $0.encoding.arrays = .json }, { $0.cache = .noStore },
            { $0.retry = .never }, { $0.replay = .durable }, { $0.bodyLimit = 1 }, { $0.timeout = nil },
            { $0.body = .bytes(Data()) }, { $0.headers[.accept] = "a" },
        ]
        for change in changes {
            var other = request
            change(&other)
            #expect(other != request)
        }
    }

    @Test func `are two parameters`() {
        var parameters = Parameters([.init(Self.composed, 1)])
        parameters[Self.decomposed] = 2
        #expect(
            parameters.count == 2 && parameters[Self.composed] == 1)
        #expect(parameters.values(for: Self.decomposed) == [2])
    }

    @Test func `are two identities, secrets, lanes and tags`() {
        #expect(
            CredentialRefreshes.Secret(name: "a", identity: Self.composed)
                != .init(name: "a", identity: Self.decomposed))
        #expect(CredentialRefreshes.Secret(name: Self.composed) != .init(name: Self.decomposed))
        let log = InvalidationLog()
        log.addLogout(of: Self.composed)
        #expect(log.hasLogout(of: Self.composed, since: 0) && !log.hasLogout(of: Self.decomposed, since: 0))
        #expect(ReplayHold.key(Self.composed) != .key(Self.decomposed))
        #expect(ReplayHold.identity(Self.composed) != .identity(Self.decomposed))
        #expect(ReplayHold.lane(Lane(Self.composed)) != .lane(Lane(Self.decomposed)))
        let paused = ReplaySelection.Lanes.allBut([Lane(Self.composed)])
        #expect(!paused.contains(Lane(Self.composed)) && paused.contains(Lane(Self.decomposed)))
        let subjects = [Self.composed, Self.decomposed].map { ActivitySubject(lane: .default, origin: "", tags: [$0]) }
        #expect(subjects[0] != subjects[1])
        #expect(IdentityRules(secrets: [Self.composed]).isSecret("\u{C9}"))
        #expect(!IdentityRules(secrets: [Self.composed]).isSecret(Self.decomposed))
    }

    @Test func `are two values of a header`() {
        let (one, other): (HTTPFields, HTTPFields) = ([.accept: Self.composed], [.accept: Self.decomposed])
        #expect(one == other && !one.isExactly(other) && one.isExactly(one))
        #expect((one + [HTTPField(name: .vary, value: "x")] as HTTPFields).isExactly([.vary: "x", .accept: "\u{E9}"]))
    }

    @Test func `requests with texts that only look the same share no exchange and no response`() async throws {
        let temporary = TemporaryStore()
        let transport = StubTransport { request throws(TransportError) in
            .stub(headers: [.cacheControl: "max-age=60"], body: request.headers[.accept] ?? "")
        }
        // The engine's clock stands still, because a minute may pass if tests are slow.
        let engine = Engine(Engine.Configuration(testing: transport, store: temporary))
        for text in [Self.composed, Self.decomposed] {
            let response = try await engine.send(Request("http://h/", headers: [.accept: text]))
            #expect(response.source == .network && Array(response.body) == Array(text.utf8))
            var request = Request("http://h/identity")
            request.identity = text
            request.tags = [text]
            #expect(try await engine.send(request).source == .network)
        }
        try await engine.cache?.invalidate(.tag(Self.composed))
        var request = Request("http://h/identity")
        request.identity = Self.decomposed
        #expect(try await engine.send(request).source == .cache)
        try await engine.forget(identity: Self.composed)
        #expect(try await engine.send(request).source == .cache)
        await engine.close()
    }
}
