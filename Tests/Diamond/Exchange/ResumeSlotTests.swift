import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The partial response of a connection") struct ResumeSlotTests {
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
    func `a partial response is kept until it is claimed by an equal request`(other: TransportRequest) throws {
        let slot = try slot()
        #expect(slot.remove(for: other) { _ in true } == nil)
        let taken = slot.remove(for: request) { $0 == 3 }
        #expect(taken?.content.received == 0..<5)
        #expect(slot.remove(for: request) { _ in true } == nil)
    }

    @Test func `a canceled connection keeps no partial response`() {
        let connection = Connection(Request("http://h/a"))
        #expect(connection.resumeSlot === connection.resumeSlot)
        let canceled = Connection(Request("http://h/a"))
        canceled.cancel()
        #expect(canceled.resumeSlot !== canceled.resumeSlot)
    }

    @Test func `a cleared slot has no partial response`() throws {
        let slot = try slot()
        #expect(!slot.isEmpty)
        slot.clear()
        #expect(slot.isEmpty)
        #expect(slot.remove(for: request) { _ in true } == nil)
    }

    @Test func `a partial response of a forgotten identity is discarded`() throws {
        let slot = try slot()
        #expect(slot.remove(for: request) { $0 > 3 } == nil)
        #expect(slot.remove(for: request) { _ in true } == nil)
    }
}
