import DiamondTestSupport
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A circuit breaker") struct CircuitBreakerTests {
    /// Returns a breaker after these results, one every hundred milliseconds: `g` is good, `b` is bad.
    static func after(_ outcomes: String) -> CircuitBreaker {
        var circuit = CircuitBreaker()
        for (number, outcome) in outcomes.enumerated() {
            let health: ServerHealth = outcome == "b" ? .bad : outcome == "g" ? .good : .unknown
            circuit.note(health, of: .pass, at: EngineTime(rawValue: Int64(number) * 100))
        }
        return circuit
    }

    @Test(
        arguments: [
            ("bbbbbbbbb", false), ("bbbbbbbbbb", true), ("gbgbgbgbgb", true), ("ggggggbbbb", false),
            ("gggggbbbbb", true), ("bbbbbggggg", false), ("bbbbbgggggb", true), ("bbbbbbbbbu", false),
            ("uuuuuuuuuuu", false), ("uuuuubbbbbbbbbb", true), ("gggggggggg", false),
        ] as [(String, Bool)])
    func `opens where half of ten or more results are failures`(outcomes: String, isOpen: Bool) {
        #expect(Self.after(outcomes).isOpen(at: 2000) == isOpen)
    }

    @Test func `stays open as long as it is configured to`() {
        let policy = CircuitPolicy(minimumCalls: 1, window: .seconds(Int64.max), openTime: .seconds(Int64.max))
        var circuit = CircuitBreaker(policy)
        circuit.note(.bad, of: .pass, at: 1000)
        #expect(circuit.isOpen(at: EngineTime(rawValue: 50 * 365 * 86_400_000)))
        #expect(circuit.admit(at: 1000) != .pass)
    }

    @Test func `forgets results older than its window`() {
        var circuit = Self.after("bbbbbbbbb")
        circuit.note(.bad, of: .pass, at: 33_000)
        #expect(!circuit.isOpen(at: 33_000))
    }

    /// A breaker that opened at 900 ms, and allows a probe from 5900 ms on.
    static let open = after("bbbbbbbbbb")

    @Test func `refuses for five seconds, then lets one request through`() {
        var circuit = Self.open
        #expect(circuit.admit(at: 900) == .refused(wait: .seconds(5)))
        #expect(circuit.admit(at: 5899) == .refused(wait: .milliseconds(1)))
        #expect(circuit.admit(at: 5900) == .probe(1))
        #expect(circuit.isOpen(at: 5900))
        #expect(circuit.admit(at: 5901) == .refused(wait: .milliseconds(4999)))
    }

    @Test func `closes when its probe succeeds, without earlier results`() {
        var circuit = Self.open
        #expect(circuit.admit(at: 6000) == .probe(1))
        circuit.note(.good, of: .probe(1), at: 6100)
        #expect(circuit.admit(at: 6100) == .pass)
        for _ in 0..<9 { circuit.note(.bad, of: .pass, at: 6200) }
        #expect(circuit.admit(at: 6200) == .pass)
    }

    @Test func `stays open when its probe fails`() {
        var circuit = Self.open
        #expect(circuit.admit(at: 6000) == .probe(1))
        circuit.note(.bad, of: .probe(1), at: 6100)
        #expect(circuit.admit(at: 11_099) == .refused(wait: .milliseconds(1)))
        #expect(circuit.admit(at: 11_100) == .probe(2))
    }

    @Test func `probes again after a probe with an unknown result, or without a result`() {
        var circuit = Self.open
        #expect(circuit.admit(at: 6000) == .probe(1))
        circuit.note(.unknown, of: .probe(1), at: 6100)
        #expect(circuit.admit(at: 6100) == .probe(2))
        #expect(circuit.admit(at: 11_100) == .probe(3))
    }

    @Test(arguments: [.good, .bad, .unknown] as [ServerHealth])
    func `ignores the result of a probe after a later probe has begun`(health: ServerHealth) {
        var circuit = Self.open
        #expect(circuit.admit(at: 6000) == .probe(1))
        #expect(circuit.admit(at: 11_000) == .probe(2))
        circuit.note(health, of: .probe(1), at: 11_100)
        #expect(circuit.admit(at: 11_100) == .refused(wait: .milliseconds(4900)))
        circuit.note(.good, of: .probe(2), at: 11_200)
        #expect(circuit.admit(at: 11_200) == .pass)
    }

    @Test func `ignores the result of a probe that began before the breaker closed`() {
        var circuit = Self.open
        #expect(circuit.admit(at: 6000) == .probe(1))
        #expect(circuit.admit(at: 11_000) == .probe(2))
        circuit.note(.good, of: .probe(2), at: 11_100)
        for _ in 0..<10 { circuit.note(.bad, of: .pass, at: 11_200) }
        #expect(circuit.admit(at: 16_200) == .probe(3))
        circuit.note(.good, of: .probe(1), at: 16_300)
        #expect(circuit.isOpen(at: 16_300))
    }

    @Test func `ignores results of requests from before it opened`() {
        var circuit = Self.open
        circuit.note(.good, of: .pass, at: 1000)
        #expect(circuit.isOpen(at: 1000))
        #expect(circuit.admit(at: 6000) == .probe(1))
        circuit.note(.good, of: .pass, at: 6001)
        #expect(circuit.isOpen(at: 6001))
    }

    @Test(
        arguments: [
            (.status(200), .good), (.status(404), .good), (.status(401), .good), (.status(409), .good),
            (.status(501), .good), (.status(408), .bad), (.status(429), .bad), (.status(500), .bad),
            (.status(502), .bad), (.status(503), .bad), (.status(504), .bad), (.unsent(.cannotConnect), .bad),
            (.sent(.timedOut), .bad), (.sent(.connectionLost), .bad), (.midway(.truncatedBody), .bad),
            (.unsent(.tlsFailed), .bad), (.sent(.badResponse), .bad), (.unsent(.cannotResolveHost), .unknown),
            (.unsent(.badURL), .unknown), (.sent(.cancelled), .unknown), (.sent(.closed), .unknown),
            (.midway(.bodyTooLarge), .unknown), (.sent(.badRequestBody), .unknown),
            (.unsent(.certificateRejected), .unknown), (.sent(.other), .unknown),
        ] as [(RetrySituation.AttemptResult, ServerHealth)])
    func `counts only results that depend on the server's health`(
        outcome: RetrySituation.AttemptResult, health: ServerHealth
    ) {
        #expect(ServerHealth(outcome) == health)
    }

    @Test(arguments: 0..<20) func `keeps its guarantees over any sequence of events`(seed: Int) {
        var random = SplitMix(state: UInt64(seed) + 1)
        var circuit = CircuitBreaker()
        var now: EngineTime = 0
        var out: [CircuitBreaker.Admission] = []
        var lastProbe: EngineTime = -1_000_000
        for _ in 0..<5000 {
            now += Int64(random.below(400))
            if random.below(2) == 0 {
                let isOpen = circuit.isOpen(at: now)
                let admission = circuit.admit(at: now)
                switch admission {
                case .pass: #expect(!isOpen)
                case .refused(let wait): #expect(isOpen && wait > .zero && wait <= .seconds(5))
                case .probe:
                    #expect(!isOpen)
                    lastProbe = now
                }
                if case .refused = admission { continue }
                out.append(admission)
            } else if !out.isEmpty {
                let admission = out.remove(at: random.below(out.count))
                let healths: [ServerHealth] = now.rawValue / 60_000 % 2 == 0 ? [.bad, .bad, .good] : [.good, .unknown]
                circuit.note(healths[random.below(healths.count)], of: admission, at: now)
            }
        }
        #expect(lastProbe >= 0, "never opened: the run proves nothing")
        // Whatever happened before, one successful probe closes it.
        let last = circuit.admit(at: now + 10_000)
        if last != .pass { circuit.note(.good, of: last, at: now + 10_000) }
        #expect(circuit.admit(at: now + 10_001) == .pass)
    }
}
