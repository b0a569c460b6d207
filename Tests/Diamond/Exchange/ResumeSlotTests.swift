import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite struct `A connection's own part of an answer` {
    private let request = TransportRequest(url: "http://h/a", headers: [.authorization: "t"])

    private func slot() throws -> ResumeSlot {
        let head = ReceivedResponse(
            status: .ok, headers: [.contentLength: "10", .eTag: "\"a\""], body: Data("01234".utf8), sentAt: 1,
            receivedAt: 2)
        let slot = ResumeSlot()
        slot.put(
            try #require(PartialResponse(head)), for: request, at: 3)
        return slot
    }

    @Test(arguments: [
        TransportRequest(url: "http://h/b", headers: [.authorization: "t"]),
        TransportRequest(url: "http://h/a", headers: [.authorization: "other"]),
    ])
    func `is for the very same request, and waits for it`(other: TransportRequest) throws {
        let slot = try slot()
        #expect(slot.remove(for: other) { _ in true } == nil)
        let taken = slot.remove(for: request) { $0 == 3 }
        #expect(taken?.content.received == 0..<5)
        #expect(slot.remove(for: request) { _ in true } == nil)
    }

    @Test func `is not kept by a connection that was canceled, whenever it comes`() {
        let connection = Connection(Request("http://h/a"))
        #expect(connection.resumeSlot === connection.resumeSlot)
        let canceled = Connection(Request("http://h/a"))
        canceled.cancel()
        #expect(canceled.resumeSlot !== canceled.resumeSlot)
    }

    @Test func `is discarded for a new one`() throws {
        let slot = try slot()
        #expect(!slot.isEmpty)
        slot.clear()
        #expect(slot.isEmpty)
        #expect(slot.remove(for: request) { _ in true } == nil)
    }

    @Test func `is of no use once its identity was forgotten`() throws {
        let slot = try slot()
        #expect(slot.remove(for: request) { $0 > 3 } == nil)
        #expect(slot.remove(for: request) { _ in true } == nil)
    }
}
