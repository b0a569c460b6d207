import Testing

@testable import Diamond

@Suite("The keys of requests whose responses are not shared") struct UnsharedKeysTests {
    private func key(_ number: Int) -> RequestKey { RequestKey(of: Array("\(number)".utf8)) }

    @Test func `are at most a thousand, the newest`() {
        let keys = UnsharedKeys()
        for number in 0..<1500 { keys.insert(key(number)) }
        #expect(keys.count == 1000 && !keys.contains(key(499)) && keys.contains(key(500)))
        keys.remove(key(700))
        #expect(keys.count == 999 && !keys.contains(key(700)))
    }
}
