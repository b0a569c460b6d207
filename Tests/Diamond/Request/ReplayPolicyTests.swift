import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A replay policy") struct ReplayPolicyTests {
    @Test(arguments: [
        (Int.min, -1_000_000), (-1_000_001, -1_000_000), (-1_000_000, -1_000_000), (1_000_000, 1_000_000),
        (1_000_001, 1_000_000), (Int.max, 1_000_000),
    ])
    func `limits its priority to the range of the encoded form`(priority: Int, kept: Int) throws {
        var request = Request("https://a.example/", method: .put)
        request.replay = .with(priority: priority)
        var changed = request
        changed.replay.priority = 0
        changed.replay.priority = priority
        #expect(changed.replay.priority == kept && changed == request)
        #expect(try Request(json: request.json()).replay.priority == kept)
    }

    @Test(arguments: [(Int.min, 1), (0, 1), (1, 1), (1000, 1000), (1001, 1000), (Int.max, 1000)])
    func `limits its attempts to the range of the encoded form`(attempts: Int, kept: Int) throws {
        var request = Request("https://a.example/", method: .put)
        request.replay = .with(attempts: attempts)
        #expect(request.replay.attempts == kept)
        #expect(try Request(json: request.json()).replay.attempts == kept)
    }
    @Test func `a stored policy that appends after a running job replaces the waiting one`() throws {
        let written = #"{"mode": "durable", "unique": "profile", "uniqueness": "appendAfterRunning"}"#
        let policy = try JSONDecoder().decode(ReplayPolicy.self, from: Data(written.utf8))
        #expect(policy == ReplayPolicy(.durable, unique: "profile", uniqueness: .replace))
        let again = try JSONEncoder().encode(policy)
        #expect(String(decoding: again, as: UTF8.self).contains(#""uniqueness":"replace""#))
    }
}
