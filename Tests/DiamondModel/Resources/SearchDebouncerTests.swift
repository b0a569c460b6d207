import DiamondModel
import DiamondTestSupport
import DiamondTesting
import Testing

@MainActor
@Suite("The delay of a search") struct SearchDebouncerTests {
    private let clock = TestClock()
    private let log = Log()

    @MainActor private final class Log {
        var searched: [String] = []
        var heard: [String] = []
        var canceled: [String] = []
        var gates: [String: Gate] = [:]
    }

    private struct Broken: Error {}

    private var search: SearchDebouncer<String> {
        SearchDebouncer(clock: clock) { @MainActor [log] text in
            log.searched.append(text)
            await log.gates[text]?.wait()
            if Task.isCancelled { log.canceled.append(text) }
            if text == "bad" { throw Broken() }
            return text.uppercased()
        } receive: { [log] outcome in
            switch outcome {
            case .found(let answer, let text): log.heard.append("\(text): \(answer)")
            case .failed(let error, let text): log.heard.append("\(text): \(error)")
            case .reset: log.heard.append("reset")
            }
        }
    }

    @Test func `a search waits for 0.4 seconds, and trims its text`() async {
        let search = search
        let task = Task { await search.search("  kyoto \n") }
        await untilTrue { clock.sleeping == [.milliseconds(400)] }
        clock.advance(by: .milliseconds(399))
        #expect(log.searched.isEmpty)
        clock.advance(by: .milliseconds(1))
        await task.value
        #expect(log.heard == ["kyoto: KYOTO"])
    }

    @Test func `only the latest text is searched for`() async {
        let search = search
        let first = Task { await search.search("k") }
        await untilTrue { clock.sleeping.count == 1 }
        clock.advance(by: .milliseconds(300))
        let second = Task { await search.search("ky") }
        await first.value
        await untilTrue { clock.sleeping == [.milliseconds(400)] }
        clock.advance(by: .milliseconds(100))
        #expect(log.searched.isEmpty)
        clock.advance(by: .milliseconds(300))
        await second.value
        #expect(log.searched == ["ky"])
        #expect(log.heard == ["ky: KY"])
    }

    @Test func `an earlier search is canceled, and its late answer dropped`() async {
        let search = search
        let gate = Gate()
        log.gates["slow"] = gate
        let slow = Task { await search.search("slow") }
        await untilTrue { clock.sleeping.count == 1 }
        clock.advance(by: .milliseconds(400))
        await untilTrue { log.searched == ["slow"] }
        let fast = Task { await search.search("fast") }
        await untilTrue { clock.sleeping.count == 1 }
        clock.advance(by: .milliseconds(400))
        await fast.value
        gate.open()
        await slow.value
        #expect(log.heard == ["fast: FAST"])
        #expect(log.canceled == ["slow"])
    }

    @Test(arguments: ["", " \n "]) func `an empty text resets the search at once, and cancels a pending search`(
        text: String
    ) async {
        let search = search
        let task = Task { await search.search("k") }
        await untilTrue { clock.sleeping.count == 1 }
        await search.search(text)
        #expect(log.heard == ["reset"])
        await task.value
        #expect(log.searched.isEmpty)
        #expect(log.heard == ["reset"])
    }

    @Test func `a failure is reported, and the same text may be searched for again`() async {
        let search = search
        for _ in 0..<2 {
            let task = Task { await search.search("bad") }
            await untilTrue { clock.sleeping.count == 1 }
            clock.advance(by: .milliseconds(400))
            await task.value
        }
        #expect(log.heard == ["bad: Broken()", "bad: Broken()"])
    }

    @Test func `a canceled task searches for nothing and reports nothing`() async {
        let search = search
        let waiting = Task { await search.search("k") }
        await untilTrue { clock.sleeping.count == 1 }
        waiting.cancel()
        await waiting.value
        let gate = Gate()
        log.gates["slow"] = gate
        let slow = Task { await search.search("slow") }
        await untilTrue { clock.sleeping.count == 1 }
        clock.advance(by: .milliseconds(400))
        await untilTrue { log.searched == ["slow"] }
        slow.cancel()
        gate.open()
        await slow.value
        #expect(log.heard.isEmpty)
    }
}
