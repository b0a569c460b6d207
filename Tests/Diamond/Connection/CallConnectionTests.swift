import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

private struct Login: Endpoint {
    struct Output: Decodable, Hashable, Sendable { let token: String }
    var user: String
    var request: Request { Request("http://h/login", method: .post, parameters: ["user": user]) }
}

private struct Profile: Endpoint {
    typealias Output = [String: String]
    var request: Request { Request("http://h/profile") }
}

private struct Note: Endpoint {
    typealias Output = Int
    var request: Request {
        var request = Request("http://h/notes", method: .post)
        request.replay = .durable
        return request
    }
}

@Suite("A connection of a typed call", .limit(minutes: 5)) struct CallConnectionTests {
    private func engine(_ status: Int = 200, _ body: String = #"{"token": "t-1"}"#) -> Engine {
        .stub(transport(status, body))
    }

    private func transport(_ status: Int = 200, _ body: String = #"{"token": "t-1"}"#) -> StubTransport {
        StubTransport { request throws(TransportError) in
            guard request.url.hasSuffix("/login") else {
                return .stub(body: #"{"authorization": "\#(request.headers[.authorization] ?? "none")"}"#)
            }
            return .stub(status: status, body: body)
        }
    }

    @Test func `a typed connection has the decoded output, and the response`() async throws {
        let login = engine().start(Login(user: "ann"))
        #expect(try await login.output.token == "t-1")
        #expect(try await login.response.text.contains("t-1"))
        #expect(login.call == Login(user: "ann") && login.state == .finished(.success))
    }

    @Test(arguments: [
        (404, #"{"token": "t-1"}"#, ConnectionError.Code.badStatus), (500, "", .badStatus), (200, "[]", .undecodable),
        (304, "", .badStatus),
    ]) func `a typed connection fails as a typed call does`(status: Int, body: String, code: ConnectionError.Code)
        async
    {
        let engine = engine(status, body)
        let login = engine.start(Login(user: "ann"))
        let awaited = await #expect(throws: ConnectionError.self) { try await login.output }
        let raw = await #expect(throws: ConnectionError.self) { try await login.response }
        let sent = await #expect(throws: ConnectionError.self) { try await engine.send(Login(user: "ann")) }
        for error in [awaited, raw] {
            #expect(error?.code == code && error?.message == sent?.message && error?.response?.text == body)
        }
        await untilTrue { login.isFinished }
        #expect(login.state == .finished(.failure))
    }

    @Test func `a typed connection passes its output to its dependents`() async throws {
        let engine = engine()
        let login = engine.connection(for: Login(user: "ann"))
        let profile = engine.connection(for: Profile())
        profile.addDependency(login) { request, login in
            request.headers[.authorization] = "Bearer " + login.token
        }
        engine.start([profile, login])
        #expect(try await profile.output == ["authorization": "Bearer t-1"])
    }

    @Test func `a typed connection passes its response to a closure that asks for it`() async throws {
        let engine = engine()
        let login = engine.start(Login(user: "ann"))
        let profile = engine.connection(for: Request("http://h/profile"))
        profile.addDependency(login) { (request: inout Request, response: Response) in
            request.headers[.authorization] = "\(response.status.code)"
        }
        engine.start(profile)
        #expect(try await profile.response.text.contains("200"))
    }

    @Test(arguments: [false, true])
    func `a typed connection that fails by its status fails its dependents, unless they ignore it`(ignores: Bool)
        async throws
    {
        let engine = engine(401, "{}")
        let login = engine.connection(for: Login(user: "ann"))
        let profile = engine.connection(for: Profile())
        if ignores { profile.failedDependencies = .ignore }
        profile.addDependency(login) { $0.headers[.authorization] = $1.token }
        engine.start([login, profile])
        guard !ignores else {
            #expect(try await profile.output == ["authorization": "none"])
            return
        }
        let error = await #expect(throws: ConnectionError.self) { try await profile.output }
        let cause = try #require(error?.cause as? ConnectionError)
        #expect(error?.code == .dependencyFailed && cause.code == .badStatus)
        #expect(error?.message.hasSuffix(" failed: \(cause.message)") == true)
    }

    @Test func `a typed connection fails its dependents if their closure throws`() async {
        struct Missing: Error {}
        let engine = engine()
        let login = engine.start(Login(user: "ann"))
        let profile = engine.connection(for: Profile())
        profile.addDependency(login) { _, _ in throw Missing() }
        engine.start(profile)
        let error = await #expect(throws: ConnectionError.self) { try await profile.output }
        #expect(error?.code == .dependencyFailed && error?.cause is Missing)
    }

    @Test func `arrays of calls, requests and connections are started at once, in their order`() async throws {
        let transport = transport()
        let engine = Engine.stub(transport)
        let logins = engine.start(["ann", "bob", "eve"].map { Login(user: $0) })
        for login in logins { #expect(try await login.output.token == "t-1") }
        #expect(logins.map(\.call.user) == ["ann", "bob", "eve"])
        let plain = engine.start([Request("http://h/a"), Request("http://h/b")])
        for connection in plain { _ = try await connection.response }
        #expect(plain.map(\.request.url) == ["http://h/a", "http://h/b"])
        #expect(transport.requests.count == 5)
    }

    @Test func `a callback gets the output or the error`() async {
        let results = Guarded<[Result<Login.Output, ConnectionError>]>([])
        engine().start(Login(user: "ann")).onOutput(on: .global) { result in results.withLock { $0.append(result) } }
        engine(404).start(Login(user: "bob")).onOutput(on: .global) { result in
            results.withLock { $0.append(result) }
        }
        await untilTrue { results.withLock { $0.count } == 2 }
        let outputs = results.withLock { $0 }.compactMap { try? $0.get().token }
        #expect(outputs == ["t-1"])
    }

    @Test func `a copy of a typed connection decodes its own response`() async throws {
        let engine = engine()
        let login = engine.start(Login(user: "ann"))
        login.name = "login"
        _ = try await login.output
        let copy = login.copied()
        #expect(copy.name == "login")
        engine.start(copy)
        #expect(try await copy.output.token == "t-1")
        let again = try #require(login.retry() as? CallConnection<Login>)
        #expect(try await again.output.token == "t-1")
    }

    @Test func `a canceled wait for an output leaves the connection to other tasks`() async throws {
        let server = ManualServer()
        let login = Engine.stub(server.transport).start(Request("http://h/").decoding(Data.self))
        let first = Task { try await login.output }
        let second = Task { try await login.output(whenCanceled: .leave) }
        await untilTrue { server.flying.count == 1 && login.core.withLock { $0.waiters.count == 2 } }
        first.cancel()
        await #expect(throws: ConnectionError.self) { try await first.value }
        server.landAll()
        #expect(try await second.value == Data("http://h/".utf8))
    }

    @Test func `a paused connection decodes the response that it receives after its resume`() async throws {
        let server = ManualServer()
        let connection = Engine.stub(server.transport).start(Request("http://h/").decoding(Data.self))
        await untilTrue { server.flying.count == 1 }
        connection.pause()
        await untilTrue { server.flying.isEmpty }
        connection.resume()
        await untilTrue { server.flying.count == 1 }
        server.landAll()
        #expect(try await connection.output == Data("http://h/".utf8))
    }

    @Test func `a durable call is queued with its kind`() async throws {
        let temporary = TemporaryStore()
        var configuration = Engine.Configuration(
            testing: StubTransport { _ throws(TransportError) in throw TransportError(.cannotConnect, "refused") },
            store: temporary)
        configuration.baseURL = "http://h/"
        let engine = Engine(configuration)
        let error = await #expect(throws: ConnectionError.self) { try await engine.start(Note()).output }
        #expect(error?.code == .queued)
        let job = try engine.queue().job(try #require(error?.jobID))
        #expect(job?.kind == Note.kind)
    }
}
