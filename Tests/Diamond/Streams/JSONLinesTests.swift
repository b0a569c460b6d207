import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("JSON values on lines", .limit(minutes: 5)) struct JSONLinesTests {
    private struct City: Decodable, Hashable { let name: String }

    private func values(
        _ body: String,
        status: Int = 200,
        lineLimit: Int = 1 << 20
    ) async throws -> (names: [String], error: ConnectionError?) {
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(
                "HTTP/1.1 \(status) X\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
            for byte in body.utf8 { connection.write(Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8)) }
            connection.write("0\r\n\r\n")
        }
        let engine = Engine(.init(store: nil))
        let response = try await engine.stream(Request(server.base))
        var names: [String] = []
        do throws(ConnectionError) {
            var cities = response.values(of: City.self, lineLimit: lineLimit).makeAsyncIterator()
            while let city = try await cities.next(isolation: #isolation) { names.append(city.name) }
            await engine.close()
            return (names, nil)
        } catch {
            await untilTrue { engine.lanes.running == 0 && engine.activity.counts.isIdle }
            await engine.close()
            return (names, error)
        }
    }

    @Test(arguments: [
        (#"{"name":"Zürich"}"# + "\n" + #"{"name":"🏔"}"# + "\n", ["Zürich", "🏔"]),
        (#"{"name":"a"}"# + "\r\n\r\n \t\n\n" + #" {"name":"b"} "#, ["a", "b"]),
        ("", []), ("\n\n", []), (#"{"name":"a"}"#, ["a"]), ("\u{FEFF}" + #"{"name":"a"}"#, ["a"]),
        ("\u{FEFF}\n" + #"{"name":"a"}"#, ["a"]),
    ])
    func `are decoded one by one, without blank lines`(body: String, names: [String]) async throws {
        let (found, error) = try await values(body)
        #expect(found == names && error == nil)
    }

    @Test(arguments: [#"{"nam":"hush"}"#, "hush", #"{"name":"hush""#, "\u{FEFF}{}"])
    func `end at an invalid line, with its number and none of its text`(line: String) async throws {
        let (names, error) = try await values("{\"name\":\"a\"}\n\n\(line)\n{\"name\":\"b\"}\n")
        #expect(names == ["a"] && error?.code == .undecodable && error?.cause is DecodingError)
        #expect(error?.message == "line 3 is no City: see the cause")
    }

    @Test func `are no longer than the caller allows`() async throws {
        let line = #"{"name":"a"}"#
        let (names, error) = try await values(line + "\n" + line + " \n", lineLimit: line.utf8.count)
        #expect(names == ["a"] && error?.code == .bodyTooLarge)
        #expect(error?.message == "line 2 is longer than \(line.utf8.count) bytes: allow more")
    }

    @Test(arguments: ["{\"nam\":1}\n", String(repeating: "a", count: 100)])
    func `an invalid JSON line ends the exchange, also while the response is retained`(line: String) async throws {
        let isOver = Gate()
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n\(line)")
            // The server sends no further byte.
            _ = connection.readHead()
            isOver.open()
        }
        let engine = Engine(.init(store: nil))
        let response = try await engine.stream(Request(server.base))
        var cities = response.values(of: City.self, lineLimit: 50).makeAsyncIterator()
        await #expect(throws: ConnectionError.self) { _ = try await cities.next() }
        await isOver.wait()
        await untilTrue { engine.lanes.running == 0 && engine.activity.counts.isIdle }
        withExtendedLifetime(response) {}
        await engine.close()
    }

    @Test func `end the exchange when their loop is left, also while the response is retained`() async throws {
        let body = #"{"name":"a"}"# + "\n"
        let server = try ScriptedServer([.init(headers: ["Content-Length: 1000000"], body: body, isHeld: true)])
        let engine = Engine(.init(store: nil))
        let response = try await engine.stream(Request(server.url))
        for try await city in response.values(of: City.self) {
            #expect(city.name == "a")
            break
        }
        await untilTrue { engine.lanes.running == 0 && engine.activity.counts.isIdle }
        withExtendedLifetime(response) {}
        await engine.close()
    }

    @Test func `are read only from a successful response`() async throws {
        let (names, error) = try await values(#"{"name":"a"}"#, status: 404)
        #expect(names.isEmpty && error?.code == .badStatus && error?.response?.text == #"{"name":"a"}"#)
    }
}
