#if Tools
import ArgumentParser
import Diamond
import DiamondInspection
import Foundation

struct Simulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Estimates miss ratios for other cache sizes from recorded accesses, and recommends a size.",
        discussion: """
            Replays the recorded accesses: sizes and last access times of a sample of the keys. REQUESTS MISSED and \
            BYTES MISSED are the shares that would have gone over the network with SIEVE, the eviction of the cache. \
            LRU MISSED and the last column, BYTES, are the same two shares with LRU eviction. Bytes are body bytes. \
            Beyond the recommended size, each doubling saves less than another 1 % of all bytes.

            A store records nothing by default. Switch recording on with --record, let programs use the store for some \
            days, and simulate.

            EXAMPLE
              cachectl simulate --sizes 64MB,256MiB,1GB
            """
    )

    @OptionGroup var store: StoreOptions

    @Option(
        help: ArgumentHelp(
            "Sizes to compare with the current one (default: from an eighth of it to eight times as much).",
            valueName: "SIZES"
        ))
    var sizes: Sizes?

    @Flag(
        inversion: .prefixedNo,
        help: "Record the accesses of all programs to the store. --no-record stops, and erases the record.")
    var record: Bool?

    func run() throws {
        let cache = try store.openFile(because: "a server records no accesses")
        if let record { return try set(record, in: cache) }
        let simulation = try cache.simulation(of: sizes?.bytes)
        guard let recommendation = simulation.recommendation else {
            let isRecording = (try? cache.isRecording()) == true
            throw Failure.report(
                Failure.nothingFound,
                isRecording
                    ? "nothing has been recorded yet: use the store, and try again"
                    : "the store records nothing: switch that on with 'cachectl simulate --record', and try again")
        }
        show(simulation, recommendation)
    }

    private func set(_ isRecording: Bool, in cache: Cache) throws {
        try cache.setRecording(isRecording)
        let text = isRecording ? "the store now records accesses" : "the store no longer records accesses"
        Output.result(["recording": isRecording], or: text, isJSON: store.json)
    }

    private func show(_ simulation: Simulation, _ recommendation: Simulation.Recommendation) {
        guard !store.json else { return Output.json(simulation.form(recommendation)) }
        Output.table(table(of: simulation))
        Output.line("")
        Output.lines(SimulationText(simulation: simulation, recommendation: recommendation).text)
    }

    private func table(of simulation: Simulation) -> Table {
        let rows = simulation.lines.map { line in
            let numbers = [line.misses.requests, line.misses.bytes, line.lru.requests, line.lru.bytes]
            let mark = line.capacity == simulation.currentCapacity ? "now" : ""
            return [Quantity.bytes(line.capacity), mark] + numbers.map(Quantity.percent)
        }
        let unbounded = [simulation.unbounded.requests, simulation.unbounded.bytes].map(Quantity.percent)
        return Table(
            [
                "SIZE": .right, "": .left, "REQUESTS MISSED": .right, "BYTES MISSED": .right, "LRU MISSED": .right,
                "BYTES": .right,
            ], rows: rows + [["no bound", ""] + unbounded + unbounded])
    }
}

/// A list of sizes from the command line, separated by commas: `64MB,1GiB`.
struct Sizes: ExpressibleByArgument {
    var bytes: [Int64]

    init?(argument: String) {
        let sizes = argument.split(separator: ",", omittingEmptySubsequences: false).map { Size(argument: String($0)) }
        bytes = sizes.compactMap { $0?.bytes }
        guard bytes.count == sizes.count, bytes.allSatisfy({ $0 > 0 }) else { return nil }
    }
}

/// The recommendation as text for people.
struct SimulationText {
    let simulation: Simulation
    let recommendation: Simulation.Recommendation

    var text: String { [verdict, outlook, basis].compactMap(\.self).joined(separator: "\n") }

    private var verdict: String {
        let size = Quantity.bytes(recommendation.capacity)
        let bytes = Quantity.bytes(abs(recommendation.bytesSaved))
        let time = simulation.seconds >= 86_400 ? "a day" : "in \(time)"
        guard recommendation.bytesSaved != 0 || recommendation.capacity >= simulation.currentCapacity else {
            return "\(size) is enough: it would have missed no more."
        }
        return switch (recommendation.capacity, simulation.currentCapacity) {
        case let (recommended, current) where recommended > current:
            "\(size) is better: it would have transferred \(bytes) less \(time)."
        case let (recommended, current) where recommended < current && recommendation.bytesSaved > 0:
            "\(size) is enough: it would even have transferred \(bytes) less \(time)."
        case let (recommended, current) where recommended < current:
            "\(size) is enough: it would have transferred only \(bytes) more \(time)."
        default: "\(size), the current size, is right."
        }
    }

    private var outlook: String? {
        guard recommendation.isOpen else { return nil }
        return "Larger sizes may save still more: try them with --sizes."
    }

    private var basis: String {
        let part = simulation.sampling.shift == 0 ? "every key" : "1 key in \(1 << simulation.sampling.shift)"
        let bytes = Quantity.bytes(simulation.bytes)
        return "Recorded: \(simulation.requests) requests, \(bytes), within \(time), of \(part)."
    }

    private var time: String { Quantity.age(simulation.seconds * 1000) }
}

extension Simulation {
    fileprivate func form(_ recommendation: Recommendation) -> JSONObject {
        [
            "requests": requests, "bytes": bytes, "seconds": seconds, "sampled": sampling.rate,
            "present": currentCapacity,
            "sizes": lines.map { Self.form(size: $0.capacity, misses: $0.misses, lru: $0.lru) },
            "unbounded": Self.form(size: nil, misses: unbounded, lru: unbounded),
            "recommended": recommendation.capacity, "largerMayPay": recommendation.isOpen,
            "bytesSaved": recommendation.bytesSaved,
        ]
    }

    private static func form(size: Int64?, misses: Misses, lru: Misses) -> JSONObject {
        [
            "size": size, "requestsMissed": misses.requests, "bytesMissed": misses.bytes,
            "lruRequestsMissed": lru.requests, "lruBytesMissed": lru.bytes,
        ]
    }
}
#endif
