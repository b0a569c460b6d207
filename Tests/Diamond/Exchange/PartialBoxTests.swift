import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite struct `A connection's own part of an answer` {
    private let request = TransportRequest(url: "http://h/a", headers: [.authorization: "t"])

    private func box() throws -> PartialBox {
        let head = Arrival(
            status: .ok, headers: [.contentLength: "10", .eTag: "\"a\""], body: Data("01234".utf8), sentAt: 1,
            receivedAt: 2)
        let box = PartialBox()
        box.put(try #require(IncompleteArrival(head)), for: request, at: 3)
        return box
    }

    @Test(arguments: [
        TransportRequest(url: "http://h/b", headers: [.authorization: "t"]),
        TransportRequest(url: "http://h/a", headers: [.authorization: "other"]),
    ])
    func `is for the very same request, and waits for it`(other: TransportRequest) throws {
        let box = try box()
        #expect(box.take(for: other) { _ in true } == nil)
        #expect(box.take(for: request) { $0 == 3 }?.received == 5)
        #expect(box.take(for: request) { _ in true } == nil)
    }

    @Test func `is not kept by a connection that was canceled, whenever it comes`() {
        let connection = Connection(Request("http://h/a"))
        #expect(connection.makeBox() === connection.box)
        let canceled = Connection(Request("http://h/a"))
        canceled.cancel()
        _ = canceled.makeBox()
        #expect(canceled.box == nil)
    }

    @Test func `is of no use once its identity was forgotten`() throws {
        let box = try box()
        #expect(box.take(for: request) { $0 > 3 } == nil)
        #expect(box.take(for: request) { _ in true } == nil)
    }
}
