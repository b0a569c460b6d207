#if Tools
import ArgumentParser
import Diamond
import DiamondInspection
import Foundation

struct Simulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Tells what other sizes would have made of the store's own accesses, and which one pays.",
        discussion: """
            Replays what the store has recorded: of a sample of the keys, sizes and times of their last uses. MISSED is the \
            part that would have gone over the network; LRU MISSED is that of a cache that evicts what was not used for \
            longest, instead of by SIEVE. The size that pays is the smallest from which on doubling it keeps less than one \
            more percent of all bytes from the network. Bytes are those of bodies.
            """
    )

    @OptionGroup var store: StoreOptions

    @Option(
        help: ArgumentHelp(
            "Sizes such as 64MB,256MiB,1GB, beside the present one; an eighth to eight times of it if not given.",
            valueName: "SIZES"
        ))
    var sizes: Sizes?

    func run() throws {
        let cache = try store.openCache()
        let simulation: Simulation
        do throws(CacheError) {
            simulation = try cache.simulation(of: sizes?.bytes)
        } catch {
            throw Failure.report(error)
        }
        guard let recommendation = simulation.recommendation else {
            throw Failure.report(
                Failure.nothingFound, "nothing has been recorded yet: send the same requests again, and come back")
        }
        show(simulation, recommendation)
    }

    private func show(_ simulation: Simulation, _ recommendation: Simulation.Recommendation) {
        guard !store.json else { return Output.json(SimulationFigures(simulation, recommendation)) }
        for line in table(of: simulation).lines(width: Output.width) { Output.line(line) }
        Output.line("")
        Output.lines(SimulationText(simulation, recommendation).text)
    }

    private func table(of simulation: Simulation) -> Table {
        var table = Table(
            header: ["SIZE", "", "REQUESTS MISSED", "BYTES MISSED", "LRU MISSED", "BYTES"],
            alignments: [.right, .left, .right, .right, .right, .right]
        )
        table.rows = simulation.lines.map { line in
            let numbers = [line.misses.requests, line.misses.bytes, line.lru.requests, line.lru.bytes]
            let mark = line.capacity == simulation.present ? "now" : ""
            return [Quantity.bytes(line.capacity), mark] + numbers.map(Quantity.percent)
        }
        let unbounded = [simulation.unbounded.requests, simulation.unbounded.bytes].map(Quantity.percent)
        table.rows.append(["no bound", ""] + unbounded + unbounded)
        return table
    }
}

/// Sizes as a person types them, with commas.
struct Sizes: ExpressibleByArgument {
    var bytes: [Int64]

    init?(argument: String) {
        let sizes = argument.split(separator: ",", omittingEmptySubsequences: false).map { Size(argument: String($0)) }
        bytes = sizes.compactMap { $0?.bytes }
        guard bytes.count == sizes.count, bytes.allSatisfy({ $0 > 0 }) else { return nil }
    }
}

/// The recommendation in words.
struct SimulationText {
    private let simulation: Simulation
    private let recommendation: Simulation.Recommendation

    init(_ simulation: Simulation, _ recommendation: Simulation.Recommendation) {
        self.simulation = simulation
        self.recommendation = recommendation
    }

    var text: String { [verdict, outlook, basis].compactMap(\.self).joined(separator: "\n") }

    private var verdict: String {
        let size = Quantity.bytes(recommendation.capacity)
        let bytes = Quantity.bytes(abs(recommendation.bytesSaved))
        let time = simulation.seconds >= 86_400 ? "a day" : "in \(time)"
        guard recommendation.bytesSaved != 0 || recommendation.capacity >= simulation.present else {
            return "\(size) would do: it would have missed no more."
        }
        return switch (recommendation.capacity, simulation.present) {
        case let (pays, present) where pays > present:
            "\(size) would pay: it would have kept \(bytes) \(time) from the network."
        case let (pays, present) where pays < present && recommendation.bytesSaved > 0:
            "\(size) would do: it would even have kept \(bytes) \(time) from the network."
        case let (pays, present) where pays < present:
            "\(size) would do: it would have taken \(bytes) more \(time) from the network."
        default: "\(size), the present size, pays."
        }
    }

    private var outlook: String? {
        guard recommendation.isOpen else { return nil }
        return "Larger sizes may pay still more: name them with --sizes."
    }

    private var basis: String {
        let part = simulation.sampling.shift == 0 ? "every key" : "1 key in \(1 << simulation.sampling.shift)"
        let bytes = Quantity.bytes(simulation.bytes)
        return "Recorded: \(simulation.requests) requests, \(bytes), within \(time), of \(part)."
    }

    private var time: String { Quantity.age(simulation.seconds * 1000) }
}

/// The form of `simulate --json`.
private struct SimulationFigures: Encodable {
    struct Line: Encodable {
        /// Absent where there is no bound.
        var size: Int64?
        var requestsMissed: Double
        var bytesMissed: Double
        var lruRequestsMissed: Double
        var lruBytesMissed: Double

        init(_ size: Int64?, _ misses: Simulation.Misses, lru: Simulation.Misses) {
            self.size = size
            (requestsMissed, bytesMissed) = (misses.requests, misses.bytes)
            (lruRequestsMissed, lruBytesMissed) = (lru.requests, lru.bytes)
        }
    }

    var requests: Int64
    var bytes: Int64
    var seconds: Int64
    /// The part of all keys that was recorded.
    var sampled: Double
    var present: Int64
    var sizes: [Line]
    var unbounded: Line
    var recommended: Int64
    var largerMayPay: Bool
    /// A day, or in the whole record where it is shorter; below 0 what would go over the network in addition.
    var bytesSaved: Int64

    init(_ simulation: Simulation, _ recommendation: Simulation.Recommendation) {
        requests = simulation.requests
        bytes = simulation.bytes
        seconds = simulation.seconds
        sampled = simulation.sampling.rate
        present = simulation.present
        sizes = simulation.lines.map { Line($0.capacity, $0.misses, lru: $0.lru) }
        unbounded = Line(nil, simulation.unbounded, lru: simulation.unbounded)
        recommended = recommendation.capacity
        largerMayPay = recommendation.isOpen
        bytesSaved = recommendation.bytesSaved
    }
}
#endif
