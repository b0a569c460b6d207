import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("An interceptor", .limit(minutes: 5)) struct InterceptorTests {
    private struct Refused: Error {}

    /// An interceptor that calls its closures.
    private struct ClosureInterceptor: Interceptor {
        var adapting: @Sendable (inout TransportRequest, Int) async throws -> Void = { _, _ in }
        var validating: @Sendable (Response) async throws -> Void = { _ in }
        var transforming: @Sendable (inout Response) async throws -> Void = { _ in }
        var failing: @Sendable (inout ConnectionError) async -> Void = { _ in }

        func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
            try await adapting(&request, attempt)
        }
        func validate(_ response: Response) async throws { try await validating(response) }
        func transform(_ response: inout Response) async throws { try await transforming(&response) }
        func transform(_ error: inout ConnectionError) async { await failing(&error) }
    }

    /// A transport that retains no request.
    private struct ForgetfulTransport: Transport {
        let status: @Sendable () async -> Int

        func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
            .stub(status: await status())
        }
        func close() async {}
    }

    private let temporary = TemporaryStore()

    private func engine(
        _ transport: any Transport,
        _ interceptors: [any Interceptor],
        secrets: [String] = []
    ) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport
        configuration.interceptors = interceptors
        configuration.rules = IdentityRules(secrets: secrets)
        configuration.draw = { 0 }
        // No time passes for the retry policy, however slow the machine is.
        configuration.clock = TestClock()
        return Engine(configuration)
    }

    private static let fresh: HTTPFields = [.cacheControl: "max-age=3600", .eTag: "\"1\""]

    // MARK: Memory

    @Test func `the adapted request of an attempt is freed during the next attempt`() async throws {
        let isFreed = Guarded(false)
        let count = Guarded(0)
        let interceptor = ClosureInterceptor(adapting: { request, attempt in
            guard attempt == 1 else { return }
            let bytes = UnsafeMutableRawPointer.allocate(byteCount: 100, alignment: 1)
            bytes.initializeMemory(as: UInt8.self, repeating: 0, count: 100)
            let deallocator = Data.Deallocator.custom { pointer, _ in
                pointer.deallocate()
                isFreed.withLock { $0 = true }
            }
            request.body = .bytes(Data(bytesNoCopy: bytes, count: 100, deallocator: deallocator))
        })
        let transport = ForgetfulTransport {
            count.withLock { $0 += 1 }
            guard count.withLock({ $0 }) > 1 else { return 503 }
            await untilTrue { isFreed.withLock { $0 } }
            return 200
        }
        let response = try await engine(transport, [interceptor]).send(Request("http://h/", method: .put))
        #expect(response.status == .ok && count.withLock { $0 } == 2)
    }

    // MARK: Permits

    @Test func `may send a request while it transforms, even at a width of 1`() async throws {
        let box = Guarded<Engine?>(nil)
        defer { box.withLock { $0 = nil } }
        let transport = StubTransport(headers: Self.fresh, body: "1")
        var configuration = Engine.Configuration(store: temporary.store)
        (configuration.transport, configuration.width) = (transport, 1)
        configuration.interceptors = [
            ClosureInterceptor(transforming: { response in
                guard response.url.hasSuffix("/a") else { return }
                _ = try await box.withLock { $0 }?.send(Request("http://h/b"))
            })
        ]
        let engine = Engine(configuration)
        box.withLock { $0 = engine }
        #expect(try await engine.send(Request("http://h/a").decoding(Int.self)) == 1)
        #expect(transport.requests.count == 2)
    }

    // MARK: Requests

    @Test func `changes each attempt after the interceptor before it`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            guard request.headers[.userAgent] == "1a" else { return .stub(headers: Self.fresh) }
            throw TransportError(.cannotConnect, "away", serverMayHaveActed: false)
        }
        let engine = engine(
            transport,
            [
                ClosureInterceptor(adapting: { request, attempt in request.headers[.userAgent] = "\(attempt)" }),
                ClosureInterceptor(adapting: { request, _ in request.headers[.userAgent]? += "a" }),
            ])
        #expect(try await engine.send(Request("http://h/")).status == .ok)
        #expect(transport.requests.map { $0.headers[.userAgent] } == ["1a", "2a"])
        #expect(try await engine.send(Request("http://h/")).source == .cache)
    }

    @Test func `an interceptor that cannot adapt a request fails it with the cause before it is sent`() async throws {
        let transport = StubTransport()
        let engine = engine(transport, [ClosureInterceptor(adapting: { _, _ in throw Refused() })])
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(Request("http://h/")) }
        #expect(error?.code == .intercepted && error?.cause is Refused)
        #expect(transport.requests.isEmpty && engine.lanes.running == 0)
    }

    /// Puts a token into the part that its case names.
    enum Place: CaseIterable {
        case header, ownHeader, query, userInfo, unreadableURL, body

        func put(in request: inout TransportRequest) {
            switch self {
            case .header: request.headers[.authorization] = "token"
            case .ownHeader: request.headers[.init("X-Tenant") ?? .authorization] = "token"
            case .query: request.url += (request.url.contains("?") ? "&" : "?") + "access_token=t"
            case .userInfo: request.url = request.url.replacing("://", with: "://anna:t@")
            case .unreadableURL: request.url += "&a=%zz&access_token=t"
            case .body: request.body = .bytes(Data("token".utf8))
            }
        }
    }

    @Test(arguments: Place.allCases, [(nil, Response.Source.network), ("anna", .cache)])
    func `an interceptor that adds a credential keeps responses without an identity out of the cache`(
        place: Place,
        case: (identity: String?, source: Response.Source)
    ) async throws {
        let signer = ClosureInterceptor(adapting: { request, _ in place.put(in: &request) })
        let engine = engine(StubTransport(headers: Self.fresh), [signer], secrets: ["X-Tenant"])
        var request = Request("http://h/me?a=1&token=own", method: .query, body: .json(1))
        request.identity = `case`.identity
        _ = try await engine.send(request)
        #expect(try await engine.send(request).source == `case`.source)
    }

    @Test func `an interceptor that adds no credential keeps nothing out of the cache`() async throws {
        let changer = ClosureInterceptor(adapting: { request, _ in
            request.url += "&lang=de"
            request.headers[.acceptLanguage] = "de"
        })
        let engine = engine(StubTransport(headers: Self.fresh), [changer])
        let request = Request("http://h/me?token=own", method: .query, body: .json(1))
        _ = try await engine.send(request)
        #expect(try await engine.send(request).source == .cache)
    }

    /// Values of a header before and after the interceptor, and the `Vary` field of the response.
    private typealias Variant = (name: HTTPField.Name, value: String?, identity: String?, vary: String, isKept: Bool)

    private static let variants: [Variant] = [
        (.acceptLanguage, "tlh", nil, "Accept-Language", false), (.acceptLanguage, nil, nil, "accept-language", false),
        (.acceptLanguage, "tlh", "anna", "Accept, Accept-Language", false),
        (.acceptLanguage, "tlh", nil, "Accept", true), (.acceptLanguage, "de", nil, "Accept-Language", true),
        (.acceptEncoding, "br", nil, "Accept-Encoding", true), (.authorization, "t", "anna", "Authorization", true),
        (.cookie, "a=1", "anna", "Cookie", false),
    ]

    @Test(arguments: variants.indices)
    func `an interceptor that changes a header keeps responses that vary by it out of the cache`(index: Int)
        async throws
    {
        let (name, value, identity, vary, isKept) = Self.variants[index]
        let transport = StubTransport(headers: [.cacheControl: "max-age=3600", .vary: vary])
        let engine = engine(transport, [ClosureInterceptor(adapting: { request, _ in request.headers[name] = value })])
        var request = Request("http://h/", headers: [.acceptLanguage: "de"])
        request.identity = identity
        _ = try await engine.send(request)
        #expect(try await engine.send(request).source == (isKept ? .cache : .network))
    }

    @Test func `an interceptor that changes a header removes entries that vary by it when they are confirmed`()
        async throws
    {
        let transport = StubTransport { request throws(TransportError) in
            guard request.headers[.ifNoneMatch] != nil else { return .stub(headers: Self.fresh) }
            return .stub(status: 304, headers: [.cacheControl: "max-age=3600", .vary: "Accept-Language"], body: "")
        }
        let engine = engine(
            transport, [ClosureInterceptor(adapting: { request, _ in request.headers[.acceptLanguage] = "tlh" })])
        _ = try await engine.send(Request("http://h/"))
        #expect(try await engine.send(Request("http://h/", cache: .revalidate)).source == .revalidated)
        #expect(try await engine.send(Request("http://h/")).source == .network)
    }

    private static func redirecting(to target: String) -> StubTransport {
        StubTransport { request throws(TransportError) in
            switch request.url.prefix(10) {
            case "http://h/1": .stub(status: 307, headers: [.location: "http://h/2"])
            case "http://h/2": .stub(status: 307, headers: [.location: target])
            default: .stub(headers: Self.fresh, body: request.headers[.authorization] ?? "anonymous")
            }
        }
    }

    @Test func `adds no credential for another origin after a redirect`() async throws {
        let transport = Self.redirecting(to: "http://other/3?token=theirs")
        let signer = ClosureInterceptor(adapting: { request, _ in
            for place in [Place.header, .ownHeader, .query] { place.put(in: &request) }
            request.url += "&lang=de"
            (request.headers[.acceptLanguage], request.headers[.contentType]) = ("de", "x/signed")
            request.body = .bytes(Data("signed".utf8))
        })
        let engine = engine(transport, [signer], secrets: ["X-Tenant"])
        _ = try await engine.send(Request("http://h/1", method: .put, body: .json(1)))
        #expect(transport.requests.map { $0.headers[.authorization] } == ["token", "token", nil])
        #expect(transport.requests.allSatisfy { $0.headers[.acceptLanguage] == "de" })
        let last = try #require(transport.requests.last)
        #expect(last.url == "http://other/3?token=theirs&lang=de")
        #expect(
            last.headers.map(\.name.canonicalName).sorted().filter { !["accept-encoding", "user-agent"].contains($0) }
                == ["accept-language", "content-type"])
        #expect(last.headers[.contentType] == "application/json")
        guard case .bytes(let body) = last.body else { return #expect(Bool(false), "the body is another") }
        #expect(body == Data("1".utf8))
    }

    @Test func `changes neither secrets nor the body of a request to another origin`() async throws {
        let transport = Self.redirecting(to: "http://other/3?token=theirs")
        let signer = ClosureInterceptor(adapting: { request, _ in
            request.url = request.url.replacing("=theirs", with: "=ours")
            request.headers[.contentEncoding] = "signed"
            request.body = .stream(length: 6) { AsyncThrowingStream { nil } }
        })
        let file = temporary.directory.appending(path: "upload")
        try FileManager.default.createDirectory(at: temporary.directory, withIntermediateDirectories: true)
        try Data("1".utf8).write(to: file)
        let engine = engine(transport, [signer])
        _ = try await engine.send(Request("http://h/1", method: .put, body: .file(file, contentType: "text/plain")))
        let last = try #require(transport.requests.last)
        #expect(last.url == "http://other/3?token=theirs" && last.headers[.contentEncoding] == nil)
        guard case .stream(let length, _) = last.body else { return #expect(Bool(false), "the body is another") }
        #expect(length == 1)
    }

    /// An entry that is stored for all is neither changed nor removed by the response to a credential.
    @Test(arguments: ["\"1\"", "\"2\""])
    func `an interceptor that adds a credential confirms no entry that is stored for all`(tag: String) async throws {
        let isSigned = Guarded(false)
        let transport = StubTransport { request throws(TransportError) in
            guard request.headers[.ifNoneMatch] != nil else {
                return .stub(headers: [.cacheControl: "max-age=0", .eTag: "\"1\""], body: "all")
            }
            return .stub(
                status: 304, headers: [.cacheControl: "max-age=3600", .eTag: tag, .contentLanguage: "anna"], body: "")
        }
        let signer = ClosureInterceptor(adapting: { request, _ in
            if isSigned.withLock({ $0 }) { request.headers[.authorization] = "token" }
        })
        let engine = engine(transport, [signer])
        _ = try await engine.send(Request("http://h/"))
        isSigned.withLock { $0 = true }
        #expect(try await engine.send(Request("http://h/")).text == "all")
        await engine.cache?.flush()
        for isInMemory in [true, false] {
            if !isInMemory { engine.cache?.memory.removeAll() }
            let stored = try await engine.send(Request("http://h/", cache: .cacheElseNetwork))
            #expect(stored.text == "all" && stored.headers[.contentLanguage] == nil && stored.source != .network)
        }
    }

    @Test func `an interceptor's credential removes no entry stored for all, even with no-store`() async throws {
        let isSigned = Guarded(false)
        let transport = StubTransport { request throws(TransportError) in
            let isForAll = request.headers[.authorization] == nil
            return .stub(
                headers: [.cacheControl: isForAll ? "max-age=3600" : "no-store"], body: isForAll ? "all" : "anna")
        }
        let signer = ClosureInterceptor(adapting: { request, _ in
            if isSigned.withLock({ $0 }) { request.headers[.authorization] = "token" }
        })
        let engine = engine(transport, [signer])
        _ = try await engine.send(Request("http://h/"))
        isSigned.withLock { $0 = true }
        #expect(try await engine.send(Request("http://h/", cache: .reload)).text == "anna")
        #expect(try await engine.send(Request("http://h/")).text == "all")
    }

    @Test(arguments: [nil, "anna"])
    func `a signed request is not served the unsigned response that a redirect stored`(identity: String?) async throws {
        let transport = Self.redirecting(to: "http://other/3")
        let signer = ClosureInterceptor(adapting: { request, _ in request.headers[.authorization] = "token" })
        let engine = engine(transport, [signer])
        var request = Request("http://h/1")
        request.identity = identity
        #expect(try await engine.send(request).text == "anonymous")
        request.url = "http://other/3"
        let direct = try await engine.send(request)
        #expect(direct.text == "token" && direct.source == .network)
    }

    @Test(arguments: [("http://other/3", Response.Source.network), ("http://h/3", .cache)])
    func `a request with a credential is not served the response that a redirect stored without it`(
        target: String,
        source: Response.Source
    ) async throws {
        let engine = engine(Self.redirecting(to: target), [])
        var request = Request("http://h/1")
        request.identity = "anna"
        request.headers[.authorization] = "own"
        let answer = source == .network ? "anonymous" : "own"
        #expect(try await engine.send(request).text == answer)
        request.url = target
        let direct = try await engine.send(request)
        #expect(direct.text == "own" && direct.source == source)
    }

    // MARK: Responses

    @Test func `a response that an interceptor refuses is not stored, and the error contains it`() async throws {
        let transport = StubTransport(headers: Self.fresh, body: "no")
        let refusals = Guarded(0)
        let engine = engine(
            transport,
            [
                ClosureInterceptor(validating: { response in
                    refusals.withLock { $0 += 1 }
                    if response.text == "no" { throw Refused() }
                })
            ])
        for _ in 0..<2 {
            let error = await #expect(throws: ConnectionError.self) { try await engine.send(Request("http://h/")) }
            #expect(error?.code == .intercepted && error?.cause is Refused && error?.response?.text == "no")
        }
        #expect(transport.requests.count == 2 && refusals.withLock { $0 } == 2)
    }

    @Test func `an interceptor that refuses a newer response leaves the stored one`() async throws {
        let body = Guarded("good")
        let transport = StubTransport { _ throws(TransportError) in
            .stub(headers: Self.fresh, body: body.withLock { $0 })
        }
        let engine = engine(transport, [ClosureInterceptor(validating: { if $0.text == "bad" { throw Refused() } })])
        _ = try await engine.send(Request("http://h/"))
        body.withLock { $0 = "bad" }
        await #expect(throws: ConnectionError.self) { try await engine.send(Request("http://h/", cache: .reload)) }
        let response = try await engine.send(Request("http://h/", cache: .networkElseCache))
        #expect(response.text == "good" && response.source == .cache)
    }

    @Test(arguments: [(403, false), (304, false), (500, true)])
    func `an interceptor that refuses a status leaves the stored response for stale-if-error`(
        status: Int,
        isServed: Bool
    ) async throws {
        let current = Guarded(200)
        let transport = StubTransport { _ throws(TransportError) in
            .stub(status: current.withLock { $0 }, headers: [.cacheControl: "max-age=3600"], body: "good")
        }
        let engine = engine(transport, [ResponseValidator()])
        _ = try await engine.send(Request("http://h/"))
        current.withLock { $0 = status }
        let again = Request("http://h/", cache: .networkElseCache)
        let source = try? await engine.send(again).source
        #expect(source == (isServed ? .cache : nil))
    }

    @Test func `an interceptor that is canceled cancels its request, and the error has the attempts`() async throws {
        let heard = Guarded(0)
        let transport = StubTransport { request throws(TransportError) in
            guard request.headers[.userAgent] == "2" else {
                throw TransportError(.cannotConnect, "away", serverMayHaveActed: false)
            }
            return .stub()
        }
        let engine = engine(
            transport,
            [
                ClosureInterceptor(
                    adapting: { request, attempt in request.headers[.userAgent] = "\(attempt)" },
                    validating: { response in throw response.text == "body" ? Refused() : CancellationError() },
                    failing: { _ in heard.withLock { $0 += 1 } })
            ])
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(Request("http://h/")) }
        #expect(error?.code == .intercepted && error?.attempts.count == 2 && heard.withLock { $0 } == 1)
        let canceling = self.engine(
            StubTransport(), [ClosureInterceptor(adapting: { _, _ in throw CancellationError() })])
        let canceled = await #expect(throws: ConnectionError.self) { try await canceling.send(Request("http://h/")) }
        #expect(canceled?.code == .cancelled)
    }

    @Test func `validates a redirect only if it cannot be followed`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            switch request.url {
            case "http://h/1": .stub(status: 302, headers: [.location: "/2"])
            case "http://h/3": .stub(status: 302)
            default: .stub()
            }
        }
        let engine = engine(transport, [ResponseValidator()])
        #expect(try await engine.send(Request("http://h/1")).status == .ok)
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(Request("http://h/3")) }
        #expect(error?.code == .badStatus)
    }

    @Test func `an unsafe request invalidates entries even if an interceptor refuses its response`() async throws {
        let transport = StubTransport { request throws(TransportError) in
            request.method == .get ? .stub(headers: Self.fresh) : .stub(body: "no")
        }
        let engine = engine(transport, [ClosureInterceptor(validating: { if $0.text == "no" { throw Refused() } })])
        _ = try await engine.send(Request("http://h/"))
        await #expect(throws: ConnectionError.self) { try await engine.send(Request("http://h/", method: .post)) }
        #expect(try await engine.send(Request("http://h/")).source == .network)
    }

    // MARK: Results

    @Test func `transforms each delivered response, and not the stored one`() async throws {
        let engine = engine(
            StubTransport(headers: Self.fresh, body: "b"),
            [
                ClosureInterceptor(transforming: { $0.body += Data("1".utf8) }),
                ClosureInterceptor(transforming: { $0.body += Data("2".utf8) }),
            ])
        for source in [Response.Source.network, .cache, .cache] {
            let response = try await engine.start(Request("http://h/")).response
            #expect(response.text == "b12" && response.source == source)
        }
    }

    @Test func `an interceptor that fails to transform a response fails its request, with the response`() async throws {
        let engine = engine(StubTransport(body: "b"), [ClosureInterceptor(transforming: { _ in throw Refused() })])
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(Request("http://h/")) }
        #expect(error?.code == .intercepted && error?.response?.text == "b")
    }

    @Test func `may change the error for the caller by its response`() async throws {
        let engine = engine(
            StubTransport(status: 422, body: "name is missing"),
            [
                ResponseValidator(),
                ClosureInterceptor(failing: { error in error.message = error.response?.text ?? error.message }),
            ])
        let error = await #expect(throws: ConnectionError.self) {
            try await engine.start(Request("http://h/")).response
        }
        #expect(error?.code == .badStatus && error?.message == "name is missing")
    }

    /// Accepts upper-case text only.
    private final class UppercaseConnection: Connection, @unchecked Sendable {
        struct Quiet: Error {}
        let seen = Guarded<[String]>([])

        override func validate(_ response: Response) throws {
            seen.withLock { $0.append("validate \(response.text)") }
        }
        override func decode(_ response: Response) throws {
            seen.withLock { $0.append("decode \(response.text)") }
            if response.text == "BAD" { throw Quiet() }
        }
    }

    private static let shouting = ClosureInterceptor(transforming: { $0.body = Data($0.text.uppercased().utf8) })

    @Test func `a connection validates the response that an interceptor has transformed, from server and cache`()
        async throws
    {
        let count = Guarded(0)
        let counting = ClosureInterceptor(transforming: { _ in count.withLock { $0 += 1 } })
        let engine = engine(StubTransport(headers: Self.fresh, body: "a"), [Self.shouting, counting])
        for number in 1...2 {
            let connection = UppercaseConnection(Request("http://h/"))
            engine.start(connection)
            #expect(try await connection.response.text == "A")
            #expect(connection.seen.withLock { $0 } == ["validate A", "decode A"])
            #expect(count.withLock { $0 } == number)
        }
    }

    @Test func `receives every error before the caller does`() async {
        let transport = StubTransport { request throws(TransportError) in
            .stub(status: request.url.hasSuffix("404") ? 404 : 200, headers: Self.fresh, body: "bad")
        }
        let heard = Guarded<[String]>([])
        let engine = engine(
            transport,
            [
                Self.shouting,
                ClosureInterceptor(failing: { error in
                    error.message = "mine"
                    heard.withLock { [error] in $0.append(error.code.description) }
                }),
            ])
        func expectMine(_ body: () async throws -> Void) async {
            let error = await #expect(throws: ConnectionError.self) { try await body() }
            #expect(error?.message == "mine")
        }
        await expectMine { _ = try await engine.send(Request("http://h/404").decoding([Int].self)) }
        await expectMine { _ = try await engine.send(Request("http://h/").decoding([Int].self)) }
        await expectMine { _ = try await engine.send([Request("http://h/").decoding([Int].self)])[0].get() }
        await expectMine {
            let connection = UppercaseConnection(Request("http://h/loud"))
            engine.start(connection)
            _ = try await connection.response
        }
        await expectMine {
            let unprepared = CityConnection(Request("http://h/"))
            unprepared.addDependency(engine.start(Request("http://h/login"))) { _, _ in throw Refused() }
            engine.start(unprepared)
            _ = try await unprepared.response
        }
        #expect(
            heard.withLock { $0 } == ["badStatus", "undecodable", "undecodable", "undecodable", "dependencyFailed"])
    }

    @Test func `receives no canceled request`() async throws {
        let (count, gate) = (Guarded(0), Gate())
        let transport = StubTransport.silent { gate.open() }
        let engine = engine(transport, [ClosureInterceptor(failing: { _ in count.withLock { $0 += 1 } })])
        let task = Task { try await engine.send(Request("http://h/")) }
        await untilTrue { transport.requests.count == 1 }
        task.cancel()
        await #expect(throws: ConnectionError.self) { try await task.value }
        await gate.wait()
        #expect(count.withLock { $0 } == 0)
    }
}
