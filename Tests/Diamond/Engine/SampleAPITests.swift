import Diamond
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

/// The sample API as the articles use it.
@Suite("The sample API", .limit(minutes: 5)) struct SampleAPITests {
    private struct Session: Decodable {
        let token: String
        let user: String
    }

    private struct City: Decodable {
        let id: Int
        let name: String
    }

    /// Runs `body` with an engine whose base URL is the server's.
    private func withEngine(_ body: (Engine) async throws -> Void) async throws {
        var configuration = Engine.Configuration(store: nil)
        configuration.baseURL = try await SampleServer.shared.base
        let engine = Engine(configuration)
        try await body(engine)
        await engine.close()
    }

    @Test(arguments: ["/cities", "/notes", "/login", "/me", "/events", "/export", "/wire"])
    func `the server documents its routes`(route: String) async throws {
        try await withEngine { engine in
            let guide = try await engine.send(Request("/"))
            #expect(guide.status == .ok && guide.text.contains(route))
        }
    }

    @Test func `a login gives a token, with which the server knows the user until the logout`() async throws {
        try await withEngine { engine in
            let body = RequestBody.json(["user": "ann", "password": "diamond"])
            let session = try await engine.send(Request("/login", method: .post, body: body).decoding(Session.self))
            let me = Request("/me", headers: [.authorization: "Bearer \(session.token)"], cache: .reload)
            #expect(try await engine.send(me.decoding([String: String].self)) == ["name": "ann"])
            let logout = Request("/login", method: .delete, headers: me.headers)
            #expect(try await engine.send(logout).status == .noContent)
            let refusal = try await engine.send(me)
            #expect(refusal.status == .unauthorized && refusal.headers[.wwwAuthenticate] != nil)
        }
    }

    @Test func `a wrong password is a problem whose detail is in the error`() async throws {
        try await withEngine { engine in
            let body = RequestBody.json(["user": "ann", "password": "?"])
            let error = await #expect(throws: ConnectionError.self) {
                _ = try await engine.send(Request("/login", method: .post, body: body).decoding(Session.self))
            }
            #expect(error?.message.contains("The password is wrong") == true)
        }
    }

    @Test func `the server sends cities as events, and continues behind the last one`() async throws {
        try await withEngine { engine in
            let request = Request("/events", parameters: ["count": 2, "interval": 1])
            var ids: [String] = []
            for try await event in engine.events(request) {
                ids.append(event.lastEventID)
                #expect(event.type == "city" && event.data.contains("\"name\""))
                if ids.count == 2 { break }
            }
            for try await event in engine.events(request, after: ids[1]) {
                ids.append(event.lastEventID)
                if ids.count == 4 { break }
            }
            #expect(Set(ids).count == 4)
        }
    }

    @Test func `the server sends cities as lines of JSON`() async throws {
        try await withEngine { engine in
            var names: [String] = []
            let export = try await engine.stream(Request("/export", parameters: ["count": 3]))
            for try await city in export.values(of: City.self) {
                names.append(city.name)
            }
            #expect(names.count == 3 && names.allSatisfy { !$0.isEmpty })
        }
    }
}
