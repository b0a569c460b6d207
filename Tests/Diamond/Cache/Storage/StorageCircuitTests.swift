import DiamondSQLite
import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("The circuit in front of a server") struct StorageCircuitTests {
    /// The time of the circuits' clock.
    private let time = Guarded(Uptime(rawValue: 0))

    private func circuit(draw: Double = 0.5) -> StorageCircuit {
        StorageCircuit(uptime: { [time] in time.withLock(\.self) }, draw: { draw })
    }

    private func advance(by milliseconds: Int64) { time.withLock { $0 += milliseconds } }

    @Test func `the first failure opens a circuit, and is the only one that is reported`() {
        let circuit = circuit()
        #expect(circuit.admit() == .pass)
        #expect(circuit.fail())
        #expect(!circuit.fail())
        #expect(circuit.admit() == .refuse)
    }

    @Test func `one probe follows after the delay, and its success closes the circuit`() {
        let circuit = circuit()
        _ = circuit.fail()
        advance(by: 99)
        #expect(circuit.admit() == .refuse)
        advance(by: 1)
        #expect(circuit.admit() == .probe(1))
        #expect(circuit.admit() == .refuse)
        circuit.end(probe: 1, isGood: true)
        #expect(circuit.admit() == .pass)
        #expect(circuit.fail())
    }

    @Test func `the delays before probes double up to five seconds, and are random from zero on`() {
        let circuit = circuit()
        _ = circuit.fail()
        for (number, delay) in [Int64(100), 200, 400, 800, 1600, 2500, 2500].enumerated() {
            advance(by: delay - 1)
            #expect(circuit.admit() == .refuse)
            advance(by: 1)
            #expect(circuit.admit() == .probe(number + 1))
            circuit.end(probe: number + 1, isGood: false)
        }
        let hasty = self.circuit(draw: 0)
        _ = hasty.fail()
        #expect(hasty.admit() == .probe(1))
    }

    @Test func `the outcome of an older probe has no effect`() {
        let circuit = circuit(draw: 0)
        _ = circuit.fail()
        #expect(circuit.admit() == .probe(1))
        circuit.end(probe: 1, isGood: false)
        #expect(circuit.admit() == .probe(2))
        circuit.end(probe: 1, isGood: true)
        #expect(circuit.admit() == .refuse)
        circuit.end(probe: 2, isGood: true)
        #expect(circuit.admit() == .pass)
    }
}
