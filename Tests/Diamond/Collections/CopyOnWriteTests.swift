import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Values behind one reference")
struct CopyOnWriteTests {
    @Test func `a change of a value leaves its copies unchanged`() {
        let first = CopyOnWrite([1])
        var second = first
        second.value.append(2)
        let third = second
        second.value.append(3)
        #expect(first.value == [1] && third.value == [1, 2] && second.value == [1, 2, 3])
    }

    @Test func `a change of a copied ConnectionError leaves the original unchanged`() {
        let first = ConnectionError(.timedOut, "late")
        var second = first
        (second.code, second.message, second.jobID) = (.queued, "kept", 7)
        second.response = Response(status: .ok)
        second.attempts = [Attempt(number: 1, startedAt: Date(timeIntervalSince1970: 0), outcome: .answered(.ok))]
        second.cause = TransportError(.timedOut, "late")
        #expect(first.code == .timedOut && first.message == "late" && first.jobID == nil && first.cause == nil)
        #expect(first.response == nil && first.attempts.isEmpty)
        #expect(second.code == .queued && second.message == "kept" && second.jobID == 7)
        #expect(second.response?.status == .ok)
    }

    @Test func `a change of a copied Response leaves the original unchanged`() {
        let first = Response(status: .ok, headers: [.contentType: "text/plain"], body: Data("a".utf8), url: "http://h/")
        var second = first
        (second.status, second.source, second.url) = (.notFound, .cache, "http://h/b")
        second.headers[.contentType] = nil
        second.body.append(contentsOf: Data("b".utf8))
        second.attempts = [Attempt(number: 1, startedAt: Date(timeIntervalSince1970: 0), outcome: .answered(.ok))]
        second.cacheStatus = CacheStatus()
        second.facts.failure = ConnectionError(.timedOut, "late")
        #expect(first == Response(status: .ok, headers: [.contentType: "text/plain"], text: "a").at("http://h/"))
        #expect(first.facts.failure == nil && second.facts.failure != nil)
        #expect(second.status == .notFound && second.headers.isEmpty && second.text == "ab")
        #expect(second.source == .cache && second.url == "http://h/b" && second.attempts.count == 1)
        #expect(second != first && second.cacheStatus == CacheStatus())
    }

    @Test func `a response is one machine word`() {
        #expect(MemoryLayout<Response>.size == MemoryLayout<Int>.size)
    }

    @Test func `a change of a copied TransportError leaves the original unchanged`() {
        let first = TransportError(.timedOut, "late")
        var second = first
        second.serverMayHaveActed = true
        #expect(first.code == .timedOut && first.message == "late" && !first.serverMayHaveActed)
        #expect(second.code == .timedOut && second.message == "late" && second.serverMayHaveActed)
    }
}

extension Response {
    fileprivate func at(_ url: String) -> Response {
        var response = self
        response.url = url
        return response
    }
}
